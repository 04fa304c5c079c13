"""Records of all dialects in a topic become what they become in a file: read from librdkafka's in-process cluster."""

import itertools
import json
import random
import uuid
from dataclasses import replace

import numpy as np
import pytest
from confluent_kafka import Producer

from integrator.contracts.fragments import FILE_SUMMARY, Checkpoint, FileSummary
from integrator.decode.contract import reading_of
from integrator.decode.detect import dialect_of
from integrator.decode.dialects import DIALECTS
from integrator.deliver.kafka.embedded import EmbeddedCluster
from integrator.errors import DataError, EnvironmentFault, from_wire
from integrator.librdkafka.cluster import Topic
from integrator.run.passes.first_pass import first_pass
from integrator.sources.kafka import slice_file
from integrator.sources.kafka.block_lines import TopicEncoding
from integrator.sources.kafka.ranges import Stream
from integrator.sources.kafka.reader import TopicReader
from integrator.sources.slices import TaskSlice, rows_of
from tests.fuzz.setups import BY_NAME
from tests.parts import pure

SETS = {name: setup for name, setup in BY_NAME.items() if setup.sql == "postgres" and not setup.is_csv}
SEQ = "  - {action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}\n"


@pytest.fixture(scope="module")
def cluster():
    with EmbeddedCluster() as made:
        yield made


@pytest.fixture
def topic(cluster, monkeypatch):
    """Send values to a topic, and return its range as a slice, or divided into several, with its reader."""

    class Known:
        def topics(self, names):
            return {one: Topic("id", 1) for one in names}

    monkeypatch.setattr(slice_file, "cluster_of", lambda _: Known())

    def send(values, keys=None, cuts=None):
        name = f"t{uuid.uuid4().hex[:10]}"
        cluster.create([name], 1)
        producer = Producer({"bootstrap.servers": cluster.brokers})
        for value, key in zip(values, keys or [None] * len(values), strict=True):
            producer.produce(name, value, key, partition=0)
        assert producer.flush(10) == 0
        bounds = [0, *(cuts or ()), len(values)]
        stream = Stream(name, "id", 0)
        found = [stream.slice(*bound, 1) for bound in itertools.pairwise(bounds)]
        one_table = TopicEncoding(table=None)  # as where the location names the table of records that name none
        reader = TopicReader({"bootstrap.servers": cluster.brokers}, one_table)
        slices = [TaskSlice(at, one.path, 1, 0, one.stream, read=True) for at, one in enumerate(found, 1)]
        return (slices[0] if cuts is None else slices), reader

    return send


def fragments(made, slices, reader):
    slices = slices if isinstance(slices, list) else [slices]
    try:
        batches = list(first_pass(made, Checkpoint(), pure.NOW, reader)(iter([rows_of(slices)])))
    except RuntimeError as error:
        raise from_wire(str(error)) or error from None
    rows = [row for batch in batches for row in batch.to_pylist()]
    notes = [FileSummary.of_json(row["payload"]) for row in rows if row["op"] == FILE_SUMMARY]
    return [row for row in rows if row["op"] >= 0], notes


def without_places(rows):
    return [{key: value for key, value in row.items() if key != "integ_seq"} for row in rows]


@pytest.mark.parametrize("name_of_set", SETS)
def test_records_in_a_topic_are_those_in_a_file(name_of_set, topic, tmp_path):
    setup = SETS[name_of_set]
    made = pure.recipe(
        tmp_path, setup.ddl.read_text(), SEQ, setup.dialect, source=f"{setup.source}, repeated_positions: send"
    )
    lines = setup.recorded
    if name_of_set == "wal2json-v2":  # the last two begin and end a transaction
        lines = [lines[-2], *lines[:-2], lines[-1]]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    table, notes = pure.fragments(made, path)
    found, found_notes = fragments(made, *topic([line.encode() for line in lines]))
    assert found
    assert without_places(found) == without_places(table.to_pylist())
    assert [(one.rows, one.not_sent) for one in found_notes] == [(one.rows, one.not_sent) for one in notes]


def test_tombstones_are_counted_between_events_with_schemas(topic, tmp_path):
    setup = SETS["debezium-schema"]
    made = pure.recipe(tmp_path, setup.ddl.read_text(), SEQ, "debezium", source=", repeated_positions: send")
    values = [value for line in setup.recorded for value in (line.encode(), None)]
    found, [note] = fragments(made, *topic(values))
    alone, [of_alone] = fragments(made, *topic([line.encode() for line in setup.recorded]))
    assert found == alone
    assert note.not_sent == {**of_alone.not_sent, "tombstones": of_alone.not_sent["tombstones"] + len(setup.recorded)}


