"""Frames of PostgreSQL's logical replication, and blocks of COPY -> JSON lines, for all relations at once.

A frame is its size, 4 bytes, least significant first, and a message of pgoutput, protocol version 1, whose numbers are
most significant first (https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html). A message of
our own, COPY, has the number of a relation, and rows as COPY TO STDOUT writes them
(https://www.postgresql.org/docs/current/sql-copy.html, text format).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Mask, Octets, Places, Words
from integrator.engine.compiled import compiled, inlined
from integrator.engine.grammar import BACKSLASH, NEWLINE, QUOTE
from integrator.engine.json_writer import Output, write_literal, write_text, write_whole
from integrator.engine.words import WORD, equal, in_each, less, lowest_mark

HEADER_BYTES = 4
BEGIN, COMMIT, RELATION, INSERT, UPDATE, DELETE, TRUNCATE, MESSAGE = b"BCRIUDTM"
START, COPY = b"01"
"""Our own: where a segment begins, which makes no line; and rows of COPY."""
DAMAGED, NO_RELATION = -1, -2
_NEW, _KEY, _NULL, _TEXT, _OLD, _UNCHANGED = b"NKntOu"
_NULL_LETTER, _TAB, _COMMA, _CLOSE, _V, _VERTICAL_TAB = b"N\t,}v\v"
_ALIKE = tuple(b"bfnrt\\")
"""What is after a backslash in COPY and means the same in JSON."""
_QUOTES, _BACKSLASHES, _BLANK = in_each(QUOTE), in_each(BACKSLASH), in_each(ord(" "))
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_CONTROL = np.frombuffer(rb"\u00", np.uint8)
_EPOCH_US = 946_684_800_000_000
"""2000-01-01, from which PostgreSQL counts, in microseconds since 1970."""
_PLAIN_ROOM = 160
"""Bytes of a line beside its names and values, at most."""
_MOST_ESCAPED = 6
_LEAST_CHANGE, _LEAST_TRUNCATE, _LEAST_BEGIN, _LEAST_COMMIT = 5, 6, 21, 26
"""Bytes of messages before their tuples and relations, of a BEGIN, and of a COMMIT."""

TEXTS = (
    b'{"action":"B","lsn":',
    b',"time":',
    b',"xid":',
    b'{"action":"C"}\n',
    b'{"action":"M"}\n',
    b'{"action":"I"',
    b'{"action":"U"',
    b'{"action":"D"',
    b'{"action":"T"',
    b',"old":{',
    b',"new":{',
    b"null",
)
"""With which the literals of `Relations` begin."""
_BOUNDS = np.cumsum([0, *map(len, TEXTS)])
_B, _B_TIME, _B_XID, _C, _M, _I, _U, _D, _T, _OLD_IMAGE, _NEW_IMAGE, _NULL_WORD = range(len(TEXTS))


class Relations(NamedTuple):
    """Relations by their oids, which ascend.

    head: where the literal with the names of schema and table begins, and ends. bounds: of each the place of its first
    column, and the end. name: of each column where the literal of its name begins, and ends. in_key: whether it is in
    the replica identity.
    """

    oids: Ints
    head: Ints
    bounds: Ints
    name: Ints
    in_key: Mask
    literals: Words


@inlined
def _number(data: Octets, at: int, size: int) -> int:
    found = np.int64(0)
    for place in range(at, at + size):
        found = found << 8 | np.int64(data[place])
    return int(found)


@inlined
def _size(data: Octets, at: int) -> int:
    found = np.int64(0)
    for place in range(HEADER_BYTES):
        found |= np.int64(data[at + place]) << 8 * place
    return int(found)


@compiled
def frames_of(data: Octets, kind: int, places: Ints) -> tuple[int, int]:
    """Find the frames of a kind; return how many, and where the whole frames end. places: takes where each begins."""
    at, count, end = 0, 0, len(data)
    while at + HEADER_BYTES < end:
        size = _size(data, at)
        if size < 1 or at + HEADER_BYTES + size > end:
            break
        if data[at + HEADER_BYTES] == kind:
            if count < len(places):
                places[count] = at
            count += 1
        at += HEADER_BYTES + size
    return count, at


@compiled
def _place(oid: int, oids: Ints) -> int:
    """Return where an oid is among ascending ones, or NO_RELATION."""
    low, high = 0, len(oids)
    while low < high:
        middle = (low + high) >> 1
        if oids[middle] < oid:
            low = middle + 1
        else:
            high = middle
    return low if low < len(oids) and oids[low] == oid else NO_RELATION


@inlined
def _relation(oid: int, relations: Relations) -> int:
    return _place(oid, relations.oids)


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
        size, first = _size(data, at), at + HEADER_BYTES
        kind = data[first]
        if kind in (INSERT, UPDATE, DELETE):
            if size < _LEAST_CHANGE or _place(_number(data, first + 1, 4), oids) < 0:
                break
            course[1] += 1
        elif kind == BEGIN:
            lsn = _number(data, first + 1, 8) if size >= _LEAST_BEGIN else 0
            if course[3] != NOT_OPEN or lsn <= course[0] or lsn >= limit:
                break
            course[0], course[1], course[3] = lsn, 0, at
        elif kind == COMMIT and size >= _LEAST_COMMIT:
            course[2], course[3] = _number(data, first + 10, 8), NOT_OPEN
            course[4] = _number(data, first + 18, 8)
        else:
            break
        at = first + size
    return at


@inlined
def _room_of(own: int, relations: Relations) -> int:
    """Return how many bytes the names of a relation's line take, with two images."""
    first, end = relations.bounds[own], relations.bounds[own + 1]
    names = relations.name[end - 1, 1] - relations.name[first, 0] if end > first else 0
    return int(relations.head[own, 1] - relations.head[own, 0] + 2 * (names + 5 * (end - first)) + _PLAIN_ROOM)


