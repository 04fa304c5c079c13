"""I11: each change of a captured MySQL or MariaDB is read by its table's definition at that time."""

# ruff: noqa: F811 - fixtures of another file

import json
from decimal import Decimal

import pytest

from integrator.run.state import rewind
from integrator.run.state.directory import State
from integrator.sources.capture import definitions
from tests.broker.test_binlog_capture import ROWS, channel, database, rows_of, server  # noqa: F401 - fixtures
from tests.parts import kafka_io

pytestmark = [pytest.mark.broker, pytest.mark.spark]
TYPES = {
    # the column, its first value, the value of an update, what becomes of the column then; what the update has
    "text that became an integer": ("varchar(9)", "''", "'010'", "modify v int", "010"),
    "an integer that became a boolean": ("int", "0", "1", "modify v tinyint(1)", 1),
    "a decimal that became a double": (
        "decimal(30,20)", "0", "0.12345678901234567891", "modify v double", Decimal("0.12345678901234567891"),
    ),
    "an integer that became a double": ("bigint", "5", "9007199254740993", "modify v double", 9007199254740993),
    "bytes that became text": ("varbinary(9)", "x'01'", "'hi'", "modify v varchar(9)", "aGk="),
    "a column that was made again": ("text", "'a'", "'abc'", "drop v, add v int", "abc"),
    "a decimal with fewer digits": ("decimal(14,4)", "1", "9.8765", "modify v decimal(12,2)", Decimal("9.8765")),
    "an integer that became a larger one": ("int", "1", "7", "modify v bigint", 7),
    "a column that went": ("int", "1", "8", "drop v", 8),
    "a column that was renamed": ("int", "1", "9", "rename column v to w", 9),
    "labels that are other ones": ("enum('a','b')", "'a'", "'b'", "modify v enum('x','b')", "b"),
    "an unsigned one": ("bigint unsigned", "1", "18446744073709551615", "modify v varchar(30)", 18446744073709551615),
}  # fmt: skip


def test_i11_a_value_has_the_type_of_its_own_moment(database, broker, channel, integrate_once, name):
    database("create table other (k int primary key)")
    numbered = list(enumerate(TYPES.values()))
    for number, (kind, first, *_) in numbered:
        database(f"create table t{number} (k int primary key, v {kind}); insert into t{number} values (1, {first})")
    path = channel()
    integrate_once(path)
    for number, (_, _, value, change, _) in numbered:
        database(f"update t{number} set v = {value}")
        database(f"set sql_mode = ''; alter table t{number} {change}; insert into t{number}(k) values (2)")
        database(f"insert into other values ({number})")
    integrate_once(path)
    rows = {}
    for message in kafka_io.read_all(broker.servers, [f"{name}.t{number}" for number, _ in numbered]):
        rows.setdefault(message.topic, []).append(json.loads(message.value, parse_float=Decimal))
    for number, (*_, expected) in numbered:
        updated = next(row for row in rows[f"{name}.t{number}"] if row["op"] == 2)
        assert updated["v"] == expected, list(TYPES)[number]
        assert any(row["op"] == 1 and row["k"] == 2 for row in rows[f"{name}.t{number}"])
    assert len(rows_of(broker, f"{name}.other")[f"{name}.other"]) == len(TYPES)


def test_i11_a_column_came_was_used_and_went_and_the_key_was_moved(database, broker, channel, integrate_once, name):
    database("create table t (k int primary key, w int not null); create table u (k int primary key)")
    path = channel(actions=[*ROWS, '{action: Integrate, group: "*", MessageKeySerializer: JSON_ROW}'])
    integrate_once(path)
    database("insert into t values (1, 1); alter table t add column z int; insert into t values (2, 2, 2)")
    database("alter table t drop column z; insert into t values (3, 3)")
    database("alter table t drop primary key, add primary key (w); insert into t values (4, 40)")
    database("insert into u values (1)")
    integrate_once(path)
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    plain = [{key: value for key, value in row.items() if key not in ("op", "seq")} for row in rows]
    assert plain == [{"k": 1, "w": 1}, {"k": 2, "w": 2, "z": 2}, {"k": 3, "w": 3}, {"k": 4, "w": 40}]
    keys = [json.loads(one.key) for one in kafka_io.read_all(broker.servers, [f"{name}.t"])]
    assert keys == [{"k": 1}, {"k": 2}, {"k": 3}, {"w": 40}]
    assert len(rows_of(broker, f"{name}.u")[f"{name}.u"]) == 1
    kept = definitions.read(path.parent / "state" / name)
    assert any("PRIMARY KEY (`k`)" in text and "`z`" in text for text in kept.texts)


def test_i11_a_truncate_that_comes_first_says_nothing_of_its_table(database, broker, channel, integrate_once, name):
    """The statement has no columns, and what is sent is read by those that are known."""
    database("create table t (k int primary key); insert into t values (1)")
    database("create table u (k int primary key); insert into u values (1)")
    path = channel()
    integrate_once(path)
    database("truncate table t; truncate table u; alter table u add column c int; truncate table u")
    integrate_once(path)
    database("insert into t values (2); insert into u values (2, 3); truncate table t; drop table t")
    integrate_once(path)
    rows = {
        table: [(row["op"], row.get("k"), row.get("c")) for row in found]
        for table, found in rows_of(broker, f"{name}.t", f"{name}.u").items()
    }
    assert rows[f"{name}.t"] == [(1, 1, None), (5, None, None), (1, 2, None), (5, None, None)]
    assert rows[f"{name}.u"] == [(1, 1, None), (5, None, None), (5, None, None), (1, 2, 3)]


def test_i2_what_is_gone_back_to_has_the_definitions_of_its_time(database, broker, channel, integrate_once, name):
    database("create table t (k int primary key, v varchar(9)); insert into t values (1, 'one')")
    path = channel()
    integrate_once(path)
    database("update t set v = '2'; alter table t modify v int; insert into t values (3, 3)")
    integrate_once(path)
    before = [one.value for one in kafka_io.read_all(broker.servers, [f"{name}.t"])]
    state = State(str(path.parent / "state" / name))
    state.lock(name, 0)
    rewind.move_back(state, 0)
    state.unlock()
    integrate_once(path)
    after = [one.value for one in kafka_io.read_all(broker.servers, [f"{name}.t"])]
    assert after[len(before) :] == before[1:]


def test_the_first_changes_of_a_table_are_read_by_the_catalogue_where_it_is_still_so(
    server, database, broker, channel, integrate_once, name
):
    """What the log says of each type is what the catalogue says: else booleans, labels and lengths would be lost."""
    own = ", u uuid, w inet6" if server.product == "mariadb" else ""
    database(
        "create table t (k int unsigned primary key, a tinyint(1), b decimal(9,3) unsigned, c char(9), d varchar(300), "
        "e enum('a', 'b'), f set('a', 'b'), g json, h bit(11), i datetime(3), j timestamp(6) null, l time, m year, "
        "n mediumtext, o longblob, p binary(4), q double, r float, s date not null, t smallint unsigned, x tinytext, "
        f"y geometry, z mediumint{own})"
    )
    path = channel()
    integrate_once(path)
    database("insert into t (k, a, s) values (1, 1, '2026-01-01')")
    integrate_once(path)
    kept = definitions.read(path.parent / "state" / name)
    assert len(kept.texts) == 1
    assert len(rows_of(broker, f"{name}.t")[f"{name}.t"]) == 1
