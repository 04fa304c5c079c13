"""Changes captured from a MariaDB and a MySQL: rows that tables have, and all that is committed after, each once and in order."""

import json
import os
import subprocess
import sys
from collections import defaultdict

import pytest

from integrator import plan
from integrator.contracts.fragments import WITHOUT_FORM
from integrator.errors import ConfigurationError, DataError, EnvironmentFault
from integrator.run import replanning
from integrator.sources.capture.read_tables import ReadTables
from tests.parts import kafka_io, mariadb, mysql, replays
from tests.parts.daemon import ROOT, Daemon
from tests.parts.waiting import until

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
]
PARTS = {"mariadb": mariadb, "mysql": mysql}

ROWS = [
    '{action: FileFormat, group: "*", Json: true, JsonMode: ROW_FRAGMENTS}',
    '{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_op}"}',
    "{action: ColumnProperties, Name: seq, Extra: true, TimeKey: true, Datatype: varchar, Length: 45, "
    'IntegrateExpression: "{hvr_integ_seq}"}',
]
"""Each row is a message, with its operation and its position."""


@pytest.fixture(scope="module", params=PARTS)
def server(request):
    parts = PARTS[request.param]
    if parts.missing():
        pytest.skip(parts.missing())
    with parts.cluster() as found:
        yield found


@pytest.fixture
def database(server, name):
    server.sql(f"create database {name}")
    yield lambda sql: server.sql(sql, name)
    server.sql(f"drop database {name}")


@pytest.fixture
def channel(server, database, broker, tmp_path, name):
    def write(location="", more="", actions=ROWS):
        path = tmp_path / "channel.yaml"
        listed = "".join(f"\n  - {one}" for one in actions)
        topic = (
            f'Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}", Create_Topics: {{Partitions: 1, Replication_Factor: 1}}'
        )
        path.write_text(
            f"""
channel: {name}
state: {tmp_path}/state
locations:
  src: {{class: {server.product}, address: "{server.address(name)}"{location}}}
  kaf: {{class: kafka, Kafka_Brokers: ["{broker.servers}"], {topic}{more}}}
actions:{listed or " []"}
"""
        )
        return path

    return write


def rows_of(broker, *topics):
    """The rows of topics by their topic, in order of partitions and offsets."""
    found = defaultdict(list)
    for message in kafka_io.read_all(broker.servers, list(topics)):
        found[message.topic].append(json.loads(message.value))
    return found


def test_rows_that_are_there_and_changes_that_follow(server, database, broker, channel, integrate_once, name):
    database(
        "create table t(k int primary key, v text); "
        f"insert into t select seq, concat('row ', seq) from {server.numbers(1, 1000)}"
    )
    path = channel()
    integrate_once(path)
    integrate_once(path)  # nothing is new
    database("insert into t values (1001, 'new'); update t set v = 'other' where k = 1; delete from t where k = 2")
    database(
        "begin; update t set k = 3000 where k = 3; rollback; begin; update t set k = 4000 where k = 4; commit; truncate t"
    )
    integrate_once(path)
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    assert sorted(row["k"] for row in rows[:1000]) == list(range(1, 1001))
    assert [(row["op"], row["k"]) for row in rows[1000:]] == [
        (1, 1001), (4, 1), (2, 1), (0, 2), (3, 4), (2, 4000), (5, None),
    ]  # fmt: skip
    assert [row["seq"] for row in rows] == sorted({row["seq"] for row in rows})


def test_what_a_cycle_needs_of_all_tables_is_learned_at_once(
    database, broker, channel, integrate_once, name, monkeypatch
):
    """Each table was found by a cycle that failed: thirty took 37 times as long, and rows were sent again."""
    learned = []
    monkeypatch.setattr(replanning, "learned", lambda *given: learned.append(1) or plan.learned(*given))
    for number in range(12):
        database(f"create table t{number} (id int primary key, v varchar(20)); insert into t{number} values (1, 'a')")
    path = channel()
    integrate_once(path)
    first = len(learned)
    for number in range(12):
        database(
            f"insert into t{number} values (2, 'b'); alter table t{number} add w int; insert into t{number} values (3, 'c', 3)"
        )
    integrate_once(path)
    assert (first, len(learned)) <= (1, 3)
    found = rows_of(broker, *(f"{name}.t{number}" for number in range(12)))
    assert all([row["id"] for row in rows] == [1, 2, 3] for rows in found.values())
    assert len(found) == 12


