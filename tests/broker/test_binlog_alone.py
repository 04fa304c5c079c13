"""What a capture of a binary log writes into its spool: values as the server has them, each change once, all rows (I9).

A real MariaDB and a real MySQL; neither Kafka nor Spark.
"""

import contextlib
import json
import random
import time

import pymysql
import pytest
from structlog.testing import capture_logs

from integrator.channel.databases import BinlogLocation
from integrator.errors import EnvironmentFault, SourceAway
from integrator.sources.binlog import settings, snapshot, tables
from integrator.sources.binlog import stream as streams
from integrator.sources.binlog.packets import Packets
from integrator.sources.binlog.server import Server
from integrator.sources.binlog.source import BinlogSource
from integrator.sources.capture import position_rows, progress
from integrator.sources.capture import record as records
from integrator.sources.capture import stream as shared
from integrator.sources.capture.frames import FRAMES, standing_in
from integrator.sources.spool import SPOOL, Spool, Writer, sealed_in
from tests.parts import mariadb, mysql
from tests.parts.spooled import Crash, fragile, lines_in, rebuilt, transactions
from tests.parts.waiting import until

PARTS = {"mariadb": mariadb, "mysql": mysql}
MONITOR = {"mariadb": "binlog monitor", "mysql": "replication client, xa_recover_admin"}
SETTINGS_OF = {"mariadb": "", "mysql": "gtid_mode = ON\nenforce_gtid_consistency = ON\n"}
MONITOR = {"mariadb": "binlog monitor", "mysql": "replication client, xa_recover_admin"}


@pytest.fixture(scope="module", params=PARTS)
def server(request):
    parts = PARTS[request.param]
    if parts.missing():
        pytest.skip(parts.missing())
    with parts.cluster(f"binlog_row_metadata = FULL\n{SETTINGS_OF[request.param]}") as found:
        yield found


def location_of(address, **more):
    return BinlogLocation(**{"class": address.partition(":")[0], "address": address, **more})


class Spooled:
    """A capture into a directory, opened anew each time, as after a crash."""

    def __init__(self, server, state, name):
        self.address, self.state, self.directory = server.address(name), state, state / SPOOL

    def capture(self, spool, **more):
        location = location_of(self.address, **more)
        return streams.Captures(location, Server(self.address)).capture(spool, "test")

    def catch_up(self, **more):
        spool = Spool(self.directory, framing=FRAMES)
        try:
            self.capture(spool, **more).catch_up()
        finally:
            spool.close()

    def lines(self):
        yield from lines_in(self.directory)

    def changes(self):
        return [(line["action"], line.get("old", {}).get("k"), line.get("new")) for _, line in self.lines()]


@pytest.fixture
def database(server, name):
    server.sql(f"create database {name}")
    yield lambda sql: server.sql(sql, name)
    server.sql(f"drop database {name}")


@pytest.fixture
def spooled(server, database, tmp_path, name):
    return Spooled(server, tmp_path, name)


def rows(database, table):
    return {
        row["k"]: row
        for row in map(json.loads, database(f"select json_object('k', concat(k), 'v', v) from {table}").splitlines())
    }


TYPES = {
    "a": ("tinyint unsigned", "255", "0"),
    "b": ("tinyint", "-128", "127"),
    "c": ("smallint unsigned", "65535", "32768"),
    "d": ("mediumint", "-8388608", "8388607"),
    "e": ("mediumint unsigned", "16777215", "1"),
    "f": ("int unsigned", "4294967295", "2147483648"),
    "g": ("bigint", "-9223372036854775808", "9223372036854775807"),
    "h": ("bigint unsigned", "18446744073709551615", "9223372036854775808"),
    "i": ("decimal(65,30)", "-34359738368.999999999999999999999999999999", "0.000000000000000000000000000001"),
    "j": ("decimal(5,0)", "-99999", "7"),
    "l": ("decimal(9,2)", "-9999999.99", "0.05"),
    "m": ("decimal(20,9)", "12345678901.123456789", "-0.000000001"),
    "n": ("decimal(3,3)", "-0.999", "0.001"),
    "na": ("decimal(18,9)", "-123456789.000000001", "9.5"),
    "nb": ("decimal(27,0)", "999999999999999999999999999", "-1000000000"),
    "pa": ("char(255)", "repeat('€', 255)", "'a'"),
    "va": ("char(100) character set latin1", "repeat('é', 100)", "''"),
    "wa": (f"enum({', '.join(repr(f'label {one}') for one in range(300))})", "'label 299'", "'label 0'"),
    "xa": (f"set({', '.join(repr(f'l{one}') for one in range(64))})", "'l0,l63'", "'l62'"),
    "o": ("year", "1901", "2155"),
    "p": ("char(10)", "'ünï'", "''"),
    "q": ("varchar(300)", "repeat('€', 300)", "'tab\\t new\\n back\\\\ \"q\"'"),
    "r": ("longtext", "repeat('x', 70000)", "'\\0\\r\\b'"),
    "s": ("varchar(10) character set latin1", "'é€ÿ'", "'a'"),
    "t": ("varchar(10) character set cp1251", "'жы'", "'я'"),
    "u": ("json", "'{\"a\": [1, null]}'", "'null'"),
    "w": ("enum('a', 'b,''c')", "'b,''c'", "'a'"),
    "x": ("set('x', 'y', 'z')", "'x,z'", "''"),
    "y": ("date", "'9999-12-31'", "'0000-00-00'"),
    "z": ("datetime", "'1000-01-01 00:00:00'", "'0000-00-00 00:00:00'"),
    "aa": ("datetime(6)", "'9999-12-31 23:59:59.999999'", "'1000-01-01 00:00:00.000001'"),
    "ab": ("datetime(3)", "'2024-02-29 12:00:00.12'", "'2024-12-31 23:59:59.999'"),
    "ac": ("time", "'838:59:59'", "'-838:59:59'"),
    "ad": ("time(6)", "'-00:00:00.000001'", "'-838:59:58.999999'"),
    "ae": ("time(1)", "'-100:00:01.5'", "'00:00:00.9'"),
    "af": ("uuid", "'01234567-89ab-1def-8123-456789abcdef'", "'01932c5e-7d4e-7abc-9def-0123456789ab'"),
    "ag": ("inet6", "'::ffff:1.2.3.4'", "'1:0:0:4::8'"),
    "ah": ("inet4", "'255.255.255.255'", "'0.0.0.0'"),
    "ai": ("int as (b + 1) virtual", None, None),
    "aj": ("int as (b + 2) stored", None, None),
    "ak": ("int invisible", "1", "2"),
    "al": ("inet6", "'fe80::1:0:0:1'", "'::1'"),
    "am": ("inet6", "'1::'", "'::'"),
}
"""Types whose values are in a row as the server prints them; two values of each."""
OTHERS = {
    "ba": ("binary(5)", "0x0102", "0x0000000000"),
    "bb": ("varbinary(300)", "repeat(0x00, 300)", "''"),
    "bc": ("blob", "repeat('x', 1000)", "''"),
    "bd": ("bit(1)", "1", "0"),
    "be": ("bit(64)", "b'101'", "18446744073709551615"),
    "bf": ("geometry", "point(1, 2)", "st_geomfromtext('linestring(0 0, 1 1)')"),
    "bg": ("timestamp", "'2038-01-19 03:14:07'", "'1970-01-01 00:00:01'"),
    "bh": ("timestamp(6)", "'2024-01-02 03:04:05.000001'", "'0000-00-00 00:00:00'"),
    "bi": ("float", "-3.4028235e38", "0.1"),
    "bj": ("double", "1.7976931348623157e308", "0.1"),
    "bk": ("int unsigned zerofill", "4", "4294967295"),
}
AS_TEXT = {
    "ba": "\\x0102000000", "bb": "\\x" + "00" * 300, "bc": "\\x" + "78" * 1000, "bd": "1", "be": f"{5:064b}",
    "bf": "\\x000000000101000000000000000000f03f0000000000000040", "bg": "2038-01-19 03:14:07+00",
    "bh": "2024-01-02 03:04:05.000001+00", "bi": -3.4028234663852886e38, "bj": 1.7976931348623157e308, "bk": "4",
}  # fmt: skip


