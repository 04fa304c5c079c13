"""Frames of captured databases -> the nodes that JSON of their changes would have, for all relations at once.

Values stay where they are: around each one a quote is put in the place of what was read there before (its size, and
what follows it), and escapes of COPY are undone in place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Mask, Octets, Places, Words
from integrator.engine.compiled import compiled, inlined
from integrator.engine.grammar import BACKSLASH, NEWLINE, QUOTE
from integrator.engine.index import Nodes
from integrator.engine.json_writer import ROOM_OF_NUMBER, Output, write_whole
from integrator.engine.pgoutput import (
    BEGIN,
    COMMIT,
    COPY,
    DELETE,
    HEADER_BYTES,
    INSERT,
    LEAST_BEGIN,
    LEAST_CHANGE,
    LEAST_TRUNCATE,
    MESSAGE,
    NO_RELATION,
    TRUNCATE,
    UPDATE,
    number,
    row_of,
    size_of,
)
from integrator.engine.words import TOPS, WORD, equal, in_each, less, lowest_mark

DAMAGED = -1
_NEW, _KEY, _NULL, _TEXT, _OLD, _UNCHANGED = b"NKntOu"
_NULL_LETTER, _TAB = b"N\t"
_UNESCAPED = np.arange(256).astype(np.uint8)
_UNESCAPED[list(b"bfnrtv")] = list(b"\b\f\n\r\t\v")
"""What a backslash and this byte are in COPY."""
_BACKSLASHES, _BLANK = in_each(BACKSLASH), in_each(ord(" "))
_EPOCH_US = 946_684_800_000_000
"""2000-01-01, from which PostgreSQL counts, in microseconds since 1970."""
MEMBERS = (b'"action"', b'"lsn"', b'"time"', b'"xid"', b'"schema"', b'"table"', b'"old"', b'"new"')
"""What a record has beside the columns of its images: with these `Relations.label` begins."""
VALUES = (b'"B"', b'"C"', b'"M"', b'"I"', b'"U"', b'"D"', b'"T"', b"null", b"{")
"""With which a text begins that is indexed."""
_ACTION, _LSN, _TIME, _XID, _SCHEMA, _TABLE, _OLD_IMAGE, _NEW_IMAGE = range(len(MEMBERS))
_LETTER = len(VALUES[0])
_B, _C, _M, _I, _U, _D, _T, _NULL_WORD = range(0, 8 * _LETTER, _LETTER)
_OBJECT = _NULL_WORD + len(VALUES[-2])
"""Where in the text each of them is."""
_PLAIN_NODES, _IMAGES = 4, 2
"""Of a record beside those of its columns, without its images; and how many of these it has at most."""
SCRATCH_BYTES = 3 * ROOM_OF_NUMBER
"""In which the numbers of a BEGIN are written."""


class Relations(NamedTuple):
    """Relations by their oids, which ascend, and where their names are in a text that is indexed.

    label, hash: where each name begins, as JSON, and its hash: of MEMBERS, and of all columns after them. head: of each
    relation where the names of its schema and its table begin and end. bounds: of each the place of its first column in
    `label`, and the end. in_key: of each name whether it is a column in the replica identity.
    """

    oids: Ints
    label: Places
    hash: Words
    head: Places
    bounds: Ints
    in_key: Mask


@inlined
def _relation(oid: int, relations: Relations) -> int:
    return row_of(oid, relations.oids)


@compiled
def _measure_rows(data: Octets, first: int, end: int, relations: Relations, found: Ints) -> int:
    """Add the records of a change of one relation, and their nodes; return DAMAGED or NO_RELATION where it is wrong."""
    if end - first < LEAST_CHANGE:
        return DAMAGED
    own = _relation(number(data, first + 1, 4), relations)
    if own < 0:
        return NO_RELATION
    many, images = 1, _IMAGES
    if data[first] == COPY:
        if end > first + LEAST_CHANGE and data[end - 1] != NEWLINE:
            return DAMAGED
        many, images = 0, 1
        for place in range(first + LEAST_CHANGE, end):
            many += data[place] == NEWLINE
    found[0] += many
    found[1] += many * (_PLAIN_NODES + images * (1 + relations.bounds[own + 1] - relations.bounds[own]))
    return end


@compiled
def _measure_truncate(data: Octets, first: int, end: int, relations: Relations, found: Ints) -> int:
    """Do as `_measure_rows`, for a TRUNCATE of one relation, or of several."""
    if end - first < LEAST_TRUNCATE:
        return DAMAGED
    many = number(data, first + 1, 4)
    if end - first < LEAST_TRUNCATE + 4 * many:
        return DAMAGED
    for place in range(many):
        if _relation(number(data, first + LEAST_TRUNCATE + 4 * place, 4), relations) < 0:
            return NO_RELATION
    found[0] += many
    found[1] += many * _PLAIN_NODES
    return end


@compiled
def measure(data: Octets, at: int, most: int, relations: Relations, found: Ints) -> int:
    """Return where about `most` bytes of frames end: at least one; DAMAGED or NO_RELATION where one is wrong.

    found: takes how many records they make at most, how many nodes, and how many BEGINs there are.
    """
    begin = at
    while at >= 0 and at < len(data) and (at == begin or at - begin < most):
        first = at + HEADER_BYTES
        size = size_of(data, at) if first < len(data) else 0
        at = first + size
        if size < 1 or at > len(data):
            return DAMAGED
        kind = data[first]
        if kind in (INSERT, UPDATE, DELETE, COPY):
            at = _measure_rows(data, first, at, relations, found)
        elif kind == TRUNCATE:
            at = _measure_truncate(data, first, at, relations, found)
        elif kind in (BEGIN, COMMIT, MESSAGE):
            if kind == BEGIN and size < LEAST_BEGIN:
                return DAMAGED
            found[0] += 1
            found[1] += _PLAIN_NODES
            found[2] += kind == BEGIN
    return at


@inlined
def _add(which: int, start: int, end: int, relations: Relations, nodes: Nodes, node: int) -> int:
    """Write the node of a member of this name, whose value is there; return the next one."""
    nodes.hash[node], nodes.label[node] = relations.hash[which], relations.label[which]
    nodes.start[node], nodes.end[node], nodes.after[node] = start, end, node + 1
    nodes.escaped[node] = False
    return node + 1


@inlined
def _begin_record(letter: int, nodes: Nodes, record: int, relations: Relations, node: int) -> int:
    """Write the node of a record's action; return the next one."""
    nodes.first[record], nodes.record[record] = node, _OBJECT
    return _add(_ACTION, letter, letter + _LETTER, relations, nodes, node)


