"""Servers that are legal, and odd: nothing is lost in silence, and one table does not stop the others."""

# ruff: noqa: F811 - fixtures of another file

import pymysql
import pytest

from integrator.errors import EnvironmentFault, SourceAway
from integrator.schema import Bytes
from integrator.sources.binlog import dump, settings
from integrator.sources.binlog.server import Server
from integrator.sources.binlog.snapshot import SnapshotPoints
from integrator.sources.binlog.source import BinlogSource
from tests.broker.test_binlog_alone import MONITOR, database, location_of, server, spooled  # noqa: F401 - fixtures


def connected(server, **more):
    return pymysql.connect(
        host=server.host, port=server.port, user=server.user, password=server.password, charset="utf8mb4", **more
    )


def new_rows(spooled, table="t"):
    return [line["new"] for _, line in spooled.lines() if line["action"] == "I" and line["table"] == table]


def test_a_capture_begins_when_no_xa_transaction_is_prepared(server, database, spooled, name):
    """Its changes would be in neither the rows nor the log after them."""
    database("create table t (k int primary key)")
    with connected(server, database=name) as one, one.cursor() as cursor:
        for statement in (f"xa start '{name}'", "insert into t values (1)", f"xa end '{name}'", f"xa prepare '{name}'"):
            cursor.execute(statement)
    with pytest.raises(SourceAway, match=f"XA transactions are prepared, and not committed: '{name}'"):
        spooled.catch_up()
    server.sql(f"xa commit '{name}'")
    spooled.catch_up()
    assert new_rows(spooled) == [{"k": "1"}]


def test_a_capture_begins_when_no_xa_transaction_was_prepared_meanwhile(server, database, spooled, name, monkeypatch):
    """One is prepared after we asked, and committed after the snapshot began; MySQL's tables are locked before that."""
    database("create table t (k int primary key)")
    real, asked, at = SnapshotPoints._check_prepared, [], 2 if server.product == "mariadb" else 1

    def check(self, session, before=None):
        if before is not None:
            server.sql(f"xa commit '{name}'")
            return real(self, session, before)
        found = real(self, session)
        asked.append(session)
        if len(asked) == at:
            with connected(server, database=name) as one, one.cursor() as cursor:
                for sql in ("xa start", "insert into t values (1) -- ", "xa end", "xa prepare"):
                    cursor.execute(f"{sql} '{name}'")
        return found

    why = "was committed while a snapshot began" if server.product == "mariadb" else "are prepared, and not committed"
    with monkeypatch.context() as patched:
        patched.setattr(SnapshotPoints, "_check_prepared", check)
        with pytest.raises(SourceAway, match=why):
            spooled.catch_up()
    if server.product == "mysql":
        server.sql(f"xa commit '{name}'")
    spooled.catch_up()
    assert new_rows(spooled) == [{"k": "1"}]


def test_labels_may_have_words_of_types(database, spooled):
    """A definition is not looked into for words that are in labels."""
    create = "create table t (k int primary key, e enum('a', 'zerofill'), s set('x COMPRESSED*/', 'zerofill'))"
    database(f"{create}; insert into t values (1, 'zerofill', 'zerofill')")
    spooled.catch_up()
    database("insert into t values (2, 'zerofill', 'zerofill')")
    spooled.catch_up()
    assert new_rows(spooled) == [{"k": key, "e": "zerofill", "s": "zerofill"} for key in ("1", "2")]


def test_statements_that_cannot_be_read_of_tables_that_are_none_of_ours_are_passed_over(
    server, database, spooled, name
):
    database("create table t (k int primary key)")
    spooled.catch_up()
    server.sql(f"create database {name}_z; create table {name}_z.z (k int comment '\ufffd'); drop database {name}_z")
    if server.product == "mariadb":  # which keeps the bytes of a client; MySQL refuses them
        with connected(server, database=name, autocommit=True) as one, one.cursor() as cursor:
            cursor.execute(b"create procedure p() begin /* caf\xe9 */ select 1; end")
    database("insert into t values (1)")
    spooled.catch_up()
    assert new_rows(spooled) == [{"k": "1"}]


def test_a_statement_in_a_database_that_is_not_captured_is_passed_over(server, database, spooled, name):
    """And one that names a table of ours is refused, whatever database its client has."""
    database("create table t (k int primary key); insert into t values (1)")
    spooled.catch_up()
    server.sql(f"create database {name}_o; create table {name}_o.o (k int primary key)")
    with connected(server, database=f"{name}_o", autocommit=True) as one, one.cursor() as cursor:
        cursor.execute("set session binlog_format = 'STATEMENT'")
        for statement in ("insert into o values (1)", "update o set k = k + 1", f"delete from {name}_o.o"):
            cursor.execute(statement)
        database("insert into t values (2)")
        spooled.catch_up()
        assert new_rows(spooled) == [{"k": "1"}, {"k": "2"}]
        cursor.execute(f"insert into {name}.t values (3)")
    with pytest.raises(EnvironmentFault, match="as a statement"):
        spooled.catch_up()