OF_MARIADB = ("af", "ag", "ah", "al", "am")
"""Types that MySQL has not."""


def comparable(row):
    return {name: float(value) if name in ("bi", "bj") and value is not None else value for name, value in row.items()}


def test_every_type_has_the_same_text_from_table_and_log_and_that_of_the_server(server, database, spooled):
    types = {name: one for name, one in TYPES.items() if server.product == "mariadb" or name not in OF_MARIADB}
    columns = {**types, **OTHERS}
    given = [name for name, (_, first, _) in columns.items() if first is not None]
    database(
        f"create table t (k int primary key, {', '.join(f'{name} {one[0]} null' if one[1] else f'{name} {one[0]}' for name, one in columns.items())})"
    )

    def fill():
        values = [", ".join(columns[name][at] for name in given) for at in (1, 2)] + [", ".join(["null"] * len(given))]
        database(
            "set sql_mode = '', time_zone = '+00:00'; "
            + "".join(
                f"insert into t (k, {', '.join(given)}) values ({number}, {row}); " for number, row in enumerate(values)
            )
        )

    fill()
    spooled.catch_up()
    there = [line["new"] for _, line in spooled.lines()]
    database("delete from t")
    fill()
    spooled.catch_up()
    images = [(line["action"], line.get("new") or line["old"]) for _, line in spooled.lines()][3:]
    assert [action for action, _ in images] == [*"DDDIII"]
    for number, row in enumerate(there):
        for at in (number, number + 3):  # from the log: deleted, and inserted
            assert comparable(images[at][1]) == comparable(row)
        printed = database(
            f"select json_array({', '.join(f'concat({name})' for name in types)}) from t where k = {number}"
        )
        assert [row[name] for name in types] == json.loads(printed)
    assert {name: comparable(there[0])[name] for name in OTHERS} == AS_TEXT


JSON_OF_MYSQL = (
    "json_array(1e14, 1e15, 1e16, 1e20, 123456789012345680e0, 0.0001e0, 1e-14, 1e-15, 1e-16, 1.5e300, -0e0, 5e-324)",
    "json_array(-1451539525449863.5e0, 1451539525449863e0, 14515395254498635e0, 123456789012345.75e0)",
    "json_array(1.7976931348623157e308, 100e0, 0.1e0, 999999999999999e0, 9999999999999990e0, 1.5e-5, -2.5e-16, 12.5e0)",
    "json_object('d', cast(1.50 as decimal(10, 3)), 'n', cast(-12345678901234567890.123 as decimal(40, 10)))",
    "json_object('a', cast('2020-01-02 03:04:05.6' as datetime(6)), 'b', date'2020-01-02', 'c', time'-812:00:01.5')",
    "json_object('b', x'00ff10', 'e', x'', 'l', repeat(x'41', 100), 'bit', b'101', 'z', cast('0000-00-00' as date))",
    "json_object('point', st_geomfromtext('point(1 2)'), 'u', 18446744073709551615, 'i', -9223372036854775808)",
    "json_array(0, -1, 32767, -32768, 65535, 65536, -2147483648, 4294967295, 4294967296, true, false, null, '')",
    "json_object('', \"a\\\"b\\\\c/\\t\\n\\b\\r\\0\\Z\u00e9\U0001f600\", 'k\"', json_object(), 'l', json_array(), 'm', json_array(json_array()))",
    "json_array(repeat('x', 127), repeat('y', 128), repeat('z', 70000), 1, -100000, 100000, json_object('a', 1.5e0))",
    "cast('null' as json)", "cast('\"text\"' as json)", "cast('1.5' as json)", "cast('[[[[1.25], 2.5], {\"a\": 0.1}]]' as json)",
    f"cast('{'[' * 99}{']' * 99}' as json)",
)  # fmt: skip


def test_json_of_mysql_has_the_text_that_the_server_prints(server, database, spooled):
    if server.product != "mysql":
        pytest.skip("JSON of MariaDB is text")
    database("create table t (k int primary key, v json, w double)")
    spooled.catch_up()
    values = ", ".join(f"({number}, {value}, {number}.5e0)" for number, value in enumerate(JSON_OF_MYSQL))
    database(f"set sql_mode = ''; insert into t values {values}; update t set v = json_array(w, v)")
    spooled.catch_up()
    printed = dict(
        zip(
            range(len(JSON_OF_MYSQL)), json.loads(database("select json_arrayagg(cast(v as char)) from t")), strict=True
        )
    )
    lines = [line for _, line in spooled.lines()]
    for number in printed:
        last = lines[len(JSON_OF_MYSQL) + number]
        assert last["new"] == {"k": str(number), "v": printed[number], "w": f"{number}.5"}
        assert last["new"]["v"] == f"[{number}.5, {lines[number]['new']['v']}]"


CHARSETS = "big5 dec8 cp850 hp8 koi8r latin1 latin2 swe7 ascii cp1250 hebrew tis620 greek armscii8 cp866 keybcs2 macce macroman cp852 latin7 cp1251 cp1256 cp1257 geostd8 utf8mb3"


