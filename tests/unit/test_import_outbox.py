"""`import debezium` with EventRouter, PartitionRouting and transaction metadata: the channel that sends the same."""

import pytest
import yaml

from tests.parts import imports

OUTBOX = (
    "create table outbox(id uuid primary key, aggregatetype varchar(255) not null, aggregateid varchar(255) not null,"
    " type varchar(255), at timestamp, shard int, payload jsonb);\n"
)
CONNECTOR = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": "shop",
    "producer.override.bootstrap.servers": "b1:9092",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "transforms": "o",
    "transforms.o.type": "io.debezium.transforms.outbox.EventRouter",
}
ROUTER = "transforms.o."


@pytest.fixture
def imported(tmp_path, capsys):
    """Import a configuration; return what actions say together, the locations, and what was printed."""

    def run(config, tables=OUTBOX):
        channel, code = imports.of_debezium(tmp_path, config, tables)
        printed = capsys.readouterr()
        assert code == 0, printed
        (tmp_path / "channel.yaml").unlink()
        given = yaml.safe_load(channel)
        together = {}
        for action in sorted(given["actions"], key=lambda one: "table" in one):  # what is of a table holds there
            together |= {name: value for name, value in action.items() if name not in ("action", "group", "table")}
        return together, given["locations"], printed.out

    return run


DEFAULTS = {
    "Topic": "outbox.event.{aggregatetype}",
    "MessageKey": "{aggregateid}",
    "MessageKeySerializer": "STRING",
    "MessageHeaders": "id={id}",
    "Text": "{payload}",
    "Outbox": "WARN",
}

CASES = [
    ({}, {}),
    (
        {
            "table.fields.additional.placement": "type:header:eventType,shard:partition",
            "table.field.event.timestamp": "at",
            "table.op.invalid.behavior": "fatal",
            "route.topic.replacement": "events.${routedByValue}.v1",
        },
        {
            "MessageHeaders": "id={id};eventType={type}",
            "MessagePartition": "{shard}",
            "MessageTimestamp": "{at}",
            "Outbox": "FATAL",
            "Topic": "events.{aggregatetype}.v1",
        },
    ),
    ({"route.by.field": "type", "route.topic.replacement": "all"}, {"Topic": "all"}),
    ({"table.field.event.key": "type"}, {"MessageKey": "{type}"}),
]


@pytest.mark.parametrize(("given", "expected"), CASES)
def test_an_outbox_is_imported(given, expected, imported):
    actions, _, _ = imported(CONNECTOR | {ROUTER + name: value for name, value in given.items()})
    assert {name: actions.get(name) for name in DEFAULTS | expected} == DEFAULTS | expected


def test_json_that_is_expanded_is_sent_as_it_is(imported):
    json = {f"{part}.converter": "org.apache.kafka.connect.json.JsonConverter" for part in ("key", "value")}
    plain = {f"{part}.converter.schemas.enable": "false" for part in ("key", "value")}
    actions, _, printed = imported(CONNECTOR | json | plain | {ROUTER + "table.expand.json.payload": "true"})
    assert (actions["Text"], actions["MessageKeySerializer"]) == ("{payload}", "CONNECT_PAYLOAD_COLUMN")
    assert "the JSON is sent as the column has it, white space and the forms of numbers too" in printed


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"route.topic.regex": "(?<routedByValue>.*)Event"},
            "takes a part of aggregatetype, and here it is taken whole",
        ),
        (
            {"table.fields.additional.placement": "type:envelope"},
            "type:envelope is not followed: a message is the payload",
        ),
        ({"table.field.payload": "body"}, "table outbox lacks columns of an outbox: leave it out"),
        ({"table.json.payload.null.behavior": "ignore"}, "table.json.payload.null.behavior: ignored, because"),
    ],
)
def test_what_of_an_outbox_is_not_followed_is_reported(given, expected, tmp_path, capsys):
    imports.of_debezium(tmp_path, CONNECTOR | {ROUTER + name: value for name, value in given.items()}, OUTBOX)
    printed = capsys.readouterr()
    assert expected in printed.out + printed.err


PARTITIONS = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": "shop",
    "producer.override.bootstrap.servers": "b1:9092",
    "transforms": "p",
    "transforms.p.type": "io.debezium.transforms.partitions.PartitionRouting",
    "transforms.p.partition.topic.num": "12",
}
ORDERS = "create table orders(id int primary key, region int, customer bigint, code text);\n"


def java_hash(*numbers):
    total = sum(numbers) & 0x7FFFFFFF
    return (0 if total == 0x7FFFFFFF else total) % 12


@pytest.mark.parametrize("region", [0, 5, 13, -1, -7, 2147483647, -2147483648])
def test_rows_stay_in_the_partitions_of_whole_numbers(region, imported, tmp_path):
    from tests.parts import pure

    actions, _, _ = imported(PARTITIONS | {"transforms.p.partition.payload.fields": "change.region"}, ORDERS)
    said = f'  - {{action: Integrate, MessagePartition: "{actions["MessagePartition"]}"}}\n'
    directory = tmp_path / "made"
    directory.mkdir()
    recipe = pure.recipe(directory, ORDERS, said)
    record = {"hvr_tbl_name": "orders", "id": 1, "region": region, "customer": 1, "code": "a"}
    fragments, _ = pure.fragments(recipe, pure.hvr(directory, record))
    assert fragments["partition"].to_pylist() == [java_hash(region)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("change.code", "java's hash of change.code is not there; Integrate MessagePartition gives a partition by a"),
        ("change.customer", "Java's hash of a number below 0 or above 2147483647 is another"),
    ],
)
def test_what_of_partitions_is_not_followed_is_reported(fields, expected, imported):
    _, _, printed = imported(PARTITIONS | {"transforms.p.partition.payload.fields": fields}, ORDERS)
    assert expected in printed


def test_the_topic_of_transactions_is_imported(imported):
    config = {name: value for name, value in PARTITIONS.items() if not name.startswith("transforms")}
    _, locations, printed = imported(config | {"provide.transaction.metadata": "true"}, ORDERS)
    assert locations["kaf"]["Transaction_Topic"] == "shop.transaction"
    assert "a transaction's id is the beginning of {hvr_integ_seq}" in printed
    _, locations, _ = imported(config | {"provide.transaction.metadata": "true", "topic.transaction": "tx"}, ORDERS)
    assert locations["kaf"]["Transaction_Topic"] == "shop.tx"
