"""Encoded records -> JSON lines: each record by the program of its schema."""

from __future__ import annotations

import numpy as np

from integrator.engine import avro, protobuf
from integrator.engine.arrays import Ints, Mask, Octets
from integrator.engine.compiled import compiled
from integrator.engine.grammar import NEWLINE
from integrator.engine.json_writer import (
    Floats,
    Output,
    room_of_base64,
    room_of_text,
    write_base64,
    write_literal,
    write_one_line,
    write_text,
)
from integrator.engine.programs import FULL, NO_FRAME, OK, TRAILING, WIDTH, Lines, Programs, Stacks, Text
from integrator.engine.varints import signed_varint

AVRO, PROTOBUF, JSON, TEXT, BYTES, NOTHING = range(6)
"""What runs a program. JSON, text, bytes and nothing have two literals: before the record, and after it."""
NULL, UNFRAMED = -1, -2
"""Of a record without a schema's id."""
FRAME_BYTES = 5
"""The magic byte 0, and the schema's id."""
INDEX_BITS, MOST_INDEXES, NO_PATH = 15, 4, -1
"""A message's path in its file is a number: of its first index, and one more than each other one, the least first."""
_ROOM = 64


@compiled
def read_frames(text: Octets, starts: Ints, ends: Ints, ids: Ints) -> None:
    """Read Confluent's framing: of each record whose id is not NULL its schema's id, or UNFRAMED where it has none.

    https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#wire-format
    """
    for record in range(len(starts)):
        at = starts[record]
        if ids[record] == NULL:
            continue
        if ends[record] - at < FRAME_BYTES or text[at] != 0:
            ids[record] = UNFRAMED
        else:
            number = np.int64(0)
            for place in range(at + 1, at + FRAME_BYTES):
                number = number << 8 | np.int64(text[place])
            ids[record] = number


@compiled
def read_paths(text: Octets, starts: Ints, ends: Ints, which: Mask, paths: Ints) -> None:
    """Read which message of its file each record is, into `paths`; move where it begins to after that.

    Written is the number of indexes, and these; no index is the first message. A path that is none, or that is too
    long, is NO_PATH.
    """
    for record in range(len(starts)):
        if not which[record]:
            continue
        end, path = ends[record], np.int64(0)
        many, at = signed_varint(text, starts[record], end)
        if at < 0 or many < 0 or many > MOST_INDEXES:
            path, many = np.int64(NO_PATH), 0
        for place in range(many):
            index, at = signed_varint(text, at, end)
            if at < 0 or index < 0 or index >= (1 << INDEX_BITS) - 1:
                path = np.int64(NO_PATH)
                break
            path |= (np.int64(index) + (place > 0)) << (INDEX_BITS * place)
        paths[record] = path
        if path != NO_PATH:
            starts[record] = at


@compiled
def _write_whole_record(
    text: Text, bounds: tuple[int, int], programs: Programs, own: int, out: Output, to: int
) -> tuple[int, int]:
    """Write a record that needs no schema; return a fault, and the place after it."""
    code, literals, (at, end) = programs.code, programs.literals, bounds
    before, engine = programs.begins[own], programs.engine[own]
    after = before + WIDTH
    size = end - at
    room = room_of_base64(size) if engine == BYTES else room_of_text(size)
    if to + code[before + 2] + room + code[after + 2] >= len(out.octets) - _ROOM:
        return FULL, to
    to = write_literal(literals, code[before + 1], code[before + 2], out, to)
    if engine == JSON:
        to = write_one_line(text.octets, at, end, out, to)
    elif engine == TEXT:
        to = write_text(text.octets, text.words, at, size, out, to)
    elif engine == BYTES:
        to = write_base64(text.octets, at, size, out, to)
    return OK, write_literal(literals, code[after + 1], code[after + 2], out, to)


@compiled
def write_lines(
    text: Text, programs: Programs, stacks: Stacks, floats: Floats, out: Output, lines: Lines, state: Ints
) -> int:
    """Write records as lines, from where `state` is: the next record, and the places in `out` and `floats`.

    Returns where it ended: before a record for which there is no room, or after the last one. The last number of
    `state` says whether that is room in `floats`. One that is not accepted has a line without bytes, and a fault.
    """
    record, to, count = state[0], state[1], state[2]
    while record < len(text.starts):
        own = programs.of[record]
        fault, at = NO_FRAME, text.starts[record]
        if own >= 0:
            bounds = (at, text.ends[record])
            after, floats_after = to, count
            if programs.engine[own] == AVRO:
                at, fault, after, floats_after = avro.write_record(
                    text, bounds, programs, programs.begins[own], stacks.frames, floats, out, (to, count)
                )
                if fault == OK and at != text.ends[record]:
                    fault = TRAILING
            elif programs.engine[own] == PROTOBUF:
                at, fault, after, floats_after = protobuf.write_record(
                    text, bounds, programs, programs.begins[own], stacks, floats, out, (to, count)
                )
            else:
                fault, after = _write_whole_record(text, bounds, programs, own, out, to)
            if fault == FULL:
                state[3] = floats_after == len(floats.bits)
                break
            if fault == OK:
                out.octets[after] = NEWLINE
                to, count = after + 1, floats_after
        lines.fault[record], lines.at[record] = fault, at
        lines.ends[record + 1] = to
        record += 1
    state[0], state[1], state[2] = record, to, count
    return int(record)
