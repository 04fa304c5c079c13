"""Tables compared with their topics, by the command, on real servers: planted differences are found, and none else."""

import json
import threading

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from integrator.compare import at_topic, job
from integrator.compare.at_table import TableRows
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
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}", Create_Topics: {{Partitions: 3, Replication_Factor: 1}}}}
delivery: exactly_once
actions:
  - {{action: Integrate, MessageKeySerializer: CONNECT_SCHEMA}}
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
def compare(channel, capfd):
    """The command; what it came to, by table."""

    def run(*words, code=0):
        capfd.readouterr()
        codes = code if isinstance(code, tuple) else (code,)
        assert command("compare", "--channel", channel, "--json", *words) in codes, capfd.readouterr()
        found = json.loads(capfd.readouterr().out)
        return {one["table"]: one for one in found["tables"]}

    return run


def unlogged(product, run, sql):
    """Change rows without a change in the log."""
    run(f"set sql_log_bin = 0; {sql}" if product != "postgres" else sql)


def produce(broker, topic, *messages):
    producer = Producer({"bootstrap.servers": broker.servers, "enable.idempotence": True})  # which keeps the order
    for message in messages:
        producer.produce(topic, value=message[1], key=message[0], partition=message[2])
    assert producer.flush(30) == 0


def refused(capfd, channel):
    """What a comparison says that cannot be made."""
    capfd.readouterr()
    assert command("compare", "--channel", channel) == 5
    return capfd.readouterr().err


def test_planted_differences_are_found_and_repaired(database, broker, channel, integrate_once, compare, name, capfd):
    product, _, run = database
    run(
        "create table t (id int primary key, v varchar(20), d decimal(12,2)); create table u (a int, b varchar(9), primary key (a, b))"
    )
    numbers = ", ".join(f"({n}, 'v{n}', {n}.50)" for n in range(1, 501))
    run(f"insert into t values {numbers}; insert into u values (1, 'x'), (1, 'y'), (2, 'x')")
    integrate_once(channel)
    run(
        "update t set v = 'new' where id <= 20; delete from t where id between 21 and 30; update u set b = 'z' where a = 2"
    )
    integrate_once(channel)
    found = compare()
    assert (found["t"]["rows"], found["t"]["equal"], found["u"]["equal"]) == (490, 490, 3), found
    assert found["t"]["left_out"] == ["seq"]

    topic = f"{name}.t"
    by_id = {}
    for message in kafka_io.read_all(broker.servers, [topic]):
        by_id[json.loads(message.value)["payload"]["id"]] = message

    def as_message(of, **values):
        document = json.loads(by_id[of].value)
        document["payload"] |= values
        key = json.loads(by_id[of].key)
        key["payload"]["id"] = document["payload"]["id"]
        compact = [json.dumps(one, separators=(",", ":")).encode() for one in (key, document)]
        return (*compact, by_id[of].partition)

    produce(
        broker,
        topic,
        (by_id[100].key, by_id[100].value, by_id[100].partition),  # doubled: no difference
        as_message(101, v="other"),
        as_message(102, id=9001),
        as_message(103, op=0),
    )
    found = compare("--table", "t", code=4)["t"]
    assert (found["equal"], found["different"], found["extra"], found["missing"]) == (488, 1, 1, 1), found
    assert {"id": 100} in found["repeated_keys"], found
    assert found["repeated"] == len(found["repeated_keys"]) == 3, "101 and 103 have the positions of earlier messages"
    differences = {one["kind"]: one for one in found["differences"]}
    assert differences["different"]["key"] == {"id": 101}
    assert differences["different"]["columns"] == {"v": ["v101", "other"]}
    assert differences["extra"]["key"] == {"id": 9001}
    assert differences["missing"]["key"] == {"id": 103}

    unlogged(product, run, "update u set b = 'unlogged' where a = 2") if product != "postgres" else None
    assert found["differences"] == compare("--table", "t", "--repair", code=4)["t"]["differences"], "a dry run"
    both = compare("--repair", "--yes", code=4)
    assert (both["u"]["extra"], both["u"]["missing"]) == ((0, 0) if product == "postgres" else (1, 1)), both
    assert "refreshes of" in refused(capfd, channel)
    integrate_once(channel)
    elsewhere = (by_id[5].key, stale_of(broker, topic, by_id[5].key), (by_id[5].partition + 1) % 3)
    produce(broker, topic, elsewhere)  # as where partitions were added: the later message counts, by its position
    found = compare("--at", found["position"])
    assert (found["t"]["rows"], found["t"]["equal"], found["u"]["equal"]) == (490, 490, 3), found
    assert found["t"]["moved"] >= 1, found  # and 9001, if its message was in another partition than its delete


