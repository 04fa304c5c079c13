"""wal2json, format version 1: a line is a transaction with the list of its changes."""

from __future__ import annotations

import numpy as np

from integrator.arrow.arrays import first
from integrator.decode.dialect import Decoded
from integrator.decode.dialects import postgres
from integrator.decode.dialects.texts import TextCoding
from integrator.decode.fields import Where
from integrator.decode.json.document import Document
from integrator.decode.json.named import NamedLists, as_objects, plain_names
from integrator.decode.json.objects import Objects
from integrator.decode.order.positions import Positions
from integrator.decode.rows.images import JsonImages
from integrator.decode.rows.records import Records
from integrator.decode.text.values import from_column
from integrator.engine.arrays import Mask
from integrator.engine.grammar import LIST
from integrator.errors import DataError, Fault, PublicDataError

EXPECTED = "wal2json version 1"
ACTIONS = {"insert": "I", "update": "U", "delete": "D", "truncate": "T", "message": "M"}
CODING = TextCoding("wal2json", lambda kind, values: from_column(values, kind), bare="none", scalars=True)


def decode(document: Document) -> Decoded:
    """Return the changes of the transactions in a document. Raises DataError."""
    lines = Objects.of_lines(document).required(EXPECTED).find("change", "nextlsn", "xid", "timestamp")
    where = Where.of(lines)
    for name in ("change", "nextlsn"):
        absent = first(lines.slices(name).nulls(document.text))
        if absent is not None:
            raise PublicDataError(
                Fault(
                    where.place(absent),
                    f"the transaction has no {name}; record with the option include-lsn=1, and without write-in-chunks",
                )
            )
    check_list(lines, "change")
    node, parent = lines.elements("change")
    changes = Objects.of_nodes(document, lines.line[parent], node, EXPECTED).required(EXPECTED)
    actions = _actions(changes)
    keys = changes.inner("oldkeys", EXPECTED)
    named = [(changes, "columnnames", "columnvalues"), (keys, "keynames", "keyvalues")]
    plain = plain_names(document, np.concatenate([one.elements(names)[0] for one, names, _ in named]), EXPECTED)
    if plain is not None:
        return decode(plain)
    images = [_lists(one, names, values) for one, names, values in named]
    after, before = as_objects(document, images)
    found = Records(
        where=Where.of(changes),
        action=actions,
        schema=changes.text("schema"),
        table=changes.text("table"),
        values=JsonImages(after, before, CODING),
        old=images[1].counts > 0,
        cap_tstamp=postgres.instants(lines.text("timestamp"), where).take(parent),
    )
    commit = postgres.commit(where, lines.text("nextlsn")).take(parent)
    xid = postgres.transaction(where, lines.text("xid")).take(parent)
    ends = np.append(np.diff(parent) != 0, True)[: len(parent)]
    return found, Positions(commit, commit, xid, found.row_counts, ends, closed=True, form=EXPECTED)


def _actions(changes: Objects) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    kinds = changes.labels("kind")
    unknown = [place for place, kind in enumerate(kinds.texts) if kind not in ACTIONS]
    wrong = first(np.isin(kinds.codes, [*unknown, -1]))
    if wrong is not None:
        kind = kinds.texts[kinds.codes[wrong]] if kinds.codes[wrong] >= 0 else "?"
        where = Where.of(changes).place(wrong)
        raise DataError(Fault(where, f"the kind {kind!r} is none of {', '.join(ACTIONS)}"))
    return np.array([ACTIONS[kind] for kind in kinds.texts], "U1")[kinds.codes]


def _lists(objects: Objects, names: str, values: str) -> NamedLists:
    """Return the images that two lists of each record make. Raises DataError where one is longer."""
    has, _ = check_list(objects, names), check_list(objects, values)
    name, of_name = objects.elements(names)
    value, of_value = objects.elements(values)
    counts = np.bincount(of_name, minlength=len(objects))
    uneven = first(counts != np.bincount(of_value, minlength=len(objects)))
    if uneven is not None:
        where = Where.of(objects).place(uneven)
        raise DataError(Fault(where, "a change with another number of values than of names"))
    return NamedLists(name, value, counts, has, objects.line)


def check_list(objects: Objects, name: str, what: str = f"list; expected {EXPECTED}") -> Mask:
    """Return which records have a list of that name. Raises DataError for what is neither a list nor null."""
    at, text = objects.slices(name), objects.document.text
    is_list = np.asarray((at.first_bytes(text) == LIST) & (at.end > 0), np.bool_)
    Where.of(objects).refuse(~(is_list | at.nulls(text)), lambda _: f"{name} is no {what}")
    return is_list
