"""What may be written in a channel, and what is said of the rest: file, line, path, what is accepted."""

import pickle

import pytest

from integrator import plan
from integrator.channel.actions import TableProperties
from integrator.channel.merge import Target, merge
from integrator.channel.model import Channel
from integrator.channel.problems import Problems
from integrator.channel.reader import Source
from integrator.errors import ConfigurationError, Reason
from integrator.tables.discovered_columns import DiscoveredColumn
from tests.conftest import ROOT
from tests.parts.channels import SHOP_SQL

pytestmark = pytest.mark.fast

BASE = {
    "channel": "channel: shop",
    "locations": """locations:
  src: {class: files, path: in, dialect: hvr}
  kaf: {class: kafka, Kafka_Brokers: [localhost]}""",
    "tables": f"tables: [{SHOP_SQL}]",
    "actions": "actions: []",
}

CASES = [
    # the part that is written otherwise, and what is said
    ({"channel": "channel: Shop-1"}, ":1: $.channel: 'Shop-1' is no name: it has at most 12 lower-case letters"),
    ({"channel": "chanel: shop"}, ":1: $.chanel: this key is not known here; do you mean channel?"),
    ({"channel": ""}, ":2: $.channel: this key is missing: Its name"),
    ({"channel": "channel: shop\nchannel: two"}, ":2: $.channel: the key is given twice"),
    ({"channel": "channel: ["}, "broken YAML"),
    ({"channel": "channel: 2026-99-99"}, ":1: $.channel: '2026-99-99' cannot be read"),
    ({"channel": "channel: !colour red"}, ":1: $.channel: 'red' cannot be read"),
    ({"channel": 'channel: "\x01"'}, "broken YAML"),
    (
        {"locations": "locations: {kaf: {class: kafka, Kafka_Brokers: [a]}}"},
        "found none: add one, such as {class: files",
    ),
    (
        {"locations": "locations: {kaf: {class: kafka, Kafka_Brokers: []}}"},
        "$.locations.kaf.Kafka_Brokers: an entry at least is wanted here",
    ),
    (
        {"locations": "locations: {src: {class: pipe}}"},
        "$.locations.src.class: 'pipe' is no class of location; accepted are files, socket, postgres, mysql, mariadb, snapshot, jdbc, kafka",
    ),
    (
        {"locations": "locations: {src: {path: x}}"},
        "$.locations.src.class: the key class is missing; do you mean class: files?",
    ),
    (
        {"locations": BASE["locations"].replace("dialect: hvr", "dialect: hvr, table: nope")},
        ":3: $.locations.src.table: 'nope' is no table; known are audit, customers, orders, products",
    ),
    (
        {"locations": BASE["locations"].replace("[localhost]", "[localhost], Kafka_Message_Bundling: ALL")},
        ":4: $.locations.kaf.Kafka_Message_Bundling: 'ALL' is not one of 'ROW'",
    ),
    (
        {"locations": BASE["locations"].replace("[localhost]", "[localhost], Kafka_Default_Topic: '{hvr_op}'")},
        "{hvr_op} cannot stand in a topic; accepted there are hvr_cap_loc",
    ),
    (
        {"locations": BASE["locations"].replace("[localhost]", "[localhost], Kafka_Default_Topic: 'a b'")},
        "all 4 tables: Kafka accepts no such topic; it would be 'a b', and accepted are",
    ),
    ({"locations": BASE["locations"].replace("localhost", "'${NOT_THERE}'")}, "the environment has no NOT_THERE"),
    ({"locations": BASE["locations"].replace("localhost", "'${file:/not/there}'")}, "cannot be read: No such file"),
    ({"tables": "tables: [nothing.sql]"}, ":5: $.tables[0]: there is no file "),
    ({"tables": f"tables: [{ROOT}/README.md]"}, "README.md: a table definition ends in one of .sql"),
    ({"tables": f"tables: [{SHOP_SQL}, {SHOP_SQL}]"}, "table 'orders' is defined twice"),
    ({"tables": f"tables: [{{file: {SHOP_SQL}, only: [x]}}]"}, "schemas/shop.sql defines no table 'x'"),
    ({"tables": f"tables: [{SHOP_SQL}]\ntable_groups: {{G: [x]}}"}, "$.table_groups.G[0]: 'x' is no table"),
]

