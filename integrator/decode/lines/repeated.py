"""Lines without a value that many of them begin with, as a schema of Kafka Connect is: it is read once.

A record of Kafka Connect's JsonConverter is `{"schema":{…},"payload":{…}}`, in this order, and its schema is most of it
(https://kafka.apache.org/41/javadoc/org/apache/kafka/connect/json/JsonConverter.html). A line that begins with a schema
that is known is kept as `{"schema":0,"payload":{…}}`; which schema it had stands beside the lines.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8

import numpy as np

from integrator.decode.lines.lines import LeftOut, json_text
from integrator.engine import grammar
from integrator.engine.arrays import Places, words
from integrator.engine.index import index_lines
from integrator.engine.lines import Copied, Heads, leave_out
from integrator.engine.words import WORD

_MOST_KEPT = 1024
_INSTEAD = b"0"


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
        opening = np.frombuffer(self._opening + b"{", np.uint8)
        copied, learned = Copied(0, 0, 0, -1), 0  # learned: the first line whose value may be learned
        while copied.at < end:
            heads = Heads(words(self._heads), self._bounds[: len(self.values)], opening, instead)
            first = learned if len(self.values) < _MOST_KEPT else len(codes)
            copied = Copied(*leave_out(text, words(text), heads, out, words(out), codes, copied, first))
            if copied.at < end and not self._learn(data, copied.at):
                learned = copied.line + 1
        return copied.to, codes[: copied.line].copy()

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
    found, _ = index_lines(
        np.frombuffer(text, np.uint8), words(np.frombuffer(text, np.uint8)), np.array([0, len(text)], np.int32)
    )
    return found.code == grammar.OK and b"\\" not in value