@inlined
def _add_table(own: int, relations: Relations, nodes: Nodes, node: int) -> int:
    """Write the nodes of a relation's schema and table; return the next one."""
    node = _add(_SCHEMA, relations.head[own, 0], relations.head[own, 1], relations, nodes, node)
    return _add(_TABLE, relations.head[own, 2], relations.head[own, 3], relations, nodes, node)


@compiled
def _tops(text: Words, at: int, size: int) -> np.uint64:
    """Return whether a value has bytes that are not ASCII: 0 for none."""
    found, last = np.uint64(0), len(text) - 1
    for step in range(at, at + size, WORD):
        place = min(step, last)
        word = text[place] >> np.uint64(8 * (step - place))
        left = at + size - step
        if left < WORD:
            word <<= np.uint64(8 * (WORD - left))
        found |= word & TOPS
    return found


@compiled
def _index_tuple(
    text: Output, bounds: tuple[int, int], own: int, key_only: bool, relations: Relations, nodes: Nodes, node: int
) -> tuple[int, int, bool, np.uint64]:
    """Write the nodes of an image.

    Return where its tuple ends, or DAMAGED; the next node; whether a quote is to be put there, for a text ends there;
    and whether a value is not ASCII, as `_tops`.
    """
    octets, (at, end) = text.octets, bounds
    first, odd, is_text = relations.bounds[own], np.uint64(0), False
    if at + 2 > end:
        return DAMAGED, node, False, odd
    many = number(octets, at, 2)
    at += 2
    if many != relations.bounds[own + 1] - first:
        return DAMAGED, node, False, odd
    for column in range(first, first + many):
        if at >= end:
            return DAMAGED, node, False, odd
        kind = octets[at]
        if is_text:
            octets[at] = QUOTE
        at += 1
        size, is_text = 0, kind == _TEXT
        if is_text:
            if at + 4 > end:
                return DAMAGED, node, False, odd
            size = number(octets, at, 4)
            at += 4
            if at + size > end:
                return DAMAGED, node, False, odd
        elif kind not in (_NULL, _UNCHANGED):
            return DAMAGED, node, False, odd
        if kind != _UNCHANGED and (not key_only or relations.in_key[column]):
            if is_text:
                octets[at - 1] = QUOTE
                odd |= _tops(text.words, at, size)
                node = _add(column, at - 1, at + size + 1, relations, nodes, node)
            else:
                node = _add(column, _NULL_WORD, _OBJECT, relations, nodes, node)
        at += size
    return at, node, is_text, odd