def test_each_character_set_is_read_as_the_server_does_or_its_tables_are_left_out(database, spooled):
    there = [one for one in CHARSETS.split() if one != "big5"]
    database(
        f"create table t (k int primary key, {', '.join(f'{one} varchar(300) character set {one}' for one in there)})"
    )
    database("create table b (k int primary key, v varchar(10) character set big5)")
    octets = "".join(f"{byte:02x}" for byte in range(1, 256))
    spooled.catch_up()
    mapped = ", ".join(f"_{one} 0x{octets if one not in ('ascii', 'utf8mb3') else '61'}" for one in there)
    database(f"set sql_mode = ''; insert into t values (1, {mapped}); insert into b values (1, 'x')")
    spooled.catch_up()
    [(_, line)] = spooled.lines()
    for one in there:
        expected = database(f"select json_array(convert({one} using utf8mb4)) from t")
        assert [line["new"][one]] == json.loads(expected), one
    source = BinlogSource(location_of(spooled.address)).defines()
    assert [*source.left_out.values()] == [
        "has the column v in the character set big5, which is not read: convert it to utf8mb4"
    ]


@pytest.mark.parametrize("seed", range(3))
def test_i9_whatever_is_broken_off_each_change_is_in_the_spool_once(seed, server, database, spooled, monkeypatch):
    """A crash before or after a segment is written or sealed, or a place recorded; in snapshots, too."""
    draw = random.Random(seed)
    monkeypatch.setattr(shared, "SEGMENT_BYTES", 2_000)
    monkeypatch.setattr(snapshot, "_FRAME_BYTES", 20_000)
    monkeypatch.setattr(streams, "_CONFIRM_S", 0.0)
    database("create table a(k int primary key, v text); create table b(k int primary key, v text)")
    for table in "ab":
        database(f"insert into {table} select seq, repeat('x', seq % 50) from {server.numbers(1, 8000)}")
    crashing = [True]
    for owner, name, chance in ((Writer, "write", 0.04), (Writer, "seal", 0.04), (streams.Stream, "_confirm", 0.1)):
        monkeypatch.setattr(owner, name, fragile(getattr(owner, name), chance, draw, crashing))
    crashes = 0

    def catch_up():
        nonlocal crashes
        for _ in range(300):
            try:
                spooled.catch_up()
            except Crash:  # in a snapshot, rows that are there already are deleted before it is read again
                crashes += 1
                database(f"delete from a where k < {crashes * 200}; update b set v = 'after {crashes}' where k < 50")
            except SourceAway:
                time.sleep(0.1)
            else:
                return
        raise AssertionError(f"{crashes} crashes, and no end")

    catch_up()
    for number in range(6):
        first = 50_000 + number * 1000
        database(
            f"begin; insert into a select seq, 'new' from {server.numbers(first, first + 500)}; "
            f"update b set v = 'v{number}' where k between {number * 100} and {number * 100 + 99}; commit; "
            f"delete from a where k = {first + 1}; update b set k = -k where k = {number + 1}; begin; delete from b; rollback"
        )
        if number == 3:
            database(
                "truncate a; create table c(k int primary key, v text); "
                f"insert into c select seq, 'c' from {server.numbers(1, 3000)}"
            )
        catch_up()
        if number == 3:
            database("delete from c where k < 10")
    crashing[0] = False
    spooled.catch_up()
    lines = list(spooled.lines())
    assert crashes > 3
    positions = [position for position, _ in lines]
    assert positions == sorted(set(positions)), "twice, or out of order"
    marks = transactions(spooled.directory)
    assert marks == sorted(set(marks)), "a transaction begins twice"
    made = rebuilt(lines)
    for table in "abc":
        assert made[table] == rows(database, table)


def test_definitions_that_change_between_changes_are_those_of_their_time(database, spooled):
    """Renamed and exchanged columns have equal types: only the log says which is which."""
    database("create table t (k int primary key, a varchar(10), b varchar(10))")
    spooled.catch_up()
    database(
        "insert into t values (1, 'a1', 'b1'); alter table t rename column a to x, rename column b to a;"
        "insert into t values (2, 'x2', 'a2'); alter table t drop column x, add column y int first; insert into t values (3, 3, 'a3');"
        "alter table t modify k bigint; insert into t values (null, 1099511627776, null)"
    )
    spooled.catch_up()
    assert [new for _, _, new in spooled.changes()] == [
        {"k": "1", "a": "a1", "b": "b1"},
        {"k": "2", "x": "x2", "a": "a2"},
        {"y": "3", "k": "3", "a": "a3"},
        {"y": None, "k": "1099511627776", "a": None},
    ]


def test_a_table_that_is_dropped_or_takes_the_place_of_another_is_read_anew(database, spooled):
    database("create table t (k int primary key, v text); insert into t values (1, 'old')")
    spooled.catch_up()
    database(
        "drop table t; create table t (k int primary key, v text); insert into t values (2, 'new'); "
        "create table ghost (k int primary key, v text, w int default 7); insert into ghost (k, v) select k, v from t"
    )
    spooled.catch_up(exclude=["ghost", "was"])
    database("rename table t to was, ghost to t; insert into t values (3, 'x', 1); delete from t where k = 2")
    spooled.catch_up(exclude=["ghost", "was"])
    made = rebuilt(spooled.lines())
    assert {key: row.get("w") for key, row in made["t"].items()} == {"3": "1"}


def test_rolled_back_parts_and_transactions_of_other_tables_leave_nothing(database, spooled):
    database("create table t (k int primary key, v text); create table other (k int primary key)")
    spooled.catch_up(tables=["t"])
    segments = len(sealed_in(spooled.directory))
    for number in range(20):
        database(f"insert into other values ({number})")
    spooled.catch_up(tables=["t"])
    assert len(sealed_in(spooled.directory)) == segments, "transactions without our changes make no segments"
    database(
        "begin; insert into t values (1, 'a'); savepoint s; insert into t values (2, 'b'); rollback to savepoint s; "
        "insert into other values (100); insert into t values (3, 'c'); commit"
    )
    spooled.catch_up(tables=["t"])
    assert [new["k"] for _, _, new in spooled.changes() if new] == ["1", "3"]


def test_compressed_events_are_read(server, database, spooled):
    database("create table t (k int primary key, v text)")
    spooled.catch_up()
    is_mysql = server.product == "mysql"  # which compresses whole transactions
    switch = "binlog_transaction_compression" if is_mysql else "log_bin_compress_min_len = 10, global log_bin_compress"
    server.sql(f"set global {switch} = on")
    try:
        database(
            f"insert into t select seq, repeat('long ', 100) from {server.numbers(1, 50)}; update t set v = repeat('x', 1000) where k < 3; alter table t add column n int; delete from t where k = 1"
        )
    finally:
        server.sql(f"set global {switch} = off")
    database("insert into t (k) values (100)")
    spooled.catch_up()
    assert [action for action, _, _ in spooled.changes()] == [*"I" * 50, *"UUDI"]


