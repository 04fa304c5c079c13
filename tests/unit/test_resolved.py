"""Resolved messages: what a channel may ask for, what is said after what was said, and how consumers wait for a position."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError

from integrator import plan, resolved
from integrator.contracts.outgoing import RECORD_OVERHEAD
from integrator.errors import ConfigurationError, DeliveryError, EnvironmentFault
from integrator.resolved import sending as running
from integrator.resolved.messages import Point, Resolved, TablePoint
from integrator.resolved.sending import Resolving
from integrator.sources.capture.asked import Asked
from integrator.sources.capture.marks import Mark, Marks, ReachedMark, Unread, through
from integrator.sources.capture.record import Record

pytestmark = pytest.mark.fast
DATABASE = 'class: postgres, address: "postgresql://nobody@127.0.0.1:1/none"'
CHANNEL = """
channel: shop
state: {state}
locations:
  src: {of}
  kaf: {{class: kafka, Kafka_Brokers: [localhost], Kafka_Default_Topic: "shop.{{hvr_tbl_name}}"}}
tables: [shop.sql]
actions: []
resolved: {resolved}
"""
NOON = datetime(2027, 1, 31, 12, tzinfo=timezone.utc)


def point(number):
    return Point(f"0/{number:X}", f"{number:020X}|{'F' * 16}|{'F' * 7}")


def made(tmp_path, resolved, more="", of=""):
    (tmp_path / "shop.sql").write_text("create table orders(id int primary key);")
    path = tmp_path / "channel.yaml"
    path.write_text(CHANNEL.format(state=tmp_path / "state", resolved=resolved, of=of or f"{{{DATABASE}{more}}}"))
    return plan.build(str(path), "UTC")


@pytest.mark.parametrize(("every", "seconds"), [("1s", 1.0), ("500ms", 0.5), ("2", 2.0), ("5m", 300.0)])
def test_every_is_in_seconds_or_has_its_unit(tmp_path, every, seconds):
    found = made(tmp_path, f"{{topic: shop.resolved, every: {every}}}")
    assert found.resolved.every == seconds
    assert found.topics == ("shop.orders", "shop.resolved")


@pytest.mark.parametrize(
    ("asked", "more", "reason"),
    [
        ("{topic: shop.orders}", "", "$.resolved.topic: shop.orders has other messages too"),
        ("{topic: r}", ", snapshot: only", "$.resolved: the source has no position"),
        ("{topic: r, every: 0}", "", "$.resolved.every: a number of 0.1 at least"),
        ("{topic: r, every: soon}", "", "$.resolved.every: a number of seconds is wanted here; found 'soon'"),
        ("{topic: r, form: x}", "", "$.resolved.form"),
        ("{every: 1s}", "", "$.resolved.topic"),
    ],
)
def test_what_cannot_be_is_an_error_of_the_channel(tmp_path, asked, more, reason):
    with pytest.raises(ConfigurationError) as raised:
        made(tmp_path, asked, more)
    assert reason in str(raised.value)


def test_files_have_no_positions(tmp_path):
    with pytest.raises(ConfigurationError, match="locations of class postgres, mysql and mariadb have"):
        made(tmp_path, "{topic: r}", of="{class: files, path: in, dialect: hvr}")


NOTHING = Resolved("shop", "e")


def test_the_channel_is_at_a_position_when_all_its_tables_are():
    first = NOTHING.following(point(16), NOON, {"a": "", "b": "its rows are being read"})
    assert (first.point, first.of_table("a"), first.of_table("b")) == (None, point(16), None)
    both = first.following(point(32), NOON, {"a": "", "b": ""})
    assert (both.point, both.of_table("b"), both.committed) == (point(32), point(32), NOON)


def test_i12_nothing_goes_back_and_a_table_that_is_set_aside_stays_where_it_was():
    said = NOTHING.following(point(32), NOON, {"a": "", "b": ""})
    lower = said.following(point(16), None, {"a": "", "b": ""})
    assert not lower.has_more(said)
    assert said.is_after(point(16))
    assert not said.is_after(point(32))
    aside = said.following(point(48), None, {"a": "", "b": "it is set aside"})
    assert (aside.point, aside.of_table("a"), aside.of_table("b")) == (point(32), point(48), point(32))
    assert aside.tables["b"].why == "it is set aside"
    assert aside.has_more(said)


def test_a_table_that_is_new_is_at_no_position_of_the_others():
    said = NOTHING.following(point(32), NOON, {"a": ""})
    assert said.following(point(48), NOON, {"a": "", "n": "its rows are being read"}).of_table("n") is None


def test_a_message_is_read_as_it_was_written():
    said = NOTHING.following(point(32), NOON, {"a": "", "b": "it is set aside"})
    message = Resolved("shop", "e", point(16), NOON, said.tables, {"t": [1, 2]}, NOON)
    assert Resolved.of_json(message.to_json()) == message
    assert json.loads(message.to_json())["committed_at"] == "2027-01-31T12:00:00.000000Z"
    for other in (b"{}", b"[1]", b"no", b'{"channel":1,"epoch":"","position":null,"tables":7}'):
        with pytest.raises(ValueError, match="no resolved message"):
            Resolved.of_json(other)


def mark(segment, place, names=("s.a",), unread=(), copied_at=0):
    at = through(place, Record("", "", "", copied_at=copied_at, copies=2))
    return Mark(segment, place, f"0/{place:X}", at, 5, frozenset(names), frozenset(unread))


def test_i12_a_mark_holds_when_no_segment_up_to_it_waits():
    marks = Marks()
    for one in (mark(1, 16), mark(2, 32), mark(2, 40), mark(4, 64)):
        marks.add(one)
    assert marks.before(1) is None
    assert marks.before(3).lsn == 40
    assert marks.before(4).lsn == 40
    assert marks.before(5).lsn == 64


def test_rows_that_were_read_at_a_place_are_below_it_and_those_that_are_read_there_later_are_not():
    found, copied = (ReachedMark(mark(1, 64, copied_at=at), frozenset()).integ_seq for at in (0, 63))
    before, first, second, third, of_next = (
        f"{commit:020X}|{transaction:016X}|{0:07X}"
        for commit, transaction in ((56, 9), (63, 1), (63, 2), (63, 3), (64, 7))
    )
    assert before <= found < first < second <= copied < third < of_next
    assert ReachedMark(mark(1, 64), frozenset()).committed == 946_684_800_000_005


def test_what_a_table_lacks_is_said():
    found = ReachedMark(mark(1, 64, ("s.a", "s.b", "s.p_1", "s.p_2"), ("s.b", "s.p_2")), frozenset(["s.h"]))
    assert found.lacks(("s.a",)) == ""
    assert found.lacks(("s.b",)) == found.lacks(("s.p", "s.p_*")) == "its rows are being read"
    assert found.lacks(("s.h",)) == "it is set aside"
    assert found.lacks(("s.z",)) == "it is not captured yet"


def test_tables_are_unread_until_all_of_their_rows_are_and_when_their_names_stand_for_others():
    def table(name, oid):
        return SimpleNamespace(name=name, relation=SimpleNamespace(oid=oid))

    tables = [table("s.a", 1), table("s.b", 2), table("s.c", 3), table("s.d", 4)]
    record = Record("", "", "", read={"s.a": 1, "s.b": 7, "s.d": 4}, numbers={"s.a": 1, "s.d": 9})
    unread = Unread()
    assert unread.of(tables, record) == ({"s.a", "s.b", "s.c", "s.d"}, {"s.b", "s.c", "s.d"})
    record.read = {**record.read, "s.b": 2}
    assert unread.of(tables, record)[1] == {"s.c", "s.d"}
    record.again = ["s.a"]
    assert unread.of(tables, record)[1] == {"s.a", "s.c", "s.d"}
    record.again, record.asked["s.b"] = [], Asked()
    assert unread.of(tables, record)[1] == {"s.b", "s.c", "s.d"}


class Topic:
    """The topic in memory. fails: the next message is not acknowledged."""

    made = 0

    def __init__(self, *_):
        Topic.made += 1
        self.last, self.is_spent = (Topic.sent or [None])[-1], False

    def send(self, value):
        if Topic.fails:
            Topic.fails = False
            raise DeliveryError("not acknowledged")
        Topic.sent.append(value)

    def ends(self, topics):
        return {topic: [7] for topic in topics}

    def close(self):
        pass


@pytest.fixture
def resolving(monkeypatch, tmp_path):
    monkeypatch.setattr(running, "ResolvedTopic", Topic)
    Topic.sent, Topic.fails, Topic.made = [], False, 0
    table = SimpleNamespace(in_source=SimpleNamespace(name="a", at_source=("s.a",)))
    recipe = SimpleNamespace(
        tables=[table], send=SimpleNamespace(producer={}, topics=None), messages=SimpleNamespace(max_bytes=10_000)
    )
    here = SimpleNamespace(recipe=recipe, channel="shop", aside={}, topics=("shop.a", "r"), found=None)
    feed = SimpleNamespace(reached=lambda: here.found)
    asked = SimpleNamespace(topic="r", every=0.1, per_partition=True)
    state = SimpleNamespace(identity=lambda: "e", producer_name=lambda channel: channel)

    def start():
        return Resolving(asked, state, lambda: here, lambda: feed)

    here.start = start
    return here


def said():
    return [Resolved.of_json(one) for one in Topic.sent]


def test_what_is_new_is_said_once_with_the_ends_of_partitions(resolving):
    one = resolving.start()
    one.send_new()
    assert Topic.sent == []
    resolving.found = ReachedMark(mark(1, 64), frozenset())
    one.send_new()
    one.send_new()
    [message] = said()
    assert (message.epoch, message.point.position, message.offsets) == ("e", "0/40", {"shop.a": [7]})


def test_i12_a_process_that_starts_continues_what_was_said(resolving):
    resolving.found = ReachedMark(mark(1, 64), frozenset())
    resolving.start().send_new()
    resolving.found = ReachedMark(mark(1, 32), frozenset())  # of a backup
    later = resolving.start()
    later.send_new()
    assert len(said()) == 1
    resolving.found = ReachedMark(mark(2, 96), frozenset())
    later.send_new()
    assert [one.point.position for one in said()] == ["0/40", "0/60"]


def test_a_message_of_which_nobody_knows_whether_it_is_there_is_said_again(resolving):
    resolving.found, one = ReachedMark(mark(1, 64), frozenset()), resolving.start()
    Topic.fails = True
    assert not one.is_sent()
    assert one.is_sent()
    assert (len(said()), Topic.made) == (1, 2)
    assert resolving.start().is_sent()  # a process that was killed: the message may not be committed
    assert [one.point.position for one in said()] == ["0/40", "0/40"]


def test_tables_that_are_set_aside_stay(resolving):
    resolving.found, one = ReachedMark(mark(1, 64), frozenset()), resolving.start()
    one.send_new()
    resolving.found = ReachedMark(mark(2, 96), frozenset(["s.a"]))
    one.send_new()
    assert [(one.point.position, one.tables["a"].why) for one in said()] == [("0/40", ""), ("0/40", "it is set aside")]


def test_i5_a_message_that_is_too_large_is_sent_without_its_tables(resolving):
    resolving.found, resolving.recipe.messages.max_bytes = ReachedMark(mark(1, 64), frozenset()), 380
    resolving.start().send_new()
    [message] = said()
    assert (message.point.position, message.tables, message.offsets) == ("0/40", {}, None)


def test_i5_offsets_are_left_out_before_tables_are(resolving):
    resolving.found, one = ReachedMark(mark(1, 64), frozenset()), resolving.start()
    one.send_new()
    resolving.recipe.messages.max_bytes = len(Topic.sent[0]) - 1 + RECORD_OVERHEAD
    resolving.found = ReachedMark(mark(2, 96), frozenset())
    one.send_new()
    assert [(one.offsets, [*one.tables]) for one in said()] == [({"shop.a": [7]}, ["a"]), (None, ["a"])]


def test_a_topic_of_another_program_is_refused(resolving):
    Topic.sent.append(b'{"other": "program"}')
    resolving.found = ReachedMark(mark(1, 64), frozenset())
    with pytest.raises(EnvironmentFault, match="give resolved messages a topic of their own"):
        resolving.start().send_new()


def test_its_failure_is_that_of_the_channel(resolving):
    Topic.sent.append(b"7")
    resolving.found, one = ReachedMark(mark(1, 64), frozenset()), resolving.start()
    one.start()
    one.finish()
    assert isinstance(one.failure, EnvironmentFault)


@pytest.mark.parametrize(
    ("position", "is_there"),
    [("0/40", True), ("0/3F", True), ("0/41", False), ("1/0", False), (point(64).integ_seq, True), ("1|0|0", False)],
)
def test_a_position_is_reached(position, is_there):
    message = Resolved("c", "e", point(64), None, {"a": TablePoint(point(64)), "b": TablePoint(None, "why")})
    assert resolved.is_at(message, position) is resolved.is_at(message, position, ["a"]) is is_there
    assert not resolved.is_at(message, position, ["a", "b"])
    assert not resolved.is_at(message, position, ["z"])


def test_positions_of_a_binary_log_are_compared_by_file_and_offset():
    message = Resolved("c", "e", Point("000012:345", "x"), None, {})
    at = [
        resolved.is_at(message, one) for one in ("binlog.000012:345", "mysql-bin.000011:9999", "b.000012:346", "13:4")
    ]
    assert at == [True, True, False, False]
    with pytest.raises(ValueError, match="is no position"):
        resolved.is_at(message, "yesterday")


def test_positions_of_another_server_are_none_of_a_binary_log():
    """After a failover the files of the new server are numbered anew: 3 of its is not before 12 of the other one."""
    point = Point("000012:345", "x", "old")
    message = Resolved("c", "e", point, None, {"a": TablePoint(point)})
    assert Resolved.of_json(message.to_json()) == message
    for tables in ((), ("a",)):
        found = [resolved.is_at(message, "binlog.000003:4", tables, server=one) for one in ("", "old", "new")]
        assert found == [True, True, False]


def test_a_message_without_room_for_its_tables_holds_for_all_of_them():
    message = Resolved("c", "e", point(64), None, {})
    assert resolved.is_at(message, "0/40", ["a", "b"])
    assert not resolved.is_at(message, "0/41", ["a"])


class Records:
    """A consumer of records."""

    def __init__(self, *values, key=b"shop"):
        self.values, self.key = list(values), key

    def poll(self, _timeout):
        if not self.values:
            return None
        value = self.values.pop(0)
        error = value if isinstance(value, KafkaError) else None
        return SimpleNamespace(error=lambda: error, key=lambda: self.key, value=lambda: value)

    def close(self):
        self.values = []


def message(number, epoch="e", channel="shop"):
    at = point(number)
    return Resolved(channel, epoch, at, NOON, {"a": TablePoint(at)}, None, NOON).to_json()


def test_a_reader_waits_for_a_position_and_passes_over_what_goes_back():
    values = (
        message(16),
        message(64),
        message(32),
        KafkaError(KafkaError._ALL_BROKERS_DOWN),
        message(80),
        message(8, "f"),
    )
    with resolved.Reader(Records(*values), "r", "shop") as reader:
        assert reader.wait_for("0/40").point == point(64)
        assert reader.wait_for("0/10").point == point(64)
        assert reader.wait_for("0/50", ["a"], timeout_s=5).point == point(80)
        assert next(iter(reader)).epoch == "f"
        with pytest.raises(TimeoutError, match=r"r: 0/50 is not reached in 0\.01 s; resolved: 0/8"):
            reader.wait_for("0/50", timeout_s=0.01)


def test_a_reader_says_what_it_cannot_read():
    two = resolved.Reader(Records(message(16), message(16, channel="other")), "r", "")
    assert two.next(1).channel == "shop"
    with pytest.raises(ValueError, match="name one"):
        two.next(1)
    denied = resolved.Reader(Records(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)), "r", "")
    with pytest.raises(ConnectionError, match=r"^r: "):
        denied.next(1)
    assert resolved.Reader(Records(message(16), key=b"other"), "r", "shop").next(0) is None
