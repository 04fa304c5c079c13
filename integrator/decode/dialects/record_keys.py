"""Keys of records without a value, as lines that a source writes for them: `{"schema":…,"deleted key":…}`.

A key is an object with the key columns, with or without a schema of Kafka Connect, or the value of the only one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import flat, mask
from integrator.contracts.streams import Source
from integrator.decode.contract import Reading
from integrator.decode.encodings.encoded import VALUE
from integrator.decode.fields import Qualified, Where, named
from integrator.decode.json.document import Document, read_document
from integrator.decode.json.objects import Objects
from integrator.decode.json.slices import DictionaryTexts
from integrator.decode.lines.lines import RecordKeys, json_text
from integrator.decode.rows.images import COLUMNS
from integrator.engine.arrays import Mask
from integrator.engine.grammar import OPEN
from integrator.errors import Fault, PublicDataError

SCHEMA, PAYLOAD, KEY = "schema", "payload", "deleted key"
_REMEDY = (
    "have the producer write all key columns as the record's key, or declare which column is the key: "
    "{action: ColumnProperties, Name: …, Key: true}"
)


def keyed(objects: Objects) -> Mask:
    """Return which lines are keys of records without a value. SCHEMA and KEY were searched for."""
    return np.asarray(objects.has(SCHEMA) & objects.has(KEY) & (objects.counts() == 2), np.bool_)


def names_of(objects: Objects, reading: Reading) -> Qualified:
    """Return the tables that the source has rows of, for rows name none."""
    nothing = pa.nulls(len(objects), pa.string())
    return named(Qualified(nothing, nothing, nothing), objects, reading.default_table)


def keys_of(deletes: Callable[[Document], Mask], expected: str) -> RecordKeys:
    """Return how keys stand in the lines of a dialect. deletes: which of its records are deletes."""
    return RecordKeys(KEY, lambda lines: deletes(read_document(lines, expected)))


def with_plain_keys(document: Document, reading: Reading, expected: str) -> Document:
    """Return a document in which each key is an object: one value has the name of the only key column.

    Where the table has the column `value` alone, and no key, the line is null: no row can be deleted by its key. Raises
    DataError for one value where another table has several key columns, or none.
    """
    objects = Objects.of_lines(document).find(SCHEMA, KEY)
    are_keys = keyed(objects)
    if not are_keys.any():
        return document
    at = objects.slices(KEY)
    are_objects = are_keys & (at.first_bytes(document.text) == OPEN)
    inner = objects.inner(KEY, COLUMNS, are_objects).find(SCHEMA, PAYLOAD)
    wrapped = are_objects & (inner.counts() == 2) & inner.has(SCHEMA) & inner.has(PAYLOAD)
    values = pc.if_else(pa.array(wrapped), inner.raw(PAYLOAD), objects.raw(KEY))
    alone = are_keys & mask(pc.invert(pc.starts_with(values, "{")))
    odd = wrapped | alone
    if not odd.any():
        return document
    openings = pc.if_else(pa.array(alone), _only_keys(objects, alone, reading), "")
    keys = pc.binary_join_element_wise(openings, values, pc.if_else(pa.array(alone), "}", ""), "")
    schemas = pc.if_else(pa.array(wrapped), inner.raw(SCHEMA), objects.raw(SCHEMA))
    parts = ('{"schema":', pc.fill_null(schemas, "null"), f',"{KEY}":', pc.fill_null(keys, "null"), "}\n")
    lines = document.lines
    own = pc.if_else(pc.and_(pa.array(alone), pc.is_null(openings)), "null\n", pc.binary_join_element_wise(*parts, ""))
    data, offsets = flat(pc.if_else(pa.array(odd), own, lines.array))
    left_out = lines.left_out and replace(lines.left_out, codes=np.where(wrapped, np.int32(-1), lines.left_out.codes))
    made = lines.like(data.tobytes(), lines.numbers, offsets.astype(np.int32), left_out, lines.origin)
    return read_document(made, expected)


def _only_keys(objects: Objects, which: Mask, reading: Reading) -> pa.Array:
    """Return how the object of each key of `which` begins, which is one value; null for a table of values alone.

    Raises DataError.
    """
    names, where = names_of(objects, reading), Where.of(objects)
    tables = DictionaryTexts.of(names.table)
    schemas = DictionaryTexts.of(names.schema)
    pairs = tables.codes.astype(np.int64) * (len(schemas.texts) + 1) + schemas.codes + 1
    found, of = np.unique(np.where(which, pairs, -1), return_inverse=True)
    openings = list[str | None]()
    for place, pair in enumerate(found.tolist()):
        if pair < 0:  # no key, or of no table, which is refused later
            openings.append("")
            continue
        table, schema = divmod(pair, len(schemas.texts) + 1)
        own = Source(schemas.texts[schema - 1] if schema else None, tables.texts[table])
        matching = reading.catalogue.matching(own)
        keys = [one.key for one in matching]
        if matching and all(not one.key and [column.name for column in one.columns] == [VALUE] for one in matching):
            openings.append(None)
            continue
        if len(keys) != 1 or len(keys[0]) != 1:
            given = ", ".join(keys[0]) or "no key columns" if len(keys) == 1 else "another meaning in several tables"
            text = f"the key of the deleted row is one value, and table {own} has {given}; {_REMEDY}"
            raise PublicDataError(Fault(where.place(int(np.flatnonzero(of == place)[0])), text))
        openings.append("{" + json_text(keys[0][0]).decode() + ":")
    return pa.array(openings, pa.string()).take(pa.array(of))
