"""wal2json, format versions 1 and 2, recognized by inspection (https://github.com/eulerto/wal2json).

The position of a change is its transaction's `nextlsn`, its xid, and the number of the row in the transaction. The
before image of an update is the replica identity. A value that PostgreSQL left out of an after image (unchanged TOAST)
is taken from the before image where that has it, and is missing otherwise.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords, TransactionMarks, mark, of_lines
from integrator.decode.dialects import wal2json_v1, wal2json_v2
from integrator.decode.json.document import Document
from integrator.decode.json.objects import Objects
from integrator.decode.order.positions import Positions
from integrator.engine.grammar import LIST
from integrator.errors import DataError, Fault, Place

EXPECTED = "a record of wal2json"


def decode(document: Document, _reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    return wal2json_v1.decode(document) if _version(document) == 1 else wal2json_v2.decode(document)


def positions(document: Document) -> Positions:
    """Return where a document's changes stand. Raises DataError."""
    return wal2json_v1.decode(document)[1] if _version(document) == 1 else wal2json_v2.positions(document)


def _version(document: Document) -> int:
    """Return the version by the first line: a transaction with its changes (1), or one action (2)."""
    objects = Objects.of_lines(document).take(np.arange(1))
    change, action = objects.slices("change"), objects.slices("action")
    if change.end[0] and change.first_bytes(document.text)[0] == LIST:
        return 1
    if action.are_texts(document.text)[0]:
        return 2
    lines = document.lines
    raise DataError(
        Fault(
            Place(lines.file, int(lines.numbers[0])),
            f'neither wal2json version 1 (a line has a "change" list) nor version 2 '
            f'(a line has an "action"); {lines.shown(0)}',
        )
    )


DIALECT = replace(
    of_lines(
        JsonRecords(decode, EXPECTED, joined=True, positions=positions),
        (mark("change"), mark("action")),
        names_tables=True,
    ),
    commit_positions=True,
    in_transactions=True,
    connector="postgresql",
    finite=True,
    transactions=TransactionMarks(re.compile(rb'"action"\s*:\s*"B"'), re.compile(rb'"action"\s*:\s*"C"')),
)
