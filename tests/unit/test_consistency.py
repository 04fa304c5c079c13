"""A state directory whose parts do not belong together is refused, with what to do about it."""

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from integrator.contracts.fragments import FRAGMENT, Checkpoint, to_deferred
from integrator.durable import Damaged
from integrator.errors import EnvironmentFault
from integrator.run.state import consistency, rewind
from integrator.run.state.sync import Cycle
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import Slice
from integrator.tables import discovered_columns
from tests.parts import states

DEFERRED = to_deferred([pa.RecordBatch.from_pylist([{"topic": "t", "op": 1}], schema=FRAGMENT)])
CYCLES = 4


def cut(path, size=0):
    return lambda state: (state.path / path).write_bytes((state.path / path).read_bytes()[:size])


def zero(path):
    return lambda state: (state.path / path).write_bytes(bytes((state.path / path).stat().st_size))


def gone(*paths):
    return lambda state: [(state.path / path).unlink() for path in paths]


def removed(path):
    return lambda state: shutil.rmtree(state.path / path)


def older(*paths):
    """Parts of the state as they were two cycles before."""

    def replace(state):
        before = states.of_cycles(state.path.with_name("before"), CYCLES - 2).path
        for path in paths:
            target = state.path / path
            shutil.rmtree(target) if target.is_dir() else target.unlink()
            copy = shutil.copytree if (before / path).is_dir() else shutil.copy
            copy(before / path, target)

    return replace


def edited(path, before, after):
    return lambda state: (state.path / path).write_text((state.path / path).read_text().replace(before, after))


def line(number, text):
    """The journal with another line."""

    def replace(state):
        lines = state.journal.read_text().splitlines()
        lines[number - 1] = text
        state.journal.write_text("".join(f"{one}\n" for one in lines))

    return replace


def swapped(state):
    lines = state.journal.read_text().splitlines()
    state.journal.write_text("".join(f"{one}\n" for one in (lines[1], lines[0], *lines[2:])))


