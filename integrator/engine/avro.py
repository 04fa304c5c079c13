"""Avro's binary encoding -> JSON lines, by programs that schemas are compiled to: one pass over the bytes.

https://avro.apache.org/docs/1.12.0/specification/#binary-encoding
"""

from __future__ import annotations

import numpy as np

from integrator.engine.arrays import Ints, Octets
from integrator.engine.compiled import compiled
from integrator.engine.json_writer import (
    ROOM_OF_NUMBER,
    Floats,
    Output,
    reserve_float,
    room_of_base64,
    room_of_text,
    write_base64,
    write_literal,
    write_text,
    write_whole,
    write_word,
)
from integrator.engine.programs import (
    CUT,
    FULL,
    MAX_DEPTH,
    NEGATIVE,
    NO_BLOCK,
    NO_BOOLEAN,
    NO_BRANCH,
    NO_INT,
    NO_SYMBOL,
    OK,
    TOO_DEEP,
    TOO_MANY,
    WIDTH,
    Programs,
    Text,
)
from integrator.engine.varints import signed_varint

END, LITERAL, NULLABLE, UNION, JUMP, ARRAY, MAP, NEXT, CALL, RETURN = range(10)
BOOLEAN, INT, LONG, FLOAT, DOUBLE, BYTES, FIXED, ENUM, STRING = range(10, 19)
"""Places of what an instruction needs beside."""
MOST_EMPTY = 1 << 20
"""Items without bytes (null, or records of nothing else) of one array: their number alone could be any."""
_OPEN, _CLOSE, _LIST, _LIST_END, _COMMA, _COLON = b"{}[],:"
_NULL, _TRUE, _FALSE = (np.frombuffer(word, np.uint8) for word in (b"null", b"true", b"false"))
_ROOM = 64
"""For the short things of one instruction."""


@compiled
def _next_block(text: Octets, at: int, end: int, may_be_empty: int, block: Ints) -> tuple[int, int]:
    """Read how many items the next block of an array or map has, into `block`; return the place, and a fault."""
    left, after = signed_varint(text, at, end)
    if after < 0:
        return left, -after
    at = after
    block[1] = -1
    if left < 0:
        left = -left
        size, after = signed_varint(text, at, end)
        if after < 0:
            return size, -after
        if left < 0 or size < 0 or size > end - after:
            return at, NO_BLOCK
        at = after
        block[1] = at + size
    if may_be_empty:
        if left > MOST_EMPTY:
            return at, TOO_MANY
    elif left > end - at:
        return at, CUT
    block[0] = left
    return at, OK


