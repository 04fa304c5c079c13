"""Debezium: events recorded from a real PostgreSQL in several settings, and small ones told beside what they become."""

import json

import pytest

from integrator.errors import DataError
from tests.conftest import ROOT
from tests.parts import pure

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler]

RECORDED = ROOT / "tests" / "data" / "debezium"
DDL = (RECORDED / "tables.sql").read_text()
META = """  - {action: ColumnProperties, Name: op_val, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_op}"}
  - {action: ColumnProperties, Name: tbl, Extra: true, Datatype: varchar, IntegrateExpression: "{hvr_tbl_name}"}
  - {action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, TimeKey: true, IntegrateExpression: "{hvr_integ_seq}"}
  - {action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}
"""

OUT_OF_RANGE = {3, 4, 12, 14, 15}
"""Rows of `types` with infinity, NaN, years BC and 24:00, which no type of Arrow holds."""

SETTINGS = {
    "plain": ("", {"iv", "anynum"}),
    "plain_string": (
        "decimal_handling_mode: STRING, binary_handling_mode: BASE64_URL_SAFE, time_precision_mode: ISOSTRING",
        {"raw"},
    ),
    "plain_micro": ("time_precision_mode: MICROSECONDS", {"iv", "anynum"}),
    "plain_nano": ("time_precision_mode: NANOSECONDS", {"iv", "anynum", "ts", "tsu"}),
    "with_schema": ("", {"iv", "anynum"}),
    "with_schema_connect": ("binary_handling_mode: HEX", {"iv", "anynum", "tmu", "tsu"}),
    "flat": ("", {"iv", "anynum"}),
}
"""The modes, and the columns that Debezium does not write exactly in them: months in microseconds, decimals without
zeros at their end or as doubles, unchanged bytes as null, years beyond 2262 as null, microseconds cut to milliseconds."""

NOT_IN_FLAT = {"baskets", "basket_lines"}
"""Flattened, truncates leave no trace."""


def event(line):
    value = json.loads(line)
    return value["payload"] if value and "payload" in value else value


def in_range(line):
    value = event(line)
    image = value and (value.get("after") or value.get("before") or value)
    return not (isinstance(image, dict) and "tmu" in image and image["id"] in OUT_OF_RANGE)


def recorded(directory, name):
    path = directory / f"{name}.jsonl"
    lines = (RECORDED / f"{name}.jsonl").read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if in_range(line)))
    return path


def tables_of(rows):
    """The tables that changes make, by key; a value that an update does not have stays as it was."""
    tables = {}
    for row in rows:
        table = tables.setdefault(row.pop("tbl"), {})
        op = row.pop("op_val")
        row.pop("seq")
        if op == 5:
            table.clear()
        elif op in {0, 3}:
            table.pop(row["id"], None)
        elif op in {1, 2}:
            table[row["id"]] = table.get(row["id"], {}) | row
    return tables


def oracle(directory):
    """The tables at the end, as PostgreSQL printed them, read as CSV by the hvr dialect."""
    tables = {}
    for name, all_rows in json.loads((RECORDED / "final.json").read_text()).items():
        rows = [row for row in all_rows if name != "types" or int(row["id"]) not in OUT_OF_RANGE]
        path = directory / f"{name}.csv"
        quoted = [["" if v is None else '"' + v.replace('"', '""') + '"' for v in row.values()] for row in rows]
        head = ",".join([*rows[0], "hvr_op", "hvr_tx_seq", "hvr_tbl_name"])
        path.write_text("\n".join([head, *(",".join([*row, "1", "1", name]) for row in quoted)]) + "\n")
        tables |= tables_of(pure.read(pure.recipe(directory, DDL, META), path))
    return tables


@pytest.mark.parametrize("name", SETTINGS)
def test_recorded_events_make_the_tables_that_postgresql_has(name, tmp_path):
    modes, inexact = SETTINGS[name]
    recipe = pure.recipe(tmp_path, DDL, META, "debezium", source=f", debezium: {{{modes}}}" if modes else "")
    rows = sorted(pure.read(recipe, recorded(tmp_path, name)), key=lambda row: row["seq"])
    made = tables_of(rows)
    final = oracle(tmp_path)
    for table, expected in final.items():
        if table not in made or (name == "flat" and table in NOT_IN_FLAT):
            continue
        assert made[table].keys() == expected.keys()
        for key, row in expected.items():
            got = made[table][key]
            compared = row.keys() - inexact - (row.keys() - got.keys())
            assert {c: got[c] for c in compared} == {c: row[c] for c in compared}
    # what Debezium does not say of a row whose key changed while its large values did not
    assert final["documents"][4].keys() - made["documents"][4].keys() >= {"body", "doc", "tags", "nums"}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_position_is_told_once_and_follows_the_lines(name, tmp_path):
    modes, _ = SETTINGS[name]
    recipe = pure.recipe(tmp_path, DDL, META, "debezium", source=f", debezium: {{{modes}}}" if modes else "")
    sent, _ = pure.fragments(recipe, recorded(tmp_path, name))
    positions = sent["integ_seq"].to_pylist()
    assert len(positions) == len(set(positions))
    for table in sent["table"].unique().to_pylist():
        of_table = [row["integ_seq"] for row in sent.to_pylist() if row["table"] == table]
        assert of_table == sorted(of_table)