def test_two_rounds_of_rows_at_one_position_of_the_log(database, broker, channel, integrate_once, name):
    """A new table and one that was created again, while the capture was off: both are read at the end of the log."""
    database("create table k (id int primary key); insert into k values (1)")
    database("create table t (id int primary key, v varchar(20)); insert into t values (1, 'a')")
    path = channel()
    integrate_once(path)
    database("create table t2 (id int primary key); insert into t2 values (1); drop table t")
    database("create table t (id int primary key, v varchar(20), w int); insert into t values (7, 'new', 1)")
    integrate_once(path)
    integrate_once(path)
    found = rows_of(broker, f"{name}.t", f"{name}.t2", f"{name}.k")
    assert {topic.rpartition(".")[2]: [row["id"] for row in rows] for topic, rows in found.items()} == {
        "t": [1, None, 7],
        "t2": [1],
        "k": [1],
    }


def test_a_first_snapshot_that_is_broken_off_on_a_quiet_server(
    database, broker, channel, integrate_once, name, monkeypatch
):
    database("create table a (id int primary key); insert into a values (1)")
    database("create table b (id int primary key); insert into b values (1), (2)")
    path, end = channel(), ReadTables.note_read

    def breaks(*of):
        end(*of)
        raise KilledError

    with monkeypatch.context() as patched:
        patched.setattr(ReadTables, "note_read", breaks)
        with pytest.raises(KilledError):
            integrate_once(path)
    integrate_once(path)
    integrate_once(path)
    found = rows_of(broker, f"{name}.a", f"{name}.b")
    assert {topic.rpartition(".")[2]: {row["id"] for row in rows} for topic, rows in found.items()} == {
        "a": {1},
        "b": {1, 2},
    }


class KilledError(BaseException):
    """The process has ended at this step."""


def test_tables_and_columns_that_come_later(database, broker, channel, integrate_once, name):
    """The new table's rows come before its changes; a column that is dropped is missing, one that is wider has its type."""
    database("create table t(k int primary key, v text, n int); insert into t values (1, 'a', 1)")
    path = channel()
    integrate_once(path)
    database(
        "insert into t values (2, 'b', 2); alter table t add column x date; insert into t values (3, 'c', 3, '2026-11-27')"
    )
    database("alter table t drop column v; alter table t modify n bigint; insert into t values (4, 1 << 40, null)")
    database("create table late(k int primary key); insert into late values (1)")
    integrate_once(path)
    database("insert into late values (2)")
    integrate_once(path)
    found = rows_of(broker, f"{name}.t", f"{name}.late")
    rows = [{key: value for key, value in row.items() if key not in ("op", "seq")} for row in found[f"{name}.t"]]
    assert rows == [
        {"k": 1, "v": "a", "n": 1},
        {"k": 2, "n": 2, "v": "b"},
        {"k": 3, "n": 3, "x": "2026-11-27", "v": "c"},
        {"k": 4, "n": 1 << 40, "x": None},
    ]
    assert [row["k"] for row in found[f"{name}.late"]] == [1, 2]


TYPES = {
    "a": ("tinyint unsigned", "255"), "b": ("tinyint(1)", "1"), "c": ("mediumint", "-8388608"), "d": ("bigint", "-9223372036854775808"),
    "e": ("bigint unsigned", "18446744073709551615"), "f": ("decimal(30,10)", "-12345678901234567890.0123456789"),
    "g": ("float", "0.1"), "h": ("double", "1e21"), "i": ("year", "2024"), "j": ("char(10)", "'ünï'"),
    "l": ("varchar(10) character set latin1", "'é€'"), "m": ("longtext", "repeat('x', 70000)"), "n": ("binary(5)", "0x0102"),
    "o": ("blob", "0x00ff"), "p": ("bit(1)", "1"), "q": ("bit(10)", "b'101'"), "r": ("enum('x', 'y')", "'y'"),
    "s": ("set('x', 'y')", "'x,y'"), "t": ("json", "'{\"a\": 1}'"), "u": ("date", "'2024-02-29'"),
    "v": ("datetime(6)", "'9999-12-31 23:59:59.999999'"), "w": ("datetime", "'1000-01-01 00:00:00'"),
    "x": ("timestamp(3)", "'2024-01-02 03:04:05.678'"), "y": ("time(6)", "'23:59:59.999999'"), "z": ("time", "'00:00:01'"),
    "aa": ("uuid", "'01932c5e-7d4e-7abc-9def-0123456789ab'"), "ab": ("inet6", "'::1'"), "ac": ("point", "point(1, 2)"),
    "ad": ("int unsigned zerofill", "7"), "ae": ("inet4", "'1.2.3.4'"),
}  # fmt: skip
OF_MARIADB = ("aa", "ab", "ae")
"""Types that MySQL has not."""
FORMATS = {
    "connect-json": ("", []),
    "avro": (', Kafka_Schema_Registry: "{registry}", Kafka_Schema_Registry_Format: AVRO', []),
    "protobuf": (', Kafka_Schema_Registry: "{registry}", Kafka_Schema_Registry_Format: PROTOBUF', []),
}


