"""Fields of envelopes, which come as text -> numbers, moments and positions. The first invalid value is an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first_refused, flat, mask
from integrator.contracts.sequence import hexadecimal
from integrator.decode.json.numbers import read_whole
from integrator.decode.json.objects import Objects
from integrator.decode.refusal import Faults, refuse
from integrator.decode.text.moments import PER_SECOND, SECONDS
from integrator.engine.arrays import Ints, Mask, Octets
from integrator.engine.values import Slices
from integrator.errors import Place, shown

INSTANT = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class Where:
    """Where records stand: their file, and the line of each. faults: see `Lines`.

    record: what topics have of them, where it is asked for (`RECORD`).
    """

    file: str
    line: Ints
    faults: Faults | None = None
    record: pa.Array | None = None

    @staticmethod
    def of(objects: Objects) -> Where:
        """Return where the lines of objects stand."""
        origin = objects.lines.origin
        record = None if origin is None or origin.record is None else origin.record.take(pa.array(objects.line))
        return Where(objects.lines.file, objects.numbers, objects.lines.faults, record)

    def take(self, places: Ints) -> Where:
        """Return where the records at these places stand."""
        record = None if self.record is None else self.record.take(pa.array(places))
        return Where(self.file, self.line[places], self.faults, record)

    def place(self, at: int) -> Place:
        """Return where a record stands."""
        return Place(self.file, int(self.line[at]))

    def check(self, texts: pa.Array, wrong: Mask, name: str, expected: str) -> None:
        """Raise DataError for the first text that is wrong; `name` is the field's. Null is never wrong."""
        self.refuse(
            wrong & mask(pc.is_valid(texts)), lambda at: f"{name} is {shown(texts[at].as_py())}; expected {expected}"
        )

    def refuse(self, wrong: Mask, text: Callable[[int], str], *, collected: bool = False) -> None:
        """Raise DataError for the first record that is wrong; `text` returns what is wrong with that at a place.

        collected: reading can continue after them, and their faults are added to `faults` instead, where there is one.
        """
        refuse(self.file, self.line, wrong, text, self.faults if collected else None)


def integers(texts: pa.Array, where: Where, name: str) -> pa.Array:
    """Return whole numbers of 64 bits; null stays null, and -0 is 0. Raises DataError."""
    return _numbers(texts, r"^-?\d{1,19}$", pa.int64(), where, name)


def whole_numbers(texts: pa.Array) -> pa.Array | None:
    """Return texts that are whole numbers of at most 18 digits as these; None where one is something else."""
    found = bytes_of(texts)
    if found is None:
        return None
    octets, offsets = found
    ends = np.where(offsets[1:] > offsets[:-1], offsets[1:], 0).astype(np.int32)
    numbers = read_whole(octets, Slices(offsets[:-1].astype(np.int32), ends, ends > 0), quoted=False)
    return numbers if numbers is not None and numbers.null_count == texts.null_count else None  # one is the word null


def bytes_of(texts: pa.Array) -> tuple[Octets, Ints] | None:
    """Return the bytes of texts, and where each begins, and the end; null has none. None where a text has none."""
    octets, offsets = flat(texts)
    return (octets, offsets) if int((offsets[1:] == offsets[:-1]).sum()) == texts.null_count else None


def _numbers(texts: pa.Array, pattern: str, kind: pa.DataType, where: Where, name: str) -> pa.Array:
    plain = whole_numbers(texts)
    if plain is not None and not (kind == pa.uint64() and pc.any(pc.less(plain, 0)).as_py()):
        return plain.cast(kind)
    expected = f"a whole number of 64 bits{', not negative' if kind == pa.uint64() else ''}"
    where.check(texts, ~mask(pc.match_substring_regex(texts, pattern)), name, expected)
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:  # too large
        wrong = np.zeros(len(texts), bool)
        wrong[first_refused(len(texts), lambda start, stop: _are(texts.slice(start, stop - start), kind))] = True
        where.check(texts, wrong, name, expected)
        raise


def _are(texts: pa.Array, kind: pa.DataType) -> bool:
    try:
        texts.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def instants(texts: pa.Array, where: Where, name: str, unit: str) -> pa.Array:
    """Return numbers of a unit (s, ms, us, ns) since 1970-01-01 as moments of microseconds. Raises DataError."""
    numbers = integers(texts, where, name)
    most = min((SECONDS[1] + 1) * PER_SECOND[unit] - 1, (1 << 63) - 1)
    least = max(SECONDS[0] * PER_SECOND[unit], -(1 << 63))
    found = pc.min_max(numbers)
    if found["min"].is_valid and not (least <= found["min"].as_py() and found["max"].as_py() <= most):
        inside = pc.and_(pc.greater_equal(numbers, least), pc.less_equal(numbers, most))
        where.check(texts, ~mask(inside), name, f"{unit} since 1970-01-01, of the years 0001 to 9999")
    return numbers.cast(pa.timestamp(unit, "UTC")).cast(INSTANT, safe=False)  # nanoseconds are cut off


def digits(texts: pa.Array, width: int, where: Where, name: str) -> pa.Array:
    """Return decimal numbers as `width` upper-case hex digits; null stays null. Raises DataError."""
    most = min(16**width, 1 << 64) - 1
    numbers = _numbers(texts, r"^\d{1,20}$", pa.uint64(), where, name)
    values = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False)
    where.check(texts, values > most, name, f"a whole number from 0 to {most}")
    return pc.if_else(pc.is_valid(texts), hexadecimal(values, width), None)


class Qualified(NamedTuple):
    """Texts: the database, the schema and the table of names; null where a name has none."""

    database: pa.Array
    schema: pa.Array
    table: pa.Array


def named(names: Qualified, objects: Objects, default: str | None = None) -> Qualified:
    """Return the names that records give; for those that name no table, the table that the source has them of.

    default: the table of records for which the source has none either.
    """
    table, instead = names.table.cast(pa.string()), pa.scalar(default, pa.string())
    origin = objects.lines.origin
    if origin is None or not table.null_count:
        return names._replace(table=pc.coalesce(table, instead))
    own = origin.codes[objects.line]
    codes, nameless = pa.array(own, mask=own < 0), pc.is_null(table)
    schemas = pa.array([one.schema for one in origin.tables], pa.string()).take(codes)
    tables = pa.array([one.name for one in origin.tables], pa.string()).take(codes)
    databases = pa.array([one.database for one in origin.tables], pa.string()).take(codes)

    def filled(given: pa.Array, instead: pa.Array) -> pa.Array:
        own = given.cast(pa.string())
        return pc.if_else(nameless, pc.coalesce(own, instead), own)

    schema, database = filled(names.schema, schemas), filled(names.database, databases)
    return Qualified(database, schema, pc.coalesce(table, tables, instead))