SHORTER = (
    r"files\.jsonl: the journal is gone or cut: it has \d change files?, and cycles that were synced or begun have 8"
)
UNREADABLE = r"synced/3\.json: the mark of a synced cycle cannot be read"
DAMAGE = {
    "the journal is gone": (gone("files.jsonl"), SHORTER),
    "the journal is empty": (cut("files.jsonl"), SHORTER),
    "the journal is cut in a line": (cut("files.jsonl", 100), SHORTER),
    "the journal is cut in its last line": (cut("files.jsonl", -3), SHORTER),
    "the journal has zeros": (zero("files.jsonl"), SHORTER),
    "the journal is older": (older("files.jsonl"), SHORTER),
    "a line is no JSON": (line(3, '{"path": "/in/x'), r"files\.jsonl:3: the journal is damaged: .* is no JSON"),
    "a line has zeros": (line(3, "\0\0"), r"files\.jsonl:3: the journal is damaged"),
    "a line is no object": (line(3, "7"), r"files\.jsonl:3: .* no object with path, size and mtime"),
    "a line has no size": (line(3, '{"path": "/in/x"}'), r"files\.jsonl:3: .* no object with path, size and mtime"),
    "a line has more": (line(3, '{"path": "/x", "size": 1, "y": 1}'), r"files\.jsonl:3: .* no object with path"),
    "a size is text": (line(3, '{"path": "/x", "size": "1"}'), r"files\.jsonl:3: .* size and mtime are whole numbers"),
    "a size is a truth value": (line(3, '{"path": "/x", "size": true}'), r"files\.jsonl:3: .* whole numbers"),
    "a size is below zero": (line(3, '{"path": "/x", "size": -1}'), r"files\.jsonl:3: .* whole numbers"),
    "a path is twice": (
        line(3, '{"path": "/in/001.jsonl", "size": 1}'),
        r"files\.jsonl:3: .*001\.jsonl is in line 1, too",
    ),
    "a path is another": (line(3, '{"path": "/in/x", "size": 1}'), r"its change files up to number 8 are not those"),
    "two files are in another order": (
        swapped,
        r"its change files up to number 8 are not those that were synced up to cycle 3",
    ),
    "the checkpoint is gone": (removed("checkpoint"), r"offsets: the checkpoint is gone, but .* has 4 synced cycles"),
    "no cycle is in the checkpoint": (
        lambda state: [removed("checkpoint/offsets")(state), (state.path / "checkpoint/offsets").mkdir()],
        r"offsets: the checkpoint is gone, but .* has 4 synced cycles",
    ),
    "the checkpoint is older": (
        older("checkpoint"),
        r"ends with cycle 1, but cycle 3 was synced: .* older than the marks",
    ),
    "the last offset is gone": (gone("checkpoint/offsets/3"), r"ends with cycle 2, but cycle 3 was synced"),
    "the offset before it is gone": (gone("checkpoint/offsets/2"), r"offsets/2: cannot be read: No such file"),
    "the last offset is empty": (cut("checkpoint/offsets/3"), r"offsets/3: begins with b'', and not with v1"),
    "the last offset is cut": (cut("checkpoint/offsets/3", 15), r"offsets/3: has not two lines of JSON"),
    "the last offset has zeros": (zero("checkpoint/offsets/3"), r"offsets/3: begins with"),
    "the last offset is another": (
        edited("checkpoint/offsets/3", "8", "9"),
        r"synced or begun have 9|was synced with files 7",
    ),
    "the last offset is no number": (edited("checkpoint/offsets/3", "8", '"8"'), r"offsets/3: its offset is"),
    "an offset has other checksums": (
        lambda state: (state.path / "checkpoint/offsets/.3.crc").write_bytes(b"crc\0\0\0\2\0abcd"),
        r"offsets/3: does not have the checksums that are in \.3\.crc",
    ),
    "the last commit is empty": (cut("checkpoint/commits/3"), r"commits/3: begins with b''"),
    "the metadata is gone": (gone("checkpoint/metadata"), r"metadata: is gone or damaged"),
    "the metadata is empty": (cut("checkpoint/metadata"), r"metadata: is gone or damaged"),
    "the marks are gone": (
        removed("synced"),
        r"synced: has no marks of synced cycles, and Spark's checkpoint is at cycle 3",
    ),
    "the marks are older": (
        older("synced"),
        r"3\.json: the mark of a cycle that Spark's checkpoint has as done is gone",
    ),
    "the last mark is gone": (
        gone("synced/3.json"),
        r"3\.json: the mark of a cycle .* is gone; the last one .* cycle 2",
    ),
    "a mark in the middle is gone": (
        gone("synced/1.json"),
        r"1\.json: is gone, and there are marks of cycles before it",
    ),
    "the last mark is empty": (cut("synced/3.json"), UNREADABLE),
    "the last mark is cut": (cut("synced/3.json", 80), UNREADABLE),
    "the last mark has zeros": (zero("synced/3.json"), UNREADABLE),
    "the last mark is another cycle's": (
        lambda state: shutil.copy(state.path / "synced/2.json", state.path / "synced/3.json"),
        r"3\.json: is no mark of cycle 3",
    ),
    "the last mark has other files": (
        edited("synced/3.json", '"planned": 8', '"planned": 9'),
        r"cycle 3 was synced with files 7 to 9 of the journal, and in .*offsets it has files 7 to 8",
    ),
    "the last mark has more files": (
        edited("synced/3.json", '"ordinal": 8', '"ordinal": 9'),
        r"the journal is gone or cut",
    ),
    "the rows that wait are gone": (gone("synced/3.held"), r"3\.held: rows that wait .* are lost"),
    "the rows that wait are cut": (cut("synced/3.held", 100), r"3\.held: rows that wait .* are (lost|damaged)"),
    "the rows that wait are others": (
        lambda state: (state.path / "synced/3.held").write_bytes(DEFERRED.replace(b"t", b"u")),
        r"3\.held: rows that wait .* are (lost|damaged)",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_i4_what_does_not_belong_together_is_refused_and_a_remedy_mends_it(damage, tmp_path):
    state = states.of_cycles(tmp_path / "state", CYCLES, DEFERRED)
    consistency.check(state)
    change, said = DAMAGE[damage]
    change(state)
    with pytest.raises(EnvironmentFault, match=said) as raised:
        consistency.check(state)
    told = str(raised.value)
    assert "import a backup (integrator state --channel FILE --import BACKUP --replace)" in told
    assert f"remove everything in {state.path} to send all files" in told
    back = re.search(r"--back-to (\d+)", told)
    if back:
        rewind.move_back(state, int(back[1]))
    else:
        shutil.rmtree(state.path)
        state.make()
    consistency.check(state)


HARMLESS = {
    "nothing was done yet": lambda state: [removed(part)(state) for part in ("checkpoint", "synced")],
    "the commits are gone": removed("checkpoint/commits"),
    "the last commit is gone": gone("checkpoint/commits/3"),
    "an old offset is gone": gone("checkpoint/offsets/0"),
    "the offsets that Spark does not read are gone": gone("checkpoint/offsets/0", "checkpoint/offsets/1"),
    "an old mark is gone": gone("synced/0.json"),
    "the first cycle was begun": lambda state: (
        [removed(part)(state) for part in ("checkpoint", "synced")] and states.begin(state, 0)
    ),
    "the next cycle was begun": lambda state: states.begin(state, 4),
    "the next cycle is synced": lambda state: [states.begin(state, 4), states.sync(state, 4)],
    "all is older": older("checkpoint", "synced", "files.jsonl"),
}
"""What a crash leaves, or what nothing depends on."""


@pytest.mark.parametrize("case", HARMLESS)
def test_what_a_crash_leaves_is_no_damage(case, tmp_path):
    state = states.of_cycles(tmp_path / "state", CYCLES)
    HARMLESS[case](state)
    consistency.check(state)


def test_a_cycle_without_slices_is_no_damage(tmp_path):
    """Its mark has the digest of a journal without entries, whether there is a file of it or not."""
    state = states.of_cycles(tmp_path / "state", 0)
    states.begin(state, 0)
    state.mark(Cycle(0, 0, 0, 0, 0, None, {}, {}, Checkpoint()))
    states.spark(state, "offsets", 0, {"batchWatermarkMs": 0}, {"slices": 0})
    consistency.check(state)


def test_checksums_of_a_file_that_is_gone_are_removed(tmp_path):
    """Spark takes them for those of another stream, which writes the file now."""
    state = states.of_cycles(tmp_path / "state", CYCLES)
    stray = Path(state.spark_checkpoint) / "offsets" / ".4.crc"
    stray.write_bytes(b"crc")
    consistency.check(state)
    assert not stray.exists()


def test_a_cycle_whose_segments_after_it_are_gone_cannot_be_gone_back_to(tmp_path, monkeypatch):
    spool = tmp_path / "state" / "spool"
    monkeypatch.setattr(states, "inbox_file", lambda number: Slice(f"{spool}/{number:012d}.a.1.jsonl", 1))
    state = states.of_cycles(tmp_path / "state", 4)  # of two segments each
    spool.mkdir()
    for number in range(5, 9):
        (spool / f"{number:012d}.a.1.jsonl").touch()
    for cycle in (1, 2, 3):
        consistency.check_whole(state, cycle)
    with pytest.raises(Damaged, match=r"000000000003\.a\.1\.jsonl: is not there any more"):
        consistency.check_whole(state, 0)


@pytest.mark.parametrize("part", ["offsets", "commits"])
def test_files_that_an_ended_process_had_not_finished_are_removed(part, tmp_path):
    """Spark refuses to begin cycle 0 where they are."""
    state = states.of_cycles(tmp_path / "state", 0)
    left = states.unfinished(Path(state.spark_checkpoint) / part)
    consistency.check(state)
    assert not any(path.exists() for path in left)


def test_a_line_that_a_crash_cut_is_cut_off_before_more_is_added(tmp_path):
    state = states.of_cycles(tmp_path / "state", CYCLES)
    whole = state.journal.read_bytes()
    with state.journal.open("ab") as journal:
        journal.write(b'{"path": "/in/0')
    journal = consistency.check(state)
    assert len(journal) == 8
    journal.take([states.inbox_file(9)])
    assert state.journal.read_bytes().startswith(whole + b'{"path": "/in/009.jsonl"')
    assert len(Journal(state.journal)) == 9


def test_i4_a_cycle_that_was_synced_with_other_files_is_not_passed_over(tmp_path):
    state = states.of_cycles(tmp_path / "state", CYCLES)
    assert consistency.check_cycle(state, 3) == 8
    states.spark(state, "offsets", 3, {}, {"slices": 7})
    with pytest.raises(
        EnvironmentFault, match=r"cycle 3 was synced with files 7 to 8 of the journal, and .* files 7 to 7"
    ):
        consistency.check_cycle(state, 3)


def test_i4_a_cycle_begins_where_the_last_one_ended(tmp_path):
    state = states.of_cycles(tmp_path / "state", CYCLES)
    states.begin(state, 4)
    assert consistency.check_cycle(state, 4) == 10
    states.spark(state, "offsets", 3, {}, {"slices": 9})
    with pytest.raises(EnvironmentFault, match="cycle 3 was synced with files 7 to 8"):
        consistency.check_cycle(state, 4)


def test_a_gap_of_cycles_that_are_kept_no_more_is_no_damage(tmp_path):
    """A crash between a mark and the removal of the one that is kept no more leaves that for ever."""
    state = states.of_cycles(tmp_path / "state", 103)
    shutil.copy(state.path / "synced/3.json", state.path / "synced/0.json")
    consistency.check(state)


def test_lines_that_were_received_are_not_removed_by_a_remedy(tmp_path):
    state = states.of_cycles(tmp_path / "state", 2)
    state.spool.mkdir()
    state.journal.unlink()
    with pytest.raises(EnvironmentFault, match="but spool, which has lines that were received and may not be sent yet"):
        consistency.check(state)


SPARK_SAYS = [
    "org.apache.spark.SparkException: [STREAMING_CHECKPOINT_MISSING_METADATA_FILE] Checkpoint location x is inconsistent",
    "java.lang.IllegalStateException: Incomplete log file in the offset commit log",
    "java.lang.IllegalStateException: batch 1 doesn't exist",
    "org.apache.hadoop.fs.ChecksumException: Checksum error: file:/x/offsets/3 at 0 exp: 1 got: 2",
    "[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log. Multiple streaming jobs detected for 1.",
]


@pytest.mark.parametrize("said", SPARK_SAYS)
def test_what_spark_says_of_its_checkpoint_has_a_remedy(said, tmp_path):
    state = states.of_cycles(tmp_path / "state", CYCLES)
    fault = consistency.of_checkpoint(state, RuntimeError(f"An error occurred\n{said}\n\tat org.apache.x"))
    assert fault is not None
    assert said in str(fault)
    assert "go back to cycle 3" in str(fault)
    assert consistency.of_checkpoint(state, RuntimeError("another")) is None


DAMAGED_FILES = {
    "refreshed.json": (
        lambda state: state.refreshed(),
        "remove it: then changes that the rows of a refresh contain already",
    ),
    "identity": (lambda state: state.identity(), "rows that are sent again have other UUIDs"),
    "added.json": (lambda state: discovered_columns.read(state.path), "columns are added again"),
}


@pytest.mark.parametrize("content", ["", "\0\0", "[]", '{"t": 1}', '{"t": {"c": ["nothing", 1, 1]}}'])
@pytest.mark.parametrize("name", DAMAGED_FILES)
def test_a_damaged_file_beside_the_progress_is_named_with_a_remedy(name, content, tmp_path):
    state = states.of_cycles(tmp_path / "state", 1)
    (state.path / name).write_text(content)
    read, remedy = DAMAGED_FILES[name]
    with pytest.raises(EnvironmentFault, match=rf"{re.escape(name)}: is damaged.*{remedy}"):
        read(state)


def test_the_journal_of_a_mark_is_that_of_its_files(tmp_path):
    state = states.of_cycles(tmp_path / "state", CYCLES)
    journal = Journal(state.journal)
    for cycle in range(CYCLES):
        mark = json.loads((state.path / "synced" / f"{cycle}.json").read_text())
        assert mark["journal"] == journal.digest((cycle + 1) * states.FILES)
