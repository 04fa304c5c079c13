"""Which rows share a message, and what such a message looks like: one case a mode and format, then random ones."""

import csv
import gzip
import io
import json

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from integrator.contracts.fragments import TRANSACTION_LENGTH, Checkpoint
from integrator.contracts.outgoing import RECORD_OVERHEAD
from integrator.deliver.bundle import Bundler
from integrator.errors import ConfigurationError
from tests.parts import pure
from tests.parts.channels import TIMEKEY

pytestmark = pytest.mark.fast

DDL = "create table a(k int primary key, v text); create table b(k int primary key, v text);"
ONE_TOPIC = ", Kafka_Default_Topic: all"


def row(table, tx, op, k, v="x", **more):
    return {"hvr_tbl_name": table, "hvr_tx_seq": str(tx), "hvr_op": op, "k": k, "v": v, **more}


STREAM = [
    row("a", 1, 1, 1),
    row("a", 1, 4, 1),
    row("a", 1, 2, 1, "y"),
    row("b", 1, 1, 1),
    row("a", 2, 3, 1, "y"),
    row("a", 2, 2, 9, "y"),
    row("b", 2, 0, 1),
    row("b", 3, 5, None, None),
]


def channel(tmp_path, mode, fmt="Json: true, JsonMode: ROW_FRAGMENTS", topic="", more="", kafka="", ddl=DDL):
    bundling = f", Kafka_Message_Bundling: {mode}{topic}{kafka}"
    actions = f"  - {{action: FileFormat, {fmt}}}\n{TIMEKEY}{more}"
    return pure.recipe(tmp_path, ddl, actions, kafka=bundling)


def ops(message):
    return [json.loads(line)["op_val"] for line in message.value.decode().split("\n")]


MODES = [
    # mode, topics: by topic, the operations that stand together
    ("ROW", "", {"a": [[1], [4], [2], [3], [2]], "b": [[1], [0], [5]]}),
    ("CHANGE", "", {"a": [[1], [4, 2], [3, 2]], "b": [[1], [0], [5]]}),
    ("TRANSACTION", "", {"a": [[1, 4, 2], [3, 2]], "b": [[1], [0], [5]]}),
    ("THRESHOLD", "", {"a": [[1, 4, 2, 3, 2]], "b": [[1, 0, 5]]}),
    ("ROW", ONE_TOPIC, {"all": [[1], [4], [2], [1], [3], [2], [0], [5]]}),
    ("CHANGE", ONE_TOPIC, {"all": [[1], [4, 2], [1], [3, 2], [0], [5]]}),
    ("TRANSACTION", ONE_TOPIC, {"all": [[1, 4, 2, 1], [3, 2, 0], [5]]}),
    ("THRESHOLD", ONE_TOPIC, {"all": [[1, 4, 2, 1, 3, 2, 0, 5]]}),
]


@pytest.mark.parametrize(("mode", "topic", "expected"), MODES)
def test_which_rows_share_a_message(mode, topic, expected, tmp_path):
    sent = pure.messages(channel(tmp_path, mode, topic=topic), pure.hvr(tmp_path, *STREAM))
    assert {name: [ops(m) for m in sent if m.topic == name] for name in expected} == expected
    assert all((m.key is None) == (mode in ("TRANSACTION", "THRESHOLD")) for m in sent if ops(m) != [5])


def test_a_change_has_the_key_of_its_new_row(tmp_path):
    recipe = channel(
        tmp_path, "CHANGE", more="  - {action: Integrate, MessageKey: '{k}', OnDeleteSendTombstone: true}\n"
    )
    sent = pure.messages(recipe, pure.hvr(tmp_path, *STREAM[4:7]))
    told = [(m.topic, m.key, None if m.value is None else ops(m)) for m in sent]
    assert told == [("a", b"9", [3, 2]), ("a", b"1", None), ("b", b"1", [0]), ("b", b"1", None)]


LEFT = '{"k":1,"v":"x","op_val":1,"integ_seq":"S0"}'
RIGHT = '{"k":2,"v":"x","op_val":1,"integ_seq":"S1"}'
OTHER = '{"k":3,"v":"x","op_val":1,"integ_seq":"S2"}'

