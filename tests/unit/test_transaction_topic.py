"""Transaction_Topic: a message at the begin and at the end of each transaction, with the rows that were sent of it."""

import io
import json
from dataclasses import replace

import fastavro
import pyarrow as pa
import pytest

from integrator.contracts.fragments import COUNTED, FILE_SUMMARY, Checkpoint, FileSummary, to_deferred
from integrator.contracts.message_format import SchemaId
from integrator.deliver.bundle import Bundler
from integrator.encode.messages import registered_schemas
from integrator.encode.transactions import recipe_of
from integrator.errors import ConfigurationError
from integrator.plan.registry import registrations
from integrator.run.passes.first_pass import first_pass
from integrator.run.passes.transactions import merged
from integrator.sources.files.reader import FileReader, slice_of
from integrator.sources.slices import rows_of
from integrator.sources.spool import segments
from tests.parts import pure

pytestmark = pytest.mark.fast

DDL = "create table shop.t(id int primary key, v text); create table shop.u(id int primary key);"
TOPIC = ', Transaction_Topic: "shop.transaction"'
ENVELOPE = "  - {action: FileFormat, Envelope: DEBEZIUM, Json: true, JsonMode: PAYLOAD}\n"


def recipe(directory, actions=ENVELOPE, dialect="wal2json", kafka=TOPIC):
    return pure.recipe(directory, DDL, actions, dialect=dialect, kafka=kafka)


def cycle(made, checkpoint, *files, joined=False):
    """The messages of transactions of a cycle with these files, each in a task of its own; and the next checkpoint.

    joined: in one task, where they may be read as one.
    """
    parts, summaries = [], []
    for place in range(1 if joined else len(files)):
        runs = [
            slice_of(
                path,
                checkpoint.ordinal + number + 1,
                segments("").stream_of(str(path)),
                read=joined or number == place,
                group=1 if joined else None,
            )
            for number, path in enumerate(files)
        ]
        batches = list(first_pass(made, checkpoint, pure.NOW, FileReader())(iter([rows_of(runs)])))
        for batch in batches:
            rows = batch.to_pylist()
            summaries += [FileSummary.of_json(row["payload"]) for row in rows if row["op"] == FILE_SUMMARY]
            parts.append(to_deferred([batch.filter(pa.array([op <= COUNTED for op in batch["op"].to_pylist()]))]))
    deferred, fragments = merged(made, parts)
    last = max(summaries, key=lambda one: one.ordinal)
    found = []
    if fragments.num_rows:
        for messages in Bundler(recipe_of(made)).add(fragments):
            assert {topic for topic, _ in messages.topic_counts} == {"shop.transaction"}
            found += zip(messages.keys.to_pylist(), messages.values.to_pylist(), strict=True)
    opened = last.streams[""].open
    return found, replace(checkpoint, ordinal=last.ordinal, deferred=deferred, open=opened)


def shown(messages):
    """Status, commit, events and tables of each message."""
    found = []
    for key, value in messages:
        given = json.loads(value)
        assert json.loads(key) == {"id": given["id"]}
        counts = {one["data_collection"]: one["event_count"] for one in given["data_collections"] or ()}
        found.append((given["status"], int(given["id"][:20], 16), given["event_count"], counts))
    return found


def wal2json(directory, name, *lines):
    path = directory / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def begin(lsn, xid):
    return {
        "action": "B",
        "xid": xid,
        "timestamp": "2026-11-20 12:00:00+00",
        "lsn": f"0/{lsn:X}",
        "nextlsn": f"0/{lsn:X}",
    }


def commit(lsn, xid):
    return begin(lsn, xid) | {"action": "C"}


def insert(table, number, **columns):
    values = [{"name": "id", "type": "integer", "value": number}]
    values += [{"name": name, "type": "text", "value": value} for name, value in columns.items()]
    return {"action": "I", "schema": "shop", "table": table, "columns": values}


def update(number, key=None):
    identity = [{"name": "id", "type": "integer", "value": number if key is None else key}]
    return insert("t", number, v="b") | {"action": "U", "identity": identity}


def test_each_transaction_has_a_begin_and_an_end_with_its_rows(tmp_path):
    lines = [
        *(begin(16, 1), insert("t", 1, v="a"), insert("u", 1), update(1), commit(16, 1)),
        *(begin(32, 2), update(2, key=1), commit(32, 2)),  # the key is another: a delete and a create
    ]
    messages, after = cycle(recipe(tmp_path), Checkpoint(), wal2json(tmp_path, "a.jsonl", *lines))
    assert shown(messages) == [
        ("BEGIN", 16, None, {}),
        ("END", 16, 3, {"shop.t": 2, "shop.u": 1}),
        ("BEGIN", 32, None, {}),
        ("END", 32, 2, {"shop.t": 2}),
    ]
    assert [json.loads(value)["ts_ms"] for _, value in messages] == [1795176000000] * 4
    assert after.deferred == b""


