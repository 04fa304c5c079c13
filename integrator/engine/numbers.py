"""Numbers and booleans in texts, and numbers written as hexadecimal digits."""

from __future__ import annotations

import numpy as np

from integrator.engine.arrays import Ints, Mask, Octets, Places, Words
from integrator.engine.compiled import compiled
from integrator.engine.grammar import COLON, QUOTE
from integrator.engine.values import is_null

_MINUS, _POINT, _ZERO, _NINE = b"-.09"
_A, _F, _A_LOWER, _F_LOWER = b"AFaf"
_TRUE, _FALSE = np.frombuffer(b"true", np.uint8), np.frombuffer(b"false", np.uint8)
MOST_DIGITS = 18
"""That any number of 64 bits may have."""
_MOST_OF_PART = (9, 14)
"""Digits of two numbers, which 32 and 48 bits hold whatever they are."""
_DIGITS = np.frombuffer(b"0123456789ABCDEF", np.uint8)


@compiled
def parse_whole(text: Octets, start: Places, end: Places, quoted: bool, numbers: Ints, valid: Mask) -> bool:
    """Read whole numbers, in quotes too if `quoted`; return False at one that is written otherwise, or too long."""
    for place in range(len(start)):
        at, after = start[place], end[place]
        number = 0
        valid[place] = not is_null(text, at, after)
        if valid[place]:
            if quoted and text[at] == QUOTE:
                at, after = at + 1, after - 1
            negative = at < after and text[at] == _MINUS
            at += negative
            digits = after - at
            if digits < 1 or digits > MOST_DIGITS or (text[at] == _ZERO and (digits > 1 or negative)):
                return False
            for digit in range(at, after):
                if text[digit] < _ZERO or text[digit] > _NINE:
                    return False
                number = number * 10 + int(text[digit]) - _ZERO
            number = -number if negative else number
        numbers[place] = number
    return True


@compiled
def parse_booleans(text: Octets, start: Places, end: Places, true: Mask, valid: Mask) -> bool:
    """Read booleans; return False at one that is written otherwise."""
    for place in range(len(start)):
        at, size = start[place], end[place] - start[place]
        valid[place] = not is_null(text, at, end[place])
        true[place] = size == len(_TRUE)
        if valid[place]:
            if size not in (len(_TRUE), len(_FALSE)):
                return False
            for letter in range(size):
                if text[at + letter] != (_TRUE[letter] if size == len(_TRUE) else _FALSE[letter]):
                    return False
    return True


@compiled
def parse_decimals(
    text: Octets, start: Places, end: Places, scale: int, precision: int, numbers: Ints, valid: Mask
) -> bool:
    """Read decimals, without their point; return False at one that is written otherwise, or too long."""
    for place in range(len(start)):
        at, after = start[place], end[place]
        number = 0
        valid[place] = not is_null(text, at, after)
        if valid[place]:
            if text[at] == QUOTE:
                at, after = at + 1, after - 1
            negative = at < after and text[at] == _MINUS
            at += negative
            if at >= after or after - at > MOST_DIGITS or not _ZERO <= text[at] <= _NINE:
                return False
            digits, fraction = 0, -1
            for byte in range(at, after):
                if text[byte] == _POINT:
                    if fraction >= 0 or byte + 1 == after:
                        return False
                    fraction = 0
                elif _ZERO <= text[byte] <= _NINE:
                    number = number * 10 + int(text[byte]) - _ZERO
                    digits += number > 0
                    fraction += fraction >= 0
                else:
                    return False
            more = scale - max(fraction, 0)
            if more < 0 or digits + more > min(precision, MOST_DIGITS):
                return False
            for _ in range(more):
                number *= 10
            number = -number if negative else number
        numbers[place] = number
    return True


@compiled
def parse_numbers_at_end(octets: Octets, offsets: Ints, numbers: Words) -> bool:
    """Read the numbers N and M at the end of each text, `….N:M`, if all are such, or empty."""
    for row in range(len(offsets) - 1):
        begin, at = offsets[row], offsets[row + 1] - 1
        if at < begin:
            continue
        for part in (1, 0):
            unit, digits = np.uint64(1), 0
            while at >= begin and _ZERO <= octets[at] <= _NINE and digits < _MOST_OF_PART[part]:
                numbers[part, row] += np.uint64(octets[at] - _ZERO) * unit
                unit *= np.uint64(10)
                digits += 1
                at -= 1
            if digits == 0 or at < begin or octets[at] != (COLON if part else _POINT):
                return False
            at -= 1
    return True


@compiled
def pad_hexadecimal(digits: Octets, offsets: Ints, padded: Octets) -> int:
    """Write hex digits to the right, in upper case; return the first row that is something else, or their number."""
    width = padded.shape[1]
    for row in range(len(padded)):
        begin, end = offsets[row], offsets[row + 1]
        if begin == end or end - begin > width:
            return row
        for place in range(begin, end):
            digit = digits[place]
            if _A_LOWER <= digit <= _F_LOWER:
                digit -= _A_LOWER - _A
            if not (_ZERO <= digit <= _NINE or _A <= digit <= _F):
                return row
            padded[row, width - end + place] = digit
    return len(padded)


@compiled
def write_hexadecimal(values: Words, rows: Octets, first: int, last: int) -> None:
    """Write the digits of each value into its row, from the column `first` to before `last`."""
    for row in range(len(values)):
        value = values[row]
        for place in range(last - 1, first - 1, -1):
            rows[row, place] = _DIGITS[value & np.uint64(15)]
            value >>= np.uint64(4)
