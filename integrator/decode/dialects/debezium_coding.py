"""Debezium's values, those of all tables of a batch at once: by the schema of each event, or by the modes set."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import first, plain_text
from integrator.arrow.base64 import base64
from integrator.contracts.connect_schema import type_of
from integrator.contracts.recipe import DebeziumModes
from integrator.decode.column_names import found as of_column
from integrator.decode.dialects.debezium_decimals import UNSIGNED
from integrator.decode.dialects.debezium_fields import BITS, DECIMAL, NO_FIELD, VARIABLE, Field
from integrator.decode.dialects.debezium_times import DAYS, PER_SECOND, is_temporal, unit_of
from integrator.decode.dialects.debezium_values import convert, is_precise, unsigned_bigint
from integrator.decode.dialects.texts import read_unscaled
from integrator.decode.encodings.encoded import VALUE
from integrator.decode.fields import Where
from integrator.decode.json.columns import is_number_text
from integrator.decode.json.moments import read_moments
from integrator.decode.json.numbers import read_whole
from integrator.decode.json.slices import DictionaryTexts, texts_of
from integrator.decode.lines.lines import cut, json_text
from integrator.decode.rows.coding import check_nested, read_plain
from integrator.engine.arrays import Ints, Mask, Octets
from integrator.engine.pairs import KnownValues
from integrator.engine.values import Slices
from integrator.errors import DataError, Fault, Place
from integrator.schema import Column, Table, Type, arrow_type

_SPECIAL = (BITS, DECIMAL, VARIABLE)
_EMPTY_TEXTS = ("", "0", "0.0", "false", "AA==", "{}", "[]", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z")
EMPTY = KnownValues.of(
    [*map(json_text, _EMPTY_TEXTS), *(text.encode() for text in _EMPTY_TEXTS[1:7] if text != "AA==")]
)
"""What Debezium writes in columns that cannot be null: the empty value of each type."""


MYSQL, OTHER, NOT_KNOWN = "mysql", "other", ""
NAMED = (NOT_KNOWN, MYSQL, OTHER)
"""What the connector that an event names says of its database: nothing, that it is like MySQL, or that it is not."""
_CONNECTORS = dict.fromkeys(("mysql", "mariadb", "TiCDC"), MYSQL) | dict.fromkeys(
    ("postgresql", "sqlserver", "oracle", "db2", "informix", "mongodb"), OTHER
)
_OF_MYSQL = "ADAPTIVE_TIME_MICROSECONDS"


def databases(connectors: DictionaryTexts) -> Ints:
    """Return the places in `NAMED` of the databases of events, by what their connectors are called."""
    known = [NAMED.index(_CONNECTORS.get(name, NOT_KNOWN)) for name in connectors.texts]
    return np.array([*known, 0], np.int64)[connectors.codes]


@dataclass(frozen=True)
class AsText:
    """Text of values of a type."""

    type: Type


_AS_WRITTEN = (schema.Array, schema.Bytes, schema.Interval)
"""Types whose values have no text but that in JSON: lists, and bytes in base64."""


def _carries(own: Type, other: Type) -> bool:
    """Return whether each value of another type is one of a column's own."""
    match own, other:
        case schema.Integer(bits), schema.Integer(least):
            return bits >= least
        case schema.Decimal(precision, scale), schema.Decimal(digits, own_scale):
            return scale == own_scale and precision >= digits
        case schema.String(), schema.String():
            return True
        case _:
            return schema.describe(own) == schema.describe(other)


@dataclass(frozen=True)
class DebeziumCoding:
    """Values of events. fields: of each schema. modes: how the connector was set. of_keys: which schemas are of keys.

    A variant is eight times the number of the schema, from 1 on (0: none), and twice the number of the database in
    `NAMED`, and 1 more for flattened events.
    """

    fields: Sequence[Mapping[str, Field]]
    modes: DebeziumModes
    of_keys: frozenset[int] = frozenset()

    @cached_property
    def _modes(self) -> dict[str, DebeziumModes]:
        """The modes by database: what the default, ADAPTIVE, is for MySQL, and where the database is not known."""
        adaptive = self.modes.time_precision_mode == "ADAPTIVE"
        mysql, unknown = (replace(self.modes, time_precision_mode=mode) for mode in (_OF_MYSQL, NOT_KNOWN))
        return {MYSQL: mysql, NOT_KNOWN: unknown} if adaptive else {}

    @property
    def key(self) -> Hashable:
        """What identifies the coding."""
        return "debezium", self.modes

    def variant_key(self, variant: int) -> Hashable:
        """Return the database and the fields of a variant."""
        return (variant & 7, *self._fields(variant).items())

    def kind(self, table: Table, column: Column, variant: int) -> Hashable:
        """Return the type of a column, what the schema has of it, and the database, as the event or the table says."""
        named = NAMED[variant >> 1 & 3]
        database = named or (MYSQL if table.database == MYSQL else OTHER if table.database else NOT_KNOWN)
        field = of_column(column, self._fields(variant)) or NO_FIELD
        if column.any_type and field.kind:
            kind = type_of(field.connect)
            return schema.String() if isinstance(kind, _AS_WRITTEN) else AsText(kind), field, database
        return column.type, field, database

    def retyped(self, table: Table, variant: int) -> dict[str, tuple[str, str, bool]]:
        """Return columns whose values in a variant's records a table's type cannot carry.

        Of each the datatype in the records' schema, the one that the table has, and whether it may be null.
        """
        found = dict[str, tuple[str, str, bool]]()
        for column in () if (variant >> 3) - 1 in self.of_keys else table.columns:
            field = self._fields(variant).get(column.name)
            if field is None or not field.datatype or column.any_type:
                continue
            fits = _carries(column.type, type_of(field.connect))
            if not fits or (field.optional and not column.nullable):
                found[column.name] = (field.datatype, schema.describe(column.type), field.optional)
        return found

    def datatype(self, name: str, variant: int) -> str:
        """Return the datatype that a schema has of a name; nothing where there is no schema."""
        field = self._fields(variant).get(name)
        return field.datatype if field and field.kind else ""

    def _fields(self, variant: int) -> Mapping[str, Field]:
        return self.fields[(variant >> 3) - 1] if variant > 7 else {}

    def convert(self, text: Octets, at: Slices, kind: Hashable) -> pa.Array:
        """Return values in their type. Raises ValueRefused."""
        own, field, database = cast("tuple[Type | AsText, Field, str]", kind)
        if isinstance(own, AsText):
            return plain_text(self.convert(text, at, (own.type, field, database)))
        modes = self._modes.get(database, self.modes)
        check_nested(text, at, own, (schema.String if is_number_text(own) else schema.Decimal,))
        if database != OTHER and own == UNSIGNED and field.kind in ("", "int64"):
            return unsigned_bigint(texts_of(text, at), at.are_texts(text), field, modes, known=database == MYSQL)
        is_written = isinstance(own, schema.String) and is_temporal(field)
        found = None if is_written else _read(text, at, own, field, modes)
        return convert(texts_of(text, at), at.are_texts(text), own, field, modes) if found is None else found


