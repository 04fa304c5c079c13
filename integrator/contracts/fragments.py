"""The fragment: the contract between the two passes. A row is one encoded change row, or a note about a file.

topic, table; key: what the message key's frame stands around, or null for none; op; integ_seq; rank: 0, or the place of
what is after a row: a tombstone, or the next part of a dead letter; more: whether the next fragment belongs to the
same change; cap_tstamp: commit in microseconds since 1970, or null; partition, timestamp: those that the message is to
have, the latter in milliseconds since 1970, or null; shape: which schema the payload has, see `PresentFields`; headers:
the values of the message headers; payload: the encoded row, without what the format puts around it, or null for a
tombstone.

Schema texts are long and the same for all rows of a table, so they are added after the shuffle.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.sequence import OpenTransaction
from integrator.contracts.streams import PositionRange, Source
from integrator.engine.arrays import Ints, Mask

FRAGMENT = pa.schema(
    [
        ("topic", pa.string()),
        ("key", pa.binary()),
        ("table", pa.string()),
        ("op", pa.int8()),
        ("integ_seq", pa.string()),
        ("rank", pa.int32()),
        ("more", pa.bool_()),
        ("cap_tstamp", pa.int64()),
        ("partition", pa.int32()),
        ("timestamp", pa.int64()),
        ("shape", pa.string()),
        ("headers", pa.list_(pa.binary())),
        ("payload", pa.binary()),
    ]
)
FRAGMENT_DDL = (
    "topic string, key binary, table string, op tinyint, integ_seq string, rank int, more boolean, cap_tstamp bigint, "
    "partition int, timestamp bigint, shape string, headers array<binary>, payload binary"
)
WITHOUT_FORM = "integrator.without.form"
"""The header, after a row's own, of messages with nulls of which the database has values that their types lack: the
names of these columns, between commas."""
DEAD = "!"
"""The shape of a part of a dead letter: its payload is the part, its headers are `DEAD_HEADERS`."""
DEAD_HEADERS = ("reason", "topic", "table", "key", "op", "integ_seq", "place", "size", "part", "parts")
"""What the headers of a dead letter record: why it is one; where it would have gone; the row; the file and line it was
read from; the bytes of its message; which part of the message's value this one is, and of how many."""
REJECTED = "?"
"""The shape of a rejected line, or of a part of one: its payload is the line as it came."""
REJECTED_OP = 7
"""The op of rejected lines, which is none of HVR's."""
REJECTED_HEADERS = tuple(
    f"__connect.errors.{name}"
    for name in (
        "connector.name",
        "stage",
        "exception.class.name",
        "exception.message",
        "file",
        "line",
        "part",
        "parts",
    )
)
"""What headers record of a rejected line: Kafka Connect's names, and its file, its line, and which part of it this is.

https://github.com/apache/kafka, DeadLetterQueueReporter.java. There is no topic, partition or offset that it came from.
"""
ASIDE = (DEAD, REJECTED)
"""The shapes of what is a message as it is."""
TRANSACTION_LENGTH = 37
"""How much of an integ_seq is the same for all rows of a transaction: the segments before the row's."""
FILE_SUMMARY = -1
"""The op of a row that is a FileSummary: its payload is that, in JSON."""
STREAM_END = -2
"""The op of a row that is a StreamEnd."""
COUNTED, ENDED, BEGUN = -3, -4, -5
"""The ops of rows that are of a transaction, whose place is their integ_seq: how many rows of `table` were sent of it
(their rank), that it has ended, and that its begin was sent. They come to the driver."""


def with_column(rows: pa.RecordBatch, name: str, values: pa.Array) -> pa.RecordBatch:
    """Return fragments with other values in a column."""
    return rows.set_column(FRAGMENT.get_field_index(name), FRAGMENT.field(name), values)


Item = TypeVar("Item")


@dataclass(frozen=True)
class PresentFields:
    """Which fields of a table a row has: all but `absent` ones (places in the recipe), nullable all in a truncate row.

    A value that the source left out is not null: the row's schema does not have the field, so that no reader can take
    the one for the other.
    """

    absent: tuple[int, ...] = ()
    truncate: bool = False

    def present(self, of_fields: Sequence[Item]) -> tuple[Item, ...]:
        """Return what belongs to the fields that a row has, given one thing for each field."""
        return tuple(one for place, one in enumerate(of_fields) if place not in self.absent)

    def to_text(self) -> str:
        """Return the shape as short text: empty for a full row."""
        bits = sum(1 << place for place in self.absent)
        return ("T" if self.truncate else "") + (f"{bits:x}" if bits else "")

    @staticmethod
    def of_text(text: str) -> PresentFields:
        """Return the shape that `to_text` wrote."""
        bits = int(text.lstrip("T") or "0", 16)
        absent = tuple(place for place in range(bits.bit_length()) if bits >> place & 1)
        return PresentFields(absent, text.startswith("T"))


@dataclass(frozen=True)
class Checkpoint:
    """Where the last synced cycle ended: the number of its last file, and the transaction that is open there."""

    ordinal: int = 0
    open: OpenTransaction = field(default_factory=OpenTransaction)
    integ_key: int = 0
    """The least seed that {hvr_integ_key} may have next."""
    deferred: bytes = field(default=b"", repr=False)
    """Rows of that transaction that were not sent yet, for they are to share a message with those to come: fragments as
    an Arrow IPC stream."""
    streams: dict[str, OpenTransaction] = field(default_factory=dict)
    """The transactions that are open in streams that have names (senders)."""
    spans: dict[str, PositionRange] = field(default_factory=dict)
    """Of each stream the span of its last file."""
    sources: dict[str, Source] = field(default_factory=dict)
    """Of which table of the source the records of a table were, as in `FileSummary`."""

    def open_in(self, stream: str) -> OpenTransaction:
        """Return the transaction that is open in a stream."""
        return self.streams.get(stream, OpenTransaction()) if stream else self.open

    def deferred_rows(self) -> list[pa.RecordBatch]:
        """Return the deferred rows, and those of the transactions that are open."""
        return list(pa.ipc.open_stream(self.deferred)) if self.deferred else []

    @property
    def waiting(self) -> int:
        """How many rows of messages are deferred."""
        return sum(int(pc.sum(pc.greater_equal(rows["op"], 0)).as_py() or 0) for rows in self.deferred_rows())


