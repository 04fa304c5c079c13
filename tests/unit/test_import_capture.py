"""`import debezium` of a database that is captured: the location, where it continues, and what is refused."""

import json

import pytest

from tests.parts import imports

POSTGRES = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": "shop",
    "database.hostname": "db",
    "database.user": "cdc",
    "database.password": f"{imports.SECRET}/@",
    "database.dbname": "shop",
    "plugin.name": "pgoutput",
}
MYSQL = {
    "connector.class": "io.debezium.connector.mysql.MySqlConnector",
    "topic.prefix": "shop",
    "database.hostname": "db",
    "database.user": "cdc",
}
DDL = "create table public.orders(id int primary key);\ncreate table ops.orders(id int primary key, v text);\n"
LSN = {"lsn_proc": 22117512, "messageType": "UPDATE", "lsn_commit": 22117056, "lsn": 22117512, "txId": 733}
PLACE = {"ts_sec": 1795900715, "file": "binlog.000001", "pos": 3509, "gtids": "0-1-9", "row": 2, "event": 6}


@pytest.fixture
def run(tmp_path, capsys):
    """Import a configuration, with an offset; return the source location, what was printed, and the exit code."""

    def called(config, *more, tables=None, offset=None, text=None):
        if offset is not None:
            text = json.dumps({"offsets": [{"partition": {"server": "shop"}, "offset": offset}]})
        if text is not None:
            (tmp_path / "offsets").write_bytes(text if isinstance(text, bytes) else text.encode())
            more = (*more, "--offsets", str(tmp_path / "offsets"))
        channel, code = imports.of_debezium(tmp_path, config, tables, *more, captures=True)
        printed = capsys.readouterr()
        assert imports.SECRET not in channel + printed.out + printed.err
        lines = [line.strip() for line in channel.splitlines() if "class: " in line]
        return (lines or [""])[0], printed.out + printed.err, code

    return called


LOCATIONS = [
    (POSTGRES, 'shop: {class: postgres, address: "postgresql://cdc:${DATABASE_PASSWORD}@db:5432/shop", publication: dbz_publication, partitions: leaf}'),
    (POSTGRES | {"publication.name": "p", "slot.failover": "true", "publish.via.partition.root": "true"}, "publication: p, failover: true}"),
    (POSTGRES | {"database.sslmode": "verify-full", "database.sslrootcert": "/etc/ca.pem"}, "?sslmode=verify-full&sslrootcert=/etc/ca.pem"),
    (MYSQL, 'src: {class: mysql, address: "mysql://cdc@db:3306"}'),
    (MYSQL | {"connector.class": "x.MariaDbConnector", "database.server.id": "7", "database.port": "3307", "database.ssl.mode": "verify_ca"},
     'src: {class: mariadb, address: "mariadb://cdc@db:3307?ssl_mode=verify_ca"}'),
    # tables
    (POSTGRES | {"table.include.list": "public.orders, ops\\.o.*"}, 'tables: [public.orders, "ops.o*"]'),
    (POSTGRES | {"table.exclude.list": "public[.]audit", "schema.exclude.list": "old"}, 'exclude: [public.audit, "old.*"]'),
    (POSTGRES | {"schema.include.list": "public"}, 'tables: ["public.*"]'),
    (POSTGRES | {"table.include.list": "public.*"}, 'tables: ["public*.*"]'),
    (POSTGRES | {"schema.include.list": "public,ops", "table.include.list": "public.orders"}, "tables: [public.orders]"),
    (MYSQL | {"database.include.list": "shop", "table.include.list": "shop\\.orders"}, "tables: [shop.orders]"),
    (MYSQL | {"database.include.list": "shop"}, 'shop: {class: mysql, address: "mysql://cdc@db:3306", tables: ["shop.*"]}'),
    # snapshots
    (POSTGRES | {"snapshot.mode": "initial_only"}, "snapshot: only"),
    (POSTGRES | {"snapshot.mode": "no_data"}, "snapshot: never"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "wanted"), LOCATIONS)
