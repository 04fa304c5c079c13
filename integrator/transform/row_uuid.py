"""`{hvr_row_uuid}`, an extension: a UUID for each change row, made of its position, so that it is the same again (I2).

UUID version 8 (RFC 9562 section 5.8): XXH3-128 of `channel|source location|table|hvr_integ_seq`, with the version and
the variant written over its hex digits 13 and 17.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.transform.table_names import table_names

_LENGTH = 36
_DASHES = (8, 13, 18, 23)
_VERSION_AT, _VARIANT_AT = 14, 19
_VARIANT = np.frombuffer(b"89ab89ab89ab89ab", np.uint8)


def row_uuid(changes: ChangeBatch, table: TableRecipe, channel: Recipe) -> pa.Array:
    """Return the UUID of each change row, as text."""
    lead, names = (
        f"{channel.messages.channel}|{changes.location or channel.messages.cap_loc}|",
        table_names(changes, "name", table, channel),
    )
    named = (
        pc.binary_join_element_wise(lead, names, "|", changes.integ_seq, "")
        .cast(pa.binary())
        .to_numpy(zero_copy_only=False)
    )
    digests = "".join(map(xxhash.xxh3_128_hexdigest, named))
    text = np.full((len(changes), _LENGTH), ord("-"), np.uint8)
    text[:, np.delete(np.arange(_LENGTH), _DASHES)] = np.frombuffer(digests.encode(), np.uint8).reshape(-1, 32)
    text[:, _VERSION_AT] = ord("8")
    text[:, _VARIANT_AT] = _VARIANT[text[:, _VARIANT_AT] & 15]
    offsets = np.arange(0, _LENGTH * (len(changes) + 1), _LENGTH, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(changes), [None, pa.py_buffer(offsets), pa.py_buffer(text)])
