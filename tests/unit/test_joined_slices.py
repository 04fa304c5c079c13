"""Small ranges of several partitions that are read as one become what they become one by one, however joined (I2)."""

import json
import random
import uuid
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Producer

from integrator.contracts.change_batch import RECORD
from integrator.contracts.fragments import FILE_SUMMARY, Checkpoint, FileSummary
from integrator.contracts.sequence import OpenTransaction
from integrator.contracts.streams import Source
from integrator.decode.lines.joined import together
from integrator.decode.lines.lines import NO_TIME, LeftOut, Lines, Origin
from integrator.deliver.kafka.embedded import EmbeddedCluster
from integrator.errors import from_wire
from integrator.librdkafka.cluster import Topic
from integrator.run.passes import decoding
from integrator.run.passes.first_pass import first_pass
from integrator.sources.kafka import joined_slices, slice_file
from integrator.sources.kafka.block_lines import TopicEncoding
from integrator.sources.kafka.ranges import Stream
from integrator.sources.kafka.reader import TopicReader
from integrator.sources.slices import TaskSlice, rows_of
from tests.fuzz.setups import BY_NAME
from tests.parts import pure
from tests.unit.test_joined import TOLERANT
from tests.unit.test_topic_encodings import ASKED, ENCODING, framed

PARTITIONS = 5
TIME = 1_700_000_000_123
PLAIN = f"  - {pure.PLAIN}\n"
SETS = [name for name, setup in BY_NAME.items() if setup.sql == "postgres" and not setup.is_csv]
DDL = "create table t(id int primary key, v varchar(10));"


@pytest.fixture(scope="module")
def cluster():
    with EmbeddedCluster() as made:
        yield made
        while slice_file._CONSUMERS:
            slice_file._CONSUMERS.popitem()[1][0].close()


@pytest.fixture
def joins(monkeypatch):
    """How many slices were read as one, and how many were tried."""
    found = []
    join = decoding.Decoding._join

    def counted(self, runs, file):
        result = join(self, runs, file)
        found.append((len(runs), result is not None))
        return result

    monkeypatch.setattr(decoding.Decoding, "_join", counted)
    return found


class Read:
    """What is read of a topic whose partitions have these values, or records: key, value and headers."""

    def __init__(self, cluster, partitions, encoding=TopicEncoding(table=None)):  # noqa: B008 - frozen
        self.topic, self.partitions = f"t{uuid.uuid4().hex[:10]}", partitions
        self.reader = TopicReader({"bootstrap.servers": cluster.brokers}, encoding)
        cluster.create([self.topic], len(partitions))
        producer = Producer({"bootstrap.servers": cluster.brokers})
        for partition, values in enumerate(partitions):
            for record in values:
                key, value, *headers = record if isinstance(record, tuple) else (None, record)
                producer.produce(self.topic, value, key=key, headers=headers, partition=partition, timestamp=TIME)
        assert producer.flush(10) == 0

    def slices(self, cuts=lambda _: (), groups=lambda _: None):
        """The ranges of all partitions. cuts: of a number of values, where they are cut. groups: of a slice, its own."""
        found = []
        for partition, values in enumerate(self.partitions):
            stream = Stream(self.topic, "id", partition)
            for begin, end in pairwise([0, *cuts(len(values)), len(values)]):
                one, number = stream.slice(begin, end, 1), len(found) + 1
                found.append(TaskSlice(number, one.path, 1, 0, one.stream, read=True, group=groups(number)))
        return found

    def outcome(self, made, slices, checkpoint=None):
        """Rows, where streams stand, and what is counted; or the error."""
        try:
            batches = list(first_pass(made, checkpoint or Checkpoint(), pure.NOW, self.reader)(iter([rows_of(slices)])))
        except RuntimeError as error:
            return str(from_wire(str(error)) or error).replace(self.topic, "t")
        rows = [row for batch in batches for row in batch.to_pylist()]
        notes = [FileSummary.of_json(row["payload"]) for row in rows if row["op"] == FILE_SUMMARY]
        streams, spans = {}, {}
        for note in notes:
            streams |= {name: (one.ordinal, one.open) for name, one in note.streams.items()}
            spans |= {name: one.span.last for name, one in note.streams.items() if one.span.last}
        counts = [sum(getattr(note, name) for note in notes) for name in ("rows", "rejected", "files")]
        not_sent = Counter[str]()
        for note in notes:
            not_sent.update(note.not_sent)
        sources = {table: source for note in notes for table, source in note.sources.items()}
        sent = [repr(row).replace(self.topic, "t") for row in rows if row["op"] >= 0]
        return sorted(sent), streams, spans, counts, not_sent, sources, max(note.ordinal for note in notes)