def test_rows_of_many_megabytes_are_whole(server, database, spooled):
    server.sql("set global max_allowed_packet = 67108864")
    database("create table t (k int primary key, v longtext)")
    spooled.catch_up()
    database("insert into t values (1, repeat('abcdefgh', 2500000))")
    spooled.catch_up()
    [(_, _, new)] = spooled.changes()
    assert new["v"] == "abcdefgh" * 2_500_000
    other = Spooled(server, spooled.state / "other", spooled.address.rpartition("/")[2])
    other.catch_up()
    [(_, _, new)] = other.changes()
    assert new["v"] == "abcdefgh" * 2_500_000


REFUSED = {
    "set session binlog_row_image = 'MINIMAL'; update t set v = 2": "does not have all columns of its rows",
    "set session binlog_row_image = 'MINIMAL'; delete from t": "does not have all columns of its rows",
    "set session binlog_format = 'STATEMENT'; insert into t (k) values (1)": "changes are in the log as a statement",
    "xa start 'x'; insert into t (k) values (1); xa end 'x'; xa prepare 'x'": "prepares an XA transaction",
    "set session binlog_row_image = 'MINIMAL'; insert into t (k) values (1)": "does not have all columns of its rows",
}
REFUSED_OF = {
    "mariadb": {
        "set session binlog_format = 'STATEMENT'; "
        "set statement max_statement_time = 9 for insert into t (k) values (1)": "changes are in the log as a statement",
    },
    "mysql": {
        "set session binlog_row_value_options = 'PARTIAL_JSON'; update t set j = json_set(j, '$.a', 2)": (
            "changes have parts of JSON only"
        ),
    },
}


def test_what_the_log_does_not_have_as_rows_is_refused(server, database, spooled):
    cases = REFUSED | REFUSED_OF[server.product]
    for number, (sql, reason) in enumerate(cases.items()):
        database(
            "drop table if exists t, p, q, pp; create table t (k int primary key, v int default 1, j json); "
            'insert into t (k, j) values (100, \'{"a": 1, "b": "some more text"}\'), (101, null); '
            "create table q (k int primary key); create table p (k int primary key) partition by range (k) "
            "(partition p0 values less than (10), partition p1 values less than (20))"
        )
        own = Spooled(server, spooled.state / str(number), spooled.address.rpartition("/")[2])
        own.catch_up()
        database(sql)
        try:
            with pytest.raises(EnvironmentFault, match=reason) as raised:
                own.catch_up()
        finally:
            if "xa" in sql:
                server.sql("xa rollback 'x'")
        assert "integrator forget" in str(raised.value)


@contextlib.contextmanager
def set_global(server, name, value, back):
    server.sql(f"set global {name} = {value}")
    try:
        yield
    finally:
        server.sql(f"set global {name} = {back}")


def test_names_of_columns_are_asked_for_where_our_user_may(server, database, spooled):
    database("create table t (k int primary key)")
    with set_global(server, "binlog_row_metadata", "MINIMAL", "'FULL'"):
        with capture_logs() as logged:
            spooled.catch_up()
        assert settings.METADATA in logged[0]["event"]
        assert "FULL" in server.sql("select @@global.binlog_row_metadata")


def test_names_that_are_gone_after_a_restart_are_an_error_unless_they_are_known(server, database, spooled, monkeypatch):
    database("create table t (k int primary key, v int)")
    spooled.catch_up()
    monkeypatch.setattr(settings, "with_names", lambda _session: False)
    monkeypatch.setattr(settings, "has_names", lambda _session: True)
    database("insert into t values (1, 1)")
    with set_global(server, "binlog_row_metadata", "'MINIMAL'", "'FULL'"):
        database("insert into t values (2, 2)")
    spooled.catch_up()
    assert [new["k"] for _, _, new in spooled.changes()] == ["1", "2"]
    with set_global(server, "binlog_row_metadata", "'MINIMAL'", "'FULL'"):
        database("alter table t add column w int; insert into t values (3, 3, 3)")
    with pytest.raises(EnvironmentFault, match="its columns have no names in the log"):
        spooled.catch_up()


SETTINGS = [
    ("binlog_format", "'MIXED'", "'ROW'", "binlog_format is MIXED"),
    ("binlog_row_image", "'MINIMAL'", "'FULL'", "binlog_row_image is MINIMAL"),
    ("binlog_row_value_options", "'PARTIAL_JSON'", "''", "binlog_row_value_options is not empty"),
]


@pytest.mark.parametrize(("name", "value", "back", "reason"), SETTINGS, ids=[one[0] for one in SETTINGS])
def test_settings_under_which_changes_would_be_lost_are_refused(name, value, back, reason, server, database, spooled):
    if not server.sql(f"show variables like '{name}'"):
        pytest.skip(f"{server.product} has no {name}")
    with set_global(server, name, value, back), pytest.raises(EnvironmentFault, match=reason):
        spooled.catch_up()


def test_images_without_large_values_are_refused_where_inserts_may_lack_them(server, database, spooled):
    database("create table t (k int primary key)")
    with set_global(server, "binlog_row_image", "'NOBLOB'", "'FULL'"):
        if server.product == "mysql":
            with pytest.raises(EnvironmentFault, match="binlog_row_image is NOBLOB"):
                spooled.catch_up()
        else:
            spooled.catch_up()


def test_a_user_without_rights_is_told_what_to_run(server, database, spooled, name):
    database(f"create table t (k int primary key); insert into t values (1); create user {name}@'%' identified by 'x'")
    spooled.address = address = spooled.address.replace("cdc:cdc@", f"{name}:x@")
    source = BinlogSource(location_of(address))
    monitor = MONITOR[server.product]
    locks = ", lock tables" if server.product == "mysql" else ""
    script = [
        f"  grant replication slave, {monitor} on *.* to '{name}'@'%';",
        f"  grant select{locks} on `{name}`.* to '{name}'@'%';",
    ]
    for _ in range(2):
        [(_, text)] = source.reach("")
        assert text.splitlines()[1:] == script
        database(script[0])
    key, text = source.defines().no_tables
    assert (key, text.splitlines()[1:]) == ("tables", script)
    database(f"grant select on {name}.* to {name}@'%'")
    assert [*source.reach("")] == []
    if server.product == "mysql":  # which does not know at which place a snapshot is
        with pytest.raises(EnvironmentFault, match=r"grant lock tables on the tables, or reload on \*\.\*"):
            spooled.catch_up()
        database(f"grant lock tables on {name}.* to {name}@'%'")
    spooled.catch_up()
    assert [new["k"] for _, _, new in spooled.changes()] == ["1"]
    database(f"drop user {name}@'%'")


