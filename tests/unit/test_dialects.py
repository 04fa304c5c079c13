"""What records of each dialect become, told beside them: documented shapes, each with every operation."""

import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from integrator.decode.contract import File
from integrator.decode.dialects import recognized
from integrator.errors import ConfigurationError, DataError
from tests.parts import pure

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler, pytest.mark.fast]

DDL = """
create table orders(id int primary key, qty int, name varchar(50), price decimal(10,2), at timestamptz, raw bytea);
"""
META = """  - {action: ColumnProperties, Name: op_val, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_op}"}
  - {action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, TimeKey: true, IntegrateExpression: "{hvr_integ_seq}"}
  - {action: ColumnProperties, Name: cap, Extra: true, Datatype: varchar, IntegrateExpression: "{hvr_cap_tstamp}"}
  - {action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}
"""


def maxwell(kind, data, old=None, **more):
    record = {"database": "shop", "table": "orders", "type": kind, "ts": 1477053217, "xid": 42, "data": data}
    return record | ({"old": old} if old else {}) | {"position": "master.000006:800911"} | more


def canal(kind, data, old=None, **more):
    types = {"id": "int", "qty": "int", "name": "enum('new','it''s')", "raw": "blob"}
    told = {"data": data, "old": old, "database": "shop", "table": "orders", "type": kind, "isDdl": kind == "TRUNCATE"}
    return told | {"es": 1735689600000, "ts": 1735689600123, "id": 12, "gtid": "", "mysqlType": types, "sql": ""} | more


def dms(operation, data, **more):
    metadata = {"operation": operation, "record-type": "data", "schema-name": "public", "table-name": "orders"}
    metadata |= {"timestamp": "2024-07-29T00:58:17.983670Z", "transaction-id": 1139}
    return {"data": data, "metadata": metadata} | more


def goldengate(op, before=None, after=None, **more):
    told = {
        "table": "CAT.SHOP.ORDERS",
        "op_type": op,
        "op_ts": "2015-11-05 18:45:36.000000",
        "pos": "00000000050000001234",
    }
    return told | ({"before": before} if before else {}) | ({"after": after} if after else {}) | more


def delta(kind, version, **row):
    return row | {"_change_type": kind, "_commit_version": version, "_commit_timestamp": "2022-09-01T18:32:32.000Z"}


def airbyte(data, deleted=None):
    cdc = {"_ab_cdc_lsn": 5, "_ab_cdc_updated_at": "2024-09-12T14:30:00.000000Z", "_ab_cdc_deleted_at": deleted}
    return {"type": "RECORD", "record": {"stream": "orders", "namespace": "shop", "data": data | cdc, "emitted_at": 1}}


def opencdc(operation, before=None, after=None, key=None, **times):
    metadata = {"opencdc.collection": "orders", "opencdc.createdAt": "1735689600000000000"}
    metadata |= {f"opencdc.{name}": value for name, value in times.items()}
    payload = {"before": before, "after": after}
    return {"position": "c3Q=", "operation": operation, "metadata": metadata, "key": key, "payload": payload}


def cloudevent(op, data, **more):
    """As Debezium's documentation shows it, with the position that PostgreSQL's connector has."""
    event = {"id": "name:x;lsn:29274832;txId:565", "source": "/debezium/postgresql/x", "specversion": "1.0"}
    event |= {"type": "io.debezium.connector.postgresql.DataChangeEvent", "time": "2020-01-13T13:55:39.738Z"}
    event |= {"datacontenttype": "application/json", "iodebeziumop": op, "iodebeziumconnector": "postgresql"}
    event |= {"iodebeziumtsms": "1578923739738", "iodebeziumsnapshot": "false", "iodebeziumschema": "shop"}
    event |= {"iodebeziumtable": "orders", "iodebeziumtxId": "565", "iodebeziumlsn": "29274832", "iodebeziumxmin": None}
    return event | more | {"data": data}