def test_as_cloudevents_the_rows_are_the_same(tmp_path):
    """Each recorded event, as the converter would write it: the fields of its source block are attributes."""
    events = [json.loads(line) for line in recorded(tmp_path, "plain").read_text().splitlines()]
    events = [event for event in events if event and "op" in event and event["op"] != "m"]
    written = []
    for event in events:
        fields = {f"iodebezium{name.replace('_', '').lower()}": value for name, value in event["source"].items()}
        texts = {name: value if value is None else str(value) for name, value in fields.items()}
        images = {name: event[name] for name in ("before", "after")}
        written.append({"specversion": "1.0", "iodebeziumop": event["op"], **texts, "data": images})
    paths = write(tmp_path / "1", events), write(tmp_path / "2", written)
    made = [
        pure.fragments(pure.recipe(tmp_path, DDL, META, dialect), path)[0].to_pylist()
        for dialect, path in zip(("debezium", "cloudevents"), paths, strict=True)
    ]
    assert made[0] == made[1]
    assert len(made[0]) == 50


def test_what_is_no_change_is_counted(tmp_path):
    _, notes = pure.fragments(pure.recipe(tmp_path, DDL, META, "debezium"), recorded(tmp_path, "plain"))
    assert notes[0].not_sent == {"tombstones": 7, "logical messages": 2, "transaction marks": 50}


def test_the_transaction_continues_in_the_next_file(tmp_path):
    pure.check_cuts(pure.recipe(tmp_path, DDL, META, "debezium"), recorded(tmp_path, "plain"), 7)


def test_an_end_mark_alone_in_the_next_file_ends_the_transaction(tmp_path):
    recipe = pure.recipe(tmp_path, SMALL, META, "debezium")
    marks = [{"status": kind, "id": "7:1", "event_count": None, "data_collections": None} for kind in ("BEGIN", "END")]
    first = write(tmp_path / "1", [marks[0], of("c", None, ROW, **PG)])
    second = write(tmp_path / "2", [marks[1]])
    third = write(tmp_path / "3", [of("c", None, ROW, **PG | {"lsn": 121, "sequence": '["120","121"]'})])
    _, notes = pure.fragments(recipe, first, second, third)
    assert [note.streams[""].open.continues for note in notes] == [True, False, None]
    assert [note.streams[""].open.rows for note in notes] == [1, 0, 1]


SMALL = "create table t(k int primary key, v text, n int not null);"


def of(op, before=None, after=None, connector="postgresql", **source):
    told = {"connector": connector, "ts_ms": 1735689600123, "snapshot": "false", "schema": "public", "table": "t"}
    return {"before": before, "after": after, "source": told | source, "op": op, "ts_ms": 1}


PG = {"txId": 7, "lsn": 120, "sequence": '["100","120"]'}
CASES = [
    ("insert", [of("c", None, {"k": 1, "v": "a", "n": 1}, **PG)], [(1, {"k": 1, "v": "a", "n": 1})]),
    (
        "update with its old row",
        [of("u", {"k": 1, "v": "a", "n": 1}, {"k": 1, "v": None, "n": 1}, **PG)],
        [(4, {"k": 1, "v": "a", "n": 1}), (2, {"k": 1, "v": None, "n": 1})],
    ),
    ("update without", [of("u", None, {"k": 1, "v": None, "n": 1}, **PG)], [(2, {"k": 1, "v": None, "n": 1})]),
    (
        "an unchanged value, which the old row has",
        [of("u", {"k": 1, "v": "a", "n": 1}, {"k": 1, "v": "__debezium_unavailable_value", "n": 2}, **PG)],
        [(4, {"k": 1, "v": "a", "n": 1}), (2, {"k": 1, "v": "a", "n": 2})],
    ),
    (
        "an unchanged value, which nothing has: missing, not null",
        [of("u", None, {"k": 1, "v": "__debezium_unavailable_value", "n": 2}, **PG)],
        [(2, {"k": 1, "n": 2})],
    ),
    ("delete", [of("d", {"k": 1, "v": "a", "n": 1}, **PG), None], [(0, {"k": 1, "v": "a", "n": 1})]),
    ("delete whose image has the key alone", [of("d", {"k": 1, "v": None, "n": 0}, **PG)], [(0, {"k": 1})]),
    ("snapshot", [of("r", None, {"k": 1, "v": "a", "n": 1}, **PG)], [(1, {"k": 1, "v": "a", "n": 1})]),
    ("truncate", [of("t", **PG)], [(5, {"k": None, "v": None, "n": None})]),
    ("with white space", [json.dumps(of("c", None, {"k": 1, "v": "a : b", "n": 1}, **PG), indent=1).replace("\n", " ")],
     [(1, {"k": 1, "v": "a : b", "n": 1})]),
    ("no change", [None, {"ts_ms": 5}, {"status": "BEGIN", "id": "7:1", "event_count": None, "data_collections": None}, of("m", message={}, **PG)], []),
]  # fmt: skip


