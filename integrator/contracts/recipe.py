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
from integrator.contracts.table_recipe import TableRecipe
from integrator.schema import Table

UnknownColumns = Literal["error", "ignore", "add"]


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
    what changed: such changes are passed over. finite: of rows of a refresh, numbers that are none, or without end, are
    null, as the changes of the channel have them. sent_later: files have rows of whose transactions
    others were sent before; none of them continues after the end of a file. any_database: tables may be of several.
    follows_schemas: columns have the types that the schemas of records have (I11).
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
    finite: bool = False
    any_database: bool = False
    follows_schemas: bool = False

    def subdirs(self, file: str) -> str:
        """Return the directories between the source's path and a file of it, for {hvr_cap_subdirs}."""
        fixed = self.path.split("/")
        while any(set(part) & set("*?[") for part in fixed):
            fixed.pop()
        root, directory = "/".join(fixed).rstrip("/"), posixpath.dirname(file)
        return directory[len(root) :].strip("/") if directory.startswith(root) else ""


@dataclass(frozen=True)
class Sought:
    """The message that a broker refused, whose row is searched for.

    bytes: of key and value. digest: of the value. why: the rest of the error that names the row. size: whether the
    largest columns are named, too.
    """

    topic: str
    bytes: int
    digest: int
    why: str
    size: bool = False


@dataclass(frozen=True)
class Messages:
    """What messages are made of, beside the rows: the names of channel and source location, layout, sizes in bytes.

    identity: of the channel's state, see `State.identity`. limits: the topics whose own limit (max.message.bytes) is
    below max_bytes, and that limit. sought: set where a refused message's row is searched for, and nothing is sent.
    """

    channel: str
    cap_loc: str
    layout: MessageFormat
    timezone: str = "UTC"
    max_bytes: int = 0
    oversized: Oversized = field(default_factory=Oversized)
    identity: str = ""
    limits: tuple[tuple[str, int], ...] = ()
    sought: Sought | None = None

    def limit_of(self, topic: str) -> int:
        """Return how large the messages of a topic may be."""
        return min(self.max_bytes, dict(self.limits).get(topic, self.max_bytes))


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
    transactions, each with a record of the cycle that it was. partitions: of topics how many they have, where messages
    say which they go to. topics: those that are known to be there, where rows say which they go to; None: all are.
    """

    rate_limit: int = 0
    producer: dict[str, str] = field(default_factory=dict, repr=False)  # I7: may hold passwords
    exactly_once: bool = False
    partitions: tuple[tuple[str, int], ...] = ()
    topics: tuple[str, ...] | None = None

    @property
    def compression(self) -> str:
        """How librdkafka compresses batches: none, gzip, snappy, lz4 or zstd."""
        return self.producer.get("compression.type") or self.producer.get("compression.codec") or "none"


@dataclass(frozen=True)
class TransactionTopic:
    """The topic of messages about the begins and ends of transactions, and what the registry calls their schemas."""

    topic: str
    value_id: SchemaId | None = None
    key_id: SchemaId | None = None


@dataclass(frozen=True)
class Recipe:
    """How the changes of a channel become messages, and how these reach Kafka.

    transactions: where messages of transactions go, if the channel has any.
    """

    read: Read
    tables: tuple[TableRecipe, ...]
    messages: Messages
    send: Send = field(default_factory=Send)
    tolerance: Tolerance = field(default_factory=Tolerance)
    transactions: TransactionTopic | None = None

    def of_state(self, identity: str) -> Recipe:
        """Return the recipe for the channel's state of this identity."""
        return replace(self, messages=replace(self.messages, identity=identity))

    @cached_property
    def fingerprint(self) -> str:
        """A text that is another where messages would be made otherwise.

        Where the files are does not change them, nor does what only decides which rows are passed over and counted. The
        identity is that of the state beside which the fingerprint is kept: a new one, where it was lost, stops nothing.
        """
        read = replace(self.read, path="", absent=(), refreshed=())
        # a topic's own limit decides to which topic a row goes only where dead letters do
        messages = replace(self.messages, identity="")
        if not messages.oversized.dead_letters:
            messages = replace(messages, limits=())
        made = (read, self.tables, messages, *self.tolerance.changes, *filter(None, [self.transactions]))
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

    @cached_property
    def by_name(self) -> dict[str, TableRecipe]:
        """The tables by their names."""
        return {table.table.name: table for table in self.tables}

    @property
    def masks(self) -> bool:
        """Whether there are columns whose values are in no log and no error."""
        return any(table.masked for table in self.tables)

    @property
    def counts_transactions(self) -> bool:
        """Whether rows are counted for messages of transactions: those that are sent later than others are not."""
        return self.transactions is not None and not self.read.sent_later

    @cached_property
    def by_partition(self) -> bool:
        """Whether there are messages with a partition of their own."""
        return any(table.message_partition for table in self.tables)

    @cached_property
    def paired(self) -> bool:
        """Whether the two rows of an update are needed together."""
        layout = self.messages.layout
        of_layout = bool(layout.envelope or layout.before or layout.bundling.mode == "CHANGE")
        return of_layout or any(table.capture.paired for table in self.tables)


@lru_cache(maxsize=8)
def _of_bytes(data: bytes) -> Recipe:
    return Recipe(**pickle.loads(data))  # noqa: S301 - the driver's own bytes