def test_spatial_values_are_bytes(server, database, spooled):
    database(
        "create table t (k int primary key, p point not null, q geometry); insert into t values (1, point(1, 2), null)"
    )
    spooled.catch_up()
    database("insert into t values (2, point(1, 2), point(3, 4))")
    spooled.catch_up()
    [table] = BinlogSource(location_of(spooled.address)).defines().tables()
    assert [column.type for column in table.columns][1:] == [Bytes(), Bytes()]
    first, second = new_rows(spooled)
    assert first["p"] == second["p"] == "\\x000000000101000000000000000000f03f0000000000000040"
    assert first["q"] is None


def test_the_server_s_own_column_of_a_unique_key_of_long_text_is_left_out(server, database, spooled):
    if server.product != "mariadb":
        pytest.skip("MySQL has no unique keys of whole texts")
    database("create table t (k int primary key, v text, unique (v)); insert into t values (1, 'a')")
    spooled.catch_up()
    database("insert into t values (2, 'b'); update t set v = 'c' where k = 1; delete from t where k = 2")
    spooled.catch_up()
    assert new_rows(spooled) == [{"k": "1", "v": "a"}, {"k": "2", "v": "b"}]
    others = [line for _, line in spooled.lines() if line["action"] in "UD"]
    assert [(line.get("old"), line.get("new")) for line in others] == [
        ({"k": "1", "v": "a"}, {"k": "1", "v": "c"}),
        ({"k": "2", "v": "b"}, None),
    ]


def test_a_table_whose_column_is_called_as_the_server_s_own_is_left_out(server, database, spooled, name):
    """Its values are not taken for those of the server's column."""
    database("create table t (k int primary key, DB_ROW_HASH_1 bigint); insert into t values (1, 7)")
    source = BinlogSource(location_of(spooled.address)).defines()
    if server.product == "mariadb":
        assert "rename it" in source.left_out[f"{name}.t"]
    else:
        spooled.catch_up()
        database("insert into t values (2, 8)")
        spooled.catch_up()
        assert [row["DB_ROW_HASH_1"] for row in new_rows(spooled)] == ["7", "8"]


def test_types_that_the_log_does_not_tell_from_others_are_those_of_then(server, database, spooled):
    """Of rows that are read after their columns were altered."""
    if server.product != "mariadb":
        pytest.skip("MySQL has no such types")
    database("create table t (k int primary key, u uuid, i inet6, b binary(4))")
    spooled.catch_up()
    row = {"u": "01234567-89ab-1def-8123-456789abcdef", "i": "1:0:0:4::8", "b": "\\x61620000"}
    database(f"insert into t values (1, '{row['u']}', '{row['i']}', 'ab')")
    database("alter table t rename column u to w, modify i varchar(60), modify b inet4")
    database(f"insert into t values (2, '{row['u']}', '{row['i']}', '1.2.3.4')")
    spooled.catch_up()
    assert new_rows(spooled) == [{"k": "1", **row}, {"k": "2", "w": row["u"], "i": row["i"], "b": "1.2.3.4"}]


def test_keys_with_periods_are_none(server, database, spooled, name):
    if server.product != "mariadb":
        pytest.skip("MySQL has no periods")
    database(
        "create table r (k int primary key, s date, e date, period for p(s, e), unique (k, p without overlaps)); "
        "create table t (k int primary key)"
    )
    tables = BinlogSource(location_of(spooled.address)).defines().tables()
    assert {one.base_name: one.key for one in tables} == {"r": ("k",), "t": ("k",)}


def test_a_database_with_a_dot_and_a_table_that_our_user_may_not_read_are_left_out(server, database, spooled, name):
    server.sql(f"create database `{name}.x`; create table `{name}.x`.t (k int primary key)")
    database("create table a (k int primary key); create table t (k int primary key)")
    server.sql(f"create user u_{name}@'%' identified by ''; grant insert on {name}.a to u_{name}@'%'")
    server.sql(f"grant select on {name}.t to u_{name}@'%'; grant select on `{name}.x`.* to u_{name}@'%'")
    server.sql(f"grant {MONITOR[server.product]} on *.* to u_{name}@'%'")
    address = f"{server.product}://u_{name}@{server.host}:{server.port}"
    source = BinlogSource(location_of(address, tables=[f"{name}*.*"])).defines()
    assert [one.full_name for one in source.tables()] == [f"{name}.t"]
    assert "may not read" in source.left_out[f"{name}.a"]
    assert "has a dot" in source.left_out[f"{name}.x.t"]
    server.sql(f"drop database `{name}.x`; drop user u_{name}@'%'")


def test_the_end_of_a_file_is_known_that_is_too_large_for_a_position(server, database, name):
    """After a transaction that makes it so large the server begins another one, or stops, which both are events."""
    database("create table t (k int primary key)")
    with Server(server.address(name)).session() as session:
        end = settings.end_of_log(session)
        assert dump.is_last(session, *end)
        database("insert into t values (1)")
        assert not dump.is_last(session, *end)
        end = settings.end_of_log(session)
        server.sql("flush binary logs")
        assert settings.end_of_log(session)[0] != end[0]
        assert dump.is_last(session, *end)
        assert not dump.is_last(session, end[0], end[1] - 31)
        assert not dump.is_last(session, "log.999999", end[1])  # it was removed, and nobody knows what it had
