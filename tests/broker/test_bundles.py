"""The recorded changes of a real PostgreSQL in bundles of every mode: nothing lost, repeated, out of order, or torn."""

import json

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer

from integrator import plan
from integrator.contracts.fragments import TRANSACTION_LENGTH, PresentFields
from integrator.encode.messages import columns as columns_of
from integrator.sources import stream as source
from tests.conftest import DATA
from tests.parts import channels, decode, kafka_io, rebuild

pytestmark = [pytest.mark.broker, pytest.mark.spark]

ROWS = "  - {action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}\n"
TABLE = (
    '  - {action: ColumnProperties, Name: tbl, Datatype: text, Extra: true, IntegrateExpression: "{hvr_tbl_name}"}\n'
)


def rows_of(message):
    rows = [json.loads(line) for line in message.value.decode().split("\n")]
    return [row.get("payload", row) for row in rows]


@pytest.fixture(scope="module")
def expected(broker, integrate_once, tmp_path_factory):
    """All rows, each in a message of its own, in source order."""
    directory = tmp_path_factory.mktemp("rows")
    broker.create(channels.shop_topics(directory.name))
    channel = channels.shop(directory, broker.servers, directory.name, more=ROWS + TABLE)
    channels.cut(DATA / "changes.wal2json-v2.jsonl", directory / "in", 1)
    integrate_once(channel)
    read = kafka_io.read_all(broker.servers, channels.shop_topics(directory.name))
    return sorted((row for message in read for row in rows_of(message)), key=lambda row: row["integ_seq"])


def bundles(
    broker, integrate_once, directory, name, mode, *, files, one_topic, threshold=None, cycle_bytes=0, fmt=ROWS
):
    """The messages by topic, in order, of the recorded changes cut into files."""
    topics = [f"{name}.all"] if one_topic else channels.shop_topics(name)
    broker.create(topics)
    topic = f", Topic: {name}.all" if one_topic else ""
    more = f"{fmt}{TABLE}  - {{action: Integrate, CycleByteLimit: {cycle_bytes}{topic}}}\n"
    kafka = f", Kafka_Message_Bundling: {mode}"
    kafka += f", Kafka_Message_Bundling_Threshold: {threshold}" if threshold else ""
    channel = channels.shop(directory, broker.servers, name, more=more, kafka=kafka)
    channels.cut(DATA / "changes.wal2json-v2.jsonl", directory / "in", files)
    integrate_once(channel)
    read = kafka_io.read_all(broker.servers, topics)
    return {topic: [message for message in read if message.topic == topic] for topic in topics}


@pytest.mark.parametrize("one_topic", [True, False], ids=["one topic", "topic a table"])
@pytest.mark.parametrize("mode", ["ROW", "CHANGE", "TRANSACTION", "THRESHOLD"])
@pytest.mark.parametrize("files", [1, 7])
def test_no_row_is_lost_repeated_or_out_of_order(
    files, mode, one_topic, expected, broker, integrate_once, tmp_path, name, monkeypatch
):
    """7 files: read by several tasks, and shuffled; they begin inside transactions that others began."""
    monkeypatch.setattr(source, "ONE_TASK_BYTES", 0 if files > 1 else source.ONE_TASK_BYTES)
    read = bundles(broker, integrate_once, tmp_path, name, mode, files=files, one_topic=one_topic)
    for topic, messages in read.items():
        wanted = [row for row in expected if one_topic or row["tbl"] == topic.removeprefix(name + ".")]
        rows = [row for message in messages for row in rows_of(message)]
        if mode in ("TRANSACTION", "THRESHOLD"):
            assert {message.partition for message in messages} <= {0}
            assert all(message.key is None for message in messages)
        else:
            rows.sort(key=lambda row: row["integ_seq"])
        assert rows == wanted
        check_bundles(mode, messages)


def check_bundles(mode, messages):
    """What a message of a mode holds, and that no two hold what belongs together."""
    for message in messages:
        ops = [row["op_val"] for row in rows_of(message)]
        if mode == "ROW":
            assert len(ops) == 1
        elif mode == "CHANGE":
            assert ops in ([0], [1], [2], [5], [4, 2], [3, 2])
    if mode == "TRANSACTION":
        held = [{row["integ_seq"][:TRANSACTION_LENGTH] for row in rows_of(message)} for message in messages]
        assert all(len(transactions) == 1 for transactions in held)
        assert len(set().union(*held)) == len(held)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_transaction_that_spans_cycles_is_one_message(
    shuffled, expected, broker, integrate_once, tmp_path, name, monkeypatch
):
    """A file a cycle: the rows of a transaction whose commit record comes later are deferred until then."""
    monkeypatch.setattr(source, "ONE_TASK_BYTES", 0 if shuffled else source.ONE_TASK_BYTES)
    cycle_bytes = 200_000 if shuffled else 1
    read = bundles(
        broker, integrate_once, tmp_path, name, "TRANSACTION", files=31, one_topic=True, cycle_bytes=cycle_bytes
    )
    [messages] = read.values()
    assert [row for message in messages for row in rows_of(message)] == expected
    check_bundles("TRANSACTION", messages)
    cycles = [json.loads(path.read_text()) for path in (tmp_path / "state" / "shop" / "synced").glob("*.json")]
    assert len(cycles) > 5
    assert any(cycle["deferred"] for cycle in cycles)
    assert sum(sum(cycle["operations"].values()) for cycle in cycles) == len(expected)


