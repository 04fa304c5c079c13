"""`check --connect` and brokers that do not show what Apache Kafka shows: that is not looked at, and no defect."""

from types import SimpleNamespace

import pytest

from integrator.channel.locations import TopicCreation
from integrator.deliver.kafka import probe
from integrator.errors import EnvironmentFault

CASES = [
    # what the brokers show, and what is wrong
    ({}, []),
    ({"message.max.bytes": "1000"}, ["new topics take messages up to 1000 bytes"]),
    ({"min.insync.replicas": "2"}, ["Create_Topics.Replication_Factor is 1, and min.insync.replicas of the brokers 2"]),
    ({"message.max.bytes": "9000", "min.insync.replicas": "1"}, []),
]


@pytest.mark.parametrize(("shown", "problems"), CASES)
def test_what_brokers_do_not_show(shown, problems, monkeypatch):
    settings = {name: SimpleNamespace(value=value) for name, value in shown.items()}

    def describe_configs(resources, **_):
        return {one: SimpleNamespace(result=lambda: settings) for one in resources}

    client, there = SimpleNamespace(describe_configs=describe_configs), SimpleNamespace(brokers={1: None})
    monkeypatch.setattr(probe, "connected", lambda _: (client, there))
    found = list(probe.creation_problems({"message.max.bytes": "5000"}, TopicCreation()))
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
