"""The recorded changes of a real PostgreSQL, through the whole path, back to the rows that PostgreSQL ended with."""

import shutil

import pytest

from tests.conftest import DATA
from tests.parts import channels, kafka_io, rebuild

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.fixture(scope="module")
def messages(broker, integrate_once, tmp_path_factory):
    """The recorded changes in Kafka, sent once for this module."""
    directory = tmp_path_factory.mktemp("shop")
    prefix = f"e2e{directory.name}"
    broker.create(channels.shop_topics(prefix))
    channel = channels.shop(directory, broker.servers, prefix)
    shutil.copy(DATA / "changes.wal2json-v2.jsonl", directory / "in")
    integrate_once(channel)
    return prefix, kafka_io.read_all(broker.servers, channels.shop_topics(prefix))


def by_table(prefix, messages, read):
    return {
        table: [read(message) for message in messages if message.topic == f"{prefix}.{table}"]
        for table in channels.SHOP_TABLES
    }


def test_the_rebuilt_tables_equal_the_final_ones(messages):
    prefix, received = messages
    rebuilt = rebuild.rebuild(by_table(prefix, received, lambda message: rebuild.payload(message.value)))
    assert rebuild.comparable(rebuilt) == rebuild.comparable(rebuild.oracle(DATA / "final"))


def test_kafkas_json_converter_sees_the_same(messages, converter_class_path):
    prefix, received = messages
    seen = kafka_io.converter_reads(converter_class_path, [message.value for message in received])
    of = dict(zip(received, map(rebuild.converted, seen), strict=True))
    rebuilt = rebuild.rebuild(by_table(prefix, received, of.__getitem__))
    assert rebuild.comparable(rebuilt) == rebuild.comparable(rebuild.oracle(DATA / "final"))


def test_keys_are_connect_strings_of_the_hashed_key(messages, converter_class_path):
    _, received = messages
    keys = kafka_io.converter_reads(converter_class_path, [message.key for message in received], key=True)
    assert {tuple(key[:2]) for key in keys} == {("string", None)}
    assert all(len(key[2]) == 16 for key in keys)


def test_i3_each_key_is_in_one_partition_in_source_order(messages):
    _, received = messages
    seen = {}
    for message in received:
        sequence = rebuild.payload(message.value)["integ_seq"]
        partition, before = seen.get((message.topic, message.key), (message.partition, ""))
        assert partition == message.partition
        assert before < sequence
        seen[message.topic, message.key] = message.partition, sequence


def test_a_value_left_out_of_an_update_is_missing_not_null(messages):
    prefix, received = messages
    audits = [rebuild.payload(message.value) for message in received if message.topic == f"{prefix}.audit"]
    assert [change for change in audits if change["op_val"] == 2 and "big" not in change]
    assert not [change for change in audits if change["op_val"] == 1 and "big" not in change]


def test_format_version_1_gives_the_same_messages_but_for_truncates(messages, broker, tmp_path, name, integrate_once):
    """wal2json's version 1 knows no truncate, and leaves nulls out of old images."""
    prefix, received = messages
    broker.create(channels.shop_topics(name))
    channel = channels.shop(tmp_path, broker.servers, name)
    shutil.copy(DATA / "changes.wal2json-v1.jsonl", tmp_path / "in")
    integrate_once(channel)
    ones = [rebuild.payload(m.value) for m in kafka_io.read_all(broker.servers, channels.shop_topics(name))]
    twos = [rebuild.payload(m.value) for m in received]
    assert {one["integ_seq"] for one in ones} == {two["integ_seq"] for two in twos if two["op_val"] != 5}
    new = {two["integ_seq"]: two for two in twos if two["op_val"] in (1, 2)}
    assert all(one == new[one["integ_seq"]] for one in ones if one["op_val"] in (1, 2))


def test_i6_a_cycle_is_one_spark_job_however_many_tables(broker, spark, tmp_path, name, integrate_once):
    broker.create(channels.shop_topics(name))
    channel = channels.shop(tmp_path, broker.servers, name)
    shutil.copy(DATA / "changes.wal2json-v2.jsonl", tmp_path / "in")
    jobs = spark.sparkContext._jsc.sc().dagScheduler().nextJobId
    before = jobs()
    integrate_once(channel)
    assert jobs() - before == 1
