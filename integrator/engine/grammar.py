"""The grammar of JSON (RFC 8259), byte by byte: white space, texts, numbers and words."""

from __future__ import annotations

import numpy as np

from integrator.engine.arrays import Octets, Words
from integrator.engine.compiled import compiled
from integrator.engine.words import WORD, equal, in_each, less, lowest_mark

MAX_DEPTH = 128
"""Brackets that may stand inside each other: parsers of consumers accept between 64 and 1,000."""
QUOTE, BACKSLASH, COLON, COMMA, NEWLINE = b'"\\:,\n'
OPEN, CLOSE, LIST, LIST_END = b"{}[]"
_SPACE, _TAB, _RETURN = b" \t\r"
ZERO, ONE, NINE = b"019"
_MINUS, _PLUS, _POINT, _E, _E_LARGE, _U = b"-+.eEu"
FIRST_PLAIN = 0x20
"""Below it are control characters, which no string has unescaped (RFC 8259, section 7)."""
_QUOTES, _BACKSLASHES, _PLAIN = (in_each(byte) for byte in (QUOTE, BACKSLASH, FIRST_PLAIN))
_SPECIAL = np.array([byte in b'"\\' or byte < FIRST_PLAIN for byte in range(256)]).astype(np.uint8)
_ESCAPES = np.array([byte in b'"\\/bfnrtu' for byte in range(256)]).astype(np.uint8)
HEX = np.full(256, -1, np.int64)
HEX[list(b"0123456789abcdef")] = np.arange(16)
HEX[list(b"ABCDEF")] = np.arange(10, 16)
_TRUE, _FALSE, NULL = (np.frombuffer(word, np.uint8) for word in (b"true", b"false", b"null"))
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
ESCAPED = -1
"""As OK, of a text that has a backslash."""


@compiled
def after_space(text: Octets, at: int) -> int:
    """Return the place of the first byte from `at` on that is no white space."""
    while text[at] <= _SPACE and text[at] in (_SPACE, _TAB, _RETURN):
        at += 1
    return at


@compiled
def is_word(text: Octets, at: int, word: Octets) -> bool:
    """Return whether a word is here; the newline of the line ends the comparison before the text ends."""
    for place in range(len(word)):  # noqa: SIM110 - compiled
        if text[at + place] != word[place]:
            return False
    return True


@compiled
def after_scalar(text: Octets, at: int) -> tuple[int, int]:
    """Return OK or ESCAPED and the place after the scalar that begins here; or why and where there is none."""
    byte = text[at]
    if byte == QUOTE:
        return after_text(text, at)
    if byte == _MINUS or ZERO <= byte <= NINE:
        after = _after_number(text, at)
        return (OK, after) if after else (NO_NUMBER, at)
    if is_word(text, at, NULL) or is_word(text, at, _TRUE):
        return OK, at + 4
    return (OK, at + 5) if is_word(text, at, _FALSE) else (NO_VALUE, at)


@compiled
def after_plain(text: Octets, text_words: Words, at: int) -> int:
    """Return the place of the first byte from `at` on that is a quote, a backslash or a control character."""
    while at < len(text_words):
        word = text_words[at]
        found = equal(word, _QUOTES) | equal(word, _BACKSLASHES) | less(word, _PLAIN)
        if found:
            return at + lowest_mark(found)
        at += WORD
    while not _SPECIAL[text[at]]:
        at += 1
    return at


@compiled
def after_text(text: Octets, at: int) -> tuple[int, int]:
    """Return OK or ESCAPED and the place after a text; or why and where it is none."""
    code = OK
    at += 1
    while True:
        if _SPECIAL[text[at]]:
            if text[at] == QUOTE:
                return code, at + 1
            if text[at] != BACKSLASH:
                return OPEN_STRING, at
            if not _ESCAPES[text[at + 1]]:
                return BAD_ESCAPE, at
            code = ESCAPED
            if text[at + 1] == _U:
                unit = _unit(text, at + 2)
                if unit < 0:
                    return BAD_ESCAPE, at
                if 0xDC00 <= unit <= 0xDFFF:
                    return LONE_SURROGATE, at
                if 0xD800 <= unit <= 0xDBFF:
                    low = _unit(text, at + 8) if text[at + 6] == BACKSLASH and text[at + 7] == _U else -1
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
        digit = HEX[text[place]]
        if digit < 0:
            return -1
        unit = unit * 16 + digit
    return unit


@compiled
def _after_digits(text: Octets, at: int) -> int:
    while ZERO <= text[at] <= NINE:
        at += 1
    return at


@compiled
def _after_number(text: Octets, at: int) -> int:
    """Return the place after a number (RFC 8259, section 6), 0 where there is none."""
    at += text[at] == _MINUS
    after = _after_digits(text, at)
    if after == at or (text[at] == ZERO and after > at + 1):
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
