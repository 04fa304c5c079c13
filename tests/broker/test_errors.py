"""Each thing that can be wrong: a clear error, nothing committed, and the next run continues after the mend."""

import io
import json

import pytest
from confluent_kafka.admin import AdminClient
from rich.console import Console

from integrator.cli import show
from integrator.deliver.kafka import topics
from integrator.errors import ConfigurationError, DataError, EnvironmentFault
from integrator.plan import build
from tests.parts import channels, kafka_io
from tests.parts.brokers import free_port

pytestmark = [pytest.mark.broker, pytest.mark.spark]

GOOD = [
    {"action": "B", "xid": 1, "timestamp": "2026-01-01 00:00:00+00", "lsn": "0/10", "nextlsn": "0/11"},
    {
        "action": "I",
        "xid": 1,
        "schema": "public",
        "table": "audit",
        "columns": [{"name": "id", "type": "bigint", "value": 1}, {"name": "what", "type": "text", "value": "a"}],
    },
    {"action": "C", "xid": 1, "timestamp": "2026-01-01 00:00:00+00", "lsn": "0/10", "nextlsn": "0/11"},
]


def lines(records):
    return "".join(json.dumps(record) + "\n" for record in records)


def with_column(name, value):
    changed = json.loads(json.dumps(GOOD))
    changed[1]["columns"] = [column for column in changed[1]["columns"] if column["name"] != name]
    changed[1]["columns"].append({"name": name, "type": "text", "value": value})
    return lines(changed)


