"""Rows above the maximum size (I5): the cycle fails, or they are dead letters, or skeletons."""

import dataclasses
import gzip
import json
import random
import zlib
from collections import Counter

import pytest

from integrator.contracts.fragments import DEAD_HEADERS
from integrator.contracts.outgoing import RECORD_OVERHEAD, header_size
from integrator.contracts.recipe import Sought
from tests.parts import pure
from tests.parts.channels import TIMEKEY

pytestmark = pytest.mark.fast

DDL = "create table t(k int primary key, small text, large text, data bytea);"
LIMIT = 6000
SIZE = f'  - {{action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: "{LIMIT}"}}\n'
ROWS = [
    {"k": 1, "small": "a", "large": "b", "data": None},
    {"k": 2, "small": "a" * 100, "large": "b" * 20_000, "data": "cafe"},
    {"k": 3, "small": "c", "large": None, "data": None},
]


def recipe(directory, kafka="", more="", fmt="Json: true, JsonMode: ROW_FRAGMENTS"):
    actions = f"{SIZE}  - {{action: FileFormat, {fmt}}}\n{TIMEKEY}{more}"
    return pure.recipe(directory, DDL, actions, kafka=kafka)


def test_i5_a_row_above_the_maximum_is_an_error_that_says_all_there_is_to_know(tmp_path):
    with pytest.raises(pure.IntegratorError) as raised:
        pure.messages(recipe(tmp_path), pure.hvr(tmp_path, *ROWS))
    text = str(raised.value)
    assert f"{tmp_path}/a.jsonl:2: table t, key k=2: the message has 20" in text
    assert (
        "HVR_KAFKA_MSG_MAX_BYTES is 6000; the largest columns are large (20,000 bytes), small (100 bytes), data" in text
    )
    for remedy in ("TrimDatatype", "Absent", "compacter format", "Oversized_Rows", "max.message.bytes"):
        assert remedy in text


def dead(directory, *records, fmt="Json: true, JsonMode: ROW_FRAGMENTS", more=""):
    kafka = ", Oversized_Rows: DEAD_LETTER, Dead_Letter_Topic: dead" + more
    return pure.messages(recipe(directory, kafka, fmt=fmt), pure.hvr(directory, *records))


@pytest.mark.parametrize(
    "fmt", ["Json: true", "Json: true, JsonMode: ROW_FRAGMENTS", "Avro: true, BlockCompress: NONE", "Csv: true"]
)
@pytest.mark.parametrize("mode", ["ROW", "CHANGE", "TRANSACTION", "THRESHOLD"])
def test_i4_a_dead_letter_is_the_whole_message_in_parts(fmt, mode, tmp_path):
    sent = dead(tmp_path, *ROWS, fmt=fmt, more=f", Kafka_Message_Bundling: {mode}")
    parts = [m for m in sent if m.topic == "dead"]
    assert len(parts) == 4
    assert [list(m.headers) for m in parts] == [list(DEAD_HEADERS)] * 4
    assert [(m.headers["part"], m.headers["parts"]) for m in parts] == [(b"%d" % n, b"4") for n in range(1, 5)]
    told = {
        name: value.decode() for name, value in parts[0].headers.items() if name not in ("key", "part", "parts", "size")
    }
    assert told == {
        "reason": "message above HVR_KAFKA_MSG_MAX_BYTES",
        "topic": "t",
        "table": "t",
        "op": "1",
        "integ_seq": "00000000000000000001|0000000000000000|0000001",
        "place": f"{tmp_path}/a.jsonl:2",
    }
    for part in parts:
        size = len(part.value) + len(part.key or b"") + header_size(list(part.headers.items())) + RECORD_OVERHEAD
        assert size <= LIMIT
    unlimited = pure.recipe(tmp_path, DDL, f"  - {{action: FileFormat, {fmt}}}\n{TIMEKEY}")
    [_, whole, _] = pure.messages(unlimited, tmp_path / "a.jsonl")
    assert b"".join(m.value for m in parts) == whole.value
    assert parts[0].headers["size"] == b"%d" % len(whole.value)
    others = b"".join(m.value for m in sent if m.topic == "t")
    assert b"b" * 100 not in others


@pytest.mark.parametrize("style", ["", TIMEKEY])
def test_a_tombstone_can_be_a_dead_letter(style, tmp_path):
    """Its headers are too large; the dead letter has no body, and says that there was none."""
    tombstones = "  - {action: Integrate, OnDeleteSendTombstone: true, MessageHeaders: 'h={large}'}\n"
    actions = f"{SIZE}  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}\n{tombstones}{style}"
    recipe = pure.recipe(tmp_path, DDL, actions, kafka=", Oversized_Rows: DEAD_LETTER, Dead_Letter_Topic: dead")
    sent = pure.messages(recipe, pure.hvr(tmp_path, {"hvr_op": 0, **ROWS[1], "large": "b" * 7000}))
    assert {m.topic for m in sent} == {"dead"}
    assert [m.headers["size"] for m in sent if m.headers["size"] == b"-1"] == [b"-1"]
    assert [m.value for m in sent if m.headers["size"] == b"-1"] == [b""]


