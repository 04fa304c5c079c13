"""How several dialects write values: text whether it is quoted or not, base64, bits, unscaled decimals."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import flat, from_flat, mask, of_width
from integrator.decode.json.lists import from_json_list
from integrator.decode.json.moments import Zone
from integrator.decode.json.numbers import decimals_of
from integrator.decode.json.slices import texts_of
from integrator.decode.rows.coding import Convert, check_nested, read_plain, zoned
from integrator.decode.text.binary import bits
from integrator.decode.text.refused import guarded
from integrator.decode.text.values import from_column
from integrator.engine.arrays import Octets
from integrator.engine.log_numbers import parse_unscaled
from integrator.engine.numbers import MOST_DIGITS
from integrator.engine.values import Slices
from integrator.names.numbers import counted
from integrator.schema import Column, Decimal, Table, Type, describe

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
    one = data[ends - 1] == _PAD
    two = one & (data[ends - 2] == _PAD)
    padding[length > 0] = one.astype(np.int64) + two
    digits = _SIXTY_FOUR[data]
    tail = np.zeros(len(data), bool)
    tail[ends - 1], tail[ends - 2] = one, two
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
    if (length[mask(pc.is_valid(values))] == 0).any():
        raise ValueError("a number has a byte at least")
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


_MOST_BITS = 64
"""Of a number that stands for bits: MySQL has no more."""


def bits_of_numbers(values: pa.Array, length: int | None) -> pa.Array:
    """Return bits that are written as numbers, or as `length` zeros and ones, in zeros and ones. Raises ValueError.

    No number of two digits and more that is written in zeros and ones fits as many bits.
    """
    most = min(length or _MOST_BITS, _MOST_BITS)
    in_digits = mask(pc.match_substring_regex(values, r"^(0|[1-9]\d{0,19})$"))
    in_digits &= ~mask(pc.and_(pc.equal(pc.binary_length(values), most), pc.match_substring_regex(values, "^[01]+$")))
    if not in_digits.any():
        return bits(values, length)
    numbers = pc.fill_null(pc.if_else(pa.array(in_digits), values, None), "0").cast(pa.uint64()).to_numpy()
    if most < _MOST_BITS and (numbers >> np.uint64(most)).any():
        raise ValueError(f"it has more than {counted(most, 'bit')}")
    digits = (numbers[:, np.newaxis] >> np.arange(most - 1, -1, -1, dtype=np.uint64)) & np.uint64(1)
    written = of_width((digits + ord("0")).astype(np.uint8))
    return pc.if_else(pa.array(in_digits), written, bits(pc.if_else(pa.array(in_digits), None, values), length))


def bits_of_bytes(values: pa.Array, length: int | None) -> pa.Array:
    """Return bits whose bytes come the least one first, as `length` zeros and ones, or all. Raises ValueError."""
    data, offsets = flat(values)
    given = np.diff(offsets) * 8
    width = np.where(mask(pc.is_valid(values)), given if length is None else length, 0)
    ends = np.concatenate([[0], np.cumsum(width)])
    row = np.repeat(np.arange(len(given)), given)
    rank = np.arange(len(row)) - offsets[:-1][row] * 8
    ones = np.unpackbits(data, bitorder="little") == 1
    if (ones & (rank >= width[row])).any():
        raise ValueError(f"it has more than {counted(length or 0, 'bit')}")
    written = np.full(ends[-1], ord("0"), np.uint8)
    written[(ends[1:][row] - 1 - rank)[ones]] = ord("1")
    return from_flat(written, ends, pa.string(), values)


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


def json_typed(kind: Type, values: pa.Array) -> pa.Array:
    """Return the text of JSON values in a type. Raises ValueRefused."""
    match kind:
        case schema.Array(item):
            return from_json_list(values, item, lambda items, _quoted: json_typed(item, items))
        case schema.Timestamp(zoned=False):  # several producers write Z after moments without a zone
            return from_column(pc.replace_substring_regex(values, r"(\d\d:\d\d.*)(Z|\+00:?00)$", r"\1"), kind)
        case _:
            return from_column(values, kind)


def utc_typed(kind: Type, values: pa.Array, decode: Callable[[pa.Array], pa.Array] = from_base64) -> pa.Array:
    """Return as `json_typed`; `decode` reads bytes, and moments without a zone are in UTC. Raises ValueRefused."""
    match kind:
        case schema.Bytes():
            return guarded(values, decode, describe(kind))
        case schema.Timestamp(zoned=True):
            return zoned(kind, values, "UTC")
        case _:
            return json_typed(kind, values)


def read_unscaled(text: Octets, at: Slices, kind: Decimal) -> pa.Array | None:
    """Return decimals of a type, whose unscaled numbers are in base64; None where one is long, or is no base64."""
    size = len(at.start)
    numbers, valid = np.empty(size, np.int64), np.empty(size, np.bool_)
    most = 10 ** min(kind.precision, MOST_DIGITS) - 1
    if not parse_unscaled(text, at.start, at.end, most, numbers, valid):
        return None
    return decimals_of(numbers, valid, kind)
