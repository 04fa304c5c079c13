"""Plain rows as JSON lines: a line is a row, and inserts it. In topics, a record without a value deletes by its key.

A row stands alone, `{"id":1,…}`, or with its schema of Kafka Connect, `{"schema":{…},"payload":{"id":1,…}}`. Its values
are as Kafka Connect's converters write them: by the schema where there is one, else by the modes set in `debezium`. A
value that is no object is that of the column `value`. The placeholder of values that did not change
(`debezium.unavailable_value`), in rows that Debezium flattened, is missing.

A source whose records have keys gives the key of a record without a value as `{"schema":…,"deleted key":…}`: an object
with the key columns, with or without a schema, or the value of the only one.

Positions: the order of files and lines, or of offsets; there are no transactions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import flat
from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords, of_lines
from integrator.decode.dialects.debezium_coding import DebeziumCoding, fields_of, placeholders
from integrator.decode.dialects.fields import written_at
from integrator.decode.dialects.record_keys import KEY, PAYLOAD, SCHEMA, keyed, names_of, with_plain_keys
from integrator.decode.encodings.encoded import VALUE
from integrator.decode.fields import Where
from integrator.decode.json.document import Document, read_document
from integrator.decode.json.objects import Objects
from integrator.decode.lines.lines import RecordKeys
from integrator.decode.order.positions import Positions
from integrator.decode.rows.images import COLUMNS, JsonImages
from integrator.decode.rows.records import Records
from integrator.engine.arrays import Mask
from integrator.engine.grammar import OPEN

EXPECTED = "a row"


def decode(document: Document, reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    lines = _Lines.of(_with_objects(with_plain_keys(document, reading, EXPECTED)))
    keys = lines.objects.inner(KEY, COLUMNS, lines.keyed)
    rows = lines.objects.where(~lines.wrapped & ~lines.keyed)
    if lines.wrapped.any():
        rows = lines.objects.inner(PAYLOAD, COLUMNS, lines.wrapped).either(lines.wrapped, rows)
    there = rows.has_object | keys.has_object
    at = np.flatnonzero(there)
    ignored = {} if there.all() else {"tombstones": int((~there).sum())}
    objects, is_deleted = lines.objects.take(at), lines.keyed[at]
    where, names = Where.of(objects), names_of(objects, reading)
    nameless = pc.is_null(names.table).to_numpy(zero_copy_only=False)
    where.refuse(nameless, lambda _: "the row does not name its table; name it at the source location (table)")
    schemas = objects.labels_with_left_out(SCHEMA)
    codes = np.where((lines.wrapped | lines.keyed)[at], schemas.codes, np.int32(-1))
    used = [codes == code for code in range(len(schemas.texts))]
    fields = [fields_of(text, where, of) if of.any() else {} for text, of in zip(schemas.texts, used, strict=True)]
    variants = (codes.astype(np.int64) + 1) * 8
    coding = DebeziumCoding(fields, reading.debezium, frozenset(codes[is_deleted].tolist()))
    values = JsonImages(
        rows.take(at),
        keys.take(at),
        coding,
        unavailable=placeholders(reading.debezium.unavailable_value),
        variant=variants,
        declared=coding.datatype,
        retyped=coding.retyped,
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


def _with_objects(document: Document) -> Document:
    """Return a document in which each value with a schema is an object: one that is none is that of a column."""
    lines = _Lines.of(document)
    if not lines.wrapped.any():
        return document
    at = lines.objects.slices(PAYLOAD)
    alone = lines.wrapped & (at.first_bytes(document.text) != OPEN) & ~at.nulls(document.text)
    if not alone.any():
        return document
    parts = ('{"schema":', lines.objects.raw(SCHEMA), f',"{PAYLOAD}":{{"{VALUE}":', lines.objects.raw(PAYLOAD), "}}\n")
    own = document.lines
    data, offsets = flat(pc.if_else(pa.array(alone), pc.binary_join_element_wise(*parts, ""), own.array))
    made = own.like(data.tobytes(), own.numbers, offsets.astype(np.int32), own.left_out, own.origin)
    return read_document(made, EXPECTED)


class _Lines(NamedTuple):
    """Lines, and which have a row with a schema, and which a key."""

    objects: Objects
    wrapped: Mask
    keyed: Mask

    @staticmethod
    def of(document: Document) -> _Lines:
        objects = Objects.of_lines(document).find(SCHEMA, PAYLOAD, KEY)
        pairs = (objects.counts() == 2) & objects.has(SCHEMA)
        return _Lines(objects, pairs & objects.has(PAYLOAD), keyed(objects))


DIALECT = of_lines(JsonRecords(decode, EXPECTED, (SCHEMA, PAYLOAD), keys=RecordKeys(KEY)), ())