@compiled
def _index_change(
    text: Output, bounds: tuple[int, int], own: int, relations: Relations, nodes: Nodes, node: int
) -> tuple[int, int, np.uint64]:
    """Write the nodes of the images of a change; return as `_index_tuple`. The byte after its end was read."""
    octets, (at, end) = text.octets, bounds
    odd, is_text, before = np.uint64(0), False, np.uint8(0)
    while at < end:
        image = octets[at]
        if is_text:
            octets[at] = QUOTE
        if image not in (_NEW, _KEY, _OLD) or before == _NEW or (before and image != _NEW):
            return DAMAGED, node, odd
        own_node, before = node, image
        node = _add(_NEW_IMAGE if image == _NEW else _OLD_IMAGE, _OBJECT, _OBJECT + 1, relations, nodes, node)
        at, node, is_text, more = _index_tuple(text, (at + 1, end), own, image == _KEY, relations, nodes, node)
        odd |= more
        if at < 0:
            return DAMAGED, node, odd
        nodes.after[own_node] = node
    if is_text:
        octets[at] = QUOTE
    return at, node, odd


@compiled
def _undo_escapes(text: Output, at: int, end: int) -> tuple[int, int, np.uint64]:
    """Undo the escapes of a value of COPY; return where it ended, where it ends now, and as `_tops`."""
    octets, last, to, odd = text.octets, len(text.words) - 1, at, np.uint64(0)
    while at < end:
        if to == at and at <= last:
            word = text.words[at]
            stops = equal(word, _BACKSLASHES) | less(word, _BLANK)
            many = min(end - at, lowest_mark(stops) if stops else WORD)
            odd |= _tops(text.words, at, many)
            at += many
            to = at
            if at >= end or not stops:
                continue
        byte = octets[at]
        if byte in (_TAB, NEWLINE):
            break
        at += 1
        if byte == BACKSLASH and at < end:
            byte = _UNESCAPED[octets[at]]
            at += 1
        octets[to] = byte
        odd |= np.uint64(byte & 0x80)
        to += 1
    return at, to, odd


@compiled
def _index_row(
    text: Output, bounds: tuple[int, int], own: int, relations: Relations, nodes: Nodes, node: int
) -> tuple[int, int, np.uint64]:
    """Write the nodes of a row of COPY; return where it ends, or DAMAGED, the next node, and as `_tops`."""
    octets, (at, end) = text.octets, bounds
    first, last, odd = relations.bounds[own], relations.bounds[own + 1] - 1, np.uint64(0)
    own_node = node
    node = _add(_NEW_IMAGE, _OBJECT, _OBJECT + 1, relations, nodes, node)
    for column in range(first, last + 1):
        begin = to = at - 1
        is_null = at + 1 < end and octets[at] == BACKSLASH and octets[at + 1] == _NULL_LETTER
        if is_null:
            at += 2
        else:
            at, to, more = _undo_escapes(text, at, end)
            odd |= more
        if at >= end or octets[at] != (NEWLINE if column == last else _TAB):
            return DAMAGED, node, odd
        if is_null:
            node = _add(column, _NULL_WORD, _OBJECT, relations, nodes, node)
        else:
            octets[begin] = octets[to] = QUOTE
            node = _add(column, begin, to + 1, relations, nodes, node)
        at += 1
    if last < first:
        at += 1
    nodes.after[own_node] = node
    return at, node, odd


