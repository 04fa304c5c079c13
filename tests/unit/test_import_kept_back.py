"""`import debezium`: what a connector keeps back stays back, or the report or an error says why it does not."""

import pytest

from tests.parts import imports

CONNECTORS = {
    "postgresql.PostgresConnector": {"database.dbname": "east"},
    "sqlserver.SqlServerConnector": {"database.names": "east"},
    "oracle.OracleConnector": {"database.dbname": "CDB", "database.pdb.name": "EAST"},
    "db2.Db2Connector": {"database.dbname": "east"},
    "mysql.MySqlConnector": {"database.include.list": "app"},
    "mariadb.MariaDbConnector": {"database.include.list": "app"},
}
IN_DATABASES = ("mysql.MySqlConnector", "mariadb.MariaDbConnector")
"""Those whose schemas are databases: a name has nothing before schema.table."""
DDL = (
    "create table app.orders(id int not null primary key, note varchar(50));"
    "create table app.audit(id int not null primary key, what varchar(50));"
)
NOTE_ABSENT = "{action: ColumnProperties, group: KAFKA, table: orders, Name: note, Absent: true}"


def config_of(connector, more):
    return {"connector.class": f"io.debezium.connector.{connector}", "topic.prefix": "srv"} | more


@pytest.fixture
def run(tmp_path, capsys):
    """Import a configuration of PostgreSQL or another database; return the channel, what was printed, and the code."""

    def called(more, connector="postgresql.PostgresConnector", tables=None):
        ddl = DDL if tables is None else tables
        channel, code = imports.of_debezium(tmp_path, config_of(connector, CONNECTORS[connector] | more), ddl or None)
        return channel, "".join(capsys.readouterr()), code

    return called


def named(*places):
    """Every connector with every place that a name of it can have."""
    return [
        (connector, place)
        for connector in CONNECTORS
        for place in places
        if not (connector in IN_DATABASES and place.startswith("east."))
    ]


RULED = {
    # a column, the list that names it, and what becomes of it
    "note": ("column.mask.with.5.chars", 'Name: {}, CaptureExpression: "*****"}}'),
    "name": ("column.truncate.to.2.chars", 'Name: {}, CaptureExpression: "sql: left(\\"{}\\", 2)"}}'),
    "mail": ("column.mask.hash.v2.SHA-256.with.salt.sea", 'Name: {}, CaptureExpression: "sql: left(encode(sha256('),
    "tel": ("column.exclude.list", "Name: {}, Absent: true}}"),
}


@pytest.mark.parametrize(
    ("connector", "place"), named("app.orders.{}", r"app\.ORDERS[.]{}", ".*{}", "east.app.orders.{}")
)
def test_a_column_is_named_with_and_without_its_database(connector, place, run):
    columns = ", ".join(f"{name} varchar(50)" for name in RULED)
    tables = f"create table app.orders(id int not null primary key, {columns});"
    channel, printed, code = run({key: place.format(name) for name, (key, _) in RULED.items()}, connector, tables)
    assert code == 0, printed
    assert not [name for name, (_, wanted) in RULED.items() if wanted.format(name, name) not in channel], channel
    assert "matches no column" not in printed


@pytest.mark.parametrize(("connector", "place"), named("app.audit", "east.app.audit", ".*audit"))
def test_a_table_is_left_out_by_its_name_with_and_without_its_database(connector, place, run):
    channel, printed, code = run({"table.exclude.list": place}, connector)
    assert code == 0, printed
    assert "only: [app.orders]" in channel.lower()


