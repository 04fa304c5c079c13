"""The small parts: key hash, journal, state, sync, working ahead, errors over processes."""

import multiprocessing
import time
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.fs
import pytest
import xxhash

from integrator.contracts.fragments import Checkpoint, FileSummary, PresentFields, StreamSummary
from integrator.contracts.report import Report
from integrator.contracts.sequence import OpenTransaction
from integrator.contracts.streams import PositionRange
from integrator.decode.lines.files import open_file
from integrator.deliver.kafka.sender_lock import Senders
from integrator.errors import DataError, DeliveryError, EnvironmentFault, from_wire
from integrator.prefetch import prefetch
from integrator.run.state.directory import State
from integrator.run.state.sync import check_acknowledged
from integrator.sources.files.listing import Listing
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import Slice
from integrator.transform.key_hash import canonical
from tests.parts import pure
from tests.parts.waiting import PATIENCE_S

MOMENT = datetime(2026, 1, 1, tzinfo=timezone.utc)
CANONICAL = [
    (pa.array([42, None]), [b"i2:42", b"-"]),
    (pa.array(["é", ""]), [b"t2:\xc3\xa9", b"t0:"]),
    (pa.array([b"\x00"]), [b"x1:\x00"]),
    (pa.array([True]), [b"b4:true"]),
    (pa.array([1.5]), [b"f3:1.5"]),
    (pa.array(["1.50"]).cast(pa.decimal128(5, 2)), [b"d4:1.50"]),
    (pa.array(["0.0000000001"]).cast(pa.decimal128(20, 10)), [b"d12:0.0000000001"]),
    (pa.array([1], pa.date32()), [b"D1:1"]),
    (pa.array([1], pa.time32("ms")), [b"c4:1000"]),
    (pa.array([1], pa.timestamp("ms", "UTC")), [b"m4:1000"]),
]


@pytest.mark.parametrize(("values", "texts"), CANONICAL)
def test_what_a_key_hash_is_taken_over(values, texts):
    assert canonical(values).to_pylist() == texts


def test_the_key_hash_of_two_columns(tmp_path):
    recipe = pure.recipe(
        tmp_path,
        "create table t(a int, b text, c text, primary key(a, b));",
        "\n".join(f"  - {{action: ColumnProperties, Name: {name}, DistributionKey: true}}" for name in "ab"),
    )
    sent, _ = pure.fragments(recipe, pure.hvr(tmp_path, {"a": 7, "b": "x", "c": "y"}))
    assert sent["key"].to_pylist() == [xxhash.xxh64_hexdigest(b"i1:7t1:x").encode()]


def test_a_key_without_a_value_is_an_error(tmp_path):
    recipe = pure.recipe(tmp_path, "create table t(a int primary key, b text);")
    with pytest.raises(DataError, match="the record has no value for a, which the message key is made of"):
        pure.fragments(recipe, pure.hvr(tmp_path, {"b": "x"}))


def test_i5_a_message_above_the_maximum_is_refused_with_its_row_and_remedy(tmp_path):
    recipe = pure.recipe(
        tmp_path,
        "create table t(a int primary key, b text);",
        '  - {action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: "4096"}',
    )
    _, [note] = pure.fragments(recipe, pure.hvr(tmp_path, {"a": 1, "b": "x" * 3600}))
    assert note.rows == 1
    with pytest.raises(DataError) as raised:
        pure.fragments(recipe, pure.hvr(tmp_path, {"a": 1, "b": "x"}, {"a": 2, "b": "x" * 4000}))
    told = str(raised.value)
    assert "a.jsonl:2: table t, key a=2: the message has" in told
    assert "HVR_KAFKA_MSG_MAX_BYTES is 4096; the largest columns are b (4,000 bytes)" in told


def test_shapes_are_short_texts():
    for shape in (
        PresentFields(),
        PresentFields((0, 5, 70)),
        PresentFields(truncate=True),
        PresentFields((2,), truncate=True),
    ):
        assert PresentFields.of_text(shape.to_text()) == shape


