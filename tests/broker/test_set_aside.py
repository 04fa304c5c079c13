"""A captured table that cannot be sent does not stop the others, and is taken up again (errors.tables, I1)."""

# ruff: noqa: F811 - fixtures of another file

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from integrator.cli import show
from integrator.errors import ConfigurationError
from integrator.run.resume import resume_tables
from integrator.run.state import aside
from integrator.run.state.directory import State
from tests.broker.test_postgres_capture import channel, database, rows_of  # noqa: F401 - fixtures
from tests.parts import kafka_io, postgres
from tests.parts.daemon import Daemon
from tests.parts.waiting import until

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False)),
]
OP = '{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_op}"}'


@pytest.fixture(scope="module")
def server():
    with postgres.from_pypi() as found, postgres.cluster(found=found) as started:
        yield started


@pytest.fixture
def avro(channel, registry_server):
    def write(tables="set_aside"):
        kafka = f', Kafka_Schema_Registry: "{registry_server.url}", Kafka_Schema_Registry_Format: AVRO, Missing_Values: "NULL"'
        path = channel(actions=[OP], more=kafka)
        path.write_text(f"{path.read_text()}errors: {{tables: {tables}}}\n")
        return path

    return write


def rows(broker, registry, topic):
    read = AvroDeserializer(registry.client)
    made = {}
    if topic not in AdminClient({"bootstrap.servers": broker.servers}).list_topics(timeout=30).topics:
        return made
    for message in kafka_io.read_all(broker.servers, [topic]):
        row = read(message.value, SerializationContext(topic, MessageField.VALUE))
        if row["op"] == 5:
            made.clear()
        else:
            made[row["k"]] = row["v"]
    return made


def sent(broker, registry, topic):
    read = AvroDeserializer(registry.client)
    made = [
        read(message.value, SerializationContext(topic, MessageField.VALUE))
        for message in kafka_io.read_all(broker.servers, [topic])
    ]
    return [(row["op"], row["k"], row["v"]) for row in made]


def refuse(database, registry, name):
    """A change that the registry refuses."""
    registry.client.set_compatibility(f"{name}.t-value", "FULL")
    database.run("alter table t alter v type int using 7; insert into t values (2, 2); insert into u values (2, 'b')")


@pytest.fixture
def tables(database):
    database.run("create table t (k int primary key, v text); create table u (k int primary key, v text)")
    database.run("insert into t values (1, 'a'); insert into u values (1, 'a')")


def test_a_schema_that_is_refused_sets_its_table_aside_until_it_is_taken(
    tables, database, broker, avro, registry_server, integrate_once, name
):
    path = avro()
    integrate_once(path)
    refuse(database, registry_server, name)
    integrate_once(path)
    assert rows(broker, registry_server, f"{name}.u") == {1: "a", 2: "b"}
    state = State(str(path.parent / "state" / name))
    [line] = [one for one in show.standing(state, None) if "set aside" in one]
    assert "table t is set aside since" in line
    assert "the registry refuses the schema of table t" in line
    database.run("insert into t values (3, 3); insert into u values (3, 'c')")
    integrate_once(path)  # it is tried again, and refused again
    assert rows(broker, registry_server, f"{name}.t") == {1: "a"}
    assert rows(broker, registry_server, f"{name}.u") == {1: "a", 2: "b", 3: "c"}
    database.run("update t set v = 4 where k = 3; delete from t where k = 2; update u set v = 'd' where k = 3")
    registry_server.client.set_compatibility(f"{name}.t-value", "NONE")
    integrate_once(path)
    held = [(1, 2, 2), (1, 3, 3), (2, 3, 4)]  # and a delete, which this style does not send
    assert sent(broker, registry_server, f"{name}.t") == [(1, 1, "a"), *held]
    assert rows(broker, registry_server, f"{name}.u") == {1: "a", 2: "b", 3: "d"}
    assert aside.read(state.path) == {}
    assert not [*(state.path / "aside").glob("*")]


def test_a_schema_that_is_refused_stops_the_channel_by_default(
    tables, database, avro, registry_server, integrate_once, name
):
    path = avro("stop")
    integrate_once(path)
    refuse(database, registry_server, name)
    with pytest.raises(ConfigurationError, match="refuses the schema of table t"):
        integrate_once(path)