@compiled
def _measure_rows(data: Octets, first: int, end: int, relations: Relations, found: Ints) -> int:
    """Add the lines of a change of one relation, and their bytes; return DAMAGED or NO_RELATION where it is wrong."""
    if end - first < _LEAST_CHANGE:
        return DAMAGED
    own = _relation(_number(data, first + 1, 4), relations)
    if own < 0:
        return NO_RELATION
    many = 1
    if data[first] == COPY:
        many = 0
        for place in range(first + _LEAST_CHANGE, end):
            many += data[place] == NEWLINE
    found[0] += many
    found[1] += many * _room_of(own, relations) + _MOST_ESCAPED * (end - first)
    return end


@compiled
def _measure_truncate(data: Octets, first: int, end: int, relations: Relations, found: Ints) -> int:
    """Do as `_measure_rows`, for a TRUNCATE of one relation, or of several."""
    if end - first < _LEAST_TRUNCATE:
        return DAMAGED
    many = _number(data, first + 1, 4)
    if end - first < _LEAST_TRUNCATE + 4 * many:
        return DAMAGED
    for place in range(many):
        own = _relation(_number(data, first + _LEAST_TRUNCATE + 4 * place, 4), relations)
        if own < 0:
            return NO_RELATION
        found[1] += _room_of(own, relations)
    found[0] += many
    return end


@compiled
def measure(data: Octets, at: int, most: int, relations: Relations, found: Ints) -> int:
    """Return where about `most` bytes of frames end: at least one; DAMAGED or NO_RELATION where one is wrong.

    found: takes how many lines they make at most, and how many bytes.
    """
    begin = at
    while at >= 0 and at < len(data) and (at == begin or at - begin < most):
        first = at + HEADER_BYTES
        size = _size(data, at) if first < len(data) else 0
        at = first + size
        if size < 1 or at > len(data):
            return DAMAGED
        kind = data[first]
        if kind in (INSERT, UPDATE, DELETE, COPY):
            at = _measure_rows(data, first, at, relations, found)
        elif kind == TRUNCATE:
            at = _measure_truncate(data, first, at, relations, found)
        elif kind in (BEGIN, COMMIT, MESSAGE):
            if kind == BEGIN and size < _LEAST_BEGIN:
                return DAMAGED
            found[0] += 1
            found[1] += _PLAIN_ROOM
    return at