ACTIONS = [
    ("{action: Transform}", "HVR's Transform is not supported: SQL changes rows"),
    (
        "{action: AgentPlugin, Command: x}",
        "HVR's AgentPlugin is not supported: a script around integrate --once does what",
    ),
    (
        "{action: FileFormat, Json: true, IntegrateConverter: x}",
        "this key, of HVR, is not known here: not there: values are changed by SQL",
    ),
    ("{action: AdaptDDL}", "unknown_columns: ignore"),
    (
        "{action: Integrate, Burst: true}",
        "this key, of HVR, is not known here: not for Kafka, which is integrated continuously",
    ),
    (
        "{action: ColumnProperties, Name: x, TrimWhiteSpace: true}",
        "this key, of HVR, is not known here: a parameter of TableProperties",
    ),
    (
        "{action: ColumnProperties, Name: x, IntegrateExpresion: a}",
        "$.actions[0].IntegrateExpresion: this key is not known here; do you mean IntegrateExpression?",
    ),
    (
        "{action: Colour}",
        "$.actions[0].action: 'Colour' is no action; accepted are ColumnProperties, TableProperties, Capture",
    ),
    (
        "{action: ColumnProperties, Name: x, group: SOURCE, Extra: true}",
        "Extra does nothing at 'SOURCE'; write KAFKA, kaf or *",
    ),
    (
        "{action: Restrict, group: KAFKA, CaptureCondition: 'true'}",
        "CaptureCondition does nothing at 'KAFKA'; write SOURCE",
    ),
    ("{action: ColumnProperties, Name: nmae}", "has no effect: none of its parameters is set"),
    (
        "{action: ColumnProperties, Name: weight, table: products, Datatype: decimal, Precision: 9, Scale: 2}",
        "real cannot become",
    ),
    ("{action: ColumnProperties, Name: x, Extra: true, Datatype: date, Nullable: false}", "'x' has no value"),
    ("{action: ColumnProperties, Name: x, Extra: true, Datatype: decimal, Precision: 0}", "a Precision of 1 at least"),
    ("{action: ColumnProperties, Name: x, table: nope, Absent: true}", "'nope' is no table or table group; known are"),
    ("{action: ColumnProperties, Name: x, group: NOPE, Absent: true}", "'NOPE' is no location or location group"),
    (
        "{action: ColumnProperties, Name: x, Absent: true}",
        "all 4 tables: 'x' is no column; a new one needs Extra: true and a Datatype; its columns are id,",
    ),
    ("{action: ColumnProperties, Name: x, Extra: true}", "the Extra column 'x' needs a Datatype or SoftDelete"),
    ("{action: ColumnProperties, Name: id, table: audit, Absent: true}", "belongs to the key, which cannot be absent"),
    ("{action: ColumnProperties, Name: big, table: audit, Length: 5}", "Length needs a Datatype beside it"),
    (
        "{action: ColumnProperties, Name: big, table: audit, Datatype: txt}",
        "'txt' is no datatype; do you mean text?",
    ),
    ("{action: ColumnProperties, Name: avatar, table: customers, Datatype: date}", "blob cannot become date"),
    ("{action: ColumnProperties, Name: big, table: audit, Extra: true, Datatype: text}", "is a column of the table"),
    ("{action: ColumnProperties, Name: x, Extra: true, Datatype: text, Key: true}", "cannot be in a key"),
    (
        "{action: ColumnProperties, Name: tags, table: customers, DistributionKey: true}",
        "which cannot be in a key",
    ),
    (
        "{action: ColumnProperties, Name: x, table: customers, Extra: true, Datatype: text, IntegrateExpression: 'a{tags}'}",
        "{tags} is text[], which cannot become text",
    ),
    ("{action: ColumnProperties, Name: x, Extra: true, SoftDelete: true, IntegrateExpression: '1'}", "its own value"),
    (
        "{action: ColumnProperties, Name: x, Extra: true, Datatype: text, TimeKey: true}",
        "a TimeKey needs a growing value",
    ),
    ("{action: ColumnProperties, Name: big, table: audit, BaseName: what}", "two columns are named 'what'"),
    (
        "{action: ColumnProperties, Name: x, Extra: true, Datatype: varchar, Length: 36, "
        "IntegrateExpression: '{hvr_integ_seq}'}",
        "{hvr_integ_seq} has 45 characters; Length 36 is too short",
    ),
    (
        "{action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: '4095'}",
        "'4095' is not accepted; a whole number from 4096",
    ),
    ("{action: Environment, Name: HVR_KAFKA_PROPERTY, Value: 'linger.ms'}", "is no property; write name=value"),
    ("{action: Environment, Name: HVR_KAFKA_PROPERTY, Value: 'acks=0'}", "acks=0 acknowledges nothing"),
    (
        "{action: Environment, Name: HVR_KAFKA_PROPERTY, Value: 'bootstrap.servers=x'}",
        "bootstrap.servers cannot be set here: use Kafka_Brokers",
    ),
    ("{action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: '5000', table: audit}", "table must be *"),
    ("{action: Integrate, CycleByteLimit: 5, table: audit}", "table must be *"),
    (
        "{action: ColumnProperties, Name: big, table: audit, Absent: true}\n"
        "  - {action: ColumnProperties, Name: big, table: audit, Absent: false}",
        "Absent is False here and True at $.actions[0], equally specific",
    ),
]