UNMATCHED = [
    # an entry that matches nothing is said, whatever the list
    ({"column.exclude.list": "app.orders.nothing"}, "column.exclude.list: app.orders.nothing matches no column of the definitions, as schema.table.column"),
    ({"column.include.list": ".*id,east.app.orders.note"}, "column.include.list: east.app.orders.note matches no column"),
    ({"column.mask.with.3.chars": "app.order.note"}, "column.mask.with.3.chars: app.order.note matches no column"),
    ({"column.mask.hash.v2.MD5.with.salt.pl4nted": "note"}, "column.mask.hash.v2.MD5.with.salt.…: note matches no column"),
    ({"column.truncate.to.3.chars": r"app\.orders\.n"}, r"column.truncate.to.3.chars: app\.orders\.n matches no column"),
    ({"message.key.columns": "app.orders:nothing"}, "message.key.columns: app.orders.nothing matches no column"),
    ({"message.key.columns": "app.orders"}, "message.key.columns: app.orders names no columns, as table:column,column"),
    ({"table.include.list": "app.orders,app.nothing"}, "table.include.list: app.nothing matches no table of the definitions, as schema.table"),
    ({"table.exclude.list": "nothing"}, "table.exclude.list: nothing matches no table"),
    ({"schema.include.list": "app,ops"}, "schema.include.list: ops matches no schema"),
    ({"snapshot.select.statement.overrides": "app.nothing"}, "snapshot.select.statement.overrides: app.nothing is no table of the channel's"),
    # of another database, or of a table that is not captured: as it should be
    ({"column.mask.with.3.chars": "west.app.orders.note"}, "column.mask.with.3.chars: west.app.orders.note: ignored, because the channel has changes of database east alone"),
    ({"column.mask.with.3.chars": "app.audit.what", "table.include.list": "app.orders"}, "column.mask.with.3.chars: app.audit.what: ignored, because its table is not captured"),
    # what a snapshot did not read, and a property that is misspelt
    ({"snapshot.select.statement.overrides": "app.orders", "snapshot.select.statement.overrides.app.orders": "select 1"},
     "snapshot.select.statement.overrides: app.orders was read by a statement, and a refresh sends all of it"),
    ({"column.mask.5.chars": "app.orders.note"}, "column.mask.5.chars: this property of Debezium is not known"),
    ({"column.mask.hash.MD5.salt.pl4nted": "app.orders.note"}, "column.mask.hash.…: this property of Debezium is not known"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "wanted"), UNMATCHED)
def test_what_matches_nothing_is_said(more, wanted, run):
    channel, printed, code = run(more)
    assert code == 0, printed
    assert wanted in printed
    assert imports.SECRET not in channel + printed


OF_POSTGRES = (
    "create table app.orders(id int not null primary key, note varchar(50), code varchar(5), at timestamp, data bytea,"
    " amount numeric, flags bit(3), uid uuid);"
)
RULES = [
    # numbers and bits are text here alone, and cut they would be other numbers
    ({"column.truncate.to.1.chars": ".*(amount|flags)"}, "", "app.orders.amount, app.orders.flags: ignored, because column.truncate.to.1.chars cuts text and bytes alone"),
    ({"column.truncate.to.1.chars": ".*uid"}, "Name: uid, CaptureExpression", ""),
    # what cannot be masked is left out, and what the connector did not touch is not either
    ({"column.mask.with.3.chars": ".*at"}, "Name: at, Absent: true}", "app.orders.at: column.mask.with.3.chars masks text alone: left out; remove Absent"),
    ({"column.mask.with.3.chars": ".*orders.id"}, "", "app.orders.id: column.mask.with.3.chars masks text alone: sent as it is, for it is of the key"),
    ({"column.mask.hash.v2.SHA-1.with.salt.sea": ".*note"}, NOTE_ABSENT, "SHA-1 is not there (SHA-224, SHA-256, SHA-384, SHA-512, MD5 are): left out"),
    ({"column.truncate.to.9.chars": ".*at"}, "", "app.orders.at: ignored, because column.truncate.to.9.chars cuts text and bytes alone"),
    ({"column.truncate.to.9.chars": ".*code"}, "", "app.orders.code: ignored, because it is no longer than column.truncate.to.9.chars says"),
    ({"column.truncate.to.9.chars": ".*data"}, "Name: data, TrimDatatype: 9}", ""),
    ({"column.truncate.to.0.chars": ".*data"}, "Name: data, Absent: true}", "app.orders.data: column.truncate.to.0.chars leaves nothing of bytes: left out"),
    # one rule for a column: that which hides most
    ({"column.truncate.to.2.chars": ".*note", "column.mask.with.3.chars": ".*note"}, 'Name: note, CaptureExpression: "***"}',
     "column.truncate.to.2.chars: app.orders.note: ignored, because column.mask.with.3.chars masks it"),
    ({"column.exclude.list": ".*note", "column.mask.with.3.chars": ".*note"}, NOTE_ABSENT, "column.mask.with.3.chars: app.orders.note: ignored, because the column is left out"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "in_channel", "in_report"), RULES)