def test_tables_that_cannot_be_followed_are_left_out_with_the_reason(server, database, spooled, name):
    if server.product == "mariadb":
        database("create table h (k int primary key) with system versioning")
        database("create table z (k int primary key, v text compressed)")
    database(
        "create table good (k int primary key); create table m (k int primary key) engine = MyISAM; "
        "create table parent (k int primary key); "
        "create table child (k int primary key, p int, foreign key (p) references parent (k) on delete cascade)"
    )
    source = BinlogSource(location_of(spooled.address)).defines()
    assert sorted(one.name for one in source.tables()) == ["child", "good", "parent"]
    notes = "\n".join(source.notes())
    database(
        f"create user reader@'%'; grant replication slave on *.* to reader@'%'; grant select on {name}.* to reader@'%'"
    )
    database(f"grant {MONITOR[server.product]} on *.* to reader@'%'")
    place = spooled.address.rpartition("@")[2]
    assert "\n".join(BinlogSource(location_of(f"{server.product}://reader@{place}")).defines().notes()) == notes
    database("drop user reader@'%'")
    assert "is of the engine MyISAM" in notes
    assert ("is system-versioned" in notes) == ("has the compressed column v" in notes) == (server.product == "mariadb")
    is_logged = bool(server.sql("show variables like 'innodb_native_foreign_keys'"))  # newer servers of MySQL
    assert ("are not in the log" in notes) != is_logged
    database("insert into parent values (1); insert into child values (1, 1)")
    spooled.catch_up()
    database("delete from parent")  # what the note says: the child's row goes without an event
    spooled.catch_up()
    deleted = {line["table"] for _, line in spooled.lines() if line["action"] == "D"}
    assert deleted == ({"parent", "child"} if is_logged else {"parent"})
    assert database("select count(*) from child").strip() == "0"


@pytest.mark.parametrize("product", PARTS)
def test_a_log_that_was_removed_or_reset_is_an_error(product, name):
    if PARTS[product].missing():
        pytest.skip(PARTS[product].missing())
    with PARTS[product].cluster("binlog_row_metadata = FULL") as own:
        own.sql(f"create database {name}")
        own.sql("create table t (k int primary key)", name)
        import pathlib
        import tempfile

        with tempfile.TemporaryDirectory() as directory:
            spooled = Spooled(own, pathlib.Path(directory), name)
            spooled.catch_up()
            own.sql("flush binary logs; insert into t values (1); flush binary logs; insert into t values (2)", name)
            last = own.sql("show binary logs").splitlines()[-1].split()[0]

            def is_purged():
                own.sql(f"purge binary logs to '{last}'")  # which keeps a file that it has not done with
                return len(own.sql("show binary logs").splitlines()) == 1

            until(is_purged)
            with pytest.raises(
                EnvironmentFault,
                match=r"(the log cannot be read from binlog|in the server's log no more \(0-).*integrator forget",
            ):
                spooled.catch_up()
            again = Spooled(own, pathlib.Path(directory) / "again", name)
            again.catch_up()
            time.sleep(1.1)  # files are distinguished by the second in which they began
            try:
                own.sql("reset master")
            except RuntimeError:  # MySQL 8.4 and newer
                own.sql("reset binary logs and gtids")
            own.sql("flush binary logs; flush binary logs")
            for number in range(200):
                own.sql(f"insert into t values ({number + 10})", name)
            with pytest.raises(EnvironmentFault, match=r"was reset|the log cannot be read"):
                again.catch_up()


def test_a_server_that_is_away_is_tried_again_and_how_far_it_is_is_shown(server, database, spooled):
    database("create table t (k int primary key)")
    source = BinlogSource(location_of(spooled.address), state=spooled.state)
    assert source.server_log() is None
    spool = Spool(spooled.directory, framing=FRAMES)
    capture = spooled.capture(spool)
    capture.start()
    try:
        until(lambda: source.server_log() is not None)
        database("insert into t values (1)")
        until(lambda: [*spooled.lines()])
        server.sql(
            "".join(
                f"kill {one};"
                for one in server.sql(
                    "select id from information_schema.processlist where command = 'Binlog Dump'"
                ).split()
            )
        )
        database("insert into t values (2)")
        until(lambda: len([*spooled.lines()]) == 2)
        until(lambda: source.server_log().behind_bytes == 0)
    finally:
        capture.close()
        spool.close()
    database("insert into t values (3)")
    log = source.server_log()
    assert log.behind_bytes > 0
    assert log.kept_bytes >= log.behind_bytes
    assert capture.failure is None


CRASHED = {
    "a transaction that begins with another table": (
        "begin; insert into x values (1); insert into t values (1, 'a'); insert into t values (2, 'b'); commit; "
        "insert into t values (3, 'c')",
        ["1", "2", "3"],
    ),
    "a table that is dropped and comes again": (
        "insert into t values (1, 'a'); drop table t; create table t (k int primary key, v text); insert into t values (2, 'b')",
        ["1", "2"],
    ),
}


@pytest.mark.parametrize("case", CRASHED)
def test_i9_a_crash_after_each_event(case, server, database, tmp_path, name, monkeypatch):
    """Places are recorded as often as can be, and each message is a segment."""
    sql, keys = CRASHED[case]
    monkeypatch.setattr(shared, "SEGMENT_BYTES", 1)
    monkeypatch.setattr(streams, "_CONFIRM_S", 0.0)
    real, left = Packets.read, [-1]

    def one(self, wait_s):
        if left[0] == 0:
            left[0] = -1
            raise Crash
        queue = self.__dict__.setdefault("queue", [])
        if not queue:
            queue += real(self, wait_s)
        left[0] -= 1
        return [queue.pop(0)] if queue else []

    monkeypatch.setattr(Packets, "read", one)
    for crash_after in range(1, 26):
        database(
            "drop table if exists t, x; create table t (k int primary key, v text); create table x (k int primary key)"
        )
        spooled = Spooled(server, tmp_path / str(crash_after), name)
        spooled.catch_up(tables=["t"])
        database(sql)
        left[0] = crash_after
        with contextlib.suppress(Crash):
            spooled.catch_up(tables=["t"])
        left[0] = -1
        spooled.catch_up(tables=["t"])
        assert [line["new"]["k"] for _, line in spooled.lines() if "new" in line] == keys, crash_after
        assert {line["action"] for _, line in spooled.lines()} <= {"I", "T"}
        marks = transactions(spooled.directory)
        assert marks == sorted(set(marks))


