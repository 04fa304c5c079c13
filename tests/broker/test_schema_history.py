"""I11: each change of a captured PostgreSQL is read by its table's definition at that time, in each format of `run`.

The tables' definitions change while the channel rests. Then it has changes of before and of after to send.
"""

# ruff: noqa: F811 - fixtures of another file

import json
from decimal import Decimal

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from integrator.cli import direct
from integrator.run.state import rewind
from integrator.run.state.directory import State
from integrator.sources.capture import definitions
from tests.broker.test_postgres_capture import ROWS, channel, database, rows_of  # noqa: F401 - fixtures
from tests.parts import kafka_io, postgres

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False)),
]


@pytest.fixture(scope="module")
def server():
    """The package's, 18: what relations and catalogues have is the same in all versions."""
    with postgres.from_pypi() as found, postgres.cluster(found=found) as started:
        yield started


TYPES = {
    # the column, its first value, the value of an update, what becomes of the column then; what the update has
    "text that became an integer": ("varchar", "''", "'010'", "alter v type int using v::int", "010"),
    "an integer that became a boolean": ("int", "0", "1", "alter v type boolean using v::boolean", 1),
    "a decimal that became a double": (
        "numeric(30,20)", "0", "0.12345678901234567891", "alter v type float8", Decimal("0.12345678901234567891"),
    ),
    "an integer that became a double": (
        "bigint", "5", "9007199254740993", "alter v type float8", 9007199254740993,
    ),
    "bytes that became text": ("bytea", r"'\x01'", "'hi'", "alter v type text", "aGk="),
    "a timestamp that has a zone": (
        "timestamp", "'2020-01-01'", "'2026-07-01 00:00:00'", "alter v type timestamptz", "2026-07-01T00:00:00",
    ),
    "a column that was made again": ("text", "'a'", "'abc'", "drop v, add v int", "abc"),
    "a decimal with fewer digits": ("numeric(14,4)", "1", "9.8765", "alter v type numeric(12,2)", Decimal("9.8765")),
    "an integer that became a larger one": ("int", "1", "7", "alter v type bigint", 7),
    "a column that went": ("int", "1", "8", "drop v", 8),
    "a column that was renamed": ("int", "1", "9", "rename v to w", 9),
    "an enum whose type went": ("mood", "'sad'", "'glad'", "drop v", "glad"),
    "an array that became text": ("int[]", "'{1}'", "'{1,2}'", "alter v type text using v::text", "[1, 2]"),
}  # fmt: skip


def test_i11_a_value_has_the_type_of_its_own_moment(database, broker, channel, integrate_once, name):
    database.run("create type mood as enum ('sad', 'glad'); create table other(k int primary key)")
    numbered = list(enumerate(TYPES.values()))
    for number, (kind, first, *_) in numbered:
        database.run(f"create table t{number}(k int primary key, v {kind}); insert into t{number} values (1, {first})")
    path = channel(location=", text_columns: [t12.v]")
    integrate_once(path)
    for number, (_, _, value, change, _) in numbered:
        database.run(f"update t{number} set v = {value}; alter table t{number} {change}")
        database.run(f"insert into t{number}(k) values (2); insert into other values ({number})")
    database.run("drop type mood; drop table t8")
    integrate_once(path)
    found = kafka_io.read_all(broker.servers, [f"{name}.t{number}" for number, _ in numbered])
    rows = {}
    for message in found:
        rows.setdefault(message.topic, []).append(json.loads(message.value, parse_float=Decimal))
    for number, (*_, expected) in numbered:
        _, updated, inserted = rows[f"{name}.t{number}"]
        got = updated["v"]
        assert (json.loads(got.replace("{", "[").replace("}", "]")) if number == 12 else got) == (
            [1, 2] if number == 12 else expected
        ), list(TYPES)[number]
        assert inserted["k"] == 2
    assert len(rows_of(broker, f"{name}.other")[f"{name}.other"]) == len(TYPES)


