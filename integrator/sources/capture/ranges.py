"""How far the rows of a table are read: up to which key, in its order.

The rows of a large table are read at several positions of the log. Each reading begins after the last key that is
durable, and changes of the whole table follow from the first position on. So no transaction is open for long, and what
is interrupted continues where it was. A table without a usable key is read at one position.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from integrator.decode.encodings.pgoutput import Relation, relation_of, split
from integrator.engine.pgoutput import BEGIN, COPY, RELATION, START
from integrator.sources.capture.frames import begun_in
from integrator.sources.spool import sealed_in

_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPED = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
"""https://www.postgresql.org/docs/current/sql-copy.html, text format."""


class Part(NamedTuple):
    """The part of a table's rows that is read at once.

    key: the columns of its key, in the order of the index; none: all rows are read, in any order. last: the values of
    the row after which it begins; None: at the first one. where: a condition in SQL; empty: none.
    """

    key: Sequence[str] = ()
    last: Sequence[str] | None = None
    where: str = ""


@dataclass
class Reading:
    """A table whose rows are being read.

    oid: the table's. key, where: as in `Part`. last: as there, of the rows that are durable. begun: the position and
    the number of the transaction that has the first rows. rows: how many of these there are. order: as of `Point`.
    """

    oid: int
    key: list[str]
    begun: list[int]
    last: list[str] | None = None
    where: str = ""
    rows: int = 0
    order: str = ""

    def values(self, relation: Relation, row: bytes) -> list[str] | None:
        """Return the values of the key in a row, as COPY writes it; None without a key."""
        if not self.key:
            return None
        values, at = row.split(b"\t"), {one.name: place for place, one in enumerate(relation.columns)}
        return [text_of(values[at[name]]) for name in self.key]


def text_of(value: bytes) -> str:
    """Return a value as text that COPY has written."""
    return _ESCAPE.sub(_unescaped, value).decode()


def _unescaped(found: re.Match[bytes]) -> bytes:
    return _ESCAPED.get(found[1], found[1])


def last_row(rows: bytes) -> bytes:
    """Return the last one of whole rows of COPY, without its end."""
    return rows[:-1].rpartition(b"\n")[2]


def note_durable(spool: Path, readings: Mapping[str, Reading]) -> bool:
    """Note the last rows that the last segment has of tables; return whether they were not known.

    The segment is durable before what the record says of it. Rows of an earlier reading of the table do not count.
    """
    segments = sealed_in(spool) if readings else []
    if not segments:
        return False
    known = {name: one.last for name, one in readings.items()}
    relations, begun, found = dict[bytes, Relation](), b"", dict[str, bytes]()
    by_oid = {one.oid.to_bytes(4, "big"): name for name, one in readings.items()}
    for message in split(segments[-1].read_bytes()):
        kind, number = message[0], message[1:5]
        if kind == START:
            begun = begun_in(message)
        elif kind == BEGIN:
            begun = message
        elif kind == RELATION:
            relations[number] = relation_of(message)
        elif kind == COPY and (name := by_oid.get(number)):
            lsn, _, transaction = struct.unpack_from(">QqI", begun, 1)
            if [lsn, transaction] >= readings[name].begun:
                found[name] = number + last_row(message[5:])
    for name, row in found.items():
        readings[name].last = readings[name].values(relations[row[:4]], row[4:])
    return known != {name: one.last for name, one in readings.items()}
