"""Which partition a key goes to: librdkafka's CRC32 as HVR, or murmur2 as Java producers."""

import json
import zlib

import pytest

from tests.parts import channels, java, kafka_io

pytestmark = [pytest.mark.broker, pytest.mark.spark]

PARTITIONS = 12


def crc32(keys, _class_path):
    return [zlib.crc32(key) % PARTITIONS for key in keys]


def murmur2(keys, class_path):
    return java.run("Partitions", class_path, [java.encoded(key) for key in keys], str(PARTITIONS))


@pytest.mark.parametrize(("partitioner", "expected"), [("consistent_random", crc32), ("murmur2_random", murmur2)])
def test_keys_go_where_others_expect_them(
    partitioner, expected, real_broker, integrate_once, converter_class_path, tmp_path, name
):
    real_broker.create([f"{name}.audit", *channels.shop_topics(name)[1:]], PARTITIONS)
    kafka = f", Kafka_Partitioner: {partitioner}"
    channel = channels.shop(tmp_path, real_broker.servers, name, dialect="hvr", kafka=kafka)
    rows = [{"hvr_op": 1, "hvr_tx_seq": "1", "hvr_tbl_name": "audit", "id": n, "what": "x"} for n in range(200)]
    (tmp_path / "in" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    integrate_once(channel)
    received = kafka_io.read_all(real_broker.servers, [f"{name}.audit"])
    assert len(received) == len(rows)
    assert [m.partition for m in received] == expected([m.key for m in received], converter_class_path)
    assert len({m.partition for m in received}) == PARTITIONS
