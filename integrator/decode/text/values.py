"""Text as databases print it -> typed Arrow values, exactly or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import Mask, first, first_refused, flat, from_flat, mask, plain_text, to_decimal
from integrator.decode.json.grammar import checked
from integrator.decode.json.lines import Lines, cut
from integrator.decode.json.objects import Objects, as_lines, elements, unquoted
from integrator.decode.text.intervals import intervals
from integrator.errors import DataError, shown
from integrator.schema import Type, arrow_type, describe

Ints = npt.NDArray[np.int64]

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
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
        index = first_refused(len(values), accepts)
    try:
        convert(values.slice(index, 1))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise ValueRefused(index, f"{shown(values[index].as_py())} is no {what} ({cut(str(error))})") from None
    raise AssertionError(f"{what}: a value is refused among others, and taken alone")


def each(values: pa.Array, cases: Sequence[tuple[Mask | None, Callable[[pa.Array], pa.Array]]]) -> pa.Array:
    """Return each value as the first converter makes it whose mask has it; the mask None has all that are left.

    So a value is read by what it is itself, whatever stands beside it. Null goes with any. Raises ValueRefused.
    """
    case_of = np.full(len(values), -1)
    for number, (which, _) in enumerate(cases):
        case_of[(case_of < 0) & (True if which is None else which)] = number
    used = np.unique(case_of[mask(pc.is_valid(values))]).tolist() or [len(cases) - 1]
    case_of[~mask(pc.is_valid(values))] = used[0]
    return by_group(values, case_of, {number: cases[number][1] for number in used})


def by_group(values: pa.Array, group: Ints, converters: Mapping[int, Callable[[pa.Array], pa.Array]]) -> pa.Array:
    """Return each value as the converter of its group makes it. Raises ValueRefused with the place among all values."""
    if len(converters) == 1:
        return next(iter(converters.values()))(values)
    parts, places = [], []
    for number, convert in converters.items():
        chosen = np.flatnonzero(group == number)
        try:
            parts.append(convert(values.take(pa.array(chosen))))
        except ValueRefused as error:
            raise ValueRefused(int(chosen[error.index]), str(error)) from None
        places.append(chosen)
    return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places))))


def _converter(kind: Type) -> Callable[[pa.Array], pa.Array]:  # noqa: PLR0912 - one case a type
    match kind:
        case schema.String(role="number" | "unconstrained"):
            return _number_text
        case schema.String():
            return lambda values: values
        case schema.Bytes():
            return from_hex
        case schema.Time():
            return lambda values: _time(values, kind)
        case schema.Interval():
            return intervals
        case schema.Decimal(role="money"):
            return _money
        case schema.Decimal():
            return lambda values: to_decimal(values, arrow_type(kind))
        case schema.Array(item):
            return lambda values: _array(values, item)
        case schema.Integer():
            return lambda values: _integer(values, kind)
        case schema.Float():
            return lambda values: _float(values, kind)
        case schema.Timestamp():
            return lambda values: _timestamp(values, kind)
        case schema.Date():
            return _date
        case _:
            return lambda values: pc.cast(values, arrow_type(kind))


def _time(values: pa.Array, kind: schema.Time) -> pa.Array:
    moments = _timestamp(pc.binary_join_element_wise("1970-01-01 ", values, ""), schema.Timestamp(kind.unit))
    return moments.cast(arrow_type(kind))


def _money(values: pa.Array) -> pa.Array:
    """Return money that is written as a number. Raises ValueError for what lc_monetary makes of it: $1,234.50."""
    if pc.any(pc.match_substring_regex(values, r"[^0-9.eE+-]")).as_py():
        raise ValueError("it is written as lc_monetary has it, which only the database can read: " + MONEY_REMEDY)
    return to_decimal(values, pa.decimal128(19, 2))


MONEY_REMEDY = "declare the column as text in the table's definition, and have SQL or the consumer read it"
_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$|^(?i:nan|[+-]?inf(inity)?)$"
"""A number as databases print it; PostgreSQL's numeric may be NaN or Infinity."""


def _number_text(values: pa.Array) -> pa.Array:
    """Return text that is a number, for which no exact type is wide enough. Raises ValueError."""
    if not pc.all(pc.match_substring_regex(values, _NUMBER)).as_py() and values.null_count < len(values):
        raise ValueError("expected a number")
    return values


def _integer(values: pa.Array, kind: schema.Integer) -> pa.Array:
    """Return text as integers. Raises ValueError for text that is not digits alone, as 0x1F, which Arrow would take."""
    if not pc.all(pc.match_substring_regex(values, r"^[+-]?\d+$")).as_py() and values.null_count < len(values):
        raise ValueError("expected digits")
    return pc.cast(values, arrow_type(kind))


_ENDLESS = pa.array(["inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"])
"""Words of databases for numbers without end, in lower case."""


def _float(values: pa.Array, kind: schema.Float) -> pa.Array:
    """Return text as floating-point numbers. Raises ValueError for a number that is too large for its type."""
    numbers = pc.cast(values, arrow_type(kind))
    endless = mask(pc.is_inf(numbers))
    if endless.any():
        written = pc.utf8_lower(values.filter(pa.array(endless)))
        if not pc.all(pc.is_in(written, _ENDLESS)).as_py():
            raise ValueError(f"it is larger than a number of {kind.bits} bits can be")
    return numbers


