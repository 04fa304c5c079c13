"""Arrow's string and binary arrays as numpy sees them: one run of bytes, and the offsets in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, InvalidOperation
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.engine.arrays import Ints, Mask, Octets

FEW_ROWS = 4096
"""Rows of a table, from which on they are worked on alone: a call's price is nothing beside them."""
_ENOUGH_ROWS = 65536
"""Rows that are worked on together at most, or somewhat more: what is done to them finds them in the cache."""

Item = TypeVar("Item")
Raw: TypeAlias = "bytes | bytearray"


def flat(values: pa.Array) -> tuple[Octets, Ints]:
    """Return the bytes of a string or binary array, without gaps, and its offsets, from 0 on. Null has none."""
    if values.null_count:
        values = pc.fill_null(values, "" if pa.types.is_string(values.type) else b"")
    _, offset_buffer, data = values.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    everything = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    return everything[offsets[0] : offsets[-1]], offsets - offsets[0]


def from_flat(data: Octets, offsets: Ints, kind: pa.DataType, like: pa.Array) -> pa.Array:
    """Return an array of `kind` from bytes and offsets, null where `like` is null."""
    validity = None
    if like.null_count:
        bits = np.packbits(pc.is_valid(like).to_numpy(zero_copy_only=False), bitorder="little")
        validity = pa.py_buffer(bits)
    buffers = [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(kind, len(like), buffers)


def of_width(rows: Octets) -> pa.Array:
    """Return text of which all have as many bytes, given row by row."""
    offsets = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(rows), [None, pa.py_buffer(offsets), pa.py_buffer(rows)])


def in_groups(parts: Sequence[Item], sizes: Sequence[int]) -> list[list[Item]]:
    """Return parts of so many rows each in groups, in their order, of some 65,536 rows."""
    before = np.cumsum([0, *sizes])[:-1] // _ENOUGH_ROWS
    groups: dict[int, list[Item]] = {}
    for part, number in zip(parts, before.tolist(), strict=True):
        groups.setdefault(number, []).append(part)
    return list(groups.values())


def mask(values: pa.Array | pa.ChunkedArray) -> Mask:
    """Return a boolean array as numpy's; null is False."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return np.asarray(pc.fill_null(values, fill_value=False).to_numpy(zero_copy_only=False), np.bool_)


def first(where: pa.Array | Mask) -> int | None:
    """Return the first place that is True, or None."""
    found = np.flatnonzero(where if isinstance(where, np.ndarray) else mask(where))
    return int(found[0]) if len(found) else None


def first_refused(size: int, accepts: Callable[[int, int], bool]) -> int:
    """Return the first of `size` places at which `accepts(start, stop)` is False, found by halving.

    `accepts` says whether all places from start to stop are accepted; at least one place is not.
    """
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        if accepts(low, middle):
            low = middle
        else:
            high = middle
    return low


_PART, _PARTS = 64, 8
"""How many places are tried together, and into how many parts they are divided where one of them is not accepted."""


def every_refused(size: int, accepts: Callable[[int, int], bool]) -> list[int]:
    """Return all of `size` places that are not accepted, found by dividing; `accepts` as in `first_refused`."""
    step = _PART
    refused = (
        [0]
        if step >= size
        else [start for start in range(0, size, step) if not accepts(start, min(start + step, size))]
    )
    while refused and step > 1:
        wider, step = step, max(1, step // _PARTS)
        parts = (at for start in refused for at in range(start, min(start + wider, size), step))
        refused = [start for start in parts if not accepts(start, min(start + step, size))]
    return refused


_DIGITS = {16: 38, 32: 76}
"""Digits that a decimal of so many bytes holds always."""
_EXACT = Context(prec=100_000)


def to_decimal(text: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return text as decimals. Raises pa.ArrowInvalid for what is none, or does not fit exactly.

    Arrow's own cast lets texts of more digits than 128 or 256 bits hold wrap around, and then finds that they fit, and
    takes some small numbers with exponents for 0; so texts of many characters or with an exponent are parsed alone.
    """
    odd = mask(pc.greater(pc.binary_length(text), _DIGITS[wanted.byte_width]))
    odd |= mask(pc.match_substring_regex(text, "[eE]"))
    if not odd.any():
        return pc.cast(text, wanted)
    plain = pc.cast(pc.if_else(pa.array(odd), None, text), wanted)
    numbers = [_fitting(one, wanted) for one in text.filter(pa.array(odd)).to_pylist()]
    return pc.replace_with_mask(plain, pa.array(odd), pa.array(numbers, wanted))


