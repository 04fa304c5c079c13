"""Which tables can be compared with their topics, and how: what the plan has of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from integrator.compare.messages import ENVELOPES_READ, FORMATS_READ, Effects
from integrator.contracts.operations import DELETE, TRUNCATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import Field, TableRecipe
from integrator.expressions.parts import ColumnValue, Constant, Op, Part, Sql, Text
from integrator.expressions.substitutions import SUBSTITUTIONS, op_mapping
from integrator.names.numbers import counted
from integrator.schema import Boolean, Date, Float, Integer, String, Time, Timestamp

_OF_ROW = frozenset(
    ("hvr_key_hash", "hvr_key_names", "hvr_tbl_name", "hvr_tbl_base_name", "hvr_schema", "hvr_chn_name", "hvr_cap_loc")
)
"""Substitutions whose values are the same whenever a row is sent: others depend on the change, or on the run."""
_WHOLE = (Boolean, Integer, Float, Date, Time, Timestamp)
"""Types whose values no source leaves out."""
_CLOCKS = ("now(", "current_", "random(", "uuid(")
"""What functions of SQL begin with whose values are others each time."""


@dataclass(frozen=True)
class Compared:
    """How a table is compared.

    identity: what distinguishes rows: the message's key, or the values of key columns in the row. columns: of messages,
    those that are functions of the row, and are compared; left_out: the others. key: the members of messages that are
    the key's columns, in its order. masked: columns whose values are not shown. op: the column that has the operation's
    code, and what its values mean; soft_delete: the one that is 1 of a row that is gone; position: the one that has the
    change's position. has_deletes: rows that are gone are known. may_lack: columns whose values the source may leave
    out of a change, each with the least bytes of such a text. lookup: columns at the database whose values a message
    has as they are, and its members. notes: what is not compared, for people.
    """

    recipe: TableRecipe
    envelope: str
    identity: Literal["key", "row"]
    columns: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    masked: frozenset[str] = frozenset()
    op: str = ""
    codes: tuple[tuple[object, int], ...] = ()
    soft_delete: str = ""
    position: str = ""
    has_deletes: bool = True
    framed_keys: bool = False
    may_lack: tuple[tuple[str, int], ...] = ()
    lookup: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The table's name in the channel."""
        return self.recipe.table.name

    @property
    def topic(self) -> str:
        """The topic of its messages."""
        return self.recipe.topic


def compared(recipe: Recipe, tables: Sequence[str], least_left_out: int = 0) -> tuple[list[Compared], dict[str, str]]:
    """Return how tables are compared, and why others cannot be, by their names.

    least_left_out: the least bytes of a text that the source leaves out of changes that did not change it.
    """
    found, why = list[Compared](), dict[str, str]()
    shared = Counter(table.topic for table in recipe.tables)
    for table in recipe.tables:
        if table.table.name not in tables:
            continue
        reason = _of_channel(recipe) or _reason(table, recipe, shared[table.topic])
        one = None if reason else _compared(table, recipe, least_left_out)
        if isinstance(one, Compared):
            found.append(one)
        else:
            why[table.table.name] = reason or str(one)
    return found, why


def _of_channel(recipe: Recipe) -> str:
    """Return why no table of a channel can be compared; empty where they can."""
    layout = recipe.messages.layout
    if layout.single_value:
        return "messages are one value, without names of columns"
    if layout.format not in FORMATS_READ:
        return f"the format {layout.format} is not read; {', '.join(FORMATS_READ)} are"
    if layout.envelope and layout.envelope not in ENVELOPES_READ:
        return f"the envelope {layout.envelope} is not read; {', '.join(ENVELOPES_READ)} are"
    if layout.options.compress:
        return "messages are compressed one by one (FileFormat Compress)"
    if layout.options.array:
        return "messages are arrays of Avro (Bundle_As_Array)"
    return ""


def _reason(table: TableRecipe, recipe: Recipe, tables_of_topic: int) -> str:
    """Return why a table cannot be compared; empty where it can, as far as the plan says."""
    ids = (table.value_id, table.key_id)
    if table.message_topic:
        return "its topic depends on the row"
    if tables_of_topic > 1:
        return f"its topic {table.topic} has rows of {counted(tables_of_topic, 'table')}"
    if table.outbox:
        return "it is an outbox: its messages are events, and no rows"
    if table.whole_events:
        return "its messages are events as they came"
    if any(one is not None and one.guid is not None for one in ids):
        return "its messages have the ids of their schemas in headers"
    if recipe.read.any_database:
        return "the channel has several source locations"
    if table.capture.addresses:
        return "its rows go to several addresses (AddressTo)"
    if table.keyless:
        return "it has no key, so that nothing distinguishes its rows"
    return ""