LAYOUTS = [
    ("Json: true, JsonMode: ROW_FRAGMENTS", f"{LEFT}\n{RIGHT}\n{OTHER}"),
    ("Json: true, JsonMode: PAYLOAD", f"{LEFT}\n{RIGHT}\n{OTHER}"),
    ("Json: true, JsonMode: ROW_ARRAY", f"[{LEFT},{RIGHT},{OTHER}]"),
    ("Json: true, JsonMode: TABLE_ARRAY", f'[{{"a":[{LEFT},{RIGHT}]}},{{"b":[{OTHER}]}}]'),
    ("Csv: true", "1,x,1,S0\n2,x,1,S1\n3,x,1,S2\n"),
    (
        "Xml: true, Compact: true",
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?><hvr version="1.0"><table name="a">'
        '<r><c name="k">1</c><c name="v">x</c><c name="op_val">1</c><c name="integ_seq">S0</c></r>'
        '<r><c name="k">2</c><c name="v">x</c><c name="op_val">1</c><c name="integ_seq">S1</c></r></table><table name="b">'
        '<r><c name="k">3</c><c name="v">x</c><c name="op_val">1</c><c name="integ_seq">S2</c></r></table></hvr>',
    ),
]


@pytest.mark.parametrize(("fmt", "expected"), LAYOUTS)
def test_a_bundle_is_one_document_or_a_row_a_line(fmt, expected, tmp_path):
    recipe = channel(tmp_path, "THRESHOLD", fmt, ONE_TOPIC)
    [message] = pure.messages(recipe, pure.hvr(tmp_path, row("a", 1, 1, 1), row("a", 1, 1, 2), row("b", 1, 1, 3)))
    text = message.value.decode()
    for number in range(3):
        text = text.replace(f"00000000000000000001|0000000000000000|000000{number}", f"S{number}")
    assert text == expected


@pytest.mark.parametrize(
    "fmt", [fmt for fmt, _ in LAYOUTS] + ["Json: true", "Json: true, JsonMode: TABLE_OBJECT", "Avro: true"]
)
@pytest.mark.parametrize("topic", [ONE_TOPIC, ""])
def test_concatenated_is_the_messages_of_the_rows_one_after_the_other(fmt, topic, tmp_path):
    path = pure.hvr(tmp_path, *STREAM[:4])
    rows = pure.messages(channel(tmp_path, "ROW", fmt, topic), path)
    together = pure.messages(channel(tmp_path, "THRESHOLD", fmt, topic, kafka=", Bundle_Layout: CONCATENATED"), path)
    for name in {m.topic for m in rows}:
        [bundle] = [m for m in together if m.topic == name]
        assert bundle.value == b"".join(m.value for m in rows if m.topic == name)


def read_bundle(fmt, value):
    """The keys in a bundle, by a reader of the format that knows nothing of this code."""
    if "Avro" in fmt:
        return [record["k"] for record in fastavro.reader(io.BytesIO(value))]
    if "Csv" in fmt:
        return [int(line["k"]) for line in csv.DictReader(io.StringIO(value.decode()))]
    if "Xml" in fmt:
        return [int(e.text) for e in etree.fromstring(value).iterfind("table/row/column[@name='k']")]
    if "TABLE_OBJECT" in fmt:
        return [r["k"] for r in json.loads(value)["a"]]
    if "TABLE_ARRAY" in fmt:
        return [r["k"] for part in json.loads(value) for r in part["a"]]
    if "ROW_ARRAY" in fmt:
        return [r["k"] for r in json.loads(value)]
    lines = [json.loads(line) for line in value.decode().split("\n")]
    return [line.get("payload", line)["k"] for line in lines]


READ = ["Json: true", "Json: true, JsonMode: ROW_ARRAY", "Json: true, JsonMode: TABLE_OBJECT", "Json: true, JsonMode: TABLE_ARRAY",
        "Json: true, JsonMode: ROW_FRAGMENTS", "Csv: true, HeaderLine: true", "Xml: true", "Avro: true",
        "Avro: true, BlockCompress: NONE"]  # fmt: skip


@pytest.mark.parametrize(
    ("fmt", "compress"), [(fmt, "") for fmt in READ] + [(fmt, ", Compress: GZIP") for fmt in READ if "Avro" not in fmt]
)
def test_readers_of_each_format_read_a_bundle(fmt, compress, tmp_path):
    recipe = channel(tmp_path, "THRESHOLD", fmt + compress, kafka=", Kafka_Message_Bundling_Threshold: 4096")
    sent = pure.messages(recipe, pure.hvr(tmp_path, *(row("a", 1, 1, k, "é" * 50) for k in range(200))))
    assert len(sent) > 3
    values = [gzip.decompress(m.value) if compress else m.value for m in sent]
    assert [k for value in values for k in read_bundle(fmt, value)] == list(range(200))


def test_an_avro_array_of_the_record_goes_with_a_registry(tmp_path):
    registry = ', Kafka_Schema_Registry: "http://localhost:1", Schema_Registry: {Bundle_As_Array: true}'
    recipe = pure.recipe(tmp_path, DDL, TIMEKEY, kafka=f", Kafka_Message_Bundling: THRESHOLD{registry}")
    from integrator.encode.messages import value_schema

    [message] = pure.messages(recipe, pure.hvr(tmp_path, row("a", 1, 1, 1), row("a", 1, 1, 2)))
    schema = fastavro.parse_schema(json.loads(value_schema(recipe.tables[0], recipe)))
    assert [r["k"] for r in fastavro.schemaless_reader(io.BytesIO(message.value), schema, None)] == [1, 2]