def test_a_snapshot_that_does_not_have_what_was_read_is_taken_again(database, spooled, monkeypatch):
    """The log has a transaction before the engine commits it, where the server waits for a replica."""
    database("create table t (k int primary key)")
    spooled.catch_up()
    database("create table u (k int primary key)")
    early = snapshot.SnapshotPoints(
        Server(spooled.address), location_of(spooled.address), records.read(spooled.directory), None
    )
    points = [early.later()]
    database("insert into u values (1)")
    real = snapshot.SnapshotPoints.later
    monkeypatch.setattr(snapshot.SnapshotPoints, "later", lambda self: points.pop() if points else real(self))
    spooled.catch_up()
    database("insert into u values (2)")
    spooled.catch_up()
    assert sorted(new["k"] for _, _, new in spooled.changes() if new) == ["1", "2"]
    assert not points


def test_statements_are_read_in_the_character_set_of_their_clients(server, database, spooled, name):
    database("create table `caf\u00e9` (k int primary key); insert into `caf\u00e9` values (1)")
    spooled.catch_up()
    with contextlib.closing(
        pymysql.connect(
            host=server.host,
            port=server.port,
            user=server.user,
            password=server.password,
            database=name,
            charset="latin1",
        )
    ) as client:
        client.cursor().execute("truncate `caf\u00e9`")
    spooled.catch_up()
    assert [action for action, _, _ in spooled.changes()] == ["I", "T"]


def test_a_table_that_cannot_be_captured_any_more_ends_the_capture(database, spooled):
    database("create table t (k int primary key, v text)")
    spooled.catch_up()
    database("alter table t engine = MyISAM; insert into t values (1, 'a'); update t set v = 'b'")
    with pytest.raises(EnvironmentFault, match="was captured, and cannot be any more: it is of the engine MyISAM"):
        spooled.catch_up()


def test_tables_that_are_left_out_are_not_looked_for_again_and_again(database, spooled, monkeypatch):
    database(
        "create table t (k int primary key); create table m (k int) engine = MyISAM; create table n (k int) engine = MyISAM"
    )
    spooled.catch_up()
    for number in range(30):
        database(f"insert into m values ({number}); insert into n values ({number})")
    looks, real = [], tables.found
    monkeypatch.setattr(tables, "found", lambda *given: looks.append(1) or real(*given))
    spooled.catch_up()
    assert len(looks) < 5


def test_tls_that_is_asked_for_is_there_or_nothing_is_sent(server, spooled):
    if server.product == "mysql":  # which has TLS of its own making
        with Server(f"{spooled.address}?ssl_mode=required").session() as session:
            assert session.rows("show status like 'Ssl_cipher'")[0][1]
        with pytest.raises((EnvironmentFault, SourceAway), match="certificate"):
            Server(f"{spooled.address}?ssl_mode=verify_ca").session()
        return
    with pytest.raises((EnvironmentFault, SourceAway), match=r"TLS|SSL"):
        Server(f"{spooled.address}?ssl_mode=required").session()


def test_a_server_log_is_shown_without_the_right_to_see_transactions(server, database, spooled, name):
    database(f"create table t (k int primary key); create user {name}@'%' identified by 'x'")
    database(
        f"grant select on {name}.* to {name}@'%'; grant replication slave, {MONITOR[server.product]}, reload on *.* to {name}@'%'"
    )
    spooled.address = spooled.address.replace("cdc:cdc@", f"{name}:x@")
    spooled.catch_up()
    location = location_of(spooled.address)
    log = BinlogSource(location, state=spooled.state).server_log()
    assert (log.transactions, log.oldest_s) == (0, None)
    database(f"drop user {name}@'%'")


def test_how_far_a_snapshot_is_is_shown_while_it_is_read(server, database, spooled, monkeypatch):
    database(
        "create table t (k int primary key, v text); create table u (k int primary key); "
        f"insert into t select seq, repeat('x', 500) from {server.numbers(1, 8000)}; analyze table t"
    )
    monkeypatch.setattr(snapshot, "_FRAME_BYTES", 100_000)
    source = BinlogSource(location_of(spooled.address), state=spooled.state)
    monkeypatch.setattr(progress, "_WRITE_S", -1.0)
    seen, real = [], shared.SpoolingStream.is_due
    noted = property(lambda self: (seen.append(source.server_log()), real.fget(self))[1])
    monkeypatch.setattr(shared.SpoolingStream, "is_due", noted)
    spooled.catch_up()
    shown = seen[0]
    assert shown.snapshot_table.endswith(".t")
    assert 0 < shown.snapshot_rows < 8000
    assert 0 < shown.snapshot_about_rows < 20_000
    assert shown.snapshot_tables_left == 1
    assert source.server_log().snapshot_table == ""


def test_a_vector_has_a_character_set_in_the_log(server, database, spooled):
    if server.product != "mysql" or server.sql("select version()") < "9":
        pytest.skip("MySQL 9 has vectors (INTEGRATOR_TEST_MYSQL)")
    database("create table t (k int primary key, e vector(2), a text, b varchar(9) character set latin1, c blob)")
    fill = "insert into t values (%s, to_vector('[1, 2]'), 'hello', 'héllo', 'x')"
    database(fill % 1)
    spooled.catch_up()
    database(fill % 2)
    spooled.catch_up()
    assert [{**new, "k": ""} for _, _, new in spooled.changes()] == 2 * [
        {"k": "", "e": "\\x0000803f00000040", "a": "hello", "b": "héllo", "c": "\\x78"}
    ]


def test_values_that_the_server_does_not_give_whole_are_not_sent(server, database, spooled, monkeypatch):
    """Over max_allowed_packet a function's result is null, with a warning."""
    monkeypatch.setattr(position_rows, "_AGAIN_S", 0.0)
    database(
        "create table t (k int primary key, b longblob); insert into t values (0, null), (1, repeat('x', 3000000))"
    )
    database("create table u (k int primary key); insert into u values (1)")
    with set_global(server, "max_allowed_packet", 4194304, 67108864):
        spooled.catch_up()
        assert [new for _, _, new in spooled.changes()] == [{"k": "1"}], "other tables are read"
    [unread] = records.read(spooled.directory).refused.values()
    assert "the server does not give its rows as they are" in unread.why
    assert "max_allowed_packet" in unread.why
    spooled.catch_up()
    *_, (_, _, null), (_, _, new) = spooled.changes()  # after a truncate, for the table was begun to be read
    assert null["b"] is None
    assert new["b"] == "\\x" + "78" * 3_000_000


def test_statements_are_read_in_the_mode_of_their_clients(server, database, spooled):
    database("create table t (k int primary key); insert into t values (1)")
    spooled.catch_up()
    database("set sql_mode = 'ANSI_QUOTES'; truncate \"t\"; insert into t values (2)")
    spooled.catch_up()
    assert [action for action, _, _ in spooled.changes()] == [*"ITI"]