def test_columns_that_came_later_and_keys_that_no_row_can_have(
    database, broker, channel, integrate_once, compare, name
):
    run = database[2]
    run("create table t (id smallint primary key, v varchar(20)); create table u (id int primary key)")
    run("insert into t values (1, 'a'), (2, 'b'), (3, 'c'); insert into u values (1)")
    integrate_once(channel)
    run("alter table t add column n int, add column w varchar(20)")
    integrate_once(channel)
    found = compare(code=2)
    assert "compare again after its next change" in found["t"]["why"], found
    assert found["u"]["equal"] == 1, "the others are compared"
    run("insert into t values (4, 'd', 7, 'w')")
    integrate_once(channel)
    found = compare()["t"]
    assert (found["rows"], found["equal"], found["incomplete"]) == (4, 4, 0), found
    message = next(
        one for one in kafka_io.read_all(broker.servers, [f"{name}.t"]) if json.loads(one.key)["payload"]["id"] == 4
    )
    key, value = (json.loads(one) for one in (message.key, message.value))
    key["payload"]["id"] = value["payload"]["id"] = 70_000
    produce(
        broker,
        f"{name}.t",
        (*(json.dumps(one, separators=(",", ":")).encode() for one in (key, value)), message.partition),
    )
    found = compare(code=4)["t"]
    assert (found["extra"], found["equal"], found["missing"]) == (1, 4, 0), found
    value["payload"] |= {"id": 4, "v": "planted"}
    produce(broker, f"{name}.t", (message.key, json.dumps(value).encode(), message.partition))
    compare("--repair", "--yes", code=4)
    integrate_once(channel)
    found = compare(code=4)["t"]
    assert (found["extra"], found["equal"], found["different"]) == (1, 4, 0), found


def test_a_table_that_is_set_aside_is_not_proved(database, channel, integrate_once, compare, name):
    product, _, run = database
    channel.write_text(f"{channel.read_text()}errors: {{tables: set_aside}}\n")
    quote = '"' if product == "postgres" else "`"
    run(f"create table t (id int primary key); create table {quote}o t{quote} (id int primary key)")
    integrate_once(channel)
    found = compare(code=2)
    assert (found["t"]["why"], found["o t"]["why"][:18]) == ("", "it is set aside: "[:18] + "K"), found
    assert [*compare("--table", "o t", code=2)] == ["o t"]


def test_what_begins_while_a_table_is_compared_is_no_difference(
    database, broker, channel, integrate_once, compare, name, tmp_path, monkeypatch
):
    """Its rows begin to be read again, so that the topic lacks them for a while; then the topic gets partitions."""
    product, _, run = database
    run("create table t (id int primary key); insert into t values (1), (2), (3)")
    integrate_once(channel)
    [spool], table = (tmp_path / "state").rglob(SPOOL), f"{'public' if product == 'postgres' else name}.t"
    before = records.read(spool)
    real, real_settle = TableRows.read, job.Comparison._settle

    def read_rows(self, *of):
        began = records.read(spool)
        began.again = [table]
        began.write(spool)
        return real(self, *of)

    with monkeypatch.context() as patched:
        patched.setattr(TableRows, "read", read_rows)
        found = compare(code=2)["t"]
        assert (found["why"], found["missing"]) == (job._UNREAD, 0)
    before.write(spool)

    def settle(self, *of):
        admin = AdminClient({"bootstrap.servers": broker.servers})
        admin.create_partitions([NewPartitions(f"{name}.t", 4)])[f"{name}.t"].result(30)
        return real_settle(self, *of)

    monkeypatch.setattr(job.Comparison, "_settle", settle)
    assert compare(code=2)["t"]["why"] == at_topic.GREW


def changing(run, ending):
    """Change rows of t until the end: some keys all the time, others once; and rows that come and go."""
    number = 10_000
    while not ending.is_set():
        number += 1
        run(
            f"update t set v = 'h{number}' where id <= 3; insert into t values ({number}, 'new', 1.00);"
            f" update t set v = 'u{number}' where id = {number % 400 + 10}; delete from t where id = {number - 5}"
        )