def test_what_becomes_of_a_mask(more, in_channel, in_report, run):
    channel, printed, code = run(more, tables=OF_POSTGRES)
    assert code == 0, printed
    assert in_channel in channel
    assert in_report in printed
    assert channel.count("Name: note") <= 1


def test_a_column_that_is_taken_for_the_key_is_of_the_key_and_the_one_that_was_is_not(run):
    tables = "create table app.orders(id int not null primary key, code int not null, note text);"
    more = {"message.key.columns": "app.orders:code", "column.exclude.list": "app.orders.(id|code)"}
    channel, printed, code = run(more, tables=tables)
    assert code == 0, printed
    assert "Name: id, Absent: true" in channel
    assert "Name: code, Absent" not in channel
    assert "app.orders.code: of the key, and so in the messages too" in printed


KEYED = "create table app.orders(sku varchar(80) not null primary key, note text);"
IN_KEYS = [
    ({"column.mask.with.3.chars": "app.orders.sku"}, "app.orders.sku is of the key: all rows would have one; hash it"),
    ({"column.truncate.to.3.chars": "app.orders.sku"}, "app.orders.sku is of the key: rows that differ after that would have one"),
    ({"column.mask.hash.v2.SHA-512.with.salt.sea": ".*sku"}, "app.orders.sku is of the key: its 80 characters are too few for a hash"),
    ({"column.mask.with.3.chars": ".*note", "message.key.columns": "app.orders:note"}, "app.orders.note is of the key: all rows would have one"),
    ({"transforms": "u,m", "transforms.u.type": "io.debezium.transforms.ExtractNewRecordState",
      "transforms.m.type": "org.apache.kafka.connect.transforms.MaskField$Value", "transforms.m.fields": "sku"},
     "orders.sku is of the key, and all rows would have one"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "wanted"), IN_KEYS)
def test_a_mask_by_which_rows_would_share_a_key_is_an_error(more, wanted, run):
    channel, printed, code = run(more, tables=KEYED)
    assert (code, channel) == (2, "")
    assert wanted in printed


def test_a_hash_in_a_key_is_another_for_each_row(run):
    channel, printed, code = run({"column.mask.hash.v2.SHA-256.with.salt.sea": ".*sku"}, tables=KEYED)
    assert code == 0, printed
    assert "Name: sku, CaptureExpression: \"sql: encode(sha256('${SALT_SECRET}' || \\\"sku\\\"), 'hex')\"}" in channel
    assert "app.orders.sku: keys have the hash, too, where the connector had the value: partitions change" in printed


@pytest.mark.parametrize("connector", ["sqlserver.SqlServerConnector", "oracle.OracleConnector"])
def test_a_table_that_the_connector_does_not_capture_by_such_a_name_is_not_sent(connector, run):
    channel, printed, code = run({"table.include.list": "east.app.orders"}, connector)
    assert (code, channel) == (2, "")
    assert "table.include.list: east.app.orders matches no table of the definitions, as schema.table" in printed


def test_a_column_of_a_table_whose_schema_is_not_known_is_an_error(run):
    tables = "create table orders(id int not null primary key, note varchar2(50));"
    channel, printed, code = run({"column.mask.with.3.chars": "APP.ORDERS.NOTE"}, "oracle.OracleConnector", tables)
    assert (code, channel) == (2, "")
    assert "the schema of table orders is not known, and column.mask.with.3.chars names tables by it" in printed


@pytest.mark.parametrize(
    ("place", "masked"), [("app.orders.note", True), ("east.app.orders.note", True), ("west.app.orders.note", False)]
)
def test_without_definitions_the_database_is_looked_at_too(place, masked, run):
    channel, printed, code = run({"column.mask.with.5.chars": place}, "sqlserver.SqlServerConnector", "")
    assert code == 0, printed
    assert ('table: orders, Name: note, CaptureExpression: "*****"}' in channel) is masked
    assert ("the channel has changes of database east alone" in printed) is not masked
