"""Ranges of partitions of a real Apache Kafka, read into arrays: what a client of Kafka's reads, and all else is a fault."""

import itertools
import random
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from confluent_kafka import Consumer as Client
from confluent_kafka import KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic

from integrator.channel.topics import TopicsLocation
from integrator.errors import EnvironmentFault
from integrator.librdkafka.consumer import Consumer
from integrator.librdkafka.fetching import Range, ReadFault
from integrator.sources.kafka.source import Topics
from integrator.sources.slices import TaskSlice
from tests.parts import brokers
from tests.unit.test_gather import rows_of, some

pytestmark = [pytest.mark.broker, pytest.mark.real_broker]


def create(servers, topic, partitions=1, **config):
    admin = AdminClient({"bootstrap.servers": servers})
    of_topic = {one.replace("_", "."): value for one, value in config.items()}
    admin.create_topics([NewTopic(topic, partitions, 1, config=of_topic)])[topic].result()
    return admin


def sent(servers, topic, values):
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 5})
    for value in values:
        producer.produce(topic, value, partition=0)
        producer.poll(0)
    assert producer.flush(30) == 0


def as_another_client_reads(servers, topic):
    """All committed records, as confluent-kafka's consumer reads them."""
    settings = {"group.id": "o", "enable.auto.commit": False, "isolation.level": "read_committed"}
    client = Client({"bootstrap.servers": servers, "enable.partition.eof": True, **settings})
    client.assign([TopicPartition(topic, 0, 0)])
    found = []
    while True:
        message = client.poll(10)
        if message.error():
            assert message.error().code() == KafkaError._PARTITION_EOF
            client.close()
            return found
        found.append((message.offset(), message.key(), message.value(), message.headers() or []))


@pytest.fixture
def servers(real_broker):
    return real_broker.servers


@pytest.fixture
def consumer(servers):
    made = Consumer({"bootstrap.servers": servers}, timeout_s=5)
    yield made
    made.close()


def fault_of(consumer, wanted):
    with pytest.raises(ReadFault) as raised:
        rows_of(consumer.read(wanted, headers=True))
    fault = raised.value
    return fault.reason, fault.offset, fault.low, fault.high


def test_odd_records_and_headers_in_slices_cut_anywhere(servers, consumer, name):
    create(servers, name)
    rng, producer = random.Random(1), Producer({"bootstrap.servers": servers, "linger.ms": 5})
    for _ in range(5000):
        headers = [(f"h{rng.randrange(5)}", some(rng, 40)) for _ in range(rng.choice((0, 0, 1, 9)))]
        producer.produce(name, some(rng, 300), key=some(rng, 20), headers=headers or None)
        producer.poll(0)
    assert producer.flush(30) == 0
    found, at = [], 0
    while at < 5000:
        end = min(5000, at + rng.choice((1, 3, 700)))
        found += rows_of(consumer.read(Range(name, 0, at, end), headers=True))
        at = end
    assert found == as_another_client_reads(servers, name)


def test_timestamps_are_those_of_the_topic(servers, consumer, name):
    create(servers, name, message_timestamp_type="LogAppendTime")
    before = time.time()
    sent(servers, name, [b"1"])
    [block] = consumer.read(Range(name, 0, 0, 1))
    [(kind, at)] = block.timestamps()
    assert kind == 2
    assert before - 1 <= at / 1000 <= time.time() + 1


