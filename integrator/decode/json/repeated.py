"""Lines without a value that many of them begin with, as a schema of Kafka Connect is: it is read once.

A record of Kafka Connect's JsonConverter is `{"schema":{…},"payload":{…}}`, in this order, and its schema is most of it
(https://kafka.apache.org/41/javadoc/org/apache/kafka/connect/json/JsonConverter.html). A line that begins with a schema
that is known is kept as `{"schema":0,"payload":{…}}`; which schema it had stands beside the lines.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8

import numpy as np

from integrator.arrow.compiled import compiled
from integrator.arrow.eight_bytes import WORD, before, equal, in_each
from integrator.decode.json import grammar
from integrator.decode.json.grammar import is_word
from integrator.decode.json.index import indexed
from integrator.decode.json.lines import LeftOut
from integrator.decode.json.names import json_text
from integrator.engine.arrays import Ints, Octets, Places, Words, words

_MOST_KEPT = 1024
_INSTEAD = b"0"
_NEWLINES = in_each(grammar.NEWLINE)


class RepeatedMember:
    """The values of a member that the lines of a file begin with, and the member that comes after it.

    values: their JSON, each of them once.
    """

    def __init__(self, member: str, then: str) -> None:
        self._opening, self._closing = b"{" + json_text(member) + b":", b"," + json_text(then) + b":"
        self.values: list[bytes] = []
        self._heads = np.zeros(WORD, np.uint8)
        self._bounds = np.empty((_MOST_KEPT, 3), np.int64)

    def what(self, codes: Places) -> LeftOut:
        """Return what was left out of lines, given their codes."""
        return LeftOut(self.values, codes, len(self._opening))

    @property
    def used(self) -> bool:
        """Whether anything was left out yet."""
        return bool(self.values)

    def begins(self, data: bytearray) -> bool:
        """Return whether the first of some lines may have such a value."""
        return data.startswith((self._opening, BOM_UTF8 + self._opening))

    def left_out(self, data: bytearray, into: memoryview) -> tuple[int, Places]:
        """Write whole lines without the values; return how many bytes, and of each line the code of its value, or -1.

        A word is appended to `data`, which is read by words, and up to two are written over after the lines.
        """
        codes = np.empty(len(data), np.int32)  # as many as bytes: the system gives memory where it is written
        end = len(data)
        data.extend(bytes(WORD))
        text, out = np.frombuffer(data, np.uint8), np.frombuffer(into, np.uint8)
        instead = np.frombuffer(self._opening + _INSTEAD + self._closing, np.uint8)
        at, to, line, last, learned = 0, 0, 0, -1, 0  # learned: the first line whose value may be learned
        while at < end:
            at, to, line, last = _leave_out(
                (text, words(text)),
                (words(self._heads), self._bounds[: len(self.values)]),
                (np.frombuffer(self._opening + b"{", np.uint8), instead),
                (out, words(out), codes),
                (at, to, line, last, learned if len(self.values) < _MOST_KEPT else len(codes)),
            )
            if at < end and not self._learn(data, at):
                learned = line + 1
        return to, codes[:line].copy()

    def _learn(self, data: bytearray, at: int) -> bool:
        """Learn the value that the line at a place begins with; return whether there is one."""
        line = bytes(data[at : data.index(b"\n", at)])
        begin = len(self._opening)
        try:
            text = line[begin:].decode()
            _, size = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError):
            return False
        value = text[:size].encode()
        if not line.startswith(self._closing, begin + len(value)) or not _is_plain(value):
            return False
        head = self._opening + value + self._closing
        start = len(self._heads) - WORD
        self._bounds[len(self.values)] = start, start + len(head), -1
        self._heads = np.frombuffer(self._heads[:start].tobytes() + head + bytes(WORD), np.uint8)
        self.values.append(value)
        return True


def _is_plain(value: bytes) -> bool:
    """Return whether a value is an object that reading would accept, with names that are written in one way only."""
    text = b'{"":' + value + b"}\n"
    found, _ = indexed(
        np.frombuffer(text, np.uint8), words(np.frombuffer(text, np.uint8)), np.array([0, len(text)], np.int32)
    )
    return found.code == grammar.OK and b"\\" not in value


@compiled
def _leave_out(
    lines: tuple[Octets, Words],
    known: tuple[Words, Ints],
    constant: tuple[Octets, Octets],
    out: tuple[Octets, Words, Places],
    begin: tuple[int, int, int, int, int],
) -> tuple[int, int, int, int]:
    """Copy lines without the values at their beginning, up to a line whose value is to be learned.

    known: the beginnings of lines; of each where it is, and which came after it last. constant: how a line begins that
    has a value, and what is written instead. begin: as the result, and the first line whose value may be learned. The
    result: where reading and writing go on, the line, and which beginning the line before has.
    """
    text, text_words = lines
    head_words, bounds = known
    opening, instead = constant
    data, data_words, codes = out
    at, to, line, last, learned = begin
    end = len(text) - WORD
    while at < end:
        found = -1
        if is_word(text, at, opening):
            found = _find(text_words, at, head_words, bounds, last)
            if found < 0 and line >= learned:
                break
        codes[line] = found
        if found >= 0:
            at += bounds[found, 1] - bounds[found, 0]
            for place in range(len(instead)):
                data[to + place] = instead[place]
            to += len(instead)
            if last >= 0:
                bounds[last, 2] = found
            last = found
        while True:
            word = text_words[at]
            data_words[to] = word
            ends = equal(word, _NEWLINES)
            if ends:
                size = before(ends) + 1
                at, to = at + size, to + size
                break
            at, to = at + WORD, to + WORD
        line += 1
    return at, to, line, last


@compiled
def _find(text_words: Words, at: int, head_words: Words, bounds: Ints, last: int) -> int:
    """Return which beginning a line at a place has; -1 for none. last: that of the line before."""
    likely = bounds[last, 2] if last >= 0 else -1
    for place in range(-2, len(bounds)):
        one = likely if place == -2 else last if place == -1 else place
        if one >= 0 and _is_here(text_words, at, head_words, bounds[one, 0], bounds[one, 1]):
            return one
    return -1


@compiled
def _is_here(text_words: Words, at: int, head_words: Words, start: int, end: int) -> bool:
    """Return whether the bytes from `start` to before `end` are at a place of the text; they are a word or more."""
    tail = end - start - WORD  # compared first, for most others are of another size
    if at + tail >= len(text_words) or text_words[at + tail] != head_words[end - WORD]:
        return False
    for place in range(0, tail, WORD):  # noqa: SIM110 - compiled
        if text_words[at + place] != head_words[start + place]:
            return False
    return True
