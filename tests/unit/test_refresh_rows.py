"""Rows of a refresh in Arrow, as Spark hands them over: the same values as the changes of the channel have."""

import datetime
import json

import pyarrow as pa
import pytest

from integrator.contracts.fragments import FILE_SUMMARY
from integrator.errors import DataError, from_wire
from integrator.plan import build
from integrator.refresh.rows import BEGINNING, Rows, fragments
from integrator.transform.expression import SliceOfTable
from tests.parts import pure

STARTED = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
NUMBERS = (
    "create table t(id int primary key, n numeric, d numeric(6,2), r real, f double precision, l numeric[], s text);"
)


def refreshed(
    directory, ddl, rows, *, dialect="wal2json", url="jdbc:postgresql://db/shop", sql="postgres", actions="", **of_rows
):
    """The rows of a table as messages, given as texts."""
    (directory / "tables.sql").write_text(ddl)
    path = directory / "channel.yaml"
    path.write_text(
        f"""
channel: pure
locations:
  src: {{class: files, path: {directory}/in, dialect: {dialect}}}
  tab: {{class: jdbc, url: "{url}"}}
  kaf: {{class: kafka, Kafka_Brokers: [localhost]}}
tables: [{{file: {directory}/tables.sql, sql_dialect: {sql}}}]
actions:
  - {pure.PLAIN}
{actions}"""
    )
    recipe = build(str(path), "UTC", None, refreshing=True).recipe
    asked = Rows(recipe, "t", of_rows.pop("number", 1), BEGINNING, STARTED, str(directory), **of_rows)
    columns = {column.name: pa.string() for column in recipe.tables[0].in_source.columns}
    batches = pa.Table.from_pylist(rows, schema=pa.schema(columns)).to_batches()
    try:
        found = pa.Table.from_batches(list(fragments(asked, iter(batches)))).to_pylist()
    except RuntimeError as error:
        raise from_wire(str(error)) or error from None
    return [json.loads(row["payload"]) for row in found if row["op"] != FILE_SUMMARY]


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_wal2json_has_no_word_for_are_null_in_both(word, tmp_path):
    row = {"id": "1", "n": word, "d": word, "r": word, "f": word, "l": None, "s": word}
    assert refreshed(tmp_path, NUMBERS, [row]) == [
        {"id": 1, "n": None, "d": None, "r": None, "f": None, "l": None, "s": word}
    ]
    changes = {"action": "I", "xid": 9, "schema": "public", "table": "t"}
    begin = {"action": "B", "xid": 9, "nextlsn": "0/20", "timestamp": "2026-01-01 00:00:00+00"}
    written = {**row, **dict.fromkeys("ndrf"), "id": 1}  # as wal2json writes it
    columns = [{"name": name, "value": value} for name, value in written.items()]
    path = tmp_path / "1.jsonl"
    path.write_text(
        "\n".join(map(json.dumps, (begin, {**changes, "columns": columns}, {**begin, "action": "C"}))) + "\n"
    )
    assert pure.read(build(str(tmp_path / "channel.yaml"), "UTC", None).recipe, path) == refreshed(
        tmp_path, NUMBERS, [row]
    )


def test_beside_changes_of_another_dialect_they_are_kept(tmp_path):
    row = {"id": "1", "n": "NaN", "s": "x"}
    [got] = refreshed(tmp_path, NUMBERS, [row], dialect="hvr")
    assert got["n"] == "NaN"


def test_values_that_old_dates_and_foreign_blanks_have(tmp_path):
    ddl = "create table t(id int primary key, at timestamptz, tags text[], mask bit(3));"
    row = {"id": "1", "at": "1890-01-01 00:53:28+00:53:28", "tags": '{\u00a0,"x y"}', "mask": "101"}
    assert refreshed(tmp_path, ddl, [row]) == [
        {"id": 1, "at": "1890-01-01T00:00:00Z", "tags": ["\u00a0", "x y"], "mask": "101"}
    ]


def test_values_of_mysql(tmp_path):
    ddl = "create table t(id int primary key, ok tinyint(1), seen bigint unsigned, mask bit(3), kinds set('a','b'));"
    row = {"id": "1", "ok": "7", "seen": "18446744073709551615", "mask": "101", "kinds": "a,b"}
    got = refreshed(tmp_path, ddl, [row], dialect="maxwell", url="jdbc:mysql://db/shop", sql="mysql")
    assert got == [{"id": 1, "ok": 7, "seen": 18446744073709551615, "mask": "101", "kinds": "a,b"}]


@pytest.mark.parametrize(
    ("column", "kind", "value"),
    [("at", "timestamptz", "0001-01-01 00:00:00+01"), ("n", "integer", "0x1F"), ("mask", "bit(3)", "5")],
)
def test_what_no_column_may_have_is_refused_with_its_row(column, kind, value, tmp_path):
    rows = [{"id": "1", column: None}, {"id": "2", column: value}]
    with pytest.raises(DataError) as raised:
        refreshed(tmp_path, f"create table t(id int primary key, {column} {kind});", rows)
    assert f"refresh of t, slice 1, part 0, row 2: column {column}: '{value}' is no " in str(raised.value)


SLICED = """\
  - {action: ColumnProperties, Name: num, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_slice_num}"}
  - {action: ColumnProperties, Name: part, Extra: true, Datatype: varchar, IntegrateExpression: "{hvr_slice_num}/{hvr_slice_total}"}
  - {action: ColumnProperties, Name: of, Extra: true, Datatype: varchar, IntegrateExpression: "{hvr_slice_value}"}
  - {action: ColumnProperties, Name: s, CaptureExpression: "{hvr_slice_value}"}
  - {action: ColumnProperties, Name: twice, Extra: true, Datatype: integer, IntegrateExpression: "sql: 2 * {hvr_slice_num}"}
"""
PARTS = [
    # the slice, and the columns num, part, of, twice and s of its row
    ({"part": SliceOfTable(1, 3, None)}, [1, "1/3", None, 2, None]),
    ({"part": SliceOfTable(2, 4, "it's")}, [2, "2/4", "it's", 4, "it's"]),
    ({"part": SliceOfTable(0, 1, None)}, [0, "0/1", None, 0, None]),
]


@pytest.mark.parametrize(("given", "columns"), PARTS)
def test_rows_know_which_slice_they_are_of(given, columns, tmp_path):
    [row] = refreshed(
        tmp_path, "create table t(id int primary key, s text);", [{"id": "1", "s": "x"}], actions=SLICED, **given
    )
    assert [row[name] for name in ("num", "part", "of", "twice", "s")] == columns


def test_changes_are_of_no_slice(tmp_path):
    recipe = pure.recipe(tmp_path, "create table t(id int primary key, s text);", f"  - {pure.PLAIN}\n{SLICED}")
    [row] = pure.read(recipe, pure.hvr(tmp_path, {"id": 1, "s": "x"}))
    assert [row[name] for name in ("num", "part", "of", "twice", "s")] == [None, "/", None, None, None]