@pytest.mark.parametrize("form", FORMATS)
def test_every_type_is_the_same_from_table_and_log(
    form, server, database, broker, registry_server, channel, integrate_once, name
):
    types = {name: one for name, one in TYPES.items() if server.product == "mariadb" or name not in OF_MARIADB}
    columns = ", ".join(f"{column} {kind} null" for column, (kind, _) in types.items())
    database(f"create table t (k int primary key, {columns})")
    values = ", ".join(value for _, value in types.values())
    fill = f"set time_zone = '+00:00', sql_mode = ''; insert into t values (1, {values}); insert into t (k) values (2)"
    database(fill)
    more, actions = FORMATS[form]
    path = channel(more=more.format(registry=registry_server.url), actions=actions)
    integrate_once(path)
    database("delete from t")
    database(fill)
    integrate_once(path)
    messages = kafka_io.read_all(broker.servers, [f"{name}.t"])
    values = [message.value for message in messages]
    assert len(values) == 4  # deletes have no messages here
    assert values[:2] == values[2:]
    if form == "connect-json":
        row = json.loads(values[0])["payload"]
        assert (row["a"], row["b"], row["d"], row["i"], row["s"], row["x"]) == (
            255, 1, -(1 << 63), 2024, "x,y", 1704164645678,
        )  # fmt: skip


