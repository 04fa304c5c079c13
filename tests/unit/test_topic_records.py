"""Records of all dialects in a topic become what they become in a file: read from librdkafka's in-process cluster."""

import json
import uuid

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
    """Send values to a topic, and return its range as a slice, with its reader."""

    class Known:
        def topics(self, names):
            return {one: Topic("id", 1) for one in names}

    monkeypatch.setattr(slice_file, "cluster_of", lambda _: Known())

    def send(values):
        name = f"t{uuid.uuid4().hex[:10]}"
        cluster.create([name], 1)
        producer = Producer({"bootstrap.servers": cluster.brokers})
        for value in values:
            producer.produce(name, value, partition=0)
        assert producer.flush(10) == 0
        found = Stream(name, "id", 0).slice(0, len(values), 1)
        one_table = TopicEncoding(table=None)  # as where the location names the table of records that name none
        reader = TopicReader({"bootstrap.servers": cluster.brokers}, one_table)
        return TaskSlice(1, found.path, 1, 0, found.stream, read=True), reader

    return send


def fragments(made, one, reader):
    try:
        batches = list(first_pass(made, Checkpoint(), pure.NOW, reader)(iter([rows_of([one])])))
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
