"""The type tree that every dialect reads into and every format writes from, and its map to Arrow.

HVR's repository types (https://fivetran.com/docs/hvr6/advanced-operations/data-type-mapping/data-type-mapping-for-kafka)
are the names people write; `DATATYPES` maps them to the tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import pyarrow as pa

from integrator.names.types import datatype_meant


@dataclass(frozen=True)
class Boolean:
    """True or false."""


@dataclass(frozen=True)
class Integer:
    """A signed integer of `bits` bits. one_digit: clients of the database take it for a truth value: true is 1."""

    bits: Literal[8, 16, 32, 64] = 32
    one_digit: bool = False


@dataclass(frozen=True)
class Float:
    """An IEEE 754 number of `bits` bits."""

    bits: Literal[32, 64] = 64


@dataclass(frozen=True)
class Decimal:
    """An exact number of at most `precision` digits, `scale` of them after the point; money is PostgreSQL's type."""

    precision: int
    scale: int
    role: Literal["", "money"] = ""


Role = Literal["", "uuid", "json", "inet", "enum", "number", "unconstrained", "bits", "varbits"]
"""What text means where the database has a type for it and Kafka's formats have text.

number: an exact number of more digits than Arrow's decimals have. unconstrained: an exact number without a precision.
bits, varbits: zeros and ones, as many as the length says, or at most so many.
"""


@dataclass(frozen=True)
class String:
    """Unicode text, of at most `length` characters where a length is known."""

    length: int | None = None
    role: Role = ""


@dataclass(frozen=True)
class Bytes:
    """A string of bytes."""


@dataclass(frozen=True)
class Date:
    """A day of the proleptic Gregorian calendar."""


@dataclass(frozen=True)
class Time:
    """A time of day without zone, in `unit`. finer: the database has more digits, which must be zeros."""

    unit: Literal["ms", "us"] = "us"
    finer: bool = False


@dataclass(frozen=True)
class Timestamp:
    """A moment in `unit`: an instant where `zoned`, else a wall clock reading, counted as if it were UTC."""

    unit: Literal["ms", "us", "ns"] = "us"
    zoned: bool = False


@dataclass(frozen=True)
class Interval:
    """A span of months, days and nanoseconds, each of which counts for itself."""


@dataclass(frozen=True)
class Array:
    """A list of values of one type, null among them."""

    item: Type


@dataclass(frozen=True)
class Struct:
    """A row in a row; `name` is its name where a format needs one for each. version: that of Connect's schema of it.

    sparse: JSON leaves out members that are null.
    """

    fields: tuple[Column, ...]
    name: str = ""
    version: int = 0
    sparse: bool = False


@dataclass(frozen=True)
class Encoded:
    """A row that is encoded already, as the message's format writes a row in a row; no column of a table is one."""


Type = (
    Boolean | Integer | Float | Decimal | String | Bytes | Date | Time | Timestamp | Interval | Array | Struct | Encoded
)

MAX_PRECISION = 76  # Arrow's decimal256; https://arrow.apache.org/docs/format/Columnar.html
MAX_MILLIS_DIGITS = 3
MAX_MICROS_DIGITS = 6
UNCONSTRAINED_DECIMAL = String(50, "unconstrained")
"""HVR's varchar(50) for a number without precision. Its role keeps it apart from a column of text, varchar(50)."""


@dataclass(frozen=True)
class Column:
    """A column of a table or of a message.

    masked: its values are not sent as they are, and are in no log and no error. any_case: records may have its name in
    other case, for its database writes it in capitals, and the definition as its author did. default: what the database
    has where an insert gives none, where it is a constant; it is no part of what the column is. without_form: what
    becomes of a value that its type does not have: an error, or null. null_in_text: null for those, too, that JSON has
    not: NaN, the infinities, years beyond 9999. any_type: it is text of values that records have in several types.
    """

    name: str
    type: Type
    nullable: bool = True
    masked: bool = False
    any_case: bool = False
    default: Any = field(default=None, compare=False)
    without_form: Literal["stop", "null", "null_in_text"] = "stop"
    any_type: bool = False


