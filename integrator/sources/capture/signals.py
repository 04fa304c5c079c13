"""Refreshes that are asked for by rows of a table at the database, in the form that Debezium's signal tables have.

https://debezium.io/documentation/reference/stable/configuration/signalling.html: a row has an id, a type and data. Of
the types `execute-snapshot` is taken, whose data name tables, and conditions on their rows. A refresh is asked for
before the row that asks is durable: after a crash it may be asked for again, and is never lost.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from integrator.decode.encodings.pgoutput import Relation, relation_of
from integrator.engine.pgoutput import INSERT
from integrator.sources.capture.asked import Asked, ask

TYPE = "execute-snapshot"
_TABLES, _CONDITIONS, _TRUNCATE = "data-collections", "additional-conditions", "truncate-record"
_MEMBERS = frozenset((_TABLES, _CONDITIONS, _TRUNCATE, "type", "surrogate-key"))
"""`type` and `surrogate-key` say how Debezium reads a table: here there is one way, by its primary key."""
_COLUMNS = 3
_NO_TEXT = re.compile("[\\0\ud800-\udfff]")
_NAMES_AT, _NEW_AT = 5, 6
"""In a relation: after its number. In an INSERT: after the number of the table and the letter of the new row."""


class Signals:
    """Asks for refreshes. `table`: that has the signals, SCHEMA.TABLE."""

    def __init__(self, table: str | None, state: Path, log: Any) -> None:
        """Take the state directory that the requests are in, and the channel's log."""
        self._state, self._log = state, log
        self._names = b"".join(name.encode() + b"\0" for name in table.split(".", 1)) if table else None
        self._relations: dict[bytes, Relation] = {}

    def know(self, announced: bytes) -> None:
        """Take note of the message that announces a relation: each transaction may have one."""
        if self._relations:
            self._relations.pop(announced[1:5], None)
        if self._names is not None and announced.startswith(self._names, _NAMES_AT):
            self._relations[announced[1:5]] = relation_of(announced)

    def are_of(self, relation: bytes) -> bool:
        """Return whether a relation is the table of signals."""
        return relation in self._relations

    def take(self, message: bytes) -> None:
        """Ask for what a change of the table asks for; what cannot be understood is an error in the log."""
        if message[0] != INSERT:
            return
        row = _row(message, len(self._relations[message[1:5]].columns))
        if len(row) < _COLUMNS:
            self._log.error("a signal is not followed", reason="its table has no three columns: id, type, data")
        elif row[1] != TYPE:
            self._log.error("a signal is not followed", id=row[0], type=row[1], reason=f"known is the type {TYPE}")
        else:
            try:
                refreshes = dict(_refreshes(json.loads(row[2] or "{}")))
            except (ValueError, RecursionError) as error:
                self._log.error("a signal is not followed", id=row[0], reason=str(error))
                return
            for table, refresh in refreshes.items():
                ask(self._state, table, refresh)


def _refreshes(data: Any) -> Iterator[tuple[str, Asked]]:
    """Yield the tables that the data of a signal name, with what is asked for. Raises ValueError."""
    try:
        tables = [_text(one) for one in data[_TABLES]]
    except (TypeError, LookupError):
        tables = []
    if not tables or not isinstance(data[_TABLES], list):
        raise ValueError(f"its data are no JSON object with {_TABLES}: a list of SCHEMA.TABLE")
    if unknown := sorted(data.keys() - _MEMBERS):
        raise ValueError(f"its data have {', '.join(unknown)}: known are {', '.join(sorted(_MEMBERS))}")
    conditions, truncate = data.get(_CONDITIONS) or [], data.get(_TRUNCATE, False)
    if truncate not in (True, False):
        raise ValueError(f"{_TRUNCATE} is true or false")
    try:
        where = {_text(one["data-collection"]): _text(one["filter"]) for one in conditions}
    except (TypeError, LookupError):
        text = f"{_CONDITIONS} is a list of objects with data-collection and filter, both of them texts"
        raise ValueError(text) from None
    if others := sorted(where.keys() - set(tables)):
        raise ValueError(f"{_CONDITIONS} names tables that {_TABLES} does not: {', '.join(others)}")
    if truncate and where:
        raise ValueError(f"{_TRUNCATE} is for whole tables: with a condition, consumers would have no other rows")
    for table in tables:
        yield table, Asked(where.get(table, ""), truncate)


def _text(value: Any) -> str:
    """Return a text that a database can be given. Raises TypeError."""
    if not isinstance(value, str) or _NO_TEXT.search(value):
        raise TypeError
    return value


def _row(message: bytes, columns: int) -> list[str | None]:
    """Return the values of an INSERT as text; None for null.

    https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html, TupleData.
    """
    found, at = list[str | None](), _NEW_AT + 2
    for _ in range(columns):
        if message[at : at + 1] != b"t":
            found.append(None)
            at += 1
            continue
        [size] = struct.unpack_from(">I", message, at + 1)
        found.append(message[at + 5 : at + 5 + size].decode(errors="replace"))
        at += 5 + size
    return found
