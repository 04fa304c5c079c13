"""Which ranges of topics are found, in a cluster that is made up."""

import pickle
import threading

import pytest
import structlog

from integrator import backlog
from integrator.channel.topics import TopicsLocation
from integrator.errors import EnvironmentFault
from integrator.librdkafka.cluster import Topic
from integrator.sources import stream
from integrator.sources.journal.journal import Journal
from integrator.sources.kafka import listing
from integrator.sources.kafka.listing import Start, TopicListing
from integrator.sources.kafka.schemas import KnownSchemas, TopicSchemas
from integrator.sources.kafka.source import Topics
from integrator.sources.slices import ALL, Limit, Slice
from tests.parts.waiting import until


class Made:
    """A cluster: topics by name, and of each the first and the last stable offset of its partitions."""

    def __init__(self, **topics):
        self.there = topics
        self.group, self.times = {}, {}

    def names(self):
        return sorted([*self.there, "__consumer_offsets"])

    def topics(self, names):
        there = {one: Topic(f"id{one}", len(self.there[one])) for one in names if one in self.there}
        return {one: there.get(one) for one in names}

    def first(self, partitions):
        return {(topic, at): self.there[topic][at][0] for topic, at in partitions}

    def stable(self, partitions):
        return {(topic, at): self.there[topic][at][1] for topic, at in partitions}

    def at(self, partitions, time_ms):
        return {one: self.times.get(one, -1) for one in partitions}

    def committed(self, group, partitions):
        return {one: self.group.get(one, -1001) for one in partitions}


@pytest.fixture
def made(monkeypatch):
    found = Made(a=[(5, 30), (0, 12)], b=[(0, 3)])
    monkeypatch.setattr(listing, "cluster_of", lambda _: found)
    monkeypatch.setattr(listing, "TOPICS_S", -1.0)
    return found


def ranges(names=(), patterns=(), ends=None, limit=ALL, **more):
    one = TopicListing(tuple(names), tuple(patterns), {"bootstrap.servers": "k:9092"}, **more)
    return [
        (found.stream.replace("#id" + found.stream[0], ""), found.begin, found.end)
        for found in one.slices(ends or {}, limit)
    ]


def ends_of(**more):
    return {f"{name[0]}#id{name[0]}/{name[1]}": end for name, end in more.items()}


BEGUN = [("a/0", 5, 5), ("a/1", 0, 0), ("b/0", 0, 0)]
CUT = [("a/0", 5, 15), ("a/1", 0, 10), ("b/0", 0, 3), ("a/0", 15, 25), ("a/1", 10, 12), ("a/0", 25, 30)]


def test_all_that_is_there_is_cut_and_partitions_take_turns(made):
    assert ranges(patterns=["^[ab]"], slice_bytes=10_000) == BEGUN + CUT
    assert ranges(["b"]) == [("b/0", 0, 0), ("b/0", 0, 3)]


def test_as_much_is_listed_as_is_wanted_and_the_partition_taken_longest_ago_is_first(made):
    how = {"patterns": ["^[ab]"], "slice_bytes": 10_000}
    assert ranges(**how, limit=Limit(15_000)) == BEGUN + CUT[:2]
    assert ranges(**how, limit=Limit(1)) == BEGUN + CUT[:1]
    taken = ends_of(b0=0, a0=15, a1=10)
    assert ranges(**how, ends=taken, limit=Limit(1)) == [("b/0", 0, 3)]
    assert ranges(**how, ends=taken, limit=Limit(4_000)) == [("b/0", 0, 3), ("a/0", 15, 25)]
    assert ranges(**how, ends=ends_of(a1=10, a0=15, b0=3), limit=Limit(1)) == [("a/1", 10, 12)]


def test_what_comes_later_is_not_listed_up_to_an_end(made):
    until = TopicListing((), ("^[ab]",), {"bootstrap.servers": "k:9092"}).until()
    assert until == ends_of(a0=30, a1=12, b0=3)
    made.there["a"] = [(5, 40), (0, 12), (0, 9)]
    made.there["b2"] = [(0, 4)]
    assert ranges(patterns=["^[ab]"], limit=Limit(0, until)) == [*BEGUN, ("a/0", 5, 30), ("a/1", 0, 12), ("b/0", 0, 3)]
    assert ranges(patterns=["^[ab]"], ends=until, limit=Limit(0, until)) == []


