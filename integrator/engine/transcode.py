"""Encoded records -> JSON lines: each record by the program of its schema."""

from __future__ import annotations

import numpy as np

from integrator.engine import avro
from integrator.engine.arrays import Ints, Octets
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
from integrator.engine.programs import FULL, NO_FRAME, OK, TRAILING, WIDTH, Lines, Programs, Text

AVRO, PROTOBUF, JSON, TEXT, BYTES, NOTHING = range(6)
"""What runs a program. JSON, text, bytes and nothing have two literals: before the record, and after it."""
NULL, UNFRAMED = -1, -2
"""Of a record without a schema's id."""
FRAME_BYTES = 5
"""The magic byte 0, and the schema's id."""
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
    text: Text, programs: Programs, stack: Ints, floats: Floats, out: Output, lines: Lines, state: Ints
) -> int:
    """Write records as lines, from where `state` is: the next record, and the places in `out` and `floats`.

    Returns where it ended: before a record for which there is no room, or after the last one. One that is not accepted
    has a line without bytes, and a fault.
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
                    text, bounds, programs, programs.begins[own], stack, floats, out, (to, count)
                )
                if fault == OK and at != text.ends[record]:
                    fault = TRAILING
            else:
                fault, after = _write_whole_record(text, bounds, programs, own, out, to)
            if fault == FULL:
                break
            if fault == OK:
                out.octets[after] = NEWLINE
                to, count = after + 1, floats_after
        lines.fault[record], lines.at[record] = fault, at
        lines.ends[record + 1] = to
        record += 1
    state[0], state[1], state[2] = record, to, count
    return int(record)