LINES = "0000000001{:010X}|0000000000000000|0000000"
CASES = {
    "maxwell: insert": (
        "maxwell",
        [maxwell("insert", {"id": 1, "qty": 2, "name": "a", "price": 4.10, "at": "2016-10-21 05:33:37.5", "raw": "AP8="}, commit=True)],
        [(1, {"id": 1, "qty": 2, "name": "a", "price": 4.1, "at": "2016-10-21T05:33:37.500000Z", "raw": "AP8="})],
        ["000000060000000C388F|000000000000002A|0000000"],
        {},
    ),
    "maxwell: update, whose old image has what changed; delete; two rows of a transaction": (
        "maxwell",
        [maxwell("update", {"id": 1, "qty": 3, "name": None}, {"qty": 2, "name": "x"}),
         maxwell("delete", {"id": 1, "qty": 3, "name": None}, commit=True, position="master.000006:900000")],
        [(4, {"id": 1, "qty": 2, "name": "x"}), (2, {"id": 1, "qty": 3, "name": None}), (0, {"id": 1, "qty": 3, "name": None})],
        [f"000000060000000C388F|000000000000002A|000000{at}" for at in range(3)],
        {},
    ),
    "maxwell: rows of a bootstrap, without positions": (
        "maxwell", [maxwell("bootstrap-insert", {"id": at}, xid=None, position=None) for at in (8, 9)],
        [(1, {"id": 8}), (1, {"id": 9})], [LINES.format(1), LINES.format(2)], {},
    ),
    "maxwell: the key changed": (
        "maxwell", [maxwell("update", {"id": 2, "qty": 3}, {"id": 1})],
        [(3, {"id": 1, "qty": 3}), (2, {"id": 2, "qty": 3})], None, {},
    ),
    "maxwell: what is no row": (
        "maxwell", [{"type": "table-alter", "database": "shop", "table": "orders", "ts": 1477053308000}, maxwell("bootstrap-start", {})],
        [], None, {"schema changes": 1, "bootstrap marks": 1},
    ),
    "canal: rows of one statement, labels of an enum, bytes": (
        "canal",
        [canal("INSERT", [{"id": "1", "name": "2", "raw": "\u00ff\u0001"}, {"id": "2", "qty": None}])],
        [(1, {"id": 1, "name": "it's", "raw": "/wE="}), (1, {"id": 2, "qty": None})],
        ["00000000010000000001|000000000000000C|0000000", "00000000010000000001|000000000000000C|0000001"],
        {},
    ),
    "canal: update, delete, truncate, a statement": (
        "canal",
        [canal("UPDATE", [{"id": "1", "qty": "2"}], [{"qty": None}]), canal("DELETE", [{"id": "1", "qty": "2"}]),
         canal("TRUNCATE", None, id=13), canal("ALTER", None, isDdl=True)],
        [(4, {"id": 1, "qty": None}), (2, {"id": 1, "qty": 2}), (0, {"id": 1, "qty": 2}),
         (5, {"id": None, "qty": None, "name": None, "price": None, "at": None, "raw": None})],
        None,
        {"statements": 1},
    ),
    "canal: old images of an insert have no meaning": (
        "canal", [canal("INSERT", [{"id": "1", "qty": "2"}, {"id": "2", "qty": "3"}], [1, [2]])],
        [(1, {"id": 1, "qty": 2}), (1, {"id": 2, "qty": 3})], None, {},
    ),
    "canal: fewer old images than rows say nothing": (
        "canal", [canal("UPDATE", [{"id": "1", "qty": "2"}, {"id": "2", "qty": "3"}], [{"qty": "1"}])],
        [(2, {"id": 1, "qty": 2}), (2, {"id": 2, "qty": 3})], None, {},
    ),
    "dms: load, insert, update of the key, delete, control": (
        "dms",
        [dms("load", {"id": 1, "qty": 2, "raw": "00ff"}), dms("insert", {"id": 2, "at": "2020-01-09T04:13:38Z"}),
         dms("update", {"id": 3, "qty": 5}, **{"before-image": {"id": 2}}), dms("update", {"id": 3, "qty": 6}, **{"before-image": {}}),
         dms("delete", {"id": 3, "qty": 6}), dms("create-table", None, control={})],
        [(1, {"id": 1, "qty": 2, "raw": "AP8="}), (1, {"id": 2, "at": "2020-01-09T04:13:38Z"}),
         (3, {"id": 2}), (2, {"id": 3, "qty": 5}), (2, {"id": 3, "qty": 6}), (0, {"id": 3, "qty": 6})],
        [f"00000000010000000001|0000000000000473|000000{at}" for at in range(6)],
        {"control records": 1},
    ),
    "goldengate: names in another case, an update that leaves out what did not change": (
        "goldengate",
        [goldengate("I", None, {"ID": 1, "QTY": 2, "PRICE": 17520.00, "AT": "1994-09-30:15:33:00"}),
         goldengate("U", {"ID": 1, "QTY": 2, "NAME": "a"}, {"ID": 1, "QTY": 3}), goldengate("D", {"ID": 1, "QTY": 3}),
         goldengate("T")],
        [(1, {"id": 1, "qty": 2, "price": 17520.0, "at": "1994-09-30T15:33:00Z"}), (4, {"id": 1, "qty": 2, "name": "a"}),
         (2, {"id": 1, "qty": 3, "name": "a"}), (0, {"id": 1, "qty": 3}),
         (5, {"id": None, "qty": None, "name": None, "price": None, "at": None, "raw": None})],
        None,
        {},
    ),
    "goldengate: its position, and transactions by xid": (
        "goldengate",
        [goldengate("I", None, {"ID": 1}, xid="7"), goldengate("I", None, {"ID": 2}, xid="7", pos="00000000050000002000")],
        [(1, {"id": 1}), (1, {"id": 2})],
        ["000000000500000004D2|0000000000000007|0000000", "000000000500000004D2|0000000000000007|0000001"], {},
    ),
    "goldengate: row mode": (
        "goldengate", [goldengate("I", ID=1, QTY=2), goldengate("D", ID=1, QTY=2)],
        [(1, {"id": 1, "qty": 2}), (0, {"id": 1, "qty": 2})], None, {},
    ),
    "delta: images in any order, one update; another key is a delete and an insert": (
        "delta-cdf",
        [delta("update_postimage", 3, id=1, qty=2), delta("insert", 3, id=7), delta("update_preimage", 3, id=1, qty=1),
         delta("delete", 3, id=9, qty=9), delta("insert", 2, id=1, qty=1, name="x", price=1.5),
         delta("update_preimage", 4, id=7), delta("update_postimage", 4, id=8)],
        [(1, {"id": 1, "qty": 1, "name": "x", "price": 1.5, "at": None, "raw": None}),
         *[(op, {"id": None, "qty": None, "name": None, "price": None, "at": None, "raw": None} | row)
           for op, row in [(0, {"id": 9, "qty": 9}), (4, {"id": 1, "qty": 1}), (2, {"id": 1, "qty": 2}), (1, {"id": 7}), (0, {"id": 7}), (1, {"id": 8})]]],
        [f"{version:020X}|0000000000000000|000000{rank}" for version, rank in [(2, 0), (3, 0), (3, 1), (3, 2), (3, 3), (4, 0), (4, 1)]],
        {},
    ),
    "airbyte: records, a delete that has the key alone, states and logs": (
        "airbyte",
        [airbyte({"id": 1, "qty": 2, "name": None}), airbyte({"id": 1, "qty": None, "name": None}, "2024-09-12T14:30:00Z"),
         {"type": "STATE", "state": {"type": "GLOBAL"}}, {"type": "LOG", "log": {"level": "INFO", "message": "x"}}],
        [(1, {"id": 1, "qty": 2, "name": None}), (0, {"id": 1})],
        [LINES.format(1), LINES.format(2)],
        {"states": 1, "messages of no record": 1},
    ),
    "cloudevents: rows of a snapshot, and each operation": (
        "cloudevents",
        [cloudevent("r", {"before": None, "after": {"id": 1, "qty": 2, "name": "a"}}, iodebeziumsnapshot="true"),
         cloudevent("u", {"before": {"id": 1, "qty": 2, "name": "a"}, "after": {"id": 1, "qty": 3, "name": None}}),
         cloudevent("d", {"before": {"id": 1, "qty": 3, "name": None}, "after": None}),
         cloudevent("t", {"before": None, "after": None}),
         cloudevent("m", {"message": {"prefix": "x", "content": "AA=="}})],
        [(1, {"id": 1, "qty": 2, "name": "a"}), (4, {"id": 1, "qty": 2, "name": "a"}), (2, {"id": 1, "qty": 3, "name": None}),
         (0, {"id": 1, "qty": 3, "name": None}), (5, {"id": None, "qty": None, "name": None, "price": None, "at": None, "raw": None})],
        ["00000000000001BEB2D0|0000000000000000|0000000",
         *(f"00000000000001BEB2D0|0000000000000235|000000{at}" for at in range(4))],
        {"logical messages": 1},
    ),
    "cloudevents: data with its schema, and the row alone": (
        "cloudevents",
        [cloudevent("c", {"schema": {"type": "struct", "fields": [
            {"field": "after", "type": "struct", "fields": [{"field": "at", "type": "int64", "name": "io.debezium.time.Timestamp"}]}]},
            "payload": {"before": None, "after": {"id": 1, "at": 1578923739738}}}),
         cloudevent("c", {"id": 2, "qty": 5}, iodebeziumtxId=None, iodebeziumtxid="566", iodebeziumlsn="29274900")],
        [(1, {"id": 1, "at": "2020-01-13T13:55:39.738000Z"}), (1, {"id": 2, "qty": 5})],
        ["00000000000001BEB2D0|0000000000000235|0000000", "00000000000001BEB314|0000000000000236|0000000"],
        {},
    ),
    "opencdc: create, update, delete by key, a raw image": (
        "opencdc",
        [opencdc("create", None, {"id": 1, "qty": 2}), opencdc("update", {"id": 1, "qty": 2}, {"id": 1, "qty": 3}),
         opencdc("delete", None, None, {"id": 1}), opencdc("snapshot", None, "eyJpZCI6NSwicXR5IjpudWxsfQ==")],
        [(1, {"id": 1, "qty": 2}), (4, {"id": 1, "qty": 2}), (2, {"id": 1, "qty": 3}), (0, {"id": 1}), (1, {"id": 5, "qty": None})],
        None,
        {},
    ),
}  # fmt: skip


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def seen(recipe, path):
    rows = pure.read(recipe, path)
    return [(row.pop("op_val"), {n: v for n, v in row.items() if n not in {"seq", "cap"}}) for row in rows], [
        r["seq"] for r in rows
    ]


