"""Bulk refresh into a real broker: from files and from a live PostgreSQL, in slices, cut off and gone on with, online."""

import json
import os
import re
import signal
import subprocess
import sys
from datetime import datetime, timezone

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest
from structlog.testing import capture_logs

from integrator.errors import DataError, IntegratorError
from tests.parts import jdbc, kafka_io, postgres
from tests.parts.daemon import ROOT
from tests.parts.terminal import on_terminal, plain
from tests.unit import test_debezium

pytestmark = [pytest.mark.broker, pytest.mark.spark]

COLUMNS = """
  - {action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_op}"}
  - {action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, TimeKey: true, IntegrateExpression: "{hvr_integ_seq}"}
  - {action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}
"""


def channel(directory, servers, topic, location, ddl, more="", actions=COLUMNS):
    (directory / "tables.sql").write_text(ddl)
    path = directory / "channel.yaml"
    path.write_text(
        f"""
channel: re
state: {directory}/state
locations:
  tab: {location}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{topic}.{{hvr_tbl_name}}", Create_Topics: {{Partitions: 2}}}}
{more}
tables: [{directory}/tables.sql]
actions:
{actions}
"""
    )
    return path


def words_of(path, *words):
    return [sys.executable, "run.py", *words, "--channel", str(path)]


def rows(broker, topic):
    return [json.loads(message.value) for message in kafka_io.read_all(broker.servers, [topic])]


DDL = "create table orders(id int primary key, name varchar(40), amount decimal(10,2), at timestamp);"
TABLE = pa.table(
    {
        "id": pa.array(range(100), pa.int32()),
        "name": [{0: None, 1: "", 2: "two\nlines"}.get(i % 10, f'"n", \\{i}') for i in range(100)],
        "amount": pa.array(range(100)).cast(pa.decimal128(21, 2)).cast(pa.decimal128(10, 2)),
        "at": pa.array([1735689600000000 + i for i in range(100)], pa.timestamp("us")),
    }
)


def as_csv(path):
    lines = [
        f"{i},{'' if n is None else chr(34) + n.replace(chr(34), chr(34) * 2) + chr(34)},{a},{t}"
        for i, n, a, t in zip(*(TABLE[name].to_pylist() for name in TABLE.column_names), strict=True)
    ]
    path.write_text("\n".join([",".join(TABLE.column_names), *lines]) + "\n")


def as_json(path):
    path.write_text("".join(json.dumps(row, default=str) + "\n" for row in TABLE.to_pylist()))


WRITERS = {
    "csv": (as_csv, ""),
    "json": (as_json, ""),
    "parquet": (lambda path: pyarrow.parquet.write_table(TABLE, path), ""),
    "orc": (lambda path: pyarrow.orc.write_table(TABLE, path), ""),
}


@pytest.mark.parametrize("form", WRITERS)
def test_files_of_whole_tables(form, refresh, broker, tmp_path, name):
    write, more = WRITERS[form]
    write(tmp_path / f"orders.{form}")
    location = f'{{class: snapshot, path: "{tmp_path}/{{hvr_tbl_base_name}}.{form}", format: {form}{more}}}'
    path = channel(tmp_path, broker.servers, name, location, DDL)
    assert refresh(path, slices=("id%3",), parallel=2) == {"orders": 100}
    got = sorted(rows(broker, f"{name}.orders"), key=lambda row: row["id"])
    assert [(row["id"], row["name"], row["amount"], row["op"]) for row in got] == [
        (row["id"], row["name"], float(row["amount"]), 1) for row in TABLE.to_pylist()
    ]
    assert {row["seq"][:20] for row in got} == {"0" * 20}
    assert {row["seq"][21:27] for row in got} == {"000001", "000002", "000003"}
    assert len({row["seq"] for row in got}) == 100


def test_a_condition_and_slices_of_values(refresh, broker, tmp_path, name):
    pyarrow.parquet.write_table(TABLE, tmp_path / "orders.parquet")
    location = f'{{class: snapshot, path: "{tmp_path}/orders.parquet", format: parquet}}'
    actions = COLUMNS + (
        '  - {action: Restrict, RefreshCondition: "id >= {hvr_var_least}", SliceSeriesCondition: "id % 2 = {hvr_slice_value}"}\n'
        '  - {action: ColumnProperties, Name: part, Extra: true, Datatype: varchar, IntegrateExpression: "{hvr_slice_num}/{hvr_slice_total} {hvr_slice_value}"}\n'
    )
    path = channel(tmp_path, broker.servers, name, location, DDL, actions=actions)
    assert refresh(path, [("least", "90")], slices=("0;1",), truncate_record=True) == {"orders": 10}
    assert {path.stem for path in (tmp_path / "state" / "re" / "refresh").glob("orders*")} == {
        "orders.0-of-2",
        "orders.1-of-2",
    }
    [first, *others] = sorted(rows(broker, f"{name}.orders"), key=lambda row: row["seq"])
    assert (first["op"], first["id"]) == (5, None)
    assert sorted(row["id"] for row in others) == list(range(90, 100))
    assert {(row["id"] % 2, row["part"]) for row in others} == {(0, "0/2 0"), (1, "1/2 1")}


