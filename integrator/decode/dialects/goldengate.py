"""Oracle GoldenGate's JSON formatter, operation and row mode, as JSON lines.

https://docs.oracle.com/en/middleware/goldengate/big-data/. Operations: op_type I U D T. A compressed update leaves out
of `after` what did not change: it is as in `before`, or missing. In row mode, columns stand beside the other fields.

Positions: `pos`, the place in the trail, of the transaction's first operation; a transaction is what has one `xid`, or
one `csn`, where the template of metadata columns has them. Without `pos`: the order of files and lines.

Times are of `time_zone` where they say none. Names of columns may differ in case from the table's. Bytes are in base64.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import mask
from integrator.decode.contract import File, Reading
from integrator.decode.dialect import Decoded
from integrator.decode.fields import Where, digits
from integrator.decode.images import JsonValues, json_typed, stamps, zoned
from integrator.decode.json.lines import Lines
from integrator.decode.json.objects import Objects, lines_text
from integrator.decode.kinds import Kinds
from integrator.decode.positions import Positions, by_line, number
from integrator.decode.records import Records
from integrator.decode.text.binary import from_base64
from integrator.decode.text.refused import guarded
from integrator.schema import Column, describe

EXPECTED = "an operation of GoldenGate"
KINDS = Kinds({"I": "I", "U": "U", "D": "D", "T": "T", "INSERT": "I", "UPDATE": "U", "DELETE": "D", "TRUNCATE": "T"})
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
_STAMP = Column("op_ts", schema.Timestamp("us", zoned=True))


def decode(lines: Lines, file: File, reading: Reading) -> Decoded:
    """Return the changes in `lines`. Raises DataError."""
    objects = Objects(lines, EXPECTED)
    action, at, ignored = KINDS.sort(objects.text("op_type"), objects.lines, "op_type")
    keep, line = pa.array(at), objects.lines.numbers[at]
    in_row_mode = ~(objects.has("after") | objects.has("before"))[at] & (action != "T")
    row, deleted = lines_text(objects.lines).take(keep), action == "D"
    new = pc.if_else(pa.array(in_row_mode & ~deleted), row, objects.raw("after").take(keep))
    old = pc.if_else(pa.array(in_row_mode & deleted), row, objects.raw("before").take(keep))
    name = objects.text("table").take(keep)
    apart = _META.__contains__ if in_row_mode.any() else _is_mark

    def convert(column: Column, values: pa.Array) -> pa.Array:
        return typed(column, values, reading.time_zone)

    found = Records(
        lines=objects.lines,
        action=action,
        schema=pc.struct_field(pc.extract_regex(name, r"(?P<schema>[^.]+)\.[^.]+$"), "schema"),
        table=pc.replace_substring_regex(name, r"^.*\.", ""),
        values=JsonValues(objects.lines, line, new, old, apart, convert, fold=True),
        old=mask(pc.is_valid(old)) & (action == "U"),
        line=line,
        cap_tstamp=stamps(file.path, line, _STAMP, _micros(objects.text("op_ts").take(keep)), reading.time_zone),
        ignored=ignored,
    )
    xid, pos = objects.first_text(["xid", "csn"]).take(keep), objects.text("pos").take(keep)
    commit = pc.coalesce(_trail(pos, Where(file.path, line)), by_line(file.number, line))
    return found, Positions(pc.coalesce(xid, pos), commit, number(xid), found.row_counts)


def _is_mark(name: str) -> bool:
    """Say whether it is a mark of GoldenGate's Avro formatter, written as JSON."""
    return name.endswith("_isMissing")


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


def typed(column: Column, values: pa.Array, zone: str) -> pa.Array:
    """Return the text of values in the column's type. Raises ValueRefused."""
    match column.type:
        case schema.Bytes():
            return guarded(values, from_base64, describe(column.type))
        case schema.Date():  # Oracle's dates have a time
            return json_typed(column, pc.replace_substring_regex(values, r"[ :T]00:00:00(\.0+)?$", ""))
        case schema.Timestamp():
            spaced = _spaced(values)
            return zoned(column, spaced, zone) if column.type.zoned else json_typed(column, spaced)
        case _:
            return json_typed(column, values)