ONE = {"hvr_op": 1, "hvr_tx_seq": "1", "id": 1}


def test_documents_over_several_lines_empty_values_and_tombstones(topic, tmp_path):
    made = pure.recipe(tmp_path, "create table t(id int primary key, v text);", SEQ)
    spread = json.dumps({**ONE, "v": "a\nb"}, indent=2).encode()
    one, reader = topic([spread, b""])
    lines = [*reader.file(one).lines(reading_of(made))]
    assert [line.numbers.tolist() for line in lines] == [[0, 1]]
    assert [*reader.file(one).raw_lines(np.array([0, 1]))] == [spread, b""]
    with pytest.raises(DataError, match=r"/0:1: "):
        fragments(made, one, reader)
    assert [*reader.file(one).raw_lines(np.array([1]))] == [b""]
    start = reader.file(one).start(10)  # by which the dialect is recognized: a record is one line
    assert (start.count(b"\n"), json.loads(start)) == (1, json.loads(spread))
    assert dialect_of(reader.file(one), DIALECTS, "debezium") == "hvr"


def test_a_topic_that_was_made_anew_while_it_was_read_is_an_error(topic, tmp_path, monkeypatch):
    class Other:
        def topics(self, names):
            return {one: Topic("other", 1) for one in names}

    made = pure.recipe(tmp_path, "create table t(id int primary key);", SEQ)
    one, reader = topic([json.dumps(ONE).encode()])
    monkeypatch.setattr(slice_file, "cluster_of", lambda _: Other())
    with pytest.raises(EnvironmentFault, match="was deleted and created again"):
        fragments(made, one, reader)


DELETES = (
    SEQ
    + """\
  - {action: ColumnProperties, Name: op, Datatype: integer, Extra: true, IntegrateExpression: "{hvr_op}"}
  - {action: ColumnProperties, Name: seq, Datatype: varchar, Length: 45, Extra: true, TimeKey: true,
     IntegrateExpression: "{hvr_integ_seq}"}
"""
)
ONE_TABLE = "create table t(id int primary key, v text);"


def event(op, key, lsn, schema=None):
    image = {"id": key, "v": f"{lsn}"}
    position = {
        "connector": "postgresql",
        "db": "d",
        "schema": "public",
        "table": "t",
        "ts_ms": 1,
        "txId": lsn,
        "lsn": lsn,
    }
    source = {**position, "sequence": json.dumps([str(lsn - 1), str(lsn)], separators=(",", ":"))}
    images = {"before": image if op == "d" else None, "after": None if op == "d" else image}
    found = {**images, "op": op, "ts_ms": 1, "source": source}
    return json.dumps(found if schema is None else {"schema": schema, "payload": found})


def flattened(op, key, lsn):
    return json.dumps({"id": key, "v": f"{lsn}", "__table": "t", "__lsn": lsn, "__txId": lsn})


def cloud_event(op, key, lsn):
    found = json.loads(event(op, key, lsn))
    attributes = {f"iodebezium{name.replace('_', '').lower()}": str(value) for name, value in found["source"].items()}
    return json.dumps({"specversion": "1.0", "iodebeziumop": op, **attributes, "data": found})


WRITERS = {
    "an event": ("debezium", event),
    "an event with its schema": ("debezium", lambda *of: event(*of, schema={"type": "struct", "fields": []})),
    "a CloudEvent": ("cloudevents", cloud_event),
}
KEYS_OF = {"an object": '{{"id":{}}}', "a value": "{}", "with a schema": '{{"schema":{{}},"payload":{{"id":{}}}}}'}
DELETED = 0


def rows_sent(made, topic, records, cuts=None, key='{{"id":{}}}'):
    """Send (key, value) records, and return the operation, the key and the position of each row."""
    keys = [None if one is None else key.format(one).encode() for one, _ in records]
    values = [value and value.encode() for _, value in records]
    found, notes = fragments(made, *topic(values, keys, cuts))
    rows = [(row["op"], json.loads(row["payload"])["id"], row["integ_seq"]) for row in found]
    assert [row[2] for row in rows] == sorted({row[2] for row in rows}), "positions ascend, and none is there twice"
    return rows, notes