def ended(path, signal_number, sent):
    """Run `refresh` in eight slices and end it when so many are sent; return its exit code, and how many were sent then."""
    process = subprocess.Popen(
        words_of(path, "refresh", "--slice", "id%8"),
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "SPARK_MASTER": "local[2]", "TZ": "UTC"},
    )
    for line in process.stderr:
        sent -= '"slice sent"' in line
        if not sent:
            break
    at = datetime.now(timezone.utc).isoformat()
    os.kill(process.pid, signal_number)
    _, rest = process.communicate()
    events = [json.loads(line) for line in rest.splitlines() if line.startswith("{")]
    late = [one for one in events if one["event"] == "slice sent" and one["timestamp"].replace("Z", "+00:00") > at]
    return process.returncode, len(late)


def test_a_refresh_that_was_cut_off_sends_the_other_slices_only(refresh, broker, tmp_path, name):
    """Ended with Ctrl-C, and then with kill -9: the next run sends what is left, and another refresh is refused."""
    count = 80_000
    big = pa.table({"id": pa.array(range(count), pa.int32()), "name": [f"row {i}" for i in range(count)]})
    pyarrow.parquet.write_table(big, tmp_path / "orders.parquet")
    location = f'{{class: snapshot, path: "{tmp_path}/orders.parquet", format: parquet}}'
    path = channel(
        tmp_path, broker.servers, name, location, "create table orders(id int primary key, name varchar(40));"
    )
    state, through = tmp_path / "state" / "re", [set()]
    for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        ended_with, late = ended(path, number, 2)
        assert ended_with == code
        assert late <= 2
        assert (state / "suspended").read_text().strip() == "refresh"
        through.append({path.stem for path in (state / "refresh").glob("orders.*.json")})
        assert len(through[-1] - through[-2]) >= 2
        assert len(through[-1]) < 8
    with pytest.raises(IntegratorError, match="is not finished, and it was started with"):
        refresh(path, slices=("id%4",))
    assert (state / "suspended").exists()
    with capture_logs() as logs:
        assert refresh(path, slices=("id%8",)) == {"orders": count}
    assert not (state / "suspended").exists()
    again = {log["slice"] for log in logs if log["event"] == "slice sent"}
    assert again == {f"orders.{number}-of-8" for number in range(8)} - through[-1]
    got = rows(broker, f"{name}.orders")
    assert {row["id"] for row in got} == set(range(count))
    assert len(got) <= count + 2 * count // 8  # the slices that were cut off may come twice


def test_each_row_is_in_a_slice(refresh, broker, tmp_path, name):
    least = -(2**63)
    odd = [0.0, 1.0, -1.5, 7.5, float("nan"), float("inf"), float("-inf"), None, 1e300]
    table = pa.table({"id": pa.array([least, *range(1, len(odd))]), "x": pa.array(odd, pa.float64())})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    location = f'{{class: snapshot, path: "{tmp_path}/t.parquet", format: parquet}}'
    actions = COLUMNS + "  - {action: ColumnProperties, Name: x, Absent: true}\n"
    path = channel(
        tmp_path, broker.servers, name, location, "create table t(id bigint primary key, x double);", actions=actions
    )
    for slices in ("x%3", "id%4", "x<0<1"):
        assert refresh(path, slices=(slices,)) == {"t": len(odd)}


def test_rows_of_json_may_leave_out_null_and_write_names_in_another_case(refresh, broker, tmp_path, name):
    location = f'{{class: snapshot, path: "{tmp_path}/*.json", format: json}}'
    path = channel(
        tmp_path, broker.servers, name, location, "create table t(id int primary key, name varchar(9), n int);"
    )
    (tmp_path / "a.json").write_text('{"id":1,"NAME":"x"}\n{"id":2}\n')
    assert refresh(path) == {"t": 2}
    assert sorted((row["id"], row["name"], row["n"]) for row in rows(broker, f"{name}.t")) == [
        (1, "x", None),
        (2, None, None),
    ]
    (tmp_path / "a.json").write_text('{"id":1,"nam":"x"}\n')
    with pytest.raises(IntegratorError, match="has no name, n, which table t has; its first rows have id, nam"):
        refresh(path)


