"""Messages -> rows: the effect of a message on a row, whatever its format and envelope.

Formats that have names for their values become JSON: those with a registry by the schema that each message was written
with. So rows of the table, which are written by the plan's schema, and messages of an earlier version are comparable.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from integrator.arrow.arrays import Raw
from integrator.contracts.message_format import MessageFormat
from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE, DELETE, TRUNCATE
from integrator.contracts.registry_access import RegistryAccess
from integrator.contracts.written_schema import WrittenSchema
from integrator.decode.encodings.encoded import Encoding, Records, Shape, Unframed, lines_of
from integrator.engine.arrays import Mask, Places
from integrator.errors import ConfigurationError, DataError

Row: TypeAlias = Mapping[str, Any]
Effect: TypeAlias = "tuple[int, Row]"
"""An effect, and the row: it is SET, GONE, CLEARED (all rows are gone), or NOTHING."""
SET, GONE, CLEARED, NOTHING = range(4)

FORMATS_READ = ("SCHEMA_PAYLOAD", "PAYLOAD", "JSON", "REGISTRY_AVRO", "REGISTRY_JSON", "REGISTRY_PROTOBUF")
ENVELOPES_READ = ("DEBEZIUM", "OPENCDC")
CLIENTS: dict[str, str] = {"confluent": "integrator.registry.client"}
"""Modules that ask a registry, imported at first use."""

_SCHEMA, _PAYLOAD = '{"schema":', ',"payload":'
DECODER = json.JSONDecoder(parse_float=Decimal)  # numbers keep all of their digits


class Texts(NamedTuple):
    """Values of messages, one after another, a newline after each. ends: where each ends, after the first 0."""

    data: Raw
    ends: Places
    nulls: Mask

    @classmethod
    def of(cls, values: Sequence[bytes | None]) -> Texts:
        """Return values; None is null."""
        ends = np.cumsum([0, *(1 if one is None else len(one) + 1 for one in values)], dtype=np.int32)
        data = b"".join([(one or b"") + b"\n" for one in values])
        return cls(data, ends, np.array([one is None for one in values], np.bool_))


@dataclass
class Documents:
    """Makes JSON of the values of messages.

    layout: how they are laid out. registry: by which schemas are found; None where the format has none. unframed: how
    values are encoded that have no schema's id, where the format is one of a registry.
    """

    layout: MessageFormat
    registry: RegistryAccess | None = None
    unframed: Unframed = "none"
    _schemas: dict[int, WrittenSchema] = field(default_factory=dict)
    _head: str = ""
    """What messages begin with up to their payload: a schema that was read already."""

    def of(self, values: Sequence[bytes | None], place: str, *, are_rows: bool = True) -> list[list[Any] | None]:
        """Return the documents of each value; None of a tombstone. Raises DataError for what is none of the format's.

        place: where they are, for errors. are_rows: whether they must be rows; else any JSON is taken.
        """
        texts = self._decoded(values, place) if self.layout.format.startswith("REGISTRY_") else values
        many, found = self.layout.bundling.mode != "ROW", list[list[Any] | None]()
        read = self._with_schema if self.layout.format == "SCHEMA_PAYLOAD" else DECODER.decode
        encoding = self.layout.options.encoding
        for text in texts:
            if text is None:
                found.append(None)
                continue
            try:
                decoded = text.decode(encoding)
                found.append([*_documents(decoded)] if many else [read(decoded)])
            except (ValueError, RecursionError) as error:
                raise DataError(
                    f"{place}: a message is no JSON as the channel writes it ({error}): another producer writes to the "
                    "topic, or the channel's format is another one since"
                ) from None
        return [None if one is None else self._rows(one, place) for one in found] if are_rows else found

    def _with_schema(self, text: str) -> Any:
        """Return the document of a message with a schema; the one that the last message had is not read again."""
        if self._head and text.startswith(self._head) and text.endswith("}"):
            with suppress(ValueError):
                return {"payload": DECODER.decode(text[len(self._head) : -1])}
        found = DECODER.decode(text)
        with suppress(ValueError):
            _, end = DECODER.raw_decode(text, len(_SCHEMA))
            is_first = text.startswith(_SCHEMA) and text.startswith(_PAYLOAD, end)
            self._head = text[: end + len(_PAYLOAD)] if is_first else ""
        return found

    def _rows(self, documents: Iterable[Any], place: str) -> list[Any]:
        """Return the rows in documents: what is around them is taken away."""
        layout, found = self.layout, list[Any]()
        mode = layout.options.json_mode if layout.format == "JSON" else ""
        try:
            for one in documents:
                if layout.format == "SCHEMA_PAYLOAD":
                    found.append(one["payload"])
                elif mode == "ROW_ARRAY":
                    found += one
                elif mode == "TABLE_OBJECT":
                    found += [row for rows in one.values() for row in rows]
                elif mode == "TABLE_ARRAY":
                    found += [row for table in one for rows in table.values() for row in rows]
                else:
                    found.append(one)
        except (TypeError, LookupError, AttributeError):
            found = [None]
        if any(not isinstance(row, dict) for row in found):
            raise DataError(
                f"{place}: a message is not laid out as the channel lays messages out: another producer writes to the "
                "topic, or the channel's format is another one since"
            )
        return found

    def _decoded(self, values: Sequence[bytes | None], place: str) -> list[bytes | None]:
        """Return values that were written with a registry's schemas as JSON. Raises IntegratorError."""
        made = self.texts(Texts.of(values), place)
        lines, bounds = bytes(made.data), made.ends.tolist()
        return [None if made.nulls[at] else lines[bounds[at] : bounds[at + 1]] for at in range(len(values))]

    def texts(self, values: Texts, place: str) -> Texts:
        """Return values as JSON: those of a registry by their schemas. Raises IntegratorError. place: for errors."""
        if not self.layout.format.startswith("REGISTRY_"):
            return values
        ends = values.ends.astype(np.int64)
        records = Records(np.frombuffer(values.data, np.uint8), ends[:-1], ends[1:] - 1, values.nulls)
        encoding = Encoding(self._schemas, unframed=self.unframed)
        ids = encoding.ids_of(records)
        for unknown in encoding.unknown(ids):
            self._schemas[unknown] = self._asked(unknown, place)
        made = lines_of(records, encoding, Shape(), ids)
        if made.wrong:
            raise DataError(f"{place}: a message cannot be read by its schema: {next(iter(made.wrong.values()))}")
        return Texts(made.data, made.ends, values.nulls)

    def _asked(self, number: int, place: str) -> WrittenSchema:
        if self.registry is None:
            raise ConfigurationError(f"{place}: messages have the schema {number}, and the channel has no registry")
        found: WrittenSchema | None = import_module(CLIENTS["confluent"]).Schemas(self.registry).by_id(number)
        if found is None:
            raise DataError(f"{place}: a message has the schema {number}, which the registry does not have: restore it")
        return found


