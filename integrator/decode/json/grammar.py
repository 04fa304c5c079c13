"""The grammar of JSON (RFC 8259), checked line by line in one pass over their bytes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from integrator.arrow.arrays import Octets, Words
from integrator.arrow.compiled import compiled

MAX_DEPTH = 128
"""Brackets that may stand inside each other: parsers of consumers accept between 64 and 1,000."""

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_QUOTE, _BACKSLASH, _COLON, _COMMA, _NEWLINE = b'"\\:,\n'
_OPEN, _CLOSE, _LIST, _LIST_END = b"{}[]"
_SPACE, _TAB, _RETURN = b" \t\r"
_MINUS, _PLUS, _POINT, _ZERO, _NINE, _E, _E_LARGE, _U = b"-+.09eEu"
_FIRST_PLAIN = 0x20
"""Below it are control characters, which no string has unescaped (RFC 8259, section 7)."""
_SPECIAL = np.array([byte in b'"\\' or byte < _FIRST_PLAIN for byte in range(256)]).astype(np.uint8)
_ESCAPES = np.array([byte in b'"\\/bfnrtu' for byte in range(256)]).astype(np.uint8)
_HEX = np.full(256, -1, np.int64)
_HEX[list(b"0123456789abcdef")] = np.arange(16)
_HEX[list(b"ABCDEF")] = np.arange(10, 16)
_TRUE, _FALSE, _NULL = (np.frombuffer(word, np.uint8) for word in (b"true", b"false", b"null"))
_WORD = 8
_FEW_NAMES = 64
"""Names of an object that are compared in pairs; more of them are sorted first."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: spreads the bits of names (Knuth, The Art of Computer Programming, 6.4)."""

(
    OK,
    NO_VALUE,
    NO_OBJECT,
    OPEN_STRING,
    BAD_ESCAPE,
    LONE_SURROGATE,
    NO_NUMBER,
    NO_NAME,
    NO_COLON,
    NO_COMMA,
    TRAILING,
    TOO_DEEP,
    TWICE,
) = range(13)


@compiled
def check(
    octets: tuple[Octets, Words], offsets: npt.NDArray[np.int32], begin: int, stack: Ints, hashes: Hashes
) -> tuple[int, int, int, int, int]:
    """Check the lines from `begin` on; return a Finding."""
    text, text_words = octets
    spaces = escaped = 0
    for line in range(begin, len(offsets) - 1):
        code, at, line_spaces, line_escaped = _check_line(text, text_words, offsets[line], stack, hashes)
        spaces, escaped = spaces + line_spaces, escaped + line_escaped
        if code != OK:
            return line, code, at, spaces, escaped
    return len(offsets) - 1, OK, 0, spaces, escaped


@compiled
def _check_line(  # noqa: C901, PLR0912, PLR0915 - one state machine: what it keeps would be handed to each part
    text: Octets, text_words: Words, begin: int, stack: Ints, hashes: Hashes
) -> tuple[int, int, int, int]:
    """Return the code of a line, where it is not as it must be, its white space, and its names with escapes.

    stack: of each open bracket which one it is, and how many names were before it. hashes: of the open objects' names.
    """
    depth = names = escaped = 0
    at = _after_space(text, begin)
    spaces = at - begin
    if text[at] == _NEWLINE:
        return OK, at, spaces, escaped
    if text[at] != _OPEN and not _is_word(text, at, _NULL):
        return NO_OBJECT, at, spaces, escaped
    while True:
        # a value begins here, or a member where the innermost bracket is an object's and `is_name` holds
        byte = text[at]
        is_name = False
        if byte in (_OPEN, _LIST):
            if depth == MAX_DEPTH:
                return TOO_DEEP, at, spaces, escaped
            stack[depth, 0], stack[depth, 1] = byte, names
            depth += 1
            after = _after_space(text, at + 1)
            spaces += after - at - 1
            at = after
            if byte == _LIST and text[at] != _LIST_END:
                continue
            is_name = byte == _OPEN and text[at] != _CLOSE
        else:
            code, after = _after_scalar(text, at)
            if code != OK:
                return code, after, spaces, escaped
            at = after
        while not is_name:  # after a value: close brackets, as long as there are
            after = _after_space(text, at)
            spaces += after - at
            at = after
            if depth == 0:
                return (OK if text[at] == _NEWLINE else TRAILING), at, spaces, escaped
            inner = stack[depth - 1, 0]
            if text[at] == (_CLOSE if inner == _OPEN else _LIST_END):
                depth -= 1
                if inner == _OPEN:
                    if _has_equal(hashes[stack[depth, 1] : names]):
                        return TWICE, at, spaces, escaped
                    names = stack[depth, 1]
                at += 1
                continue
            if text[at] != _COMMA:
                return NO_COMMA, at, spaces, escaped
            after = _after_space(text, at + 1)
            spaces += after - at - 1
            at = after
            is_name = inner == _OPEN
            if not is_name:
                break
        if is_name:
            if text[at] != _QUOTE:
                return NO_NAME, at, spaces, escaped
            code, after = _after_text(text, at)
            if code < 0:
                escaped, code = escaped + 1, OK
            if code != OK:
                return code, after, spaces, escaped
            hashes[names] = _hash(text_words, at, after)
            names += 1
            at = _after_space(text, after)
            spaces += at - after
            if text[at] != _COLON:
                return NO_COLON, at, spaces, escaped
            after = _after_space(text, at + 1)
            spaces += after - at - 1
            at = after