@compiled
def index_frames(text: Output, bounds: tuple[int, int], relations: Relations, nodes: Nodes) -> tuple[int, np.uint64]:
    """Write the nodes of frames that were measured; return how many records they are, or DAMAGED, and as `_tops`.

    text: begins with VALUES, and has the names of `relations`; after the frames it has a byte, and SCRATCH_BYTES for
    each BEGIN. bounds: where the frames begin, and end.
    """
    octets, (at, end) = text.octets, bounds
    record, node, odd, scratch = 0, 0, np.uint64(0), end + 1
    size = size_of(octets, at)
    while at < end:
        first = at + HEADER_BYTES
        at = first + size
        if at < end:
            size = size_of(octets, at)  # the quote after the last value takes the place of its first byte
        kind = octets[first]
        if kind in (INSERT, UPDATE, DELETE):
            own = _relation(number(octets, first + 1, 4), relations)
            letter = _I if kind == INSERT else _U if kind == UPDATE else _D
            node = _add_table(own, relations, nodes, _begin_record(letter, nodes, record, relations, node))
            done, node, more = _index_change(text, (first + LEAST_CHANGE, at), own, relations, nodes, node)
            if done < 0:
                return DAMAGED, odd
            odd |= more
            record += 1
        elif kind == COPY:
            own = _relation(number(octets, first + 1, 4), relations)
            row = first + LEAST_CHANGE
            while row < at:
                node = _add_table(own, relations, nodes, _begin_record(_I, nodes, record, relations, node))
                row, node, more = _index_row(text, (row, at), own, relations, nodes, node)
                if row < 0:
                    return DAMAGED, odd
                odd |= more
                record += 1
        elif kind == TRUNCATE:
            for place in range(number(octets, first + 1, 4)):
                own = _relation(number(octets, first + LEAST_TRUNCATE + 4 * place, 4), relations)
                node = _add_table(own, relations, nodes, _begin_record(_T, nodes, record, relations, node))
                record += 1
        elif kind == BEGIN:
            node = _begin_record(_B, nodes, record, relations, node)
            for which, place, length, since in ((_LSN, 1, 8, 0), (_TIME, 9, 8, _EPOCH_US), (_XID, 17, 4, 0)):
                to = write_whole(number(octets, first + place, length) + since, text, scratch)
                node = _add(which, scratch, to, relations, nodes, node)
                scratch = to
            record += 1
        elif kind in (COMMIT, MESSAGE):
            node = _begin_record(_C if kind == COMMIT else _M, nodes, record, relations, node)
            record += 1
    nodes.first[record] = node
    return record, odd


@compiled
def not_utf_8(octets: Octets, text: Words, nodes: Nodes, node: int, many: int) -> int:
    """Return the first of `many` nodes, from one on, whose value is not UTF-8 (RFC 3629, section 4); -1 for none.

    text: the words of `octets`.
    """
    starts, ends = nodes.start, nodes.end
    for place in range(node, many):
        at, end = starts[place], ends[place]
        if not _tops(text, at, end - at):
            continue
        while at < end:
            byte = octets[at]
            at += 1
            if byte < 0x80:
                continue
            more = 1 if 0xC2 <= byte <= 0xDF else 2 if 0xE0 <= byte <= 0xEF else 3 if 0xF0 <= byte <= 0xF4 else 0
            if not more or at + more >= end:
                return place
            least = 0xA0 if byte == 0xE0 else 0x90 if byte == 0xF0 else 0x80
            most = 0x9F if byte == 0xED else 0x8F if byte == 0xF4 else 0xBF
            if octets[at] < least or octets[at] > most:
                return place
            for _ in range(more):
                if octets[at] & 0xC0 != 0x80:
                    return place
                at += 1
    return -1
