"""Expressions: templates over HVR's substitutions (https://fivetran.com/docs/hvr6/action-reference/columnproperties).

`{name spec}` is a substitution, `{{name spec}}` is "the value of"; `<hvr_op>` is another spelling of `{hvr_op}`.
Text in braces that is no name stays text, so that JSON can be written around substitutions.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from integrator import schema
from integrator.expressions.parts import ColumnValue, Constant, Op, Part, Sql, Text
from integrator.expressions.substitutions import (
    ALLOW_MISSINGS,
    COLUMN,
    COLUMN_FORMAT,
    IN_A_MESSAGE,
    LITERAL,
    MESSAGE_FORMAT,
    SUBSTITUTIONS,
    VARIABLE,
    WITH_TEXT,
    Context,
    ExpressionError,
    accepted_in,
    check_format,
    substitution_meant,
    with_article,
)
from integrator.names import foreign, listed, nearest
from integrator.schema import Table, Type

SQL = "sql:"

_PART = re.compile(
    r"\{\{\s*([A-Za-z_]\w*)(\s[^{}]*)?\}\}|\{\s*([A-Za-z_]\w*)(\s[^{}]*)?\}|<(hvr_[a-z_]+)(\s[^<>]*)?>",
)
_TORN = re.compile(r"\{\s*[A-Za-z_]\w*")
"""What is left of a substitution that does not end."""
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 20
_QUOTED = re.compile(r"'((?:[^']|'')*)'")


def parse(text: str, table: Table, context: Context, column: str = "") -> tuple[Part, ...]:
    """Return the parts of the template `text` for rows of `table`. Raises ExpressionError.

    column: the one that {{hvr_col_name}} is.
    """
    literal = text.strip()
    if literal.lower().startswith(SQL):
        return (sql(literal[len(SQL) :].strip(), table, context, column),)
    if literal.lower() == "null":
        return (Constant(None),)
    if _INTEGER.fullmatch(literal):
        return (_number(literal),)
    quoted = _QUOTED.fullmatch(literal)
    if quoted and not _PART.search(literal):
        return (Constant(quoted[1].replace("''", "'")),)
    parts: list[Part] = []
    wrong: dict[str, ExpressionError] = {}
    at = 0
    for found in _PART.finditer(text):
        if found.start() > at:
            parts.append(Text(text[at : found.start()]))
        try:
            parts.append(_part(found, table, context, column))
        except ExpressionError as error:
            wrong.setdefault(str(error), error)
        at = found.end()
    if wrong:
        first = next(iter(wrong.values())).reason
        raise ExpressionError("; ".join(wrong), first.alike or first.text)
    if at < len(text) or not parts:
        parts.append(Text(text[at:]))
    _check_braces(parts)
    return tuple(parts)


def _number(literal: str) -> Part:
    """Return a number of 64 bits; one that is longer, or written otherwise (007, +5), stays as it is written."""
    is_plain = len(literal) <= _MOST_DIGITS and str(int(literal)) == literal and -(1 << 63) <= int(literal) < 1 << 63
    return Constant(int(literal)) if is_plain else Text(literal)


def fixed_text(parts: Iterable[Part]) -> str | None:
    """Return the text of an expression that is the same for all rows; None for another one."""
    own = tuple(parts)
    return constant_text(own, {}) if all(isinstance(part, Text | Constant) for part in own) else None


def _check_braces(parts: list[Part]) -> None:
    """Raise ExpressionError for a substitution that does not end, or ends with fewer braces than it begins with."""
    for part, after in itertools.zip_longest(parts, parts[1:]):
        torn = _TORN.search(part.text) if isinstance(part, Text) else None
        if torn is not None:
            raise ExpressionError(f"{torn[0]!r} is no substitution: it has no end; write {torn[0]}}}")
        if isinstance(part, Text) and part.text.endswith("{") and isinstance(after, Op | ColumnValue):
            name = after.name
            raise ExpressionError(
                f"the braces around {name} do not match; write {{{name}}}, or {{{{{name}}}}} with two"
            )


def sql(text: str, table: Table, context: Context, column: str = "") -> Sql:
    """Return SQL in which columns and substitutions may stand in braces: they become names in it."""
    allowed: list[str] = []
    quoted = next((text[0] for text in _QUOTED.finditer(text) if _PART.search(text[0])), None)
    if quoted is not None:
        raise ExpressionError(f"sql: in {quoted} braces are text; write … || {{name}} || …")

    def name(found: re.Match[str]) -> str:
        match _part(found, table, context, column):
            case ColumnValue(name, "", allow):
                allowed.extend([name] if allow else [])
                return f'"{name}"'
            case Op(name, "", False):
                return f'"{name}"'
            case _:
                raise ExpressionError(f"{found[0]}: in SQL a value has no specification; use SQL's functions")

    return Sql(_PART.sub(name, text), context, tuple(dict.fromkeys(allowed)))


def as_text(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts of a column that is text: {hvr_integ_tstamp} has its format."""
    plain = Op("hvr_integ_tstamp")
    return tuple(Op(plain.name, COLUMN_FORMAT) if part == plain else part for part in parts)


