"""Oracle GoldenGate's JSON formatter, operation and row mode, as JSON lines.

https://docs.oracle.com/en/middleware/goldengate/big-data/. Operations: op_type I U D T. A compressed update leaves out
of `after` what did not change: it is as in `before`, or missing. In row mode, columns stand beside the other fields.

Positions: `pos`, the place in the trail, of the transaction's first operation; a transaction is what has one `xid`, or
one `csn`, where the template of metadata columns has them. Without `pos`: the order of files and lines.

Times are of `time_zone` where they say none. Names of columns may differ in case from the table's. Bytes are in base64.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import first, mask
from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords, mark, of_lines
from integrator.decode.dialects.fields import qualified
from integrator.decode.dialects.texts import TextCoding, from_base64, json_typed
from integrator.decode.fields import Where, digits
from integrator.decode.json.document import Document
from integrator.decode.json.objects import Objects, names_of
from integrator.decode.json.slices import raw_of
from integrator.decode.order.positions import Positions, number
from integrator.decode.rows.coding import stamps, zoned
from integrator.decode.rows.images import COLUMNS, JsonImages
from integrator.decode.rows.operations import Operations
from integrator.decode.rows.records import Records
from integrator.decode.text.refused import guarded
from integrator.engine.arrays import Mask, Places
from integrator.engine.values import Slices
from integrator.errors import DataError, Fault
from integrator.schema import Type, describe

EXPECTED = "an operation of GoldenGate"
OPERATIONS = Operations({word: word[0] for word in (*"IUDT", "INSERT", "UPDATE", "DELETE", "TRUNCATE")})
_META = frozenset(
    [
        "table",
        "op_type",
        "op_ts",
        "current_ts",
        "pos",
        "primary_keys",
        "tokens",
        "xid",
        "csn",
        "txind",
        "before",
        "after",
    ]
)
_MISSING = "_isMissing"


def decode(document: Document, reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    objects = Objects.of_lines(document).required(EXPECTED).find(*_META)
    action, at, ignored = OPERATIONS.classify(objects.labels("op_type"), Where.of(objects), "op_type")
    objects = objects.take(at)
    where = Where.of(objects)
    in_row_mode = ~(objects.has("after") | objects.has("before")) & (action != "T")
    deleted = action == "D"
    after = objects.inner("after", COLUMNS, np.isin(action, ["I", "U"]))
    before = objects.inner("before", COLUMNS, np.isin(action, ["U", "D"]))
    after = objects.where(in_row_mode & ~deleted).either(in_row_mode & ~deleted, after)
    before = objects.where(in_row_mode & deleted).either(in_row_mode & deleted, before)
    name = objects.text("table")
    _check_names(reading, name, in_row_mode, where)
    names, zone = qualified(name, where, "table"), reading.time_zone
    coding = TextCoding(f"goldengate {zone}", lambda kind, values: typed(kind, values, zone), zoned="own")
    found = Records(
        where=where,
        action=action,
        database=names.database,
        schema=names.schema,
        table=names.table,
        values=JsonImages(
            after,
            before,
            coding,
            _is_apart,
            fold=True,
            variant=in_row_mode.astype(np.int64),
            hidden=_missing(document, after, before),
        ),
        old=before.filled & (action == "U"),
        cap_tstamp=stamps(where, "op_ts", _micros(objects.text("op_ts")), zone),
        ignored=ignored,
    )
    xid, pos = objects.first_text(["xid", "csn"]), objects.text("pos")
    commit = _trail(pos, where)
    return found, Positions(pc.coalesce(xid, pos), commit, number(xid), found.row_counts)


def _is_apart(name: str, in_row_mode: int) -> bool:
    """Return whether it is a field of the record, or else a mark of GoldenGate's Avro formatter, written as JSON."""
    return name in _META if in_row_mode else name.endswith(_MISSING)


def _check_names(reading: Reading, name: pa.Array, in_row_mode: Mask, where: Where) -> None:
    """Raise DataError for a record in row mode of a table with a column that is named as one of the record's fields."""
    fields = _META if in_row_mode.any() else ()
    for column, table in ((own, table) for own in fields for table in reading.tables_with.get(own, ())):
        of_table = mask(pc.match_substring_regex(name, rf"(?i)(^|\.){re.escape(table.base_name)}$"))
        at = first(of_table & in_row_mode)
        if at is not None:
            raise DataError(
                Fault(
                    where.place(at),
                    f"table {table.name}: in row mode, column {column!r} has the name of a "
                    "field of the record; write operation mode (format=json)",
                )
            )


def _missing(document: Document, *images: Objects) -> Places | None:
    """Return the members of images whose mark (QTY_isMissing) is true: they are missing, whatever value they have."""
    if _MISSING.encode() not in document.lines.data:
        return None
    found = []
    for image in images:
        node, record = image.members()
        names = names_of(document, node)
        code_of = {text: code for code, text in enumerate(names.texts)}
        marked = np.array([code_of.get(text.removesuffix(_MISSING), -1) for text in names.texts], np.int64)
        is_mark = np.array([text.endswith(_MISSING) for text in names.texts], np.bool_)
        marks = np.flatnonzero(is_mark[names.codes])
        is_true = mask(pc.equal(raw_of(document.text, Slices.of_nodes(document.nodes, node[marks])), "true"))
        wanted = record[marks[is_true]] << 32 | marked[names.codes[marks[is_true]]]
        found.append(node[np.isin(record << 32 | names.codes, wanted)])
    return np.concatenate(found)


def _trail(pos: pa.Array, where: Where) -> pa.Array:
    """Return a place in the trail, of 20 decimal digits, in 20 hex digits: the trail's file, and the place in it."""
    parts = pc.extract_regex(pos, r"^(?P<file>\d{10})(?P<at>\d{10})$")
    where.check(pos, mask(pc.is_null(parts)), "pos", "a place in the trail, of 20 digits")
    return pc.binary_join_element_wise(
        *(digits(pc.struct_field(parts, part), 10, where, "pos") for part in ("file", "at")), ""
    )


def _spaced(values: pa.Array) -> pa.Array:
    """Return moments with a space between date and time, where older versions have a colon."""
    return pc.replace_substring_regex(values, r"^(\d{4}-\d\d-\d\d):", r"\1 ")


def _micros(values: pa.Array) -> pa.Array:
    """Return moments of operations, of which some versions write nanoseconds, in microseconds."""
    return pc.replace_substring_regex(_spaced(values), r"(\.\d{6})\d{1,3}", r"\1")


def typed(kind: Type, values: pa.Array, zone: str) -> pa.Array:
    """Return the text of values in a type. Raises ValueRefused."""
    match kind:
        case schema.Bytes():
            return guarded(values, from_base64, describe(kind))
        case schema.Date():  # Oracle's dates have a time
            return json_typed(kind, pc.replace_substring_regex(values, r"[ :T]00:00:00(\.0+)?$", ""))
        case schema.Timestamp():
            spaced = _spaced(values)
            return zoned(kind, spaced, zone) if kind.zoned else json_typed(kind, spaced)
        case _:
            return json_typed(kind, values)


DIALECT = of_lines(JsonRecords(decode, EXPECTED), (mark("op_type", "table", certain=True),))