def test_a_table_is_resumed_in_a_process_that_runs(tables, database, broker, avro, registry_server, name):
    path = avro()
    daemon = Daemon(path)
    try:
        until(lambda: rows(broker, registry_server, f"{name}.t") == {1: "a"}, "the first rows")
        refuse(database, registry_server, name)
        state = State(str(path.parent / "state" / name))
        until(lambda: "t" in aside.read(state.path), lambda: "\n".join(daemon.lines[-5:]))
        until(lambda: rows(broker, registry_server, f"{name}.u") == {1: "a", 2: "b"}, "the other table")
        with pytest.raises(ConfigurationError, match="not set aside: u; set aside: t"):
            resume_tables(state, name, ["u"])
        registry_server.client.set_compatibility(f"{name}.t-value", "NONE")
        in_database = aside.read(state.path)["t"].names[0]
        assert "tries again: t" in resume_tables(state, name, [in_database])
        until(
            lambda: rows(broker, registry_server, f"{name}.t") == {1: "a", 2: 2},
            lambda: "\n".join(daemon.lines[-9:]),
        )
        database.run("insert into t values (4, 4)")
        until(lambda: rows(broker, registry_server, f"{name}.t") == {1: "a", 2: 2, 4: 4}, "what follows")
    finally:
        daemon.kill(everything=True)


def test_names_that_go_into_no_message_set_their_tables_aside(database, broker, channel, integrate_once, name):
    database.run('create table t (k int primary key, op int); create table u (k int primary key, "no name" int)')
    database.run("create table v (k int primary key); insert into t values (1, 1); insert into v values (1)")
    path = channel(actions=[OP])
    path.write_text(f"{path.read_text()}errors: {{tables: set_aside}}\n")
    integrate_once(path)
    assert [*aside.read(path.parent / "state" / name)] == ["t"]
    assert len(kafka_io.read_all(broker.servers, [f"{name}.v"])) == 1


def test_where_all_tables_are_wrong_the_channel_is(database, channel, integrate_once):
    database.run("create table t (k int primary key, op int); create table u (k int primary key, op int)")
    path = channel(actions=[OP])
    path.write_text(f"{path.read_text()}errors: {{tables: set_aside}}\n")
    with pytest.raises(ConfigurationError, match="'op' is a column of the table"):
        integrate_once(path)


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_a_value_without_a_form_sets_its_table_aside_and_its_changes_come_in_order(
    delivery, database, broker, channel, integrate_once, name
):
    database.run("create table t (k int primary key, v numeric(9, 2)); create table u (k int primary key, v int)")
    database.run("insert into t values (1, 1); insert into u values (1, 1)")

    def write(location=", values_without_form: stop"):
        path = channel(location=location)
        path.write_text(f"{path.read_text()}errors: {{tables: set_aside}}\ndelivery: {delivery}\n")
        return path

    integrate_once(write())
    database.run(
        "begin; insert into u values (2, 2); insert into t values (2, 2); insert into t values (3, 'NaN'); commit"
    )
    integrate_once(write())
    database.run(
        "begin; update u set v = 3 where k = 1; update t set v = 3 where k = 1; insert into u values (4, 4); commit"
    )
    integrate_once(write())
    [entry] = aside.read(write().parent / "state" / name).values()
    assert "NaN" in entry.reason
    integrate_once(write(', values_without_form: "null"'))
    found = {
        table: [(row["op"], row["k"], row["v"]) for row in rows_of(broker, f"{name}.{table}")[f"{name}.{table}"]]
        for table in "tu"
    }
    assert found["u"] == [(1, 1, 1), (1, 2, 2), (2, 1, 3), (1, 4, 4)]
    by_key = {key: [one[2] for one in found["t"] if one[1] == key] for key in (1, 2, 3)}
    assert {key: values[-1] for key, values in by_key.items()} == {1: 3.0, 2: 2.0, 3: None}
    if delivery == "exactly_once":
        assert len(found["t"]) == 4
    assert aside.read(write().parent / "state" / name) == {}