@dataclass(frozen=True)
class Table:
    """A table as the source has it. `name` is its name in the channel, `base_name` its name in the database.

    database: whose SQL its definition is in; empty where the definition does not say it.
    partitions: tables of the source whose rows are rows of this one: SCHEMA.NAME, or NAME in any schema, with * for any
    text. part_of: the partitioned tables, as SCHEMA.NAME, of which this one is a partition, the root last. inherited: a
    query of the table has rows of tables that inherit from it.
    """

    name: str
    base_name: str
    schema: str | None
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    partitions: tuple[str, ...] = ()
    part_of: tuple[str, ...] = ()
    inherited: bool = False
    database: str = ""

    def __hash__(self) -> int:
        """Return a hash that many tables have in no time: where names are the same, all is compared."""
        return hash(self.name)

    @property
    def full_name(self) -> str:
        """The name in the database, with its schema where it has one."""
        return f"{self.schema}.{self.base_name}" if self.schema else self.base_name

    @property
    def at_source(self) -> tuple[str, ...]:
        """Its full name, and those of its partitions, which may be patterns."""
        return self.full_name, *self.partitions

    def column(self, name: str) -> Column | None:
        """Return the column of that name, or None."""
        return next((column for column in self.columns if column.name == name), None)


def decimal(precision: int | None, scale: int | None) -> Type:
    """Return the exact type for `decimal(precision, scale)`; text where no Arrow decimal is wide enough."""
    if precision is None:
        return UNCONSTRAINED_DECIMAL
    if precision < 1:
        raise KeyError("a decimal has a Precision of 1 at least")
    if precision > MAX_PRECISION:
        return String(precision + 2, "number")
    return Decimal(precision, scale or 0)


def is_number(kind: Type) -> bool:
    """Return whether the database has a number where `kind` may have text: exact numbers without a decimal type."""
    return isinstance(kind, Integer | Float | Decimal) or (
        isinstance(kind, String) and kind.role in ("number", "unconstrained")
    )


def _time(digits: int | None) -> Type:
    return Time("ms" if digits is not None and digits <= MAX_MILLIS_DIGITS else "us")


def _timestamp(digits: int | None, *, zoned: bool = False) -> Type:
    if digits is None or MAX_MILLIS_DIGITS < digits <= MAX_MICROS_DIGITS:
        return Timestamp("us", zoned)
    return Timestamp("ms" if digits <= MAX_MILLIS_DIGITS else "ns", zoned)


Size = int | None

DATATYPES: dict[str, Callable[[Size, Size, Size], Type]] = {
    "boolean": lambda _length, _precision, _scale: Boolean(),
    "tinyint": lambda _length, _precision, _scale: Integer(8),
    "smallint": lambda _length, _precision, _scale: Integer(16),
    "integer": lambda _length, _precision, _scale: Integer(32),
    "bigint": lambda _length, _precision, _scale: Integer(64),
    "real": lambda _length, _precision, _scale: Float(32),
    "float": lambda _length, _precision, _scale: Float(64),
    "double": lambda _length, _precision, _scale: Float(64),
    "decimal": lambda _length, precision, scale: decimal(precision, scale),
    "numeric": lambda _length, precision, scale: decimal(precision, scale),
    "char": lambda length, _precision, _scale: String(length),
    "varchar": lambda length, _precision, _scale: String(length),
    "text": lambda _length, _precision, _scale: String(),
    "uuid": lambda _length, _precision, _scale: String(36, "uuid"),
    "json": lambda _length, _precision, _scale: String(None, "json"),
    "inet": lambda _length, _precision, _scale: String(50, "inet"),
    "enum": lambda length, _precision, _scale: String(length, "enum"),
    "blob": lambda _length, _precision, _scale: Bytes(),
    "binary": lambda _length, _precision, _scale: Bytes(),
    "date": lambda _length, _precision, _scale: Date(),
    "time": lambda _length, precision, _scale: _time(precision),
    "timestamp": lambda _length, precision, _scale: _timestamp(precision),
    "timestamptz": lambda _length, precision, _scale: _timestamp(precision, zoned=True),
    "interval": lambda _length, _precision, _scale: Interval(),
}