@pytest.fixture
def read(cluster, monkeypatch):
    class Known:
        def topics(self, names):
            return {one: Topic("id", PARTITIONS) for one in names}

    monkeypatch.setattr(slice_file, "cluster_of", lambda _: Known())
    return lambda partitions, *encoding: Read(cluster, partitions, *encoding)


def at_random(chance):
    """Cuts and groups that chance gives."""
    first, last = 1, 0

    def cuts(size):
        return sorted(chance.choices(range(size + 1), k=chance.randrange(4)))

    def groups(number):
        nonlocal first, last
        if number > last:
            first, last = number, number + chance.randrange(8)
        return first

    return {"cuts": cuts, "groups": groups}


def changes(outcome):
    """The changes of an outcome: in the keys of dead letters is the number of their slice."""
    return [row for row in outcome[0] if "'dead'" not in row]


def check_joined(found, made, seeds=3, *, is_cut=True):
    """Check that what is read does not depend on how slices are joined, and on how partitions are cut; return that."""
    expected = found.outcome(made, found.slices())
    for seed in range(seeds):
        chance = random.Random(seed)
        slices = found.slices(**at_random(chance))
        apart = [replace(one, group=None) for one in slices]
        outcome = found.outcome(made, slices)
        assert outcome == found.outcome(made, apart)
        if is_cut and not isinstance(outcome, str):
            assert changes(outcome) == changes(expected)
    return expected


@pytest.mark.parametrize("repeated", [", repeated_positions: send", ""], ids=["not checked", "checked"])
@pytest.mark.parametrize("name", SETS)
def test_recorded_records_of_each_dialect(name, repeated, read, joins, tmp_path):
    setup = BY_NAME[name]
    made = pure.recipe(tmp_path, setup.ddl.read_text(), PLAIN, setup.dialect, source=f"{setup.source}{repeated}")
    lines = [line.encode() for line in setup.recorded]
    partitions = [lines[at::PARTITIONS] for at in range(PARTITIONS)]
    if name == "wal2json-v2":  # the last two begin and end a transaction
        partitions = [[lines[-2], *lines[at:-2:PARTITIONS], lines[-1]] for at in range(PARTITIONS)]
    outcome = check_joined(read(partitions), made, is_cut=name != "delta-cdf")  # whose commits are in one file each
    assert not repeated or not isinstance(outcome, str)


def rows(partition, *tx, **more):
    """Records of these transactions."""
    record = {"hvr_op": 1, "id": 100 * partition, **more}
    return [json.dumps({"hvr_tx_seq": f"{one:X}", **record}).encode() for one in tx]


def place(partition):
    return Stream("t", "id", partition)


def test_transactions_continue_in_each_partition(read, joins, tmp_path):
    made = pure.recipe(tmp_path, DDL, PLAIN)
    found = read([rows(0, 7, 7, 7, 8), rows(1, 7, 7), rows(2, 7), rows(3), rows(4, 3, 3, 9)])
    check_joined(found, made, 20)
    joins.clear()
    whole = found.slices(groups=lambda _: 1)
    opened = OpenTransaction(
        "0000000000000000000A|0000000000000000", 5, since_start=False, continues=None, identity=f"{7:020}"
    )
    checkpoint = Checkpoint(streams={whole[1].stream: opened, whole[4].stream: opened})
    outcome = found.outcome(made, whole, checkpoint)
    assert outcome == found.outcome(made, found.slices(), checkpoint)
    assert joins == [(PARTITIONS, True)]
    assert sum("|0000005'" in row for row in outcome[0]) == 1