@pytest.mark.parametrize("tables", ["uuu", "ttu", "utu", "tut", "t", "utuututtu"])
def test_each_transaction_has_its_own_counts(tables, tmp_path):
    """Transactions with one row of some tables each, one with rows of all, one with one."""
    lines, expected = [], []
    for number, rows in enumerate([*tables, tables, "u"], 1):
        added = [insert(table, 100 * number + place) for place, table in enumerate(rows)]
        lines += [begin(16 * number, number), *added, commit(16 * number, number)]
        counts = {f"shop.{table}": rows.count(table) for table in sorted(set(rows))}
        expected += [("BEGIN", 16 * number, None, {}), ("END", 16 * number, len(rows), counts)]
    messages, _ = cycle(recipe(tmp_path), Checkpoint(), wal2json(tmp_path, "a.jsonl", *lines))
    assert shown(messages) == expected


def test_a_transaction_over_files_tasks_and_cycles_is_counted_as_one(tmp_path):
    made = recipe(tmp_path)
    first = wal2json(tmp_path, "a.jsonl", begin(16, 1), insert("t", 1, v="a"))
    second = wal2json(tmp_path, "b.jsonl", insert("t", 2, v="a"), insert("u", 1))
    third = wal2json(tmp_path, "c.jsonl", insert("u", 2))
    fourth = wal2json(tmp_path, "d.jsonl", commit(16, 1), begin(32, 2), insert("u", 3))
    messages, after = cycle(made, Checkpoint(), first, second)
    assert shown(messages) == [("BEGIN", 16, None, {})]
    assert (after.waiting, after.deferred != b"") == (0, True)
    again, _ = cycle(made, Checkpoint(), first, second)
    assert again == messages  # I2
    messages, later = cycle(made, after, third)
    assert messages == []
    messages, _ = cycle(made, later, fourth)
    assert shown(messages) == [("END", 16, 4, {"shop.t": 2, "shop.u": 2}), ("BEGIN", 32, None, {})]
    assert cycle(made, later, fourth)[0] == messages  # I2


def debezium(number, xid, op="c", **more):
    row = {"id": number, "v": "a"}
    source = {
        "connector": "postgresql", "ts_ms": 1700000000123, "db": "d", "schema": "shop", "table": "t",
        "txId": xid, "lsn": 100 * xid + number, "sequence": f'["{100 * xid}","{100 * xid + number}"]',
    }  # fmt: skip
    return {"before": None, "after": row, "source": source | more, "op": op, "ts_ms": 1700000000200}


def test_where_ends_are_not_marked_the_next_transaction_ends_one(tmp_path):
    made = recipe(tmp_path, dialect="debezium")
    first = wal2json(tmp_path, "a.jsonl", debezium(1, 1), debezium(2, 1), debezium(3, 2))
    second = wal2json(tmp_path, "b.jsonl", debezium(4, 3))
    messages, after = cycle(made, Checkpoint(), first)
    assert shown(messages) == [
        ("BEGIN", 100, None, {}),
        ("END", 100, 2, {"shop.t": 2}),
        ("BEGIN", 200, None, {}),
    ]
    assert shown(cycle(made, after, second)[0]) == [("END", 200, 1, {"shop.t": 1}), ("BEGIN", 300, None, {})]


def test_marks_of_debezium_end_transactions(tmp_path):
    made = recipe(tmp_path, dialect="debezium")
    end = {"status": "END", "id": "1:1", "event_count": 1, "data_collections": [], "ts_ms": 1700000000300}
    first = wal2json(tmp_path, "a.jsonl", debezium(1, 1), debezium(2, 1))
    second = wal2json(tmp_path, "b.jsonl", end)
    messages, after = cycle(made, Checkpoint(), first, second)
    assert shown(messages) == [("BEGIN", 100, None, {}), ("END", 100, 2, {"shop.t": 2})]
    assert after.deferred == b""


HVR = [
    {"hvr_tx_seq": "10", "hvr_tx_countdown": 2, "hvr_cap_tstamp": "2026-11-20T12:00:00Z", "hvr_tbl_name": "u", "id": 1},
    {"hvr_tx_seq": "10", "hvr_tx_countdown": 1, "hvr_cap_tstamp": "2026-11-20T12:00:00Z", "hvr_tbl_name": "u", "id": 2},
]


def test_a_countdown_ends_a_transaction(tmp_path):
    made = recipe(tmp_path, dialect="hvr", actions="")
    messages, after = cycle(made, Checkpoint(), pure.hvr(tmp_path, *HVR))
    assert [json.loads(value)["payload"]["status"] for _, value in messages] == ["BEGIN", "END"]
    schema = json.loads(messages[0][1])["schema"]
    assert [one["field"] for one in schema["fields"]] == ["status", "id", "event_count", "data_collections", "ts_ms"]
    assert schema["name"] == "io.debezium.connector.common.TransactionMetadataValue"
    assert after.deferred == b""