def scalar_of(text: str, wanted: pa.DataType) -> pa.Scalar:
    """Return text as a value of a type. Raises pa.ArrowInvalid for what is none, or does not fit exactly."""
    return to_decimal(pa.array([text]), wanted)[0] if pa.types.is_decimal(wanted) else pa.scalar(text).cast(wanted)


def unfit(text: str) -> Exception:
    """Return a pa.ArrowInvalid for a value that cannot be what is wanted; its text is for whoever owns the data."""
    made: Any = pa.ArrowInvalid(text)
    made.is_for_owners = True
    return cast("Exception", made)


def reason(error: Exception) -> str:
    """Return why a value is refused; nothing where that is in the words of Arrow, of its types and casts."""
    is_for_owners = getattr(error, "is_for_owners", not isinstance(error, pa.ArrowException))
    return str(error) if is_for_owners else ""


_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _fitting(text: str, wanted: pa.DataType) -> Decimal:
    try:
        number = Decimal(text if _DECIMAL.fullmatch(text) else "NaN")
        held = number.quantize(Decimal(1).scaleb(-wanted.scale), context=_EXACT) if number.is_finite() else None
    except InvalidOperation:
        held = None
    if held is None or held != number or held.adjusted() >= wanted.precision - wanted.scale:
        raise unfit(f"it is no number, or one that {wanted} does not hold exactly")
    return held


def items_of(lists: pa.Array) -> tuple[pa.Array, Ints]:
    """Return the items of all lists, one after another, and in which row each stands. Null has none."""
    return lists.flatten(), np.repeat(np.arange(len(lists)), _lengths(lists))


def as_lists(items: pa.Array, like: pa.Array) -> pa.Array:
    """Return lists of `items`, each as long as the one of `like` in its row, null where that is null."""
    offsets = np.concatenate([[0], np.cumsum(_lengths(like))]).astype(np.int32)
    null = pc.is_null(like) if like.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), items, mask=null)


def _lengths(lists: pa.Array) -> Ints:
    return np.asarray(pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False), np.int64)


def plain_text(values: pa.Array) -> pa.Array:
    """Return numbers and booleans as text; decimals with all digits of their scale, where Arrow would use exponents."""
    text = values.cast(pa.string())
    if pa.types.is_decimal(values.type):
        exponent = pc.fill_null(pc.match_substring(text, "E"), fill_value=False)
        if pc.any(exponent).as_py():
            plain = pa.array([f"{value:f}" for value in values.filter(exponent).to_pylist()], pa.string())
            text = pc.replace_with_mask(text, exponent, plain)
    return text


def same_values(one: pa.Array, other: pa.Array) -> Mask:
    """Return where two values are equal; null equals null."""
    try:
        equal = mask(pc.equal(one, other))
    except pa.ArrowNotImplementedError:  # lists, structs and intervals are compared one by one
        equal = np.array([a == b for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True)], np.bool_)
    return equal | mask(pc.and_(pc.is_null(one), pc.is_null(other)))


def regrouped(values: pa.Array, starts: Ints) -> pa.Array:
    """Return runs of values, of which each begins at a place in `starts`, as one value each; there are no nulls."""
    _, offset_buffer, data = values.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[values.offset : values.offset + len(values) + 1]
    bounds = np.append(offsets[starts], offsets[-1]).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(starts), [None, pa.py_buffer(bounds), data])