def test_records_without_positions_have_that_of_their_offset(read, joins, tmp_path):
    made = pure.recipe(tmp_path, DDL, PLAIN, "opencdc", source=", table: t")
    record = {"operation": "create", "metadata": {}, "key": {}}
    partitions = [
        [
            json.dumps({**record, "payload": {"before": None, "after": {"id": 10 * at + one}}}).encode()
            for one in range(at)
        ]
        for at in range(PARTITIONS)
    ]
    found = read(partitions)
    check_joined(found, made)
    joins.clear()
    outcome = found.outcome(made, found.slices(groups=lambda _: 1))
    assert joins == [(PARTITIONS, True)]
    segment = slice_file.SliceFile("", stream=place(4), range=slice_file.Range(found.topic, 4, 0, 4)).segment
    assert any(f"'{3:024X}'"[1:21] in row and segment in row for row in outcome[0])


WRONG = {
    "no JSON": b'{"hvr_op": 1,',
    "no UTF-8": b'{"hvr_op": 1, "hvr_tx_seq": "9", "id": 5, "v": "\xff"}',
    "a value that is no number": rows(2, 9, id="x")[0],
    "a table that is not known": rows(2, 9, hvr_tbl_name="other")[0],
    "a position that does not ascend": rows(2, 1)[0],
}


@pytest.mark.parametrize("more", ["", TOLERANT], ids=["an error", "tolerated"])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_record_is_at_its_offset(name, more, read, joins, tmp_path):
    made = pure.recipe(tmp_path, DDL, PLAIN + more)
    found = read([rows(0, 1, 2), rows(1, 3), [*rows(2, 4, 5), WRONG[name], *rows(2, 10)], rows(3, 6, 7), rows(4, 8)])
    outcome = check_joined(found, made)
    if more and not isinstance(outcome, str):
        assert "b't/2', b'2'" in "".join(outcome[0])
        joins.clear()
        found.outcome(made, found.slices(groups=lambda _: 1))
        assert joins == [(5, False), (2, True), (3, False), (2, True)]
    else:
        assert outcome.startswith("t/2:2: ")


UPDATE = [
    {"hvr_op": 4, "id": 1, "v": "a", "hvr_tx_seq": "7"},
    {"hvr_op": 2, "id": 1, "v": "b", "hvr_tx_seq": "7"},
]


def test_images_of_two_partitions_are_no_update(read, tmp_path):
    made = pure.recipe(tmp_path, DDL, PLAIN)
    before, after = (json.dumps(one).encode() for one in UPDATE)
    check_joined(read([[before], [after], [before, after], [after], [before]]), made)


def test_a_mark_of_a_transactions_end_is_of_its_partition_alone(read, tmp_path):
    made = pure.recipe(tmp_path, "create table t(id int primary key);", PLAIN, "debezium")
    source = {
        "connector": "postgresql",
        "schema": "public",
        "table": "t",
        "txId": 7,
        "ts_ms": 1,
        "sequence": '["10","11"]',
    }
    events = [
        json.dumps({"op": "c", "before": None, "after": {"id": at}, "source": source | {"lsn": at}}).encode()
        for at in range(6)
    ]
    end = json.dumps({"status": "END", "id": "7:10", "event_count": 6, "data_collections": [], "ts_ms": 1}).encode()
    check_joined(read([events[:2], [end], events[2:4], [*events[4:5], end], events[5:]]), made)


