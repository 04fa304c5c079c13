"""Values that a database has and their type in messages has not: null and counted, where the location says so.

NaN, infinity, 24:00, years before 1 and after 9999, arrays of several dimensions, 0000-00-00: they are legal there.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import as_lists, every_refused, items_of, mask
from integrator.decode.json.slices import texts_of
from integrator.decode.rows.coding import Coding
from integrator.decode.text.refused import ValueRefused
from integrator.engine.arrays import Mask, Octets
from integrator.engine.values import Slices
from integrator.schema import Column, Table, Type

_MOMENTS = r"infinity|BC|^-|^\d{5,}|0000-|-00"
_ODD = {
    schema.Date: _MOMENTS,
    schema.Timestamp: _MOMENTS,
    schema.Time: r"^-|^2[4-9]|^\d{3,}",
    schema.Decimal: "NaN|Infinity",
    schema.Array: r"^\[|^\{\{",
}
"""What most such values of a type have in their text: these are tried by distinct texts, others found by dividing."""
MAY_LACK = (schema.Float, *_ODD)
"""The types of columns that may have such values."""
_REFUSED = (ValueRefused, pa.ArrowInvalid, pa.ArrowNotImplementedError)
_FIRST_YEAR, _LAST_YEAR = 1, 9999
"""Of moments in text: RFC 3339 has four digits."""


@dataclass(frozen=True)
class OrNull:
    """Values of a type, or null for those that it does not have. in_text: also for those that JSON does not have."""

    type: Type
    in_text: bool


@dataclass(frozen=True)
class NullingCoding:
    """Another coding, for values of a database: those of columns that say so are null where their type lacks them."""

    inner: Coding

    @property
    def key(self) -> Hashable:
        """What identifies the coding."""
        return self.inner.key

    def variant_key(self, variant: int) -> Hashable:
        """Return what identifies a variant of records."""
        return self.inner.variant_key(variant)

    def kind(self, table: Table, column: Column, variant: int) -> Hashable:
        """Return of which kind the values of a column are."""
        kind = self.inner.kind(table, column, variant)
        if column.without_form == "stop":
            return kind
        return OrNull(cast("Type", kind), column.without_form == "null_in_text")

    def convert(self, text: Octets, at: Slices, kind: Hashable) -> pa.Array:
        """Return values in their type. Raises ValueRefused, and what Arrow raises, for columns that do not say so."""
        if not isinstance(kind, OrNull):
            return self.inner.convert(text, at, kind)
        try:
            made = self.inner.convert(text, at, kind.type)
        except _REFUSED:
            made = self._converted(text, at, kind.type)
        return _in_text(made) if kind.in_text else made

    def _converted(self, text: Octets, at: Slices, kind: Type) -> pa.Array:
        left = Slices(at.start.copy(), at.end.copy(), at.escaped)
        if (odd := _ODD.get(type(kind))) is not None:
            _take_out(left, self._refused(text, at, kind, odd))
        try:
            return self.inner.convert(text, left, kind)
        except _REFUSED:
            pass

        def accepts(start: int, stop: int) -> bool:
            return self._accepts(text, left.part(start, stop), kind)

        refused = np.zeros(len(left.start), np.bool_)
        refused[every_refused(len(left.start), accepts)] = True
        _take_out(left, refused)
        return self.inner.convert(text, left, kind)

    def _refused(self, text: Octets, at: Slices, kind: Type, odd: str) -> Mask:
        """Return which values with an odd text are refused: each distinct one is tried alone, and not by its text."""
        texts = texts_of(text, at)
        places = np.flatnonzero(mask(pc.match_substring_regex(texts, odd)))
        codes = texts.take(pa.array(places)).dictionary_encode().indices.to_numpy(zero_copy_only=False)
        distinct, first = np.unique(codes, return_index=True)
        tried = [self._accepts(text, at.part(place, place + 1), kind) for place in places[first].tolist()]
        refused = np.zeros(len(at.start), np.bool_)
        refused[places[np.isin(codes, distinct[~np.array(tried, np.bool_)])]] = True
        return refused

    def _accepts(self, text: Octets, at: Slices, kind: Type) -> bool:
        try:
            self.inner.convert(text, at, kind)
        except _REFUSED:
            return False
        return True


def _take_out(values: Slices, which: Mask) -> None:
    values.start[which] = values.end[which] = 0


def _in_text(values: pa.Array) -> pa.Array:
    """Return values of which those are null that JSON does not have."""
    kind = values.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        items, rows = items_of(values)
        made = _in_text(items)
        if made.null_count == items.null_count:
            return values
        lacking = np.zeros(len(values), np.bool_)
        lacking[rows[mask(pc.is_null(made)) & mask(pc.is_valid(items))]] = True
        return pc.if_else(pa.array(lacking), None, as_lists(items, values))
    if pa.types.is_floating(kind):
        finite = pc.is_finite(values)
        return values if pc.all(finite).as_py() is not False else pc.if_else(finite, values, None)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            return values  # which has the years from 1677 to 2262
        years = pc.year(values)
        there = pc.and_(pc.greater_equal(years, _FIRST_YEAR), pc.less_equal(years, _LAST_YEAR))
        return values if pc.all(there).as_py() is not False else pc.if_else(there, values, None)
    return values


def nulled(text: Octets, at: Slices, made: pa.Array) -> Mask:
    """Return which values became null though there is one."""
    if not made.null_count:
        return np.zeros(len(made), np.bool_)
    is_there = (at.end > 0) & (text[at.start] != ord("n"))  # null in JSON; texts begin with a quote
    return np.asarray(is_there & mask(pc.is_null(made)), np.bool_)
