"""Debezium's values: by the schema beside them, or as the connector writes them by default."""

from __future__ import annotations

import base64
import hashlib
import re
import uuid
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.fuzz.oracle import moments, numbers, octets
from tests.fuzz.oracle.tables import Kind
from tests.fuzz.oracle.tree import Number
from tests.fuzz.oracle.values import Texts, literal, text_of
from tests.fuzz.oracle.verdict import JsonText, Wrong

Notes = set[str]
_TEXTS = Texts(octets.from_base64, zone="read", bare="refused")
_UNITS = {"Time": 3, "MicroTime": 6, "NanoTime": 9, "Timestamp": 3, "MicroTimestamp": 6, "NanoTimestamp": 9}
_PLACEHOLDER = "__debezium_unavailable_value"
_BYTES = _PLACEHOLDER.encode()
_UUID = str(uuid.UUID(bytes=hashlib.md5(_BYTES, usedforsecurity=False).digest(), version=3))
_FORMS = [_PLACEHOLDER, base64.b64encode(_BYTES).decode(), base64.urlsafe_b64encode(_BYTES).decode(), _BYTES.hex()]
_PLACEHOLDERS = [
    *_FORMS,
    *([form] for form in _FORMS),
    [Number(byte) for byte in _BYTES],
    [_UUID],
    {_PLACEHOLDER: _PLACEHOLDER},
]
_DAYS = (-719_162, 2_932_896)


@dataclass(frozen=True)
class Field:
    """What a schema says of a column."""

    kind: str = ""
    name: str = ""
    scale: int | None = None
    item: Field | None = None

    @staticmethod
    def of(told: dict[str, Any]) -> Field:
        """Read a field of Connect's schema as JSON."""
        parameters, items = told.get("parameters") or {}, told.get("items")
        scale = parameters.get("scale")
        item = Field.of(items) if items else None
        return Field(
            str(told.get("type", "")), str(told.get("name") or ""), None if scale is None else int(scale), item
        )


UNTOLD = Field()


def is_unavailable(value: Any) -> bool:
    """Return whether it stands for a value that did not change."""
    if isinstance(value, str) and value.startswith("{") and _PLACEHOLDER in value:  # hstore, as text of JSON
        return value == f'{{"{_PLACEHOLDER}":"{_PLACEHOLDER}"}}'
    return any(_same(value, one) for one in _PLACEHOLDERS)


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are equal and of the same types, in lists too."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and bool(one == other)


def value(tree: Any, kind: Kind, field: Field, notes: Notes, *, mysql: bool) -> Any:
    """Return a value. Raises Wrong."""
    if tree is None:
        return None
    if kind.name == "array":
        return _list(tree, kind, field, notes, mysql=mysql)
    if isinstance(tree, (dict, list)):
        if kind.name == "text":
            return JsonText(tree)
        if kind.name in ("decimal", "number") and isinstance(tree, dict):
            return _variable(tree, kind, notes)
        raise Wrong("a list or an object in a column of scalars")
    text, quoted = text_of(tree), isinstance(tree, str) and not isinstance(tree, Number)
    if kind.name in ("date", "time", "timestamp", "timestamptz", "interval"):
        return _moment(text, kind, field, notes, quoted=quoted, mysql=mysql)
    if kind.name == "decimal":
        return _decimal(text, kind, field, notes, quoted=quoted, mysql=mysql)
    if (kind.name == "bytes" and not quoted) or (kind.name == "number" and isinstance(tree, bool)):
        raise Wrong("no text for bytes, or no number")
    if kind.name == "boolean":
        return numbers.boolean(text, notes, written="10" if mysql else "")
    return _TEXTS.value(text, kind, notes)


def _moment(text: str, kind: Kind, field: Field, notes: Notes, *, quoted: bool, mysql: bool) -> Any:
    if re.fullmatch(r"-?[0-9]+", text):
        if quoted:
            notes.add("a number as text, where Debezium writes a number")
        return _counted(text, kind, field, notes, mysql=mysql)
    if kind.name == "date":
        return moments.date(re.sub(r"(Z|\+00:?00)$", "", text), notes)
    if kind.name == "time":
        return moments.clock(re.sub(r"(Z|\+00:?00)$", "", text), kind.size, notes)
    return _TEXTS.value(text, kind, notes)


