"""Reading proto2 and proto3 text, ours or as a registry prints it: the fields of each message, by path, and its enums.

No more than is needed to keep field numbers, to compare two schemas and to read records; what declares no field is
passed over. Grammar: https://protobuf.dev/reference/protobuf/proto3-spec/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)|'[^'\\]*(?:\\.[^'\\]*)*(?:'|\Z)|[\w.]+|[{}\[\]();=<>,:-]""",
    re.DOTALL,
)  # what does not end goes to the end of the text: searching for its end again from each place takes for ever
_LABELS = ("optional", "repeated", "required")
_BLOCKS = ("message", "oneof", "enum", "extend", "service")
_NO_FIELDS = ("option", "import", "package", "syntax", "reserved", "extensions")
_MOST = 536_870_911
_RANGE = 10_000

Path = tuple[str, ...]
"""The names of messages, from the outermost on."""


@dataclass(frozen=True)
class ProtoField:
    """A field of the message at `path`. oneof: which it is one of. options: the words in its brackets."""

    path: Path
    label: str
    type: str
    name: str
    number: int
    oneof: str = ""
    options: tuple[str, ...] = ()


@dataclass
class ProtoFile:
    """What a file declares, in the order of the text. fields: of all messages. reserved: the numbers that they have so.

    enums: names and numbers of values. unread: statements in messages and enums that are not understood.
    """

    syntax: str = "proto2"
    package: str = ""
    imports: list[str] = field(default_factory=list)
    messages: list[Path] = field(default_factory=list)
    fields: list[ProtoField] = field(default_factory=list)
    reserved: list[tuple[Path, int]] = field(default_factory=list)
    enums: dict[Path, list[tuple[str, int]]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)

    @property
    def first_message(self) -> str:
        """The name of the first message: the one that Confluent's message index 0 means."""
        return self.messages[0][0] if self.messages else ""

    def of(self, path: Path) -> tuple[ProtoField, ...]:
        """Return the fields of the message at `path`."""
        return tuple(one for one in self.fields if one.path == path)


def parse(text: str) -> ProtoFile:
    """Return what the proto `text` declares."""
    found = ProtoFile()
    open_: list[tuple[str, str]] = []
    for words, options, end in _statements(text):
        path = tuple(name for kind, name in open_ if kind == "message")
        if end == "{":
            named = len(words) > 1 and words[0] in _BLOCKS
            if named and words[0] == "message":
                found.messages.append((*path, words[1]))
            elif named and words[0] == "enum":
                found.enums[(*path, words[1])] = []
            elif not named and "group" in words[:2] and open_ and open_[-1][0] in ("message", "oneof"):
                found.unread.append(" ".join(words))
            open_.append((words[0], words[1]) if named else ("", ""))
        elif end == "}":
            open_ = open_[:-1]
        elif open_:
            _inside(found, path, open_[-1], words, options)
        else:
            _outside(found, words)
    return found


def _outside(found: ProtoFile, words: list[str]) -> None:
    if words[0] == "package" and len(words) > 1:
        found.package = words[1]
    elif words[0] == "import":
        found.imports.append(words[-1][1:-1])
    elif words[0] in ("syntax", "edition"):
        found.syntax = words[-1][1:-1]


def _inside(found: ProtoFile, path: Path, block: tuple[str, str], words: list[str], options: list[str]) -> None:
    kind, name = block
    if words[:1] == ["reserved"] and kind == "message":
        found.reserved += [(path, number) for number in _numbers(words[1:])]
    elif kind == "enum" and words and (words[0] not in _NO_FIELDS or words[1:2] == ["="]):
        number = _whole("".join(words[2:])) if words[1:2] == ["="] else None
        if number is None:
            found.unread.append(" ".join(words))
        else:
            found.enums[(*path, name)].append((words[0], number))
    elif path and kind in ("message", "oneof") and words:
        one = _field(path, name if kind == "oneof" else "", words, options)
        if one is not None:
            found.fields.append(one)
        elif words[0] not in _NO_FIELDS:
            found.unread.append(" ".join(words))


def _statements(text: str) -> Iterator[tuple[list[str], list[str], str]]:
    """Yield statements, their options in brackets, and what ends each: `;`, `{` or `}`."""
    words: list[str] = []
    options: list[str] = []
    brackets = 0
    for word in _TOKEN.findall(text):
        if word.startswith(("//", "/*")):
            continue
        brackets += (word == "[") - (word == "]")
        if brackets or word == "]":
            options.append(word)
        elif word in ("{", "}", ";"):
            if words or word != ";":
                yield words, options, word
            words, options = [], []
        else:
            words.append(word)


def _field(path: Path, oneof: str, words: list[str], options: list[str]) -> ProtoField | None:
    label = words[0] if words[0] in _LABELS and len(words) > 1 else ""
    rest = words[1:] if label else words
    if "=" not in rest or rest[0] in _NO_FIELDS:
        return None
    at = rest.index("=")
    number = _whole("".join(rest[at + 1 :]))
    if at < 2 or number is None:
        return None
    return ProtoField(path, label, "".join(rest[: at - 1]), rest[at - 1], number, oneof, tuple(options))


def _whole(text: str) -> int | None:
    """Return a number in one of the three notations that there are."""
    if re.fullmatch("-?0[0-7]+", text):
        return int(text, 8)
    return int(text, 0) if re.fullmatch("-?(0[xX][0-9a-fA-F]{1,16}|0|[1-9][0-9]{0,18})", text) else None


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
