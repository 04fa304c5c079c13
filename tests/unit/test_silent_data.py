"""Odd records: what they become, or the error that names file, line and value. Before, each went wrong without a word.

A case: the dialect, its table definitions, the lines of a file, and what is expected: the rows in plain JSON, or a part
of the error's text. The number is of the list in which the findings were collected.
"""

from __future__ import annotations

import json

import pytest

from integrator.errors import DataError
from tests.parts import pure

OP = "  - {action: ColumnProperties, Name: op, Datatype: integer, Extra: true, TimeKey: true, IntegrateExpression: '{hvr_op}'}\n"
ORDERS = "create table orders(id int primary key, v text);"
BOTH = ORDERS + "create table other(id int primary key, v text);"
KINDS = """create table kinds(id int primary key, d double precision, r real, n numeric, p decimal(12,2), m money, b bit(8),
vb varbit(8), fifty varchar(50), day date, at timestamp, flags boolean[], nums int[], rs real[], t text);"""
KEYLESS = "create table keyless(id int not null, k int not null, v text);"


def hvr(**members):
    return json.dumps({"hvr_tbl_name": "orders", "hvr_op": 1, "hvr_tx_seq": "1", **members})


def debezium(op, before, after, table="kinds", schema="public", **members):
    source = {"table": table, "schema": schema, "lsn": 5, "txId": 7, "ts_ms": 1}
    return json.dumps({"op": op, "before": before, "after": after, "source": source, **members})


def created(**after):
    return debezium("c", None, {"id": 1, **after})


def wal2json(*columns, action="I", schema="public", table="kinds"):
    names = [{"name": name, "type": "?", "value": value} for name, value in columns]
    change = {"action": action, "schema": schema, "table": table, "columns": names}
    return [json.dumps({"action": "B", "xid": 1, "nextlsn": "0/1"}), json.dumps(change), json.dumps({"action": "C"})]


def airbyte(**data):
    return json.dumps({"type": "RECORD", "record": {"stream": "orders", "data": data, "emitted_at": 1}})


def goldengate(**members):
    return json.dumps(
        {"table": "S.ORDERS", "op_type": "I", "op_ts": "2026-11-23 01:02:03", "pos": "0" * 19 + "1", **members}
    )


def maxwell(**members):
    return json.dumps({"database": "shop", "table": "orders", "type": "insert", "ts": 1, "data": {"id": 1}, **members})


IGNORE = ", unknown_columns: ignore"
FOREIGN = "create table orders(id int primary key, v text);"
ROW = {"id": 1, "op": 1}