@pytest.mark.parametrize("dialect", ["", "auto"])
@pytest.mark.parametrize("what", CASES)
def test_what_records_become(what, dialect, tmp_path):
    name, records, rows, positions, ignored = CASES[what]
    recipe = pure.recipe(tmp_path, DDL, META, dialect or name)
    path = write(tmp_path / "f", records)
    got, seqs = seen(recipe, path)
    assert got == rows
    assert seqs == (positions or sorted(set(seqs)))
    assert pure.fragments(recipe, path)[1][0].not_sent == ignored


@pytest.mark.parametrize("what", [what for what in CASES if not what.startswith("delta")])  # files of whole commits
def test_cut_anywhere_the_rows_are_the_same(what, tmp_path):
    """A transaction that continues in the next file continues counting; by line, the file's number is another."""
    name, records, _, positions, _ = CASES[what]
    recipe = pure.recipe(tmp_path, DDL, META, name)
    whole = pure.fragments(recipe, write(tmp_path / "f", records))[0]["integ_seq"].to_pylist()
    for cut in range(1, len(records)):
        parts = [write(tmp_path / "1", records[:cut]), write(tmp_path / "2", records[cut:])]
        got = pure.fragments(recipe, *parts)[0]["integ_seq"].to_pylist()
        by_line = [at for at, seq in enumerate(whole) if seq.startswith("0000000001")]
        assert [seq for at, seq in enumerate(got) if at not in by_line] == [
            seq for at, seq in enumerate(whole) if at not in by_line
        ]
        assert got == sorted(set(got)) or name == "maxwell"


