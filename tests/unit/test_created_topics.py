"""`Create_Topics`: which rule a topic has, and what `check` remarks of topics that the channel does not create."""

import pytest

from integrator import plan
from integrator.channel.created_topics import TopicCreation, TopicRule, creation_of, rule_of
from tests.parts import pure

MATCHES = [
    # an entry, topics that it matches, and topics that it does not
    ("shop.orders", ["shop.orders"], ["shopxorders", "shop.orders2", "a.shop.orders"]),
    ("shop.*", ["shop.orders", "shop."], ["shop", "shopping.orders", "a.shop.orders"]),
    ("*", ["shop.orders", "x"], []),
    ("t?", ["ta", "t1"], ["t", "tab"]),
    ("^shop\\.(a|b)", ["shop.a", "shop.b"], ["shop.ab", "shopxa", "x.shop.a"]),
    ("^(?!x).*", ["y", "shop.x"], ["x", "xy"]),
    (["a", "b*"], ["a", "b", "bc"], ["c", "ac"]),
]


@pytest.mark.parametrize(("topics", "matched", "others"), MATCHES)
def test_what_an_entry_matches(topics, matched, others):
    rule = TopicRule(topics=topics)
    assert [topic for topic in (*matched, *others) if rule.matches(topic)] == matched


def test_the_first_entry_that_matches_is_the_one():
    first, second = TopicRule(topics="shop.*", partitions=6), TopicRule(topics="shop.orders", partitions=12)
    assert rule_of([first, second], "shop.orders") is first
    assert rule_of([second, first], "shop.orders") is second
    assert rule_of([first, second], "audit") is None
    assert rule_of("broker", "shop.orders") is None
    assert rule_of(creation_of(None), "shop.orders") is None


def test_a_mapping_is_a_rule_for_all_topics_after_its_exceptions():
    rules = creation_of(
        TopicCreation(Partitions=3, Replication_Factor=2, Topic_Config={"retention.ms": "5"}, Topic_Partitions={"a": 9})
    )
    found = [rule_of(rules, topic) for topic in ("a", "b")]
    assert [rule.partitions for rule in found] == [9, 3]
    assert all((rule.replication, rule.settings) == (2, {"retention.ms": "5"}) for rule in found)


KEYLESS, KEYED = "create table t(v text);", "create table t(k int primary key, v text);"
NOTES = [
    # DDL, Create_Topics, and what is remarked of it
    (KEYED, "{Partitions: 2}", []),
    (KEYED, "[{topics: '*'}]", []),
    (KEYED, "broker", ["topics that do not exist are created by the brokers when the job starts"]),
    (KEYED, "[{topics: 'x*'}]", [
        "Create_Topics[0] (x*) matches no topic of the channel",
        "t: no entry of Create_Topics matches, so these topics are not created and must exist",
    ]),
    (KEYED, "[{topics: '?'}, {topics: t, partitions: 4}, {topics: '*'}]", [
        "Create_Topics[1] (t) has no effect: entries before it match all its topics",
        "Create_Topics[2] (*) has no effect: entries before it match all its topics",
    ]),
    (KEYLESS, "[{topics: t, settings: {cleanup.policy: 'compact,delete'}}]", ["table t: new topics are compacted"]),
    (KEYLESS, "[{topics: t}, {topics: '*', settings: {cleanup.policy: compact}}]", [
        "Create_Topics[1] (*) has no effect"
    ]),
    (KEYED, "[{topics: t, settings: {cleanup.policy: compact}}]", []),
]  # fmt: skip


@pytest.mark.parametrize(("ddl", "creation", "remarked"), NOTES)
def test_what_is_remarked(ddl, creation, remarked, tmp_path):
    pure.recipe(tmp_path, ddl, kafka=f", Create_Topics: {creation}")
    notes = [one for one in plan.build(str(tmp_path / "channel.yaml"), "UTC").notes if "opic" in one]
    notes = [one for one in notes if "TimeKey" not in one]
    assert [note[: len(start)] for note, start in zip(notes, remarked, strict=True)] == remarked