def test_it_is_equal_while_changes_continue(database, broker, channel, compare, name, tmp_path):
    product, server, run = database
    run("create table t (id int primary key, v varchar(20), d decimal(12,2))")
    rows = ", ".join(f"({n}, 'v{n}', {n}.50)" for n in range(1, 1001))
    run(f"insert into t values {rows}")
    daemon = Daemon(channel)
    daemon.wait_for_rows(1000)
    ending = threading.Event()
    traffic = threading.Thread(target=changing, args=(run, ending))
    traffic.start()
    try:
        for _ in range(3):
            found = compare(code=(0, 2))["t"]  # 2: some keys changed each time
            assert not found["differences"], found
            assert found["equal"] >= 950, found
            assert found["unsettled"] <= 10, found
            assert abs(found["rows"] - found["equal"]) <= found["unsettled"], found
    finally:
        ending.set()
        traffic.join()
    going_round = Daemon(channel, "--follow", "--pause", "0.1", command="compare")
    until(lambda: sum("t: equal" in line for line in going_round.lines) >= 2, lambda: str(going_round.lines))
    assert going_round.terminate() == 0, going_round.lines
    kept = json.loads((tmp_path / "state" / name / "compared.json").read_bytes())["t"]
    assert "proved" in kept
    assert kept["equal"] == kept["rows"]
    found = compare()["t"]
    assert (found["unsettled"], found["differences"], found["rows"]) == (0, [], found["equal"]), found
    produce(broker, f"{name}.t", stale(broker, f"{name}.t"))
    assert compare("--repair", "--yes", code=4)["t"]["different"] == 1
    assert compare()["t"]["equal_all"], "it waits for the refresh"
    assert daemon.terminate() == 0, daemon.lines[-20:]


def stale_of(broker, topic, key):
    """The first value of a key."""
    return next(one.value for one in kafka_io.read_all(broker.servers, [topic]) if one.key == key)


def stale(broker, topic):
    """The first message of a key that has later ones, again: as if two of its messages had changed places."""
    first, later = {}, {}
    for message in kafka_io.read_all(broker.servers, [topic]):
        (later if message.key in first else first).setdefault(message.key, message)
    chosen = next(first[key] for key in later)
    return chosen.key, chosen.value, chosen.partition


OP = '  - {action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_op}"}\n'
SEQ = (
    "  - {action: ColumnProperties, Name: seq, Extra: true, TimeKey: true, Datatype: varchar, Length: 45, "
    'IntegrateExpression: "{hvr_integ_seq}"}\n'
)
TOMBSTONES = "  - {action: Integrate, OnDeleteSendTombstone: true"
REGISTRY = 'Kafka_Schema_Registry: "REGISTRY", Kafka_Schema_Registry_Format: '
LAYOUTS = {
    "plain": ("", "  - {action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}\n" + OP + SEQ),
    "tombstones": ("", TOMBSTONES + ", MessageKeySerializer: JSON_ROW}\n"),
    "soft": (
        "",
        "  - {action: FileFormat, Json: true, JsonMode: TABLE_ARRAY}\n"
        "  - {action: ColumnProperties, Name: gone, Extra: true, SoftDelete: true, Datatype: integer}\n",
    ),
    "bundled": (
        "Kafka_Message_Bundling: TRANSACTION",
        "  - {action: FileFormat, Json: true, JsonMode: ROW_ARRAY}\n" + OP + SEQ,
    ),
    "debezium": ("", "  - {action: FileFormat, Envelope: DEBEZIUM}\n"),
    "opencdc": ("", "  - {action: FileFormat, Envelope: OPENCDC}\n"),
    "avro": (REGISTRY + "AVRO", TOMBSTONES + ", MessageKeySerializer: KAFKA_AVRO_SCHEMA}\n" + OP + SEQ),
    "protobuf": (REGISTRY + "PROTOBUF", TOMBSTONES + ", MessageKeySerializer: KAFKA_PROTOBUF_SCHEMA}\n" + OP + SEQ),
    "jsonschema": (REGISTRY + "JSON", OP + SEQ),
    "masked": (
        "",
        "  - {action: Integrate, MessageKeySerializer: CONNECT_SCHEMA}\n"
        + OP
        + SEQ
        + "  - {action: ColumnProperties, Name: v, IntegrateExpression: \"sql: concat('x', substr(v, 2))\"}\n"
        + "  - {action: ColumnProperties, Name: d, Absent: true}\n"
        + '  - {action: Restrict, CaptureCondition: "id <> 7"}\n',
    ),
}
TYPES = """
create table t (
    id int primary key, v varchar(20), d numeric(20, 4), f float8, b bytea, m timestamptz, x timestamp, y date,
    j jsonb, u uuid, z boolean, a int[], n numeric(38, 10), g text not null default 'some'
)
"""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_of_messages_is_compared(layout, broker, registry_server, integrate_once, tmp_path, name, capfd):
    if reason := postgres.missing(wal2json=False):
        pytest.skip(reason)
    more, actions = LAYOUTS[layout]
    path, topic = tmp_path / "channel.yaml", f"{name}.t"
    with postgres.cluster() as server:
        text = CHANNEL.format(
            name=name, state=tmp_path / "s", product="postgres", address=server.dsn, servers=broker.servers
        )
        text = text.replace(
            "Kafka_Default_Topic",
            f"{more.replace('REGISTRY', registry_server.url)}, Kafka_Default_Topic" if more else "Kafka_Default_Topic",
        )
        text = text.replace("delivery: exactly_once\n", "").partition("actions:\n")[0] + "actions:\n" + actions
        path.write_text(
            text.replace("class: postgres", "class: postgres, tables: [t]").replace("Partitions: 3", "Partitions: 1")
        )
        server.psql(TYPES + "; alter table t replica identity full")
        server.psql(
            "insert into t select n, 'v' || n, n * 1.25, n / 3.0, decode('00ff', 'hex'), now(), now(), now(), "
            "'{\"k\": 1.50}', gen_random_uuid(), n % 2 = 0, array[n, 1], n * 1.123456789, repeat('é', n % 5) "
            "from generate_series(1, 300) n"
        )
        integrate_once(path)
        server.psql("update t set v = 'new' || id, m = now() where id between 5 and 30; delete from t where id > 290")
        server.psql("insert into t (id) values (1000); update t set v = null, d = null where id = 40")
        integrate_once(path)

        def compared(code):
            capfd.readouterr()
            assert command("compare", "--channel", path, "--json", *(["--repair", "--yes"] if code else [])) == code
            [found] = json.loads(capfd.readouterr().out)["tables"]
            return found

        found = compared(0)
        rows = 290 if layout == "masked" else 291
        assert (found["why"], found["rows"], found["equal"], found["unsettled"]) == ("", rows, rows, 0), found
        produce(broker, topic, stale(broker, topic))
        found = compared(4)
        many = found["different"] + found["extra"]
        assert many > 1 if layout == "bundled" else many == 1, found
        assert found["differences"][0]["key"], found
        integrate_once(path)
        found = compared(0)
        assert (found["rows"], found["equal"]) == (rows, rows), found


