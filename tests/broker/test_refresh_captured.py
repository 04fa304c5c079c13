"""A refresh of tables of a captured database, by the command, into a real broker: beside the changes, after a kill too."""

import json
from collections import Counter

import pytest

from integrator import plan
from integrator.errors import ConfigurationError
from integrator.sources.capture import record as records
from integrator.sources.spool import SPOOL
from tests.parts import kafka_io, mariadb, mysql, postgres
from tests.parts.daemon import Daemon
from tests.parts.in_process import command
from tests.parts.waiting import until

pytestmark = [pytest.mark.broker, pytest.mark.spark]

PARTS = {"postgres": postgres, "mariadb": mariadb, "mysql": mysql}
CHANNEL = """
channel: {name}
state: {state}
locations:
  src: {{class: {product}, address: "{address}"}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}", Create_Topics: {{Partitions: 1, Replication_Factor: 1}}}}
delivery: exactly_once
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: seq, Extra: true, TimeKey: true, Datatype: varchar, Length: 45, IntegrateExpression: "{{hvr_integ_seq}}"}}
"""


@pytest.fixture(params=PARTS)
def database(request, name):
    parts = PARTS[request.param]
    if reason := parts.missing(wal2json=False) if parts is postgres else parts.missing():
        pytest.skip(reason)
    with parts.cluster() if parts is postgres else parts.cluster("binlog_row_metadata = FULL\n") as server:
        run = server.psql if parts is postgres else server.sql
        run(f"create database {name}")
        yield request.param, server, lambda sql: run(sql, name)


@pytest.fixture
def channel(database, broker, tmp_path, name):
    path = tmp_path / "channel.yaml"
    product, server, _ = database
    path.write_text(
        CHANNEL.format(
            name=name, state=tmp_path / "state", product=product, address=server.address(name), servers=broker.servers
        )
    )
    return path


@pytest.fixture
def refresh(channel, capfd):
    """The command; what it says."""

    def run(*words, code=0):
        capfd.readouterr()
        assert command("refresh", "--channel", channel, *words) == code
        said = capfd.readouterr()
        return " ".join((said.out + said.err).split())

    return run


def rows_of(broker, topic):
    return [json.loads(message.value) for message in kafka_io.read_all(broker.servers, [topic])]


def test_a_refresh_that_is_asked_for_is_sent_by_the_next_run(database, broker, channel, integrate_once, refresh, name):
    run = database[2]
    run("create table t (id int primary key, v varchar(20)); create table u (id int primary key)")
    run("insert into t values (1, 'a'), (2, 'b'), (3, 'c'); insert into u values (9)")
    assert "its first run sends the rows of all tables" in refresh(code=5)
    integrate_once(channel)
    run("update t set v = 'B' where id = 2")
    assert "t: asked for" in refresh("--table", "t", "--where", "id > 1")
    assert "u: asked for" in refresh("--table", "u", "--truncate-record")
    run("delete from t where id = 3")
    integrate_once(channel)
    integrate_once(channel)
    found = [(row["op"], row["id"], row.get("v")) for row in rows_of(broker, f"{name}.t")]
    assert [one for one in found if one[0] == 1] == [(1, 1, "a"), (1, 2, "b"), (1, 3, "c"), (1, 2, "B")]
    assert found[-1] == (1, 2, "B"), "the rows are of the time when they are read, after the changes before"
    assert [row["op"] for row in rows_of(broker, f"{name}.u")] == [1, 5, 1]
    positions = [row["seq"] for row in rows_of(broker, f"{name}.t")]
    assert positions == sorted(positions)


def test_what_a_location_names_may_be_dropped_later(database, broker, channel, integrate_once, name):
    """It is an error only where nothing was captured yet: later, other tables do not wait for an edit of the channel."""
    product, _, run = database
    schema = "public" if product == "postgres" else name
    named = f'class: {product}, tables: [t, u], text_columns: ["{schema}.u.v"], signal_table: {schema}.u'
    channel.write_text(channel.read_text().replace(f"class: {product}", named))
    run("create table t (id int primary key)")
    with pytest.raises(ConfigurationError) as refused:
        integrate_once(channel)
    keys = {one.path.rpartition(".")[2] for one in refused.value.problems}
    assert keys == {"text_columns", "signal_table"}
    run("create table u (id int primary key, type varchar(9), data varchar(99), v int)")
    integrate_once(channel)
    run("alter table u drop column v; insert into u (id) values (5); insert into t values (1)")
    integrate_once(channel)
    notes = "\n".join(plan.build(str(channel), "UTC").notes)
    assert f"text_columns: no table that is captured has a column '{schema}.u.v'" in notes
    run("drop table u; insert into t values (2)")
    integrate_once(channel)
    assert [row["id"] for row in rows_of(broker, f"{name}.t")] == [1, 2]


