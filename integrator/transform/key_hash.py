"""`{hvr_key_hash}`: 16 hex digits of XXH64 (seed 0) over the distribution key of a row.

HVR does not publish its own. Here the hash is taken over one text: for each column of the distribution key, in order,

    -                      for null
    T length : bytes       otherwise, where T is the type and `bytes` the value, `length` their number in decimal

with T and bytes: `i` integers in decimal; `d` decimals with all digits of their scale; `f` floats as the shortest text
that reads back the same; `b` booleans, true or false; `t` text in UTF-8; `x` bytes as they are; `D` days since
1970-01-01; `c` microseconds since midnight; `m` microseconds since 1970-01-01 00:00. Example: the integer 42 is
`i2:42`, and its hash ec42cc5e0209b688 is what `xxhash.xxh64_hexdigest(b"i2:42")` gives.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, flat, mask, of_width, plain_text
from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.operations import TRUNCATE
from integrator.contracts.table_recipe import TableRecipe
from integrator.engine.rows import DIGITS, write_digests
from integrator.errors import Fault, Place, PublicDataError

NULL = "-"


def key_hash(changes: ChangeBatch, recipe: TableRecipe) -> pa.Array:
    """Return the hash of each row's distribution key, as text. Raises DataError where a part of the key is missing."""
    require_key(changes, recipe.distribution_key)
    parts = [canonical(changes.columns[name]) for name in recipe.distribution_key]
    text = parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, b"")
    return hex_digests(text)


def hex_digests(values: pa.Array) -> pa.Array:
    """Return the hash of each value (binary, no nulls) as text."""
    data, offsets = flat(values)
    digits = np.empty((len(values), DIGITS), np.uint8)
    write_digests(data, offsets, digits)
    return of_width(digits)


def require_key(changes: ChangeBatch, names: tuple[str, ...]) -> None:
    """Raise DataError where a column that message keys are made of is missing."""
    for name in names:
        gone = changes.missing.get(name)
        at = None if gone is None else first(gone & mask(pc.not_equal(changes.op, TRUNCATE)))
        if at is not None:
            raise PublicDataError(
                Fault(
                    Place(changes.file, int(changes.line[at])),
                    f"table {changes.table_of(at)}: the record has no value for {name}, which "
                    "the message key is made of; record full before images, or distribute by the table's key, which "
                    "may be given: {action: ColumnProperties, Name: …, Key: true}",
                )
            )


def canonical(values: pa.Array) -> pa.Array:
    """Return the bytes that stand for each value of one column, as the module says."""
    tag, plain = _plain(values)
    length = pc.binary_length(plain).cast(pa.string()).cast(pa.binary())
    text = pc.binary_join_element_wise(tag, length, b":", plain, b"")
    return pc.fill_null(text, NULL.encode())


def _plain(values: pa.Array) -> tuple[bytes, pa.Array]:
    kind = values.type
    if pa.types.is_string(kind):
        return b"t", values.cast(pa.binary())
    if pa.types.is_binary(kind):
        return b"x", values
    if pa.types.is_integer(kind):
        tag = b"i"
    elif pa.types.is_decimal(kind):
        tag = b"d"
    elif pa.types.is_floating(kind):
        tag = b"f"
    elif pa.types.is_boolean(kind):
        tag = b"b"
    elif pa.types.is_date(kind):
        tag, values = b"D", values.cast(pa.int32())
    elif pa.types.is_time(kind):
        tag, values = b"c", values.cast(pa.time64("us")).cast(pa.int64())
    elif pa.types.is_timestamp(kind):
        tag, values = b"m", values.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    else:
        raise TypeError(f"{kind} in a key")
    return tag, plain_text(values).cast(pa.binary())