@pytest.mark.parametrize(
    ("dialect", "kafka", "actions", "expected"),
    [
        (
            "airbyte",
            TOPIC,
            "",
            "airbyte does not mark where transactions begin and end; hvr, wal2json, debezium, maxwell",
        ),
        ("auto", TOPIC, "", "needs the dialect of the source by its name: dialect: hvr"),
        ("hvr", TOPIC, "  - {action: FileFormat, Csv: true}\n", "CSV has no such messages; use JSON"),
        ("hvr", ", Transaction_Topic: t", "", "t is a topic of a table too; transactions need one of their own"),
    ],
)
def test_where_transactions_are_not_known_their_topic_is_refused(dialect, kafka, actions, expected, tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        recipe(tmp_path, actions, dialect, kafka)
    assert f"$.locations.kaf.Transaction_Topic: {expected}" in str(raised.value)


def test_each_event_names_its_transaction_and_ascends_in_it(tmp_path):
    lines = [begin(16, 1), insert("t", 1, v="a"), update(2, key=1), insert("u", 1), commit(16, 1)]
    path = wal2json(tmp_path, "a.jsonl", *lines)
    events = [
        json.loads(one.value)
        for one in pure.messages(recipe(tmp_path), path)
        if one.value and one.topic != "shop.transaction"
    ]
    [(_, first), _] = cycle(recipe(tmp_path), Checkpoint(), path)[0]
    assert {one["transaction"]["id"] for one in events} == {json.loads(first)["id"]}
    orders = [one["transaction"]["total_order"] for one in sorted(events, key=lambda one: one["source"]["sequence"])]
    assert orders == [1, 2, 3, 4]
    without = pure.messages(recipe(tmp_path, kafka=""), path)
    assert {json.loads(one.value)["transaction"] for one in without if one.value} == {None}


REGISTRY = ', Kafka_Schema_Registry: "http://localhost:1"'


def test_with_a_registry_messages_have_schemas_of_debeziums_names(tmp_path):
    actions = "  - {action: Integrate, ValueSubjectStrategy: TopicNameStrategy}\n"
    built = pure.recipe(tmp_path, DDL, actions, dialect="wal2json", kafka=TOPIC + REGISTRY + ", Missing_Values: NULL")
    schemas = {one.part: json.loads(one.text) for one in registered_schemas(recipe_of(built))}
    assert {part: one["name"] for part, one in schemas.items()} == {
        "value": "TransactionMetadataValue",
        "key": "TransactionMetadataKey",
    }
    assert {one["namespace"] for one in schemas.values()} == {"io.debezium.connector.common"}
    made = replace(built, transactions=replace(built.transactions, value_id=SchemaId(7), key_id=SchemaId(8)))
    path = wal2json(tmp_path, "a.jsonl", begin(16, 1), insert("u", 1), commit(16, 1))
    messages, _ = cycle(made, Checkpoint(), path)
    parsed = {part: fastavro.parse_schema(one) for part, one in schemas.items()}
    found = []
    for key, value in messages:
        assert (key[:5], value[:5]) == (b"\0\0\0\0\x08", b"\0\0\0\0\x07")
        read = fastavro.schemaless_reader(io.BytesIO(value[5:]), parsed["value"], None)
        assert fastavro.schemaless_reader(io.BytesIO(key[5:]), parsed["key"], None) == {"id": read["id"]}
        found.append((read["status"], read["event_count"], read["data_collections"]))
    assert found == [("BEGIN", None, None), ("END", 1, [{"data_collection": "shop.u", "event_count": 1}])]
    subjects = [one.subject for one in registrations(made, plan_strategies(made))]
    assert {"shop.transaction-key", "shop.transaction-value"} < set(subjects)


def plan_strategies(made):
    return {(table.table.name, part): "TopicNameStrategy" for table in made.tables for part in ("key", "value")}


def test_rows_that_are_sent_later_are_in_no_count(tmp_path):
    made = recipe(tmp_path)
    later = replace(made, read=replace(made.read, sent_later=True))
    path = wal2json(tmp_path, "a.jsonl", begin(16, 1), insert("u", 1), commit(16, 1))
    assert [len(cycle(one, Checkpoint(), path)[0]) for one in (made, later)] == [2, 0]


def test_small_files_that_are_read_again_one_by_one_are_counted_once(tmp_path):
    """A row above the maximum size is a dead letter, which names its file: the files that were joined are read again."""
    kafka = f"{TOPIC}, Oversized_Rows: DEAD_LETTER, Dead_Letter_Topic: dead"
    limit = "  - {action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: '4096'}\n"
    made = recipe(tmp_path, actions=ENVELOPE + limit, kafka=kafka)
    files = [
        wal2json(
            tmp_path, f"{place}.jsonl", begin(16 * place, place), insert("t", place, v=text), commit(16 * place, place)
        )
        for place, text in enumerate(["a", "b", "x" * 10_000, "c"], 1)
    ]
    found = shown(cycle(made, Checkpoint(), *files, joined=True)[0])
    assert [one for one in found if one[0] == "END"] == [("END", 16 * place, 1, {"shop.t": 1}) for place in (1, 2, 4)]
    assert found == shown(cycle(made, Checkpoint(), *files)[0])