def _compared(table: TableRecipe, recipe: Recipe, least_left_out: int) -> Compared | str:
    """Return how a table is compared, or why it cannot be."""
    layout = recipe.messages.layout
    columns = tuple(field.name for field in table.fields if _is_of_row(field, table))
    by_column = {field.column: field.name for field in table.fields if field.column is not None}
    key = tuple(by_column[name] for name in table.key if name in by_column)
    of_row = len(key) == len(table.key) and set(key) <= set(columns)
    own_key = not layout.bundling.keyless and _distinguishes(table)
    is_hash = any(isinstance(part, Op) and part.name == "hvr_key_hash" for part in table.message_key.expression)
    if own_key and (table.tombstones or not (is_hash and of_row)):
        identity: Literal["key", "row"] = "key"
    elif of_row and not table.tombstones:
        identity = "row"
    else:
        return "neither the key nor the value of its messages distinguishes its rows"
    op, codes = _operation(table)
    soft = next((field.name for field in table.fields if field.soft_delete), "")
    sends_rows = DELETE in table.operations
    has_effect = bool(op or soft or layout.envelope)
    if sends_rows and not has_effect and not table.tombstones:
        return "its messages do not show deletes: add a column {hvr_op}, a SoftDelete column, or tombstones"
    notes = list(_notes(table, sends_rows=sends_rows))
    left_out = tuple(field.name for field in table.fields if field.name not in columns and field.name not in (op, soft))
    return Compared(
        table,
        layout.envelope,
        identity,
        columns,
        left_out,
        key if of_row else (),
        frozenset(field.name for field in table.fields if {field.name, field.column} & {*table.masked}),
        op,
        codes,
        soft,
        _position(table),
        has_deletes=sends_rows or table.tombstones,
        framed_keys=table.key_id is not None,
        may_lack=tuple(_may_lack(table, least_left_out)),
        lookup=tuple(_lookup(table)),
        notes=tuple(notes),
    )


def _may_lack(table: TableRecipe, least_left_out: int) -> Iterator[tuple[str, int]]:
    """Yield the columns whose values the source may leave out of a change, and the least bytes of such a text."""
    for field in table.fields:
        column, own = table.table.column(field.source or ""), dict(table.capture.expressions).get(field.source or "")
        if column is None or field.expression or own:
            yield field.name, 0
        elif not isinstance(column.type, _WHOLE):
            yield field.name, least_left_out


def _lookup(table: TableRecipe) -> Iterator[tuple[str, str]]:
    """Yield the columns at the database that a message has as they are, and as what."""
    capture = table.capture
    changed = {*dict(capture.expressions), *dict(capture.trims), *capture.blanks, *capture.days}
    for field in table.fields:
        name, column = field.source or "", table.table.column(field.source or "")
        is_text = isinstance(field.type, String) and not capture.characters
        if column is None or field.expression or name in changed or field.type != column.type:
            continue
        if is_text or isinstance(field.type, Integer):
            yield dict(capture.names).get(name, name), field.name


def _notes(table: TableRecipe, *, sends_rows: bool) -> Iterator[str]:
    if not sends_rows and not table.tombstones:
        yield "deletes are not sent: rows of the topic that the table has not are no difference"
    elif not sends_rows:
        yield "truncates are not sent"
    elif TRUNCATE not in table.operations:
        yield "truncates are not sent (NoTruncate)"
    if table.missing_as_null:
        yield "a null may be a value that the source has left out (Missing_Values), and is not compared"


def _distinguishes(table: TableRecipe) -> bool:
    """Return whether the message's key is another one for each row."""
    key = table.message_key
    if key.serializer == "NONE" or table.not_in_keys or table.keyless:
        return False
    values = [part for part in key.expression if isinstance(part, ColumnValue | Op | Sql)]
    return not key.expression or len(values) == 1 or len(table.key) == 1


def _is_of_row(field: Field, table: TableRecipe) -> bool:
    """Return whether a column of messages is a function of the row alone."""
    if field.soft_delete or field.operations or field.uncompared:
        return False
    captured = dict(table.capture.expressions)
    parts = [*field.expression, *(captured.get(field.source or "", ()))]
    parts += [one for part in parts if isinstance(part, ColumnValue) for one in captured.get(part.name, ())]
    return all(_is_stable(part) for part in parts)


def _is_stable(part: Part) -> bool:
    match part:
        case Text() | Constant() | ColumnValue():
            return True
        case Op(name=name):
            return name in _OF_ROW
        case Sql(text=text):
            used = {name for name in SUBSTITUTIONS if name in text}
            return used <= _OF_ROW and not any(clock in text.lower() for clock in _CLOCKS)
    return False


def effects_of(table: TableRecipe) -> Effects:
    """Return by what the effect of a table's messages without an envelope is known."""
    op, codes = _operation(table)
    return Effects("", op, codes, next((field.name for field in table.fields if field.soft_delete), ""))


def _operation(table: TableRecipe) -> tuple[str, tuple[tuple[object, int], ...]]:
    """Return the column that has the operation alone, and what each of its values means."""
    for field in table.fields:
        if field.operations:
            continue
        match field.expression:
            case (Op(name="hvr_op"),):
                return field.name, tuple((code, code) for code in range(6)) + tuple((str(n), n) for n in range(6))
            case (Op(name="hvr_op_str", spec=spec),):
                texts = op_mapping(spec)
                if len(set(texts.values())) == len(texts) and len(texts) == TRUNCATE + 1:
                    return field.name, tuple((text, code) for code, text in texts.items())
    return "", ()


def _position(table: TableRecipe) -> str:
    """Return the column that has the change's position."""
    for field in table.fields:
        if field.expression == (Op("hvr_integ_seq"),) and not field.operations:
            return field.name
    return ""