def datatype(name: str, length: Size = None, precision: Size = None, scale: Size = None) -> Type:
    """Return the type that HVR's repository type `name` stands for; `name[]` is an array of it.

    Raises KeyError, with the accepted names, for a name that is none of them.
    """
    if name.endswith("[]"):
        return Array(datatype(name[:-2], length, precision, scale))
    if name not in DATATYPES:
        raise KeyError(f"{name!r} is no datatype; {datatype_meant(name, DATATYPES)}")
    return DATATYPES[name](length, precision, scale)


_DESCRIBED = re.compile(r"(?P<name>[a-z]+)(?:\((?P<first>\d+)(?:,(?P<second>-?\d+))?\))?(?P<items>(?:\[\])*)")


def described(text: str) -> Type:
    """Return the type that `describe` has a text of, or the one of a datatype's name. Raises KeyError."""
    found = _DESCRIBED.fullmatch(text)
    if found is None:
        raise KeyError(f"{text!r} is no datatype")
    name, first, second = found["name"], found["first"], found["second"]
    one = None if first is None else int(first)
    length, precision = (one, None) if name in ("char", "varchar", "enum") else (None, one)
    return datatype(name + found["items"], length, precision, None if second is None else int(second))


_ARROW = {
    Boolean: pa.bool_(),
    String: pa.string(),
    Bytes: pa.binary(),
    Date: pa.date32(),
    Interval: pa.month_day_nano_interval(),
}


@lru_cache(maxsize=1024)
def arrow_type(kind: Type) -> pa.DataType:
    """Return the Arrow type in which values of `kind` travel."""
    match kind:
        case Boolean() | String() | Bytes() | Date() | Interval():
            return _ARROW[type(kind)]
        case Integer(bits):
            return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[bits]
        case Float(bits):
            return {32: pa.float32(), 64: pa.float64()}[bits]
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
        case Time(unit):
            return pa.time32("ms") if unit == "ms" else pa.time64("us")
        case Timestamp(unit, zoned):
            return pa.timestamp(unit, "UTC" if zoned else None)
        case Encoded():
            raise TypeError("rows that are encoded are text or bytes, as their format is")
        case Array(item):
            return pa.list_(arrow_type(item))
        case Struct(fields):
            return pa.struct([(field.name, arrow_type(field.type)) for field in fields])


_NAMES = {Boolean: "boolean", Bytes: "blob", Date: "date", Interval: "interval", Encoded: "encoded row"}
_DIGITS = {"ms": 3, "us": 6, "ns": 9}


def describe(kind: Type) -> str:
    """Return the type as people write it, for plans and error texts."""
    match kind:
        case Boolean() | Bytes() | Date() | Interval() | Encoded():
            return _NAMES[type(kind)]
        case Integer(bits):
            return {8: "tinyint", 16: "smallint", 32: "integer", 64: "bigint"}[bits]
        case Float(bits):
            return {32: "real", 64: "double"}[bits]
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case String(length, role):
            named = role if role in ("uuid", "json", "inet", "enum") else ""
            return named or ("text" if length is None else f"varchar({length})")
        case Time(unit):
            return f"time({_DIGITS[unit]})"
        case Timestamp(unit, zoned):
            return f"timestamp{'tz' if zoned else ''}({_DIGITS[unit]})"
        case Array(item):
            return f"{describe(item)}[]"
        case Struct(fields):
            return f"struct({', '.join(f'{field.name} {describe(field.type)}' for field in fields)})"