COMMIT_TIMES = {
    "cloudevents": (cloudevent("c", {"before": None, "after": {"id": 1}}), "2020-01-13 13:55:39.738000"),
    "maxwell": (maxwell("insert", {"id": 1}), "2016-10-21 12:33:37"),
    "canal": (canal("INSERT", [{"id": "1"}]), "2025-01-01 00:00:00"),
    "dms": (dms("insert", {"id": 1}), "2024-07-29 00:58:17.983670"),
    "goldengate": (goldengate("I", None, {"ID": 1}), "2015-11-05 18:45:36"),
    "delta-cdf": (delta("insert", 1, id=1), "2022-09-01 18:32:32"),
    "airbyte": (airbyte({"id": 1}), "2024-09-12 14:30:00"),
    "opencdc": (opencdc("create", None, {"id": 1}), "2025-01-01 00:00:00"),
    "opencdc: a number": (
        opencdc("create", None, {"id": 1}, createdAt=1735689600123456789),
        "2025-01-01 00:00:00.123456",
    ),
    "opencdc: when it was read": (
        opencdc("create", None, {"id": 1}, createdAt=None, readAt="1735689600123456789"),
        "2025-01-01 00:00:00.123456",
    ),
}


@pytest.mark.parametrize("name", COMMIT_TIMES)
def test_commit_times(name, tmp_path):
    record, expected = COMMIT_TIMES[name]
    sent, _ = pure.fragments(pure.recipe(tmp_path, DDL, META, name.partition(":")[0]), write(tmp_path / "f", [record]))
    assert sent["cap_tstamp"].cast(pa.timestamp("us")).to_pylist()[0].isoformat(" ") == expected


