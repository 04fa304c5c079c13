"""Delta Lake's change data feed, as JSON lines, CSV or Parquet (https://docs.delta.io/latest/delta-change-data-feed.html).

Rows have `_change_type`, `_commit_version` and `_commit_timestamp` beside the columns of one table. Operations: insert,
delete, and update_preimage with update_postimage, which stand in any order and are one update where version and key are
the same; others are a delete and an insert.

Positions: the commit's version, which is also the transaction. There is no order in a commit: deletes come first, then
updates, then inserts, each in the order of lines. A file is read as a whole, and holds whole commits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import first, mask
from integrator.contracts.sequence import SEQUENCE_WIDTHS
from integrator.decode.contract import File, Reading
from integrator.decode.dialect import Decoded, Parts, mark, of_parts
from integrator.decode.dialects.texts import TextCoding, utc_typed
from integrator.decode.fields import Where, digits, integers
from integrator.decode.json.document import read_document
from integrator.decode.json.objects import Objects
from integrator.decode.lines.files import BLOCK_BYTES, open_file
from integrator.decode.lines.lines import Lines
from integrator.decode.order.positions import NO_TRANSACTION, Positions
from integrator.decode.rows.coding import INSTANT, stamps
from integrator.decode.rows.columns import RowValues
from integrator.decode.rows.images import JsonImages
from integrator.decode.rows.records import Records
from integrator.decode.rows.runs import Values
from integrator.decode.table_files import batches, control
from integrator.engine.arrays import Ints
from integrator.errors import DataError, Fault, Place, PublicDataError
from integrator.schema import Table, arrow_type

CODING = TextCoding("delta-cdf", utc_typed, zoned="utc")
TYPE, VERSION, STAMP = "_change_type", "_commit_version", "_commit_timestamp"
CHANGES = ("delete", "update_preimage", "update_postimage", "insert")


def parts(file: File, reading: Reading) -> Parts:
    """Return the parts of a file: one, for it is read as a whole. Raises DataError."""
    container = file.container_with(TYPE, reading)
    if container == "empty":
        return Parts(iter(()), lambda decoded: decoded)
    table = reading.only_table
    if table is None:
        raise PublicDataError(
            Fault(
                Place(file.path),
                "a change data feed does not name its table, and the channel has several; name it at the "
                "source location (table: …)",
            )
        )
    if container == "json":
        expected = f"a row of {table.name} with {TYPE}"

        most = 0

        def decode(lines: Lines) -> Decoded:
            nonlocal most
            most = max(most, len(lines))
            lost = len(lines) < most or bool(lines.rejected)
            objects = Objects.of_lines(read_document(lines, expected)).required(expected)
            return _decoded(_of_json(objects, table), objects.numbers, file, table, objects, rejected=lost)

        whole = dataclasses.replace(reading, whole_files=True)
        return Parts(file.lines(whole), decode, joined=True)
    return Parts(_of_tables(file, container, table), lambda decoded: decoded)


def _of_tables(file: File, container: str, table: Table) -> Iterator[Decoded]:
    if container == "csv":
        _check_quotes(file)
    found = list(batches(file.path, container, TYPE))
    if found:
        rows = pa.Table.from_batches(found)
        start = 1 if container == "parquet" else 2
        yield _decoded(rows, np.arange(start, start + len(rows)), file, table, None)


def _check_quotes(file: File) -> None:
    """Raise DataError for quotes as Spark writes them by default: readers of CSV take them for backslashes."""
    with open_file(file.path) as stream:
        while block := stream.read(BLOCK_BYTES):
            if b'\\"' in block:
                raise DataError(
                    Fault(
                        Place(file.path), 'has \\" in it: write it with option("escape", "\\""), or as JSON or Parquet'
                    )
                )


def _of_json(objects: Objects, table: Table) -> pa.Table:
    """Return the columns of rows in JSON by which they are ordered, as text; one that a row does not have is null."""
    names = dict.fromkeys((*table.key, TYPE, VERSION, STAMP))
    return pa.table({name: objects.text(name) for name in names})


def _decoded(
    rows: pa.Table, line: Ints, file: File, table: Table, objects: Objects | None, *, rejected: bool = False
) -> Decoded:
    """Return the changes of rows; `objects`, if they are of JSON, have their columns. rejected: whether lines are."""
    where = Where(file.path, line) if objects is None else Where.of(objects)
    for name in (TYPE, VERSION):
        lost = first(pc.is_null(rows[name])) if name in rows.column_names else 0
        if lost is not None:
            raise PublicDataError(Fault(where.place(lost), f"the row has no {name}"))
    kind = control(where, TYPE, rows[TYPE].combine_chunks(), schema.String())
    written = rows[VERSION].combine_chunks()
    if pa.types.is_string(written.type):
        where.check(written, mask(pc.starts_with(written, "-")), VERSION, "a whole number from 0 on")
        numbered = integers(written, where, VERSION)
    else:
        numbered = control(where, VERSION, written, schema.Integer(64))
    version, numbers = numbered.cast(pa.string()), numbered.to_numpy()
    wrong = first(pc.invert(pc.is_in(kind, pa.array(CHANGES))))
    if wrong is not None:
        raise DataError(
            Fault(
                where.place(wrong),
                f"{TYPE} is {kind[wrong].as_py()!r}; it is one of {', '.join(CHANGES)}",
            )
        )
    kinds = np.asarray(kind.to_pylist(), "U20")
    before = _preimages(rows, kinds, version, where, table)
    used = np.zeros(len(rows), bool)
    used[before[before >= 0]] = True
    if rejected:  # the image of an update alone would be a delete or an insert
        alone = np.isin(kinds, ["update_preimage", "update_postimage"]) & ~used & (before < 0)
        where.refuse(alone, lambda _: "one image of an update whose other image is missing, while lines are rejected")
    action = np.select(
        [(kinds == "insert") | ((kinds == "update_postimage") & (before < 0)), kinds == "update_postimage"],
        ["I", "U"],
        "D",
    )
    phase = np.where(action == "I", 2, np.where(action == "U", 1, 0))
    order = np.lexsort((np.arange(len(rows)), phase, numbers))
    order = order[~used[order]]
    stamp = pa.nulls(len(rows), arrow_type(INSTANT))
    if STAMP in rows.column_names:
        moments = rows[STAMP].combine_chunks()
        is_text = pa.types.is_string(moments.type)
        stamp = stamps(where, STAMP, moments, "UTC") if is_text else control(where, STAMP, moments, INSTANT)
    keep = pa.array(order)
    found = Records(
        where=where.take(order),
        action=action[order],
        schema=pa.nulls(len(order), pa.string()),
        table=pa.repeat(table.name, len(order)),
        values=_values(rows, order, np.where(before[order] >= 0, before[order], order), objects),
        old=before[order] >= 0,
        cap_tstamp=stamp.take(keep),
    )
    version = version.take(keep)
    commit = digits(version, SEQUENCE_WIDTHS[0], where.take(order), VERSION)
    return found, Positions(version, commit, pa.repeat(NO_TRANSACTION, len(order)), found.row_counts)


def _values(rows: pa.Table, new: Ints, old: Ints, objects: Objects | None) -> Values:
    """Return the values of records, of which these rows are the after and the before images."""
    apart = frozenset((TYPE, VERSION, STAMP))
    if objects is None:
        return RowValues(rows, new, old, apart, utc_typed)
    return JsonImages(objects.take(new), objects.take(old), CODING, lambda name, _: name in apart, whole=True)


def _preimages(rows: pa.Table, kinds: np.ndarray, version: pa.Array, where: Where, table: Table) -> Ints:
    """Return for each row the place of the image before it, -1 where there is none."""
    before = np.full(len(rows), -1, np.int64)
    pre, post = np.flatnonzero(kinds == "update_preimage"), np.flatnonzero(kinds == "update_postimage")
    if not table.key or not len(pre):
        return before
    absent = [name for name in table.key if name not in rows.column_names]
    if absent:
        raise PublicDataError(
            Fault(Place(where.file), f"the rows have no column {absent[0]!r}, which is in the key of {table.name}")
        )
    parts = [rows[name].combine_chunks().cast(pa.string()) for name in table.key]
    lengths = [pc.fill_null(pc.binary_length(part).cast(pa.string()), "null") for part in parts]
    measured = [text for part, length in zip(parts, lengths, strict=True) for text in (length, pc.fill_null(part, ""))]
    names = pc.binary_join_element_wise(version, *measured, " ")
    befores = names.take(pa.array(pre))
    firsts = np.unique(befores.dictionary_encode().indices.to_numpy(), return_index=True)[1]
    if len(firsts) < len(pre):
        again = int(np.delete(pre, firsts)[0])
        raise DataError(
            Fault(
                where.place(again),
                f"version {version[again].as_py()} updates several rows of table "
                f"{table.name} with one key ({', '.join(table.key)}), whose images cannot be paired; define a key "
                "whose values are unique",
            )
        )
    place = pc.index_in(names.take(pa.array(post)), befores)
    found = pc.fill_null(place, -1).to_numpy(zero_copy_only=False)
    before[post[found >= 0]] = pre[found[found >= 0]]
    return before


def check(lines: Lines, reading: Reading) -> None:
    """Check JSON lines apart, see `Dialect`: the two images of an update are not, so that only `null` is wrong."""
    expected = f"a row of {reading.default_table} with {TYPE}"
    Objects.of_lines(read_document(lines, expected)).required(expected)


DIALECT = replace(of_parts(parts, (mark(TYPE, certain=True),), check=check), in_transactions=True)
