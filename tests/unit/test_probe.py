"""`check --connect` and brokers that do not show what Apache Kafka shows: that is not looked at, and no defect."""

from types import SimpleNamespace

import pytest

from integrator.channel.created_topics import TopicCreation, TopicRule
from integrator.deliver.kafka import probe
from integrator.errors import EnvironmentFault

ALIKE = TopicCreation().rules
SMALL = {"message.max.bytes": "1000"}
LISTED = [
    TopicRule(topics=["a*"], replication=3),
    TopicRule(topics=["ab", "b"], settings={"max.message.bytes": "9000"}),
]
CASES = [
    # how topics are created; what the brokers show; and what is wrong
    (ALIKE, {}, []),
    (ALIKE, SMALL, ["new topics take messages up to 1000 bytes"]),
    (ALIKE, {"min.insync.replicas": "2"},
     ["the replication factor of Create_Topics is 1, and min.insync.replicas of the brokers 2"]),
    (ALIKE, {"message.max.bytes": "9000", "min.insync.replicas": "1"}, []),
    ("broker", {}, []),
    ("broker", {"auto.create.topics.enable": "true"}, []),
    ("broker", {"auto.create.topics.enable": "false"},
     ["the brokers create no topics (auto.create.topics.enable=false), and Create_Topics is broker; set it to true"]),
    ("broker", {"default.replication.factor": "1", "min.insync.replicas": "2"},
     ["default.replication.factor is 1, and min.insync.replicas of the brokers 2"]),
    ("broker", SMALL, ["new topics take messages up to 1000 bytes"]),
    (LISTED, SMALL, ["the replication factor of Create_Topics is 3, and there is 1 broker",
                     "new topics take messages up to 1000 bytes"]),
    (LISTED[1:], SMALL, ["missing at b1: the topics aa; no entry of Create_Topics matches them"]),
    ((), {}, ["missing at b1: the topics aa, b; create them, or let the channel do it with Create_Topics"]),
]  # fmt: skip


@pytest.mark.parametrize(("creation", "shown", "problems"), CASES)
def test_what_brokers_do_not_show(creation, shown, problems, monkeypatch):
    settings = {name: SimpleNamespace(value=value) for name, value in shown.items()}

    def describe_configs(resources, **_):
        return {one: SimpleNamespace(result=lambda: settings) for one in resources}

    def create_topics(_, **__):
        return {}

    client = SimpleNamespace(describe_configs=describe_configs, create_topics=create_topics)
    there = SimpleNamespace(brokers={1: None})
    monkeypatch.setattr(probe, "connected", lambda _: (client, there))
    properties = {"message.max.bytes": "5000", "bootstrap.servers": "b1"}
    found = list(probe.creation_problems(properties, creation, ["aa", "b"]))
    assert [text[: len(start)] for text, start in zip(found, problems, strict=True)] == problems


OF_TOPICS = [
    ({}, []),
    ({"max.message.bytes": "1000"}, ["t: takes messages up to 1000 bytes (max.message.bytes)"]),
    ({"min.insync.replicas": "2"}, ["t: has 1 replica, and min.insync.replicas is 2"]),
]


@pytest.mark.parametrize(("shown", "problems"), OF_TOPICS)
def test_what_brokers_do_not_show_of_a_topic(shown, problems, monkeypatch):
    settings = {name: SimpleNamespace(value=value) for name, value in shown.items()}
    described = SimpleNamespace(result=lambda: SimpleNamespace(authorized_operations=None))
    client = SimpleNamespace(
        describe_configs=lambda resources, **_: {one: SimpleNamespace(result=lambda: settings) for one in resources},
        describe_topics=lambda *_, **__: {"t": described},
    )
    partition = SimpleNamespace(id=0, leader=1, replicas=[1])
    there = SimpleNamespace(topics={"t": SimpleNamespace(partitions={0: partition})})
    monkeypatch.setattr(probe, "connected", lambda _: (client, there))
    found = list(probe.topic_problems({"message.max.bytes": "5000"}, ["t"]))
    assert [text[: len(start)] for text, start in zip(found, problems, strict=True)] == problems
    assert probe.compacted({}, ["t"]) == []


def test_a_test_topic_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr(probe, "connected", lambda _: (None, SimpleNamespace(topics={"other": None})))
    with pytest.raises(EnvironmentFault, match="the test topic t is not there; create it, or name one that is there"):
        probe.through_topic({}, "t")


def test_dead_letters_have_no_more_replicas_than_there_are_brokers(monkeypatch):
    """A start would create their topic, and fail."""
    monkeypatch.setattr(probe, "connected", lambda _: (None, SimpleNamespace(brokers={1: None})))
    assert list(probe.too_many_replicas({}, {"shop.dead": 3})) == [
        "shop.dead: deadletterqueue.topic.replication.factor of errors is 3, and there is 1 broker; lower it, or add brokers"
    ]
    assert not list(probe.too_many_replicas({}, {"shop.dead": 1}))