def _timestamp(values: pa.Array, kind: schema.Timestamp) -> pa.Array:
    """Return text as moments. Raises ValueError."""
    check_moments(values)
    return pc.cast(values, arrow_type(kind))


def check_moments(values: pa.Array) -> None:
    """Raise ValueError for what Arrow would take for a moment: a date with hours alone; the year 0, which is 1 BC."""
    if pc.any(pc.match_substring_regex(values, r"^[^ T]*[ T]\d\d([^:]|$)")).as_py():
        raise ValueError("a time of day needs minutes: expected YYYY-MM-DD HH:MM:SS")
    if pc.any(pc.starts_with(values, "0000")).as_py():
        raise ValueError("expected a year from 0001 to 9999")


def _date(values: pa.Array) -> pa.Array:
    check_moments(values)
    return pc.cast(values, pa.date32())


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


_LETTERS, _BOOLEANS = pa.array(["t", "f"]), pa.array(["true", "false"])


def _in_words(items: pa.Array, item: Type) -> pa.Array:
    """Return the items of array literals with booleans in words, which PostgreSQL writes as t and f there."""
    if not isinstance(item, schema.Boolean):
        return items
    return pc.coalesce(_BOOLEANS.take(pc.index_in(items, _LETTERS)), items)


def _array(values: pa.Array, item: Type) -> pa.Array:
    """Return PostgreSQL's array literals as lists (https://www.postgresql.org/docs/15/arrays.html#ARRAYS-IO)."""
    # quoted, escaped, nested, empty, NULL, or no array at all: taken apart one by one; the rest is split at commas
    odd = pc.match_substring_regex(values, r'(?is)["\\]|^.+\{|^\{\}$|\bnull\b|^[^{]|[^}]$|^$')
    if first(odd) is not None:
        lists = [None if text is None else parse_array(text) for text in values.to_pylist()]
        split = pa.array(lists, pa.list_(pa.string()))
    else:
        split = pc.split_pattern(pc.utf8_slice_codeunits(values, 1, -1), ",")
    items = from_text(_in_words(pc.list_flatten(split), item), item)
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


def from_json_list(values: pa.Array, item: Type, convert: Callable[[pa.Array, Mask], pa.Array]) -> pa.Array:
    """Return lists, as text, as Arrow's: JSON's lists of scalars, or PostgreSQL's array literals.

    `convert` makes items of the type out of text, given which of them were strings in JSON. Raises ValueRefused.
    """
    literal = mask(pc.starts_with(values, "{"))

    def of_literals(part: pa.Array) -> pa.Array:
        lists = guarded(part, _parsed_literals, "array literal")
        return _converted(lists, lambda items: convert(_in_words(items, item), _all(items)))

    def of_json(part: pa.Array) -> pa.Array:
        raw = guarded(part, _split, "JSON list of scalars")
        return _converted(raw, lambda items: convert(unquoted(items), mask(pc.starts_with(items, '"'))))

    return each(values, [(literal, of_literals), (None, of_json)])


def _all(items: pa.Array) -> Mask:
    return np.ones(len(items), bool)


def _converted(lists: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Return lists with their items converted. Raises ValueRefused with the place of the list."""
    try:
        items = convert(lists.flatten())
    except ValueRefused as error:
        raise ValueRefused(pc.list_parent_indices(lists)[error.index].as_py(), str(error)) from None
    return pa.ListArray.from_arrays(lists.offsets, items, mask=pc.is_null(lists))


def _parsed_literals(values: pa.Array) -> pa.Array:
    lists = [None if text is None else parse_array(text) for text in values.to_pylist()]
    return pa.array(lists, pa.list_(pa.string()))


def _split(values: pa.Array) -> pa.Array:
    """Return JSON lists of scalars as lists of JSON texts, null where an item is null. Raises ValueError.

    The text of a list may come from a string of JSON, so that nothing has looked at it yet.
    """
    no_lines = Lines("", b"", np.zeros(len(values), np.int64), np.zeros(1, np.int32))
    wrapped = pc.binary_join_element_wise('{"":', pc.fill_null(values, "null"), "}", "")
    try:
        lists = Objects(checked(as_lines(wrapped, no_lines, np.arange(len(values))), "a list"), "a list").raw("")
    except DataError:
        raise ValueError("expected a list in JSON") from None
    if not pc.all(pc.starts_with(lists, "[")).as_py() and values.null_count < len(values):
        raise ValueError("expected a list in JSON")
    items, parent = elements(lists, no_lines)
    if pc.any(pc.match_substring_regex(items, r"^[\[{]")).as_py():
        raise ValueError("expected scalars; declare a column of lists in lists as text")
    if lists.null_count > values.null_count:
        raise ValueError("expected a list in JSON, not a text that says null")
    counts = np.bincount(parent, minlength=len(values))
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, pc.if_else(pc.equal(items, "null"), None, items), mask=pc.is_null(lists))


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