def _read(text: Octets, at: Slices, kind: Type, field: Field, modes: DebeziumModes) -> pa.Array | None:
    """Return values as most connectors write them; None where one is written otherwise, or needs a second pass."""
    match kind:
        case schema.Date():
            numbers = read_whole(text, at, quoted=False)
            if numbers is None or not _in_range(numbers, *DAYS):
                return None
            return numbers.cast(pa.int32()).cast(pa.date32())
        case schema.Timestamp():
            numbers = read_whole(text, at, quoted=False)
            if numbers is not None:
                return _instants(numbers, kind, unit_of(kind, field, modes))
            return read_moments(text, at, kind, "own") if kind.zoned else None
        case schema.Decimal(role=""):
            own = kind.scale if field.scale is None else field.scale
            if own == kind.scale and is_precise(field, modes):
                return read_unscaled(text, at, kind)
            return None
        case schema.String(role="") if field.name not in _SPECIAL:
            return texts_of(text, at)
        case schema.Integer() | schema.Boolean():
            return read_plain(text, at, kind, "own")
        case _:
            return None


def _in_range(numbers: pa.Array, least: int, most: int) -> bool:
    found = pc.min_max(numbers)
    return not found["min"].is_valid or (least <= found["min"].as_py() and found["max"].as_py() <= most)


def _instants(numbers: pa.Array, kind: schema.Timestamp, unit: str) -> pa.Array | None:
    """Return numbers of a unit as moments; None where one is out of range, or finer than the type."""
    least, most = (PER_SECOND[unit] * 86_400 * days for days in (DAYS[0], DAYS[1] + 1))
    if unit != "ns" and not _in_range(numbers, least, most - 1):
        return None
    try:
        moments = numbers.cast(pa.timestamp(unit)).cast(pa.timestamp(kind.unit))
    except pa.ArrowInvalid:
        return None
    return moments.cast(pa.int64()).cast(arrow_type(kind))


def fields_of(text: str, where: Where, which: Mask) -> dict[str, Field]:
    """Return what a schema has of the columns of a row; the records of `which` have it. Raises DataError."""
    try:
        whole = json.loads(text)
        if whole.get("type", "struct") != "struct":
            return {VALUE: Field.of(whole)}
        images = [field for field in whole.get("fields", []) if _is_image(field)]
        fields = images[0].get("fields", []) if images else whole.get("fields", [])
        return {str(field["field"]): Field.of(field) for field in fields}
    except (ValueError, LookupError, TypeError, AttributeError) as error:  # whatever a schema is not
        line = where.line[first(which) or 0]
        what = f"the schema of the event cannot be read ({error!r}): {cut(text)}"
        raise DataError(Fault(Place(where.file, int(line)), f"{what}")) from None


def _is_image(field: Mapping[str, object]) -> bool:
    """Return whether a field of a schema is an image; columns of flattened events may have the same names."""
    return field.get("field") in ("after", "before") and field.get("type") == "struct"


@lru_cache(maxsize=64)
def placeholders(text: str) -> KnownValues:
    """Return what stands for an unchanged value: the text, as bytes, alone in a list, or as a list of its bytes.

    Of an array of UUIDs the one that Java's nameUUIDFromBytes makes of the text; of hstore an object of the text.
    """
    plain = base64(pa.array([text.encode()]))[0].as_py()
    forms = [text, plain, plain.replace("+", "-").replace("/", "_"), text.encode().hex()]
    of_uuids = str(uuid.UUID(bytes=hashlib.md5(text.encode(), usedforsecurity=False).digest(), version=3))
    others = [*([form] for form in forms), list(text.encode()), [of_uuids], {text: text}]
    written = [json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in others]
    return KnownValues.of([*map(json_text, [*forms, *written]), *(one.encode() for one in written)])