def test_a_row_that_spark_cannot_read_is_the_owners_of_the_data(refresh, broker, tmp_path, name):
    (tmp_path / "t.csv").write_text("id,name\n1,a\n2,b,c,d\n")
    location = f'{{class: snapshot, path: "{tmp_path}/t.csv", format: csv}}'
    path = channel(tmp_path, broker.servers, name, location, "create table t(id int primary key, name varchar(9));")
    with pytest.raises(DataError, match=r"table t: a row cannot be read: .*Malformed CSV record: 2,b,c,d"):
        refresh(path)
    assert not (tmp_path / "state" / "re" / "suspended").exists()  # no slice is through: another command may be given
    (tmp_path / "t.csv").write_text("id,name\n1,a\n2,b\n")
    assert refresh(path, slices=("id%2",)) == {"t": 2}


MISTAKES = [
    ({"tables": ("none",)}, "--table 'none' is no table that is sent; those are orders"),
    ({"slices": ("nope%3",)}, "'nope' is no column; there are id, name, amount, at"),
    ({"slices": ("5",)}, "a number of slices needs Restrict SliceCountCondition at the source"),
    ({"slices": ("orders.id<300<100",)}, "the bounds 300, 100 do not rise"),
    ({"slices": ("odd",)}, "'odd' is none of COL%N, COL<B1<B2, a number, or V1;V2"),
    ({"select_moment": "yesterday"}, "'yesterday' is none of lsn=0/16B3748 (PostgreSQL)"),
    ({}, "has no at, which table orders has"),
]


@pytest.mark.parametrize(("options", "reason"), MISTAKES)
def test_mistakes_are_named(options, reason, refresh, broker, tmp_path, name):
    pyarrow.parquet.write_table(TABLE.drop_columns(["at"]), tmp_path / "orders.parquet")
    location = f'{{class: snapshot, path: "{tmp_path}/orders.parquet", format: parquet}}'
    path = channel(tmp_path, broker.servers, name, location, DDL)
    with pytest.raises(IntegratorError) as raised:
        refresh(path, **options)
    assert reason in str(raised.value)
    assert not (tmp_path / "state" / "re" / "suspended").exists()


@pytest.fixture(scope="module")
def server():
    lacks = postgres.missing(wal2json=False) or ("" if jdbc.driver() else "PostgreSQL's JDBC driver from Maven Central")
    if lacks:
        pytest.skip(f"a live PostgreSQL needs {lacks}")
    with postgres.cluster() as running:
        yield running


def location_of(server):
    url = f"jdbc:postgresql://{server.host}:{server.port}/postgres"
    return f"{{class: jdbc, url: '{url}', user: {server.user}, jars: ['{jdbc.driver()}'], fetch_rows: 100}}"


def test_every_type_of_a_live_postgresql(refresh, server, broker, tmp_path, name):
    """The rows are what the hvr dialect reads of what PostgreSQL prints: exact, infinity and all that no type holds aside."""
    recorded = test_debezium.RECORDED
    server.psql((recorded / "tables.sql").read_text() + (recorded / "before.sql").read_text())
    server.psql("delete from types where id in (3, 4)")
    path = channel(tmp_path, broker.servers, name, location_of(server), test_debezium.DDL)
    refresh(path, tables=("types", "orders"), slices=("types.id<1",), parallel=2)
    [one, two] = sorted(rows(broker, f"{name}.types"), key=lambda row: row["id"])
    assert one["jb"] == '{"k": [1, 2.50, null], "n": "é"}'
    assert (one["price"], one["anynum"], one["flag"], one["day"]) == (12.5, "3.140", True, "2024-02-29")
    assert (one["b"], one["tags"], one["nums"], one["mood"]) == ("AP8Qqw==", ["a", "b"], [1, 2, 3], "ok")
    assert (one["tz"], one["tmu"], one["iv"]) == (
        "2024-02-29T10:34:56.789012Z",
        "12:34:56.789012",
        "P1Y2M3DT4H5M6.789012S",
    )
    assert {value for column, value in two.items() if column not in {"id", "op", "seq"}} == {None}
    assert [(row["id"], row["qty"]) for row in sorted(rows(broker, f"{name}.orders"), key=lambda r: r["id"])] == [
        (1, 10),
        (2, None),
    ]


