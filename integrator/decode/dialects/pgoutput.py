"""PostgreSQL's own changes, as a location of class postgres captures them; decode/encodings/pgoutput.py has the frames.

The position of a change is that of its transaction's commit, `lsn`, its xid, and the number of the row in the
transaction. The before image of an update is the replica identity; an update whose identity did not change has none
(REPLICA IDENTITY DEFAULT). Unchanged values that are stored out of line (TOAST) are taken from the before image where
that has them, and are missing otherwise. Values are PostgreSQL's text, with the settings that a capture sets.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.contracts.sequence import SEQUENCE_WIDTHS
from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords, TransactionMarks, of_lines
from integrator.decode.dialects import postgres
from integrator.decode.dialects.texts import TextCoding
from integrator.decode.fields import Where, digits, instants
from integrator.decode.json.document import Document
from integrator.decode.json.objects import Objects
from integrator.decode.order.positions import NO_TRANSACTION, Begins, Positions
from integrator.decode.rows.images import COLUMNS, JsonImages
from integrator.decode.rows.records import Records
from integrator.decode.rows.without_form import NullingCoding
from integrator.decode.text.literals import in_words
from integrator.decode.text.values import from_column
from integrator.engine.arrays import Ints
from integrator.schema import Type

EXPECTED = "a change of PostgreSQL's pgoutput"
_SEGMENTS = dict(zip(("lsn", "xid"), SEQUENCE_WIDTHS, strict=False))
_REMEDY = "the spool has lost the segment before it; restore it"


def _typed(kind: Type, values: pa.Array) -> pa.Array:
    """Return PostgreSQL's text in a type; money as lc_monetary = C prints it: -$1,234.50. Raises ValueRefused."""
    item = kind
    while isinstance(item, schema.Array):
        item = item.item
    if isinstance(item, schema.Decimal) and item.role == "money":  # a comma before a digit is in a number
        values = pc.replace_substring(pc.replace_substring_regex(values, ",([0-9])", r"\1"), "$", "")
    return from_column(in_words(values, kind), kind)


CODING = NullingCoding(TextCoding("pgoutput", _typed, bare="none", scalars=True))


def decode(document: Document, _reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    objects = _objects(document).find("schema", "table", "new", "old")
    actions = postgres.actions(objects)
    after, before = objects.inner("new", COLUMNS), objects.inner("old", COLUMNS)
    found = Records(
        where=Where.of(objects),
        action=actions,
        schema=objects.labels("schema").encoded(),
        table=objects.labels("table").encoded(),
        values=JsonImages(after, before, CODING),
        old=before.has_object & (actions != "I"),
        cap_tstamp=None,
    )
    return found, _positions(objects, actions, found.row_counts)


def positions(document: Document) -> Positions:
    """Return where a document's changes stand. Raises DataError."""
    objects = _objects(document).find("old")
    actions = postgres.actions(objects)
    return _positions(objects, actions, postgres.row_counts(actions, objects.has("old")))


def _objects(document: Document) -> Objects:
    return Objects.of_lines(document).required(EXPECTED).find("action", "lsn", "time", "xid")


def _positions(objects: Objects, actions: postgres.Letters, rows: Ints) -> Positions:
    where, begins = Where.of(objects), actions == "B"
    commit, xid = (digits(objects.text(name), width, where, name) for name, width in _SEGMENTS.items())
    at = np.flatnonzero(begins)
    stamps = instants(objects.text("time").take(pa.array(at)), where.take(at), "time", "us")
    marks = Begins(begins, stamps, _REMEDY)
    segment = pc.fill_null(xid, NO_TRANSACTION)
    return Positions(None, commit, segment, rows, actions == "C", bool(begins[0]), marks, form=EXPECTED)


DIALECT = replace(
    of_lines(JsonRecords(decode, EXPECTED, joined=True, positions=positions), (), names_tables=True),
    commit_positions=True,
    in_transactions=True,
    connector="postgresql",
    finite=True,
    transactions=TransactionMarks(re.compile(rb'^{"action":"B"'), re.compile(rb'^{"action":"C"')),
)