def _documents(text: str) -> Iterator[Any]:
    """Yield documents that are one after another, with or without white space between."""
    at, end = 0, len(text.rstrip())
    while at < end:
        one, at = DECODER.raw_decode(text, at)
        yield one
        while at < end and text[at].isspace():
            at += 1


@dataclass(frozen=True)
class Effects:
    """By what the effect of a message is known. op, codes, soft_delete, key: as of `Compared`."""

    envelope: str = ""
    op: str = ""
    codes: tuple[tuple[object, int], ...] = ()
    soft_delete: str = ""
    key: tuple[str, ...] = ()

    def reader(self) -> Callable[[Row], Iterable[Effect]]:
        """Return what gives the effects of a row in a message."""
        if self.envelope:
            return {"DEBEZIUM": _of_debezium, "OPENCDC": self._of_opencdc}[self.envelope]
        op, codes, soft_delete, key = self.op, dict(self.codes), self.soft_delete, self.key

        def of_row(row: Row) -> Iterable[Effect]:
            code = codes.get(row.get(op)) if op else None
            if code == TRUNCATE or (code is None and key and all(row.get(name, "") is None for name in key)):
                return ((CLEARED, row),)
            if code in (DELETE, BEFORE_KEY_UPDATE) or (soft_delete and row.get(soft_delete)):
                return ((GONE, row),)
            return ((NOTHING if code == BEFORE_UPDATE else SET, row),)

        return of_row

    def _of_opencdc(self, row: Row) -> Iterable[Effect]:
        payload = row.get("payload") or {}
        before, after = payload.get("before"), payload.get("after")
        if row.get("operation") == "delete":
            return ((GONE, before or row.get("key") or {}),)
        if before is not None and after is not None and any(before.get(name) != after.get(name) for name in self.key):
            return ((GONE, before), (SET, after))
        return ((SET, after or {}),)


def _of_debezium(row: Row) -> Iterable[Effect]:
    op = row.get("op")
    if op == "t":
        return ((CLEARED, row),)
    if op == "d":
        return ((GONE, row.get("before") or {}),)
    return ((SET, row.get("after") or {}),) if op in ("c", "u", "r") else ((NOTHING, row),)