def test_one_command_captures_a_database(server, database, broker, tmp_path, name):
    database(
        "create table orders(id int primary key, item varchar(20)); insert into orders values (1, 'chair'), (2, 'desk')"
    )
    words = [sys.executable, "run.py", "run", "--from", server.address(name), "--to", broker.servers, "--once"]
    words += ["--state", str(tmp_path / "state")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{name}.orders (2 columns; id) to {name}.orders" in done.stdout
    assert f":{mariadb.PASSWORD}@" not in (tmp_path / "state" / f"{name[:12]}.yaml").read_text()
    [(_, rows)] = rows_of(broker, f"{name}.orders").items()
    assert sorted(row["payload"]["item"] for row in rows) == ["chair", "desk"]


def test_a_daemon_captures_and_shows_how_far_it_is(server, database, broker, channel, name):
    database("create table t(k int primary key, v text); insert into t values (0, 'there')")
    path = channel()
    daemon = Daemon(path)
    daemon.wait_for("cycle synced")
    for number in range(1, 21):
        database(f"insert into t values ({number}, 'x')")
    until(lambda: len(rows_of(broker, f"{name}.t")[f"{name}.t"]) == 21)
    source = plan.build(str(path), "UTC").changes
    until(lambda: source.server_log().behind_bytes == 0)
    assert daemon.terminate() == 0


@pytest.mark.parametrize(("column", "value"), [("date", "0000-00-00"), ("time", "100:00:00")])
def test_values_that_formats_lack_are_refused_or_sent_as_text(
    column, value, database, broker, channel, integrate_once, name
):
    fill = f"set sql_mode = ''; insert into t values (%s, '{value}')"
    database(f"create table t (k int primary key, v {column} not null); {fill % 1}")
    with pytest.raises(ConfigurationError, match=r"no table that is captured has a column 't\.w'"):
        integrate_once(channel(', text_columns: ["t.w"]'))
    with pytest.raises(DataError, match=f"table t, column v: '{value}' is no {column}"):
        integrate_once(channel())
    path = channel(', text_columns: ["t.v"]')
    integrate_once(path)
    database(fill % 2)
    integrate_once(path)
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    assert [(row["k"], row["v"]) for row in rows] == [(1, value), (2, value)]


@pytest.mark.parametrize(("column", "good", "value"), [("date", "2026-01-01", "0000-00-00"), ("time", "1:00", "-1:00")])
def test_a_null_for_a_value_without_form_is_told_from_one_of_the_database(
    column, good, value, database, broker, channel, integrate_once, name
):
    database(f"create table t (k int primary key, v {column})")
    fill = "set sql_mode = ''; insert into t values ({0}, '" + good + "'), ({1}, '" + value + "'), ({2}, null)"
    path = channel(', values_without_form: "null"')
    database(fill.format(1, 2, 3))
    integrate_once(path)
    database(fill.format(4, 5, 6))
    integrate_once(path)
    messages = kafka_io.read_all(broker.servers, [f"{name}.t"])
    nulls = {json.loads(one.value)["k"]: one.headers for one in messages if json.loads(one.value)["v"] is None}
    named = ((WITHOUT_FORM, b"v"),)
    assert nulls == {2: named, 3: (), 5: named, 6: ()}
    assert [one.headers for one in messages if json.loads(one.value)["k"] not in nulls] == [(), ()]


def test_a_rejected_change_is_mended_and_replayed_in_its_transaction(
    database, broker, channel, integrate_once, name, command, spark
):
    """Its segment is gone by then: the letter has the position of its transaction."""
    database("create table t(k int primary key, a date)")
    path = replays.tolerant(channel(), f"{name}.dead")
    integrate_once(path)
    database(
        "set sql_mode = ''; begin; insert into t values (1, '2026-01-01'), (2, '0000-00-00'); delete from t where k = 1; commit"
    )
    for key in (3, 4):  # the segments before are removed
        database(f"insert into t values ({key}, '2026-01-03')")
        integrate_once(path)
    replays.replay_mended(command, spark, path, "0000-00-00", "2026-01-02")
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    assert [(row["op"], row["k"]) for row in rows] == [(1, 1), (0, 1), (1, 3), (1, 4), (1, 2)]
    assert rows[4]["seq"][:20] == rows[0]["seq"][:20] < rows[2]["seq"][:20], "of one transaction"
    assert rows[4]["a"] == "2026-01-02"


def test_the_log_is_continued_where_another_program_stopped(server, database, broker, channel, integrate_once, name):
    server.sql("set global binlog_row_metadata = 'MINIMAL'")
    database("create table t(k int primary key); insert into t values (0)")
    file, at = server.sql("show binary logs").splitlines()[-1].split("\t")[:2]
    path = channel(f', start_position: "{file}:{at}"')
    with pytest.raises(
        EnvironmentFault, match=f"the log after {file}:{at} has no names of columns; from now on it has"
    ):
        integrate_once(path)
    database("insert into t values (1)")
    file, at = server.sql("show binary logs").splitlines()[-1].split("\t")[:2]
    database("begin; insert into t values (2); insert into t values (3); commit; insert into t values (4)")
    events = [line.split("\t") for line in server.sql(f"show binlog events in '{file}' from {at}").splitlines()]
    begin = next(one[1] for one in events if "BEGIN" in one[-1])  # in MySQL after the GTID, as Debezium has it
    base, _, number = file.rpartition(".")
    channel(f', start_position: "other.{number}:4"')
    with pytest.raises(
        EnvironmentFault, match=f"the log has no file other.{number}: its files are called {base}.NUMBER"
    ):
        integrate_once(path)
    channel(f', start_position: "{base}.{int(number) + 1:06d}:4"')
    with pytest.raises(EnvironmentFault, match="start_position: the log does not reach"):
        integrate_once(path)
    channel(f', start_position: "{file}:{begin}"')
    integrate_once(path)
    database("insert into t values (5); create table late(k int primary key); insert into late values (6)")
    integrate_once(path)
    found = rows_of(broker, f"{name}.t", f"{name}.late")
    assert [row["k"] for row in found[f"{name}.t"]] == [2, 3, 4, 5], "without the row that there was"
    assert [row["k"] for row in found[f"{name}.late"]] == [6]
    seqs = [row["seq"] for row in found[f"{name}.t"]]
    assert seqs == sorted(set(seqs))
