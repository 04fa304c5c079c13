"""The dead letter topic as letters: parts joined, repeated ones once, in the order of their source."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from integrator.contracts.fragments import REJECTED_HEADERS
from integrator.deliver.kafka import topics
from integrator.deliver.kafka.read_back import Begin, Received, read_back
from integrator.errors import EnvironmentFault
from integrator.librdkafka.properties import client_properties
from integrator.plan import Plan

_CONNECTOR, _STAGE, _CLASS, _REASON, _FILE, _LINE, _PART, _PARTS = REJECTED_HEADERS


@dataclass(frozen=True)
class Letter:
    """A rejected line.

    id: what it is known by, however often it is in the topic or mended: made of where it stood and its bytes. place:
    its partition and offset, as text. time: when it was sent, in ms since 1970. file, line: where it stood; empty and 0
    where its headers are not there.
    """

    id: str
    place: str
    time: int
    file: str
    line: int
    stage: str
    reason: str
    record: bytes

    @property
    def stood(self) -> str:
        """Where the line stood, for messages."""
        return f"{self.file}:{self.line}" if self.file else f"dead letter {self.place}"


@dataclass(frozen=True)
class LettersFound:
    """What a dead letter topic has: letters of this channel, and how many messages are no whole letter of it."""

    letters: tuple[Letter, ...]
    of_others: int = 0
    incomplete: int = 0


def read(plan: Plan, begin: Begin) -> LettersFound:
    """Return the letters of a channel's dead letter topic. Raises EnvironmentFault, or DeliveryError."""
    producer, topic = plan.recipe.send.producer, plan.recipe.tolerance.topic
    if topics.missing(producer, [topic]):
        raise EnvironmentFault(f"{topic}: there is no such topic at {plan.brokers}: no line was rejected yet")
    return found_in(read_back(plan.brokers, [topic], begin, client_properties(producer)), plan.channel)


def found_in(messages: Iterable[Received], channel: str) -> LettersFound:
    """Return the letters that messages of a dead letter topic make.

    They are in the order of their source as far as it is known: in the order in which they were sent, and within a
    file in the order of its lines.
    """
    sent = sorted(messages, key=lambda one: (one.timestamp, one.partition, one.offset))
    letters: dict[str, Letter] = {}
    parts: dict[tuple[int, str, str], list[bytes]] = {}
    of_others = incomplete = 0
    for message in sent:
        header = {name: (value or b"").decode(errors="replace") for name, value in message.headers}
        if header.get(_CONNECTOR, channel) != channel:
            of_others += 1
            continue
        number, count = (int(header.get(name) or 1) for name in (_PART, _PARTS))
        key = (message.partition, header.get(_FILE, ""), header.get(_LINE, ""))
        if number == 1:
            incomplete += key in parts
            parts[key] = []
        if len(parts.get(key, ())) != number - 1:  # its first part is before where reading begins, or gone
            incomplete += 1
            continue
        parts.setdefault(key, []).append(message.value or b"")
        if number == count:
            letter = _letter(message, header, b"".join(parts.pop(key)))
            letters.setdefault(letter.id, letter)
    return LettersFound(tuple(_by_file(letters.values())), of_others, incomplete + len(parts))


def _letter(message: Received, header: dict[str, str], record: bytes) -> Letter:
    place = f"{message.partition}:{message.offset}"
    stood = f"{header[_FILE]}:{header[_LINE]}" if _FILE in header else place
    known_by = hashlib.sha256(f"{stood}\n".encode() + record).hexdigest()[:32]
    return Letter(
        known_by,
        place,
        message.timestamp,
        header.get(_FILE, ""),
        int(header.get(_LINE) or 0),
        header.get(_STAGE, ""),
        header.get(_REASON, ""),
        record,
    )


def _by_file(letters: Iterable[Letter]) -> Iterator[Letter]:
    """Yield letters file by file, each in the order of its lines: parallel tasks send theirs at the same time."""
    files: dict[str, list[Letter]] = {}
    for letter in letters:
        files.setdefault(letter.file, []).append(letter)
    for of_file in files.values():
        yield from sorted(of_file, key=lambda letter: letter.line)
