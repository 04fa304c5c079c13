"""Small files that are read as one become what they become one by one, or are read one by one (I2)."""

import itertools
import json

import pytest

from integrator.errors import DataError
from integrator.run.passes import decoding
from integrator.sources.files.reader import slice_of
from integrator.sources.slices import Slice
from integrator.sources.spool import segments
from integrator.sources.stream import GROUP_BYTES, SMALL_BYTES, _groups
from tests.conftest import ROOT
from tests.parts import pure
from tests.unit.test_debezium import in_range
from tests.unit.test_open_transactions import BEGIN, DDL, DIALECTS

DATA = ROOT / "tests" / "data"
SHOP = ROOT / "data" / "postgres-shop"
SEQ = """  - {action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, TimeKey: true, IntegrateExpression: "{hvr_integ_seq}"}
"""
ORDERS = "create table orders(id int primary key, v varchar(10), n smallint);"
TOLERANT = (
    "\nerrors: {tolerance: all, deadletterqueue.topic.name: dead, deadletterqueue.context.headers.enable: true}\n"
)
RECORDED = {
    "wal2json, version 1": (SHOP / "changes.wal2json-v1.jsonl", SHOP / "schema.sql", "wal2json"),
    "wal2json, version 2": (SHOP / "changes.wal2json-v2.jsonl", SHOP / "schema.sql", "wal2json"),
    "debezium": (DATA / "debezium/plain.jsonl", DATA / "debezium/tables.sql", "debezium"),
    "debezium, with its schema": (DATA / "debezium/with_schema.jsonl", DATA / "debezium/tables.sql", "debezium"),
    "recognized": (DATA / "debezium/plain.jsonl", DATA / "debezium/tables.sql", "auto"),
}


@pytest.fixture
def joins(monkeypatch):
    """How often files were read as one, and how often they were not though they might."""
    found = []
    join = decoding.Decoding._join

    def counted(self, runs, file):
        result = join(self, runs, file)
        found.append(result is not None)
        return result

    monkeypatch.setattr(decoding.Decoding, "_join", counted)
    return found


def divided(directory, lines, sizes):
    """Lines in files of the sizes, again and again."""
    directory.mkdir()
    files, rest, repeated = [], list(lines), itertools.cycle(sizes)
    while rest:
        size = next(repeated)
        files.append(directory / f"{len(files):05d}.jsonl")
        files[-1].write_text("".join(rest[:size]))
        rest = rest[size:]
    return files


def hvr(directory, *files):
    """Files of records of the hvr dialect; those without one have the next position."""
    numbers, result = itertools.count(1), []
    for place, records in enumerate(files):
        result.append(directory / f"{place}.jsonl")
        filled = ({"hvr_op": 1, "hvr_tx_seq": f"{next(numbers):X}", **record} for record in records)
        result[-1].write_text("".join(json.dumps(record) + "\n" for record in filled))
    return result


def outcome(made, files, *, joined, reader=pure.FILES):
    """What files become: rows, summed notes; or the error."""
    try:
        sent, notes = pure.fragments(made, *files, joined=joined, reader=reader)
    except DataError as error:
        return str(error)
    rows = sorted(map(repr, sent.to_pylist()))
    counted = [sum(getattr(note, name) for note in notes) for name in ("rows", "resumed", "rejected", "files")]
    details = [detail for note in notes for detail in (*note.details, *note.rejections)]
    ends = [one.span.last for note in notes for one in note.streams.values() if one.span.last][-1:]
    sources = {table: source for note in notes for table, source in note.sources.items()}
    return rows, counted, details, notes[-1].ordinal, [one.open for one in notes[-1].streams.values()], ends, sources


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_changes_in_small_files(name, tmp_path, joins):
    source, ddl, dialect = RECORDED[name]
    made = pure.recipe(tmp_path, ddl.read_text(), SEQ, dialect)
    lines = [line for line in source.read_text().splitlines(keepends=True) if dialect == "wal2json" or in_range(line)]
    files = divided(tmp_path / "in", lines, (1, 3, 2, 5))
    assert outcome(made, files, joined=True) == outcome(made, files, joined=False)
    assert joins == [True]
    assert len(pure.fragments(made, *files, joined=True)[1]) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_transaction_over_small_files(dialect, tmp_path, joins):
    made = pure.recipe(tmp_path, DDL, SEQ, dialect)
    records = [BEGIN] if dialect == "wal2json" else []
    records += [DIALECTS[dialect](number) for number in range(1, 15)]
    files = divided(tmp_path / "in", [json.dumps(record) + "\n" for record in records], (2, 1, 4))
    for others in range(3):
        apart = pure.fragments(made, *files, of_others=others)[0]
        assert pure.fragments(made, *files, of_others=others, joined=True)[0].to_pylist() == apart.to_pylist()
    assert all(joins)


@pytest.mark.parametrize("text", ["", "\n", "\ufeff"], ids=["nothing", "a newline", "a byte order mark"])
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("dialect", ["hvr", "auto"])
def test_a_file_without_records_among_small_files(dialect, place, text, tmp_path, joins):
    made = pure.recipe(tmp_path, ORDERS, PLAIN, dialect)
    of_files = [[{"id": 1}], [{"id": 2}, {"id": 3}]]
    of_files.insert(place, [])
    files = hvr(tmp_path, *of_files)
    files[place].write_text(text)
    assert outcome(made, files, joined=True) == outcome(made, files, joined=False)
    assert joins == [True]


