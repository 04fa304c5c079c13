"""Dead letters as a replay finds them in their topic, and as people mend them in a file."""

import json
from dataclasses import replace

import pytest

from integrator import plan as planning
from integrator.contracts.fragments import REJECTED_HEADERS
from integrator.deliver.kafka.read_back import Received
from integrator.errors import ConfigurationError, EnvironmentFault
from integrator.replay import exported
from integrator.replay.job import Given, plan_of, write
from integrator.replay.letters import Letter, found_in
from integrator.replay.transactions import with_begins
from tests.parts import pure


def message(offset, value, file="/in/a", line=1, part=1, parts=1, channel="shop", partition=0, time=0):
    texts = (channel, "VALUE_CONVERTER", "DataError", "no JSON", file, str(line), str(part), str(parts))
    headers = tuple((name, text.encode()) for name, text in zip(REJECTED_HEADERS, texts, strict=True))
    return Received("dead", partition, offset, None, value, headers if file else (), time)


def letters(*messages):
    return [(one.file, one.line, one.record) for one in found_in(messages, "shop").letters]


CASES = [
    ("in the order of lines", [message(0, b"{", line=2), message(1, b"[", line=1)], [(1, b"["), (2, b"{")]),
    ("a repeated cycle", [message(0, b"{"), message(1, b"["), message(2, b"{"), message(3, b"[")], [(1, b"{"), (1, b"[")]),
    ("in parts", [message(0, b"ab", parts=2), message(1, b"cd", part=2, parts=2)], [(1, b"abcd")]),
    ("of another channel", [message(0, b"{", channel="other"), message(1, b"[")], [(1, b"[")]),
    ("without its first part", [message(1, b"cd", part=2, parts=2)], []),
    ("without its last part", [message(1, b"ab", part=1, parts=2)], []),
]  # fmt: skip


@pytest.mark.parametrize(("what", "messages", "expected"), CASES, ids=[case[0] for case in CASES])
def test_letters_of_a_file(what, messages, expected):
    assert letters(*messages) == [("/in/a", line, record) for line, record in expected], what


def test_files_follow_each_other_as_they_were_sent():
    sent = [
        message(0, b"2", "/in/b", time=2),
        message(0, b"1", "/in/a", partition=1, time=1),
        message(1, b"3", "/in/a"),
    ]
    assert [(file, record) for file, _, record in letters(*sent)] == [
        ("/in/a", b"3"),
        ("/in/a", b"1"),
        ("/in/b", b"2"),
    ]


def test_letters_without_headers_are_known_by_their_place():
    found = found_in([message(0, b"{", ""), message(1, b"{", "")], "shop").letters
    assert [one.stood for one in found] == ["dead letter 0:0", "dead letter 0:1"]
    assert len({one.id for one in found}) == 2


def test_what_is_no_whole_letter_is_counted():
    found = found_in(
        [message(0, b"{", channel="other"), message(1, b"b", part=2, parts=2), message(2, b"a", parts=2)], "shop"
    )
    assert (found.of_others, found.incomplete) == (1, 2)


def letter(name, record, line=1):
    return Letter(name, "0:1", 7, "/in/é", line, "VALUE_CONVERTER", "it's \n no JSON", record)


def test_an_exported_file_is_read_as_it_was_mended(tmp_path):
    path = tmp_path / "letters"
    exported.write(path, [letter("a", b"{\xff\r"), letter("b", b"# {}"), letter("c", b"[")])
    assert exported.read(path) == [letter("a", b"{\xff\r"), letter("b", b" # {}"), letter("c", b"[")]
    assert path.stat().st_mode & 0o777 == 0o600
    lines = path.read_bytes().split(b"\n")
    lines[1], lines[3] = b'{"action": "B"}\n{"action": "I"}', b""
    path.write_bytes(b"\n".join(lines[:-1]))
    assert [one.record for one in exported.read(path)] == [b'{"action": "B"}\n{"action": "I"}', b"", b"["]
    with pytest.raises(EnvironmentFault, match="is there already"):
        exported.write(path, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{}", ":1: '{}' is no line about a letter"),
        (b"# {}\n{}", "is no line about a letter"),
        (b"# []\n{}", "is no line about a letter"),
        (b'# {"letter": 1}\n{}', "is no line about a letter"),
    ],
)
def test_what_is_no_exported_file(text, message, tmp_path):
    path = tmp_path / "letters"
    path.write_bytes(text)
    with pytest.raises(ConfigurationError, match=message.replace("{", r"\{").replace("'", "b?'")):
        exported.read(path)


def test_a_letter_that_is_there_twice_is_refused(tmp_path):
    path = tmp_path / "letters"
    exported.write(path, [letter("a", b"{"), letter("a", b"[")])
    with pytest.raises(ConfigurationError, match="a letter twice"):
        exported.read(path)


@pytest.mark.parametrize(("replayed", "unfinished"), [(False, True), (True, False)])
def test_no_row_of_a_letter_waits_for_the_rest_of_its_transaction(replayed, unfinished, tmp_path):
    ddl = "create table t(id int primary key);"
    pure.recipe(tmp_path, ddl, dialect="wal2json", kafka=", Kafka_Message_Bundling: TRANSACTION")
    plan = planning.build(str(tmp_path / "channel.yaml"), "UTC")
    path = tmp_path / "a.jsonl"
    row = '"table": "t", "columns": [{"name": "id", "type": "integer", "value": 1}]'
    path.write_text(f'{{"action": "B", "xid": 7, "nextlsn": "0/1"}}\n{{"action": "I", {row}}}\n')
    _, [summary] = pure.fragments((plan_of(plan) if replayed else plan).recipe, path)
    assert bool(summary.streams[""].open.unfinished) == unfinished
    assert summary.rows == 1


