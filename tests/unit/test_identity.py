"""Which table of the database a table of the channel is: its schema and exact name; what could be two is refused."""

import re

import pytest

from integrator.errors import ConfigurationError
from integrator.plan import build

pytestmark = pytest.mark.fast

ORDERS = "create table public.orders (id int primary key); create table ops.orders (id int primary key);"
VEHICLES = 'create table vehicle (id int primary key); create table "Vehicle" (id int primary key);'
ONE = "create table orders (id int primary key);"
TWO = ONE + "create table old_orders (id int primary key);"


def plan(directory, ddl, entry="", *actions, source="", dialect="postgres"):
    (directory / "t.sql").write_text(ddl)
    said = "".join(f"  - {{action: {action}}}\n" for action in ("Integrate", *actions))
    (directory / "channel.yaml").write_text(f"""
channel: names
locations:
  src: {{class: files, path: {directory}/in{source}}}
  kaf: {{class: kafka, Kafka_Brokers: [localhost]}}
tables: [{{file: {directory}/t.sql, sql_dialect: {dialect}{entry}}}]
actions:
{said}""")
    return build(str(directory / "channel.yaml"), "UTC")


def names(made):
    """By its name in the channel, a table's schema and name in the database."""
    return {one.in_source.name: (one.in_source.schema, one.in_source.base_name) for one in made.recipe.tables}


AT_SOURCE = "TableProperties, group: SOURCE, table"
NAMES = [
    # DDL, what is said beside the file, actions, and the tables
    (ORDERS, ", names: {ops.orders: ops_orders}", (), {"orders": ("public", "orders"), "ops_orders": ("ops", "orders")}),
    (ORDERS, ", only: [ops.orders]", (), {"orders": ("ops", "orders")}),
    (ORDERS, ", names: {ops.orders: o}, only: [o]", (), {"o": ("ops", "orders")}),
    (VEHICLES, ", names: {Vehicle: vehicle_2}", (), {"vehicle": (None, "vehicle"), "vehicle_2": (None, "Vehicle")}),
    (ONE, "", (f"{AT_SOURCE}: orders, Schema: ops, BaseName: Orders",), {"orders": ("ops", "Orders")}),
    (ONE, "", ("TableProperties, group: KAFKA, Schema: sales, BaseName: ORDERS",), {"orders": (None, "orders")}),
    (ONE, "", ("TableProperties, Schema: sales",), {"orders": (None, "orders")}),
    (TWO, "", (f"{AT_SOURCE}: old_orders, BaseName: archive",), {"orders": (None, "orders"), "old_orders": (None, "archive")}),
]  # fmt: skip


@pytest.mark.parametrize(("ddl", "entry", "actions", "expected"), NAMES)
def test_names_in_the_channel_and_in_the_database(ddl, entry, actions, expected, tmp_path):
    assert names(plan(tmp_path, ddl, entry, *actions)) == expected


def test_oracle_writes_names_in_capitals(tmp_path):
    assert names(plan(tmp_path, "create table shop.Orders (id int primary key);", dialect="oracle")) == {
        "orders": ("SHOP", "ORDERS")
    }


def test_what_messages_say_of_a_table_is_what_is_said_for_kafka(tmp_path):
    actions = (f"{AT_SOURCE}: orders, Schema: ops, BaseName: Orders", "TableProperties, group: KAFKA, Schema: sales")
    [made] = plan(tmp_path, ONE, "", *actions).recipe.tables
    assert (made.table.schema, made.table.base_name) == ("sales", "orders")


def test_an_absent_table_is_known_as_the_records_have_it(tmp_path):
    absent = "TableProperties, table: ops_orders, group: SOURCE, Absent: true"
    recipe = plan(tmp_path, ORDERS, ", names: {ops.orders: ops_orders}", absent).recipe
    assert [(one.name, one.schema, one.base_name) for one in recipe.read.absent] == [("ops_orders", "ops", "orders")]