def test_a_threshold_closes_messages_and_the_cycles_say_which_transactions_it_split(
    expected, broker, integrate_once, tmp_path, name
):
    read = bundles(
        broker, integrate_once, tmp_path, name, "TRANSACTION", files=1, one_topic=True, threshold=4096, fmt=""
    )
    [messages] = read.values()
    sequences = [row["integ_seq"] for message in messages for row in rows_of(message)]
    assert sequences == [row["integ_seq"] for row in expected]
    several = {}
    for message in messages:
        rows = rows_of(message)
        assert len(rows) == 1 or len(b"\n".join(message.value.split(b"\n")[:-1])) <= 4096
        [transaction] = {row["integ_seq"][:TRANSACTION_LENGTH] for row in rows}
        several[transaction] = several.get(transaction, 0) + 1
    [path] = (tmp_path / "state" / "shop" / "synced").glob("*.json")
    split = json.loads(path.read_text())["split"]
    assert split == {"transactions split by the threshold": sum(count > 1 for count in several.values())}


def test_confluents_deserializer_reads_arrays_through_a_real_registry(
    expected, broker, registry_server, integrate_once, tmp_path, name
):
    broker.create(channels.shop_topics(name))
    kafka = (
        f', Kafka_Schema_Registry: "{registry_server.url}", Schema_Registry: {{Bundle_As_Array: true}}'
        ", Kafka_Message_Bundling: TRANSACTION, Missing_Values: NULL"
    )
    channel = channels.shop(tmp_path, broker.servers, name, kafka=kafka)
    channels.cut(DATA / "changes.wal2json-v2.jsonl", tmp_path / "in", 1)
    integrate_once(channel)
    reader = AvroDeserializer(SchemaRegistryClient({"url": registry_server.url}))
    for topic in channels.shop_topics(name):
        messages = kafka_io.read_all(broker.servers, [topic])
        rows = [row for message in messages for row in reader(message.value, None)]
        wanted = [row["integ_seq"] for row in expected if f"{name}.{row['tbl']}" == topic]
        assert [row["integ_seq"] for row in rows] == wanted
        assert len(messages) < len(rows)


def test_dead_letters_and_all_else_rebuild_the_tables(broker, integrate_once, tmp_path, name):
    """Rows above 4,096 bytes come as dead letters in parts; with them put in again the tables are the final ones."""
    topics = [*channels.shop_topics(name), f"{name}.dead"]
    broker.create(topics)
    more = "  - {action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: '4096'}\n" + ROWS
    kafka = f", Oversized_Rows: DEAD_LETTER, Dead_Letter_Topic: {name}.dead"
    channel = channels.shop(tmp_path, broker.servers, name, more=more, kafka=kafka)
    channels.cut(DATA / "changes.wal2json-v2.jsonl", tmp_path / "in", 3)
    integrate_once(channel)
    recipe = plan.build(str(channel), "UTC").recipe
    columns = {table.table.name: columns_of(table, recipe, PresentFields()) for table in recipe.tables}
    read: dict[str, list[bytes]] = {table: [] for table in channels.SHOP_TABLES}
    parts: dict[tuple[str, bytes], list[tuple[int, bytes]]] = {}
    for message in kafka_io.read_all(broker.servers, topics):
        if message.topic != topics[-1]:
            read[message.topic.removeprefix(name + ".")].append(message.value)
            continue
        told = dict(message.headers)
        parts.setdefault((told["table"].decode(), told["integ_seq"]), []).append((int(told["part"]), message.value))
    assert parts
    for (table, _), found in parts.items():
        read[table].append(b"".join(value for _, value in sorted(found)))
    decoder = decode.DECODERS["ROW_FRAGMENTS"]
    rows = {table: [decoder(value, columns[table]) for value in values] for table, values in read.items()}
    assert rebuild.comparable(rebuild.rebuild(rows)) == rebuild.comparable(rebuild.oracle(DATA / "final"))