def test_a_channel_reads_up_to_the_ends_of_its_start_cycle_by_cycle(made, tmp_path):
    stream.note_cores(tmp_path, 2)
    found = TopicListing((), ("^[ab]",), {"bootstrap.servers": "k:9092"}, slice_bytes=5_000)
    options = {"journal": str(tmp_path / "journal"), "bytes": "10000", "one_task_bytes": "1", "shuffling_cores": "2"}
    reader, read, waiting = stream._Reader(pickle.dumps(found), options), [], []
    reader.prepareForTriggerAvailableNow()
    start, end = reader.initialOffset(), None
    while (end := reader.latestOffset(start, reader.getDefaultReadLimit())) != start:
        made.there["a"][1] = (0, made.there["a"][1][1] + 7)
        waiting.append(Journal(tmp_path / "journal").waiting(start["slices"]))
        read += [
            row[1].rpartition("#")[0] + row[1].rpartition("/")[2]
            for part in reader.partitions(start, end)
            for row in part.rows
            if row[5]
        ]
        start = end
    assert max(waiting) < 20_000
    assert len(waiting) > 3
    assert sorted(one for one in read if one.startswith("a")) == sorted(
        ["a0-0", "a0-5", "a5-10", "a10-12", "a5-5", *(f"a{at}-{at + 5}" for at in range(5, 30, 5))]
    )
    later = stream._Reader(pickle.dumps(found), options)
    assert later.latestOffset(start, later.getDefaultReadLimit()) != start


def test_what_was_taken_is_continued_after(made):
    assert ranges(["a"], ends=ends_of(a0=20, a1=12)) == [("a/0", 20, 30)]
    assert ranges(["a"], ends=ends_of(a0=30, a1=12)) == []


def test_a_new_partition_begins_at_0_and_a_new_topic_at_its_first_record(made):
    made.there["c"] = [(7, 9)]
    made.there["a"].append((0, 2))
    found = ranges(patterns=["^[ac]$"], ends=ends_of(a0=30, a1=12), start=Start("latest"))
    assert found == [("a/2", 0, 0), ("c/0", 7, 7), ("a/2", 0, 2), ("c/0", 7, 9)]


def test_a_topic_that_the_channel_no_longer_names_is_not_read(made):
    del made.there["a"]
    assert ranges(["b"], ends=ends_of(a0=20, a1=3, b0=1)) == [("b/0", 1, 3)]


def test_where_reading_starts(made):
    made.group, made.times = {("a", 0): 9}, {("a", 1): 4}
    assert ranges(["a"], start=Start("latest")) == [("a/0", 30, 30), ("a/1", 12, 12)]
    of_group = ranges(["a"], start=Start("group", group="g"))
    assert of_group == [("a/0", 9, 9), ("a/1", 0, 0), ("a/0", 9, 30), ("a/1", 0, 12)]
    assert ranges(["a"], start=Start(time_ms=1)) == [("a/0", 30, 30), ("a/1", 4, 4), ("a/1", 4, 12)]


def test_start_is_asked_once_also_where_no_topic_is_there_yet(made):
    how = {"patterns": ["^c"], "start": Start("latest")}
    assert ranges(**how) == [("#/0", 0, 0)]
    assert ranges(patterns=["^c"]) == []  # which begins with what is there, whenever that is
    made.there["c"] = [(0, 2)]
    assert ranges(**how, ends={"#/0": 0}) == [("c/0", 0, 0), ("c/0", 0, 2)]
    assert ranges(patterns=[".*"], start=Start("latest"), ends={"#/0": 0, **ends_of(a0=30, a1=12, b0=3, c0=2)}) == []


