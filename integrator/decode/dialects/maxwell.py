"""Maxwell's daemon's JSON lines (https://maxwells-daemon.io/dataformat/).

Operations: insert and bootstrap-insert, update, delete. An old image holds the values that changed; the others are as
in the new one. Maxwell says nothing of truncates. Definitions (table-alter …) and bootstrap marks are counted.

Positions: the place in the binlog, `position`, of the transaction's first row (output_binlog_position), or the order of
files and lines; a transaction is what has one `xid`, to the row with `commit`.

Values: dates and times as MySQL prints them, moments of TIMESTAMP columns in UTC; bytes in base64; sets as JSON.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.decode.contract import File, Reading
from integrator.decode.dialect import Decoded
from integrator.decode.fields import Where, instants
from integrator.decode.images import JsonValues, utc_typed
from integrator.decode.json.lines import Lines
from integrator.decode.json.objects import Objects
from integrator.decode.kinds import Kinds
from integrator.decode.positions import Positions, binlog, by_line, number
from integrator.decode.records import Records

EXPECTED = "a record of Maxwell"
KINDS = Kinds(
    actions={"insert": "I", "bootstrap-insert": "I", "update": "U", "delete": "D"},
    ignored={
        "bootstrap-start": "bootstrap marks",
        "bootstrap-complete": "bootstrap marks",
        **dict.fromkeys(
            ("table-create", "table-alter", "table-drop", "database-create", "database-alter", "database-drop"),
            "schema changes",
        ),
    },
)


def decode(lines: Lines, file: File, _reading: Reading) -> Decoded:
    """Return the changes in `lines`. Raises DataError."""
    objects = Objects(lines, EXPECTED)
    action, at, ignored = KINDS.sort(objects.text("type"), objects.lines, "type")
    keep = pa.array(at)
    data, changed = objects.raw("data").take(keep), objects.raw("old").take(keep)
    old = pc.if_else(pa.array(action == "D"), data, changed)
    line = objects.lines.numbers[at]
    where = Where(file.path, line)
    found = Records(
        lines=objects.lines,
        action=action,
        schema=objects.text("database").take(keep),
        table=objects.text("table").take(keep),
        values=JsonValues(objects.lines, line, data, old, convert=utc_typed),
        old=mask(pc.is_valid(changed)) & (action == "U"),
        line=line,
        cap_tstamp=instants(objects.text("ts").take(keep), where, "ts", "s"),
        old_of_changes=True,
        ignored=ignored,
    )
    xid, commits = objects.text("xid").take(keep), mask(pc.equal(objects.text("commit").take(keep), "true"))
    position = objects.text("position").take(keep)
    commit = pc.coalesce(binlog(position, where, "position"), by_line(file.number, line))
    ends = commits if commits.any() or xid.null_count < len(xid) else None
    return found, Positions(pc.coalesce(xid, position), commit, number(xid), found.row_counts, ends)