def test_i11_a_column_came_was_used_and_went_and_the_key_was_moved(database, broker, channel, integrate_once, name):
    database.run("create table t(k int primary key, w int not null); create table u(k int primary key)")
    path = channel(actions=[*ROWS, '{action: Integrate, group: "*", MessageKeySerializer: JSON_ROW}'])
    integrate_once(path)
    database.run("insert into t values (1, 1); alter table t add column z int; insert into t values (2, 2, 2)")
    database.run("alter table t drop column z; insert into t values (3, 3)")
    database.run("alter table t drop constraint t_pkey, add primary key (w); insert into t values (4, 40)")
    database.run("insert into u values (1)")
    integrate_once(path)
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    plain = [{key: value for key, value in row.items() if key not in ("op", "seq")} for row in rows]
    assert plain == [{"k": 1, "w": 1}, {"k": 2, "w": 2, "z": 2}, {"k": 3, "w": 3}, {"k": 4, "w": 40}]
    keys = [json.loads(one.key) for one in kafka_io.read_all(broker.servers, [f"{name}.t"])]
    assert keys == [{"k": 1}, {"k": 2}, {"k": 3}, {"w": 40}]
    assert len(rows_of(broker, f"{name}.u")[f"{name}.u"]) == 1
    kept = definitions.read(path.parent / "state" / name)
    announced = [number for number, text in enumerate(kept.texts) if "announced_key" in text]
    assert announced
    for number in announced:  # NOT NULL is not in the log: it is that of other versions
        assert "w integer NOT NULL" in kept.texts[number]
        assert [of for of in kept.versions.values() if number in of] == [(number,)]


def test_i11_tables_of_other_columns_swap_their_names_between_changes(database, broker, channel, integrate_once, name):
    database.run("create table t(k int primary key, v text); create table u(k int primary key, v int, w int)")
    path = channel(actions=[*ROWS])
    integrate_once(path)
    database.run("insert into t values (1, 'a')")
    database.run(
        "begin; alter table t rename to old; alter table u rename to t; commit; insert into t values (2, 5, 6)"
    )
    database.run("insert into old values (3, 'b')")
    integrate_once(path)
    rows = rows_of(broker, f"{name}.t")[f"{name}.t"]
    plain = [{key: value for key, value in row.items() if key not in ("op", "seq")} for row in rows]
    assert {"k": 1, "v": "a"} in plain
    assert {"k": 2, "v": 5, "w": 6} in plain


def test_a_table_with_types_of_the_catalogue_stops_no_other(database, broker, channel, integrate_once, name):
    """They have no counterpart elsewhere, and are what the database prints."""
    database.run("create table c as select oid, relpartbound, null::regconfig[] as r from pg_class limit 0")
    database.run("alter table c add primary key (oid); create table t(k int primary key)")
    database.run("insert into c values (1, null, '{simple}'); insert into t values (1)")
    integrate_once(channel(actions=[*ROWS]))
    rows = rows_of(broker, f"{name}.c", f"{name}.t")
    assert [(row["oid"], row["relpartbound"], row["r"]) for row in rows[f"{name}.c"]] == [(1, None, ["simple"])]
    assert len(rows[f"{name}.t"]) == 1


def test_i2_what_is_gone_back_to_has_the_definitions_of_its_time(database, broker, channel, integrate_once, name):
    database.run("create table t(k int primary key, v text)")
    path = channel()
    integrate_once(path)
    database.run("insert into t values (1, 'one')")
    integrate_once(path)
    database.run("alter table t alter v type int using length(v); insert into t values (2, 2)")
    integrate_once(path)
    before = [one.value for one in kafka_io.read_all(broker.servers, [f"{name}.t"])]
    state = State(str(path.parent / "state" / name))
    rewind.move_back(state, state.marks.cycles()[0])
    integrate_once(path)
    after = [one.value for one in kafka_io.read_all(broker.servers, [f"{name}.t"])]
    assert [json.loads(one)["v"] for one in before] == ["one", 2]
    assert after == [*before, *before]


def test_nothing_is_sent_again_for_tables_that_come(database, broker, channel, integrate_once, name):
    """What a cycle needs is known before it sends: rows were sent, and then definitions were found."""
    database.run("create table t0(k int primary key); insert into t0 values (0)")
    path = channel()
    integrate_once(path)
    for number in range(1, 6):
        database.run(f"insert into t0 values ({number}); create table t{number}(k int primary key, v text)")
        database.run(
            f"insert into t{number} values (1, 'x'); alter table t{number} add w int; insert into t0 values (1{number})"
        )
    integrate_once(path)
    topics = [f"{name}.t{number}" for number in range(6)]
    found = [(one.topic, one.value) for one in kafka_io.read_all(broker.servers, topics)]
    assert len(found) == len(set(found)) == 11 + 5