CASES = [
    # 4: tables mixed
    (4, "debezium", ORDERS, "", [debezium("c", None, {"id": 1}, "orders"), debezium("c", None, {"id": 2}, "orders", "ops")],
     ":2: a change of table 'ops.orders', and changes of 'public.orders' came before"),
    (4, "debezium", ORDERS, "", [debezium("c", None, {"id": 1}, "orders"), debezium("c", None, {"id": 2}, "Orders")],
     ":2: a change of table 'public.Orders', and changes of 'public.orders' came before"),
    (4, "debezium", "create table public.orders(id int primary key);", "", [debezium("c", None, {"id": 1}, "orders", "ops")],
     ":1: a change of table 'ops.orders', which the channel does not have"),
    (4, "debezium", 'create table "Vehicle"(id int primary key); create table vehicles(id int primary key);', "",
     [debezium("c", None, {"id": 1}, "Vehicle")], [ROW]),
    # 5: nested and escaped names
    (5, "hvr", BOTH, IGNORE, ['{"x":{"hvr_tbl_name":"other"},"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"1","id":1}'], [ROW]),
    (5, "hvr", BOTH, "", ['{"hvr_tbl_name":"\\u006frders","hvr_op":1,"hvr_tx_seq":"1","id":1}'], [ROW]),
    (5, "hvr", ORDERS, "", ['{"hvr\\u005ftbl_name":"other","hvr_op":1,"hvr_tx_seq":"1","id":1}'], ":1: a change of table 'other'"),
    (5, "airbyte", ORDERS, "", [airbyte(id=1, _ab_cdc_deleted_at="2026-11-23T00:00:00Z").replace("deleted_at", "deleted\\u005fat")],
     [{"id": 1, "op": 0}]),
    (5, "maxwell", ORDERS, "", [maxwell(type="update", old={"v": "a"}, data={"id": 1, "v": "b"}).replace('"old"', '"o\\u006cd"')],
     [{"id": 1, "v": "a", "op": 4}, {"id": 1, "v": "b", "op": 2}]),
    # 6: operation words
    *((6, "debezium", KINDS, "", [debezium(word, None, {"id": 1})], f":1: the op '{word}' is none of c u d r t m")
      for word in ("DROP", "Truncate", "Unknown", "C", "delete")),
    *((6, "wal2json", KINDS, "", wal2json(("id", 1), action=word), f":2: the action '{word}' is none of B C I U D T M")
      for word in ("DROP", "Truncate", "Unknown", "i")),
    (6, "debezium", ORDERS, ", table: orders", ['{"id":1,"v":null,"__deleted":"TRUE"}'], ":1: __deleted is 'TRUE'; expected true or false"),
    # 9: positions
    (9, "hvr", ORDERS, "", [hvr(id=1, hvr_tx_countdown=268_435_456)], ":1: hvr_tx_countdown is 268435456; expected"),
    (9, "hvr", ORDERS, "", [hvr(id=1, hvr_tx_countdown=-1)], ":1: hvr_tx_countdown is -1; expected"),
    (9, "hvr", ORDERS, "", [hvr(id=1), hvr(id=2, hvr_tx_seq="2"), hvr(id=3)], ":3: the change is at"),
    (9, "hvr", ORDERS, "", [hvr(id=1, hvr_tx_countdown=1), hvr(id=2, hvr_tx_countdown=1)], ":2: the change is at"),
    (9, "hvr", ORDERS, ", repeated_positions: send", [hvr(id=1), hvr(id=2, hvr_tx_seq="2"), hvr(id=1)], [ROW, {"id": 2, "op": 1}, ROW]),
    (9, "debezium", KINDS, "", [created().replace('"lsn": 5', '"lsn": 9'), created().replace('"txId": 7', '"txId": 8')], ":2: the change is at"),
    (9, "canal", ORDERS, "", [json.dumps({"database": "d", "table": "orders", "type": "INSERT", "es": 1, "isDdl": False, "data": [{"id": "1"}, {"id": "2"}]})],
     [ROW, {"id": 2, "op": 1}]),
    # 10: placeholders
    (10, "debezium", KEYLESS, "", [debezium("d", {"id": 0, "k": 5, "v": None}, None, "keyless")], ":1: table keyless: the before image may be"),
    (10, "debezium", KEYLESS, ", debezium: {old_images: FULL}", [debezium("d", {"id": 0, "k": 5, "v": None}, None, "keyless")],
     [{"id": 0, "k": 5, "v": None, "op": 0}]),
    (10, "debezium", KEYLESS, "", [debezium("d", {"id": 0, "k": 5, "v": "x"}, None, "keyless")], [{"id": 0, "k": 5, "v": "x", "op": 0}]),
    # 11 and 12: types that a schema would give
    (11, "debezium", KINDS, "", [created(m="AMg=")], [{**ROW, "m": 2.00}]),
    (11, "debezium", KINDS, "", [created(b="BQ==")], [{**ROW, "b": "00000101"}]),
    (11, "debezium", KINDS, "", [created(vb="BQ==")], ":1: table kinds, column vb: 'BQ==' is no varchar(8) (Debezium does not write"),
    (11, "debezium", KINDS, "", [created(n="AQ==")], ":1: table kinds, column n: 'AQ==' is no varchar(50) (the record does not have its scale"),
    (12, "debezium", KINDS, "", [created(fifty='{"scale":2,"value":"AQ=="}')], [{**ROW, "fifty": '{"scale":2,"value":"AQ=="}'}]),
    (12, "debezium", KINDS, "", [created(fifty="{")], [{**ROW, "fifty": "{"}]),
    (12, "debezium", KINDS, "", [created(n={"scale": 2, "value": "AQ=="})], [{**ROW, "n": "0.01"}]),
    # 13: a value depends on its own record only
    (13, "debezium", KINDS, "", [created(p="1234"), created(p={"scale": 1, "value": "AQ=="}).replace('"txId": 7', '"txId": 7')],
     [{**ROW, "p": -26588.24}, {**ROW, "p": 0.1}]),
    (13, "debezium", KINDS, "", [created(day=20_000), created(day="2026-11-23")], [{**ROW, "day": "2024-10-04"}, {**ROW, "day": "2026-11-23"}]),
    (13, "debezium", KINDS, "", [created(nums="{1,NULL}"), created(nums=[2])], [{**ROW, "nums": [1, None]}, {**ROW, "nums": [2]}]),
    # 14: text to null
    *((14, dialect, FOREIGN, "", [line], [{"id": 1, "v": "\ufdd0null", **more}]) for dialect, line, more in (
        ("maxwell", maxwell(data={"id": 1, "v": "\ufdd0null"}), {"op": 1}),
        ("airbyte", airbyte(id=1, v="\ufdd0null"), {"op": 1}),
    )),
    (14, "delta-cdf", FOREIGN, ", table: orders", [json.dumps({"id": 1, "v": "\ufdd0null", "_change_type": "insert", "_commit_version": 1})],
     [{"id": 1, "v": "\ufdd0null", "op": 1}]),
    # 15: overflow
    *((15, "hvr", KINDS, "", [hvr(hvr_tbl_name="kinds", id=1)[:-1] + f',"{column}":{value}}}'], f":1: table kinds, column {column}: {value} is no")
      for column, value in (("d", "1e400"), ("d", "-1e309"), ("r", "1e39"), ("rs", "[1e39]"))),
    (15, "debezium", KINDS, "", [created()[:-1].replace('"id": 1', '"id": 1, "r": 1e39') + "}"], ":1: table kinds, column r: '1e39' is no real"),
    (15, "hvr", KINDS, "", [hvr(hvr_tbl_name="kinds", id=1)[:-1] + ',"n":"\\u0031.50"}', hvr(hvr_tbl_name="kinds", id=2, n=None)], [{**ROW, "n": "1.50"}, {"id": 2, "op": 1, "n": None}]),
    (15, "hvr", KINDS, "", [hvr(hvr_tbl_name="kinds", id=1)[:-1] + ',"n":"\\udc00"}'], ":1: no JSON: character"),
    # 16: words and times
    (16, "goldengate", "create table orders(id int primary key, at timestamp);", "", [goldengate(after={"ID": 1, "AT": "2026-11-23 01"})],
     ":1: table orders, column at: '2026-11-23 01' is no timestamp"),
    (16, "dms", "create table orders(id int primary key, at time);", ", table: orders", ["Op,id,at", "I,1,12"], ":2: table orders, column at: '12' is no time"),
    (16, "canal", "create table orders(id int primary key, b bytea);", "",
     [json.dumps({"database": "d", "table": "orders", "type": "INSERT", "es": 1, "isDdl": False, "data": [{"id": "1", "b": 5}]})], ":1: table orders, column b: '5' is no blob"),
    (16, "delta-cdf", "create table orders(id int primary key, u uuid);", ", table: orders",
     [json.dumps({"id": 1, "u": ["a"], "_change_type": "insert", "_commit_version": 1})], ":1: table orders, column u: '[\"a\"]' is no uuid"),
    *((16, "maxwell", ORDERS, "", [maxwell()[:-1] + f',"x":{word}}}'], ":1: no JSON: character")
      for word in ("0x1F", "1_000", "5.", "+1", "NaN", "nul", "01", ".5", "'a'")),
    (16, "debezium", KINDS, "", [created(nums={})], ":1: table kinds, column nums: '{}' is no integer[]"),
    # 17: twice, or without a name
    (17, "maxwell", ORDERS, "", [maxwell()[:-1] + ',"data":{"id":2}}'], ":1: the member 'data' stands twice in one object"),
    (17, "debezium", KINDS, "", [created()[:-1].replace('"id": 1', '"id": 1, "i\\u0064": 2') + "}"], ":1: the member 'id' stands twice"),
    (17, "wal2json", KINDS, "", wal2json(("id", 1), ("id", 2)), ":2: table kinds: column 'id' stands twice in one image"),
    (17, "wal2json", KINDS, "", [line.replace('"name": "id", ', "") for line in wal2json(("id", 1))], ":2: a value stands in a list of columns without a name"),
    # 18: nesting
    *((18, dialect, KINDS, IGNORE, [line[:-1] + ',"deep":' + "[" * depth + "]" * depth + "}"], ":1: no JSON: character")
      for depth in (128, 3_000, 5_000, 200_000) for dialect, line in (("debezium", created()), ("hvr", hvr(hvr_tbl_name="kinds", id=1)))),
    (18, "debezium", KINDS, IGNORE, [created()[:-1] + ',"deep":' + "[" * 127 + "]" * 127 + "}"], [ROW]),
    # 21: wrongly refused
    (21, "wal2json", KINDS, "", wal2json(("id", 1), ("flags", "{t,f,NULL}")), [{**ROW, "flags": [True, False, None]}]),
    (21, "wal2json", KINDS, "", wal2json(("id", 1), ("m", "$1,234.50")), ":2: table kinds, column m: '$1,234.50' is no decimal(19,2) (it is written in the format of"),
    # 23: the right line and value
    (23, "debezium", KINDS, "", [created(day="5874897-12-31"), created(day="infinity")], ":1: table kinds, column day: '5874897-12-31' is no date"),
    (23, "debezium", KINDS, "", [created(day="2026-01-01"), created(day="infinity"), created(day="2026-13-01")], ":2: table kinds, column day: 'infinity' is no date"),
    (23, "debezium", KINDS, "", [created(), created(t="x").replace('"lsn": 5', '"lsn": "x"')], ":2: source.lsn is 'x'; expected a whole number"),
    (23, "delta-cdf", ORDERS, ", table: orders", [json.dumps({"id": n, "_change_type": "insert", "_commit_version": 1} | ({"z": 1} if n else {})) for n in range(2)],
     ":2: table orders: column 'z' is not in its definition"),
    (20, "debezium", KINDS, "", [" \t" + created(t="x")], [{**ROW, "t": "x"}]),
    (23, "debezium", KINDS, "", [created().replace('"lsn": 5', '"lsn": "null"')], ":1: source.lsn is 'null'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("point", "dialect", "ddl", "source", "lines", "expected"), CASES, ids=lambda case: str(case)[:30]
)
def test_odd_records(point, dialect, ddl, source, lines, expected, tmp_path):
    made = pure.recipe(tmp_path, ddl, f"  - {pure.PLAIN}\n{OP}", dialect, ", Kafka_Default_Topic: t", source)
    pure.check_lines(made, tmp_path / "f", lines, expected)


def test_a_file_whose_positions_are_before_those_of_the_last_one_is_refused_before_it_is_sent(tmp_path):
    made = pure.recipe(tmp_path, ORDERS, "", "hvr")
    (tmp_path / "1").write_text(hvr(id=1, hvr_tx_seq="2") + "\n")
    (tmp_path / "2").write_text(hvr(id=2, hvr_tx_seq="1") + "\n")
    with pytest.raises(DataError, match=r"/2: its first change is at 0*1\|.*, which is not after 0*2\|"):
        pure.fragments(made, tmp_path / "1", tmp_path / "2")
    sent, _ = pure.fragments(
        pure.recipe(tmp_path, ORDERS, "", "hvr", source=", repeated_positions: send"), tmp_path / "1", tmp_path / "2"
    )
    assert len(sent) == 2


def test_a_position_that_looks_like_a_file_and_a_line_is_compared_as_others(tmp_path):
    """Only where a source gives no positions are those by file and line, which are not compared between files."""
    made = pure.recipe(tmp_path, ORDERS, "", "delta-cdf", source=", table: orders")
    for name, version in (("1", 1 << 40 | 1), ("2", 0)):
        row = {"id": 1, "_change_type": "insert", "_commit_version": version}
        (tmp_path / name).write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=r"/2: its first change is at 0*\|.*, which is not after"):
        pure.fragments(made, tmp_path / "1", tmp_path / "2")
