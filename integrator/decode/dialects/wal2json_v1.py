"""wal2json, format version 1: a line is a transaction with the list of its changes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask
from integrator.decode.dialects import postgres
from integrator.decode.fields import Where
from integrator.decode.json.lines import Lines, arrow_json, parse_lines
from integrator.decode.json.text import quote_scalars
from integrator.decode.named_values import Named, NamedValues
from integrator.decode.records import Placed, Records
from integrator.errors import DataError

_TEXT = pa.string()
_TEXTS = pa.list_(_TEXT)
V1 = pa.schema(
    [
        ("xid", _TEXT),
        ("timestamp", _TEXT),
        ("nextlsn", _TEXT),
        (
            "change",
            pa.list_(
                pa.struct(
                    [
                        ("kind", _TEXT),
                        ("schema", _TEXT),
                        ("table", _TEXT),
                        ("columnnames", _TEXTS),
                        ("columnvalues", _TEXTS),
                        ("oldkeys", pa.struct([("keynames", _TEXTS), ("keyvalues", _TEXTS)])),
                    ]
                )
            ),
        ),
    ]
)
KINDS = {"insert": "I", "update": "U", "delete": "D", "truncate": "T", "message": "M"}


def records(lines: Lines) -> tuple[Records, Placed]:
    """Return the changes of the transactions in `lines`. Raises DataError."""
    table = parse_lines(lines, lambda data: arrow_json(V1, "ignore")(quote_scalars(data)), "wal2json version 1")
    for name in ("change", "nextlsn"):
        absent = first(pc.is_null(table[name]))
        if absent is not None:
            raise DataError(
                f"{lines.file}:{lines.numbers[absent]}: the transaction has no {name}; record with the option "
                "include-lsn=1, and without write-in-chunks"
            )
    change = table["change"].combine_chunks()
    flat = change.flatten()
    parent = pc.list_parent_indices(change).to_numpy(zero_copy_only=False)
    kinds = pc.fill_null(flat.field("kind"), "?").to_numpy(zero_copy_only=False)
    wrong = [(at, kind) for at, kind in enumerate(kinds) if kind not in KINDS]
    if wrong:
        at, kind = wrong[0]
        raise DataError(f"{lines.file}:{lines.numbers[parent[at]]}: the kind {kind!r} is none of {', '.join(KINDS)}")
    actions = np.array([KINDS[kind] for kind in kinds], "U1")
    old = flat.field("oldkeys")
    rows = (actions != "M").astype(np.int64)
    rows += (actions == "U") & mask(pc.is_valid(old))
    before = np.concatenate([[0], np.cumsum(rows)])
    starts = np.searchsorted(parent, np.arange(len(lines)))
    rank = before[:-1] - before[starts][parent]
    total = np.concatenate([before[starts[1:]], before[-1:]])
    index = pa.array(parent)
    names, values = flat.field("columnnames"), flat.field("columnvalues")
    old_names, old_values = old.field("keynames"), old.field("keyvalues")
    for one, other in ((names, values), (old_names, old_values)):
        uneven = first(
            pc.not_equal(pc.fill_null(pc.list_value_length(one), 0), pc.fill_null(pc.list_value_length(other), 0))
        )
        if uneven is not None:
            line = lines.numbers[parent[uneven]]
            raise DataError(f"{lines.file}:{line}: a change with another number of values than of names")
    new = Named.of(names.offsets, names.flatten(), values.flatten(), names)
    identity = Named.of(old_names.offsets, old_names.flatten(), old_values.flatten(), old)
    found = Records(
        lines=lines,
        action=actions,
        schema=flat.field("schema"),
        table=flat.field("table"),
        values=NamedValues(new, identity, lines.file, lines.numbers[parent]),
        old=identity.has,
        line=lines.numbers[parent],
        cap_tstamp=postgres.instants(table["timestamp"].combine_chunks(), Where(lines.file, lines.numbers)).take(index),
    )
    commit = postgres.commit(lines, table["nextlsn"].combine_chunks()).take(index)
    xid = postgres.transaction(lines, table["xid"].combine_chunks()).take(index)
    return found, Placed(commit, xid, rank, total[parent] - before[:-1])
