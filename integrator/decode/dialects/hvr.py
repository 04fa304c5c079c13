"""The `hvr` dialect: one record is one change row, in JSON lines, CSV with a header, or Parquet, by inspection.

A record has the columns of its table and these, of which only hvr_op and hvr_tx_seq are always needed:

hvr_op            HVR's operation code, 0 to 5; an update is two records, 3 or 4 (before image) and then 2
hvr_tx_seq        the transaction's place in the order of commits: 1 to 20 hex digits
hvr_tbl_name      the table; may be left out where the location names one, or the channel has only one
hvr_tx_countdown  rows left in the transaction with this one: 3, 2, 1; then the order needs no counting over files
hvr_integ_seq     the row's place itself, 45 characters; then hvr_tx_seq is its first segment, and may be left out
hvr_cap_tstamp    commit time, with zone; hvr_cap_user: the user who made the change
hvr_missing       names of columns that the record has no value for, with commas between: for CSV and Parquet. In JSON
                  lines, a column that is not there is missing, and null is null.
"""

from __future__ import annotations

import json
from dataclasses import replace

from integrator.decode.contract import File, Reading
from integrator.decode.dialect import Parts, mark, of_parts
from integrator.decode.dialects import hvr_json, hvr_tables


def parts(file: File, reading: Reading) -> Parts:
    """Return the parts of a file."""
    match file.container_with("hvr_op", reading):
        case "empty":
            return Parts(iter(()), lambda decoded: decoded)
        case "json":
            return hvr_json.RECORDS.parts(file, reading)
        case container:
            placed = hvr_tables.positions(file.path, container)
            return Parts(hvr_tables.decoded(file.path, container, reading), lambda decoded: decoded, positions=placed)


def waits(line: bytes) -> bool:
    """Return whether a JSON line is a before image, whose after image is the next line; see `Dialect`."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and record.get("hvr_op") in (3, 4, "3", "4")


DIALECT = replace(
    of_parts(parts, (mark("hvr_op", certain=True),), check=hvr_json.RECORDS.check),
    commit_positions=True,
    waits=waits,
    in_transactions=True,
)
