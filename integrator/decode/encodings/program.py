"""Programs by which encoded records are written as the JSON that Kafka Connect's JsonConverter writes of them.

A program writes literals, which are known from the schema (names of fields, commas and brackets), and values between
them. https://kafka.apache.org/41/javadoc/org/apache/kafka/connect/json/JsonConverter.html
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from integrator.decode.lines.lines import json_text
from integrator.engine import transcode
from integrator.engine.arrays import Ints, Octets, Places, Words, words
from integrator.engine.programs import WIDTH
from integrator.engine.words import WORD

Connect = dict[str, Any]
"""A schema of Kafka Connect, as JsonConverter writes it. zoned: whether a Timestamp is an instant (an addition)."""


class SchemaRefused(Exception):
    """A schema that is none of its language, or that has no counterpart here."""


@dataclass(frozen=True, eq=False)
class Program:
    """What writes the records of a schema.

    engine: which loop runs it. code: its instructions, a row each. moved: the places of instructions' numbers that are
    places of instructions themselves. literals: what it writes. schema: the schema as Connect has it. fields: of a
    message at most, which a loop takes note of.
    """

    engine: int
    code: Places
    moved: Ints
    literals: bytes
    schema: Connect
    fields: int = 0

    @cached_property
    def schema_text(self) -> bytes:
        """The schema as JSON."""
        return json.dumps(self.schema, ensure_ascii=False).encode()


class Emitter:
    """Instructions and literals of a program that is made."""

    def __init__(self) -> None:
        self._rows: list[list[int]] = []
        self._moved: list[int] = []
        self._literals, self._pending = bytearray(), bytearray()

    def literal(self, text: bytes) -> None:
        """Have a text written before what comes next."""
        self._pending += text

    def emit(self, what: int, one: int = 0, two: int = 0) -> int:
        """Add an instruction; return its place."""
        self._rows.append([what, len(self._literals), len(self._pending), one, two, 0])
        self._literals += self._pending
        self._pending.clear()
        return (len(self._rows) - 1) * WIDTH

    def here(self, literal: int) -> int:
        """Return the place of the next instruction, for a jump. literal: the instruction that writes a literal only."""
        if self._pending:
            self.emit(literal)
        return len(self._rows) * WIDTH

    def point(self, place: int, which: int, target: int) -> None:
        """Set a number of an instruction, the first (0) to third (2) one, to the place of another instruction."""
        self._rows[place // WIDTH][3 + which] = target
        self._moved.append(place + 3 + which)

    def set(self, place: int, which: int, number: int) -> None:
        """Set a number of an instruction."""
        self._rows[place // WIDTH][3 + which] = number

    def operations(self, begin: int) -> list[tuple[int, int]]:
        """Return what the instructions from a place on do, and their second numbers."""
        return [(row[0], row[4]) for row in self._rows[begin // WIDTH :]]

    def program(self, engine: int, schema: Connect, fields: int = 0) -> Program:
        """Return the program."""
        code = np.array(self._rows, np.int32).ravel()
        return Program(engine, code, np.array(self._moved, np.int64), bytes(self._literals), schema, fields)


@dataclass(frozen=True, eq=False)
class Joined:
    """Programs one after another, as loops run them."""

    code: Places
    literals: Words
    begins: Ints
    engine: Octets


@lru_cache(maxsize=64)
def joined(programs: tuple[Program, ...]) -> Joined:
    """Return programs as one."""
    codes, begins, literal, place = list[Places](), list[int](), 0, 0
    for one in programs:
        code = one.code.copy()
        code[1::WIDTH] += literal
        code[one.moved] += place
        codes.append(code)
        begins.append(place)
        literal += len(one.literals)
        place += len(code)
    text = np.frombuffer(b"".join(one.literals for one in programs) + bytes(WORD * 2), np.uint8)
    engines = np.array([one.engine for one in programs], np.uint8)
    return Joined(np.concatenate(codes), words(text), np.array(begins, np.int64), engines)


def between(engine: int, before: bytes, after: bytes, schema: Connect | None = None) -> Program:
    """Return the program of records that need no schema: JSON, text, bytes; or of those that are null."""
    emitter = Emitter()
    emitter.literal(before)
    emitter.emit(0)
    emitter.literal(after)
    emitter.emit(0)
    return emitter.program(engine, schema or {})


NULL = between(transcode.NOTHING, b"null", b"")
"""What is written of a record without a value."""


def object_of(emitter: Emitter, members: Iterable[tuple[str, Callable[[], Connect]]]) -> list[Connect]:
    """Write an object; return its fields. Each member writes its value, and returns its schema."""
    fields = []
    for index, (name, write) in enumerate(members):
        emitter.literal(b"{" if not index else b",")
        emitter.literal(json_text(name) + b":")
        fields.append({**write(), "field": name})
    emitter.literal(b"}" if fields else b"{}")
    return fields


def logical(schema: Connect, name: str, parameters: Sequence[tuple[str, str]] = (), *, zoned: bool = False) -> Connect:
    """Return a schema with the name of its logical type."""
    named = {**schema, "name": name, "version": 1}
    named |= {"parameters": dict(parameters)} if parameters else {}
    return named | ({"zoned": True} if zoned else {})
