"""Numbers and booleans in texts, and numbers written as hexadecimal digits."""

from __future__ import annotations

import numpy as np

from integrator.engine.arrays import Ints, Mask, Octets, Places, Words
from integrator.engine.compiled import compiled
from integrator.engine.grammar import COLON, COMMA, HEX, LIST, LIST_END, QUOTE
from integrator.engine.values import is_null

_MINUS, _POINT, _SLASH, _ZERO, _NINE = b"-./09"
_A, _F, _A_LOWER, _F_LOWER = b"AFaf"
_PAD = ord("=")
_SIXTY_FOUR = np.full(256, -1, np.int64)
_SIXTY_FOUR[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")] = np.arange(62)
_SIXTY_FOUR[list(b"+/-_")] = [62, 63, 62, 63]
_MOST_BYTES = 8
"""Of a number in base64."""
_TRUE, _FALSE = np.frombuffer(b"true", np.uint8), np.frombuffer(b"false", np.uint8)
MOST_DIGITS = 18
"""That any number of 64 bits may have."""
_MOST_OF_PART = (9, 14)
"""Digits of two numbers, which 32 and 48 bits hold whatever they are."""
_HALF = 8
"""Hexadecimal digits of each number of a pair."""
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
