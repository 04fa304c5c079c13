"""A topic that takes smaller messages than the channel sends, or none of a kind: batches fit it, and rows are named."""

import json
import random
import re

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from integrator.deliver.kafka import topic_limits
from integrator.errors import DataError
from tests.broker.test_actions import channel, rows
from tests.parts import kafka_io, pure

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]
LIMIT = 20_000


def text(size, seed):
    return random.Random(seed).randbytes(size // 2).hex()


@pytest.fixture
def path(real_broker, tmp_path, name):
    admin = AdminClient({"bootstrap.servers": real_broker.servers})
    config = {"max.message.bytes": str(LIMIT)}
    admin.create_topics([NewTopic(name, 1, 1, config=config)])[name].result()
    made = channel(tmp_path, real_broker, name)
    made.write_text(
        made.read_text().replace("Kafka_Default_Topic", "Kafka_Message_Compress: NONE, Kafka_Default_Topic")
    )
    return made


def write(directory, *names):
    records = ({"k": k, "name": name, "region": "", "n": 0, "hvr_tx_seq": f"{k + 1}"} for k, name in enumerate(names))
    pure.hvr(directory / "in", *records)


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_small_rows_are_sent_in_batches_that_fit(path, real_broker, tmp_path, name, integrate_once, delivery):
    path.write_text(f"{path.read_text()}delivery: {delivery}\n")
    write(tmp_path, *(text(2000, seed) for seed in range(200)))
    integrate_once(path)
    assert [row["k"] for row in rows(real_broker, name)] == list(range(200))


def test_a_row_above_the_limit_is_found_before_it_is_sent(path, tmp_path, name, integrate_once):
    write(tmp_path, "small", text(30_000, 1), "small")
    with pytest.raises(DataError) as raised:
        integrate_once(path)
    assert re.fullmatch(
        rf"{tmp_path}/in/a.jsonl:2: table t, key k=1: the message has 30,\d+ bytes, and the topic {name} takes up to "
        rf"20000 \(max.message.bytes\), and HVR_KAFKA_MSG_MAX_BYTES is 1000000; the largest columns are name "
        rf"\(30,000 bytes\).*Oversized_Rows.*raise the limit in the topic .*",
        str(raised.value),
    )


def test_bundles_above_the_limit_are_to_be_smaller(path, real_broker, tmp_path, name, integrate_once):
    """Whether a bundle is too large is known when it is compressed: the remedy of the message is tried here."""
    channel_text = path.read_text().replace("Kafka_Message_Compress: NONE", "Kafka_Message_Bundling: THRESHOLD")
    path.write_text(channel_text)
    write(tmp_path, *(text(6000, seed) for seed in range(40)))
    with pytest.raises(DataError, match="write a Kafka_Message_Bundling_Threshold below 20000: it is"):
        integrate_once(path)
    path.write_text(channel_text.replace("THRESHOLD,", "THRESHOLD, Kafka_Message_Bundling_Threshold: 12000,"))
    integrate_once(path)
    assert len(kafka_io.read_all(real_broker.servers, [name])) > 10


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
@pytest.mark.parametrize("policy", ["DEAD_LETTER", "SKELETON"])
def test_what_is_done_with_oversized_rows_is_done_with_it(
    path, real_broker, tmp_path, name, integrate_once, policy, delivery
):
    real_broker.create([f"{name}.dead"], 1)
    more = f"Oversized_Rows: {policy}, " + (f"Dead_Letter_Topic: {name}.dead, " if policy == "DEAD_LETTER" else "")
    path.write_text(path.read_text().replace("Kafka_Default_Topic", f"{more}Kafka_Default_Topic"))
    path.write_text(f"{path.read_text()}delivery: {delivery}\n")
    write(tmp_path, "small", text(30_000, 1), "other")
    integrate_once(path)
    names = [row.get("name") for row in rows(real_broker, name)]
    letters = kafka_io.read_all(real_broker.servers, [f"{name}.dead"])
    if policy == "SKELETON":
        assert (names, letters) == (["small", None, "other"], [])
    else:
        assert names == ["small", "other"]
        assert dict(letters[0].headers)["reason"] == b"message above max.message.bytes of its topic"
        assert json.loads(b"".join(one.value for one in letters))["k"] == 1


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
@pytest.mark.parametrize("known", ["a limit that was another at the start", "a limit that we may not see"])
def test_a_row_that_the_brokers_refuse_is_named(
    path, real_broker, tmp_path, name, integrate_once, monkeypatch, delivery, known
):
    path.write_text(f"{path.read_text()}delivery: {delivery}\n")
    seen = iter([{name: 1_000_000}, {name: LIMIT}] if "another" in known else [])
    monkeypatch.setattr(topic_limits, "limits", lambda *_: next(seen, {}))
    write(tmp_path, "small", text(30_000, 1), "small")
    with pytest.raises(DataError) as raised:
        integrate_once(path)
    said = str(raised.value)
    assert re.match(
        rf"{tmp_path}/in/a.jsonl:2: table t, key k=1: {name}: the message of 30\d+ bytes with the key '.*' is refused",
        said,
    )
    assert "HVR_KAFKA_MSG_MAX_BYTES is 1000000" in said
    assert "the largest columns are name (30,000 bytes)" in said
    if "another" in known:
        assert "the topic takes messages up to 20000 bytes (max.message.bytes)" in said
    else:
        assert "alone in its batch: max.message.bytes of the topic cannot be seen (ACL DescribeConfigs" in said


def test_small_rows_whose_batch_is_refused_are_sent_one_by_one(
    path, real_broker, tmp_path, name, integrate_once, monkeypatch
):
    monkeypatch.setattr(topic_limits, "limits", lambda *_: {})
    write(tmp_path, *(text(2000, seed) for seed in range(200)))
    integrate_once(path)
    assert {row["k"] for row in rows(real_broker, name)} == set(range(200))


def test_a_compacted_topic_refuses_rows_without_a_key_which_are_named(real_broker, tmp_path, name, integrate_once):
    admin = AdminClient({"bootstrap.servers": real_broker.servers})
    admin.create_topics([NewTopic(name, 1, 1, config={"cleanup.policy": "compact"})])[name].result()
    path = channel(tmp_path, real_broker, name, "{action: Integrate, MessageKeySerializer: NONE}")
    write(tmp_path, "first")
    with pytest.raises(DataError) as raised:
        integrate_once(path)
    said = str(raised.value)
    assert said.startswith(f"{tmp_path}/in/a.jsonl:1: table t, key k=0: {name}: the message of")
    assert (
        "one that is compacted (cleanup.policy) takes none without a key, as a truncate is: leave truncates out" in said
    )


def test_a_row_that_fits_when_it_is_compressed_is_sent(path, real_broker, tmp_path, name, integrate_once):
    path.write_text(path.read_text().replace("Kafka_Message_Compress: NONE, ", ""))
    write(tmp_path, "small", "x" * 30_000)
    integrate_once(path)
    assert [len(row["name"]) for row in rows(real_broker, name)] == [5, 30_000]
