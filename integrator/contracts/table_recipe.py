"""What the executors need to know of a table: plain frozen data that pickles, prints and compares."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from integrator.contracts.message_format import SchemaId
from integrator.contracts.operations import (
    BEFORE_UPDATE,
    DELETE,
    INSERT,
    STYLES,
    TRUNCATE,
)
from integrator.expressions.parts import Part, Sql
from integrator.schema import Column, Table, Type


@dataclass(frozen=True)
class Field:
    """A column of the messages: its name and type there, and where its value comes from.

    `source` is the table column to take; `expression` is evaluated instead where there is one; `soft_delete` fields are
    computed from the operation. `extra` fields are not columns of the table; `column` is the one that others stand for,
    and default that one's. operations: those for whose rows the expression is evaluated; all where there are none.
    lossy: its type cannot hold all that the source's can, and values are coerced. uncompared: it is left out where
    topics are compared with tables.
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
    default: Any = None
    uncompared: bool = False

    def as_column(self, *, nullable: bool) -> Column:
        """Return the field as a column, null allowed or not."""
        return Column(self.name, self.type, nullable, default=self.default)


@dataclass(frozen=True)
class TextRules:
    """What is done to the values of a column, whatever its name: see `CaptureRecipe`.

    day: they lose their time. blanks: they lose blanks at their end. characters: what stands for characters of text.
    """

    day: bool = False
    blanks: bool = False
    characters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class CaptureRecipe:
    """What is done to the change rows of a table before anything else, as if they had been captured so.

    table: as the records have it, if otherwise. names: columns' names in the channel and in the records, where they
    differ. absent: columns that records do not have. expressions: columns and what makes them. trims: columns and the
    bytes they are cut to; blanks: columns that lose blanks at their end; days: columns that lose their time.
    characters: what stands for characters of text. missing: columns and what is sent where they are missing. augment:
    missing values of an after image are taken from the before image. condition: only rows for which it is true are
    kept. ignored, ignored_updates: changes, and updates, for which they are true are not kept. addresses: where rows
    go, if not to Kafka alone; subscribed: addresses whose rows come to Kafka.
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
    ignored: Sql | None = None
    ignored_updates: Sql | None = None
    addresses: tuple[Part, ...] = ()
    subscribed: tuple[str, ...] = ()

    @property
    def paired(self) -> bool:
        """Whether the two rows of an update are needed together."""
        return self.augment or self.coalesce or bool(self.conditions)

    @property
    def conditions(self) -> tuple[Sql, ...]:
        """The conditions that decide which rows are kept."""
        return tuple(one for one in (self.condition, self.ignored, self.ignored_updates) if one is not None)

    def text_rules(self, column: str) -> TextRules:
        """Return what is done to the values of a column."""
        return TextRules(column in self.days, column in self.blanks, self.characters)


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

    topic: as the channel writes it, where it depends on rows: `message_topic` is its expression then. outbox: only its
    inserts become messages, and an update is counted (WARN) or an error (FATAL). key: the replication key. headers:
    names and expressions; header_serializer: how their values are written, a name in formats.header_values.HEADERS.
    not_in_keys: columns of a table's own key by whose values message keys do not differ.
    message_timestamp, message_partition: the expressions of timestamps and partitions, where messages have their own.
    tombstones: a delete is followed by a message without value. truncates, before_updates: they are sent, where the
    style sends them.
    missing_as_null: values that the source left out are sent as null, where the format has no other word for them.
    value_id, key_id: what the registry calls the schemas. numbers: Protobuf's field numbers that are taken.
    midnight_is_date: a timestamp at midnight becomes text without its time. binary: how bytes are written in text.
    in_database: the schema and the name that records of the table have, and its partitions.
    added: columns that came while the channel ran, each with the number of the file and the line that has it first.
    masked: columns whose values are in no log and no error, for the channel does not send them as they are.
    whole_events: messages have events as they came; the first two fields are those of `EVENT_COLUMNS`.
    value_record, key_record: the names of records in schemas, where the channel gives them.
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
    header_serializer: str = "STRING"
    message_topic: tuple[Part, ...] = ()
    message_timestamp: tuple[Part, ...] = ()
    message_partition: tuple[Part, ...] = ()
    tombstones: bool = False
    not_in_keys: tuple[str, ...] = ()
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
    outbox: Literal["", "WARN", "FATAL"] = ""
    in_database: tuple[str | None, str, tuple[str, ...]] | None = None
    masked: tuple[str, ...] = ()
    whole_events: bool = False
    value_record: str = ""
    key_record: str = ""

    @property
    def operations(self) -> tuple[int, ...]:
        """The operations whose rows are sent."""
        if self.outbox:
            return (INSERT,)
        left_out = {op for op, sent in ((TRUNCATE, self.truncates), (BEFORE_UPDATE, self.before_updates)) if not sent}
        return tuple(op for op in STYLES[self.style] if op not in left_out)

    @property
    def expressions(self) -> tuple[tuple[Part, ...], ...]:
        """The expressions of fields, and of what messages have beside their values."""
        of_fields = (field.expression for field in self.fields)
        of_capture = (parts for _, parts in self.capture.expressions)
        of_headers = (parts for _, parts in self.headers)
        captured = (*of_capture, self.capture.conditions, self.capture.addresses)
        of_message = (self.message_key.expression, self.message_topic, self.message_timestamp, self.message_partition)
        return (*of_fields, *captured, *of_message, *of_headers)

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
        schema, name, partitions = self.in_database
        return replace(table, schema=schema, base_name=name, partitions=partitions)

    @property
    def bare_tombstones(self) -> bool:
        """Whether a delete is sent as a tombstone alone, for its row is not sent in this style."""
        return self.tombstones and DELETE not in self.operations