def make(tmp_path, **other):
    path = tmp_path / "channel.yaml"
    path.write_text("\n".join({**BASE, **other}.values()) + "\n")
    return plan.build(str(path), "UTC")


@pytest.mark.parametrize(("other", "expected"), CASES)
def test_problems_of_the_file(other, expected, tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        make(tmp_path, **other)
    assert expected in str(raised.value)


@pytest.mark.parametrize(("action", "expected"), ACTIONS)
def test_problems_of_actions(action, expected, tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        make(tmp_path, actions=f"actions:\n  - {action}")
    assert expected in str(raised.value)
    assert "channel.yaml:" in str(raised.value)


def test_actions_that_every_channel_of_hvr_has_may_be_there_without_parameters(tmp_path):
    actions = "actions:\n  - {action: Capture, group: SOURCE}\n  - {action: Integrate, group: KAFKA}"
    assert make(tmp_path, actions=actions).recipe == make(tmp_path).recipe


def test_general_is_the_group_of_tables_that_are_in_no_other(tmp_path):
    actions = """actions:
  - {action: ColumnProperties, Name: x, table: GENERAL, Extra: true, Datatype: varchar}
table_groups: {BIG: [audit, orders]}"""
    made = make(tmp_path, actions=actions)
    having = {recipe.table.name for recipe in made.recipe.tables if any(f.name == "x" for f in recipe.fields)}
    assert having == {"customers", "products"}


def field(made, table, name):
    [recipe] = [recipe for recipe in made.recipe.tables if recipe.table.name == table]
    [found] = [field for field in recipe.fields if field.name == name]
    return found


def test_the_most_specific_action_wins(tmp_path):
    actions = """actions:
  - {action: ColumnProperties, Name: x, Extra: true, Datatype: varchar, Length: 1}
  - {action: ColumnProperties, Name: x, table: BIG, Datatype: varchar, Length: 2}
  - {action: ColumnProperties, Name: x, table: audit, Length: 3}
  - {action: ColumnProperties, Name: x, table: audit, group: kaf, Length: 4}
table_groups: {BIG: [audit, orders]}"""
    made = make(tmp_path, actions=actions)
    lengths = {table: field(made, table, "x").type.length for table in ("customers", "orders", "audit")}
    assert lengths == {"customers": 1, "orders": 2, "audit": 4}


def test_keys_and_topics(tmp_path):
    made = make(
        tmp_path,
        locations=BASE["locations"].replace(
            "[localhost]", "[a, 'b:1'], Kafka_Default_Topic: '{hvr_cap_loc}.<hvr_tbl_name>'"
        ),
        actions="actions:\n  - {action: ColumnProperties, Name: line_no, table: orders, DistributionKey: true}",
    )
    keys = {recipe.table.name: recipe.distribution_key for recipe in made.recipe.tables}
    assert keys == {"audit": ("id",), "customers": ("id",), "orders": ("line_no",), "products": ("sku",)}
    assert made.topics == ("src.audit", "src.customers", "src.orders", "src.products")
    assert made.brokers == "a:9092,b:1"


def test_librdkafka_has_safe_defaults_and_the_channels_properties(tmp_path):
    value = "linger.ms=5;sasl.password=hush"
    made = make(tmp_path, actions=f"actions:\n  - {{action: Environment, Name: HVR_KAFKA_PROPERTY, Value: '{value}'}}")
    producer = made.recipe.send.producer
    assert (producer["acks"], producer["enable.idempotence"], producer["linger.ms"]) == ("all", "true", "5")
    assert made.secrets.mask("it is hush") == "it is ********"
    assert "hush" not in repr(made)


def test_a_plan_is_data_that_compares_and_can_be_kept(tmp_path):
    made = make(tmp_path)
    assert made == make(tmp_path)
    assert pickle.dumps(made)  # which a function in it would refuse
    assert made == plan.replan(made, {}) != plan.replan(made, {"audit": {"more": DiscoveredColumn("integer", 0, 1)}})


def test_what_actions_give_is_typed_and_has_its_place():
    actions = [
        (0, TableProperties(action="TableProperties", TrimWhiteSpace=True, BaseName="A")),
        (3, TableProperties(action="TableProperties", table="audit", BaseName="B")),
    ]
    channel = Channel.model_construct(locations={}, table_groups={})
    given = merge(TableProperties, actions, Target(channel, (), "audit"), Problems(Source("c.yaml", {})))
    assert isinstance(given.values, TableProperties)
    assert (given.values.BaseName, given.values.TrimWhiteSpace, given.values.TrimTime) == ("B", True, "NO")
    assert (given.place("BaseName"), given.place("TrimWhiteSpace"), given.place("TrimTime")) == (3, 0, None)


@pytest.mark.parametrize("state", ["s3a://bucket/state", "hdfs://nn/state", "file:///var/state", "file:/var/state"])
def test_a_state_directory_that_is_no_local_path_is_a_problem(state, tmp_path):
    path = tmp_path / "channel.yaml"
    path.write_text(
        f"channel: c\nstate: {state}\nlocations:\n  src: {{class: files, path: in, dialect: hvr}}\n"
        f"  kaf: {{class: kafka, Kafka_Brokers: [localhost]}}\ntables: [{SHOP_SQL}]\n"
    )
    with pytest.raises(ConfigurationError, match=r"channel.yaml:2: \$.state: .* is no local path"):
        plan.build(str(path), "UTC")


def test_tables_that_are_wrong_in_the_same_way_are_one_problem_whatever_the_texts_contain():
    problems, place = Problems(Source("c.yaml", {})), ("actions", 0, "Name")
    problems.tables, problems.everywhere = ["a", "b", "c"], frozenset([0])
    problems.add(place, "'x; write table: y' is wrong", "a")
    problems.add(place, "'x; z' is wrong", "a")
    problems.add(place, Reason("lacks a column; its columns are i", "lacks a column"), "a")
    problems.add(place, Reason("lacks a column; its columns are j", "lacks a column"), "b")
    problems.add(place, Reason("is of b; write table: b", narrows=True), "a")
    with pytest.raises(ConfigurationError) as raised:
        problems.raise_any()
    assert [problem.text for problem in raised.value.problems] == [
        "table a: 'x; write table: y' is wrong; for tables b, c it is right: write table: b",
        "table a: 'x; z' is wrong; for tables b, c it is right: write table: b",
        "table a: is of b; write table: b",
        "tables a, b: lacks a column; its columns are i; for table c it is right: write table: c",
    ]
