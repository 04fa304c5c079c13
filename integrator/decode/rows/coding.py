"""How a dialect writes values: from slices of JSON to columns of a type, those of all tables of a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol, cast

import pyarrow as pa

from integrator import schema
from integrator.decode.fields import Where
from integrator.decode.json.moments import Zone, read_dates, read_moments
from integrator.decode.json.numbers import read_booleans, read_decimals, read_integers, read_truth
from integrator.decode.json.slices import texts_of
from integrator.decode.json.values import read_json
from integrator.decode.text.moments import timestamp
from integrator.decode.text.refused import ValueRefused, guarded
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
