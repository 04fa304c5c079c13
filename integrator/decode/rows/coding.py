"""How a dialect writes values: from slices of JSON to columns of a type, those of all tables of a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol, cast

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.decode.fields import Where
from integrator.decode.json.lists import from_json_list
from integrator.decode.json.moments import Zone, read_dates, read_moments
from integrator.decode.json.numbers import read_booleans, read_decimals, read_integers, read_truth
from integrator.decode.json.slices import texts_of
from integrator.decode.json.values import read_json
from integrator.decode.text.binary import from_base64
from integrator.decode.text.moments import timestamp
from integrator.decode.text.refused import ValueRefused, guarded
from integrator.decode.text.values import from_column
from integrator.engine.arrays import Octets
from integrator.engine.values import Slices, first_odd
from integrator.errors import DataError, Fault, shown
from integrator.schema import Column, Table, Type, describe

Convert = Callable[[Type, pa.Array], pa.Array]
"""From texts to a column of a type. Raises ValueRefused."""


class Coding(Protocol):
    """How a dialect writes values. key: it identifies the coding."""

    @property
    def key(self) -> Hashable:
        """What identifies the coding."""
        ...

    def variant_key(self, variant: int) -> Hashable:
        """Return what identifies a variant of records, by which their values are read."""
        ...

    def kind(self, table: Table, column: Column, variant: int) -> Hashable:
        """Return of which kind the values of a table's column are: those of a kind are converted together."""
        ...

    def convert(self, text: Octets, at: Slices, kind: Hashable) -> pa.Array:
        """Return values of a kind in their type. Raises ValueRefused, and what Arrow raises for values."""
        ...


@dataclass(frozen=True)
class TextCoding:
    """Values that are read as the text that they have, whether it stands in quotes or not.

    name: the dialect. convert_text: from texts to a type. bare, zoned: what is after moments without and with a zone.
    scalars: whether no value is an object or a list.
    """

    name: str
    convert_text: Convert
    bare: Zone = "any"
    zoned: Zone = "own"
    scalars: bool = False

    @property
    def key(self) -> Hashable:
        """What identifies the coding."""
        return self.name

    def variant_key(self, variant: int) -> Hashable:
        """Return the variant itself: names that are no columns may differ by it."""
        return variant

    def kind(self, _table: Table, column: Column, _variant: int) -> Hashable:
        """Return the type of a column."""
        return column.type

    def convert(self, text: Octets, at: Slices, kind: Hashable) -> pa.Array:
        """Return values in their type. Raises ValueRefused."""
        own = cast("Type", kind)
        check_nested(text, at, own, scalars=self.scalars)
        found = read_plain(text, at, own, self.zoned if isinstance(own, schema.Timestamp) and own.zoned else self.bare)
        return self.convert_text(own, texts_of(text, at)) if found is None else found


@dataclass(frozen=True)
class JsonCoding:
    """Values as JSON itself has them."""

    key: Hashable = "json"

    def variant_key(self, variant: int) -> Hashable:
        """Return the variant itself: names that are no columns may differ by it."""
        return variant

    def kind(self, _table: Table, column: Column, _variant: int) -> Hashable:
        """Return the type of a column."""
        return column.type

    def convert(self, text: Octets, at: Slices, kind: Hashable) -> pa.Array:
        """Return values in their type. Raises ValueRefused, and pa.ArrowInvalid."""
        return read_json(text, at, cast("Type", kind))


def read_plain(text: Octets, at: Slices, kind: Type, zone: Zone) -> pa.Array | None:
    """Return values of a type that are written as most are; None where one is written otherwise."""
    match kind:
        case schema.String(role="" | "json" | "uuid" | "inet" | "enum"):
            return texts_of(text, at)
        case schema.Integer():
            found = read_integers(text, at, kind, quoted=True)
            return read_truth(text, at, kind) if found is None and kind.one_digit else found
        case schema.Boolean():
            return read_booleans(text, at)
        case schema.Decimal(role=""):
            return read_decimals(text, at, kind)
        case schema.Date():
            return read_dates(text, at)
        case schema.Timestamp():
            return read_moments(text, at, kind, zone)
        case _:
            return None


def check_nested(
    text: Octets, at: Slices, kind: Type, structs: tuple[type, ...] = (), *, scalars: bool = False
) -> None:
    """Raise ValueRefused for an object or a list in JSON in a column that is neither of text nor of lists.

    In a text, `{` begins a list of PostgreSQL's; bytes are texts always. structs: types that may be objects. scalars:
    whether any of them is refused.
    """
    if not scalars and (isinstance(kind, structs) or (isinstance(kind, schema.String) and kind.role in ("", "json"))):
        return  # its JSON is the text
    are_lists = isinstance(kind, schema.Array) and not scalars
    wrong = first_odd(text, at.start, at.end, are_lists, isinstance(kind, schema.Bytes) and not scalars)
    if wrong >= 0:
        value = texts_of(text, at.part(wrong, wrong + 1))[0].as_py()
        raise ValueRefused(wrong, f"{shown(value)} is no {describe(kind)}", is_whole=True)


def json_typed(kind: Type, values: pa.Array) -> pa.Array:
    """Return the text of JSON values in a type. Raises ValueRefused."""
    match kind:
        case schema.Array(item):
            return from_json_list(values, item, lambda items, _quoted: json_typed(item, items))
        case schema.Timestamp(zoned=False):  # several producers write Z after moments without a zone
            return from_column(pc.replace_substring_regex(values, r"(\d\d:\d\d.*)(Z|\+00:?00)$", r"\1"), kind)
        case _:
            return from_column(values, kind)


def zoned(kind: schema.Timestamp, values: pa.Array, zone: str) -> pa.Array:
    """Return texts of moments with a zone: those that are written without one are of `zone`. Raises ValueRefused."""
    return guarded(values, lambda part: timestamp(part, kind, zone), describe(kind))


INSTANT = schema.Timestamp("us", zoned=True)
"""What the moments of commits are."""


def stamps(where: Where, name: str, values: pa.Array, zone: str) -> pa.Array:
    """Return as `zoned` the moments that records have under a name. Raises DataError."""
    try:
        return zoned(INSTANT, values, zone)
    except ValueRefused as error:
        raise DataError(Fault(where.place(error.index), f"{name}: {error}; mend the record")) from None


def utc_typed(kind: Type, values: pa.Array, decode: Callable[[pa.Array], pa.Array] = from_base64) -> pa.Array:
    """Return as `json_typed`; `decode` reads bytes, and moments without a zone are in UTC. Raises ValueRefused."""
    match kind:
        case schema.Bytes():
            return guarded(values, decode, describe(kind))
        case schema.Timestamp(zoned=True):
            return zoned(kind, values, "UTC")
        case _:
            return json_typed(kind, values)
