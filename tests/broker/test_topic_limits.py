"""A topic that takes smaller messages than the channel sends: batches fit it, and a row that does not is an error."""

import random

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from integrator.errors import DataError
from tests.broker.test_actions import channel, rows
from tests.parts import pure

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


def test_a_row_above_the_limit_is_an_error_of_the_data(path, tmp_path, name, integrate_once):
    write(tmp_path, "small", text(30_000, 1), "small")
    with pytest.raises(DataError) as raised:
        integrate_once(path)
    said = str(raised.value)
    assert f"cycle 0: {name}: the message of 30" in said
    assert "with the key '" in said
    assert (
        "the topic takes messages up to 20000 bytes (max.message.bytes), and HVR_KAFKA_MSG_MAX_BYTES is 1000000" in said
    )
    limited = "actions:\n  - {action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: '20000'}"
    path.write_text(path.read_text().replace("actions:", limited))
    with pytest.raises(DataError, match=r"a.jsonl:2: table t, key k=1: the message has 30,\d+ bytes"):
        integrate_once(path)


def test_a_row_that_fits_when_it_is_compressed_is_sent(path, real_broker, tmp_path, name, integrate_once):
    path.write_text(path.read_text().replace("Kafka_Message_Compress: NONE, ", ""))
    write(tmp_path, "small", "x" * 30_000)
    integrate_once(path)
    assert [len(row["name"]) for row in rows(real_broker, name)] == [5, 30_000]
