"""Records as producers write them now and then: nothing vanishes, no value becomes another, and errors say where."""

import base64
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet
import pytest

from integrator.decode.contract import File
from integrator.decode.dialects import recognized
from integrator.errors import DataError
from tests.parts import pure
from tests.unit.test_dialects import DDL as ORDERS
from tests.unit.test_dialects import META, airbyte, canal, delta, dms, goldengate, maxwell, write

PLAIN = f"  - {pure.PLAIN}\n"
STATED = "create table t(id int primary key, status varchar(9), ddl varchar(9), source varchar(9), op varchar(9));"
TYPES = "create table t(id int primary key, d date, ts timestamp, w numeric(80,40), p decimal(10,2), iv interval);"
LISTS = "create table orders(id int primary key, nums bigint[], ids uuid[], h hstore);"
STAMP = "1735689600000000"


def event(op, after=None, before=None, table="t", schema=None):
    source = {"connector": "postgresql", "table": table, "txId": 7, "lsn": 24, "ts_ms": 1}
    told = {"op": op, "before": before, "after": after, "source": source, "ts_ms": 2}
    if schema is None:
        return told
    fields = [{"field": "after", "type": "struct", "fields": schema}]
    return {"schema": {"type": "struct", "fields": fields}, "payload": told}


def of_file(directory, ddl, dialect, records, source=""):
    return pure.read(pure.recipe(directory, ddl, PLAIN, dialect, source=source), write(directory / "f", records))


FLAT = [
    {"id": 1, "status": "new", "__deleted": "false"},
    {"id": 1, "status": "BEGIN", "ddl": "x", "source": "web", "op": "c", "__op": "c"},
    {"id": 1, "status": "new"},
    {"id": 1, "op": "x", "ddl": "y"},
]


@pytest.mark.parametrize("record", FLAT, ids=str)
def test_a_flattened_event_may_have_columns_with_the_names_of_others_members(record, tmp_path):
    [row] = of_file(tmp_path, STATED, "debezium", [record])
    assert row.items() >= {name: value for name, value in record.items() if not name.startswith("__")}.items()


VALUES = [
    (event("c", {"id": 1, "iv": 31589206200000000}), {"iv": "P0Y0M365615DT19H30M0S"}),
    (event("c", {"id": 1, "p": {"scale": 1, "value": "AQ=="}}), {"p": 0.1}),
    (
        event("c", {"id": 1, "w": base64.b64encode((10**78 + 1).to_bytes(33, "big")).decode()}, schema=[
            {"field": "id", "type": "int32"},
            {"field": "w", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "40"}},
        ]),
        {"w": "1" + 38 * "0" + "." + 39 * "0" + "1"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("record", "expected"), VALUES, ids=lambda case: str(case)[:40])
def test_values_of_debezium_are_exact(record, expected, tmp_path):
    [row] = of_file(tmp_path, TYPES, "debezium", [record])
    assert row.items() >= expected.items()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("h", {"__debezium_unavailable_value": "__debezium_unavailable_value"}),
        ("h", '{"__debezium_unavailable_value":"__debezium_unavailable_value"}'),
        ("ids", ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]),
    ],
    ids=str,
)
def test_each_form_of_an_unavailable_value_is_missing(name, value, tmp_path):
    [row] = of_file(tmp_path, LISTS, "debezium", [event("c", {"id": 1, name: value}, table="orders")])
    assert name not in row


@pytest.mark.parametrize("null", ["null ", "null\r", " null"])
def test_tombstones_may_have_white_space(null, tmp_path):
    (tmp_path / "f").write_bytes(f"{json.dumps(event('c', {'id': 1}))}\n{null}\n".encode())
    _, notes = pure.fragments(pure.recipe(tmp_path, TYPES, PLAIN, "debezium"), tmp_path / "f")
    assert notes[0].not_sent == {"tombstones": 1}


def test_an_old_image_of_dms_has_its_own_values_only(tmp_path):
    record = dms("update", {"id": 1, "name": "new"}, **{"before-image": {"id": 1, "qty": 5}})
    rows = pure.read(pure.recipe(tmp_path, ORDERS, META, "dms"), write(tmp_path / "f", [record]))
    old, new = ({name: row[name] for name in ("id", "qty", "name") if name in row} for row in rows)
    assert (old, new) == ({"id": 1, "qty": 5}, {"id": 1, "name": "new"})


@pytest.mark.parametrize("written", ["{1,NULL,3}", [1, None, 3], "[1,null,3]"], ids=str)
def test_arrays_come_as_json_or_as_postgresqls_literals(written, tmp_path):
    [row] = of_file(tmp_path, LISTS, "dms", [dms("insert", {"id": 1, "nums": written})])
    assert row["nums"] == [1, None, 3]


