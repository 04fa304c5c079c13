"""Delta Lake: change data feeds of a real table, in each container that holds all of its columns."""

import base64
import json

import pytest

from tests.conftest import ROOT
from tests.parts import pure

RECORDED = ROOT / "tests" / "data" / "delta"
DDL = (RECORDED / "tables.sql").read_text()
META = """  - {action: ColumnProperties, Name: op_val, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_op}"}
  - {action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, TimeKey: true, IntegrateExpression: "{hvr_integ_seq}"}
  - {action: ColumnProperties, Name: ratio, Datatype: varchar}
  - {action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}
"""
"""Doubles as text, as no number of JSON is infinite, or NaN."""

DIGITS = {"feed.jsonl": 3, "feed.parquet": 6}
"""Of a second, which Spark writes: by default, its JSON has milliseconds."""
DELETE, INSERT, UPDATE, OLD = 0, 1, 2, 4


def moment(text, digits):
    """A moment in UTC, as date, time and so many digits of its second, however it is written."""
    whole, _, fraction = text.removesuffix("Z").replace("T", " ").partition(".")
    return whole, fraction.ljust(6, "0")[:digits]


def values_of(row, digits, read):
    """The row as values; `read` makes them of the columns that are not read alike everywhere."""
    read = read | {"at": lambda text: moment(text, digits), "ratio": lambda text: repr(float(text))}
    return {name: value if value is None or name not in read else read[name](value) for name, value in row.items()}


def oracle(digits):
    """The table at the end, as Spark printed it, by key."""
    printed = {"id": int, "qty": int, "price": float, "flag": json.loads, "raw": bytes.fromhex, "tags": json.loads}
    rows = json.loads((RECORDED / "final.json").read_text(encoding="utf-8"))
    return {int(row["id"]): values_of(row, digits, printed) for row in rows}


def table_of(rows, digits):
    """The table that changes make, by key; each must be of a row that is there, or not yet."""
    table = {}
    for sent in rows:
        op = sent["op_val"]
        row = values_of(
            {name: sent[name] for name in sent.keys() - {"op_val", "seq"}}, digits, {"raw": base64.b64decode}
        )
        assert (row["id"] in table) == (op != INSERT)
        if op in {DELETE, OLD}:
            assert table[row["id"]] == row
        if op == DELETE:
            del table[row["id"]]
        if op in {INSERT, UPDATE}:
            table[row["id"]] = row
    return table


@pytest.mark.parametrize("dialect", ["delta-cdf", "auto"])
@pytest.mark.parametrize("name", DIGITS)
def test_the_feed_makes_the_table_that_spark_has(name, dialect, tmp_path):
    rows = pure.read(pure.recipe(tmp_path, DDL, META, dialect), RECORDED / name)
    made = table_of(sorted(rows, key=lambda row: row["seq"]), DIGITS[name])
    assert made == oracle(DIGITS[name])


@pytest.mark.parametrize("name", DIGITS)
def test_every_position_is_told_once_in_order_of_the_versions(name, tmp_path):
    sent, _ = pure.fragments(pure.recipe(tmp_path, DDL, META, "delta-cdf"), RECORDED / name)
    positions = sent["integ_seq"].to_pylist()
    assert positions == sorted(set(positions))
    feed = [json.loads(line) for line in (RECORDED / "feed.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(positions) == len(feed)  # an image each
    versions = [row["_commit_version"] for row in feed]
    assert versions != sorted(versions)
    assert [int(position[:20], 16) for position in positions] == sorted(versions)


COMMITS = {
    3: [(op, key) for key in (1, 3, 4) for op in (OLD, UPDATE)],
    6: [(DELETE, 5), (INSERT, 50)],
    7: [(DELETE, 25), *((op, key) for key in (26, 27, 28, 29) for op in (OLD, UPDATE)), (INSERT, 30)],
    8: [(op, key) for key in (4, 3) for op in (OLD, UPDATE)],
    9: [(DELETE, 8), (DELETE, 26)],
    10: [(DELETE, 2), (OLD, 1), (UPDATE, 1), (INSERT, 60), (INSERT, 61)],
    14: [(OLD, 60), (UPDATE, 60)],
    15: [(DELETE, 27), (DELETE, 28), (INSERT, 27), (INSERT, 28)],
}
"""What becomes of versions: an update, a key changed, keys moved by one, keys exchanged, a delete, a merge, an update of
nothing, rows replaced."""


@pytest.mark.parametrize("name", DIGITS)
def test_what_a_commit_becomes(name, tmp_path):
    rows = pure.read(pure.recipe(tmp_path, DDL, META, "delta-cdf"), RECORDED / name)
    commits = {}
    for row in sorted(rows, key=lambda row: row["seq"]):
        commits.setdefault(int(row["seq"][:20], 16), []).append((row["op_val"], row["id"]))
    for version, told in COMMITS.items():
        assert commits[version] == told