@compiled
def _after_space(text: Octets, at: int) -> int:
    while text[at] <= _SPACE and text[at] in (_SPACE, _TAB, _RETURN):
        at += 1
    return at


@compiled
def _is_word(text: Octets, at: int, word: Octets) -> bool:
    """Return whether a word is here; the newline of the line ends the comparison before the text ends."""
    for place in range(len(word)):  # noqa: SIM110 - compiled
        if text[at + place] != word[place]:
            return False
    return True


@compiled
def _after_scalar(text: Octets, at: int) -> tuple[int, int]:
    """Return OK and the place after the string, number or word that begins here; or why and where there is none."""
    byte = text[at]
    if byte == _QUOTE:
        code, after = _after_text(text, at)
        return max(code, OK), after
    if byte == _MINUS or _ZERO <= byte <= _NINE:
        after = _after_number(text, at)
        return (OK, after) if after else (NO_NUMBER, at)
    for word in (_TRUE, _FALSE, _NULL):
        if _is_word(text, at, word):
            return OK, at + len(word)
    return NO_VALUE, at


@compiled
def _after_text(text: Octets, at: int) -> tuple[int, int]:
    """Return OK (-1 where it has a backslash) and the place after a string; or why and where it is none."""
    code = OK
    at += 1
    while True:
        if _SPECIAL[text[at]]:
            if text[at] == _QUOTE:
                return code, at + 1
            if text[at] != _BACKSLASH:
                return OPEN_STRING, at
            if not _ESCAPES[text[at + 1]]:
                return BAD_ESCAPE, at
            code = -1
            if text[at + 1] == _U:
                unit = _unit(text, at + 2)
                if unit < 0:
                    return BAD_ESCAPE, at
                if 0xDC00 <= unit <= 0xDFFF:
                    return LONE_SURROGATE, at
                if 0xD800 <= unit <= 0xDBFF:
                    low = _unit(text, at + 8) if text[at + 6] == _BACKSLASH and text[at + 7] == _U else -1
                    if not 0xDC00 <= low <= 0xDFFF:
                        return LONE_SURROGATE, at
                    at += 6
                at += 4
            at += 1
        at += 1


@compiled
def _unit(text: Octets, at: int) -> int:
    """Return the UTF-16 code unit of four hex digits, -1 where there are fewer."""
    unit = 0
    for place in range(at, at + 4):
        digit = _HEX[text[place]]
        if digit < 0:
            return -1
        unit = unit * 16 + digit
    return unit


@compiled
def _after_digits(text: Octets, at: int) -> int:
    while _ZERO <= text[at] <= _NINE:
        at += 1
    return at


@compiled
def _after_number(text: Octets, at: int) -> int:
    """Return the place after a number (RFC 8259, section 6), 0 where there is none."""
    at += text[at] == _MINUS
    after = _after_digits(text, at)
    if after == at or (text[at] == _ZERO and after > at + 1):
        return 0
    if text[after] == _POINT:
        at = after + 1
        after = _after_digits(text, at)
        if after == at:
            return 0
    if text[after] in (_E, _E_LARGE):
        at = after + 1
        at += text[at] in (_PLUS, _MINUS)
        after = _after_digits(text, at)
        if after == at:
            return 0
    return after


@compiled
def _hash(text: Words, at: int, end: int) -> np.uint64:
    """Return a hash of the bytes from `at` to before `end`."""
    last = len(text) - 1
    result = np.uint64(end - at)
    while at < end:
        place = min(at, last)
        word = text[place] >> np.uint64(8 * (at - place))
        if end - at < _WORD:
            word <<= np.uint64(8 * (_WORD - end + at))
        result = (result ^ word) * _MULTIPLIER
        result ^= result >> np.uint64(32)
        at += _WORD
    return result


@compiled
def _has_equal(hashes: Hashes) -> bool:
    """Return whether two of the hashes are equal."""
    if len(hashes) <= _FEW_NAMES:
        for one in range(1, len(hashes)):
            for other in range(one):
                if hashes[one] == hashes[other]:
                    return True
        return False
    ordered = np.sort(hashes)
    for place in range(1, len(ordered)):  # noqa: SIM110 - compiled
        if ordered[place] == ordered[place - 1]:
            return True
    return False