def test_the_location_captures_what_the_connector_did(config, wanted, run):
    location, printed, code = run(config)
    assert code == 0, printed
    assert wanted in location
    assert "snapshot: " in location or "snapshot: " not in wanted


WITH_TABLES = [
    ({"table.include.list": "public.(orders|audit)"}, "tables: [public.orders]"),
    ({"table.include.list": "(?i)OPS.orders"}, "tables: [ops.orders]"),
    ({"table.include.list": "PUBLIC.orders"}, "tables: [public.orders]"),
    ({"schema.include.list": "ops", "table.include.list": ".*orders"}, "tables: [ops.orders]"),
]


@pytest.mark.parametrize(("more", "wanted"), WITH_TABLES)
def test_lists_that_are_no_patterns_name_the_tables_of_the_definitions(more, wanted, run):
    location, printed, code = run(POSTGRES | more, tables=DDL)
    assert code == 0, printed
    assert wanted in location


NEEDING = [
    {"table.include.list": "public.(orders|audit)"},
    {"schema.include.list": "ops", "table.include.list": ".*orders"},
    # which of two tables that have one name would be masked is known by the definitions alone
    {"column.exclude.list": "public.orders.v"},
    {"table.include.list": "public.orders,ops.orders", "column.mask.with.3.chars": "public.orders.v"},
    {"schema.include.list": "public", "column.truncate.to.3.chars": "public.orders.v"},
]


@pytest.mark.parametrize("more", NEEDING)
def test_what_cannot_be_followed_without_definitions_asks_for_them(more, run):
    location, printed, code = run(POSTGRES | more)
    assert (location, code) == ("", 2)
    assert "can be followed only with the tables' definitions: give them, --tables FILE" in printed


def test_a_column_of_a_table_that_is_named_is_left_out_without_definitions(run, tmp_path):
    _, printed, code = run(POSTGRES | {"table.include.list": "public.orders", "column.exclude.list": "public.orders.v"})
    assert code == 0, printed
    assert "table: orders, Name: v, Absent: true" in (tmp_path / "channel.yaml").read_text()


def test_what_is_said_of_a_column_is_of_the_table_as_the_capture_names_it(run, tmp_path):
    _, printed, code = run(POSTGRES | {"column.exclude.list": "public.orders.v,ops.orders.v"}, tables=DDL)
    assert code == 0, printed
    assert "table: orders, Name: v, Absent: true" in (tmp_path / "channel.yaml").read_text()


CONTINUED = [
    (POSTGRES, LSN, 'slot: debezium, publication: dbz_publication, partitions: leaf, start_position: "0/1517AC0"'),
    (POSTGRES | {"slot.name": "s"}, {"last_snapshot_record": True, "lsn": (7 << 32) + 255, "snapshot": "INITIAL", "snapshot_completed": True},
     'slot: s, publication: dbz_publication, partitions: leaf, start_position: "7/FF"'),
    (POSTGRES, {"last_snapshot_record": True, "snapshot": True, "lsn": 255}, 'start_position: "0/FF"'),
    (MYSQL, PLACE, 'start_position: "binlog.000001:3509"'),
    (MYSQL | {"database.server.id": "7"}, PLACE, 'server_id: 7, start_position: "binlog.000001:3509"'),
]  # fmt: skip


@pytest.mark.parametrize(("config", "offset", "wanted"), CONTINUED)
def test_the_channel_continues_where_the_connector_stopped(config, offset, wanted, run):
    location, printed, code = run(config, offset=offset)
    assert code == 0, printed
    assert wanted in location
    assert "the transaction that the connector sent last is sent again" in printed
    assert ("binlog_row_metadata must be FULL" in printed) == (config["connector.class"] == MYSQL["connector.class"])