def write(path, records):
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return path


@pytest.mark.parametrize(("what", "records", "rows"), CASES)
def test_what_an_event_becomes(what, records, rows, tmp_path):
    recipe = pure.recipe(tmp_path, SMALL, META, "debezium")
    got = pure.read(recipe, write(tmp_path / "f", records))
    expected = [{**row, "op_val": op, "tbl": "t"} for op, row in rows]
    assert [{n: v for n, v in row.items() if n != "seq"} for row in got] == expected


FIFTY = [
    ("text that begins with a bracket", "v varchar(50)", "{not json", "{not json"),
    ("text that is an object", "v varchar(50)", '{"scale":2,"value":"AQ=="}', '{"scale":2,"value":"AQ=="}'),
    ("a number without precision", "v numeric", {"scale": 2, "value": "AQ=="}, "0.01"),
]


@pytest.mark.parametrize(("what", "column", "value", "expected"), FIFTY)
def test_text_of_fifty_characters_is_not_a_number_without_precision(what, column, value, expected, tmp_path):
    recipe = pure.recipe(tmp_path, f"create table t(k int primary key, {column});", META, "debezium")
    [row] = pure.read(recipe, write(tmp_path / "f", [of("c", None, {"k": 1, "v": value}, **PG)]))
    assert row["v"] == expected


def test_whoever_knows_what_old_images_hold_says_so(tmp_path):
    records = [of("d", {"k": 1, "v": None, "n": 0}, **PG)]
    full = pure.recipe(tmp_path, SMALL, META, "debezium", source=", debezium: {old_images: FULL}")
    assert pure.read(full, write(tmp_path / "f", records))[0]["v"] is None
    key = pure.recipe(tmp_path, SMALL, META, "debezium", source=", debezium: {old_images: KEY}")
    assert "n" not in pure.read(key, write(tmp_path / "f", [of("d", {"k": 1, "v": "x", "n": 5}, **PG)]))[0]


