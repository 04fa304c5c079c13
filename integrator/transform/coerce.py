"""Values that do not fit a declared type, coerced: TableProperties CoerceErrorPolicy and CoerceErrorType.

https://fivetran.com/docs/hvr6/action-reference/tableproperties: NUMERIC_RANGE and DATE_RANGE give the nearest possible
value, STRING_TRUNCATION cuts, ROUNDING goes toward zero, NULLS and OTHER give 0, empty text or null.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import as_lists, first, items_of, mask
from integrator.engine.arrays import Mask
from integrator.schema import Type, arrow_type, describe
from integrator.transform.cast import Refused, as_text, cast, default_of, is_list, shown_at

TYPES = ("NUMERIC_RANGE", "DATE_RANGE", "STRING_TRUNCATION", "ROUNDING", "ENCODING", "NULLS", "OTHER")
_NUMBER = r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,5})?\s*"
_LONG = (1 << 63) - 1
_LONGEST = 20  # digits that a whole number of 64 bits never has
_EXACT = Context(prec=2000)
_ESCAPED = re.compile("[\udc80-\udcff]")
_LARGEST_FLOAT = 3.4028234663852886e38  # of 32 bits, IEEE 754

Count = Callable[[str, Mask], None]


@dataclass(frozen=True)
class Coercer:
    """Makes values fit where the kind of misfit is among `types`, else refuses them; `count` is called with each."""

    types: tuple[str, ...]
    count: Count

    def cast(self, values: pa.Array, kind: Type, timezone: str, *, nullable: bool, lossy: bool) -> pa.Array:
        """Return `values` as `kind`. Raises Refused for a misfit that is not to be coerced."""
        if not lossy:
            try:
                return cast(values, kind, timezone)
            except Refused:
                pass
        match kind:
            case schema.Array(item) if is_list(values.type):
                return self._list(values, item, timezone, lossy=lossy)
            case schema.String(length):
                text = self._decoded(values) if pa.types.is_binary(values.type) else as_text(values, timezone)
                return self.cut(text, length)
            case schema.Integer() | schema.Decimal():
                return self._exact(values, kind, timezone, nullable=nullable)
            case schema.Timestamp() | schema.Date() | schema.Time() if pa.types.is_temporal(values.type):
                return self._time(values, kind)
            case schema.Boolean() if not pa.types.is_string(values.type):
                return self._truth(values, kind, nullable=nullable)
            case schema.Float() if not pa.types.is_string(values.type):
                return self._float(values, kind)
            case _:
                return self._each(values, kind, timezone, nullable=nullable)

    def _fix(self, how: str, wrong: Mask, values: pa.Array, kind: Type) -> None:
        """Record that values are misfits. Raises Refused where such are not to be coerced."""
        at = first(wrong)
        if at is None:
            return
        if how not in self.types:
            raise Refused(f"{shown_at(values, at)} cannot become {describe(kind)} ({how})", at)
        self.count(how, wrong)

    def _list(self, values: pa.Array, item: Type, timezone: str, *, lossy: bool) -> pa.Array:
        """Return lists whose items are coerced; a list with misfits of a kind counts once for it."""
        items, rows = items_of(values)

        def count(how: str, wrong: Mask) -> None:
            of_rows = np.zeros(len(values), bool)
            of_rows[rows[wrong]] = True
            self.count(how, of_rows)

        try:
            made = Coercer(self.types, count).cast(items, item, timezone, nullable=True, lossy=lossy)
        except Refused as error:
            raise error.in_row(rows) from None
        return as_lists(made, values)

    def _decoded(self, values: pa.Array) -> pa.Array:
        """Return bytes as text, with a question mark for each byte that is not UTF-8."""
        try:
            return as_text(values, "UTC")
        except pa.ArrowInvalid:
            escaped = [None if one is None else one.decode("utf-8", "surrogateescape") for one in values.to_pylist()]
        made = [None if one is None else _ESCAPED.sub("?", one) for one in escaped]
        wrong = np.array([text != given for text, given in zip(escaped, made, strict=True)], bool)
        self._fix("ENCODING", wrong, values, schema.String())
        return pa.array(made, pa.string())

    def cut(self, text: pa.Array, length: int | None) -> pa.Array:
        """Return text of at most `length` characters. Raises Refused where longer text is not to be cut."""
        if length is None:
            return text
        self._fix("STRING_TRUNCATION", mask(pc.greater(pc.utf8_length(text), length)), text, schema.String(length))
        return pc.utf8_slice_codeunits(text, 0, length)

    def _exact(
        self, values: pa.Array, kind: schema.Integer | schema.Decimal, timezone: str, *, nullable: bool
    ) -> pa.Array:
        """Return exact numbers; each distinct value is inspected once, by itself."""
        encoded = values.dictionary_encode()
        fits = [_fit(encoded.dictionary.slice(at, 1), kind, timezone) for at in range(len(encoded.dictionary))]
        codes = pc.fill_null(encoded.indices, len(fits)).to_numpy(zero_copy_only=False)
        for how in ("OTHER", "ROUNDING", "NUMERIC_RANGE"):
            self._fix(how, np.array([*(fit[1] == how for fit in fits), False], bool)[codes], values, kind)
        none = None if nullable else 0
        numbers = [none if number is None else number for number, _ in fits]
        return pa.array([*numbers, None], arrow_type(kind)).take(pa.array(codes))

    def _time(self, values: pa.Array, kind: Type) -> pa.Array:
        wanted = arrow_type(kind)
        try:
            made = values.cast(wanted, safe=False) if not _finer(wanted, values.type) else values.cast(wanted)
        except pa.ArrowInvalid:
            made = self._bounded(values, kind)
        if not _finer(wanted, values.type):
            back = made.cast(values.type, safe=False)
            self._fix("ROUNDING", mask(pc.not_equal(back, values)), values, kind)
        return made

    def _bounded(self, values: pa.Array, kind: Type) -> pa.Array:
        """Return moments in nanoseconds, of which 64 bits hold the years from 1677 to 2262."""
        per = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[values.type.unit]
        counts = values.cast(pa.int64())
        most = _LONG // per
        self._fix("DATE_RANGE", mask(pc.greater(pc.abs_checked(counts), most)), values, kind)
        bounded = pc.max_element_wise(pc.min_element_wise(counts, most), -most)
        bounded = pc.if_else(pc.is_valid(counts), bounded, None)
        return bounded.cast(values.type).cast(arrow_type(kind))

    def _float(self, values: pa.Array, kind: schema.Float) -> pa.Array:
        made = values.cast(arrow_type(kind), safe=False)
        decimal = pa.types.is_decimal(values.type)
        beyond = pc.is_inf(made) if decimal else pc.and_(pc.is_inf(made), pc.invert(pc.is_inf(values)))
        self._fix("NUMERIC_RANGE", mask(beyond), values, kind)
        limit = pc.if_else(pc.greater(values, 0), _LARGEST_FLOAT, -_LARGEST_FLOAT).cast(arrow_type(kind))
        made = pc.if_else(beyond, limit, made)
        if decimal:
            return made
        values = pc.if_else(beyond, made.cast(values.type, safe=False), values)
        rounded = pc.and_(pc.not_equal(made.cast(values.type, safe=False), values), pc.invert(pc.is_nan(values)))
        self._fix("ROUNDING", mask(rounded), values, kind)
        return made

    def _truth(self, values: pa.Array, kind: Type, *, nullable: bool) -> pa.Array:
        """Return 0 and 1 as false and true; other numbers are none."""
        wrong = pc.and_(pc.not_equal(values, 0), pc.not_equal(values, 1))
        self._fix("OTHER", mask(wrong), values, kind)
        return pc.if_else(wrong, pa.scalar(None if nullable else False, pa.bool_()), pc.equal(values, 1))

    def _each(self, values: pa.Array, kind: Type, timezone: str, *, nullable: bool) -> pa.Array:
        """Cast distinct values one by one: those that cannot be become null, or 0 or empty text.

        A text that is a number beyond the range of floats becomes the nearest one.
        """
        encoded = values.dictionary_encode()
        wrong = {how: np.zeros(len(encoded.dictionary) + 1, bool) for how in ("OTHER", "NUMERIC_RANGE")}
        made = []
        for at in range(len(encoded.dictionary)):
            try:
                made.append(cast(encoded.dictionary.slice(at, 1), kind, timezone))
            except Refused:
                number = _number(encoded.dictionary[at].as_py()) if isinstance(kind, schema.Float) else None
                wrong["OTHER" if number is None else "NUMERIC_RANGE"][at] = True
                nearest = default_of(kind, 1, nullable=nullable)
                if number is not None and isinstance(kind, schema.Float):
                    limit = _LARGEST_FLOAT if kind.bits == 32 else sys.float_info.max
                    nearest = pa.array([limit if number > 0 else -limit], arrow_type(kind))
                made.append(nearest)
        codes = encoded.indices
        places = pc.fill_null(codes, len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        for how, of_distinct in wrong.items():
            self._fix(how, of_distinct[places], values, kind)
        return pa.concat_arrays(made or [pa.array([], arrow_type(kind))]).take(codes)

    def encodable(self, values: pa.Array, encoding: str) -> pa.Array:
        """Return text with a question mark for each character that an encoding lacks."""
        if encoding.startswith("UTF") or "ENCODING" not in self.types or not pa.types.is_string(values.type):
            return values
        beyond = mask(pc.match_substring_regex(values, r"[^\x00-\x7f]"))
        replaced = values.filter(pa.array(beyond)).to_pylist()
        made = [text.encode(encoding, "replace").decode(encoding) for text in replaced]
        wrong = beyond.copy()
        wrong[beyond] = [text != given for text, given in zip(replaced, made, strict=True)]
        self._fix("ENCODING", wrong, values, schema.String())
        return pc.replace_with_mask(values, pa.array(beyond), pa.array(made, pa.string()))

    def required(self, values: pa.Array, null: Mask, kind: Type) -> pa.Array:
        """Return values with 0 or empty text in the place of nulls."""
        self._fix("NULLS", null, values, kind)
        return pc.if_else(pa.array(null), default_of(kind, len(values), nullable=False), values)


def _fit(one: pa.Array, kind: schema.Integer | schema.Decimal, timezone: str) -> tuple[Decimal | int | None, str]:
    """Return the number that one value becomes, None where it is none, and the kind of misfit, or nothing."""
    if not pa.types.is_floating(one.type):  # of which Arrow would round decimals
        try:
            return cast(one, kind, timezone)[0].as_py(), ""
        except Refused:
            pass
    number = _number(one[0].as_py())
    if number is None:
        return None, "OTHER"
    scale = kind.scale if isinstance(kind, schema.Decimal) else 0
    digits = kind.precision - scale if isinstance(kind, schema.Decimal) else _LONGEST
    whole = isinstance(kind, schema.Integer)
    high = 2 ** (kind.bits - 1) - 1 if isinstance(kind, schema.Integer) else 10**kind.precision - 1
    low = -high - 1 if whole else -high
    beyond = number.adjusted() >= digits
    units = 0 if beyond else int(number.scaleb(scale, _EXACT).to_integral_value(ROUND_DOWN, _EXACT))
    if beyond or not low <= units <= high:
        units, how = (low if number < 0 else high), "NUMERIC_RANGE"
    else:
        how = "" if Decimal(units).scaleb(-scale, _EXACT) == number else "ROUNDING"
    return (units if whole else Decimal(units).scaleb(-scale, _EXACT)), how


def _number(value: object) -> Decimal | None:
    """Return the number that a value is, exactly."""
    if isinstance(value, str):
        return Decimal(value.strip()) if re.fullmatch(_NUMBER, value) else None
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) else None
    return Decimal(value) if isinstance(value, int | Decimal) else None


_UNITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def _finer(wanted: pa.DataType, given: pa.DataType) -> bool:
    """Return whether a type of time holds all digits of another."""
    if pa.types.is_date(wanted):
        return bool(pa.types.is_date(given))
    if pa.types.is_time(wanted) != pa.types.is_time(given):
        return bool(pa.types.is_date(given))
    return bool(pa.types.is_date(given)) or _UNITS[wanted.unit] >= _UNITS[given.unit]