def test_a_client_with_another_character_set_defines_tables(server, database, spooled, name):
    database("create table t (k int primary key)")
    spooled.catch_up()
    how = {"host": server.host, "port": server.port, "user": server.user, "password": server.password}
    with contextlib.closing(pymysql.connect(**how, database=name, charset="gbk")) as client:
        client.cursor().execute("create table x (k int primary key comment '中文')")
        client.cursor().execute("insert into x values (1)")
        client.commit()
    spooled.catch_up()
    assert [new for _, _, new in spooled.changes()] == [{"k": "1"}]


def test_what_hosted_servers_write_for_themselves_is_passed_over(server, database, spooled):
    database("create table t (k int primary key)")
    server.sql("create table if not exists mysql.rds_heartbeat2 (id int primary key, value bigint)")
    spooled.catch_up()
    server.sql(
        "set session binlog_format = 'STATEMENT'; insert into mysql.rds_heartbeat2 values (1, 1) "
        "on duplicate key update value = 2"
    )
    database("insert into t values (1)")
    spooled.catch_up()
    assert [new for _, _, new in spooled.changes()] == [{"k": "1"}]


def test_a_table_of_which_our_user_may_read_some_columns_is_left_out(server, database, spooled, name):
    database("create table t (k int primary key, a int, secret int); create table u (k int primary key, a int)")
    database(f"create user {name}@'%' identified by 'x'; grant select (k, a) on t to {name}@'%'")
    database(f"grant select (k), select on u to {name}@'%'; grant {MONITOR[server.product]} on *.* to {name}@'%'")
    source = BinlogSource(location_of(spooled.address.replace("cdc:cdc@", f"{name}:x@"))).defines()
    assert [*source.left_out] == [f"{name}.t"]
    assert "grant select on all of it" in source.left_out[f"{name}.t"]
    assert [one.name for one in source.tables()] == ["u"]
    database(f"drop user {name}@'%'")


def test_a_generated_primary_key_is_in_rows_and_changes(server, database, spooled):
    if server.product != "mysql":
        pytest.skip("MariaDB generates none")
    with set_global(server, "show_gipk_in_create_table_and_information_schema", "OFF", "ON"):
        database(
            "set session sql_generate_invisible_primary_key = ON; create table t (v int); insert into t values (7)"
        )
        spooled.catch_up()
        database("update t set v = 8")
        spooled.catch_up()
    assert [new for _, _, new in spooled.changes()] == [{"my_row_id": "1", "v": "7"}, {"my_row_id": "1", "v": "8"}]


def test_a_snapshot_begins_beside_who_reads_and_says_what_it_waits_for(server, database, spooled, monkeypatch):
    if server.product != "mysql":
        pytest.skip("MariaDB knows at which place a snapshot is")
    monkeypatch.setattr(snapshot, "_LOCK_S", 1)
    database(
        "create table t (k int primary key); insert into t values (1); create table z (k int); insert into z values (1)"
    )
    how = {"host": server.host, "port": server.port, "user": server.user, "password": server.password}
    database_name = spooled.address.rpartition("/")[2]
    with contextlib.closing(pymysql.connect(**how, database=database_name)) as reads:
        reads.cursor().execute("begin")
        reads.cursor().execute("select * from t")
        spooled.catch_up(tables=["t"])
    assert [new for _, _, new in spooled.changes()] == [{"k": "1"}]
    other = Spooled(server, spooled.state / "other", database_name)
    with contextlib.closing(pymysql.connect(**how, database=database_name)) as writes:
        writes.cursor().execute("begin")
        writes.cursor().execute("insert into t values (2)")
        other.catch_up(tables=["t"])  # an open transaction holds up the lock of the table, and not that of all
    assert [new for _, _, new in other.changes()] == [{"k": "1"}]


def test_names_of_columns_are_waited_for_in_the_servers_own_time(name, tmp_path, monkeypatch):
    """What is open is asked in the zone of the machine, and not in the session's."""
    if mysql.missing():
        pytest.skip(mysql.missing())
    monkeypatch.setenv("TZ", "America/New_York")
    with mysql.cluster("default_time_zone = SYSTEM") as own:
        own.sql(f"create database {name}")
        own.sql("create table t (k int primary key)", name)
        how = {"host": own.host, "port": own.port, "user": own.user, "password": own.password, "database": name}
        with contextlib.closing(pymysql.connect(**how)) as open_, contextlib.closing(pymysql.connect(**how)) as later:
            open_.cursor().execute("insert into t values (1)")
            real, waited = time.sleep, []

            def sleep(seconds):
                waited.append(seconds)
                if len(waited) == 2:
                    later.cursor().execute("insert into t values (2)")  # which began after, and is not waited for
                    open_.commit()
                real(seconds)

            monkeypatch.setattr(snapshot.time, "sleep", sleep)
            spooled = Spooled(own, tmp_path, name)
            spooled.catch_up()
            assert 2 <= len(waited) < 10
            later.commit()
            spooled.catch_up()
        assert sorted(new["k"] for _, _, new in spooled.changes()) == ["1", "2"]
        log = BinlogSource(location_of(spooled.address), state=spooled.state).server_log()
        assert log.oldest_s is None or log.oldest_s < 100


def test_names_in_lower_case_are_found_however_they_are_written(name, tmp_path):
    if mysql.missing():
        pytest.skip(mysql.missing())
    with mysql.cluster("lower_case_table_names = 1\nbinlog_row_metadata = FULL") as own:
        own.sql(f"create database {name}")
        spooled = Spooled(own, tmp_path, name.upper())
        own.sql("create table Orders (k int primary key); insert into Orders values (1)", name)
        spooled.catch_up(tables=["ORD*"])
        own.sql("insert into Orders values (2)", name)
        spooled.catch_up(tables=["ORD*"])
        assert [new for _, _, new in spooled.changes()] == [{"k": "1"}, {"k": "2"}]
        assert [*BinlogSource(location_of(spooled.address)).reach("")] == []
        [(_, text)] = BinlogSource(location_of(own.address("none_such"))).reach("")
        assert "there is no database none_such" in text


def test_rows_alone(database, spooled):
    """Nothing is locked; tables that no log could be read of are read, too."""
    database("create table a(k int primary key, v text); insert into a values (1, 'there')")
    database("create table b(k int primary key, v text) engine = MyISAM; insert into b values (2, 'no log')")
    spooled.catch_up(snapshot="only")
    database("insert into a values (3, 'a change')")
    spooled.catch_up(snapshot="only")
    database("create table c(k int primary key, v text); insert into c values (4, 'came later')")
    spooled.catch_up(snapshot="only")
    assert [new["k"] for action, _, new in spooled.changes() if action == "I"] == ["1", "2", "4"]
    database("drop table b")
    spooled.catch_up()  # changes are wanted after all: all rows that are there now come before them
    database("delete from a where k = 1")
    spooled.catch_up()
    found = [(action, (new or {}).get("k", old)) for action, old, new in spooled.changes() if action in "ID"]
    assert found[3:] == [("I", "1"), ("I", "3"), ("I", "4"), ("D", "1")]
    with pytest.raises(EnvironmentFault, match="would leave out all that follow"):
        spooled.catch_up(snapshot="only")