@pytest.mark.parametrize("key", KEYS_OF)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_delete_of_which_compaction_left_the_tombstone_alone_is_sent(writer, key, topic, tmp_path):
    dialect, of = WRITERS[writer]
    made = pure.recipe(tmp_path, ONE_TABLE, DELETES, dialect)
    records = [
        (9, None),
        (1, of("c", 1, 100)),
        (2, of("c", 2, 101)),
        (2, of("d", 2, 102)),
        (2, None),  # repeats the delete before it
        (1, None),  # the delete before it is gone
        (3, None),
        (4, of("c", 4, 103)),
        (None, None),
    ]
    rows, notes = rows_sent(made, topic, records, key=KEYS_OF[key])
    wanted = [(DELETED, 9), (1, 1), (1, 2), (DELETED, 2), (DELETED, 1), (DELETED, 3), (1, 4)]
    assert [row[:2] for row in rows] == wanted
    assert sum(one.not_sent.get("tombstones", 0) for one in notes) == 2
    assert [
        row for cut in range(1, 9) if (row := rows_sent(made, topic, records, [cut], KEYS_OF[key])[0]) != rows
    ] == []


def test_deletes_of_flattened_rows_may_be_tombstones_alone(topic, tmp_path):
    made = pure.recipe(tmp_path, ONE_TABLE, DELETES, "debezium")
    deleted = json.dumps({"id": 2, "v": None, "__table": "t", "__lsn": 102, "__txId": 102, "__deleted": "true"})
    records = [(1, flattened("c", 1, 100)), (1, None), (2, flattened("c", 2, 101)), (2, deleted), (2, None), (3, None)]
    rows, [note] = rows_sent(made, topic, records)
    assert [row[:2] for row in rows] == [(1, 1), (DELETED, 1), (1, 2), (DELETED, 2), (DELETED, 3)]
    assert note.not_sent["tombstones"] == 1


@pytest.mark.parametrize("seed", range(8))
def test_however_a_topic_is_divided_its_tombstones_have_the_same_positions(seed, topic, tmp_path):
    made = pure.recipe(tmp_path, ONE_TABLE, DELETES, "debezium")
    of, lsn, records = random.Random(seed), 100, []
    for _ in range(40):
        key, lsn = of.randrange(5), lsn + of.randrange(2)  # some are in one transaction
        kind = of.choice(["event", "delete", "tombstone", "tombstone"])
        records += {
            "event": [(key, event("u", key, lsn))],
            "delete": [(key, event("d", key, lsn)), (key, None)],
            "tombstone": [(key, None)],
        }[kind]
    whole, _ = rows_sent(made, topic, records)
    for _ in range(6):
        cuts = sorted(of.sample(range(1, len(records)), 4))
        assert rows_sent(made, topic, records, cuts)[0] == whole
    values, keys = (
        [value and value.encode() for _, value in records],
        [f'{{"id":{key}}}'.encode() for key, _ in records],
    )
    slices, reader = topic(values, keys, sorted(of.sample(range(1, len(records)), 4)))
    apart = []
    for at, one in enumerate(slices):  # each in a task of its own, which looks back at those before it
        before = [replace(other, read=False) for other in slices[:at]]
        found, _ = fragments(made, [*before, one], reader)
        apart += [row["integ_seq"] for row in found]
    assert apart == [row[2] for row in whole]


@pytest.mark.parametrize("key", [b"\xff", b"no json", b"{"])
def test_a_tombstone_whose_key_no_line_can_have_is_its_key_in_the_dead_letter_topic(key, topic, tmp_path):
    """So that it is not lost, and rejected again when it is replayed."""
    dialect, of = WRITERS["an event"]
    pure.recipe(tmp_path, ONE_TABLE, DELETES, dialect)
    one, reader = topic([of("c", 1, 100).encode(), None], [b"1", key])
    assert list(reader.file(one).raw_lines(np.array([1]))) == [key]


@pytest.mark.parametrize("key", KEYS_OF)
@pytest.mark.parametrize("writer", ["an event", "a CloudEvent"])
def test_a_tombstone_in_the_dead_letter_topic_has_its_key_and_deletes_when_it_is_replayed(writer, key, topic, tmp_path):
    dialect, of = WRITERS[writer]
    made = pure.recipe(tmp_path, ONE_TABLE, DELETES, dialect)
    keys = [KEYS_OF[key].format(one).encode() for one in (1, 2)]
    one, reader = topic([of("c", 1, 100).encode(), None, None], [*keys, None])
    event_as_it_came, letter, keyless = reader.file(one).raw_lines(np.array([0, 1, 2]))
    assert (event_as_it_came, keyless) == (of("c", 1, 100).encode(), b"null")
    path = tmp_path / "letters.jsonl"
    path.write_bytes(letter + b"\n")
    table, _ = pure.fragments(made, path)
    assert [(row["op"], json.loads(row["payload"])["id"]) for row in table.to_pylist()] == [(DELETED, 2)]
