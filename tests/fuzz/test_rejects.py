"""With errors.tolerance: all, the lines of a file that are wrong are rejected, and the others are read as if alone."""

import dataclasses

import pytest

from integrator.contracts.changes import OpenTransaction
from integrator.decode.contract import File
from integrator.decode.dialects import DIALECTS
from tests.fuzz import units
from tests.fuzz.decode import reading_for
from tests.fuzz.setups import SETUPS

SEED, LINES = 20261124, 300
OF_LINES = [setup for setup in SETUPS if not setup.is_csv]
OTHERS_FAULT = (
    "which is not after",
    "came before: both would be sent as table",
    "one image of an update, of which the other is not there",
)
"""Reasons for which a line is rejected that is right alone."""


def read(setup, reading, path):
    """The lines that have rows, those that are rejected, with their reasons, and how many rows were counted."""
    rows, rejected, ignored = set(), {}, 0
    for batch in DIALECTS[setup.dialect].read(File(str(path), 1), OpenTransaction, reading):
        rows |= {int(line) for part in batch.changes for one in part.apart() for line in one.line}
        rejected |= {one.line: one.reason for one in batch.rejected}
        ignored += sum(batch.ignored.values())
    return rows, rejected, ignored


@pytest.mark.parametrize("setup", OF_LINES, ids=lambda setup: setup.name)
def test_wrong_lines_are_rejected_and_others_are_read(setup, tmp_path):
    reading = dataclasses.replace(reading_for(setup, tmp_path), tolerant=True)
    made = [units.unit(setup, SEED, number) for number in range(LINES)]
    made = [one for one in made if not one.verdict.skipped]
    data, owners = units.file_of(setup, made)
    path = tmp_path / "f.jsonl"
    path.write_bytes(data)
    rows, rejected, _ = read(setup, reading, path)
    assert not rows & set(rejected)
    odd = []
    for line, (one, at) in enumerate(owners, 1):
        verdict = one.verdicts[at]
        reason = rejected.get(line)
        if verdict.rows is None and not reason:
            odd.append((line, one.lines[at], "taken", verdict.reason))
        others = any(other.rows is None for other in one.verdicts) or any(
            text in (reason or "") for text in OTHERS_FAULT
        )
        if verdict.rows is not None and not verdict.notes and reason and not others:
            odd.append((line, one.lines[at], reason, "rows"))
        if reason:
            assert reason.startswith(f"{path}:{line}: "), reason
    assert odd == []
    assert len(rejected) > LINES // 10
    assert read(setup, reading, path)[:2] == (rows, rejected)
