"""What the executors need to know, and nothing else: plain frozen data that pickles, prints and compares.

The driver decides, executors obey: they never read YAML and never ask Kafka what to do.
"""

from __future__ import annotations

import hashlib
import pickle
import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Literal

from integrator.contracts.message_format import MessageFormat, Oversized, SchemaId
from integrator.expressions.parse import Part, Sql
from integrator.schema import Column, Table, Type

DELETE, INSERT, UPDATE, BEFORE_KEY_UPDATE, BEFORE_UPDATE, TRUNCATE = range(6)
"""HVR's operation codes (https://www.hvr-software.com/docs/6/hvr-internal-objects/extra-columns-for-capture-fail-and-history-tables)."""

DELETED = (DELETE, BEFORE_KEY_UPDATE, TRUNCATE)
"""The operations after which the row, or its key, is gone: SoftDelete is 1."""

UnknownColumns = Literal["error", "ignore", "add"]

TOMBSTONED = (DELETE, BEFORE_KEY_UPDATE)
"""The operations after which a key is gone: a tombstone follows, where the channel wants any."""

STYLES: dict[str, tuple[int, ...]] = {
    "Standard": (INSERT, UPDATE),
    "SoftDelete": (INSERT, UPDATE, BEFORE_KEY_UPDATE, DELETE, TRUNCATE),
    "TimeKey": (INSERT, BEFORE_UPDATE, UPDATE, BEFORE_KEY_UPDATE, DELETE, TRUNCATE),
}
"""Which operations a replication style sends (hvr-semantics 1.3)."""


@dataclass(frozen=True)
class Field:
    """A column of the messages: its name and type there, and where its value comes from.

    `source` is the table column to take; `expression` is evaluated instead where there is one; `soft_delete` fields are
    computed from the operation. `extra` fields are not columns of the table; `column` is the one that others stand for.
    operations: those for whose rows the expression is evaluated; all where there are none. lossy: its type cannot hold
    all that the source's can, and values are coerced.
    """

    name: str
    type: Type
    nullable: bool
    source: str | None = None
    expression: tuple[Part, ...] = ()
    soft_delete: bool = False
    extra: bool = False
    column: str | None = None
    operations: tuple[int, ...] = ()
    lossy: bool = False

    def as_column(self, *, nullable: bool) -> Column:
        """Return the field as a column, null allowed or not."""
        return Column(self.name, self.type, nullable)


