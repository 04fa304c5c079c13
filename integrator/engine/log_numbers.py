"""Numbers as logs of databases have them: in base64, in pairs of hexadecimal digits, or two in a text."""

from __future__ import annotations

import numpy as np

from integrator.engine.arrays import Ints, Mask, Octets, Places, Words
from integrator.engine.compiled import compiled
from integrator.engine.grammar import COMMA, HEX, LIST, LIST_END, QUOTE
from integrator.engine.values import is_null

_SLASH, _ZERO, _NINE = b"/09"
_A, _F, _A_LOWER, _F_LOWER = b"AFaf"
_PAD = ord("=")
_SIXTY_FOUR = np.full(256, -1, np.int64)
_SIXTY_FOUR[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")] = np.arange(62)
_SIXTY_FOUR[list(b"+/-_")] = [62, 63, 62, 63]
_MOST_BYTES = 8
"""Of a number in base64."""
_HALF = 8
"""Hexadecimal digits of each number of a pair."""


@compiled
def parse_unscaled(text: Octets, start: Places, end: Places, most: int, numbers: Ints, valid: Mask) -> bool:
    """Read numbers in base64, the highest byte first; return False at one that is none, or more than `most`."""
    for place in range(len(start)):
        at, after = start[place] + 1, end[place] - 1
        number = np.int64(0)
        valid[place] = not is_null(text, start[place], end[place])
        if valid[place]:
            if text[at - 1] != QUOTE or after <= at or (after - at) % 4:
                return False
            size = (after - at) // 4 * 3
            size -= (text[after - 1] == _PAD) + (text[after - 1] == _PAD and text[after - 2] == _PAD)
            if size > _MOST_BYTES:
                return False
            bits = np.uint64(0)
            for byte in range(at, at + (size * 8 + 5) // 6):
                six = _SIXTY_FOUR[text[byte]]
                if six < 0:
                    return False
                left = size * 8 - 6 * (byte - at)  # bits that are still to come
                if left >= 6:
                    bits = (bits << np.uint64(6)) | np.uint64(six)
                else:
                    bits = (bits << np.uint64(left)) | np.uint64(six >> (6 - left))
            shift = np.uint64(64 - 8 * size)
            number = np.int64(bits << shift) >> np.int64(shift)
            if number > most or number < -most:  # abs(-2^63) is negative
                return False
        numbers[place] = number
    return True


@compiled
def parse_hexadecimal_pairs(octets: Octets, offsets: Ints, values: Words) -> bool:
    """Read `A/B`, two numbers of at most eight hex digits, if all texts are such, or empty: B has 32 bits."""
    for row in range(len(offsets) - 1):
        digits = part = 0
        high = value = np.uint64(0)
        for at in range(offsets[row], offsets[row + 1]):
            digit = HEX[octets[at]]
            if digit >= 0 and digits < _HALF:
                value = (value << np.uint64(4)) | np.uint64(digit)
                digits += 1
            elif octets[at] == _SLASH and digits and part == 0:
                high, value, digits, part = value, np.uint64(0), 0, 1
            else:
                return False
        if offsets[row] < offsets[row + 1] and not (part and digits):
            return False
        values[row] = (high << np.uint64(32)) | value
    return True


@compiled
def find_first_of_two(octets: Octets, offsets: Ints, bounds: Places) -> bool:
    """Write down where the first number of each `["1","2"]` is, if all are such with two numbers, or empty."""
    for row in range(len(offsets) - 1):
        at, end = offsets[row], offsets[row + 1]
        if at == end:
            continue
        if octets[at] != LIST:
            return False
        for part in range(2):
            at += 1
            if octets[at] != QUOTE:
                return False
            begin = at + 1
            at = begin
            while at < end and _ZERO <= octets[at] <= _NINE:
                at += 1
            if at == begin or at + 1 >= end or octets[at] != QUOTE:
                return False
            if part == 0:
                bounds[0, row], bounds[1, row] = begin, at
            at += 1
            if octets[at] != (LIST_END if part else COMMA):
                return False
        if at + 1 != end:
            return False
    return True
