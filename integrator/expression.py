"""Expressions: templates over HVR's substitutions (https://fivetran.com/docs/hvr6/action-reference/columnproperties).

`{name spec}` is a substitution, `{{name spec}}` is "the value of"; `<hvr_op>` is another spelling of `{hvr_op}`.
Text in braces that is no name stays text, so that JSON can be written around substitutions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from integrator import schema
from integrator.schema import Table, Type

INTEG_SEQ_LENGTH = 45

Context = Literal["IntegrateExpression", "MessageKey", "MessageHeaders", "topic"]


@dataclass(frozen=True)
class Substitution:
    """What a substitution gives: its type when it stands alone, and where it may stand."""

    type: Type
    contexts: tuple[Context, ...] = ("IntegrateExpression", "MessageKey", "MessageHeaders")


_BOTH: tuple[Context, ...] = ("IntegrateExpression", "MessageKey", "MessageHeaders", "topic")
_MESSAGE: tuple[Context, ...] = ("MessageKey", "MessageHeaders")

SUBSTITUTIONS: dict[str, Substitution] = {
    "hvr_op": Substitution(schema.Integer(32)),
    "hvr_op_str": Substitution(schema.String()),
    "hvr_integ_seq": Substitution(schema.String(INTEG_SEQ_LENGTH)),
    "hvr_tx_seq": Substitution(schema.String(20)),
    "hvr_tx_countdown": Substitution(schema.Integer(32)),
    "hvr_cap_tstamp": Substitution(schema.Timestamp("us", zoned=True)),
    "hvr_integ_tstamp": Substitution(schema.Timestamp("us", zoned=True)),
    "hvr_cap_user": Substitution(schema.String()),
    "hvr_row_uuid": Substitution(schema.String(36, "uuid")),
    "hvr_missing": Substitution(schema.String()),
    "hvr_key_hash": Substitution(schema.String(16), _MESSAGE),
    "hvr_key_names": Substitution(schema.String()),
    "hvr_cap_loc": Substitution(schema.String(), _BOTH),
    "hvr_chn_name": Substitution(schema.String(), _BOTH),
    "hvr_tbl_name": Substitution(schema.String(), _BOTH),
    "hvr_tbl_base_name": Substitution(schema.String(), _BOTH),
    "hvr_schema": Substitution(schema.String(), _BOTH),
}
"""Those that a row can have in integrate. {hvr_missing} and {hvr_row_uuid} are extensions: the names of columns that
the source left out, for formats in which they are sent as null; and a UUID of the change. Absent for a reason:
{hvr_integ_key} is a clock (it would break I2), {hvr_var_…} and {hvr_slice_…} belong to refresh, and there are no file
names here."""

MESSAGE_FORMAT = "%[utc] %Y%m%d%H%M%S"
"""How a time stamp becomes text in a message key or header, where no format is given; {hvr_integ_tstamp} has ms too."""

DEFAULT_OPS = "0>D;1>I;2>U;3>K;4>4;5>T"
ALLOW_MISSINGS = "%[allow_missings]"


@dataclass(frozen=True)
class Text:
    """Literal text."""

    text: str


@dataclass(frozen=True)
class Op:
    """A substitution `name` with its specification; `value_of` for double braces."""

    name: str
    spec: str = ""
    value_of: bool = False


@dataclass(frozen=True)
class ColumnValue:
    """The value of the column `name` of the row; `spec` formats a timestamp."""

    name: str
    spec: str = ""
    allow_missings: bool = False


@dataclass(frozen=True)
class Constant:
    """A SQL literal: null, a number, or quoted text."""

    value: int | str | None


Part = Text | Op | ColumnValue | Constant

_PART = re.compile(
    r"\{\{\s*([A-Za-z_]\w*)(\s[^{}]*)?\}\}|\{\s*([A-Za-z_]\w*)(\s[^{}]*)?\}|<(hvr_[a-z_]+)(\s[^<>]*)?>",
)
_INTEGER = re.compile(r"[+-]?\d+")
_QUOTED = re.compile(r"'((?:[^']|'')*)'")


class ExpressionError(ValueError):
    """An expression that cannot be; the text says what is accepted."""


def parse(text: str, table: Table, context: Context) -> tuple[Part, ...]:
    """Return the parts of the template `text` for rows of `table`. Raises ExpressionError."""
    literal = text.strip()
    if literal.lower() == "null":
        return (Constant(None),)
    if _INTEGER.fullmatch(literal):
        return (Constant(int(literal)),)
    quoted = _QUOTED.fullmatch(literal)
    if quoted and not _PART.search(literal):
        return (Constant(quoted[1].replace("''", "'")),)
    parts: list[Part] = []
    at = 0
    for found in _PART.finditer(text):
        if found.start() > at:
            parts.append(Text(text[at : found.start()]))
        parts.append(_part(found, table, context))
        at = found.end()
    if at < len(text) or not parts:
        parts.append(Text(text[at:]))
    return tuple(parts)


def _part(found: re.Match[str], table: Table, context: Context) -> Part:
    double, double_spec, single, single_spec, angle, angle_spec = found.groups()
    name = double or single or angle
    spec = (double_spec or single_spec or angle_spec or "")[1:]
    if name in SUBSTITUTIONS:
        substitution = SUBSTITUTIONS[name]
        if context not in substitution.contexts:
            accepted = ", ".join(n for n, s in SUBSTITUTIONS.items() if context in s.contexts)
            raise ExpressionError(f"{found[0]} cannot stand in a {context}; accepted there are {accepted}")
        if double and name != "hvr_key_names":
            raise ExpressionError(f"{found[0]}: double braces go with hvr_key_names only")
        if name == "hvr_schema" and table.schema is None:
            raise ExpressionError(f"{found[0]}: the definition of table {table.name} names no schema")
        if not spec and context in _MESSAGE and isinstance(substitution.type, schema.Timestamp):
            spec = MESSAGE_FORMAT + ("SSS" if name == "hvr_integ_tstamp" else "")
        return Op(name, spec, value_of=bool(double))
    if name.startswith("hvr_"):
        raise ExpressionError(f"{found[0]} is not known here; accepted are {', '.join(SUBSTITUTIONS)}")
    if context == "topic":
        raise ExpressionError(f"{found[0]}: a topic cannot depend on the values of a row")
    if double:
        raise ExpressionError(f"{found[0]}: double braces go with hvr_key_names only")
    column = table.column(name)
    if column is None:
        known = ", ".join(column.name for column in table.columns)
        raise ExpressionError(f"{found[0]} is neither a substitution nor a column of {table.name}, which has {known}")
    allow = spec.lstrip().startswith(ALLOW_MISSINGS)
    spec = spec.lstrip().removeprefix(ALLOW_MISSINGS).strip() if allow else spec
    if not spec and context in _MESSAGE and isinstance(column.type, schema.Timestamp):
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
        case _:
            return schema.String()


def op_mapping(spec: str) -> dict[int, str]:
    """Return the mapping of `{hvr_op_str …}`: `0>D;1>I`. A given mapping replaces the default entirely.

    Raises ExpressionError.
    """
    mapping = {}
    for entry in (spec.strip() or DEFAULT_OPS).split(";"):
        code, arrow, text = entry.partition(">")
        if not arrow or not code.strip().isdigit():
            raise ExpressionError(f"{entry!r} in {{hvr_op_str}} is no mapping; write CODE>TEXT;CODE>TEXT")
        mapping[int(code)] = text
    return mapping


def constant_text(parts: tuple[Part, ...], values: dict[str, str | None]) -> str:
    """Return the text of a template that depends on no row: a topic."""
    texts = []
    for part in parts:
        match part:
            case Text(text):
                texts.append(text)
            case Op(name, _, _):
                texts.append(values[name] or "")
            case Constant(value):
                texts.append("" if value is None else str(value))
            case ColumnValue(name, _, _):
                raise ExpressionError(f"{{{name}}}: a topic cannot depend on the values of a row")
    return "".join(texts)