def test_the_journal_keeps_numbers_and_survives_a_torn_line(tmp_path):
    path = tmp_path / "files.jsonl"
    journal = Journal(path)
    journal.take([Slice("b", 10), Slice("c", 10)])
    with path.open("a") as torn:
        torn.write('{"path": "d"')
    again = Journal(path)
    again.take([Slice("a", 10), Slice("c", 10)])
    with pytest.raises(EnvironmentFault, match="b: has 99 bytes and had 10 when it was taken"):
        again.take([Slice("b", 99)])
    assert again.renew([Slice("b", 99), Slice("c", 99)], synced=1) == ["c"]
    assert again.renew([Slice("c", 10)], synced=1) == ["c"]
    assert [(n, e.path, e.size) for n, e in Journal(path).between(0, 3)] == [(1, "b", 10), (2, "c", 10), (3, "a", 10)]
    assert [again.limit(0, size) for size in (1, 10, 15, 20, 0)] == [1, 1, 1, 2, 3]


@pytest.mark.parametrize(("order", "names"), [("name", ["a.jsonl", "b.jsonl"]), ("time", ["b.jsonl", "a.jsonl"])])
def test_files_are_listed_in_order_without_temporary_ones(order, names, tmp_path):
    for name in ("b.jsonl", "a.jsonl", ".hidden.jsonl", "_x.jsonl", "c.jsonl.tmp", "other.txt"):
        (tmp_path / name).write_text("x")
        time.sleep(0.01)
    found = Listing(str(tmp_path), "*.jsonl", (".*", "_*", "*.tmp"), order).slices()
    assert [entry.path.rpartition("/")[2] for entry in found] == names
    assert Listing(f"{tmp_path}/b*", "*", (), order).slices()[0].path.endswith("/b.jsonl")
    with pytest.raises(EnvironmentFault, match="there is no such directory or file"):
        Listing(str(tmp_path / "nothing"), "*", (), order).slices()


def test_files_at_a_uri_are_named_as_they_are_opened(tmp_path):
    (tmp_path / "a b#c%20d.jsonl").write_text("{}\n")
    [entry] = Listing(f"file://{tmp_path}/*.jsonl", "*", (), "name").slices()
    assert entry.path == f"file://{tmp_path}/a%20b%23c%2520d.jsonl"
    with open_file(entry.path) as stream:
        assert stream.read() == b"{}\n"


def test_the_options_of_a_uri_reach_the_store(tmp_path, monkeypatch):
    asked = []
    local = pyarrow.fs.LocalFileSystem()
    opened = SimpleNamespace(from_uri=lambda uri: asked.append(uri) or (local, str(tmp_path)))
    monkeypatch.setattr(pyarrow.fs, "FileSystem", opened)
    (tmp_path / "a.jsonl").write_text("{}\n")
    options = "?region=eu-west-1&endpoint_override=localhost:9000"
    [entry] = Listing(f"s3://bucket/in/*.jsonl{options}", "*", (), "name").slices()
    assert asked == [f"s3://bucket/in{options}"]
    assert entry.path == f"s3://{tmp_path}/a.jsonl{options}"


def test_two_integrators_of_one_channel_refuse_each_other(tmp_path):
    first, second = State(str(tmp_path / "s")), State(str(tmp_path / "s"))
    first.lock("shop", 0)
    with pytest.raises(EnvironmentFault, match=r"shop is being integrated already, by process \d+"):
        second.lock("shop", 0)
    first.unlock()
    second.lock("shop", 0)
    second.unlock()


def test_i3_a_successor_waits_for_tasks_that_still_send(tmp_path):
    state = State(str(tmp_path))
    state.lock("shop", 0)
    state.unlock()
    context = multiprocessing.get_context("spawn")
    ready, leave = context.Event(), context.Event()
    sender = context.Process(target=hold, args=(str(tmp_path), ready, leave))
    sender.start()
    assert ready.wait(PATIENCE_S)
    with pytest.raises(EnvironmentFault, match="still sending"):
        state.lock("shop", 0.2)
    leave.set()
    sender.join()
    state.lock("shop", 5)
    state.unlock()


def test_i3_a_task_that_comes_when_its_successor_has_waited_sends_nothing(tmp_path):
    state = State(str(tmp_path))
    state.lock("shop", 0)
    of_before = Senders.now(tmp_path)
    with of_before.sending():
        pass
    state.begin_turn(0)
    with pytest.raises(DeliveryError, match="a task of an earlier try came too late"), of_before.sending():
        pass
    with Senders.now(tmp_path).sending():
        pass
    state.unlock()