ENTRIES = """
  - {action: ColumnProperties, Name: v, Extra: true, Datatype: text, IntegrateExpression: "{hvr_cap_header opencdc.version}"}
  - {action: ColumnProperties, Name: n, Extra: true, Datatype: text, IntegrateExpression: "{hvr_cap_header a b}"}
  - {action: Integrate, MessageHeaders: "from={hvr_cap_header kafka.header.from}"}
"""


def test_metadata_of_opencdc_are_headers_in_expressions(tmp_path):
    given = [{"opencdc.version": "v1", "a b": '\u00e4 "', "kafka.header.from": "x"}, {"a b": 5, "more": None}, {}]
    records = [
        opencdc("update", {"id": 1}, {"id": 1}),
        opencdc("create", None, "eyJpZCI6NX0="),
        opencdc("create", None, {"id": 2}),
    ]
    for record, own in zip(records, given, strict=True):
        record["metadata"] = {"opencdc.collection": "orders", **own}
    records.append({**records[2], "metadata": None, "table": "orders"})
    recipe = pure.recipe(tmp_path, DDL, META + ENTRIES, "opencdc", source=", table: orders")
    messages = pure.messages(recipe, write(tmp_path / "f", records))
    found = [(json.loads(one.value)["v"], json.loads(one.value)["n"], one.headers["from"]) for one in messages]
    first = ("v1", 'ä "', b"x")
    assert found == [first, first, (None, "5", None), (None, None, None), (None, None, None)]


