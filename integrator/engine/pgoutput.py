"""Frames of PostgreSQL's logical replication: where each is, and which end whole transactions.

A frame is its size, 4 bytes, least significant first, and a message of pgoutput, protocol version 1, whose numbers are
most significant first (https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html). A message of
our own, COPY, has the number of a relation, and rows as COPY TO STDOUT writes them
(https://www.postgresql.org/docs/current/sql-copy.html, text format).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Octets
from integrator.engine.compiled import compiled, inlined

HEADER_BYTES = 4
BEGIN, COMMIT, RELATION, INSERT, UPDATE, DELETE, TRUNCATE, MESSAGE = b"BCRIUDTM"
START, COPY = b"01"
"""Our own: where a segment begins, which makes no record; and rows of COPY."""
NO_RELATION = -2
LEAST_CHANGE, LEAST_TRUNCATE, LEAST_BEGIN, _LEAST_COMMIT = 5, 6, 21, 26
"""Bytes of messages before their tuples and relations, of a BEGIN, and of a COMMIT."""


@inlined
def number(data: Octets, at: int, size: int) -> int:
    """Return a number of a message, of so many bytes."""
    found = np.int64(0)
    for place in range(at, at + size):
        found = found << 8 | np.int64(data[place])
    return int(found)


@inlined
def size_of(data: Octets, at: int) -> int:
    """Return the size of the message of the frame that begins there."""
    found = np.int64(0)
    for place in range(HEADER_BYTES):
        found |= np.int64(data[at + place]) << 8 * place
    return int(found)


@compiled
def frames_of(data: Octets, kind: int, places: Ints) -> tuple[int, int]:
    """Find the frames of a kind; return how many, and where the whole frames end. places: takes where each begins."""
    at, count, end = 0, 0, len(data)
    while at + HEADER_BYTES < end:
        size = size_of(data, at)
        if size < 1 or at + HEADER_BYTES + size > end:
            break
        if data[at + HEADER_BYTES] == kind:
            if count < len(places):
                places[count] = at
            count += 1
        at += HEADER_BYTES + size
    return count, at


@compiled
def row_of(oid: int, oids: Ints) -> int:
    """Return where an oid is among ascending ones, or NO_RELATION."""
    low, high = 0, len(oids)
    while low < high:
        middle = (low + high) >> 1
        if oids[middle] < oid:
            low = middle + 1
        else:
            high = middle
    return low if low < len(oids) and oids[low] == oid else NO_RELATION


class Course(NamedTuple):
    """Where a stream stands between frames.

    lsn: of the last transaction's commit. changes: its changes so far. end: where the last whole one ends. begun: where
    the BEGIN of the open one is, NOT_OPEN or BEGUN_BEFORE. committed: when the last whole one was, as COMMIT has it.
    """

    lsn: int
    changes: int
    end: int
    begun: int
    committed: int


NOT_OPEN, BEGUN_BEFORE = -1, -2


@compiled
def pass_changes(data: Octets, at: int, oids: Ints, limit: int, course: Ints) -> int:
    """Return the first frame from `at` on that is more than a whole transaction, or a row of known relations.

    oids: of the relations, ascending. limit: BEGIN of transactions from there on are none of these. course: a `Course`,
    which moves along.
    """
    end = len(data)
    while at < end:
        size, first = size_of(data, at), at + HEADER_BYTES
        kind = data[first]
        if kind in (INSERT, UPDATE, DELETE):
            if size < LEAST_CHANGE or row_of(number(data, first + 1, 4), oids) < 0:
                break
            course[1] += 1
        elif kind == BEGIN:
            lsn = number(data, first + 1, 8) if size >= LEAST_BEGIN else 0
            if course[3] != NOT_OPEN or lsn <= course[0] or lsn >= limit:
                break
            course[0], course[1], course[3] = lsn, 0, at
        elif kind == COMMIT and size >= _LEAST_COMMIT:
            course[2], course[3] = number(data, first + 10, 8), NOT_OPEN
            course[4] = number(data, first + 18, 8)
        else:
            break
        at = first + size
    return at