@inlined
def _literal(which: int, relations: Relations, out: Output, to: int) -> int:
    return write_literal(relations.literals, _BOUNDS[which], _BOUNDS[which + 1] - _BOUNDS[which], out, to)


@inlined
def _piece(piece: Ints, relations: Relations, out: Output, to: int) -> int:
    return write_literal(relations.literals, piece[0], piece[1] - piece[0], out, to)


@inlined
def _closed(out: Output, to: int) -> int:
    """End an object: a comma after its last member becomes the brace."""
    if out.octets[to - 1] == _COMMA:
        to -= 1
    out.octets[to] = _CLOSE
    return to + 1


@compiled
def _write_tuple(
    data: Octets, text: Words, at: int, end: int, own: int, key_only: bool, relations: Relations, out: Output, to: int
) -> tuple[int, int]:
    """Write the members of an image; return where its tuple ends, or DAMAGED, and the place after them."""
    first = relations.bounds[own]
    if at + 2 > end:
        return DAMAGED, to
    many = _number(data, at, 2)
    at += 2
    if many != relations.bounds[own + 1] - first:
        return DAMAGED, to
    for column in range(first, first + many):
        if at >= end:
            return DAMAGED, to
        kind = data[at]
        at += 1
        size = 0
        if kind == _TEXT:
            if at + 4 > end:
                return DAMAGED, to
            size = _number(data, at, 4)
            at += 4
            if at + size > end:
                return DAMAGED, to
        elif kind not in (_NULL, _UNCHANGED):
            return DAMAGED, to
        if kind != _UNCHANGED and (not key_only or relations.in_key[column]):
            to = _piece(relations.name[column], relations, out, to)
            to = (
                write_text(data, text, at, size, out, to) if kind == _TEXT else _literal(_NULL_WORD, relations, out, to)
            )
            out.octets[to] = _COMMA
            to += 1
        at += size
    return at, to


@compiled
def _write_change(
    data: Octets, text: Words, bounds: tuple[int, int], own: int, relations: Relations, out: Output, to: int
) -> tuple[int, int]:
    """Write the line of an insert, an update or a delete; return where it ends, or DAMAGED, and the place after it."""
    at, end = bounds
    kind = data[at]
    at += 5
    to = _literal(_I if kind == INSERT else _U if kind == UPDATE else _D, relations, out, to)
    to = _piece(relations.head[own], relations, out, to)
    while at < end:
        image = data[at]
        if image not in (_NEW, _KEY, _OLD):
            return DAMAGED, to
        to = _literal(_NEW_IMAGE if image == _NEW else _OLD_IMAGE, relations, out, to)
        at, to = _write_tuple(data, text, at + 1, end, own, image == _KEY, relations, out, to)
        if at < 0:
            return DAMAGED, to
        to = _closed(out, to)
    to = _closed(out, to)
    out.octets[to] = NEWLINE
    return at, to + 1


@compiled
def _write_copied(data: Octets, text: Words, at: int, end: int, out: Output, to: int) -> tuple[int, int]:
    """Write a value of COPY as a text in quotes; return where it ends: at a tab, or at the end of its row."""
    octets, last = out.octets, len(text) - 1
    octets[to] = QUOTE
    to += 1
    while at < end:
        if at <= last:
            word = text[at]
            odd = equal(word, _QUOTES) | equal(word, _BACKSLASHES) | less(word, _BLANK)
            out.words[to] = word
            many = min(end - at, lowest_mark(odd) if odd else WORD)
            at += many
            to += many
            if at >= end or not odd:
                continue
        byte = data[at]
        if byte in (_TAB, NEWLINE):
            break
        at += 1
        if byte == BACKSLASH and at < end:
            byte = data[at]  # what is not alike stands for itself, but for \v
            at += 1
            if byte in _ALIKE:
                octets[to], octets[to + 1] = BACKSLASH, byte
                to += 2
                continue
            if byte == _V:
                byte = np.uint8(_VERTICAL_TAB)
        if byte == QUOTE:
            octets[to], octets[to + 1] = BACKSLASH, QUOTE
            to += 2
        elif byte < 0x20:
            for place in range(4):
                octets[to + place] = _CONTROL[place]
            octets[to + 4], octets[to + 5] = _HEX[byte >> 4], _HEX[byte & 15]
            to += 6
        else:
            octets[to] = byte
            to += 1
    octets[to] = QUOTE
    return at, to + 1


