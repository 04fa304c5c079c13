"""Text as databases print it -> typed Arrow values, exactly or not at all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrays import first, first_refused, flat, from_flat, plain_text, to_decimal
from integrator.dialects.intervals import intervals
from integrator.dialects.json_text import quote_scalars
from integrator.dialects.lines import arrow_json
from integrator.schema import Type, arrow_type, describe

_NIBBLE = np.full(256, 255, np.uint8)
_NIBBLE[list(b"0123456789abcdef")] = np.arange(16)
_NIBBLE[list(b"ABCDEF")] = np.arange(10, 16)


class ValueRefused(ValueError):
    """The value at `index` is not of the type; the text says what is accepted."""

    def __init__(self, index: int, text: str) -> None:
        self.index = index
        super().__init__(text)


def from_text(values: pa.Array, kind: Type) -> pa.Array:
    """Return text values (null stays null) as `arrow_type(kind)`. Raises ValueRefused for the first that is none."""
    return guarded(values, _converter(kind), describe(kind))


def guarded(values: pa.Array, convert: Callable[[pa.Array], pa.Array], what: str) -> pa.Array:
    """Return `convert(values)`. Raises ValueRefused for the first value that it refuses, which is not `what`."""

    def accepts(start: int, stop: int) -> bool:
        try:
            convert(values.slice(start, stop - start))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
            return False
        return True

    try:
        return convert(values)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        index = first_refused(len(values), accepts)
        raise ValueRefused(index, f"{values[index].as_py()!r} is no {what} ({error})") from None


def _converter(kind: Type) -> Callable[[pa.Array], pa.Array]:
    match kind:
        case schema.String():
            return lambda values: values
        case schema.Bytes():
            return from_hex
        case schema.Time():
            return lambda values: _time(values, kind)
        case schema.Interval():
            return intervals
        case schema.Decimal():
            return lambda values: to_decimal(values, arrow_type(kind))
        case schema.Array(item):
            return lambda values: _array(values, item)
        case _:
            return lambda values: pc.cast(values, arrow_type(kind))


def _time(values: pa.Array, kind: schema.Time) -> pa.Array:
    moments = pc.binary_join_element_wise("1970-01-01 ", values, "").cast(pa.timestamp(kind.unit))
    return moments.cast(arrow_type(kind))


def from_hex(values: pa.Array) -> pa.Array:
    r"""Return bytes written as hex digits, with or without `\x` before them."""
    plain = pc.replace_substring_regex(values, r"^\\x", "")
    data, offsets = flat(plain)
    if (np.diff(offsets) % 2).any():
        raise ValueError("expected pairs of hex digits")
    nibbles = _NIBBLE[data]
    if (nibbles == 255).any():
        raise ValueError("expected hex digits")
    decoded = ((nibbles[0::2] << 4) | nibbles[1::2]).astype(np.uint8)
    return from_flat(decoded, offsets // 2, pa.binary(), plain)


def _array(values: pa.Array, item: Type) -> pa.Array:
    """Return PostgreSQL's array literals as lists (https://www.postgresql.org/docs/15/arrays.html#ARRAYS-IO)."""
    # quoted, escaped, nested, empty, NULL, or no array at all: taken apart one by one; the rest is split at commas
    odd = pc.match_substring_regex(values, r'(?is)["\\]|^.+\{|^\{\}$|\bnull\b|^[^{]|[^}]$|^$')
    if first(odd) is not None:
        lists = [None if text is None else parse_array(text) for text in values.to_pylist()]
        split = pa.array(lists, pa.list_(pa.string()))
    else:
        split = pc.split_pattern(pc.utf8_slice_codeunits(values, 1, -1), ",")
    items = from_text(pc.list_flatten(split), item)
    offsets = split.offsets
    result = pa.ListArray.from_arrays(offsets.cast(pa.int32()), items)
    return pc.if_else(pc.is_valid(values), result, pa.scalar(None, result.type)) if values.null_count else result


def parse_array(text: str) -> list[str | None]:
    """Return the items of one array literal with one dimension. Raises ValueError."""
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError("expected an array literal {…} of one dimension")
    items: list[str | None] = []
    at, end = 1, len(text) - 1
    while at < end:
        if text[at] == '"':
            item = []
            at += 1
            while at < end and text[at] != '"':
                at += text[at] == "\\"
                item.append(text[at])
                at += 1
            if at >= end:
                raise ValueError("expected a quote at the end of an item")
            items.append("".join(item))
            at += 1
        elif text[at] == "{":
            raise ValueError("an array of several dimensions; declare the column as text")
        else:
            stop = text.find(",", at, end)
            word = text[at : end if stop < 0 else stop]
            items.append(None if word.upper() == "NULL" else word)
            at += len(word)
        if at < end and text[at] != ",":
            raise ValueError("expected a comma between items")
        at += 1
    return items


