"""Ranges of topics in the journal and as files: no cluster is needed for these."""

import json
import pickle
from unittest.mock import Mock

import numpy as np
import pytest

from integrator.decode.encodings.program import between
from integrator.decode.encodings.writing import write
from integrator.durable import Damaged
from integrator.engine.transcode import JSON
from integrator.errors import EnvironmentFault, SourceAway
from integrator.librdkafka.cluster import ClusterFault
from integrator.librdkafka.fetching import Range, ReadFault
from integrator.sources import stream
from integrator.sources.journal import digests
from integrator.sources.journal import journal as journals
from integrator.sources.journal.digests import Beginning
from integrator.sources.journal.journal import Journal
from integrator.sources.kafka import faults, slice_file
from integrator.sources.kafka.listing import TopicListing
from integrator.sources.kafka.ranges import Stream, of_path, stream_of
from integrator.sources.slices import Slice

ONE, OTHER = Stream("shop.orders", "k4-X_9pQ", 0), Stream("shop.orders", "k4-X_9pQ", 11)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal"


def test_a_path_has_all_that_a_reader_needs():
    found = ONE.slice(5, 12, 700)
    assert found == Slice("shop.orders#k4-X_9pQ/0/5-12", 700, 0, "shop.orders#k4-X_9pQ/0", 5, 12)
    stream_found, wanted = of_path(found.path)
    assert (stream_found, wanted.topic, wanted.partition, wanted.begin, wanted.end) == (ONE, "shop.orders", 0, 5, 12)
    assert stream_of(str(OTHER)) == OTHER


def test_where_a_stream_begins_is_durable(path):
    Journal(path).take([ONE.slice(40, 40, 0), OTHER.slice(7, 7, 0)])
    assert Journal(path).ends == {str(ONE): 40, str(OTHER): 7}


def test_a_range_that_is_not_on_disk_was_not_taken(path, monkeypatch):
    journal = Journal(path)
    journal.take([ONE.slice(0, 0, 0), ONE.slice(0, 10, 100)])
    with monkeypatch.context() as patch:
        patch.setattr(journals.durable, "append", Mock(side_effect=OSError("no space left")))
        with pytest.raises(OSError, match="no space left"):
            journal.take([ONE.slice(10, 20, 100)])
    assert journal.ends == Journal(path).ends == {str(ONE): 10}


def test_a_range_begins_where_its_stream_has_ended(path):
    journal = Journal(path)
    journal.take([ONE.slice(0, 0, 0), ONE.slice(0, 10, 100), ONE.slice(10, 12, 20)])
    for wrong in (ONE.slice(13, 15, 20), ONE.slice(11, 15, 20), ONE.slice(9, 9, 0), OTHER.slice(0, 5, 50)):
        with pytest.raises(Damaged, match="does not begin at"):
            Journal(path).take([wrong])
    journal.take([ONE.slice(20, 20, 0), ONE.slice(20, 25, 50)])  # what was between is lost, and accepted
    assert Journal(path).ends == {str(ONE): 25}


def test_where_streams_end_after_a_cycle_is_read_on(path, monkeypatch):
    monkeypatch.setattr(journals, "LEAST_COMPACTED", 1)
    beginning, journal = Beginning(path), Journal(path)
    assert beginning.ends(0) == beginning.ends(1) == {}
    journal.take([ONE.slice(0, 0, 0), OTHER.slice(7, 7, 0), ONE.slice(0, 10, 100)])
    found = {number: beginning.ends(number) for number in (1, 2, 3, 2, 4)}
    assert found == {1: {str(ONE): 0}, 2: {str(ONE): 0, str(OTHER): 7}, 3: {str(ONE): 10, str(OTHER): 7}, 4: {}}
    assert beginning.ends(3) == found[3]
    lines = []
    read = digests.json.loads
    monkeypatch.setattr(digests, "json", Mock(loads=lambda line: lines.append(line) or read(line)))
    journal.take([OTHER.slice(7, 9, 5), ONE.slice(20, 20, 0)])  # what was between is lost, and accepted
    assert beginning.ends(5) == {str(ONE): 20, str(OTHER): 9}
    assert len(lines) == 2
    journal.compact(4)
    assert beginning.ends(4) == {str(ONE): 10, str(OTHER): 9}
    assert beginning.ends(5) == {str(ONE): 20, str(OTHER): 9}


def test_ends_are_kept_through_compaction_and_ranges_are_not(path, monkeypatch):
    monkeypatch.setattr(journals, "LEAST_COMPACTED", 1)
    journal = Journal(path)
    journal.take([Slice("a.jsonl", 3, 9), ONE.slice(0, 0, 0), *(ONE.slice(at, at + 1, 5) for at in range(10))])
    digest = journal.digest(12)
    journal.compact(10)
    again = Journal(path)
    assert (again.compacted, again.ends, again.digest(12)) == (10, {str(ONE): 10}, digest)
    assert [len(one.read_bytes()) for one in path.parent.glob("*.known")] == [16]  # of the file alone
    again.take([ONE.slice(10, 12, 9)])
    again.compact(13)
    assert Journal(path).ends == {str(ONE): 12}