@pytest.mark.parametrize("product", PARTS)
def test_rows_alone_need_no_log(product, tmp_path):
    parts = PARTS[product]
    if parts.missing():
        pytest.skip(parts.missing())
    with parts.cluster("skip_log_bin\n") as server:
        server.sql("create database shop; create table shop.a(k int primary key); insert into shop.a values (1)")
        spooled = Spooled(server, tmp_path, "shop")
        spooled.catch_up(snapshot="only")
        assert [new["k"] for action, _, new in spooled.changes() if action == "I"] == ["1"]
        source = BinlogSource(location=location_of(spooled.address, snapshot="only"))
        assert list(source.reach("")) == []
        with pytest.raises(EnvironmentFault, match="the server has no binary log"):
            spooled.catch_up()


def test_a_table_that_is_new_does_not_hold_up_the_others(server, database, spooled, name, tmp_path, monkeypatch):
    """In MySQL a place for its rows needs a lock, for which a transaction that is open makes us wait: it is given up."""
    if server.product == "mariadb":
        pytest.skip("MariaDB knows the place of a snapshot, and locks nothing")
    monkeypatch.setattr(snapshot, "_LOCK_S", 1)
    monkeypatch.setattr(tables, "_INSPECT_S", 0.5)
    database(f"create user {name}@'%' identified by 'x'")
    database(f"grant replication slave, replication client on *.* to {name}@'%'")
    database(f"grant select, lock tables on {name}.* to {name}@'%'")
    spooled.address = f"mysql://{name}:x@{server.host}:{server.port}/{name}"
    database("create table a(k int primary key, v text); insert into a values (1, 'there')")
    spool = Spool(spooled.directory, framing=FRAMES)
    capture = spooled.capture(spool)

    def inserted(table):
        lines = [line for _, line in spooled.lines() if line["action"] == "I" and line["table"] == table]
        return [line["new"]["k"] for line in lines]

    place = {"host": server.host, "port": server.port, "user": server.user, "password": server.password}
    with contextlib.closing(pymysql.connect(**place, database=name)) as connection, capture_logs() as logs:
        capture.start()
        until(lambda: inserted("a") == ["1"])
        connection.cursor().execute("insert into a values (2, 'open')")
        database("create table b(k int primary key, v text); insert into b values (1, 'there')")
        until(lambda: any("the rows of tables wait" in one["event"] for one in logs))
        database("insert into a values (3, 'continues')")
        until(lambda: inserted("a") == ["1", "3"])
        assert inserted("b") == []
        connection.commit()
        until(lambda: inserted("b") == ["1"])
        database("insert into b values (2, 'after')")
        until(lambda: inserted("b") == ["1", "2"])
    capture.close()
    spool.close()
    assert inserted("a") == ["1", "3", "2"]
    database(f"drop user {name}@'%'")


def test_a_table_that_is_excluded_for_a_while_is_read_again(database, spooled):
    """What changes meanwhile is not captured; neither a TRUNCATE of it nor another definition has an effect then."""
    database("create table a(k int primary key); create table b(k int primary key); insert into b values (1)")
    spooled.catch_up()
    database("insert into a values (1); truncate b; alter table b modify k bigint; insert into b values (2)")
    spooled.catch_up(exclude=["b"], on_rewrite="stop")
    of_b = [line for _, line in spooled.lines() if line.get("table") == "b"]
    assert [line["action"] for line in of_b] == ["I"]
    database("insert into b values (3)")
    spooled.catch_up()
    spooled.catch_up()
    after = [line for _, line in spooled.lines() if line.get("table") == "b"][1:]
    assert after[0]["action"] == "T"
    assert sorted(line["new"]["k"] for line in after[1:]) == ["2", "3"]


def test_without_a_free_connection_changes_continue_and_a_table_that_is_new_waits(
    server, database, spooled, name, tmp_path, monkeypatch
):
    monkeypatch.setattr(snapshot, "_LIMITED_S", 0.5)
    monkeypatch.setattr(tables, "_INSPECT_S", 0.5)
    database(f"create user {name}@'%' identified by 'x' with max_user_connections 9")
    database(f"grant replication slave, {MONITOR[server.product]} on *.* to {name}@'%'")
    database(f"grant select, lock tables on {name}.* to {name}@'%'")
    spooled.address = f"{server.product}://{name}:x@{server.host}:{server.port}/{name}"
    database("create table a(k int primary key); insert into a values (0)")
    spool = Spool(spooled.directory, framing=FRAMES)
    capture = spooled.capture(spool)
    came = lambda table: [  # noqa: E731
        line["new"]["k"] for _, line in spooled.lines() if line["action"] == "I" and line["table"] == table
    ]
    own = f"select count(*) from information_schema.processlist where user = '{name}'"
    try:
        with capture_logs() as logs:
            capture.start()
            until(lambda: came("a") == ["0"])
            until(lambda: database(own).strip() == "2")
            database(f"alter user {name}@'%' with max_user_connections 2")
            database("create table b(k int primary key); insert into b values (1)")
            until(lambda: any("the rows of tables wait" in one["event"] for one in logs))
            database("insert into a values (1)")
            until(lambda: came("a") == ["0", "1"])
            assert not came("b")
            database(f"alter user {name}@'%' with max_user_connections 9")
            until(lambda: came("b") == ["1"])
    finally:
        capture.close()
        spool.close()
        database(f"drop user {name}@'%'")


@pytest.mark.parametrize("then", ["initial", "never", "only"])
def test_changes_after_rows_alone_that_were_broken_off(then, database, spooled, monkeypatch):
    """A transaction without an end would be one that does not come to its end, and changes would be gone."""

    def crash(_stream):
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(shared, "SEGMENT_BYTES", 100)
        patched.setattr(snapshot, "_FRAME_BYTES", 1000)
        patched.setattr(streams.TableRows, "_alive", crash)
        database("create table a(k int primary key, v text)")
        database("insert into a values " + ", ".join(f"({key}, 'a row that is there')" for key in range(300)))
        with pytest.raises(Crash):
            spooled.catch_up(snapshot="only")
    spooled.catch_up(snapshot=then)
    database("insert into a values (1000, 'new')")
    spooled.catch_up(snapshot=then)
    lines = list(spooled.lines())
    positions = [position for position, _ in lines]
    assert positions == sorted(set(positions))
    assert not standing_in(spooled.directory).is_open
    assert (lines[-1][1].get("new", {}).get("k") == "1000") == (then != "only")