def test_letters_count_as_given_with_their_change_file(tmp_path):
    """A crash between the two files of given letters loses none, and repeats none."""
    pure.recipe(tmp_path, "create table t(id int primary key);")
    path = tmp_path / "channel.yaml"
    path.write_text(f"{path.read_text()}state: {tmp_path}/state\n")
    plan = planning.build(str(path), "UTC")
    two = [letter("a", b"{}\n{}"), letter("b", b"[]", 2)]
    assert Given(plan).take([*two, letter("c", b" ")]) == 2
    [file] = Given(plan).directory.glob("*.jsonl")
    assert file.read_bytes() == b"{}\n{}\n[]\n"
    assert [Given.stood_in(str(file), line) for line in (1, 2, 3)] == ["/in/é:1", "/in/é:1", "/in/é:2"]
    assert Given(plan).take(two) == 0
    file.unlink()
    assert Given(plan).take(two) == 2
    assert [one.name for one in Given(plan).directory.glob("*.jsonl")] == [file.name]


SEQ = "  - {action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, IntegrateExpression: '{hvr_integ_seq}'}\n"


def hvr(number, **members):
    return json.dumps({"hvr_op": 1, "hvr_tx_seq": "5", "id": number, **members})


def wal2json(number):
    return json.dumps({"action": "I", "table": "t", "columns": [{"name": "id", "value": number}]})


def maxwell(number):
    return json.dumps({"database": "d", "table": "t", "type": "insert", "ts": 1, "xid": 1, "data": {"id": number}})


BEGIN, END = '{"action": "B", "xid": 7, "nextlsn": "0/1"}', '{"action": "C", "xid": 7, "nextlsn": "0/1"}'
POSITIONS = [
    ("hvr", [hvr(number) for number in range(4)], [[hvr(4)], [hvr(5), hvr(6)]], (7, 3)),
    ("hvr", [hvr(0, hvr_tx_countdown=3)], [[hvr(1, hvr_tx_countdown=2)], [hvr(2, hvr_tx_countdown=1)]], (3, 2)),
    ("wal2json", [BEGIN, wal2json(0), wal2json(1), END], [[BEGIN, wal2json(2)], [BEGIN, wal2json(3)]], (4, 2)),
    ("maxwell", [maxwell(0), maxwell(1)], [[maxwell(2)], [maxwell(3)]], (4, 2)),
]


@pytest.mark.parametrize("dialect", ["wal2json", "auto"])
def test_letters_of_a_transaction_come_with_the_line_that_begins_it(dialect, tmp_path):
    pure.recipe(tmp_path, "create table t(id int primary key);", f"  - {pure.PLAIN}\n{SEQ}", dialect=dialect)
    plan = planning.build(str(tmp_path / "channel.yaml"), "UTC")
    other = BEGIN.replace("7", "8").replace("0/1", "0/2")
    lines = [BEGIN, wal2json(0), "{", wal2json(2), "[]", END, "x", other, "{{", wal2json(4)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    rejected = [(3, BEGIN), (5, BEGIN), (7, ""), (9, other)]
    letters = [Letter(str(at), "0:1", 7, str(path), at, "", "", lines[at - 1].encode()) for at, _ in rejected]
    found = list(with_begins(letters, plan))
    assert [one.record.decode() for one in found] == [
        f"{begin}\n{lines[at - 1]}" if begin else lines[at - 1] for at, begin in rejected
    ]
    mended = [
        replace(one, record=one.record.removesuffix(lines[one.line - 1].encode()) + wal2json(one.line).encode())
        for one in found
    ]
    files = write(tmp_path / "letters", 0, [one for one in mended if one.line != 7])
    assert files[0].read_text().splitlines() == [BEGIN, wal2json(3), wal2json(5), other, wal2json(9)]
    rows = pure.read(plan_of(plan).recipe, *files)
    assert [row["id"] for row in rows] == [3, 5, 9]
    assert len({row["seq"] for row in rows}) == 3
    path.unlink()
    assert list(with_begins(letters, plan)) == letters


@pytest.mark.parametrize(("dialect", "sent", "letters", "expected"), POSITIONS)
def test_rows_of_letters_have_positions_of_their_own_after_the_others_of_their_transaction(
    dialect, sent, letters, expected, tmp_path
):
    pure.recipe(tmp_path, "create table t(id int primary key);", f"  - {pure.PLAIN}\n{SEQ}", dialect=dialect)
    plan = planning.build(str(tmp_path / "channel.yaml"), "UTC")
    files = []
    for number, lines in enumerate([sent, *letters]):
        files.append(tmp_path / f"{number}.jsonl")
        files[-1].write_text("".join(line + "\n" for line in lines))
    before = [row["seq"] for row in pure.read(plan.recipe, files[0])]
    after = [row["seq"] for row in pure.read(plan_of(plan).recipe, *files[1:])]
    rows, of_letters = expected
    assert len({*before, *after}) == rows
    assert len(after) == of_letters
    if dialect != "maxwell":  # its records say no position, which is then that of the line
        assert max(before) < min(after)
        assert {seq[:37] for seq in after} == {seq[:37] for seq in before}
