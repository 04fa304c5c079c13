"""The fragment: the contract between the two passes. A row is one encoded change row, or a note about a file.

topic, table; key: what the message key's frame stands around, or null for none; op; integ_seq; rank: 0, or 1 for a
tombstone behind its row; cap_tstamp: commit in microseconds since 1970, or null; shape: which schema the payload has,
see `Shape`; headers: the values of the message headers; payload: the encoded row, without what the format puts around
it, or null for a tombstone.

Schema texts are long and the same for all rows of a table, so they are added after the shuffle.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from integrator.arrays import Mask
from integrator.changes import OpenTransaction

Places = npt.NDArray[np.int64]

FRAGMENT = pa.schema(
    [
        ("topic", pa.string()),
        ("key", pa.binary()),
        ("table", pa.string()),
        ("op", pa.int8()),
        ("integ_seq", pa.string()),
        ("rank", pa.int8()),
        ("cap_tstamp", pa.int64()),
        ("shape", pa.string()),
        ("headers", pa.list_(pa.binary())),
        ("payload", pa.binary()),
    ]
)
FRAGMENT_DDL = (
    "topic string, key binary, table string, op tinyint, integ_seq string, rank tinyint, cap_tstamp bigint, "
    "shape string, headers array<binary>, payload binary"
)
NOTE = -1
"""The op of a row that is a note: its payload is a Note in JSON."""
_BEFORE_PAYLOAD_OF_NOTE = ["", None, "", NOTE, "", 0, None, "", None]


@dataclass(frozen=True)
class Shape:
    """Which fields of a table a row has: all but `absent` ones (places in the recipe), nullable all in a truncate row.

    A value that the source left out is not null: the row's schema does not have the field, so that no reader can take
    the one for the other.
    """

    absent: tuple[int, ...] = ()
    truncate: bool = False

    def to_text(self) -> str:
        """Return the shape as short text: empty for a full row."""
        bits = sum(1 << place for place in self.absent)
        return ("T" if self.truncate else "") + (f"{bits:x}" if bits else "")

    @staticmethod
    def of_text(text: str) -> Shape:
        """Return the shape that `to_text` wrote."""
        bits = int(text.lstrip("T") or "0", 16)
        absent = tuple(place for place in range(bits.bit_length()) if bits >> place & 1)
        return Shape(absent, text.startswith("T"))


@dataclass(frozen=True)
class Carry:
    """Where the last synced cycle ended: the number of its last file, and the transaction that is open there."""

    ordinal: int = 0
    open: OpenTransaction = field(default_factory=OpenTransaction)


@dataclass(frozen=True)
class Note:
    """What the first pass knows of a file that it has read to its end."""

    ordinal: int
    rows: int
    open: OpenTransaction
    not_sent: dict[str, int]
    """What was read and not sent, by reason: operations that the replication style leaves out, and what is no row."""

    def to_json(self) -> str:
        """Return the note as text."""
        opened = [self.open.tx, self.open.rows, self.open.since_start]
        return json.dumps({"ordinal": self.ordinal, "rows": self.rows, "open": opened, "not_sent": self.not_sent})

    @staticmethod
    def of_json(text: str | bytes) -> Note:
        """Return the note that `to_json` wrote."""
        note = json.loads(text)
        return Note(note["ordinal"], note["rows"], OpenTransaction(*note["open"]), note["not_sent"])

    def to_fragment(self) -> pa.RecordBatch:
        """Return the note as a row of fragments."""
        row = [*_BEFORE_PAYLOAD_OF_NOTE, self.to_json().encode()]
        columns = [pa.array([value], field.type) for value, field in zip(row, FRAGMENT, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=FRAGMENT)


def shapes(missing: dict[int, Mask], truncate: Mask) -> list[tuple[Shape, Places | None]]:
    """Return the shapes among rows, each with the places of its rows; None for all of them.

    missing: by the field's place in the recipe, True for rows that have no value for it.
    """
    if not missing and not truncate.any():
        return [(Shape(), None)]
    places = list(missing)
    bits = np.column_stack([truncate, *missing.values()])
    distinct, index = np.unique(bits, axis=0, return_inverse=True)
    return [
        (Shape(tuple(sorted(places[i] for i in np.flatnonzero(row[1:]))), bool(row[0])), np.flatnonzero(index == code))
        for code, row in enumerate(distinct)
    ]