ROW = {"k": 1, "v": "a", "n": 1}
POSITIONS = [
    (
        "PostgreSQL: the commit before, and the transaction",
        [of("c", None, ROW, **PG), of("c", None, ROW, **PG | {"lsn": 130, "sequence": '["100","130"]'}),
         of("c", None, ROW, txId=9, lsn=150, sequence='["140","150"]')],
        ["00000000000000000064|0000000000000007|0000000", "00000000000000000064|0000000000000007|0000001",
         "0000000000000000008C|0000000000000009|0000000"],
    ),
    (
        "PostgreSQL: a snapshot's rows",
        [of("r", None, ROW, snapshot=s, txId=1, lsn=16, sequence='[null,"16"]') for s in ("first", "true", "last")],
        [f"00000000000000000010|0000000000000000|000000{at}" for at in range(3)],
    ),
    (
        "MySQL: the place in the binlog of the transaction's first event, distinguished by GTID",
        [of("c", None, ROW, "mysql", file="mysql-bin.000009", pos=1984, row=0, gtid="ab:77"),
         of("c", None, ROW, "mysql", file="mysql-bin.000009", pos=2100, row=0, gtid="ab:77"),
         of("c", None, ROW, "mysql", file="mysql-bin.000010", pos=4, row=0, gtid="ab:78")],
        ["000000090000000007C0|000000000000004D|0000000", "000000090000000007C0|000000000000004D|0000001",
         "0000000A000000000004|000000000000004E|0000000"],
    ),
    (
        "MySQL without GTIDs: events of several rows",
        [of("c", None, ROW, "mysql", file="b.000001", pos=4, row=row, gtid=None) for row in (0, 1)],
        ["00000001000000000004|0000000000000000|0000000", "00000001000000000004|0000000000000000|0000001"],
    ),
    (
        "SQL Server",
        [of("c", None, ROW, "sqlserver", commit_lsn="0000002a:000003a8:0003", change_lsn="0000002a:000003a8:0002")] * 2,
        ["0000002A000003A80003|0000000000000000|0000000", "0000002A000003A80003|0000000000000000|0000001"],
    ),
    (
        "Oracle",
        [of("c", None, ROW, "oracle", scn="13234397", commit_scn="13271102", txId="02000a0037030000")],
        ["00000000000000CA803E|02000A0037030000|0000000"],
    ),
    (
        "another database: file and line",
        [of("c", None, ROW, "cassandra"), of("c", None, ROW, "cassandra")],
        ["00000000010000000001|0000000000000000|0000000", "00000000010000000002|0000000000000000|0000000"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("what", "records", "positions"), POSITIONS)
def test_positions(what, records, positions, tmp_path):
    recipe = pure.recipe(tmp_path, SMALL, META, "debezium")
    assert [row["seq"] for row in pure.read(recipe, write(tmp_path / "f", records))] == positions


REFUSED = [
    ([of("x", None, ROW, **PG)], "f:1: the op 'x' is none of c u d r t m"),
    (
        [of("c", None, ROW, **PG), '{"op":"c"'],
        "f:2: no JSON: character 10: here a comma or a closing bracket is expected",
    ),
    ([of("c", None, ROW, **PG), of("c", None, ROW)], "f:2: the event's source block does not say its position"),
    (
        [of("c", None, ROW, "mysql", file="b.000001", pos="b.000006:1", row=0, gtid=None)],
        "f:1: source.pos is 'b.000006:1'; expected a number",
    ),
    ([of("c", None, ROW | {"n": "x"}, **PG)], "f:1: table t, column n: 'x' is no integer"),
    ([of("c", None, ROW | {"new": 1}, **PG)], "f:1: table t: column 'new' is not in its definition"),
    ([of("c", None, ROW, **PG | {"table": "other"})], "f:1: a change of table 'public.other'"),
]


@pytest.mark.parametrize(("records", "reason"), REFUSED)
def test_what_is_refused(records, reason, tmp_path):
    recipe = pure.recipe(tmp_path, SMALL, META, "debezium")
    with pytest.raises(DataError) as raised:
        pure.fragments(recipe, write(tmp_path / "f", records))
    assert reason in str(raised.value)


def test_bytes_that_a_schema_calls_text_need_their_mode(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, META, "debezium")
    with pytest.raises(DataError, match="say at the source location which binary_handling_mode wrote it"):
        pure.fragments(recipe, recorded(tmp_path, "with_schema_connect"))


TIMES = [
    ("time.NanoTime", "int64", 43_200_000_000_100, "12:00:00.000000100"),
    ("time.MicroTime", "int64", 86_400_000_000, "24:00:00.000000"),
    ("time.MicroTime", "int64", -3_020_399_000_000, "-838:59:59.000000"),
    ("time.Time", "int32", 1, "00:00:00.001"),
    ("time.Date", "int32", 19_000, "2022-01-08"),
    ("time.Timestamp", "int64", 1_700_000_000_123, "2023-11-14 22:13:20.123"),
    ("time.MicroTimestamp", "int64", 1_700_000_000_000_001, "2023-11-14 22:13:20.000001"),
    ("time.MicroTime", "int64", None, None),
]


@pytest.mark.parametrize(("name", "kind", "value", "text"), TIMES)
def test_times_of_a_column_of_text_are_text(name, kind, value, text, tmp_path):
    """As fine as they are, and beyond a day: as where the type of a time in messages does not have them."""
    field = {"type": kind, "optional": True, "name": f"io.debezium.{name}", "version": 1, "field": "v"}
    own = {"type": "int32", "optional": False, "field": "id"}
    image = {"type": "struct", "optional": True, "fields": [own, field], "name": "s.public.t.Value"}
    schema = {
        "type": "struct",
        "name": "s.public.t.Envelope",
        "fields": [{**image, "field": "before"}, {**image, "field": "after"}, {"type": "string", "field": "op"}],
    }
    payload = {"before": None, "after": {"id": 1, "v": value}, "op": "c", "source": {"schema": "public", "table": "t"}}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"schema": schema, "payload": payload}) + "\n")
    recipe = pure.recipe(tmp_path, "create table t(id int primary key, v text);", f"  - {pure.PLAIN}\n", "debezium")
    assert [row["v"] for row in pure.read(recipe, path)] == [text]