@dataclass(frozen=True)
class CaptureRecipe:
    """What is done to the change rows of a table before anything else, as if they had been captured so.

    table: as the records have it, if otherwise. names: columns' names in the channel and in the records, where they
    differ. absent: columns that records do not have. expressions: columns and what makes them. trims: columns and the
    bytes they are cut to; blanks: columns that lose blanks at their end; days: columns that lose their time.
    characters: what stands for characters of text. missing: columns and what is sent where they are missing.
    augment: missing values of a new row are taken from the old one. condition: only rows for which it is true are kept.
    addresses: where rows go, if not to Kafka alone; subscribed: addresses whose rows come to Kafka.
    """

    table: Table | None = None
    names: tuple[tuple[str, str], ...] = ()
    absent: tuple[str, ...] = ()
    expressions: tuple[tuple[str, tuple[Part, ...]], ...] = ()
    trims: tuple[tuple[str, int], ...] = ()
    blanks: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    characters: tuple[tuple[str, str], ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    augment: bool = False
    coalesce: bool = False
    condition: Sql | None = None
    addresses: tuple[Part, ...] = ()
    subscribed: tuple[str, ...] = ()

    @property
    def paired(self) -> bool:
        """Whether the two rows of an update are needed together."""
        return self.augment or self.coalesce or self.condition is not None


@dataclass(frozen=True)
class Coercion:
    """What becomes of values that do not fit their type: they are made to, where `types` has how they do not fit."""

    policy: Literal["FATAL", "SILENT", "WARNING", "WARNING_FILE"] = "FATAL"
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class KeyRecipe:
    """How a table's message keys are made: out of `expression`, or of `columns` where the serializer takes those.

    serializer: a name in formats.keys.KEYS. Without expression and columns, messages have no key.
    """

    serializer: str
    expression: tuple[Part, ...] = ()
    columns: tuple[Column, ...] = ()


@dataclass(frozen=True)
class TableRecipe:
    """How the changes of one table become messages.

    key: the replication key. headers: names and expressions. tombstones: a delete is followed by a message without
    value. truncates, before_updates: they are sent, where the style sends them.
    missing_as_null: values that the source left out are sent as null, where the format has no other word for them.
    value_id, key_id: what the registry calls the schemas. numbers: Protobuf's field numbers that are taken.
    midnight_is_date: a timestamp at midnight becomes text without its time. binary: how bytes are written in text.
    in_database: the schema and the name that records of the table have.
    added: columns that came while the channel ran, each with the number of the file and the line that has it first.
    masked: columns whose values are in no log and no error, for the channel does not send them as they are.
    keyless: neither the definition nor the channel gives a key, and `key` is all columns that may be in one.
    """

    table: Table
    topic: str
    style: str
    key: tuple[str, ...]
    distribution_key: tuple[str, ...]
    fields: tuple[Field, ...]
    message_key: KeyRecipe = field(default_factory=lambda: KeyRecipe("NONE"))
    headers: tuple[tuple[str, tuple[Part, ...]], ...] = ()
    tombstones: bool = False
    truncates: bool = True
    before_updates: bool = True
    missing_as_null: bool = False
    value_id: SchemaId | None = None
    key_id: SchemaId | None = None
    numbers: tuple[tuple[str, int], ...] = ()
    capture: CaptureRecipe = field(default_factory=CaptureRecipe)
    coercion: Coercion = field(default_factory=Coercion)
    midnight_is_date: bool = False
    binary: Literal["", "BASE64", "HEX", "COPY"] = ""
    added: tuple[tuple[str, int, int], ...] = ()
    keyless: bool = False
    in_database: tuple[str | None, str] | None = None
    masked: tuple[str, ...] = ()

    @property
    def operations(self) -> tuple[int, ...]:
        """The operations whose rows are sent."""
        left_out = {op for op, sent in ((TRUNCATE, self.truncates), (BEFORE_UPDATE, self.before_updates)) if not sent}
        return tuple(op for op in STYLES[self.style] if op not in left_out)

    @property
    def expressions(self) -> tuple[tuple[Part, ...], ...]:
        """The expressions of fields, key and headers."""
        of_fields = (field.expression for field in self.fields)
        of_capture = (parts for _, parts in self.capture.expressions)
        condition = (self.capture.condition,) if self.capture.condition else ()
        of_headers = (parts for _, parts in self.headers)
        return (*of_fields, *of_capture, condition, self.capture.addresses, self.message_key.expression, *of_headers)

    @property
    def in_source(self) -> Table:
        """The table as the records have it: its columns, and its schema and name in the database."""
        table = self.capture.table or self.table
        if self.masked:
            there = dict(self.capture.names)
            masked = {there.get(name, name) for name in self.masked}
            columns = tuple(replace(column, masked=column.name in masked) for column in table.columns)
            table = replace(table, columns=columns)
        if self.in_database is None:
            return table
        schema, name = self.in_database
        return replace(table, schema=schema, base_name=name)

    @property
    def bare_tombstones(self) -> bool:
        """Whether a delete is sent as a tombstone alone, for its row is not sent in this style."""
        return self.tombstones and DELETE not in self.operations


@dataclass(frozen=True)
class DebeziumModes:
    """How Debezium's connector was set to write values, where events come without their schemas."""

    time_precision_mode: str = "ADAPTIVE"
    decimal_handling_mode: str = "PRECISE"
    binary_handling_mode: str = "BYTES"
    unavailable_value: str = "__debezium_unavailable_value"
    old_images: str = "AUTO"


@dataclass(frozen=True)
class Read:
    """How change files are read.

    path: where they are. default_table: of records that do not name theirs. absent: tables, as the records have them,
    whose records are counted and not sent. refreshed: tables, and up to which commit their rows were refreshed with
    what changed: such changes are passed over. sent_later: files have rows of whose transactions
    others were sent before; none of them goes on after the end of a file.
    """

    dialect: str = "hvr"
    path: str = ""
    default_table: str | None = None
    debezium: DebeziumModes = field(default_factory=DebeziumModes)
    source_zone: str = "UTC"
    timestamp_column: str | None = None
    ignore_unknown_tables: bool = False
    unknown_columns: UnknownColumns = "error"
    repeated_positions: bool = False
    absent: tuple[Table, ...] = ()
    refreshed: tuple[tuple[str, str], ...] = ()
    sent_later: bool = False

    def subdirs(self, file: str) -> str:
        """Return the directories between the source's path and a file of it, for {hvr_cap_subdirs}."""
        fixed = self.path.split("/")
        while any(set(part) & set("*?[") for part in fixed):
            fixed.pop()
        root, directory = "/".join(fixed).rstrip("/"), posixpath.dirname(file)
        return directory[len(root) :].strip("/") if directory.startswith(root) else ""


@dataclass(frozen=True)
class Messages:
    """What messages are made of, beside the rows: the names of channel and source location, layout, sizes in bytes."""

    channel: str
    cap_loc: str
    layout: MessageFormat
    timezone: str = "UTC"
    max_bytes: int = 0
    oversized: Oversized = field(default_factory=Oversized)


@dataclass(frozen=True)
class Tolerance:
    """What becomes of lines that cannot be read or sent.

    rejects: they are rejected; else the first one is an error. topic: where they go, nowhere if it is empty. headers:
    whether the reason goes with them. most: when the channel stops, so many rejected of so many; never if empty.
    logged: whether each has an event in the log (lines), with its reason (messages), or not (empty).
    """

    rejects: bool = False
    topic: str = ""
    headers: bool = True
    most: tuple[int, ...] = ()
    logged: Literal["", "lines", "messages"] = ""

    @property
    def changes(self) -> tuple[tuple[bool, str, bool], ...]:
        """What of it changes the messages, or which rows they have; empty where nothing is rejected."""
        return ((self.rejects, self.topic, self.headers),) if self.rejects else ()


@dataclass(frozen=True)
class Send:
    """How messages are sent.

    rate_limit: messages a second of all tasks; 0 is any number. producer: librdkafka's settings. exactly_once: in
    transactions, each with a record of the cycle that it was.
    """

    rate_limit: int = 0
    delivery_timeout_s: int = 0
    producer: dict[str, str] = field(default_factory=dict, repr=False)  # I7: may hold passwords
    exactly_once: bool = False


@dataclass(frozen=True)
class Recipe:
    """How the changes of a channel become messages, and how these reach Kafka."""

    read: Read
    tables: tuple[TableRecipe, ...]
    messages: Messages
    send: Send = field(default_factory=Send)
    tolerance: Tolerance = field(default_factory=Tolerance)

    @cached_property
    def fingerprint(self) -> str:
        """A text that is another where messages would be made otherwise."""
        made = (self.tables, self.messages.layout, self.messages.max_bytes, *self.tolerance.changes)
        return hashlib.sha256(repr(made).encode()).hexdigest()

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Callable[[bytes], Recipe], tuple[bytes]]:
        """Pickle to bytes that are made once, and of which a worker makes a recipe once, however many cycles there are.

        Of 500 tables that takes 60 ms here and 200 ms there.
        """
        return _of_bytes, (self._bytes,)

    @cached_property
    def _bytes(self) -> bytes:
        return pickle.dumps({part.name: getattr(self, part.name) for part in fields(self)})

    @property
    def paired(self) -> bool:
        """Whether the two rows of an update are needed together."""
        layout = self.messages.layout
        of_layout = bool(layout.envelope or layout.before or layout.bundling.mode == "CHANGE")
        return of_layout or any(table.capture.paired for table in self.tables)


@lru_cache(maxsize=8)
def _of_bytes(data: bytes) -> Recipe:
    return Recipe(**pickle.loads(data))  # noqa: S301 - the driver's own bytes