def test_records_in_avro_their_keys_and_headers(read, joins, tmp_path):
    columns = "".join(
        f"{{action: ColumnProperties, Name: {name}, Extra: true, Datatype: text, IntegrateExpression: '{text}'}}, "
        for name, text in ASKED.items()
    )
    (tmp_path / "tables.sql").write_text("create table t(id bigint primary key, v text);")
    (tmp_path / "c.yaml").write_text(
        "channel: pure\nlocations:\n"
        "  src: {class: kafka, Kafka_Brokers: [localhost], topics: t, dialect: rows, unknown_columns: ignore}\n"
        "  kaf: {class: kafka, Kafka_Brokers: [localhost], Kafka_Default_Topic: to}\ntables: [tables.sql]\n"
        f"actions: [{columns}{pure.PLAIN}, {{action: ColumnProperties, Name: gone, Extra: true, SoftDelete: true}}]\n"
    )
    made = pure.build(str(tmp_path / "c.yaml"), "UTC").recipe
    row = {"id": 1, "v": "a", "price": None, "at": None, "w": 0.5}
    connect = b'{"schema":{"type":"struct","fields":[{"field":"id","type":"int64"}]},"payload":{"id":1}}'
    record = [
        (framed(9, {"id": 1}), framed(8, row), ("trace", b"t0")),
        (framed(9, {"id": 1}), None, ("other", b"x"), ("trace", b"t1")),
        (b"1", b'{"id": 1, "v": "json"}'),
        (connect, None, ("trace", None)),
        (b"k", framed(8, {**row, "id": 2})),
    ]
    found = read([record[at:] + record[:at] for at in range(PARTITIONS)], replace(ENCODING, table=None))
    check_joined(found, made)
    joins.clear()
    outcome = found.outcome(made, found.slices(groups=lambda _: 1))
    assert joins == [(PARTITIONS, True)]
    assert sum('"header":"t1"' in one for one in outcome[0]) == PARTITIONS
    assert sum('"gone":1' in one for one in outcome[0]) == 2 * PARTITIONS


def test_lines_together_are_what_they_are_apart():
    chance, codes = random.Random(5), np.random.default_rng(5)
    parts = []
    for number in range(20):
        count = chance.randrange(1, 5)
        lines = [b'{"schema":0,"payload":%d}\n' % (10 * number + one) for one in range(count)]
        values = [b'{"n":%d}' % one for one in chance.sample(range(4), 2)]
        left_out = LeftOut(values, codes.integers(-1, 2, count).astype(np.int32), 10) if chance.random() < 0.7 else None
        tables = tuple(Source("s", name) for name in chance.sample("abc", chance.randrange(3)))
        record = [{"topic": "t", "offset": one} for one in range(count)] if chance.random() < 0.5 else None
        origin = Origin(
            tables,
            codes.integers(-1, len(tables), count).astype(np.int32),
            codes.integers(0, 9, count),
            None if record is None else pa.array(record, RECORD),
        )
        ends = np.cumsum([0, *map(len, lines)]).astype(np.int32)
        given = origin if chance.random() < 0.7 else None
        parts.append(Lines(f"p{number}", b"".join(lines), np.arange(count), ends, left_out=left_out, origin=given))
    found = together("all", parts, [part.numbers + 100 * at for at, part in enumerate(parts)])

    def seen(lines, at):
        origin, code = lines.origin, -1 if lines.origin is None else lines.origin.codes[at]
        record = None if origin is None or origin.record is None else origin.record[at].as_py()
        return (
            lines.whole(at),
            None if code < 0 else origin.tables[code],
            NO_TIME if origin is None else origin.times[at],
            record,
        )

    assert [seen(found, at) for at in range(len(found))] == [
        seen(part, at) for part in parts for at in range(len(part))
    ]
    assert found.numbers.tolist() == [number + 100 * at for at, part in enumerate(parts) for number in part.numbers]


def test_a_topic_that_was_made_anew_is_an_error(read, tmp_path, monkeypatch):
    class Other:
        def topics(self, names):
            return {one: Topic("other", 1) for one in names}

    made = pure.recipe(tmp_path, DDL, PLAIN)
    found = read([rows(0, 1), rows(1, 2)])
    monkeypatch.setattr(slice_file, "cluster_of", lambda _: Other())
    assert "t: was deleted and created again" in found.outcome(made, found.slices(groups=lambda _: 1))


def test_ranges_that_are_large_after_all_are_read_one_by_one(read, joins, tmp_path, monkeypatch):
    made = pure.recipe(tmp_path, DDL, PLAIN)
    found = read([rows(0, 1, 2), rows(1, 2), rows(2, 3)])
    expected = found.outcome(made, found.slices())
    monkeypatch.setattr(joined_slices, "MOST_BYTES", 100)
    assert found.outcome(made, found.slices(groups=lambda _: 1)) == expected
    assert not joins