def test_records_of_the_topic_of_offsets_are_read_the_last_one_holds(run):
    other = '["other",{"server":"other"}]\t{"lsn":1}\n'
    gone = '["old",{"server":"shop"}]\t{"lsn":2}\n["old",{"server":"shop"}]\tnull\n'
    lines = [f'["shop",{{"server":"shop"}}]\t{json.dumps(one)}\n' for one in (LSN | {"lsn_commit": 3}, LSN)]
    location, printed, code = run(POSTGRES, text=other + gone + "".join(lines))
    assert code == 0, printed
    assert 'start_position: "0/1517AC0"' in location


NOTES = [
    ({"signal.data.collection": "public.signals"}, "the signal table public.signals must be one of the `tables`"),
    ({}, "the rows that tables have are sent again, for it is not given where the connector stopped"),
    ({}, "the connector's slot debezium keeps the server's log: drop it when the connector is gone"),
    ({"snapshot.mode": "custom"}, "snapshot.mode=custom is not there"),
    ({"snapshot.mode": "always"}, "snapshot.mode=always: the rows that tables have are read once"),
    ({"slot.max.retries": "6"}, "slot.max.retries: ignored, because the capture has no such setting"),
    ({"database.password": "${file:/opt/x:password}"}, "odd letters as %40"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "wanted"), NOTES)
def test_what_is_dropped_is_listed(more, wanted, run):
    _, printed, code = run(POSTGRES | more)
    assert code == 0, printed
    assert wanted in printed


REFUSED = [
    ({"plugin.name": "decoderbufs"}, LSN, "plugin.name is decoderbufs, and only a slot of pgoutput can be continued"),
    ({"slot.drop.on.stop": "true"}, LSN, "slot.drop.on.stop is true: the slot is gone once the connector stops"),
    ({"snapshot.mode": "initial_only"}, LSN, "snapshot.mode is initial_only: the connector captures no changes"),
    ({}, LSN | {"snapshot": "INITIAL", "snapshot_completed": False}, "the connector has not ended its snapshot"),
    ({}, {"snapshot": True, "last_snapshot_record": False, "lsn": 1}, "the connector has not ended its snapshot"),
    ({}, LSN | {"incremental_snapshot_collections": "[]"}, "the connector has not ended an incremental snapshot"),
    ({}, PLACE, "is the offset of a connector for another database: binlog.000001:3509"),
    ({}, {"ts_usec": 1}, "accepted are lsn, or lsn_commit, a number, and file, a text, with pos, a number"),
    ({}, {"lsn": "x"}, 'the offset is {"lsn": "x"}; accepted are lsn, or lsn_commit, a number'),
    (MYSQL, {"file": "binlog.000001", "pos": "x"}, "with pos, a number: give it as the connector wrote it"),
    ({}, "x", "is none of the forms that offsets are read in: give what the worker answers"),
    ({"topic.prefix": "other"}, LSN, "has no offset with topic.prefix other: give what the worker answers to GET"),
    ({"connector.class": "x.SqlServerConnector"}, LSN, "--offsets is for connectors for PostgreSQL, MySQL and MariaDB"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "offset", "wanted"), REFUSED)
def test_offsets_that_cannot_be_continued_at_are_refused(more, offset, wanted, run):
    location, printed, code = run(POSTGRES | more, offset=offset)
    assert (location, code) == ("", 2)
    assert wanted in printed


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(b"\xac\xed\x00\x05sr", "a serialised map of Java, which is not read: ask that worker"), ("[1]\t2\n", "is none of the forms"), ("{}", "is none of the forms"), ('{"lsn": "x"}', '{"offsets": [{"partition": {"server": TOPIC.PREFIX}, "offset": {"lsn": 123, …}}]}')],
)  # fmt: skip
def test_files_of_other_forms_are_refused(text, wanted, run):
    _, printed, code = run(POSTGRES, text=text)
    assert code == 2
    assert wanted in printed


def test_topics_and_files_are_not_read_both(run):
    _, printed, code = run(POSTGRES, "--keep-connector", "--files")
    assert code == 2
    assert "--keep-connector reads topics, and --files reads files: leave one of them out" in printed
