"""What a format is: from columns to a schema's text, and to a function from arrays to encoded rows.

A row of a message is encoded alone; `Frame` has what stands around the rows of a message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import pyarrow as pa

from integrator.contracts.message_format import Options, SchemaId
from integrator.engine.arrays import Ints
from integrator.formats.records import ByColumn, Columns, Encoder
from integrator.schema import Array, Struct, Type

Assemble = Callable[[pa.Array, Ints], pa.Array]
"""From the rows of each message, one after the other, and their number, to the body of each message."""


@dataclass(frozen=True)
class Frame:
    """What stands around the encoded rows of a message, which holds rows of one table or, in runs, of several.

    start, end: around the message. table_start, table_end: around a run of rows of one table. before, after: around
    each row. between_rows, between_tables: between rows of a run, and between runs.
    assemble: makes the body out of the rows, for formats that count the rows; then only start and end are
    put around it. numbered: what stands before rows that are assembled, by their places in the message; between_rows
    is then what that may cost. finish: is done to each message that is assembled, such as its length put before it.
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
    numbered: Callable[[Ints], pa.Array] | None = None
    finish: Callable[[pa.Array], pa.Array] | None = None

    @cached_property
    def opening(self) -> bytes:
        """What stands before the first row of a message."""
        return self.start + self.table_start + self.before

    @cached_property
    def closing(self) -> bytes:
        """What is after the last row of a message."""
        return self.after + self.table_end + self.end


Bundles = Literal["", "table", "tables"]
"""Whether a message may hold several rows: no, of one table, or of several tables."""


@dataclass(frozen=True)
class Format:
    """A format. `name` in its functions is the table's, and so the record's.

    missing: what becomes of a value that the source left out. `shape`: the message's own schema does not have it;
    `omit`: the row does not have it; `refuse`: the format has a value for each column of each row.
    schema_type: what a registry calls its schemas; empty without a registry.
    """

    rows: ByColumn | Callable[[Columns, Options], Encoder]
    """How rows are written: column by column, or, where what is written of one depends on others, as a whole."""
    frame: Callable[[str, Columns, Options, SchemaId | None], Frame]
    missing: Literal["shape", "omit", "refuse"]
    schema_text: Callable[[str, Columns, Options], str] = lambda _name, _columns, _options: ""
    refusal: Callable[[Type, Options], str | None] = lambda _type, _options: None
    """Why no column may have a type, or None."""
    name_refusal: Callable[[str], str | None] = lambda _name: None
    """Why no column may have a name, or None."""
    record_refusal: Callable[[str], str | None] = lambda _name: None
    """Why no record may have a name, or None."""
    named: bool = False
    """Whether messages, or their schemas, have the name of the record."""
    columns_refusal: Callable[[Columns], str | None] = lambda _columns: None
    """Why columns cannot stand beside each other, or None."""
    schema_type: Literal["", "AVRO", "JSON", "PROTOBUF"] = ""
    header_tail: bytes = b""
    """What is after the schema's GUID, where that is in a header: Protobuf's path to the message."""
    finite: bool = False
    """Whether values have no NaN, no infinities, and no years beyond 9999."""
    text: bool = True
    """Whether messages are text, which can be in another encoding, or with other line ends."""
    numbers_of: Callable[[str], tuple[tuple[str, int], ...]] | None = None
    """The numbers that fields have in a schema's text, by their paths; None where fields have none."""
    bundles: Callable[[Options], Bundles] = lambda _options: ""
    compresses: Callable[[Options], bool] = lambda _options: False
    """Whether `assemble` compresses rows, so that some may become larger."""

    @property
    def by_column(self) -> ByColumn | None:
        """How rows are made of columns; None where they are written as a whole."""
        return self.rows if isinstance(self.rows, ByColumn) else None

    def encoder(self, columns: Columns, options: Options) -> Encoder:
        """Return a function from the columns' arrays to each row. Raises UnsupportedValue."""
        return self.rows.encoder(columns, options) if isinstance(self.rows, ByColumn) else self.rows(columns, options)


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
