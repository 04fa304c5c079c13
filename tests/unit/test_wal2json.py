"""wal2json: real records and small ones, whose change rows are told beside them."""

import itertools
import json

import pyarrow.compute as pc
import pytest

from integrator.contracts.fragments import Checkpoint
from integrator.decode.contract import Reading
from integrator.errors import DataError
from tests.conftest import DATA
from tests.parts import pure

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler, pytest.mark.fast]

DDL = "create table t(k int, j int, v text, primary key(k, j)); create table nokey(a int, b text);"
OPS = """  - {action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_op}"}
  - {action: ColumnProperties, Name: left, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_tx_countdown}"}
  - {action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, TimeKey: true, IntegrateExpression: "{hvr_integ_seq}"}
"""


def image(**values):
    return [{"name": name, "type": "?", "value": value} for name, value in values.items()]


def begin(number):
    return {"action": "B", "xid": number, "timestamp": "2026-01-01 00:00:00+00", "nextlsn": f"1/{number:X}"}


def change(action, table="t", **images):
    return {"action": action, "xid": 1, "schema": "public", "table": table, **images}


END = {"action": "C"}


def write(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


CASES = [
    ("insert", change("I", columns=image(k=1, j=2, v="a")), [(1, {"k": 1, "j": 2, "v": "a"})]),
    (
        "update, old image of the key only",
        change("U", columns=image(k=1, j=2, v="b"), identity=image(k=1, j=2)),
        [(4, {"k": 1, "j": 2}), (2, {"k": 1, "j": 2, "v": "b"})],
    ),
    (
        "key update",
        change("U", columns=image(k=9, j=2, v="b"), identity=image(k=1, j=2)),
        [(3, {"k": 1, "j": 2}), (2, {"k": 9, "j": 2, "v": "b"})],
    ),
    (
        "update that left an unchanged value out, old image of the key only: missing",
        change("U", columns=image(k=1, j=2), identity=image(k=1, j=2)),
        [(4, {"k": 1, "j": 2}), (2, {"k": 1, "j": 2})],
    ),
    (
        "update that left an unchanged value out, full old image: the value is known",
        change("U", columns=image(k=1, j=2), identity=image(k=1, j=2, v="big")),
        [(4, {"k": 1, "j": 2, "v": "big"}), (2, {"k": 1, "j": 2, "v": "big"})],
    ),
    ("update without an old image", change("U", columns=image(k=1, j=2, v=None)), [(2, {"k": 1, "j": 2, "v": None})]),
    ("delete", change("D", identity=image(k=1, j=2)), [(0, {"k": 1, "j": 2})]),
    ("truncate", change("T"), [(5, {"k": None, "j": None, "v": None})]),
    (
        "a table without a key: any change is a key update",
        change("U", "nokey", columns=image(a=1, b="y"), identity=image(a=1, b="x")),
        [(3, {"a": 1, "b": "x"}), (2, {"a": 1, "b": "y"})],
    ),
    ("a logical message is no row", {"action": "M", "prefix": "p", "content": "c"}, []),
]


@pytest.mark.parametrize(("what", "record", "rows"), CASES)
def test_what_a_record_becomes(what, record, rows, tmp_path):
    recipe = pure.recipe(tmp_path, DDL, OPS, "wal2json")
    got = pure.payloads(recipe, write(tmp_path / "f", begin(1), record, END))
    expected = [{**row, "op": op, "left": len(rows) - at} for at, (op, row) in enumerate(rows)]
    assert [{n: v for n, v in payload.items() if n != "seq"} for payload in got] == expected
    assert [payload["seq"] for payload in got] == [
        f"00000000000100000001|0000000000000001|{at:07X}" for at in range(len(rows))
    ]


def test_transactions_over_files_with_and_without_their_end(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, OPS, "wal2json")
    inserts = [change("I", columns=image(k=i, j=0, v="x")) for i in range(6)]
    records = [begin(1), *inserts[:4], END, begin(2), *inserts[4:], END]
    whole = [p["seq"] for p in pure.payloads(recipe, write(tmp_path / "w", *records))]
    for cuts in ([2], [1, 3, 4], [5, 6], [7], list(range(1, 9))):
        bounds = [0, *cuts, len(records)]
        files = [write(tmp_path / f"{start:02d}", *records[start:end]) for start, end in itertools.pairwise(bounds)]
        assert [p["seq"] for p in pure.payloads(recipe, *files)] == whole


def test_a_cycle_continues_where_the_one_before_ended(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, OPS, "wal2json")
    inserts = [change("I", columns=image(k=i, j=0, v="x")) for i in range(3)]
    _, [note] = pure.fragments(recipe, write(tmp_path / "1", begin(7), inserts[0]))
    sent, _ = pure.fragments(
        recipe, write(tmp_path / "2", inserts[1], END), checkpoint=Checkpoint(1, note.streams[""].open)
    )
    assert sent["integ_seq"].to_pylist() == ["00000000000100000007|0000000000000007|0000001"]
    with pytest.raises(DataError, match=r"2:1: a change whose transaction began in no file before this one"):
        pure.fragments(recipe, tmp_path / "2")


def test_i2_i3_versions_1_and_2_of_one_recording_agree(tmp_path):
    recipe = pure.recipe(tmp_path, (DATA / "schema.sql").read_text(), OPS, "wal2json")
    one, two = (pure.fragments(recipe, DATA / f"changes.wal2json-v{version}.jsonl")[0] for version in (1, 2))
    sequences = two["integ_seq"].to_pylist()
    assert len(sequences) == len(set(sequences))
    for version, table in itertools.product((one, two), two["table"].unique().to_pylist()):
        of_table = [row["integ_seq"] for row in version.to_pylist() if row["table"] == table]
        assert of_table == sorted(of_table)
    truncates = {row["integ_seq"] for row in two.to_pylist() if row["op"] == 5}
    assert set(one["integ_seq"].to_pylist()) == set(sequences) - truncates
    assert len(one) == len(two) - len(truncates)


def test_a_position_that_has_no_place_is_told_with_its_line(tmp_path):
    records = [begin(1), change("I", columns=image(k=1, j=1)), END]
    records += [begin(1) | {"nextlsn": "1/123456789"}, change("I", columns=image(k=2, j=1)), END]
    with pytest.raises(DataError, match=r"c\.jsonl:4: nextlsn is '1/123456789'; expected a position"):
        pure.fragments(pure.recipe(tmp_path, DDL, OPS, "wal2json"), write(tmp_path / "c.jsonl", *records))


@pytest.mark.parametrize(
    ("block_bytes", "told"),
    [
        (1000, "the transaction has no change"),
        (50, "is written as wal2json version 2, and the lines before it as wal2json version 1"),
    ],
)
def test_a_file_has_lines_of_one_version_however_it_is_divided(block_bytes, told, tmp_path, monkeypatch):
    one = {"xid": 1, "nextlsn": "0/1", "timestamp": "2026-01-01 00:00:00+00", "change": []}
    monkeypatch.setattr(Reading, "block_bytes", block_bytes)
    with pytest.raises(DataError, match=f"mixed:2: {told}"):
        pure.fragments(pure.recipe(tmp_path, DDL, dialect="wal2json"), write(tmp_path / "mixed", one, begin(2)))


def test_where_a_file_ends_is_known_where_lines_are_rejected(tmp_path):
    """The file before is read apart from those before it, so that its first changes are of a transaction of any."""
    pure.recipe(tmp_path, DDL, dialect="wal2json")
    channel = tmp_path / "channel.yaml"
    channel.write_text(f"{channel.read_text()}errors: {{tolerance: all}}\n")
    made = pure.build(str(channel), "UTC").recipe
    inserts = [change("I", columns=image(k=i, j=0, v="x")) for i in range(4)]
    files = [write(tmp_path / "1", begin(7), inserts[0]), write(tmp_path / "2", inserts[1], "no record", inserts[2])]
    files.append(write(tmp_path / "3", inserts[3], END))
    for others in range(3):
        sent = pure.fragments(made, *files, of_others=others)[0].filter(pc.field("topic") == "t")
        assert [sequence[-1] for sequence in sent["integ_seq"].to_pylist()] == list("0123")[(0, 1, 3)[others] :]


def test_the_table_that_came_first_is_the_right_one_however_many_names_there_are(tmp_path):
    made = pure.recipe(tmp_path, "create table x(a int); create table t(a int);", f"  - {pure.PLAIN}\n", "wal2json")
    rows = [
        change("I", table, columns=image(a=at)) | {"schema": of}
        for at, (of, table) in enumerate([("s1", "x"), ("s2", "t"), ("s1", "t")], 1)
    ]
    with pytest.raises(DataError, match=r"f.jsonl:4: a change of table 's1.t', and changes of 's2.t' came before"):
        pure.read(made, write(tmp_path / "f.jsonl", begin(1), *rows, END))