UPDATE = [{"hvr_op": 4, "id": 1, "v": "a", "hvr_tx_seq": "7"}, {"hvr_op": 2, "id": 1, "v": "b", "hvr_tx_seq": "7"}]
ONE_BY_ONE = {
    "a line is broken": ("", "", [[{"id": 1}], [{"id": "x"}], [{"id": 3}]]),
    "a line is broken, and tolerated": ("", TOLERANT, [[{"id": 1}], [{"id": 2}, {"id": "x"}], [{"id": 3}]]),
    "a position does not ascend": ("", "", [[{"id": 1, "hvr_tx_seq": "9"}], [{"id": 2, "hvr_tx_seq": "8"}]]),
    "a table is unknown": ("", TOLERANT, [[{"id": 1}], [{"id": 2, "hvr_tbl_name": "other"}]]),
    "an update is in two files": ("", "", [UPDATE[:1], UPDATE[1:]]),
    "an update is in two files, and its images share a message": (
        "  - {action: FileFormat, Envelope: DEBEZIUM}\n",
        "",
        [UPDATE[:1], UPDATE[1:]],
    ),
    "a file ends with a before image, and another row is next": (
        "  - {action: FileFormat, Envelope: DEBEZIUM}\n",
        "",
        [UPDATE[:1], [{"id": 9, "hvr_tx_seq": "8"}]],
    ),
    "a value does not fit": ("", "", [[{"id": 1}], [{"id": 2, "v": "much too long a text"}]]),
    "a value is cut": (
        "  - {action: TableProperties, CoerceErrorPolicy: WARNING}\n",
        "",
        [[{"id": 1}], [{"id": 2, "n": 99999}]],
    ),
    "a file is CSV": ("", "", [[{"id": 1}], "hvr_op,hvr_tx_seq,id\n1,7,2\n"]),
}


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_what_needs_its_file_is_read_file_by_file(name, tmp_path):
    actions, more, records = ONE_BY_ONE[name]
    made = pure.recipe(tmp_path, ORDERS, PLAIN + actions + more)
    files = hvr(tmp_path, *(each for each in records if not isinstance(each, str)))
    for number, text in enumerate(each for each in records if isinstance(each, str)):
        files.append(tmp_path / f"{number}.csv")
        files[-1].write_text(text)
    expected = outcome(made, files, joined=False)
    assert outcome(made, files, joined=True) == expected


@pytest.mark.parametrize("policy", ["FAIL", "SKELETON", "DEAD_LETTER, Dead_Letter_Topic: dead"])
def test_a_row_that_is_too_large_names_its_file(policy, tmp_path):
    size = '  - {action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: "4096"}\n'
    ddl = "create table orders(id int primary key, note text);"
    made = pure.recipe(tmp_path, ddl, PLAIN + size, kafka=f", Oversized_Rows: {policy}")
    files = hvr(tmp_path, [{"id": 1}], [{"id": 2, "note": "x" * 9000}], [{"id": 3}])
    expected = outcome(made, files, joined=False)
    assert policy == "SKELETON" or str(files[1]) in str(expected)
    assert outcome(made, files, joined=True) == expected


PLAIN = f"  - {pure.PLAIN}\n"
NEVER = {
    "the file's name": "{hvr_cap_filename}",
    "the row's place in the file": "{hvr_integ_key}",
    "the transaction's end": "{hvr_tx_countdown}",
}


@pytest.mark.parametrize("name", NEVER)
def test_channels_whose_rows_depend_on_files(name, tmp_path, joins):
    action = "  - {action: Integrate, MessageKey: '" + NEVER[name] + "'}\n"
    made = pure.recipe(tmp_path, ORDERS, PLAIN + action)
    files = hvr(tmp_path, [{"id": 1}], [{"id": 2}])
    assert outcome(made, files, joined=True) == outcome(made, files, joined=False)
    assert not joins


def entry(name, size):
    return Slice(name, size, 0)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([5, 5, 5], [3]),
        ([SMALL_BYTES, SMALL_BYTES + 1, 5, 5], [1, 1, 2]),
        ([SMALL_BYTES] * 10, [4, 4, 2]),
        ([GROUP_BYTES // 8] * 10, [8, 2]),
        ([], []),
    ],
)
def test_groups(sizes, expected):
    entries = [(number, entry(f"{number}.jsonl", size)) for number, size in enumerate(sizes)]
    found = list(_groups(entries, segments("").stream_of))
    assert [len(group) for group in found] == expected
    assert [one for group in found for one in group] == entries


def test_in_a_group_the_files_of_a_sender_are_in_a_row():
    names = [f"{number:012d}.{sender}.1.jsonl" for number, sender in enumerate("aabbcadd")]
    found = list(_groups(((number, entry(name, 5)) for number, name in enumerate(names)), segments("").stream_of))
    assert [len(group) for group in found] == [5, 3]


@pytest.mark.parametrize("senders", ["aabb", "abab", "abcd", "abba"])
def test_small_files_of_several_senders(senders, tmp_path, joins):
    made = pure.recipe(tmp_path, ORDERS, PLAIN + SEQ)
    files = hvr(tmp_path, *([{"id": at, "hvr_tx_seq": "7"}, {"id": at + 10, "hvr_tx_seq": "7"}] for at in range(4)))
    for number, (file, sender) in enumerate(zip(files, senders, strict=True)):
        files[number] = file.rename(tmp_path / f"{number + 1:012d}.{sender}.1.jsonl")
    runs = [slice_of(path, number, segments("").stream_of(str(path))) for number, path in enumerate(files, 1)]
    groups = [
        len(group) for group in _groups([(run.ordinal, entry(run.path, 5)) for run in runs], segments("").stream_of)
    ]
    sent, notes = pure.fragments(made, *files)
    first = [
        number for size, number in zip(groups, itertools.accumulate([1, *groups]), strict=False) for _ in range(size)
    ]
    assert pure.fragments(made, *files, groups=first)[0].to_pylist() == sent.to_pylist()
    assert joins == [True] * sum(size > 1 for size in groups)