@compiled
def _write_row(
    data: Octets, text: Words, at: int, end: int, own: int, relations: Relations, out: Output, to: int
) -> tuple[int, int]:
    """Write a row of COPY as the line of an insert; return where it ends, or DAMAGED, and the place after the line."""
    to = _literal(_I, relations, out, to)
    to = _piece(relations.head[own], relations, out, to)
    to = _literal(_NEW_IMAGE, relations, out, to)
    first, last = relations.bounds[own], relations.bounds[own + 1] - 1
    for column in range(first, last + 1):
        to = _piece(relations.name[column], relations, out, to)
        if at + 1 < end and data[at] == BACKSLASH and data[at + 1] == _NULL_LETTER:
            at += 2
            to = _literal(_NULL_WORD, relations, out, to)
        else:
            at, to = _write_copied(data, text, at, end, out, to)
        if at >= end or data[at] != (NEWLINE if column == last else _TAB):
            return DAMAGED, to
        out.octets[to] = _COMMA
        to, at = to + 1, at + 1
    if last < first:
        at += 1
    to = _closed(out, _closed(out, to))
    out.octets[to] = NEWLINE
    return at, to + 1


@compiled
def write_frames(
    data: Octets, text: Words, bounds: tuple[int, int], relations: Relations, out: Output, offsets: Places
) -> int:
    """Write the lines of frames that were measured; return how many, or DAMAGED. offsets: takes where each ends.

    text: the words of `data`. bounds: where the frames begin, and end.
    """
    at, end = bounds
    line, to = 0, 0
    while at < end:
        size = _size(data, at)
        first = at + HEADER_BYTES
        at = first + size
        kind = data[first]
        if kind in (INSERT, UPDATE, DELETE):
            own = _relation(_number(data, first + 1, 4), relations)
            done, to = _write_change(data, text, (first, at), own, relations, out, to)
            if done < 0:
                return DAMAGED
        elif kind == COPY:
            own = _relation(_number(data, first + 1, 4), relations)
            row = first + 5
            while row < at:
                row, to = _write_row(data, text, row, at, own, relations, out, to)
                if row < 0:
                    return DAMAGED
                line += 1
                offsets[line] = to
            continue
        elif kind == TRUNCATE:
            for place in range(_number(data, first + 1, 4)):
                own = _relation(_number(data, first + 6 + 4 * place, 4), relations)
                to = _literal(_T, relations, out, to)
                to = _closed(out, _piece(relations.head[own], relations, out, to))
                out.octets[to] = NEWLINE
                to += 1
                line += 1
                offsets[line] = to
            continue
        elif kind == BEGIN:
            to = write_whole(_number(data, first + 1, 8), out, _literal(_B, relations, out, to))
            to = write_whole(_number(data, first + 9, 8) + _EPOCH_US, out, _literal(_B_TIME, relations, out, to))
            to = write_whole(_number(data, first + 17, 4), out, _literal(_B_XID, relations, out, to))
            out.octets[to] = _CLOSE
            out.octets[to + 1] = NEWLINE
            to += 2
        elif kind in (COMMIT, MESSAGE):
            to = _literal(_C if kind == COMMIT else _M, relations, out, to)
        else:
            continue
        line += 1
        offsets[line] = to
    return line