CLASHES = [
    # what, DDL, actions, what is said
    (
        "one name in two schemas", ORDERS, (),
        r"table 'orders' is defined twice, .* as public.orders and ops.orders; .* names: \{ops.orders: ops_orders\}",
    ),
    (
        "names that differ in case", VEHICLES, (),
        r"table 'vehicle' is defined twice, .* as vehicle and Vehicle; .* names: \{Vehicle: vehicle_2\}",
    ),
    (
        "a schema in the name at the source", ONE, (f"{AT_SOURCE}: orders, BaseName: ops.orders",),
        r"actions\[1\].BaseName: table orders: a BaseName is without its schema: write Schema: ops, BaseName: orders",
    ),
    (
        "a schema in the name", ONE, ("TableProperties, BaseName: ops.orders",),
        "a BaseName is without its schema: write Schema: ops, BaseName: orders",
    ),
    (
        "the channel's name of another table", TWO,
        (f"{AT_SOURCE}: old_orders, BaseName: orders", f"{AT_SOURCE}: orders, BaseName: archive"),
        "'orders' is the name of table old_orders in the database, and the channel's name of another table, archive: "
        r".* names: \{orders: …\}",
    ),
    (
        "two tables of one name", TWO, (f"{AT_SOURCE}: old_orders, BaseName: orders, Schema: a", f"{AT_SOURCE}: orders, Schema: a"),
        r"tables orders \(a.orders\) and old_orders \(a.orders\) have one name in the database: a record could be of either",
    ),
    (
        "one of them without a schema", TWO, (f"{AT_SOURCE}: old_orders, BaseName: orders, Schema: a",),
        r"tables orders \(orders\) and old_orders \(a.orders\) .*, and orders has no schema: .* group: SOURCE, Schema: …\}",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("ddl", "actions", "text"), [case[1:] for case in CLASHES], ids=[case[0] for case in CLASHES])
def test_what_could_be_of_two_tables_is_refused(ddl, actions, text, tmp_path):
    with pytest.raises(ConfigurationError, match=text):
        plan(tmp_path, ddl, "", *actions)


REMEDIES = [
    # DDL, what is said beside the file, actions: the remedies of CLASHES
    (ORDERS, ", names: {ops.orders: ops_orders}", ()),
    (VEHICLES, ", names: {Vehicle: vehicle_2}", ()),
    (ONE, "", (f"{AT_SOURCE}: orders, Schema: ops, BaseName: orders",)),
    (TWO, ", names: {orders: archive_}", (f"{AT_SOURCE}: old_orders, BaseName: orders", f"{AT_SOURCE}: archive_, BaseName: archive")),
    (TWO, "", (f"{AT_SOURCE}: old_orders, BaseName: orders, Schema: a", f"{AT_SOURCE}: orders, Schema: b")),
]  # fmt: skip


@pytest.mark.parametrize(("ddl", "entry", "actions"), REMEDIES)
def test_the_remedies_are_taken(ddl, entry, actions, tmp_path):
    assert names(plan(tmp_path, ddl, entry, *actions))


def test_a_name_for_a_table_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=re.escape("defines no table 'ops.order'; do you mean ops.orders?")):
        plan(tmp_path, ORDERS, ", names: {ops.order: o}, only: [public.orders]")


def test_what_is_not_wrong_is_noted(tmp_path):
    made = plan(tmp_path, "set x = 1; comment on table t is 'x'; create table t (a int, b text); " + ONE)
    [skipped, keyless, deletes] = made.notes
    assert skipped.endswith("t.sql: statements that say nothing of tables were skipped: 1 COMMENT, 1 SET")
    assert keyless.startswith(
        "table t has no primary key and no unique index of NOT NULL columns: its key is all that can be compared"
    )
    keyed = plan(tmp_path, "create table t (a int, b text)", "", "ColumnProperties, table: t, Name: a, Key: true")
    assert keyed.notes == (f"table t: {deletes.partition(': ')[2]}",)
