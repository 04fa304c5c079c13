"""wal2json, format version 2: a line is one action: B begin, C commit, I U D T changes, M message."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask
from integrator.decode.dialect import Decoded
from integrator.decode.dialects import postgres
from integrator.decode.dialects.wal2json_v1 import CODING, check_list
from integrator.decode.fields import Where
from integrator.decode.json.document import Document
from integrator.decode.json.named import NamedLists, as_objects, lists_of_pairs, plain_names
from integrator.decode.json.objects import Objects
from integrator.decode.order.positions import Begins, Positions
from integrator.decode.rows.images import JsonImages
from integrator.decode.rows.records import Records
from integrator.engine.arrays import Ints, Mask
from integrator.errors import Fault, PublicDataError

EXPECTED = "wal2json version 2"
_REMEDY = "start with a file that holds the transaction's begin (action B), and record with include-transaction"
_MEMBERS = ("action", "xid", "timestamp", "lsn", "nextlsn", "schema", "table", "columns", "identity")


def positions(document: Document) -> Positions:
    """Return where the lines of a document stand. Raises DataError."""
    objects = _objects(document)
    actions = postgres.actions(objects)
    return _positions(objects, actions, postgres.row_counts(actions, _lists_of(objects, "identity")))


def decode(document: Document) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    objects = _objects(document)
    images = [_named(objects, name) for name in ("columns", "identity")]
    plain = plain_names(document, np.concatenate([image.name for image in images]), EXPECTED)
    if plain is not None:
        return decode(plain)
    actions, (after, before) = postgres.actions(objects), as_objects(document, images)
    found = Records(
        where=Where.of(objects),
        action=actions,
        schema=objects.labels("schema").encoded(),
        table=objects.labels("table").encoded(),
        values=JsonImages(after, before, CODING),
        old=images[1].counts > 0,
        cap_tstamp=None,
    )
    return found, _positions(objects, actions, found.row_counts)


def _objects(document: Document) -> Objects:
    return Objects.of_lines(document).required(EXPECTED).find(*_MEMBERS)


def _lists_of(objects: Objects, name: str) -> Mask:
    """Return which records have a list of that name with something in it. Raises DataError for what is no list."""
    is_list = check_list(objects, name, f"list of names and values; expected {EXPECTED}")
    node = objects.node(name)
    return np.asarray(is_list & (objects.document.nodes.after[node] > node + 1), np.bool_)


def _named(objects: Objects, name: str) -> NamedLists:
    """Return the images that are lists of objects with a name and a value each. Raises DataError."""
    _lists_of(objects, name)
    return lists_of_pairs(objects, name, "name", "value", EXPECTED)


def _positions(objects: Objects, actions: npt.NDArray[np.str_], rows: Ints) -> Positions:
    """Return where lines stand: the commit of a transaction, its number and its commit time are in its begin."""
    where = Where.of(objects)
    commit = postgres.commit(where, objects.text("nextlsn"))
    segment = postgres.transaction(where, objects.text("xid"))
    begins = actions == "B"
    at = np.flatnonzero(begins)
    nameless = first(mask(pc.is_null(commit)) & begins)
    if nameless is not None:
        raise PublicDataError(
            Fault(
                where.place(nameless),
                "the transaction has no nextlsn, so its changes have no place in the "
                "order; record with the options include-lsn=1 and include-xids=1",
            )
        )
    stamps = postgres.instants(objects.text("timestamp").take(pa.array(at)), where.take(at))
    marks = Begins(begins, stamps, _REMEDY)
    return Positions(None, commit, segment, rows, actions == "C", bool(begins[0]), marks, form=EXPECTED)