def test_conditions_and_dead_letters_hide_no_difference(broker, integrate_once, tmp_path, name, capfd):
    """Keys are known of the other rows; and one whose newest row is a dead letter is not deleted by a repair."""
    if reason := postgres.missing(wal2json=False):
        pytest.skip(reason)
    path, topic = tmp_path / "channel.yaml", f"{name}.t"
    actions = TOMBSTONES + ', MessageKeySerializer: JSON_ROW}\n  - {action: Restrict, CaptureCondition: "id <> 7"}\n'
    with postgres.cluster() as server:
        text = (
            CHANNEL.format(
                name=name, state=tmp_path / "s", product="postgres", address=server.dsn, servers=broker.servers
            )
            .replace("delivery: exactly_once\n", "")
            .partition("actions:\n")[0]
        )
        errors = f'errors: {{tolerance: all, deadletterqueue.topic.name: "{name}.dead", deadletterqueue.topic.replication.factor: 1}}\n'
        path.write_text(f"{text}{errors}actions:\n{actions}")
        server.psql(
            "create table t (id int primary key, f float8); insert into t select i, i from generate_series(1, 10) i"
        )
        integrate_once(path)
        server.psql("update t set f = 'NaN' where id = 1")
        integrate_once(path)
        by_id = {json.loads(one.key)["id"]: one for one in kafka_io.read_all(broker.servers, [topic])}

        def compared(*words):
            capfd.readouterr()
            assert command("compare", "--channel", path, "--json", *words) == 4
            [found] = json.loads(capfd.readouterr().out)["tables"]
            return {kind: found[kind] for kind in ("equal", "missing", "extra", "different", "rejected")}, found

        three, four = by_id[3], by_id[4]
        other = four.value.replace(b'"f":4', b'"f":5')
        assert other != four.value
        produce(broker, topic, (three.key, None, three.partition), (four.key, other, four.partition))
        numbers, found = compared("--repair", "--yes")
        assert numbers == {"equal": 6, "missing": 1, "extra": 0, "different": 2, "rejected": 1}, found
        integrate_once(path)
        numbers, found = compared()
        assert numbers == {"equal": 8, "missing": 0, "extra": 0, "different": 1, "rejected": 1}, found
        assert [one["key"] for one in found["differences"]] == [{"id": 1}]