@pytest.mark.parametrize(
    "line",
    [
        {"path": "t#i/0/0-5", "size": 1, "mtime": 0, "stream": "t#i/0", "begin": 0},
        {"path": "t#i/0/0-5", "size": 1, "mtime": 0, "stream": "", "begin": 0, "end": 5},
        {"path": "t#i/0/0-5", "size": 1, "mtime": 0, "stream": "t#i/0", "begin": 5, "end": 0},
        {"path": "t#i/0/0-5", "size": 1, "mtime": 0, "stream": "t#i/0", "begin": "0", "end": 5},
    ],
)
def test_damaged_ranges_are_found(path, line):
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(Damaged, match=":1: the journal is damaged"):
        Journal(path)


def test_ranges_of_a_stream_are_read_together():
    entries = [(1, ONE.slice(0, 5, 1)), (2, OTHER.slice(0, 5, 1)), (3, ONE.slice(5, 9, 1)), (4, OTHER.slice(5, 6, 1))]
    assert [number for number, _ in stream._by_stream(entries)] == [1, 3, 2, 4]
    files = [(1, Slice("b", 1)), (2, Slice("a", 1))]
    assert stream._by_stream(files) == files


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (b'{"a": 1}', b'{"a": 1}'),
        (b'{\n  "a": "x\\ny",\r\n  "b": [1,\n2]\n}', b'{   "a": "x\\ny",\r   "b": [1, 2] }'),
        (b'{"a": "x\ny"}', b'{"a": "x\x0by"}'),
        (b"\n\n", b"\x0b"),
        (b"", b"\x0b"),
    ],
)
def test_a_document_over_several_lines_is_one_and_a_line_end_in_a_string_stays_wrong(value, line):
    text = np.frombuffer(value, np.uint8)
    written = write(text, np.array([0]), np.array([len(value)]), np.zeros(1, np.int32), [between(JSON, b"", b"")])
    assert bytes(written.data) == line + b"\n"


def test_positions_of_two_partitions_differ():
    files = [
        slice_file.SliceFile(one.place, 1, stream=one, range=of_path(one.slice(0, 9, 1).path)[1])
        for one in (ONE, OTHER)
    ]
    assert files[0].places_of(np.array([0, 1 << 40])).to_pylist() == ["0" * 20, "0000000001" + "0" * 10]
    assert files[0].segment != files[1].segment
    assert {len(one.segment) for one in files} == {16}


WANTED = Range("shop.orders", 3, 10, 90)
SAID = [
    (
        ReadFault("overtaken", WANTED, 10, "", 15, 90),
        EnvironmentFault,
        "shop.orders/3: the records from offset 10 to 14 were deleted",
    ),
    (
        ReadFault("cut", WANTED, 40, "", 0, 40),
        EnvironmentFault,
        "shop.orders/3: has records up to offset 39, and had them up to 89",
    ),
    (ReadFault("unknown", WANTED, 10, ""), EnvironmentFault, "shop.orders: the topic is not there any more"),
    (
        ReadFault("not allowed", WANTED, 10, "x"),
        EnvironmentFault,
        "shop.orders/3: may not be read (x); the operator of the brokers must allow",
    ),
    (
        ReadFault("silent", WANTED, 12, "x"),
        SourceAway,
        "shop.orders/3: nothing came from k:9092 for offset 12 (x); start the brokers",
    ),
    (
        ClusterFault("not allowed", "g", "x"),
        EnvironmentFault,
        "g: not allowed (x); the operator of the brokers must allow our user",
    ),
    (ClusterFault("away", "", "x"), SourceAway, "no broker of k:9092 answers (x); start it"),
    (ClusterFault("other", "t/0", "x"), EnvironmentFault, "t/0: x; see the brokers' logs"),
]


@pytest.mark.parametrize(("fault", "kind", "text"), SAID)
def test_what_went_wrong_is_an_error_with_its_place_and_a_remedy(fault, kind, text):
    with pytest.raises(kind) as raised, faults.explained(lambda: "k:9092"):
        raise fault
    assert text in str(raised.value)


@pytest.mark.parametrize("cores", [1, 4, 16])
def test_other_numbers_of_cores_read_the_same_ranges(path, cores):
    journal = Journal(path)
    journal.take([ONE.slice(0, 0, 0), OTHER.slice(0, 0, 0)])
    for at in range(0, 60, 10):
        journal.take([one.slice(at, at + 10, 9_000_000) for one in (ONE, OTHER)])
    stream.note_cores(path.parent, cores)
    options = {"journal": str(path), "bytes": "0", "one_task_bytes": "1000", "shuffling_cores": "2"}
    reader = stream._Reader(pickle.dumps(TopicListing((), (), {})), options)
    tasks = [[row for row in part.rows if row[5]] for part in reader.partitions({"slices": 0}, {"slices": 14})]
    assert len(tasks) == min(cores, 12)
    paths = [row[1] for rows in tasks for row in rows]
    assert paths == [entry.path for one in (ONE, OTHER) for entry in journal.uncompacted if entry.stream == str(one)]
    of_streams = [{row[4] for row in rows} for rows in tasks]
    assert cores == 1 or all(len(streams) == 1 for streams in of_streams)