def _part(found: re.Match[str], table: Table, context: Context, own: str) -> Part:
    double, double_spec, single, single_spec, angle, angle_spec = found.groups()
    name = double or single or angle
    spec = (double_spec or single_spec or angle_spec or "")[1:]
    if name in SUBSTITUTIONS:
        return _substitution(found[0], Op(name, spec, value_of=bool(double)), table, context)
    if name.startswith(VARIABLE):
        raise ExpressionError(f"{found[0]} is a variable that this run does not have; give it: --variable NAME=VALUE")
    theirs = foreign(name, "substitution")
    if theirs is not None and table.column(name) is None:
        raise ExpressionError(f"{found[0]}, of {theirs.of}: {theirs.ours}")
    if name == COLUMN and double:
        if not own:
            raise ExpressionError(f"{found[0]}: the action is for no column")
        name, double = own, None
    if name.startswith("hvr_") and table.column(name) is None:
        raise ExpressionError(f"{found[0]} is no substitution; {substitution_meant(name, accepted_in(context))}")
    if context == "record name":
        raise ExpressionError(
            f"{found[0]}: a {context} cannot depend on the values of a row; "
            f"{listed(accepted_in(context), 'it can have')}"
        )
    if double:
        raise ExpressionError(f"{found[0]}: double braces go with hvr_key_names and hvr_col_name only")
    return _column(found[0], name, spec, table, context)


def _substitution(written: str, op: Op, table: Table, context: Context) -> Op:
    substitution = SUBSTITUTIONS[op.name]
    if context not in substitution.contexts:
        accepted = ", ".join(accepted_in(context))
        other = ", ".join(substitution.contexts)
        text = f"{written} cannot stand in {with_article(context)}; accepted there are {accepted}"
        raise ExpressionError(f"{text}, and it can stand in {other}")
    if op.value_of and op.name != "hvr_key_names":
        raise ExpressionError(f"{written}: double braces go with hvr_key_names and hvr_col_name only")
    if op.name == "hvr_schema" and table.schema is None:
        text = f"{written}: its definition names no schema"
        action = f"{{action: TableProperties, table: {table.name}, Schema: …}}"
        raise ExpressionError(f"{text}; write create table SCHEMA.{table.base_name}, or an action: {action}", text)
    if op.spec.strip() and isinstance(substitution.type, schema.Timestamp):
        check_format(written, op.spec)
    elif op.spec.strip() and op.name not in WITH_TEXT:
        *others, last = WITH_TEXT
        names = f"{', '.join(others)} and {last}"
        raise ExpressionError(f"{written}: only time stamps, {names} have something after their name")
    if not op.spec and context in IN_A_MESSAGE and isinstance(substitution.type, schema.Timestamp):
        return Op(op.name, MESSAGE_FORMAT + ("SSS" if op.name == "hvr_integ_tstamp" else ""), op.value_of)
    return op


def _column(written: str, name: str, spec: str, table: Table, context: Context) -> ColumnValue:
    column = table.column(name)
    if column is None:
        columns = [column.name for column in table.columns]
        known = [*columns, *accepted_in(context)] if nearest(name, columns) or name.startswith("hvr") else columns
        text = f"{written} is neither a substitution nor a column"
        raise ExpressionError(f"{text}; {substitution_meant(name, known, 'its columns are')}", text)
    allow = spec.lstrip().startswith(ALLOW_MISSINGS)
    spec = spec.lstrip().removeprefix(ALLOW_MISSINGS).strip() if allow else spec
    if context == "AddressTo" and spec == LITERAL:
        return ColumnValue(name, spec, allow)
    if spec.startswith("%[") and not isinstance(column.type, schema.Timestamp):
        raise ExpressionError(f"{written}: {spec} is not known; accepted is {ALLOW_MISSINGS}")
    if spec and isinstance(column.type, schema.Timestamp):
        check_format(written, spec)
    elif spec:
        kind = schema.describe(column.type)
        raise ExpressionError(f"{written}: only time stamps have a format, and {name} is {kind}")
    if not spec and context in IN_A_MESSAGE and isinstance(column.type, schema.Timestamp):
        spec = MESSAGE_FORMAT
    return ColumnValue(name, spec, allow)


def natural_type(parts: tuple[Part, ...], table: Table) -> Type:
    """Return the type of an expression before a Datatype is asked for: a lone substitution keeps its own."""
    if len(parts) != 1:
        return schema.String()
    match parts[0]:
        case Op(name, spec, _):
            kind = SUBSTITUTIONS[name].type
            return schema.String() if spec and isinstance(kind, schema.Timestamp) else kind
        case ColumnValue(name, spec, _):
            column = table.column(name)
            if column is None:
                raise KeyError(name)
            return schema.String() if spec else column.type
        case Constant(int()):
            return schema.Integer(64)
        case Sql():
            raise KeyError("the engine knows the type of SQL")
        case _:
            return schema.String()


def constant_text(parts: tuple[Part, ...], values: dict[str, str | None]) -> str:
    """Return the text of a template that depends on no row: a topic, or the name of a record."""
    texts = []
    for part in parts:
        match part:
            case Text(text):
                texts.append(text)
            case Op(name, _, _):
                texts.append(values[name] or "")
            case Constant(value):
                texts.append("" if value is None else str(value))
            case ColumnValue() | Sql():
                raise ExpressionError("it cannot depend on the values of a row")
    return "".join(texts)