def test_aborted_transactions_are_passed_over_and_open_ones_waited_for(servers, consumer, name):
    create(servers, name)
    rng = random.Random(2)
    producer = Producer({"bootstrap.servers": servers, "transactional.id": name, "linger.ms": 0})
    producer.init_transactions()
    for number in range(30):
        producer.begin_transaction()
        for one in range(rng.randrange(1, 6)):
            producer.produce(name, f"{number}.{one}".encode())
        producer.flush()
        (producer.abort_transaction if rng.random() < 0.5 or number >= 27 else producer.commit_transaction)()
    expected = as_another_client_reads(servers, name)
    stable = Client({"bootstrap.servers": servers, "group.id": "o", "isolation.level": "read_committed"})
    end = stable.get_watermark_offsets(TopicPartition(name, 0))[1]
    assert rows_of(consumer.read(Range(name, 0, 0, end), headers=True)) == expected
    cuts = [0, *sorted(rng.sample(range(1, end), 12)), end]
    for begin, stop in itertools.pairwise(cuts):
        assert rows_of(consumer.read(Range(name, 0, begin, stop), headers=True)) == [
            row for row in expected if begin <= row[0] < stop
        ]
    assert rows_of(consumer.read(Range(name, 0, expected[-1][0] + 1, end), headers=True)) == []
    producer.begin_transaction()
    producer.produce(name, b"open")
    producer.flush()
    sent(servers, name, [b"after"])
    assert stable.get_watermark_offsets(TopicPartition(name, 0))[1] == end
    reason, offset, _, high = fault_of(consumer, Range(name, 0, end, end + 3))
    assert (reason, offset, high) == ("cut", end, end)
    producer.commit_transaction()
    assert [row[2] for row in rows_of(consumer.read(Range(name, 0, end, end + 3), headers=True))] == [b"open", b"after"]
    stable.close()


def test_gaps_of_compaction_are_no_error(servers, consumer, name):
    fast = {"segment_ms": "100", "min_cleanable_dirty_ratio": "0.01", "delete_retention_ms": "0"}
    create(servers, name, cleanup_policy="compact", segment_bytes="1048576", **fast)
    producer, deadline = Producer({"bootstrap.servers": servers}), time.monotonic() + 60
    for number in range(20):
        for at in range(100):
            producer.produce(name, f"{number}.{at}".encode(), key=f"k{at % 50}".encode())
        producer.flush()
        time.sleep(0.05)
    while len(expected := as_another_client_reads(servers, name)) > 1200:
        assert time.monotonic() < deadline
        time.sleep(1)
        producer.produce(name, b"x", key=b"last")
        producer.flush()
    while (
        True
    ):  # the broker may compact once more between two reads: only what is the same before and after ours counts
        expected = as_another_client_reads(servers, name)
        found = rows_of(consumer.read(Range(name, 0, 0, expected[-1][0] + 1), headers=True))
        if as_another_client_reads(servers, name) == expected:
            break
        assert time.monotonic() < deadline
    assert found == expected
    gap = max(itertools.pairwise([-1, *(row[0] for row in expected)]), key=lambda pair: pair[1] - pair[0])
    assert gap[1] - gap[0] > 1
    assert rows_of(consumer.read(Range(name, 0, gap[0] + 1, gap[1]), headers=True)) == []


def test_records_that_are_not_there_are_faults_with_the_offsets_that_are(servers, consumer, name):
    admin = create(servers, name)
    sent(servers, name, [b"%d" % at for at in range(1000)])
    next(iter(admin.delete_records([TopicPartition(name, 0, 400)]).values())).result()
    assert fault_of(consumer, Range(name, 0, 100, 500)) == ("overtaken", 100, 400, 1000)
    assert len(rows_of(consumer.read(Range(name, 0, 400, 1000), headers=True))) == 600
    assert fault_of(consumer, Range(name, 0, 5000, 6000)) == ("cut", 5000, 400, 1000)
    assert fault_of(consumer, Range(name, 0, 900, 2000)) == ("cut", 1000, 400, 1000)
    for unknown in (Range(name, 7, 0, 10), Range(f"no-{name}", 0, 0, 10)):
        reason, offset, _, high = fault_of(consumer, unknown)
        assert (reason, offset, high) in {("silent", 0, -1), ("unknown", 0, -1)}  # the client says it after 30 s