@pytest.mark.parametrize("stamp", ["2015-11-05 18:45:36.123456789", "2015-11-05:18:45:36.123456"])
def test_goldengate_writes_moments_in_several_ways(stamp, tmp_path):
    recipe = pure.recipe(tmp_path, ORDERS, META, "goldengate")
    [row] = pure.read(recipe, write(tmp_path / "f", [goldengate("I", None, {"ID": 1}, op_ts=stamp)]))
    assert row["cap"] == "2015-11-05 19:45:36"


def test_null_in_a_column_whose_name_has_escapes_is_not_missing(tmp_path):
    ddl = 'create table t(id int primary key, "größe" int, "a""b" int);'
    records = [{"hvr_op": 1, "hvr_tx_seq": "1", "id": 1, "größe": None, 'a"b': None}]
    assert of_file(tmp_path, ddl, "hvr", records) == [{"id": 1, "größe": None, 'a"b': None}]


def test_a_name_in_an_object_that_is_ignored_is_no_column(tmp_path):
    records = [{"hvr_op": 1, "hvr_tx_seq": "1", "id": 1, "x": {"qty": 1}}, {"hvr_op": 1, "hvr_tx_seq": "1", "id": 2}]
    assert of_file(tmp_path, ORDERS, "hvr", records, ", unknown_columns: ignore") == [{"id": 1}, {"id": 2}]


def test_values_of_columns_that_are_ignored_may_be_of_several_types(tmp_path):
    records = [{"hvr_op": 1, "hvr_tx_seq": "1", "id": at, "x": x} for at, x in enumerate([1, "a", None, [1]])]
    recipe = pure.recipe(tmp_path, ORDERS, PLAIN, source=", unknown_columns: ignore")
    _, notes = pure.fragments(recipe, write(tmp_path / "f", records))
    assert notes[0].rows == 4
    assert sum(notes[0].warnings.values()) == 3


PARQUET = {
    "by dictionary": pa.array(["00ff"]).dictionary_encode(),
    "with long offsets": pa.array(["00ff"], pa.large_string()),
    "as a view": pa.array(["00ff"], pa.string_view()),
}


@pytest.mark.parametrize("dialect", ["hvr", "dms"])
@pytest.mark.parametrize("raw", PARQUET.values(), ids=PARQUET)
def test_text_in_parquet_may_be_stored_in_several_ways(raw, dialect, tmp_path):
    meta = {"hvr_op": [1], "hvr_tx_seq": ["1"]} if dialect == "hvr" else {"Op": ["I"]}
    table = pa.table({**meta, "id": [1], "name": pa.array([Decimal("0.0000000001")]), "raw": raw})
    pyarrow.parquet.write_table(table, tmp_path / "f")
    [row] = pure.read(pure.recipe(tmp_path, ORDERS, PLAIN, dialect), tmp_path / "f")
    assert (row["raw"], row["name"]) == ("AP8=", "0.0000000001")


@pytest.mark.parametrize("dialect", ["debezium", "hvr"])
def test_a_byte_order_mark_is_passed_over(dialect, tmp_path):
    record = (
        event("c", {"id": 1}, table="orders") if dialect == "debezium" else {"hvr_op": 1, "hvr_tx_seq": "1", "id": 1}
    )
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf" + json.dumps(record).encode() + b"\n")
    assert recognized(File(str(tmp_path / "f"))) == dialect
    assert [row["id"] for row in pure.read(pure.recipe(tmp_path, ORDERS, PLAIN, dialect), tmp_path / "f")] == [1]


def test_names_in_hvr_missing_may_have_spaces(tmp_path):
    (tmp_path / "f").write_text('hvr_op,hvr_tx_seq,id,my col,a,hvr_missing\n2,1,5,,," my col , a"\n')
    recipe = pure.recipe(tmp_path, 'create table t(id int primary key, "my col" int, a int);', PLAIN)
    assert pure.read(recipe, tmp_path / "f") == [{"id": 5}]


def test_lines_are_counted_where_values_have_ends_of_lines(tmp_path):
    (tmp_path / "f").write_text('I,1,2,"a\nb",1.5,,\nI,x,2,c,1.5,,\n')
    with pytest.raises(DataError, match="f:3: table orders, column id: 'x'"):
        pure.fragments(pure.recipe(tmp_path, ORDERS, PLAIN, "dms"), tmp_path / "f")


LOOKED_AT = [
    ("delta-cdf", {"id": 1, "action": "login", "op": "x", "source": "y", "_change_type": "insert"}),
    ("debezium", {"id": 1, "action": "x", "change": 1, "__deleted": "false"}),
    ("goldengate", {"table": "T", "op_type": "I", "action": "x", "op": 1, "source": 2}),
    ("dms", {"Op": "I", "id": 1, "action": 2}),
    ("dms", {"metadata": {"operation": "create-table"}}),
    ("maxwell", maxwell("insert", {"id": 1, "name": 5_000_000 * "x"})),
]