def hold(directory, ready, leave):
    with Senders.now(Path(directory)).sending():
        ready.set()
        leave.wait(PATIENCE_S)


def report(sent, acknowledged, error=None, summaries=()):
    return Report(messages=sent, acknowledged=acknowledged, bytes=0, error=error, newest=5, summaries=summaries)


def ending(ordinal, opened):
    """Where the only stream stands after a file."""
    return {"": StreamSummary(ordinal, f"{ordinal}.jsonl", opened, PositionRange())}


def test_i1_a_cycle_is_synced_only_when_all_is_acknowledged(tmp_path):
    note = FileSummary(3, 5, ending(3, OpenTransaction("A", 1, since_start=False)), {"op 0 in style Standard": 2})
    cycle = check_acknowledged(4, [report(2, 2, summaries=(note,)), report(1, 1)], Checkpoint(), MOMENT, 0.5)
    assert (cycle.messages, cycle.rows, cycle.checkpoint.ordinal, cycle.checkpoint.open) == (
        3,
        5,
        3,
        note.streams[""].open,
    )
    assert cycle.not_sent == note.not_sent
    state = State(str(tmp_path))
    state.lock("shop", 0)
    state.mark(cycle)
    assert state.checkpoint(5) == cycle.checkpoint
    assert state.checkpoint(0) == Checkpoint()
    with pytest.raises(EnvironmentFault, match=r"8\.json: the mark of a synced cycle cannot be read"):
        state.checkpoint(9)
    state.unlock()
    for reports in ([report(2, 1)], [report(2, 2, "broken")]):
        with pytest.raises(DeliveryError, match=r"cycle 0: [12] of 2 messages acknowledged"):
            check_acknowledged(0, reports, Checkpoint(), MOMENT, 0.5)


def test_a_stream_stands_where_the_last_of_its_slices_ends_in_whichever_order_they_were_read():
    def at(ordinal, tx):
        place = f"{tx}|{0:016}"
        return StreamSummary(ordinal, f"t/{ordinal}", OpenTransaction(place, 1), PositionRange("hvr", place, place))

    first = FileSummary(9, 3, {"a": at(9, f"{7:020}"), "b": at(2, f"{1:020}")}, {}, files=6)
    other = FileSummary(4, 1, {"b": at(4, f"{2:020}")}, {})
    cycle = check_acknowledged(0, [report(1, 1, summaries=(first, other))], Checkpoint(), MOMENT, 0.5)
    assert (cycle.files, cycle.checkpoint.ordinal) == (7, 9)
    assert {name: one.tx for name, one in cycle.checkpoint.streams.items()} == {
        "a": f"{7:020}|{0:016}",
        "b": f"{2:020}|{0:016}",
    }
    wrong = FileSummary(4, 1, {"b": at(4, f"{1:020}")}, {}, path="t/3")
    with pytest.raises(DataError, match=r"t/4: its first change is at .* which is not after"):
        check_acknowledged(0, [report(1, 1, summaries=(first, wrong))], Checkpoint(), MOMENT, 0.5)


def test_reports_and_errors_cross_processes_as_text():
    note = FileSummary(1, 2, ending(1, OpenTransaction("A", 1, since_start=True)), {"x": 1})
    sent = report(1, 1, summaries=(note,))
    assert Report.of_json(sent.to_json()) == sent
    wire = DataError("a\nb").to_wire()
    error = from_wire(f"java.lang.Exception: RuntimeError: {wire}\n at org.apache")
    assert isinstance(error, DataError)
    assert str(error) == "a\nb"
    assert from_wire("something else") is None


def test_working_ahead_keeps_order_and_passes_errors_on():
    assert list(prefetch(iter(range(100)))) == list(range(100))

    def broken():
        yield 1
        raise DataError("here")

    items = prefetch(broken())
    assert next(items) == 1
    with pytest.raises(DataError, match="here"):
        next(items)
    for item in prefetch(iter(range(100))):  # a consumer that stops early leaves no thread behind
        assert item == 0
        break