REFUSED = [
    ("CHANGE", "Json: true", "", ", Kafka_Message_Bundling_Threshold: 5000", "belongs to TRANSACTION and THRESHOLD"),
    ("ROW", "Json: true", "", ", Bundle_Layout: CONCATENATED", "belongs to messages of several rows"),
    ("CHANGE", "Json: true", "", ", Bundle_Partition: ANY", "messages of CHANGE go where their keys say"),
    ("THRESHOLD", "Json: true", "", ", Kafka_Message_Bundling_Threshold: 4095", "a number of 4096 at least"),
    ("THRESHOLD", "Json: true", "", ", Kafka_Message_Bundling_Threshold: 2000000", "is above HVR_KAFKA_MSG_MAX_BYTES"),
    ("THRESHOLD", "Parquet: true", "", "", "PARQUET makes a file of each row"),
    ("THRESHOLD", "Json: true, JsonMode: TABLE_OBJECT", ONE_TOPIC, "", "tables a, b share the topic all"),
    ("TRANSACTION", "Csv: true, HeaderLine: true", ONE_TOPIC, "", "holds one table; give each a topic"),
    ("CHANGE", "Json: true, Envelope: DEBEZIUM", "", "", "a row holds both images of an update already"),
    ("ROW", "Json: true", "", ", Oversized_Rows: DEAD_LETTER", "Dead_Letter_Topic and Oversized_Rows: DEAD_LETTER go together"),
    ("ROW", "Json: true", "", ", Oversized_Rows: DEAD_LETTER, Dead_Letter_Topic: a", "a is a topic of a table too"),
    ("ROW", "Csv: true", "", ", Oversized_Rows: SKELETON", "SKELETON needs Missing_Values: NULL"),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "fmt", "topic", "kafka", "told"), REFUSED)
def test_what_cannot_be_is_told_by_check(mode, fmt, topic, kafka, told, tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        channel(tmp_path, mode, fmt, topic, kafka=kafka)
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("format_name", "told"),
    [("AVRO", "Bundle_As_Array: true"), ("JSON", "no way to say several rows"), ("PROTOBUF", "no way to say several")],
)
def test_a_registry_allows_rows_only(format_name, told, tmp_path):
    kafka = f', Kafka_Message_Bundling: THRESHOLD, Kafka_Schema_Registry: "http://x:1", Kafka_Schema_Registry_Format: {format_name}'
    with pytest.raises(ConfigurationError) as raised:
        pure.recipe(tmp_path, DDL, TIMEKEY, kafka=kafka)
    assert told in str(raised.value)


@pytest.mark.parametrize(
    "parameter", ["MessageKey: '{k}'", "MessageKeySerializer: STRING", "OnDeleteSendTombstone: true"]
)
def test_a_bundle_has_no_key(parameter, tmp_path):
    with pytest.raises(ConfigurationError):
        channel(tmp_path, "THRESHOLD", more=f"  - {{action: Integrate, {parameter}}}\n")


@pytest.fixture(scope="module")
def recipes(tmp_path_factory):
    """Recipes by mode and threshold, made once."""
    made = {}

    def of(mode, threshold, max_bytes, topic):
        key = (mode, threshold, max_bytes, topic)
        if key not in made:
            size = f"  - {{action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: '{max_bytes}'}}\n"
            limit = f", Kafka_Message_Bundling_Threshold: {threshold}" if mode in ("TRANSACTION", "THRESHOLD") else ""
            made[key] = channel(tmp_path_factory.mktemp("r"), mode, topic=topic, more=size, kafka=limit)
        return made[key]

    return of


