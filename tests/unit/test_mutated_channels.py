"""Channels with random mistakes: whatever is written, the end is a plan or problems with lines, each once."""

import copy
import random

import pytest
import yaml

from integrator import plan
from integrator.errors import ConfigurationError
from tests.unit.broken_channels.contract import CHANNEL, GOOD, write

MORE = """
locations:
  kaf:
    Kafka_Schema_Registry: http://x:1
    Schema_Registry: {Retries: 1}
    Kafka_Authentication_Method: USER_PASS
    Stream_User: a
    Stream_Password: bee
errors: {tolerance: all, deadletterqueue.topic.name: dead}
restart: {tries: 3}
monitor: {listen: "127.0.0.1:1"}
actions:
  - {action: Restrict, table: orders, CaptureCondition: "{total} > 0"}
  - {action: Environment, Name: HVR_KAFKA_PROPERTY, Value: linger.ms=5}
  - {action: Scheduling, LatencySLA: 5}
  - {action: TableProperties, DistributionKeyLimit: 0}
"""
VALUES = [
    None, True, 0, -1, 1.5, "", "x", "10MB", "ALL", "*", [], {}, ["x"], {"x": 1}, [1, 2], [[]], "{hvr_op}", "${X}", "a,b",
    10**30, "é\x7f", {"class": "files"}, {"action": "Integrate"},
]  # fmt: skip
KEYS = [
    "x", "", "action", "class", "group", "table", "Name", "bootstrap.servers", "topic_pattern", "Kafka_Broker", "acks",
    "errors.tolerance", "Topic", "file", "sasl.password",
]  # fmt: skip


def rich():
    data, more = yaml.safe_load(GOOD[CHANNEL]), yaml.safe_load(MORE)
    data["locations"]["kaf"] |= more.pop("locations")["kaf"]
    data["actions"] += more.pop("actions")
    return data | more


def paths(value, path=()):
    yield path
    for step in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from paths(value[step], (*path, step))


def mutate(chance, data):
    """Replace, remove, rename or add something somewhere."""
    *above, last = chance.choice(list(paths(data))[1:])
    for step in above:
        data = data[step]
    how = chance.randrange(4)
    if how == 0:
        data[last] = copy.deepcopy(chance.choice(VALUES))
    elif how == 1:
        del data[last]
    elif how == 2 and isinstance(data, dict):
        data[chance.choice([*KEYS, last.lower(), last[:-1], f"{last}s", last.replace("_", ".")])] = data.pop(last)
    elif isinstance(data[last], dict):
        data[last][chance.choice(KEYS)] = copy.deepcopy(chance.choice(VALUES))
    elif isinstance(data[last], str):
        data[last] = data[last][:-1]


def test_the_channel_that_is_mutated_is_good(tmp_path, monkeypatch):
    assert planned(rich(), tmp_path, monkeypatch) == ()


def planned(data, tmp_path, monkeypatch):
    """The problems of a channel."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    (tmp_path / CHANNEL).write_text(yaml.safe_dump(data, sort_keys=False, allow_unicode=True))
    try:
        plan.build(CHANNEL, "UTC")
    except ConfigurationError as error:
        return error.problems
    return ()


@pytest.mark.parametrize("seed", range(100))
def test_random_mistakes_are_problems_and_no_defect(seed, tmp_path, monkeypatch):
    chance, data = random.Random(seed), rich()
    for _ in range(chance.randint(1, 6)):
        mutate(chance, data)
    found = planned(data, tmp_path, monkeypatch)
    assert len({(one.line, one.path, one.text) for one in found}) == len(found)
    assert all(one.text and len(one.text) < 2000 for one in found)
    lines = (tmp_path / CHANNEL).read_text().count("\n")
    assert all(1 <= one.line <= lines for one in found if one.file == CHANNEL and one.path)