def test_a_skeleton_leaves_rows_alone_that_fit(tmp_path):
    made = recipe(tmp_path, ", Oversized_Rows: SKELETON")
    big = {**ROWS[0], "large": "b" * 20_000}
    path = pure.hvr(tmp_path, {"hvr_op": 4, **ROWS[0]}, {"hvr_op": 2, **big}, {"hvr_op": 1, **big, "k": 9})
    rows = pure.read(made, path)
    assert ["large" in row for row in rows] == [True, False, False]
    _, [note] = pure.fragments(made, path)
    assert note.warnings == {"large values of rows above the maximum size": 2}


def test_expressions_see_what_a_skeleton_leaves_out(tmp_path):
    more = "  - {action: ColumnProperties, Name: n, Extra: true, Datatype: integer, IntegrateExpression: 'sql: length(large)'}\n"
    more += "  - {action: ColumnProperties, Name: gone, Extra: true, Datatype: text, IntegrateExpression: '{hvr_missing}'}\n"
    [row] = pure.read(recipe(tmp_path, ", Oversized_Rows: SKELETON", more), pure.hvr(tmp_path, ROWS[1]))
    assert (row["n"], row["gone"], "large" in row) == (20_000, "large", False)


def test_an_envelope_of_one_schema_needs_a_word_for_what_a_skeleton_leaves_out(tmp_path):
    with pytest.raises(pure.IntegratorError) as raised:
        recipe(tmp_path, ", Oversized_Rows: SKELETON", fmt="Json: true, JsonMode: SCHEMA_PAYLOAD, Envelope: OPENCDC")
    assert "SKELETON needs Missing_Values: NULL" in str(raised.value)


def test_a_dead_letter_is_compressed_once(tmp_path):
    noise = "".join(random.Random(1).choices("abcdefghijklmnop", k=20_000))
    sent = dead(tmp_path, {**ROWS[1], "large": noise}, fmt="Json: true, JsonMode: ROW_FRAGMENTS, Compress: GZIP")
    assert json.loads(gzip.decompress(b"".join(m.value for m in sent)))["large"] == noise


def test_the_other_row_of_a_change_stays_alone_where_one_is_a_dead_letter(tmp_path):
    old, new = {"hvr_op": 4, **ROWS[0]}, {"hvr_op": 2, **ROWS[1], "k": 1}
    kafka = ", Oversized_Rows: DEAD_LETTER, Dead_Letter_Topic: dead, Kafka_Message_Bundling: CHANGE"
    sent = pure.messages(recipe(tmp_path, kafka), pure.hvr(tmp_path, old, new, {"hvr_op": 2, **ROWS[0]}))
    assert [json.loads(m.value)["op_val"] for m in sent if m.topic == "t"] == [4, 2]
    assert len([m for m in sent if m.topic == "dead"]) == 4


SKELETON = ", Oversized_Rows: SKELETON"


def test_a_skeleton_lacks_the_largest_values_only(tmp_path):
    path = pure.hvr(tmp_path, *ROWS, {**ROWS[1], "small": "s" * 9000, "k": 4})
    sent = [json.loads(m.value) for m in pure.messages(recipe(tmp_path, SKELETON), path)]
    assert [{name: row.get(name, "missing") for name in ("k", "small", "large", "data")} for row in sent] == [
        {"k": 1, "small": "a", "large": "b", "data": None},
        {"k": 2, "small": "a" * 100, "large": "missing", "data": "y" + "v4="},
        {"k": 3, "small": "c", "large": None, "data": None},
        {"k": 4, "small": "missing", "large": "missing", "data": "yv4="},
    ]
    _, [note] = pure.fragments(recipe(tmp_path, SKELETON), path)
    assert note.warnings == {"large values of rows above the maximum size": 2}


def test_a_skeleton_in_a_format_that_has_all_columns_is_null_and_named(tmp_path):
    missing = "  - {action: ColumnProperties, Name: gone, Datatype: varchar, Extra: true, IntegrateExpression: '{hvr_missing}'}\n"
    made = recipe(tmp_path, SKELETON + ", Missing_Values: NULL", missing, "Csv: true")
    [message] = pure.messages(made, pure.hvr(tmp_path, ROWS[1]))
    assert message.value.startswith(b"2,%s,,\xca\xfe," % (b"a" * 100))
    assert message.value.endswith(b",large\n")