@compiled
def write_record(  # noqa: C901, PLR0912, PLR0915 - one state machine: its registers would be handed to each part
    text: Text,
    bounds: tuple[int, int],
    programs: Programs,
    begin: int,
    stack: Ints,
    floats: Floats,
    out: Output,
    at_out: tuple[int, int],
) -> tuple[int, int, int, int]:
    """Write a record. Return the place after it in the text, a fault, the place after it in `out`, and of floats.

    bounds: where it begins, and where it ends: nothing there or after it is read. at_out: the places in `out` and in
    `floats`. stack: of open arrays, maps and calls, the items left of a block, its end, and the items so far.
    """
    octets, code, literals = text.octets, programs.code, programs.literals
    at, end = bounds
    to, count = at_out
    limit = len(out.octets) - _ROOM
    pc, depth = begin, 0
    while True:
        what = code[pc]
        size = int(code[pc + 2])
        if to + size >= limit:
            return at, FULL, to, count
        if size:
            to = write_literal(literals, code[pc + 1], size, out, to)
        one, two = int(code[pc + 3]), int(code[pc + 4])
        if what == NULLABLE:
            branch, after = signed_varint(octets, at, end)
            if after < 0:
                return branch, -after, to, count
            if branch == one:
                to = write_word(_NULL, out, to)
                pc = two
            elif branch == 1 - one:
                pc += WIDTH
            else:
                return at, NO_BRANCH, to, count
            at = after
        elif what in (STRING, BYTES):
            size, after = signed_varint(octets, at, end)
            if after < 0:
                return size, -after, to, count
            at = after
            if size < 0:
                return at, NEGATIVE, to, count
            if size > end - at:
                return at, CUT, to, count
            if what == STRING:
                if to + room_of_text(size) >= limit:
                    return at, FULL, to, count
                to = write_text(octets, text.words, at, size, out, to)
            else:
                if to + room_of_base64(size) >= limit:
                    return at, FULL, to, count
                to = write_base64(octets, at, size, out, to)
            at += size
            pc += WIDTH
        elif what in (INT, LONG):
            value, after = signed_varint(octets, at, end)
            if after < 0:
                return value, -after, to, count
            if what == INT and (value > 2147483647 or value < -2147483648):
                return at, NO_INT, to, count
            to = write_whole(value, out, to)
            at = after
            pc += WIDTH
        elif what == LITERAL:
            pc += WIDTH
        elif what == BOOLEAN:
            if at >= end:
                return at, CUT, to, count
            if octets[at] > 1:
                return at, NO_BOOLEAN, to, count
            to = write_word(_TRUE, out, to) if octets[at] else write_word(_FALSE, out, to)
            at += 1
            pc += WIDTH
        elif what in (ENUM, UNION):
            # literals of symbols, or jumps to branches, are the instructions after it
            value, after = signed_varint(octets, at, end)
            if after < 0:
                return value, -after, to, count
            if value < 0 or value >= one:
                return at, NO_SYMBOL if what == ENUM else NO_BRANCH, to, count
            at = after
            place = pc + (1 + value) * WIDTH
            if what == ENUM:
                size = int(code[place + 2])
                if to + size >= limit:
                    return at, FULL, to, count
                to = write_literal(literals, code[place + 1], size, out, to)
                pc += (1 + one) * WIDTH
            else:
                pc = place
        elif what in (FIXED, DOUBLE, FLOAT):
            if two > end - at:
                return at, CUT, to, count
            if what == FIXED:
                if to + room_of_base64(two) >= limit:
                    return at, FULL, to, count
                to = write_base64(octets, at, two, out, to)
            else:
                bits = np.int64(0)
                for place in range(two):
                    bits |= np.int64(octets[at + place]) << (8 * place)
                if to + ROOM_OF_NUMBER >= limit or count == len(floats.bits):
                    return at, FULL, to, count
                to = reserve_float(int(bits), what == FLOAT, floats, count, out, to)
                count += 1
            at += two
            pc += WIDTH
        elif what == JUMP:
            pc = one
        elif what in (ARRAY, MAP, NEXT):
            # one: where it continues after the last item; two: whether items may have no bytes; NEXT: one is the head.
            head = one if what == NEXT else pc
            if what == NEXT:
                stack[depth - 1, 0] -= 1
                stack[depth - 1, 2] += 1
            elif depth == MAX_DEPTH:
                return at, TOO_DEEP, to, count
            else:
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = 0, -1, 0
                depth += 1
                out.octets[to] = _LIST if what == ARRAY else _OPEN
                to += 1
            is_map = code[head] == MAP
            if stack[depth - 1, 0] == 0:
                if stack[depth - 1, 1] >= 0 and stack[depth - 1, 1] != at:
                    return at, NO_BLOCK, to, count
                at, fault = _next_block(octets, at, end, code[head + 4], stack[depth - 1])
                if fault != OK:
                    return at, fault, to, count
            if stack[depth - 1, 0] == 0:
                depth -= 1
                out.octets[to] = _CLOSE if is_map else _LIST_END
                to += 1
                pc = int(code[head + 3])
            else:
                if stack[depth - 1, 2]:
                    out.octets[to] = _COMMA
                    to += 1
                if is_map:
                    size, after = signed_varint(octets, at, end)
                    if after < 0:
                        return size, -after, to, count
                    if size < 0:
                        return at, NEGATIVE, to, count
                    if size > end - after:
                        return at, CUT, to, count
                    if to + room_of_text(size) >= limit:
                        return at, FULL, to, count
                    to = write_text(octets, text.words, after, size, out, to)
                    out.octets[to] = _COLON
                    to += 1
                    at = after + size
                pc = head + WIDTH
        elif what == CALL:
            if depth == MAX_DEPTH:
                return at, TOO_DEEP, to, count
            stack[depth, 0] = pc + WIDTH
            depth += 1
            pc = one
        elif what == RETURN:
            depth -= 1
            pc = int(stack[depth, 0])
        else:
            return at, OK, to, count
