"""Reading proto3 text, ours or as a registry prints it: the fields of each message, by path, with their numbers.

No more than is needed to keep field numbers and to compare two schemas; what declares no field is passed over. Grammar:
https://protobuf.dev/reference/protobuf/proto3-spec/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)|'[^'\\]*(?:\\.[^'\\]*)*(?:'|\Z)|[\w.]+|[{}\[\]();=<>,]""",
    re.DOTALL,
)  # what does not end goes to the end of the text: to look for its end again from each place takes for ever
_LABELS = ("optional", "repeated", "required")
_BLOCKS = ("message", "oneof", "enum", "extend", "service")
_MOST = 536_870_911
_RANGE = 10_000


@dataclass(frozen=True)
class ProtoField:
    """A field of the message at `path` (message names from the outermost on)."""

    path: tuple[str, ...]
    label: str
    type: str
    name: str
    number: int


@dataclass(frozen=True)
class ProtoFile:
    """The fields of all messages, in the order of the text, and the numbers that messages have reserved."""

    fields: tuple[ProtoField, ...]
    reserved: tuple[tuple[tuple[str, ...], int], ...]

    @property
    def first_message(self) -> str:
        """The name of the first message: the one that Confluent's message index 0 means."""
        return self.fields[0].path[0] if self.fields else ""

    def of(self, path: tuple[str, ...]) -> tuple[ProtoField, ...]:
        """Return the fields of the message at `path`."""
        return tuple(field for field in self.fields if field.path == path)


def parse(text: str) -> ProtoFile:
    """Return what the proto3 `text` declares."""
    fields: list[ProtoField] = []
    reserved: list[tuple[tuple[str, ...], int]] = []
    open_: list[tuple[str, str]] = []
    for words, end in _statements(text):
        path = tuple(name for kind, name in open_ if kind == "message")
        if end == "{":
            named = len(words) > 1 and words[0] in _BLOCKS
            open_.append((words[0], words[1]) if named else ("", ""))
        elif end == "}":
            open_.pop()
        elif words[:1] == ["reserved"]:
            reserved += [(path, number) for number in _numbers(words[1:])]
        elif path and open_[-1][0] in ("message", "oneof"):
            field = _field(path, words)
            if field is not None:
                fields.append(field)
    return ProtoFile(tuple(fields), tuple(reserved))


def _statements(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield statements without their options in brackets, each with what ends it: `;`, `{` or `}`."""
    words: list[str] = []
    brackets = 0
    for word in _TOKEN.findall(text):
        if word.startswith(("//", "/*")):
            continue
        brackets += (word == "[") - (word == "]")
        if brackets or word == "]":
            continue
        if word in ("{", "}", ";"):
            if words or word != ";":
                yield words, word
            words = []
        else:
            words.append(word)


def _field(path: tuple[str, ...], words: list[str]) -> ProtoField | None:
    label = words.pop(0) if words and words[0] in _LABELS else ""
    if "=" not in words or words[0] in ("option", "import", "package", "syntax"):
        return None
    at = words.index("=")
    if at < 2 or not words[at + 1].isdigit():
        return None
    return ProtoField(path, label, "".join(words[: at - 1]), words[at - 1], int(words[at + 1]))


def _numbers(words: list[str]) -> Iterator[int]:
    """Yield the numbers of `reserved 2, 4 to 6;`; reserved names have none."""
    place = 0
    while place < len(words):
        if not words[place].isdigit():
            place += 1
        elif words[place + 1 : place + 2] == ["to"]:
            last = words[place + 2]
            yield from range(
                int(words[place]), min(int(last) if last.isdigit() else _MOST, int(words[place]) + _RANGE) + 1
            )
            place += 3
        else:
            yield int(words[place])
            place += 1
