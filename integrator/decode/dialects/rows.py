"""Plain rows as JSON lines: a line is a row, and inserts it. In topics, a record without a value deletes by its key.

A row stands alone, `{"id":1,…}`, or with its schema of Kafka Connect, `{"schema":{…},"payload":{"id":1,…}}`. Its values
are as Kafka Connect's converters write them: by the schema where there is one, else by the modes set in `debezium`. The
placeholder of values that did not change (`debezium.unavailable_value`), in rows that Debezium flattened, is missing.

A source whose records have keys gives the key of a record without a value as `{"schema":…,"deleted key":…}`: an object
with the key columns, with or without a schema, or the value of the only one.

Positions: the order of files and lines, or of offsets; there are no transactions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import flat, mask
from integrator.contracts.streams import Source
from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords, of_lines
from integrator.decode.dialects.debezium_coding import DebeziumCoding, fields_of, placeholders
from integrator.decode.fields import Qualified, Where, named, written_at
from integrator.decode.json.document import Document, read_document
from integrator.decode.json.objects import Objects
from integrator.decode.json.slices import DictionaryTexts
from integrator.decode.lines.lines import json_text
from integrator.decode.order.positions import Positions
from integrator.decode.rows.images import COLUMNS, JsonImages
from integrator.decode.rows.records import Records
from integrator.engine.arrays import Mask
from integrator.engine.grammar import OPEN
from integrator.errors import Fault, PublicDataError

EXPECTED = "a row"
SCHEMA, PAYLOAD, KEY = "schema", "payload", "deleted key"
_REMEDY = (
    "have the producer write all key columns as the record's key, or declare which column is the key: "
    "{action: ColumnProperties, Name: …, Key: true}"
)


def decode(document: Document, reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    lines = _Lines.of(_with_plain_keys(document, reading))
    keys = lines.objects.inner(KEY, COLUMNS, lines.keyed)
    rows = lines.objects.where(~lines.wrapped & ~lines.keyed)
    if lines.wrapped.any():
        rows = lines.objects.inner(PAYLOAD, COLUMNS, lines.wrapped).either(lines.wrapped, rows)
    there = rows.has_object | keys.has_object
    at = np.flatnonzero(there)
    ignored = {} if there.all() else {"tombstones": int((~there).sum())}
    objects, is_deleted = lines.objects.take(at), lines.keyed[at]
    where, names = Where.of(objects), _names(objects, reading)
    nameless = pc.is_null(names.table).to_numpy(zero_copy_only=False)
    where.refuse(nameless, lambda _: "the row does not name its table; name it at the source location (table)")
    schemas = objects.labels_with_left_out(SCHEMA)
    codes = np.where((lines.wrapped | lines.keyed)[at], schemas.codes, np.int32(-1))
    used = [codes == code for code in range(len(schemas.texts))]
    fields = [fields_of(text, where, of) if of.any() else {} for text, of in zip(schemas.texts, used, strict=True)]
    variants = (codes.astype(np.int64) + 1) * 8
    coding = DebeziumCoding(fields, reading.debezium)
    values = JsonImages(
        rows.take(at),
        keys.take(at),
        coding,
        unavailable=placeholders(reading.debezium.unavailable_value),
        variant=variants,
        declared=coding.datatype,
        infers=True,
    )
    found = Records(
        where=where,
        action=np.where(is_deleted, "D", "I"),
        database=names.database,
        schema=names.schema,
        table=names.table,
        values=values,
        old=np.zeros(len(at), np.bool_),
        cap_tstamp=written_at(objects),
        ignored=ignored,
    )
    return found, Positions.none(found.row_counts)


class _Lines(NamedTuple):
    """Lines, and which have a row with a schema, and which a key."""

    objects: Objects
    wrapped: Mask
    keyed: Mask

    @staticmethod
    def of(document: Document) -> _Lines:
        objects = Objects.of_lines(document).find(SCHEMA, PAYLOAD, KEY)
        pairs = (objects.counts() == 2) & objects.has(SCHEMA)
        return _Lines(objects, pairs & objects.has(PAYLOAD), pairs & objects.has(KEY))


def _names(objects: Objects, reading: Reading) -> Qualified:
    """Return the tables that the source has rows of, for rows name none."""
    nothing = pa.nulls(len(objects), pa.string())
    return named(Qualified(nothing, nothing, nothing), objects, reading.default_table)


def _with_plain_keys(document: Document, reading: Reading) -> Document:
    """Return a document in which each key is an object: one value has the name of the only key column.

    Raises DataError for one value where the table has several key columns, or none.
    """
    objects, _, keyed = _Lines.of(document)
    if not keyed.any():
        return document
    at = objects.slices(KEY)
    are_objects = keyed & (at.first_bytes(document.text) == OPEN)
    inner = objects.inner(KEY, COLUMNS, are_objects).find(SCHEMA, PAYLOAD)
    wrapped = are_objects & (inner.counts() == 2) & inner.has(SCHEMA) & inner.has(PAYLOAD)
    values = pc.if_else(pa.array(wrapped), inner.raw(PAYLOAD), objects.raw(KEY))
    alone = keyed & mask(pc.invert(pc.starts_with(values, "{")))
    odd = wrapped | alone
    if not odd.any():
        return document
    openings = pc.if_else(pa.array(alone), _only_keys(objects, alone, reading), "")
    keys = pc.binary_join_element_wise(openings, values, pc.if_else(pa.array(alone), "}", ""), "")
    schemas = pc.if_else(pa.array(wrapped), inner.raw(SCHEMA), objects.raw(SCHEMA))
    parts = ('{"schema":', pc.fill_null(schemas, "null"), f',"{KEY}":', pc.fill_null(keys, "null"), "}\n")
    lines = document.lines
    data, offsets = flat(pc.if_else(pa.array(odd), pc.binary_join_element_wise(*parts, ""), lines.array))
    left_out = lines.left_out and replace(lines.left_out, codes=np.where(wrapped, np.int32(-1), lines.left_out.codes))
    own = lines.like(data.tobytes(), lines.numbers, offsets.astype(np.int32), left_out, lines.origin)
    return read_document(own, EXPECTED)


def _only_keys(objects: Objects, which: Mask, reading: Reading) -> pa.Array:
    """Return how the object of each key of `which` begins, which is one value. Raises DataError."""
    names, where = _names(objects, reading), Where.of(objects)
    tables = DictionaryTexts.of(names.table)
    schemas = DictionaryTexts.of(names.schema)
    pairs = tables.codes.astype(np.int64) * (len(schemas.texts) + 1) + schemas.codes + 1
    found, of = np.unique(np.where(which, pairs, -1), return_inverse=True)
    openings = []
    for place, pair in enumerate(found.tolist()):
        if pair < 0:  # no key, or of no table, which is refused later
            openings.append("")
            continue
        table, schema = divmod(pair, len(schemas.texts) + 1)
        own = Source(schemas.texts[schema - 1] if schema else None, tables.texts[table])
        keys = [one.key for one in reading.catalogue.matching(own)]
        if len(keys) != 1 or len(keys[0]) != 1:
            given = ", ".join(keys[0]) or "no key columns" if len(keys) == 1 else "another meaning in several tables"
            text = f"the key of the deleted row is one value, and table {own} has {given}; {_REMEDY}"
            raise PublicDataError(Fault(where.place(int(np.flatnonzero(of == place)[0])), text))
        openings.append("{" + json_text(keys[0][0]).decode() + ":")
    return pa.array(openings, pa.string()).take(pa.array(of))


DIALECT = of_lines(JsonRecords(decode, EXPECTED, (SCHEMA, PAYLOAD), keys=KEY), ())