def test_both_images_of_an_update_are_skeletons_in_an_envelope(tmp_path):
    old, new = {"hvr_op": 4, **ROWS[1]}, {"hvr_op": 2, **ROWS[1], "large": "c" * 20_000}
    made = recipe(tmp_path, SKELETON, fmt="Json: true, Envelope: DEBEZIUM, JsonMode: PAYLOAD")
    [message] = pure.messages(made, pure.hvr(tmp_path, old, new))
    value = json.loads(message.value)
    assert value["after"]["large"] == "__debezium_unavailable_value"


def test_a_key_that_is_too_large_is_an_error_whatever_the_policy(tmp_path):
    ddl = "create table t(k text primary key);"
    for kafka in (SKELETON, ", Oversized_Rows: DEAD_LETTER, Dead_Letter_Topic: dead"):
        made = pure.recipe(tmp_path, ddl, SIZE + "  - {action: Integrate, MessageKey: '{k}'}\n", kafka=kafka)
        with pytest.raises(pure.IntegratorError):
            pure.messages(made, pure.hvr(tmp_path, {"k": "x" * 7000}))


@pytest.mark.parametrize(
    ("policy", "topics"), [("SKELETON", {"t": 3}), ("DEAD_LETTER, Dead_Letter_Topic: dead", {"t": 1, "dead": 8})]
)
def test_of_rows_with_one_position_each_is_cut_and_named(policy, topics, tmp_path):
    """`repeated_positions: send`: the third row has the position of the first."""
    actions = f"{SIZE}  - {pure.PLAIN}\n{TIMEKEY}"
    kafka = f", Oversized_Rows: {policy}"
    made = pure.recipe(tmp_path, DDL, actions, kafka=kafka, source=", repeated_positions: send")
    rows = [("1", 1, 20_000), ("2", 2, 1), ("1", 3, 20_000)]
    lines = [json.dumps({"hvr_op": 1, "hvr_tx_seq": tx, "k": k, "large": "b" * size}) for tx, k, size in rows]
    (tmp_path / "a.jsonl").write_text("".join(line + "\n" for line in lines))
    sent = pure.messages(made, tmp_path / "a.jsonl")
    assert Counter(message.topic for message in sent) == topics
    if "dead" in topics:
        places = [message.headers["place"].decode() for message in sent if message.topic == "dead"]
        assert places == [f"{tmp_path}/a.jsonl:1"] * 4 + [f"{tmp_path}/a.jsonl:3"] * 4
    else:
        assert [json.loads(message.value).get("large") for message in sent] == [None, "b", None]


NONE = ", Kafka_Message_Compress: NONE"


def of_small_topics(directory, kafka="", limits=(("t", 2000),), fmt="Json: true, JsonMode: ROW_FRAGMENTS", more=""):
    """A recipe as it is where the brokers have topics that take smaller messages than the channel sends."""
    made = pure.recipe(directory, DDL, f"  - {{action: FileFormat, {fmt}}}\n{TIMEKEY}{more}", kafka=kafka)
    return dataclasses.replace(made, messages=dataclasses.replace(made.messages, limits=limits))


def test_a_row_above_its_topics_own_limit_is_an_error_that_says_all_there_is_to_know(tmp_path):
    with pytest.raises(pure.IntegratorError) as raised:
        pure.messages(of_small_topics(tmp_path, NONE), pure.hvr(tmp_path, *ROWS))
    text = str(raised.value)
    assert f"{tmp_path}/a.jsonl:2: table t, key k=2: the message has 20," in text
    assert "the topic t takes up to 2000 (max.message.bytes), and HVR_KAFKA_MSG_MAX_BYTES is 1000000" in text
    assert "the largest columns are large (20,000 bytes)" in text
    assert "Oversized_Rows), or raise the limit in the topic (max.message.bytes) and at the broker" in text


@pytest.mark.parametrize("codec", ["NONE", "LZ4", "GZIP", "SNAPPY", "ZSTD"])
def test_brokers_compare_what_is_compressed(codec, tmp_path):
    made = of_small_topics(tmp_path, f", Kafka_Message_Compress: {codec}")
    path = pure.hvr(tmp_path, {**ROWS[0], "large": "b" * 20_000})
    if codec == "NONE":
        with pytest.raises(pure.IntegratorError, match="the topic t takes up to 2000"):
            pure.messages(made, path)
    else:
        assert len(pure.messages(made, path)) == 1
    noise = random.Random(1).randbytes(2000).hex()
    with pytest.raises(pure.IntegratorError, match=r"the topic t takes up to 2000 \(max.message.bytes\)"):
        pure.messages(made, pure.hvr(tmp_path, {**ROWS[0], "large": noise}))