def from_json_list(values: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Return JSON arrays, as text, as lists whose items `convert` makes of text. Raises ValueRefused."""
    found = guarded(values, _scalars, "JSON array of scalars")
    try:
        items = convert(found.flatten())
    except ValueRefused as error:  # of an item
        raise ValueRefused(pc.list_parent_indices(found)[error.index].as_py(), str(error)) from None
    return pa.ListArray.from_arrays(found.offsets, items, mask=pc.is_null(found))


def _scalars(values: pa.Array) -> pa.Array:
    """Return JSON arrays of scalars, or PostgreSQL's array literals, as lists of text."""
    if pc.all(pc.starts_with(values, "{")).as_py() and values.null_count < len(values):
        lists = [None if text is None else parse_array(text) for text in values.to_pylist()]
        return pa.array(lists, pa.list_(pa.string()))
    lists = pc.binary_join_element_wise('{"v":', pc.fill_null(values, "null"), "}\n", "")
    joined = b"".join(lists.cast(pa.binary()).to_pylist())
    parsed = arrow_json(pa.schema([("v", pa.list_(pa.string()))]), "error")(quote_scalars(joined))
    found = parsed["v"].combine_chunks()
    if len(found) != len(values):
        raise ValueError("expected one array")
    return found


def from_column(values: pa.Array, kind: Type) -> pa.Array:
    """Return a column of a file, text or of a type, as `arrow_type(kind)`. Raises ValueRefused."""
    if pa.types.is_string(values.type):
        return from_text(values, kind)
    if pa.types.is_decimal(values.type) and isinstance(kind, schema.String):
        return plain_text(values)
    return guarded(values, lambda part: part.cast(arrow_type(kind)), describe(kind))


_SIXTY_FOUR = np.full(256, 255, np.uint8)
_SIXTY_FOUR[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")] = np.arange(62)
_SIXTY_FOUR[list(b"+/-_")] = [62, 63, 62, 63]
_PAD = ord("=")


def from_base64(values: pa.Array) -> pa.Array:
    """Return bytes written in base64, of either alphabet, padded (RFC 4648 sections 4 and 5)."""
    data, offsets = flat(values)
    length = np.diff(offsets)
    if (length % 4).any():
        raise ValueError("expected base64, whose length is a multiple of 4")
    ends = offsets[1:][length > 0]
    padding = np.zeros(len(length), np.int64)
    padding[length > 0] = (data[ends - 1] == _PAD).astype(np.int64) + (data[ends - 2] == _PAD)
    digits = _SIXTY_FOUR[data]
    tail = np.zeros(len(data), bool)
    tail[ends - 1], tail[ends - 2] = data[ends - 1] == _PAD, data[ends - 2] == _PAD
    if (digits[~tail] == 255).any():
        raise ValueError("expected base64")
    digits[tail] = 0
    fours = digits.reshape(-1, 4).astype(np.uint32)
    bits = (fours[:, 0] << 18) | (fours[:, 1] << 12) | (fours[:, 2] << 6) | fours[:, 3]
    decoded = np.stack([bits >> 16, bits >> 8, bits], axis=1).astype(np.uint8).ravel()
    kept = np.ones(len(decoded), bool)
    after = offsets[1:] // 4 * 3
    kept[after[padding > 0] - 1] = False
    kept[after[padding > 1] - 2] = False
    lengths = length // 4 * 3 - padding
    return from_flat(decoded[kept], np.concatenate([[0], np.cumsum(lengths)]), pa.binary(), values)


def from_unscaled(values: pa.Array, scale: int) -> pa.Array:
    """Return decimals of big-endian two's complement bytes and a scale, as Connect's Decimal has them.

    https://kafka.apache.org/41/javadoc/org/apache/kafka/connect/data/Decimal.html
    """
    data, offsets = flat(values)
    length = np.diff(offsets)
    width = 16 if not len(length) or length.max() < 16 else 32  # 38 digits fit 16 bytes; of 16 bytes not all do
    if len(length) and length.max() > width:
        raise ValueError(f"a number of more than {width} bytes")
    little = np.zeros((len(length), width), np.uint8)
    negative = np.zeros(len(length), bool)
    filled = length > 0
    negative[filled] = data[offsets[:-1][filled]] >= 128
    little[negative] = 255
    row = np.repeat(np.arange(len(length)), length)
    place = np.repeat(offsets[1:], length) - 1 - np.arange(len(data))
    little[row, place] = data
    kind = pa.decimal128(38, scale) if width == 16 else pa.decimal256(76, scale)
    validity = pc.is_valid(values).to_numpy(zero_copy_only=False)
    bits = pa.py_buffer(np.packbits(validity, bitorder="little"))
    return pa.Array.from_buffers(kind, len(length), [bits, pa.py_buffer(little)])