@given(
    mode=st.sampled_from(["CHANGE", "TRANSACTION", "THRESHOLD"]),
    threshold=st.integers(4096, 9000),
    max_bytes=st.sampled_from([9000, 10_000, 50_000]),
    topic=st.sampled_from(["", ONE_TOPIC]),
    transactions=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 4000)), min_size=1, max_size=25),
    batch=st.integers(1, 200),
)
def test_no_row_is_lost_repeated_or_out_of_order_and_sizes_are_within_bounds(
    recipes, tmp_path_factory, mode, threshold, max_bytes, topic, transactions, batch
):
    recipe = recipes(mode, threshold, max_bytes, topic)
    directory = tmp_path_factory.mktemp("in")
    records = [
        row("ab"[(tx + n) % 3 % 2], tx + 1, 1, n, "x" * ((size * (n + 1)) % 4001))
        for tx, (count, size) in enumerate(transactions)
        for n in range(count)
    ]
    fragments, _ = pure.fragments(recipe, pure.hvr(directory, *records))
    cut = [part for whole in fragments.combine_chunks().to_batches() for part in pieces(whole, batch)]
    sent = pure.unpacked(pure.bundled(recipe, pa.Table.from_batches(cut)))
    assert sent == pure.unpacked(pure.bundled(recipe, fragments.combine_chunks()))  # I2: batches do not matter
    expected = {}
    for at, fragment in enumerate(fragments.to_pylist()):
        expected.setdefault(fragment["topic"], []).append((fragment["integ_seq"], at))
    for name, rows in expected.items():
        messages = [[json.loads(line) for line in m.value.decode().split("\n")] for m in sent if m.topic == name]
        assert [r["integ_seq"] for message in messages for r in message] == [seq for seq, _ in rows]
        for place, m in enumerate(m for m in sent if m.topic == name):
            assert len(m.value) + len(m.key or b"") + RECORD_OVERHEAD <= max_bytes
            check_closed(mode, threshold, max_bytes, m, messages, place)


def check_closed(mode, threshold, max_bytes, message, messages, place):
    """A message of several rows would not have passed the threshold one row earlier, and is not closed too early."""
    if mode == "CHANGE":
        return
    rows, last = messages[place], place == len(messages) - 1
    without_last = len(b"\n".join(message.value.split(b"\n")[:-1]))
    assert len(rows) == 1 or without_last <= threshold
    transactions = {r["integ_seq"][:TRANSACTION_LENGTH] for r in rows}
    if mode == "TRANSACTION":
        assert len(transactions) == 1
        last = last or messages[place + 1][0]["integ_seq"][:TRANSACTION_LENGTH] not in transactions
    if not last:
        next_name = len(json.dumps(messages[place + 1][0], separators=(",", ":")))
        assert len(message.value) > threshold or len(message.value) + 1 + next_name + RECORD_OVERHEAD > max_bytes


def pieces(batch, size):
    return [batch.slice(start, size) for start in range(0, batch.num_rows, size)]


@pytest.mark.parametrize("rows", [1, 100, 10_000, 100_000])
def test_transactions_of_1_to_100_000_rows(rows, tmp_path):
    recipe = channel(tmp_path, "TRANSACTION")
    path = pure.hvr(tmp_path, row("a", 1, 1, 0), *(row("a", 2, 1, k) for k in range(rows)), row("a", 3, 1, 0))
    fragments, _ = pure.fragments(recipe, path)
    bundler = Bundler(recipe)
    sent = pure.unpacked(pure.bundled(recipe, fragments, bundler) + list(bundler.end()))
    counts = [len(m.value.split(b"\n")) for m in sent]
    assert counts[0] == counts[-1] == 1
    assert sum(counts) == rows + 2
    size = sum(len(m.value) for m in sent)
    assert len(sent) in (2 + size // 800_001, 2 + -(-size // 800_000))
    assert bundler.split == ({"transactions split by the threshold": 1} if size > 800_000 else {})


def test_rows_of_an_unfinished_transaction_are_held_for_the_next_cycle(tmp_path):
    recipe = channel(tmp_path, "TRANSACTION")
    first = pure.hvr(
        tmp_path, row("a", 1, 1, 1, hvr_tx_countdown=1), row("a", 2, 1, 1, hvr_tx_countdown=3), name="1.jsonl"
    )
    second = pure.hvr(
        tmp_path, row("a", 2, 1, 2, hvr_tx_countdown=2), row("b", 2, 1, 1, hvr_tx_countdown=1), name="2.jsonl"
    )
    fragments, [note] = pure.fragments(recipe, first)
    assert note.streams[""].open.unfinished == f"{2:020}|{0:016}"
    bundler = Bundler(recipe)
    sent = pure.unpacked(pure.bundled(recipe, fragments, bundler) + list(bundler.end(note.streams[""].open.unfinished)))
    assert [m.value.count(b"integ_seq") for m in sent] == [1]
    from integrator.contracts.fragments import to_deferred

    checkpoint = Checkpoint(0, note.streams[""].open, deferred=to_deferred(bundler.deferred))
    fragments, [note] = pure.fragments(recipe, second, checkpoint=checkpoint)
    assert note.resumed == 1
    assert note.streams[""].open.unfinished == ""
    sent = pure.unpacked(pure.bundled(recipe, fragments.combine_chunks()))
    assert [(m.topic, m.value.count(b"integ_seq")) for m in sent] == [("a", 2), ("b", 1)]
