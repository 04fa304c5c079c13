"""Changes captured from a PostgreSQL: rows that tables have, and all that is committed after, each once and in order."""

import json
from collections import defaultdict

import pytest

from tests.parts import kafka_io, postgres

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False)),
]


ROWS = [
    '{action: FileFormat, group: "*", Json: true, JsonMode: ROW_FRAGMENTS}',
    '{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_op}"}',
    "{action: ColumnProperties, Name: seq, Extra: true, TimeKey: true, Datatype: varchar, Length: 45, "
    'IntegrateExpression: "{hvr_integ_seq}"}',
]
"""Each row is a message, with its operation and its position."""


@pytest.fixture(scope="module")
def server():
    with postgres.cluster() as running:
        yield running


@pytest.fixture
def database(server, name):
    server.psql(f"create database {name}")
    yield Database(server, name)
    server.psql(
        f"select pg_drop_replication_slot(slot_name) from pg_replication_slots where database = '{name}' and not active"
    )
    server.psql(f"drop database {name} with (force)")


class Database:
    def __init__(self, server, name):
        self.server, self.name = server, name

    def run(self, sql):
        return self.server.psql(sql, self.name)

    @property
    def address(self):
        return self.server.address(self.name)


@pytest.fixture
def channel(database, broker, tmp_path, name):
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
  src: {{class: postgres, address: "{database.address}"{location}}}
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


def test_rows_that_are_there_and_changes_that_follow(database, broker, channel, integrate_once, name):
    database.run(
        "create table t(k int primary key, v text); insert into t select g, 'row ' || g from generate_series(1, 1000) g"
    )
    path = channel()
    integrate_once(path)
    integrate_once(path)  # nothing is new
    database.run("insert into t values (1001, 'new'); update t set v = 'other' where k = 1; delete from t where k = 2")
    database.run(
        "begin; update t set k = 3000 where k = 3; rollback; begin; update t set k = 4000 where k = 4; truncate t; commit"
    )
    integrate_once(path)
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    assert sorted(row["k"] for row in rows[:1000]) == list(range(1, 1001))
    print(rows[1000:])
    assert len({row["seq"] for row in rows}) == len(rows)


TYPES = {
    "b": ("boolean", "true", "false"),
    "i2": ("smallint", "-32768", "32767"),
    "i4": ("integer", "-2147483648", "2147483647"),
    "i8": ("bigint", "-9223372036854775808", "9223372036854775807"),
    "n": ("numeric(38, 9)", "-99999999999999999999999999999.999999999", "0.000000001"),
    "u": ("numeric", "'123456789012345678901234567890.5'", "'NaN'"),
    "f4": ("real", "'-3.4028235e38'", "'1e-45'"),
    "f8": ("double precision", "'1.7976931348623157e308'", "'-5e-324'"),
    "m": ("money", "'-92233720368547758.08'", "'1234.5'"),
    "c": ("char(5)", "'ab'", "'\u00fc\"\\\\'"),
    "v": ("varchar(40)", "E'tab\\t line\\n quote\" back\\\\slash'", "''"),
    "t": ("text", "E'\\x01\\x0b\\x1f\\x7f \U0001f600'", "repeat('long ', 5000)"),
    "bin": ("bytea", "'\\x00ff5c0a'", "'\\x'"),
    "d": ("date", "'0001-01-01'", "'9999-12-31'"),
    "tm": ("time", "'00:00:00.000001'", "'23:59:59.999999'"),
    "tz": ("timetz", "'12:30:00+05:30'", "'00:00:00-12'"),
    "ts": ("timestamp", "'2026-11-27 01:02:03.456789'", "'0001-01-01 00:00:00'"),
    "tsz": ("timestamptz", "'2026-11-27 01:02:03.456789+02'", "'9999-12-31 23:59:59.999999+00'"),
    "iv": ("interval", "'1 year 2 mons 3 days 04:05:06.789'", "'00:00:01'"),
    "id": ("uuid", "'6ecd8c99-4036-403d-bf84-cf8400f67836'", "'00000000-0000-0000-0000-000000000000'"),
    "j": ("json", """'{"a" : [1, "x\\"y"], "b":null}'""", "'null'"),
    "jb": ("jsonb", """'{"a": [1, 2.50]}'""", "'[]'"),
    "x": ("xml", "'<a>\u00e4</a>'", "'<b/>'"),
    "ip": ("inet", "'192.168.0.1/24'", "'::1'"),
    "ci": ("cidr", "'10.0.0.0/8'", "'2001:db8::/32'"),
    "ma": ("macaddr", "'08:00:2b:01:02:03'", "'ff:ff:ff:ff:ff:ff'"),
    "bt": ("bit(5)", "B'10101'", "B'00000'"),
    "vb": ("bit varying(9)", "B'1'", "B'101010101'"),
    "p": ("point", "'(1.5,-2)'", "'(0,0)'"),
    "tv": ("tsvector", "'a fat cat'", "''"),
    "r": ("int4range", "'[1,10)'", "'empty'"),
    "ai": ("integer[]", "'{1,2,3}'", "'{}'"),
    "at": ("text[]", """'{"a,b","NULL","q\\"uote"}'""", "'{x}'"),
    "e": ("mood", "'sad'", "'very happy'"),
    "dm": ("positive", "1", "2147483647"),
    "co": ("pair", "'(1,\"a b\")'", "'(,)'"),
    "o": ("oid", "1", "4294967295"),
}


OWN_TYPES = """
create type mood as enum ('sad', 'very happy');
create domain positive as integer check (value > 0);
create type pair as (a int, b text);
"""


@pytest.mark.parametrize("kind", ["", "AVRO", "PROTOBUF"])
def test_values_of_every_type_are_the_same_from_the_table_and_from_its_changes(
    kind, database, broker, registry_server, channel, integrate_once, name
):
    """Byte for byte: in Connect JSON, Avro and Protobuf."""
    columns = ", ".join(f"{one} {type_}" for one, (type_, *_) in TYPES.items())
    database.run(f"{OWN_TYPES} create table t(k int primary key, {columns})")
    lines = [*zip(*(values for _, *values in TYPES.values()), strict=True), ["null"] * len(TYPES)]
    inserts = "; ".join(f"insert into t values ({number}, {', '.join(line)})" for number, line in enumerate(lines))
    database.run(inserts)
    at_registry = f', Kafka_Schema_Registry: "{registry_server.url}", Kafka_Schema_Registry_Format: {kind}'
    path = channel(more=at_registry if kind else "", actions=[])
    integrate_once(path)
    database.run(f"delete from t; {inserts}")
    integrate_once(path)
    values = [message.value for message in kafka_io.read_all(broker.servers, [f"{name}.t"])]
    assert len(values) == 6  # deletes have no messages here
    assert values[3:] == values[:3]