SEED_BITS, FILE_BITS = 32, 24
"""{hvr_integ_key}: 16 hex digits; seconds since 1970 above; below the file in the cycle, and the row in the file."""


def seed_of(checkpoint: Checkpoint, now: datetime) -> int:
    """Return the seed of {hvr_integ_key} in a cycle: the second, or a later one if that is taken."""
    return max(int(now.timestamp()), checkpoint.integ_key)


def to_deferred(rows: list[pa.RecordBatch]) -> bytes:
    """Return fragments as an Arrow IPC stream; nothing for none."""
    if not rows:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, FRAGMENT) as writer:
        for batch in rows:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def joined_deferred(parts: Iterable[bytes]) -> bytes:
    """Return what several tasks defer as one."""
    return to_deferred([batch for part in parts for batch in Checkpoint(deferred=part).deferred_rows()])


class StreamSummary(NamedTuple):
    """Where a stream stands after a file of it.

    ordinal, path: of the file. open: the transaction that is open there. span: the positions of the changes that were
    read of it.
    """

    ordinal: int
    path: str
    open: OpenTransaction
    span: PositionRange


@dataclass(frozen=True)
class FileSummary:
    """What the first pass knows of a file that it has read to its end, or of small files that it read as one.

    ordinal: the highest number of them. path: the file, or the first of them. streams: of each stream that they are of
    where it stands after the last of its files.
    """

    ordinal: int
    rows: int
    streams: dict[str, StreamSummary]
    not_sent: dict[str, int]
    """What was read and not sent, by reason: operations that the replication style leaves out, and what is no row."""
    resumed: int = 0
    """Rows that the cycle before deferred, which are sent before those of this file."""
    warnings: dict[str, int] = field(default_factory=dict)
    """Values that were changed, by reason."""
    details: list[dict[str, Any]] = field(default_factory=list)
    """Details of some of those."""
    path: str = ""
    sources: dict[str, Source] = field(default_factory=dict)
    """Of which table of the source the records of a table are, where its definition leaves that open."""
    rejected: int = 0
    """Lines that were rejected."""
    rejections: list[dict[str, Any]] = field(default_factory=list)
    """Where some of those were, and why."""
    rejected_at: list[int] = field(default_factory=list)
    """Where the channel stops when too many are rejected: how many lines there are, the number before the first, and
    the first and the last rejected ones."""
    files: int = 1

    def to_json(self) -> str:
        """Return the summary as text."""
        streams = {name: [*one[:2], [*vars(one.open).values()], one.span] for name, one in self.streams.items()}
        return json.dumps({**self.__dict__, "streams": streams})

    @staticmethod
    def of_json(text: str | bytes) -> FileSummary:
        """Return the summary that `to_json` wrote."""
        summary = json.loads(text)
        sources = {name: Source(*source) for name, source in summary["sources"].items()}
        streams = {
            name: StreamSummary(ordinal, path, OpenTransaction(*opened), PositionRange(*span))
            for name, (ordinal, path, opened, span) in summary["streams"].items()
        }
        return FileSummary(**{**summary, "streams": streams, "sources": sources})

    def to_fragment(self) -> pa.RecordBatch:
        """Return the summary as a row of fragments."""
        return _aside([""], FILE_SUMMARY, self.to_json())


@dataclass(frozen=True)
class StreamEnd:
    """Where a task's last file ends: in a transaction that the source declares unfinished, or not (empty)."""

    ordinal: int
    unfinished: str

    def to_fragments(self, topics: Sequence[str]) -> pa.RecordBatch:
        """Return the end as rows that reach whoever sends to `topics`."""
        return _aside(topics, STREAM_END, json.dumps([self.ordinal, self.unfinished]))

    @staticmethod
    def last(texts: Iterable[str | bytes]) -> StreamEnd:
        """Return the end of the last file among those in rows' payloads."""
        return max(
            (StreamEnd(*json.loads(text)) for text in texts), key=lambda mark: mark.ordinal, default=StreamEnd(0, "")
        )


def _aside(topics: Sequence[str], op: int, payload: str) -> pa.RecordBatch:
    """Return rows that are no change: they are after all changes of their topic."""
    row = {"op": op, "integ_seq": "~", "rank": 0, "more": False, "table": "", "shape": "", "payload": payload.encode()}
    return pa.RecordBatch.from_pylist([{"topic": topic, **row} for topic in topics], schema=FRAGMENT)


def shapes(missing: dict[int, Mask], truncate: Mask) -> list[tuple[PresentFields, Ints | None]]:
    """Return the shapes among rows, each with the places of its rows; None for all of them.

    missing: by the field's place in the recipe, True for rows that have no value for it.
    """
    if not missing and not truncate.any():
        return [(PresentFields(), None)]
    places = list(missing)
    bits = np.column_stack([truncate, *missing.values()])
    distinct, index = np.unique(bits, axis=0, return_inverse=True)
    return [
        (
            PresentFields(tuple(sorted(places[i] for i in np.flatnonzero(row[1:]))), bool(row[0])),
            np.flatnonzero(index == code),
        )
        for code, row in enumerate(distinct)
    ]