def test_other_dialects_have_no_metadata(tmp_path):
    with pytest.raises(
        ConfigurationError, match=r"\{hvr_cap_header\} needs a source of class kafka, or dialect: opencdc"
    ):
        pure.recipe(tmp_path, DDL, META + ENTRIES, "hvr")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize(
    ("name", "record"),
    [("goldengate", goldengate("I", None, {"ID": 1, "AT": "2025-01-01 00:00:00"})), ("canal", canal("INSERT", [{"id": "1", "at": "2025-01-01 00:00:00"}]))],
)  # fmt: skip
def test_the_zone_of_moments_that_say_none(name, record, zone, tmp_path):
    recipe = pure.recipe(tmp_path, DDL, META, name, source=f", time_zone: {zone}")
    hour = {"UTC": "00", "America/New_York": "05"}[zone]
    assert pure.read(recipe, write(tmp_path / "f", [record]))[0]["at"] == f"2025-01-01T{hour}:00:00Z"


FILES = {
    "a header": 'Op,id,qty,name\nI,1,2,"a, b"\nU,1,NULL,\nD,1,,""\n',
    "no header, every column": 'I,1,2,"a, b",,,\nU,1,NULL,,,,\nD,1,,"",,,\n',
    "a timestamp after Op": 'I,2024-01-01 10:00:00.5,1,2,"a, b",,,\nU,2024-01-01 10:00:00.5,1,NULL,,,,\nD,2024-01-01 10:00:00.5,1,,"",,,\n',
}


@pytest.mark.parametrize("how", FILES)
def test_files_of_dms_for_s3(how, tmp_path):
    path = tmp_path / "f.csv"
    path.write_text(FILES[how])
    got, seqs = seen(pure.recipe(tmp_path, DDL, META, "dms"), path)
    assert [(op, row["id"], row["qty"], row["name"]) for op, row in got] == [
        (1, 1, 2, "a, b"),
        (2, 1, None, None),
        (0, 1, None, ""),
    ]
    assert [seq[10:20] for seq in seqs] == [f"{at + (how == 'a header'):010X}" for at in (1, 2, 3)]


def test_a_full_load_of_dms_has_no_op(tmp_path):
    path = tmp_path / "LOAD00000001.csv"
    path.write_text("1,2,a,1.50,2024-01-01 10:00:00,00ff\n")
    got, _ = seen(pure.recipe(tmp_path, DDL, META, "dms"), path)
    assert got == [(1, {"id": 1, "qty": 2, "name": "a", "price": 1.5, "at": "2024-01-01T10:00:00Z", "raw": "AP8="})]


def test_parquet_of_dms_and_delta(tmp_path):
    rows = pa.table({"Op": ["I", "U", "D"], "id": [1, 1, 1], "qty": [2, None, 3]})
    pa.parquet.write_table(rows, tmp_path / "f.parquet")
    got, _ = seen(pure.recipe(tmp_path, DDL, META, "auto"), tmp_path / "f.parquet")
    assert got == [(1, {"id": 1, "qty": 2}), (2, {"id": 1, "qty": None}), (0, {"id": 1, "qty": 3})]


REFUSED = [
    ("maxwell", {"type": "odd", "database": "d", "table": "orders"}, "type is 'odd'; it is one of insert"),
    ("canal", {"table": "orders", "isDdl": False}, "type is not there"),
    ("dms", dms("insert", {"id": 1, "raw": "x"}), "table orders, column raw: 'x' is no blob"),
    ("delta-cdf", {"id": 1, "_change_type": "insert"}, "the row has no _commit_version"),
    ("opencdc", opencdc("create", None, "AAAA"), "payload.after is raw"),
    ("maxwell", maxwell("insert", {"id": 1, "new": 5}), "table orders: column 'new' is not in its definition"),
    ("goldengate", goldengate("D", {"ID": 2, "table": "y"}), "table orders: column 'table' is not in its definition"),
    ("airbyte", airbyte({"id": "x"}), "table orders, column id: 'x' is no integer"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "record", "reason"), REFUSED)