BAD = {
    "malformed line": (lines(GOOD[:2]) + '{"action": "I", "xi\n', ["bad.jsonl:3", "expected a record of wal2json"]),
    "wrong type": (with_column("id", "seven"), ["bad.jsonl:2", "column id", "'seven' is no bigint", "mend the record"]),
    "unknown table": (
        lines(GOOD).replace('"audit"', '"invoices"'),
        [
            "bad.jsonl:2",
            "table 'public.invoices'",
            "its tables are audit, customers, orders, products",
            "unknown_tables",
        ],
    ),
    "unknown column": (with_column("colour", "red"), ["bad.jsonl:2", "column 'colour'", "id, what, big"]),
    "null in a required column": (with_column("id", None), ["bad.jsonl:2", "column id", "not null"]),
    "message too large": (
        with_column("big", "x" * 1_000_000),
        [
            "bad.jsonl:2",
            "table audit, key id=1",
            "HVR_KAFKA_MSG_MAX_BYTES is 1000000",
            "big (1,000,000 bytes)",
            "Absent",
        ],
    ),
    "not UTF-8": (lines(GOOD).replace('"a"', '"\udcff"'), ["bad.jsonl:2", "lone surrogate"]),
    "a transaction that no file begins": (lines(GOOD[1:]), ["bad.jsonl:1", "began in no file"]),
    "no position": (lines(GOOD).replace('"nextlsn"', '"nextlsm"'), ["bad.jsonl:1", "include-lsn=1"]),
    "another dialect": ('{"after": {"id": 1}}\n', ["bad.jsonl:1", "neither wal2json version 1", "nor version 2"]),
    "no JSON at all": ("id,what\n1,a\n", ["bad.jsonl:1", "expected a record of wal2json"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_fails_the_cycle_and_mended_data_continues(case, broker, tmp_path, name, integrate_once):
    text, expected = BAD[case]
    broker.create(channels.shop_topics(name), 1)
    channel = channels.shop(tmp_path, broker.servers, name)
    bad = tmp_path / "in" / "bad.jsonl"
    bad.write_bytes(text.encode("utf-8", "surrogateescape"))
    if case == "not UTF-8":
        expected = ["bad.jsonl:2", "not UTF-8"]
    with pytest.raises(DataError) as raised:
        integrate_once(channel)
    assert [part for part in expected if part not in str(raised.value)] == [], str(raised.value)
    assert kafka_io.read_all(broker.servers, channels.shop_topics(name)) == []
    assert not list((tmp_path / "state" / "shop" / "synced").glob("*.json"))  # I1

    bad.write_text(lines(GOOD))
    integrate_once(channel)
    assert len(kafka_io.read_all(broker.servers, channels.shop_topics(name))) == 1


def test_a_file_that_is_written_on_or_gone_is_an_error(broker, tmp_path, name, integrate_once, monkeypatch):
    broker.create(channels.shop_topics(name), 1)
    channel = channels.shop(tmp_path, broker.servers, name)
    file = tmp_path / "in" / "a.jsonl"
    file.write_text(lines(GOOD))
    integrate_once(channel)
    with file.open("a") as more:
        more.write(lines(GOOD))
    with pytest.raises(EnvironmentFault, match=r"a\.jsonl: has \d+ bytes and had \d+ when it was taken"):
        integrate_once(channel)
    file.write_text("nonsense\n")
    file.rename(tmp_path / "in" / "b.jsonl")
    with pytest.raises(DataError):
        integrate_once(channel)
    (tmp_path / "in" / "b.jsonl").unlink()
    with pytest.raises(EnvironmentFault, match=r"b\.jsonl: the change file is gone"):
        integrate_once(channel)


def test_a_broken_archive_is_an_error(broker, tmp_path, name, integrate_once):
    broker.create(channels.shop_topics(name), 1)
    channel = channels.shop(tmp_path, broker.servers, name)
    (tmp_path / "in" / "a.jsonl.gz").write_bytes(b"\x1f\x8bnot really")
    with pytest.raises(EnvironmentFault, match=r"a\.jsonl\.gz: the change file cannot be read"):
        integrate_once(channel)


def test_a_half_written_file_is_not_read_before_it_has_its_name(broker, tmp_path, name, integrate_once):
    broker.create(channels.shop_topics(name), 1)
    channel = channels.shop(tmp_path, broker.servers, name)
    half = tmp_path / "in" / "a.jsonl.tmp"
    half.write_text(lines(GOOD)[:100])
    integrate_once(channel)
    half.write_text(lines(GOOD))
    half.rename(tmp_path / "in" / "a.jsonl")
    integrate_once(channel)
    assert len(kafka_io.read_all(broker.servers, channels.shop_topics(name))) == 1


def test_missing_topics_are_named_or_created(real_broker, tmp_path, name, integrate_once):
    channel = channels.shop(tmp_path, real_broker.servers, name)
    (tmp_path / "in" / "a.jsonl").write_text(lines(GOOD))
    with pytest.raises(EnvironmentFault, match=rf"missing .*{name}\.audit, .*Create_Topics"):
        integrate_once(channel)
    creation = f"Create_Topics: {{Partitions: 3, Topic_Partitions: {{{name}.orders: 5}}}}"
    channel.write_text(channel.read_text().replace("Kafka_Default_Topic", f"{creation}, Kafka_Default_Topic"))
    integrate_once(channel)
    there = AdminClient({"bootstrap.servers": real_broker.servers}).list_topics(timeout=20).topics
    partitions = {topic: len(there[topic].partitions) for topic in channels.shop_topics(name)}
    assert partitions == dict.fromkeys(partitions, 3) | {f"{name}.orders": 5}
    received = kafka_io.read_all(real_broker.servers, [f"{name}.audit"])
    assert len(received) == 1
    assert topics.missing(build(str(channel), "UTC").recipe.send.producer, channels.shop_topics(name)) == []


def test_an_unreachable_broker_is_named_before_a_row_is_read(tmp_path, name):
    address = f"127.0.0.1:{free_port()}"
    channel = channels.shop(tmp_path, address, name)
    plan = build(str(channel), "UTC")
    with pytest.raises(EnvironmentFault, match=f"no broker of {address} answers .* mend Kafka_Brokers"):
        topics.ensure(plan.recipe.send.producer, plan.topics, plan.create_topics)


def test_all_problems_of_a_channel_and_its_ddl_come_at_once(tmp_path):
    (tmp_path / "bad.sql").write_text("create table t(a int, b frobnicate);\n")
    (tmp_path / "worse.sql").write_text("create table t(\n  a int primary kee\n);\n")
    channel = tmp_path / "channel.yaml"
    channel.write_text(
        f"channel: shop\nlocations:\n  src: {{class: files, path: x, dialect: wal2jsn}}\n"
        f"tables: [{tmp_path}/bad.sql, {tmp_path}/worse.sql]\nactions: []\nactions: []\n"
    )
    with pytest.raises(ConfigurationError) as raised:
        build(str(channel), "UTC")
    told = str(raised.value)
    assert "channel.yaml:3: $.locations.src.dialect: 'wal2jsn' is no dialect; do you mean wal2json?" in told
    assert "channel.yaml:6: $.actions: the key is given twice" in told
    assert "bad.sql:1: t.b: the type frobnicate is not known" in told
    assert "worse.sql:2: bad SQL" in told


def test_i7_a_password_is_in_no_text(tmp_path, name, monkeypatch):
    def channel(password, more=""):
        monkeypatch.setenv("THE_PASSWORD", password)
        value = "sasl.username=me;sasl.password=${THE_PASSWORD}" + more
        action = f'  - {{action: Environment, Name: HVR_KAFKA_PROPERTY, Value: "{value}"}}\n'
        return str(channels.shop(tmp_path, "localhost", name, more=action))

    for password, more in (("pa55word", ";nonsense pa55word"), ("pa55;hush", ""), ("pa55;hu=sh", "")):
        with pytest.raises(ConfigurationError) as raised:
            build(channel(password, more), "UTC")
        assert not [part for part in ("pa55", "hu=", "hush") if part in str(raised.value)]
    plan = build(channel("pa55word"), "UTC")
    console = Console(record=True, width=1000, file=io.StringIO())
    show.plan(plan, [], console)
    shown = console.export_text()
    assert "'sasl.username': 'me', 'sasl.password': '********'" in shown
    assert "pa55word" not in shown + repr(plan)
    assert plan.secrets.mask("it is pa55word") == "it is ********"