IDENTITIES = {
    "standard": "",
    "whole": "alter table {t} replica identity full",
    "indexed": "create unique index {t}_i on {t}(i); alter table {t} replica identity using index {t}_i",
    "nothing": "alter table {t} replica identity nothing",
}
LONG = "(select string_agg(md5(g::text), '') from generate_series(1, 200) g)"
STEPS = [
    "insert into {t} values (1, 1, 'a', {long}), (2, 2, 'b', 'short'), (3, 3, 'c', null)",
    "update {t} set v = 'toast is unchanged' where k = 1",
    "update {t} set k = 20, i = 20 where k = 2",
    "delete from {t} where k = 3",
    "alter table {t} add column n int; insert into {t} values (4, 4, 'd', 'x', 44)",
    "alter table {t} drop column n; insert into {t} values (5, 5, 'e', 'y')",
    "truncate {t}",
]
ONLY_INSERTS = [STEPS[0], STEPS[4], STEPS[5], STEPS[6]]
"""Of a table whose replica identity is nothing: PostgreSQL refuses its updates and deletes."""


def avro_of(registry, topic):
    reader = AvroDeserializer(registry.client)
    return lambda value: reader(value, SerializationContext(topic, MessageField.VALUE))


@pytest.mark.parametrize("format_", list(direct.FORMATS))
def test_each_change_of_each_replica_identity_in_each_format(
    format_, database, broker, registry_server, tmp_path, integrate_once, name
):
    for table, identity in IDENTITIES.items():
        database.run(f"create table {table}(k int primary key, i int not null, v text, long text)")
        if identity:
            database.run(identity.format(t=table))
    needs = format_ in direct.OF_REGISTRY
    asked = direct.Asked(database.address, broker.servers, registry_server.url if needs else None, format_)
    path = tmp_path / "made.yaml"
    path.write_text(
        direct.channel_of(asked).text.replace(f"channel: {direct.channel_of(asked).name}", f"channel: {name}")
    )
    integrate_once(path)
    for table in IDENTITIES:
        for step in ONLY_INSERTS if table == "nothing" else STEPS:
            database.run(step.format(t=table, long=LONG))
    integrate_once(path)
    prefix = f"{direct.channel_of(asked).name}.public."
    listed = AdminClient({"bootstrap.servers": broker.servers}).list_topics(timeout=30).topics
    topics = {one.removeprefix(prefix): one for one in listed if one.startswith(prefix)}
    assert set(topics) >= set(IDENTITIES) - {"nothing"}
    for table in topics.keys() & IDENTITIES.keys():
        messages = kafka_io.read_all(broker.servers, [topics[table]])
        assert len(messages) == len(EXPECTED[table]), table
        if format_ == "json":
            check_values([json.loads(one.value) for one in messages], table)
        elif format_ == "connect-json":
            check_values([json.loads(one.value)["payload"] for one in messages], table)
        elif format_ == "avro":
            rows = [avro_of(registry_server, topics[table])(one.value) for one in messages]
            check_values([_without_missing(row) for row in rows], table)


def _without_missing(row):
    """What a consumer makes of a row: columns that are named as missing are left as they are."""
    gone = (row.pop("missing") or "").split(",")
    return {key: value for key, value in row.items() if key not in gone}


_BEGIN, _END = [(1, 1), (1, 2), (1, 3)], [(1, 4), (1, 5), (5, None)]
EXPECTED = {
    # the operations and the keys of rows; 3 and 4 are before images: of an update of the key, and of another one
    "standard": [*_BEGIN, (2, 1), (3, 2), (2, 20), (0, 3), *_END],
    "whole": [*_BEGIN, (4, 1), (2, 1), (3, 2), (2, 20), (0, 3), *_END],
    "indexed": [*_BEGIN, (2, 1), (3, None), (2, 20), (0, None), *_END],
    "nothing": [*_BEGIN, *_END],
}


def check_values(rows, table):
    rows.sort(key=lambda row: row["integ_seq"])
    assert [(row["op_val"], row.get("k")) for row in rows] == EXPECTED[table]
    updated = next((row for row in rows if row["op_val"] == 2 and row["k"] == 1), None)
    if updated is not None:
        assert updated["v"] == "toast is unchanged"
        assert ("long" in updated) == (table == "whole")
    assert next(row for row in rows if row.get("k") == 4)["n"] == 44
    assert "n" not in next(row for row in rows if row.get("k") == 5)