def test_what_is_refused_is_named_with_its_line(name, record, reason, tmp_path):
    with pytest.raises(DataError) as raised:
        pure.fragments(pure.recipe(tmp_path, DDL, META, name), write(tmp_path / "f", [record]))
    assert f"{tmp_path}/f:1: {reason}" in str(raised.value)


def test_a_record_of_no_dialect_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"the names in its first record \(a, b\) match no dialect"):
        recognized(File(str(write(tmp_path / "f", [{"a": 1, "b": 2}]))))


LOOKED_AT = [
    ("debezium", ["null", "null"]),
    ("debezium", ['{"ts_ms":1}', "null"]),
    ("debezium", ["null", '{"source":{},"ts_ms":1,"ddl":"drop table x"}']),
    ("hvr", ["null", '{"hvr_op":1,"hvr_tx_seq":"1"}']),
    ("wal2json", ['{"action":"B","xid":1}']),
]


@pytest.mark.parametrize(("dialect", "lines"), LOOKED_AT)
def test_a_dialect_is_told_by_the_first_record_that_has_names_of_one(dialect, lines, tmp_path):
    (tmp_path / "f").write_text("\n".join(lines) + "\n")
    assert recognized(File(str(tmp_path / "f"))) == dialect


NO_RECORDS = [
    ("canal", '{"data":[null],"old":null,"table":"orders","type":"INSERT","id":1,"es":1}', "it is no object"),
    ("delta-cdf", "null", "it is no object"),
    (
        "maxwell",
        '{"type":"insert","table":"orders","database":"d","ts":1,"data":{"id":1,"name":nope}}',
        "no JSON: character 79: here a value is expected",
    ),
]


@pytest.mark.parametrize(("dialect", "line", "reason"), NO_RECORDS)
def test_what_is_no_record_is_named_and_kills_nobody(dialect, line, reason, tmp_path):
    (tmp_path / "f").write_text(line + "\n")
    with pytest.raises(DataError, match=reason):
        pure.fragments(pure.recipe(tmp_path, DDL, META, dialect), tmp_path / "f")


def test_two_spellings_of_a_column_in_one_file_are_one(tmp_path):
    records = [
        goldengate("I", None, {"ID": 1, "NAME": "a"}),
        goldengate("I", None, {"id": 2, "name": "b"}, pos="00000000050000001235"),
    ]
    got, _ = seen(pure.recipe(tmp_path, DDL, META, "goldengate"), write(tmp_path / "f", records))
    assert [row for _, row in got] == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


def test_a_dialect_that_is_none_is_a_problem_with_those_that_are(tmp_path):
    with pytest.raises(ConfigurationError, match=r"'odd' is no dialect; accepted are auto, hvr, "):
        pure.recipe(tmp_path, DDL, META, "odd")


NO_IMAGES = [
    ("maxwell", maxwell("insert", None)),
    ("dms", dms("insert", None)),
    ("dms", dms("update", {})),
    ("goldengate", {**goldengate("I"), "before": None, "after": None}),
    ("opencdc", opencdc("create")),
    ("opencdc", opencdc("delete")),
    ("airbyte", {"type": "RECORD", "record": {"stream": "orders", "data": {}, "emitted_at": 1}}),
]


@pytest.mark.parametrize(("dialect", "record"), NO_IMAGES)
def test_a_record_without_an_image_is_refused_and_not_sent_as_a_row_of_nothing(dialect, record, tmp_path):
    with pytest.raises(DataError, match="f:1: table orders: the record has no row image"):
        pure.fragments(pure.recipe(tmp_path, DDL, META, dialect), write(tmp_path / "f", [record]))


@pytest.mark.parametrize("dialect", ["debezium", "auto"])
def test_a_file_of_tombstones_alone_has_no_rows(dialect, tmp_path):
    (tmp_path / "f").write_text("null\nnull\n")
    sent, notes = pure.fragments(pure.recipe(tmp_path, DDL, META, dialect), tmp_path / "f")
    assert (len(sent), notes[0].not_sent) == (0, {"tombstones": 2})