@pytest.mark.parametrize(("limits", "sent"), [((("t", 2000),), 3), ((("other", 2000),), 3), ((("t", 30_000),), 3)])
def test_rows_that_fit_are_sent_whatever_other_topics_take(limits, sent, tmp_path):
    rows = ROWS if limits != (("t", 2000),) else [ROWS[0], {**ROWS[1], "large": "b" * 1500}, ROWS[2]]
    assert len(pure.messages(of_small_topics(tmp_path, NONE, limits), pure.hvr(tmp_path, *rows))) == sent


def test_what_is_done_with_oversized_rows_is_done_with_those_above_their_topics_limit(tmp_path):
    path = pure.hvr(tmp_path, *ROWS)
    skeletons = [json.loads(m.value) for m in pure.messages(of_small_topics(tmp_path, NONE + SKELETON), path)]
    assert ["large" in row for row in skeletons] == [True, False, True]
    policy = f"{NONE}, Oversized_Rows: DEAD_LETTER, Dead_Letter_Topic: dead"
    sent = pure.messages(of_small_topics(tmp_path, policy, (("dead", 9000), ("t", 2000))), path)
    parts = [m for m in sent if m.topic == "dead"]
    assert Counter(m.topic for m in sent) == {"t": 2, "dead": 3}
    assert {m.headers["reason"] for m in parts} == {b"message above max.message.bytes of its topic"}
    for part in parts:  # the dead letter topic has a limit, too
        size = len(part.value) + len(part.key or b"") + header_size(list(part.headers.items())) + RECORD_OVERHEAD
        assert size <= 9000


def test_the_limit_is_that_of_the_topic_that_the_row_names(tmp_path):
    path = pure.hvr(tmp_path, *ROWS)
    limits = (("s2", 2000),)  # of the large row's topic
    of_rows = "  - {action: Capture, NoTruncate: true}\n  - {action: Integrate, Topic: 's{k}'}\n"
    with pytest.raises(pure.IntegratorError, match=r"the topic s2 takes up to 2000 \(max.message.bytes\), and HVR_"):
        pure.messages(of_small_topics(tmp_path, NONE, limits, more=of_rows), path)
    sent = pure.messages(of_small_topics(tmp_path, NONE + SKELETON, limits, more=of_rows), path)
    assert [(m.topic, "large" in json.loads(m.value)) for m in sent] == [("s1", True), ("s2", False), ("s3", True)]


@pytest.mark.parametrize("mode", ["TRANSACTION", "THRESHOLD"])
def test_bundles_fit_their_topic(mode, tmp_path):
    rows = [{**ROWS[0], "k": k, "large": "b" * 700} for k in range(10)]
    bundling = f"{NONE}, Kafka_Message_Bundling: {mode}"
    sent = pure.messages(of_small_topics(tmp_path, bundling), pure.hvr(tmp_path, *rows))
    assert [len(m.value.splitlines()) for m in sent] == [2] * 5
    compressed = of_small_topics(tmp_path, f", Kafka_Message_Bundling: {mode}")  # brokers decide
    assert len(pure.messages(compressed, pure.hvr(tmp_path, *rows))) == 1


def test_limits_of_topics_are_of_the_definition_only_where_rows_go_elsewhere_for_them(tmp_path):
    def differs(kafka):
        with_limits = of_small_topics(tmp_path, kafka)
        plain = dataclasses.replace(with_limits, messages=dataclasses.replace(with_limits.messages, limits=()))
        return with_limits.fingerprint != plain.fingerprint

    dead = ", Oversized_Rows: DEAD_LETTER, Dead_Letter_Topic: dead"
    others = ("", SKELETON, ", Kafka_Message_Bundling: THRESHOLD")
    assert [differs(kafka) for kafka in (*others, dead)] == [False, False, False, True]


@pytest.mark.parametrize("fmt", ["Json: true", "Json: true, JsonMode: ROW_FRAGMENTS", "Avro: true"])
def test_the_row_of_a_refused_message_is_found(fmt, tmp_path):
    made = of_small_topics(tmp_path, limits=(), fmt=fmt)
    path = pure.hvr(tmp_path, *ROWS, {**ROWS[0], "small": "x"})
    message = pure.messages(made, path)[3]  # as long as the first one
    size = len(message.value) + len(message.key or b"")
    sought = Sought("t", size, zlib.crc32(message.value), "refused, because", size=True)
    seeking = dataclasses.replace(made, messages=dataclasses.replace(made.messages, sought=sought))
    with pytest.raises(pure.IntegratorError) as raised:
        pure.messages(seeking, path)
    assert f"{tmp_path}/a.jsonl:4: table t, key k=1: refused, because; the largest columns are " in str(raised.value)
    other = dataclasses.replace(made.messages, sought=dataclasses.replace(sought, digest=1))
    assert len(pure.messages(dataclasses.replace(made, messages=other), path)) == 4