def _decimal(text: str, kind: Kind, field: Field, notes: Notes, *, quoted: bool, mysql: bool) -> Decimal:
    if quoted:
        return _fitted(_unscaled(text, notes), kind.scale if field.scale is None else field.scale, kind)
    if mysql and (kind.size, kind.scale) == (20, 0):
        return _unsigned(text, notes)
    notes.add("a number for a decimal in precise mode, where Debezium writes base64")
    return numbers.decimal(text, kind.size, kind.scale, notes)


def _list(tree: Any, kind: Kind, field: Field, notes: Notes, *, mysql: bool) -> list[Any]:
    assert kind.item
    if isinstance(tree, str) and not isinstance(tree, Number):
        notes.add("a list as text, which Debezium does not write")
        if not tree.startswith("{"):
            return _TEXTS.listed(tree, kind.item, notes)
        tree = literal(tree, notes)
    if not isinstance(tree, list):
        raise Wrong("no list")
    if any(isinstance(one, (list, dict)) for one in tree):
        raise Wrong("a list or an object in a list")
    return [value(one, kind.item, field.item or UNTOLD, notes, mysql=mysql) for one in tree]


def _counted(text: str, kind: Kind, field: Field, notes: Notes, *, mysql: bool) -> Any:
    """Return days, times and moments that are numbers."""
    number = int(text) if len(text) < 30 else 10**30
    if not -(2**63) <= number < 2**63:
        raise Wrong("out of range")
    if kind.name == "date":
        if not _DAYS[0] <= number <= _DAYS[1]:
            raise Wrong("no date")
        return number
    if kind.name == "interval":
        return _duration(number, 1 if field.name.endswith("NanoDuration") else 1000)
    digits = _UNITS.get(field.name.rpartition(".")[2], 6 if mysql and kind.name == "time" else kind.size)
    if kind.name == "time":
        if not 0 <= number < 86400 * 10**digits:
            raise Wrong("no time")
    elif digits < 9 and not _DAYS[0] * 86400 * 10**digits <= number < (_DAYS[1] + 1) * 86400 * 10**digits:
        raise Wrong("out of range")
    if kind.name == "timestamptz":
        notes.add("a moment with a zone as a number, which Debezium writes as text")
    if digits > kind.size:
        if number % 10 ** (digits - kind.size):
            raise Wrong("finer than its column")
        return number // 10 ** (digits - kind.size)
    found = number * 10 ** (kind.size - digits)
    if not -(2**63) <= found < 2**63:
        raise Wrong("out of range")
    return found


def _duration(number: int, nanos: int) -> tuple[int, int, int]:
    if abs(number) * nanos < 2**63:
        return 0, 0, number * nanos
    days = abs(number) * nanos // (86400 * 10**9) * (-1 if number < 0 else 1)
    return 0, days, number * nanos - days * 86400 * 10**9


def _unscaled(text: str, notes: Notes) -> int:
    data = octets.from_base64(text, notes)
    if not data:
        raise Wrong("no bytes for a decimal")
    return int.from_bytes(data, "big", signed=True)


def _fitted(number: int, scale: int, kind: Kind) -> Decimal:
    return numbers.decimal(f"{number}e{-scale}", kind.size, kind.scale, set())


def _variable(tree: dict[str, Any], kind: Kind, notes: Notes) -> Any:
    """Return a decimal with a scale of its own."""
    scale, value = tree.get("scale"), tree.get("value")
    if not isinstance(scale, Number) or not re.fullmatch(r"-?(0|[1-9]\d{0,4})", scale):
        raise Wrong("no scale")
    if not isinstance(value, str) or isinstance(value, Number):
        raise Wrong("no value beside its scale")
    if tree.keys() != {"scale", "value"} or abs(int(scale)) > 1000 or scale == "-0":
        notes.add("other members beside scale and value, or a scale that no database has")
    number = _unscaled(value, notes)
    if kind.name == "decimal":
        return _fitted(number, int(scale), kind)
    return f"{Decimal(number).scaleb(-int(scale), numbers._EXACT):f}"


def _unsigned(text: str, notes: Notes) -> Decimal:
    """Return MySQL's bigint unsigned, of which the upper half is negative."""
    if not re.fullmatch(r"-?\d+", text) or text == "-0":
        notes.add("an integer written with a point, an exponent, or as minus zero")
        number = numbers.decimal(text, 20, 0, notes)
        if text.startswith("-") and number:
            raise Wrong("a negative number that long mode does not write so")
        return number
    if not re.fullmatch(r"-?(0|[1-9]\d{0,19})", text) or not -(2**63) <= int(text) < 2**64:
        raise Wrong("no unsigned bigint")
    return Decimal(int(text) % 2**64)