def test_a_row_of_the_signal_table_asks_for_a_refresh(database, broker, channel, integrate_once, name):
    """In Debezium's form. Rows that are there at first are none; what is not understood is skipped."""
    product, _, run = database
    schema = "public" if product == "postgres" else name
    channel.write_text(channel.read_text().replace("class: " + product, f"class: {product}, signal_table: {schema}.s"))
    run("create table t (id int primary key, v varchar(20)); insert into t values (1, 'a'), (2, 'b'), (3, 'c')")
    run("create table s (id varchar(42) primary key, type varchar(32), data varchar(2048))")
    data = {
        "data-collections": [f"{schema}.t"],
        "type": "incremental",
        "additional-conditions": [{"data-collection": f"{schema}.t", "filter": "id > 1"}],
    }
    run(f"insert into s values ('0', 'execute-snapshot', '{json.dumps(data)}')")
    integrate_once(channel)
    run("insert into s values ('1', 'log', null), ('2', 'execute-snapshot', '{}')")
    run(f"insert into s values ('3', 'execute-snapshot', '{json.dumps(data)}')")
    run("update t set v = 'B' where id = 2")
    integrate_once(channel)
    integrate_once(channel)
    found = [(row["id"], row["v"]) for row in rows_of(broker, f"{name}.t") if row["op"] == 1]
    assert found == [(1, "a"), (2, "b"), (3, "c"), (2, "B"), (3, "c")]


def test_what_cannot_be_asked_for_is_said(database, channel, integrate_once, refresh):
    run = database[2]
    run("create table t (id int primary key)")
    integrate_once(channel)
    text = refresh("--table", "x", "--where", "1 = 1", "--truncate-record", code=2)
    assert "--table 'x' is no table" in text
    assert "with --truncate-record consumers would have no others" in text
    assert "nothing" in refresh("--table", "t", "--where", "nothing = 1", code=2)
    assert "absent" in refresh("--table", "t", "--where", "id in (select id from absent)", code=2)
    assert "yntax" in refresh("--table", "t", "--where", "id = 1) or (id = 2", code=2)
    assert "are for channels with a location of class jdbc or snapshot" in refresh("--online", code=2)


def test_a_daemon_is_killed_while_it_reads_a_large_table(database, broker, channel, name, tmp_path):
    """No row twice, none missing, though it is killed twice: what is durable is not read again."""
    product, server, run = database
    run("create table t (id int primary key, v varchar(300))")
    numbers = "generate_series(1, 90000) s(seq)" if product == "postgres" else server.numbers(1, 90_000)
    run(f"insert into t select seq, repeat('x', 200) from {numbers}")
    channel.write_text(
        channel.read_text().replace("class: " + product, f"class: {product}, snapshot_rows_per_second: 20000")
    )
    before = 0
    for _ in range(2):
        daemon = Daemon(channel)

        def is_on(before=before):
            found = records.read(tmp_path / "state" / name / SPOOL)
            return found is not None and sum(one.rows for one in found.reading.values()) > before

        until(is_on, lambda daemon=daemon: str(daemon.lines[-5:]))
        daemon.kill(everything=True)
        before = sum(one.rows for one in records.read(tmp_path / "state" / name / SPOOL).reading.values())
        assert 0 < before < 90_000
    daemon = Daemon(channel)
    run("update t set v = 'later' where id <= 10")
    topic = f"{name}.t"
    daemon.wait_for("snapshot of a table")
    until(lambda: sum(row["op"] == 2 for row in rows_of(broker, topic)) == 10, lambda: str(daemon.lines[-5:]))
    assert daemon.terminate() == 0, daemon.lines[-20:]
    inserts = Counter(row["id"] for row in rows_of(broker, topic) if row["op"] == 1)
    assert len(inserts) == 90_000
    assert set(inserts.values()) == {1}
