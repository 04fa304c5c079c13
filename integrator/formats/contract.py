"""What a format is: from columns to a schema's text, and to a function from arrays to encoded rows.

A row of a message is encoded alone; `Frame` has what stands around the rows of a message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import pyarrow as pa

from integrator.contracts.message_format import Options, SchemaId
from integrator.engine.arrays import Ints, Mask
from integrator.schema import Array, Column, Struct, Type

Arrays = dict[str, pa.Array]
Missing = dict[str, Mask]
"""By column, True for rows whose source record has no value (which is not null); a field of a struct is named by its
path, with `PATH` between the names."""
Encoder = Callable[[Arrays, Missing], pa.Array]
"""From arrays by column name, of equal length, to the bytes or text of each row.

Raises UnsupportedValue, or InvalidValue."""
Columns = Sequence[Column]

PATH = "\0"

Assemble = Callable[[pa.Array, Ints], pa.Array]
"""From the rows of each message, one after the other, and their number, to the body of each message."""


@dataclass(frozen=True)
class Frame:
    """What stands around the encoded rows of a message, which holds rows of one table or, in runs, of several.

    start, end: around the message. table_start, table_end: around a run of rows of one table. before, after: around
    each row. between_rows, between_tables: between rows of a run, and between runs.
    assemble: makes the body out of the rows, for formats that count the rows; then only start and end are
    put around it.
    """

    start: bytes = b""
    end: bytes = b""
    table_start: bytes = b""
    table_end: bytes = b""
    before: bytes = b""
    after: bytes = b""
    between_rows: bytes = b""
    between_tables: bytes = b""
    assemble: Assemble | None = None

    @cached_property
    def opening(self) -> bytes:
        """What stands before the first row of a message."""
        return self.start + self.table_start + self.before

    @cached_property
    def closing(self) -> bytes:
        """What is after the last row of a message."""
        return self.after + self.table_end + self.end


Between = tuple[str, ...] | tuple[bytes, ...]
Write = Callable[[pa.Array], tuple[pa.Array, str | bytes]]
"""From values to what is written of each, without nulls, and what is directly before and after each of them."""


@dataclass(frozen=True)
class ByColumn:
    """How rows are made of what is written of each column: columns of many tables can be written in one call.

    write: from a column to what is written of its values, whatever its name, its place, and the length of its text;
    raises InvalidValue. between: from a message's columns to what stands before the first value of a row without
    missing ones, between its values, and after the last one. order: from a message's columns to the places of these in
    the order in which rows have them, each with the options that `write` is given for it. nests: whether a row in
    another row is written as a row alone is.
    """

    write: Callable[[Column, Options], Write]
    between: Callable[[Columns, Options], Between]
    order: Callable[[Columns, Options], Sequence[tuple[int, Options]]] = lambda columns, options: [
        (place, options) for place in range(len(columns))
    ]
    nests: bool = False


Bundles = Literal["", "table", "tables"]
"""Whether a message may hold several rows: no, of one table, or of several tables."""


@dataclass(frozen=True)
class Format:
    """A format. `name` in its functions is the table's, and so the record's.

    missing: what becomes of a value that the source left out. `shape`: the message's own schema does not have it;
    `omit`: the row does not have it; `refuse`: the format has a value for each column of each row.
    schema_type: what a registry calls its schemas; empty without a registry.
    """

    encoder: Callable[[str, Columns, Options], Encoder]
    frame: Callable[[str, Columns, Options, SchemaId | None], Frame]
    missing: Literal["shape", "omit", "refuse"]
    schema_text: Callable[[str, Columns, Options], str] = lambda _name, _columns, _options: ""
    refusal: Callable[[Type, Options], str | None] = lambda _type, _options: None
    """Why no column may have a type, or None."""
    name_refusal: Callable[[str], str | None] = lambda _name: None
    """Why no column may have a name, or None."""
    record_refusal: Callable[[str], str | None] = lambda _name: None
    """Why no record, which is named after the table, may have a name, or None."""
    columns_refusal: Callable[[Columns], str | None] = lambda _columns: None
    """Why columns cannot stand beside each other, or None."""
    schema_type: Literal["", "AVRO", "JSON", "PROTOBUF"] = ""
    header_tail: bytes = b""
    """What is after the schema's GUID, where that is in a header: Protobuf's path to the message."""
    text: bool = True
    """Whether messages are text, which can be in another encoding, or with other line ends."""
    bundles: Callable[[Options], Bundles] = lambda _options: ""
    compresses: Callable[[Options], bool] = lambda _options: False
    """Whether `assemble` compresses rows, so that some may become larger."""
    by_column: ByColumn | None = None
    """None where what is written of a column depends on others, or on its place."""


class UnsupportedValue(ValueError):
    """A value that the format has no word for: the column, the row, and why."""

    def __init__(self, column: str, index: int, text: str) -> None:
        self.column, self.index = column, index
        super().__init__(text)


class InvalidValue(ValueError):
    """A value among those of one column that cannot be written: its place, and why."""

    def __init__(self, index: int, text: str) -> None:
        self.index = index
        super().__init__(text)


def refusals(fmt: Format, columns: Columns, options: Options) -> list[tuple[str, str]]:
    """Return the columns, and the fields of structs in them, that a format cannot express, each with the reason."""
    found = [(columns[0].name, why) for why in [fmt.columns_refusal(columns)] if why and columns]
    for column in columns:
        reasons = [fmt.name_refusal(column.name), *_type_refusals(fmt, column.type, options)]
        found += [(column.name, reason) for reason in reasons if reason]
        inside = column.type
        while isinstance(inside, Array):
            inside = inside.item
        if isinstance(inside, Struct):
            names = [field.name for field in inside.fields]
            if len(set(names)) < len(names):
                found.append((column.name, "two of its fields have the same name"))
            found += [(f"{column.name}.{name}", why) for name, why in refusals(fmt, inside.fields, options)]
    return found


def _type_refusals(fmt: Format, kind: Type, options: Options) -> list[str | None]:
    inside = _type_refusals(fmt, kind.item, options) if isinstance(kind, Array) else []
    return [fmt.refusal(kind, options), *inside]


def prefix(schema_id: SchemaId | None) -> bytes:
    """Return Confluent's prefix: a zero byte and the id in four bytes, big-endian; nothing where a header has the id.

    https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format
    """
    if schema_id is None or schema_id.guid is not None:
        return b""
    return b"\x00" + schema_id.id.to_bytes(4, "big")
