"""Protocol Buffers' encoding -> JSON lines, by programs that schemas are compiled to.

Fields come in any order. So a message is scanned first: of each of its fields is noted where it is; then its
program writes them in their order. https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from integrator.engine.compiled import compiled
from integrator.engine.json_writer import (
    ROOM_OF_NUMBER,
    Floats,
    Output,
    reserve_float,
    room_of_base64,
    room_of_text,
    write_base64,
    write_text,
)
from integrator.engine.programs import FULL, MAX_DEPTH, MISSING, OK, TOO_DEEP, WIDTH, Programs, Stacks, Text
from integrator.engine.protobuf_fields import (
    ALWAYS,
    ARRAY,
    BASE,
    BYTES,
    CONTINUE,
    COUNT,
    DATE,
    DECIMAL,
    DOUBLE,
    ENUM,
    FLOAT,
    ITEMS,
    LITERAL,
    MAP,
    MESSAGE,
    MOMENT,
    NEXT,
    REQUIRED,
    RETURN,
    STOP,
    STRING,
    TIME_OF_DAY,
    TOP,
    VALUE,
    next_item,
    open_list,
    open_message,
)
from integrator.engine.protobuf_values import ROOM, write_known, write_name, write_number, write_part

_COMMA = ord(",")


@compiled
def write_record(  # noqa: C901, PLR0912, PLR0915 - one state machine: its registers would be handed to each part
    text: Text,
    bounds: tuple[int, int],
    programs: Programs,
    begin: int,
    stacks: Stacks,
    floats: Floats,
    out: Output,
    at_out: tuple[int, int],
) -> tuple[int, int, int, int]:
    """Write a record. Return a place in the text, a fault, the place after it in `out`, and of floats.

    bounds: where it begins, and where it ends: nothing there or after it is read. at_out: the places in `out` and in
    `floats`.
    """
    octets, code, literals, frames, fields = text.octets, programs.code, programs.literals, stacks.frames, stacks.fields
    limit = len(out.octets) - ROOM
    at, end = bounds
    to, count = at_out
    pc, depth, base, top = begin, 0, 0, 1
    fields[0, COUNT], fields[0, VALUE], fields[0, STOP] = 1, at, end  # the record itself
    while True:
        what, field = code[pc], base + code[pc + 3]
        to = write_part(code, literals, pc, out, to)
        if to == FULL:
            return at, FULL, to, count
        if what >= MESSAGE:
            absent = fields[field, COUNT] == 0
            if absent and code[pc + WIDTH] != ALWAYS:
                if code[pc + WIDTH] == REQUIRED:
                    return at, MISSING, to, count
                to = write_part(code, literals, pc + WIDTH, out, to)
                pc += (2 + code[pc + 4]) * WIDTH
            elif what == MESSAGE:
                if depth == MAX_DEPTH:
                    return at, TOO_DEEP, to, count
                head = code[pc + 5]
                at, fault = open_message(octets, code, head, fields, field, top)
                if fault != OK:
                    return at, fault, to, count
                frames[depth, CONTINUE], frames[depth, BASE], frames[depth, TOP] = pc + 2 * WIDTH, base, top
                depth += 1
                base, top = top, top + code[head + 3]
                pc = head + (1 + code[head + 3]) * WIDTH
            else:
                value, at = fields[field, VALUE], fields[field, STOP]
                if what == STRING:
                    if to + room_of_text(at - value) >= limit:
                        return at, FULL, to, count
                    to = write_text(octets, text.words, value, at - value, out, to)
                elif what == BYTES:
                    if to + room_of_base64(at - value) >= limit:
                        return at, FULL, to, count
                    to = write_base64(octets, value, at - value, out, to)
                elif what in (DOUBLE, FLOAT):
                    if to + ROOM_OF_NUMBER >= limit or count == len(floats.bits):
                        return at, FULL, to, count
                    to = reserve_float(value, what == FLOAT, floats, count, out, to)
                    count += 1
                elif what == ENUM:
                    to = write_name(code, literals, pc, value, out, to)
                else:
                    to = write_number(what, value, out, to)
                pc += (2 + code[pc + 4]) * WIDTH
            if to == FULL:
                return at, FULL, to, count
        elif what == RETURN:
            depth -= 1
            pc, base, top = frames[depth, CONTINUE], frames[depth, BASE], frames[depth, TOP]
        elif what == LITERAL:
            pc += WIDTH
        elif what in (ARRAY, MAP, NEXT):
            head = code[pc + 3] if what == NEXT else pc
            if what != NEXT:
                if fields[field, COUNT] == 0:
                    pc = code[head + 5]
                    continue
                if depth == MAX_DEPTH:
                    return at, TOO_DEEP, to, count
                open_list(octets, frames[depth], fields, field)
                frames[depth, BASE], frames[depth, TOP] = base, top
                depth += 1
            frame = frames[depth - 1]
            base, top = frame[BASE], frame[TOP]
            field = base + code[head + 3]
            found, fault = next_item(octets, frame, code[head + 4], fields, field)
            if fault != OK:
                return found, fault, to, count
            if not found:
                depth -= 1
                pc = code[head + 5]
                continue
            if frame[ITEMS] > 1:
                out.octets[to] = _COMMA
                to += 1
            pc = head + WIDTH
            if code[head] == MAP:  # the fields of the entry, its key and value, are after those of the message
                at, fault = open_message(octets, code, pc, fields, field, top)
                if fault != OK:
                    return at, fault, to, count
                base, top = top, top + 2
                pc += (1 + 2) * WIDTH
        elif what in (MOMENT, DATE, TIME_OF_DAY, DECIMAL):
            to, fault = write_known(octets, what, code[pc + 3], fields, base, out, to)
            if fault != OK:
                return at, fault, to, count
            pc += WIDTH
        else:
            return end, OK, to, count