def test_a_broker_that_is_killed_comes_back_or_is_missed(name):
    class_path = brokers.libraries()
    if class_path is None:
        pytest.skip("a broker that can be killed needs mvn and Java 17")
    with tempfile.TemporaryDirectory(prefix="kafka-") as home:
        kraft, count = brokers.KraftBroker(class_path, Path(home)), 100_000
        with kraft:
            create(kraft.servers, name)
            sent(kraft.servers, name, [b"%d " % at + b"x" * 200 for at in range(count)])
            few = {"reconnect.backoff.max.ms": "1000"}
            consumer = Consumer({"bootstrap.servers": kraft.servers, **few}, block_bytes=1 << 20)
            found, killed = [], False
            for begin in range(0, count, 20_000):
                for block in consumer.read(Range(name, 0, begin, begin + 20_000)):
                    found += block.offsets.tolist()
                    assert block.values[: block.ends[1]].tobytes().startswith(b"%d " % block.offsets[0])
                    if len(found) > 30_000 and not killed:
                        killed = True
                        kraft.stop()
                        threading.Timer(2, kraft.launch).start()
            assert found == list(range(count))
            consumer.close()
            kraft.wait()
            kraft.stop()
            away = Consumer({"bootstrap.servers": kraft.servers}, timeout_s=2)
            reason, offset, *_ = fault_of(away, Range(name, 0, 0, 10))
            assert (reason, offset) == ("silent", 0)
            away.close()


def test_a_right_that_is_withdrawn_is_an_error_that_names_it(name, tmp_path):
    class_path = brokers.libraries()
    if class_path is None:
        pytest.skip("a broker with rights needs mvn and Java 17")
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    rules = f"""
listener.name.secure.sasl.enabled.mechanisms=PLAIN
listener.name.secure.plain.sasl.jaas.config={login} required user_bob="pa55word";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""
    with (
        tempfile.TemporaryDirectory(prefix="kafka-") as home,
        brokers.KraftBroker(class_path, Path(home), {"SECURE": "SASL_PLAINTEXT"}, rules) as kraft,
    ):
        admin = create(kraft.servers, name)
        sent(kraft.servers, name, [b"1", b"2"])

        def right(operation):
            return AclBinding(
                ResourceType.TOPIC,
                name,
                ResourcePatternType.LITERAL,
                "User:bob",
                "*",
                operation,
                AclPermissionType.ALLOW,
            )

        def withdrawn(operation):
            taken = AclBindingFilter(
                ResourceType.TOPIC,
                name,
                ResourcePatternType.LITERAL,
                "User:bob",
                "*",
                operation,
                AclPermissionType.ALLOW,
            )
            [done] = admin.delete_acls([taken]).values()
            assert len(done.result()) == 1

        for done in admin.create_acls([right(AclOperation.READ), right(AclOperation.DESCRIBE)]).values():
            done.result()
        given = {"Kafka_Authentication_Method": "USER_PASS", "Stream_User": "bob", "Stream_Password": "pa55word"}
        location = {"class": "kafka", "Kafka_Brokers": [kraft.listeners["SECURE"]], "topics": [name], **given}
        topics = Topics(TopicsLocation(**location))
        found = topics.listing("").slices()
        assert [(one.begin, one.end) for one in found] == [(0, 0), (0, 2)]
        one = TaskSlice(1, found[1].path, 0, 0, found[1].stream, read=True)
        assert b"1" in topics.reader.file(one).start(1)
        withdrawn(AclOperation.READ)
        with pytest.raises(EnvironmentFault, match=rf"{name}/0: may not be read .*ACL Read and Describe"):
            list(topics.reader.file(one).raw_lines(np.array([0, 1])))
        withdrawn(AclOperation.DESCRIBE)
        ends = {one.stream: one.end for one in found}
        with pytest.raises(EnvironmentFault, match=rf"{name}.*(may not see it|not allowed)"):
            until_it_fails(lambda: topics.listing("").slices(ends))


def until_it_fails(ask, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ask()
        time.sleep(0.5)