def test_a_composite_with_a_null_field_is_no_null(refresh, server, broker, tmp_path, name):
    server.psql("create type pair as (a int, b text); create table pairs(id int primary key, p pair)")
    server.psql("insert into pairs values (1, row(1, null)), (2, row(null, null)), (3, null), (4, row(1, 'x'))")
    ddl = "create type pair as (a int, b text); create table pairs(id int primary key, p pair);"
    path = channel(tmp_path, broker.servers, name, location_of(server), ddl)
    refresh(path)
    found = {row["id"]: row["p"] for row in rows(broker, f"{name}.pairs")}
    assert found == {1: "(1,)", 2: "(,)", 3: None, 4: "(1,x)"}


def test_a_terminal_shows_slices_rows_and_the_time_left(server, broker, tmp_path, name):
    server.psql("create table many (id int primary key, v text)")
    server.psql("insert into many select n, repeat('x', 200) from generate_series(1, 150000) n; analyze many;")
    path = channel(
        tmp_path, broker.servers, name, location_of(server), "create table many (id int primary key, v text);"
    )
    code, written = on_terminal(
        words_of(path, "refresh", "--slice", "id%12"),
        more={"SPARK_MASTER": "local[2]", "TZ": "UTC"},
        stdout=tmp_path / "out",
    )
    assert code == 0, written
    lines = plain(written)
    # the database's statistics have its rows: how many there are is known before a slice is completed
    assert any(re.match(r"0 of 12 slices .* [0-9,]+ of ~150,000 rows", line) for line in lines), written
    assert any(re.match(r"[1-9]\d* of 12 slices .* rows +\d+:\d\d:\d\d left$", line) for line in lines), written
    assert any(re.match(r"many, slice \d+ of 12 .*[0-9,]+ rows +[0-9,]+ rows/s$", line) for line in lines)
    assert any(re.match(r"12 of 12 slices .* 150,000 rows$", line) for line in lines)
    assert len([line for line in lines if "slice sent" in line]) == 12
    assert (tmp_path / "out").read_text() == "many: 150,000 rows\n"


def test_a_database_that_is_not_there_is_named(spark, command, broker, tmp_path, name):
    if not jdbc.driver():
        pytest.skip("PostgreSQL's JDBC driver from Maven Central")
    location = f"{{class: jdbc, url: 'jdbc:postgresql://127.0.0.1:1/none', user: u, password: hush, jars: ['{jdbc.driver()}']}}"
    path = channel(tmp_path, broker.servers, name, location, DDL)
    done = command("refresh", "--channel", path, spark=spark)
    said = done.out + done.err
    assert done.code == 5, said
    assert "jdbc:postgresql://127.0.0.1:1/none: cannot be queried: " in said
    assert "Connection to 127.0.0.1:1 refused" in said
    assert "hush" not in said


def test_check_tries_the_database_table_by_table(spark, command, server, broker, tmp_path, name):
    server.psql("drop table if exists here; create table here(id int primary key, v text)")
    good = "create table here(id int primary key, v text);"
    path = channel(tmp_path, broker.servers, name, location_of(server), good)
    check = ("check", "--channel", path, "--refresh", "--connect")
    assert "1 table can be read" in command(*check, spark=spark).out
    wrong = good.replace("v text", "w text") + "create table gone(id int primary key);"
    path = channel(tmp_path, broker.servers, name, location_of(server), wrong)
    done = command(*check, spark=spark)
    assert done.code == 2, done.err
    said = [line for line in done.err.splitlines() if "$.locations" in line]
    assert len(said) == 2
    assert all("channel.yaml:5: $.locations.tab.url: " in line for line in said)
    assert ["gone" in line for line in sorted(said, key=len)].count(True) == 1
    assert any('column "w" does not exist' in line for line in said)


def test_rows_that_are_not_sent_are_counted(refresh, broker, tmp_path, name):
    pyarrow.parquet.write_table(TABLE, tmp_path / "orders.parquet")
    location = f'{{class: snapshot, path: "{tmp_path}/orders.parquet", format: parquet}}'
    actions = COLUMNS + '  - {action: Restrict, CaptureCondition: "{id} < 30"}\n'
    path = channel(tmp_path, broker.servers, name, location, DDL, actions=actions)
    with capture_logs() as logs:
        assert refresh(path) == {"orders": 100}  # rows read
    [sent] = [log for log in logs if log["event"] == "slice sent"]
    assert (sent["rows"], sent["messages"], sum(sent["not_sent"].values())) == (100, 30, 70)
    assert {row["id"] for row in rows(broker, f"{name}.orders")} == set(range(30))