@pytest.mark.parametrize(("dialect", "record"), LOOKED_AT, ids=lambda case: str(case)[:60])
def test_columns_do_not_hide_what_a_dialect_is_told_by(dialect, record, tmp_path):
    assert recognized(File(str(write(tmp_path / "f", [record])))) == dialect


def test_a_csv_header_tells_too(tmp_path):
    (tmp_path / "f").write_text("Op,id,action\nI,1,x\n")
    assert recognized(File(str(tmp_path / "f"))) == "dms"


GOOD = {"maxwell": maxwell("insert", {"id": 1}), "canal": canal("INSERT", [{"id": "1"}])}
GOOD |= {
    "debezium": event("c", {"id": 1}),
    "goldengate": goldengate("I", None, {"ID": 1}),
    "airbyte": airbyte({"id": 1}),
}
GOOD |= {"dms": dms("insert", {"id": 1, "nums": [1, 2, 3, 4]}), "delta-cdf": delta("insert", 1, id=1)}
REFUSED = [
    ("canal", ORDERS, canal("INSERT", None), "the message has no rows in `data`"),
    ("canal", ORDERS, canal("UPDATE", []), "the message has no rows in `data`"),
    ("canal", ORDERS, canal("INSERT", {"id": "1", "qty": "2"}), "`data` is {"),
    ("canal", ORDERS, canal("INSERT", [{"id": "1"}], es="x"), "es is 'x'; expected a whole number"),
    ("debezium", TYPES, event("c", {"id": 1, "d": 2147483647}), "column d: '2147483647' is no date"),
    ("debezium", TYPES, event("c", {"id": 1, "d": -800000}), "column d: '-800000' is no date"),
    ("debezium", TYPES, event("c", {"id": 1, "d": 99999999999}), "column d: '99999999999' is no date"),
    ("debezium", TYPES, event("c", {"id": 1, "ts": 9223372036825200000}), "column ts: '9223372036825200000'"),
    ("debezium", TYPES, event("c", {"id": 1, "w": "AQ=="}), "column w: 'AQ==' .* given by a schema only"),
    ("debezium", TYPES, event("c", {"id": 1, "p": {"scale": 2}}), "column p: .* is no decimal with its scale"),
    ("debezium", TYPES, {"schema": "x", "payload": event("c", {"id": 1})}, "the schema of the event cannot be read"),
    ("dms", LISTS, dms("insert", {"id": 1, "nums": "x"}), "column nums: 'x' is no JSON list"),
    ("dms", LISTS, dms("insert", {"id": 1, "nums": [[1, 2]]}), "column nums: "),
    ("dms", LISTS, dms("insert", {"id": 1, "nums": ["x"]}), "column nums: 'x' is no bigint"),
    ("dms", LISTS, dms("insert", {"id": 1}) | {"metadata": {"operation": "insert", "table-name": "orders", "timestamp": "x"}},
     "timestamp: 'x' is no"),
    ("goldengate", ORDERS, goldengate("I", None, {"ID": 1}, op_ts="yesterday"), "op_ts: 'yesterday' is no"),
    ("maxwell", ORDERS, maxwell("insert", {"id": 1}, ts=1.5), "ts is '1.5'; expected a whole number"),
    ("maxwell", ORDERS, maxwell("insert", {"id": 1}) | {"table": "\ud800"}, "here is half of a surrogate pair"),
    ("airbyte", ORDERS, {"type": "RECORD", "record": {"stream": "orders", "data": {"id": 1}, "emitted_at": "x"}},
     "emitted_at is 'x'; expected a whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "ddl", "record", "reason"), REFUSED, ids=lambda case: str(case)[:50])
def test_what_is_refused_is_told_with_its_line(dialect, ddl, record, reason, tmp_path):
    path = write(tmp_path / "f", [GOOD[dialect], record])
    with pytest.raises(DataError, match=f"f:2: .*{reason}"):
        pure.fragments(pure.recipe(tmp_path, ddl, PLAIN, dialect), path)


def test_rows_of_delta_have_the_key(tmp_path):
    records = [delta(kind, 1, ID=1) for kind in ("update_preimage", "update_postimage")]
    pyarrow.parquet.write_table(pa.Table.from_pylist(records), tmp_path / "f")
    with pytest.raises(DataError, match="have no column 'id', which is in the key of orders"):
        pure.fragments(pure.recipe(tmp_path, ORDERS, PLAIN, "delta-cdf"), tmp_path / "f")


def test_records_over_several_lines_are_told_with_the_line(tmp_path):
    (tmp_path / "f").write_text(json.dumps({"hvr_op": 1, "hvr_tx_seq": "1", "id": 1}, indent=1))
    with pytest.raises(DataError, match="f:1: "):
        pure.fragments(pure.recipe(tmp_path, ORDERS, PLAIN), tmp_path / "f")