def test_a_topic_that_took_the_place_of_another_is_the_topic_from_then_on(made):
    anew = {"a#before/0": 40, "a#between/0": 7, **ends_of(a0=30, a1=12)}
    assert ranges(["a"], ends=anew) == []
    with pytest.raises(EnvironmentFault, match="a: was deleted and created again"):
        ranges(["a"], ends={**ends_of(a0=30), "a#other/0": 1})


def test_younger_records_are_not_there_yet(made):
    made.times = {("a", 0): 8}
    assert ranges(["a"], ends=ends_of(a0=6, a1=0), delay_s=60) == [("a/0", 6, 8), ("a/1", 0, 12)]
    assert ranges(["a"], ends=ends_of(a0=9, a1=12), delay_s=60) == []
    with pytest.raises(EnvironmentFault, match="a/0: has records up to offset 29, and had them up to 39"):
        ranges(["a"], ends=ends_of(a0=40, a1=12), delay_s=60)


def test_what_is_lost_is_an_error_or_passed_over(made):
    for ends, text in (
        (ends_of(a0=3, a1=12), "a/0: the records from offset 3 to 4 were deleted before they were read"),
        (ends_of(a0=40, a1=12), "a/0: has records up to offset 29, and had them up to 39"),
        ({"a#other/0": 3}, "a: was deleted and created again"),
    ):
        with pytest.raises(EnvironmentFault, match=text):
            ranges(["a"], ends=ends)
    assert ranges(["a"], ends=ends_of(a0=3, a1=12), accepts_loss=True) == [("a/0", 5, 5), ("a/0", 5, 30)]
    with pytest.raises(EnvironmentFault, match="missing at k:9092: the topics none"):
        ranges(["none"])


def test_a_topic_that_is_lost_is_logged_once(made):
    with structlog.testing.capture_logs() as logged:
        for _ in range(2):
            ranges(["b"], ends={"b#earlier/0": 3}, accepts_loss=True)
    assert [(one["event"], one["partition"], one["begin"]) for one in logged] == [("topic lost", "b#earlier/0", 3)]


def test_who_asks_for_the_lag_does_not_wait_for_brokers_that_are_away(tmp_path, monkeypatch):
    away = threading.Event()

    class Away:
        number_of = None

        def slices(self, ends):
            away.wait(30)
            return [Slice("a#id/0/0-7", 70, 0, "a#id/0", 0, 7)]

    monkeypatch.setattr(backlog, "_WAIT_S", 0.05)
    found = backlog.Backlog(tmp_path / "state", Away)
    assert [found.now(), found.now()] == [backlog.Lag(), backlog.Lag()]
    away.set()
    until(lambda: found.now() != backlog.Lag())
    assert found.now() == backlog.Lag(1, 70, {"a#id/0": 7})


def test_a_table_of_a_topic_keeps_its_name_whatever_topics_come_later(tmp_path):
    location = TopicsLocation(**{"class": "kafka", "Kafka_Brokers": ["localhost:1"], "topics": ["^srv[.].*"]})
    value = {"type": "struct", "fields": [{"field": "id", "type": "int32"}]}
    topics = {"srv.public.orders": TopicSchemas(value, None)}
    KnownSchemas({}, topics).write(tmp_path)
    [before] = Topics(location).known_in(tmp_path).tables()
    KnownSchemas({}, {**topics, "srv.audit.orders": TopicSchemas(value, None)}).write(tmp_path)
    found = Topics(location).known_in(tmp_path).tables()
    assert [(one.name, one.full_name) for one in found] == [
        ("orders", before.full_name),
        ("audit_orders", "audit.orders"),
    ]


def test_schemas_that_the_state_keeps_are_taken_unasked(tmp_path):
    """A cycle that was begun is read by these: what topics have become since counts as new. No broker is there."""
    location = TopicsLocation(**{"class": "kafka", "Kafka_Brokers": ["localhost:1"], "topics": ["a", "late"]})
    kept = Topics(location, defining=frozenset(("a", "late"))).known_in(tmp_path).defines(asks=False)
    assert kept.defining == frozenset()
    assert list(kept.tables()) == []
