"""Records that a neighbour, a schema that came before, or a rule that was too wide once changed without a word.

A case as in test_silent_data: the dialect, its table definitions, the source's settings, the lines, and what is expected.
"""

from __future__ import annotations

import base64
import json

import pytest

from tests.parts import pure
from tests.unit.test_silent_data import OP, ORDERS, created, debezium, goldengate, hvr, maxwell, wal2json

ROW = {"id": 1, "op": 1}
BIG = "create table kinds(id int primary key, p decimal(20,0), q decimal(10,2), l int[], qs decimal(10,2)[]);"
STRING, DOUBLE = (f", debezium: {{decimal_handling_mode: {mode}}}" for mode in ("STRING", "DOUBLE"))


def mysql(pos=10, db="public", **after):
    source = {"connector": "mysql", "db": db, "table": "kinds", "ts_ms": 1, "file": "bin.000001", "pos": pos}
    return json.dumps({"op": "c", "before": None, "after": {"id": 1, **after}, "source": source})


def flat(fields=None, **row):
    columns = [
        {"field": name, "type": kind, **({"name": logical} if logical else {})} for name, kind, logical in fields or ()
    ]
    return json.dumps({"schema": {"type": "struct", "fields": columns}, "payload": row} if fields else row)


def opencdc(image, operation="create"):
    return json.dumps({"operation": operation, "metadata": {"opencdc.collection": "orders"}, "key": None,
                       "payload": {"before": None, "after": image}})  # fmt: skip


def delta(kind, version=1, **row):
    return json.dumps({**row, "_change_type": kind, "_commit_version": version})


ESCAPED = '{"type":"struct","p\\u0061rameters":"%s","fields":[]}' % ("x" * 80)
TIME = "create table orders(id int primary key, at timestamp(3));"
UPDATE = {"type": "update", "old": {"v": "a"}}
GONE = "the record has no row image"
NO_CHANGE = ", table: orders"

CASES = [
    # of several tables, or records
    ("hvr", TIME, "", [hvr(id=1, at="2026-01-01 00:00:00.123000"), hvr(id=2, at="2026-01-01", hvr_tx_seq="2")],
     [{**ROW, "at": "2026-01-01T00:00:00.123"}, {"id": 2, "op": 1, "at": "2026-01-01T00:00:00"}]),
    ("debezium", BIG, DOUBLE, [mysql(p=-5).replace('"mysql"', '"postgresql"').replace('"db"', '"schema"'), mysql(pos=20, p=6)],
     [{**ROW, "p": -5}, {**ROW, "p": 6}]),
    ("debezium", "create table orders(id int primary key, v text, payload text);", NO_CHANGE,
     [flat([("id", "int32", "")], id=1), flat(id=2, payload="x")], [ROW, {"id": 2, "op": 1, "payload": "x"}]),
    ("debezium", ORDERS, NO_CHANGE, [f'{{"schema":{ESCAPED},"payload":{{"id":{number},"\\u0076":"x"}}}}' for number in (1, 2)],
     [{**ROW, "v": "x"}, {"id": 2, "op": 1, "v": "x"}]),
    ("debezium", BIG, "", [mysql(db="a"), mysql(db="b", pos=20)], ":2: a change of table 'b.kinds', and changes of 'a.kinds' came before"),
    ("delta-cdf", ORDERS, NO_CHANGE, [delta("update_preimage", id=1, v="a"), delta("update_postimage", id=1, v="b"),
                                      delta("update_preimage", id=1, v="c"), delta("update_postimage", id=1, v="d")],
     ":3: version 1 updates several rows of table orders with one key (id)"),
    ("delta-cdf", ORDERS, NO_CHANGE, [delta("update_preimage", id=1, v=v) for v in "ab"],
     ":2: version 1 updates several rows of table orders with one key (id)"),
    # blank lines and white space
    ("hvr", ORDERS, "", ["\n" * 70_000 + hvr(hvr_tbl_name="orders", id=1)], [ROW]),
    ("hvr", ORDERS, "", [" " * 70 + hvr(id=1)], [ROW]),
    ("maxwell", ORDERS, "", [maxwell(), " " * 10, maxwell(data={"id": 2})], [ROW, {"id": 2, "op": 1}]),
    ("debezium", BIG, "", [" " * 10, created()], [ROW]),
    # numbers
    ("debezium", BIG, STRING, [mysql(p="12345678")], [{**ROW, "p": 12345678}]),
    ("debezium", BIG, DOUBLE, [mysql(p=-5)], ":1: table kinds, column p: '-5' is no decimal(20,0) (a decimal, or a bigint unsigned"),
    ("debezium", BIG, DOUBLE, [created(p=-5)], [{**ROW, "p": -5}]),
    ("debezium", BIG, "", [mysql(p=-5)], [{**ROW, "p": 2**64 - 5}]),
    ("debezium", BIG, "", [created(q="gAAAAAAAAAA=")], ":1: table kinds, column q: 'gAAAAAAAAAA=' is no decimal(10,2)"),
    ("hvr", BIG, "", ['{"hvr_tbl_name":"kinds","hvr_op":1,"hvr_tx_seq":"1","id":1,"q":7e-77}'], ":1: table kinds, column q: '7e-77' is no decimal"),
    ("hvr", BIG, "", ['{"hvr_tbl_name":"kinds","hvr_op":1,"hvr_tx_seq":"1","id":1,"qs":[7e-77]}'], ":1: table kinds, column qs: '7e-77' is no decimal(10,2)"),
    ("hvr", ORDERS, ", unknown_columns: add", ['{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"1","id":1,"x":%s}' % ("1" * 5000)],
     ":1: table orders: column 'x' is not in its definition"),
    ("maxwell", "create table orders(id decimal(10,2) primary key);", "", ['{"database":"s","table":"orders","type":"update","ts":1,"data":{"id":1.50},"old":{"id":1.5}}'],
     [{"id": 1.5, "op": 4}, {"id": 1.5, "op": 2}]),
    ("maxwell", "create table orders(id decimal(10,2) primary key);", "", ['{"database":"s","table":"orders","type":"update","ts":1,"data":{"id":1.50},"old":{"id":2.5}}'],
     [{"id": 2.5, "op": 3}, {"id": 1.5, "op": 2}]),
    ("maxwell", "create table orders(n int, l int[]);", "", ['{"database":"s","table":"orders","type":"update","ts":1,"data":{"n":1,"l":[1, 2]},"old":{"l":"[1,2]"}}'],
     [{"n": 1, "l": [1, 2], "op": 4}, {"n": 1, "l": [1, 2], "op": 2}]),
    ("hvr", BIG, "", [hvr(hvr_tbl_name="kinds", id=1), hvr(hvr_tbl_name="kinds", hvr_tx_seq="2", id=2, qs=[123456789.5])],
     ":2: table kinds, column qs: '123456789.5' is no decimal(10,2)"),
    ("debezium", "create table orders(id int primary key, schema text);", NO_CHANGE,
     [flat([("id", "int32", "")], id=1), flat(id=2, schema="x")], [ROW, {"id": 2, "op": 1, "schema": "x"}]),
    ("maxwell", BIG, "", [maxwell(table="kinds", data={"id": 1, "l": "[1,\n2]\n"})], [{**ROW, "l": [1, 2]}]),
    # lists and images as text
    *(("maxwell", BIG, "", [maxwell(table="kinds", data={"id": 1, "l": text})], f":1: table kinds, column l: {text!r} is no JSON list")
      for text in ('[1],"x":2', "[1]}\n", "[1]}\n[[[")),
    ("opencdc", ORDERS, "", [opencdc(base64.b64encode(b'{"id":1,"v":"a\nb"}').decode())], ":1: no JSON: character 15: here a text is not closed"),
    ("opencdc", ORDERS, "", [opencdc(base64.b64encode(b'{"id":1,\r\n"v":"a\\nb"}').decode())], [{**ROW, "v": "a\nb"}]),
    # names of flattened events' columns
    ("debezium", "create table orders(id int primary key, after int, at timestamp);", NO_CHANGE,
     [flat([("id", "int32", ""), ("after", "int32", ""), ("at", "int64", "io.debezium.time.Timestamp")], id=1, after=3, at=1578923739738)],
     [{**ROW, "after": 3, "at": "2020-01-13T13:55:39.738000"}]),
    *(("debezium", f"create table orders({', '.join(f'{name} {kind}' for name, kind, _ in row)});", NO_CHANGE,
       [json.dumps({name: value for name, _, value in row})], [{name: value for name, _, value in row} | {"op": 1}])
      for row in (
          [("id", "int primary key", 1), ("x", "text", "m"), ("message", "text", "hello")],
          [("id", "int primary key", 1), ("ddl", "text", "x"), ("source", "text", "s")],
          [("id", "int primary key", 1), ("status", "text", "END"), ("event_count", "int", 4)],
          [("ts_ms", "bigint primary key", 4)],
      )),
    # GoldenGate's names
    ("goldengate", "create table orders(id int primary key, v text);", "",
     [goldengate(op_type="U", before={"ID": 1, "V": "a"}, after={"ID": 1, "V": None, "V_isMissing": True})],
     [{"id": 1, "v": "a", "op": 4}, {"id": 1, "v": "a", "op": 2}]),
    ("goldengate", 'create table orders(id int primary key, "qty" int, "Qty" int);', "", [goldengate(after={"ID": 1, "QTY": 5})],
     ":1: table orders: column 'QTY' is not in its definition"),
    ("goldengate", "create table orders(id int primary key, pos text);", "", [goldengate(ID=1)],
     ":1: table orders: in row mode, column 'pos' has the name of a field of the record"),
    ("goldengate", f"create table orders(id int primary key, {', '.join(f'c{at} int' for at in range(600))});", "",
     [goldengate(after={"ID": 1} | {f"C{at}": at for at in range(600)} | {f"C{at}_isMissing": False for at in range(600)})],
     [{**ROW} | {f"c{at}": at for at in range(600)}]),
    ("delta-cdf", ORDERS, NO_CHANGE, [delta("insert", id=1).replace('"_commit_version": 1', '"_commit_version": -0')], ":1: _commit_version is '-0'"),
    ("debezium", BIG, "", [debezium("c", None, {"id": 1, "q": None}).replace('"ts_ms": 1', '"ts_ms": -0')], [{**ROW, "q": None}]),
    # updates without an after image
    ("debezium", BIG, "", [debezium("u", {"id": 1, "q": None}, None)], f":1: table kinds: {GONE}"),
    ("goldengate", ORDERS, "", [goldengate(op_type="U", before={"ID": 1, "V": "a"})], f":1: table orders: {GONE}"),
    ("opencdc", ORDERS, "", [opencdc(None, "update").replace('"before": null', '"before": {"id": 1}')], f":1: table orders: {GONE}"),
    ("maxwell", ORDERS, "", [maxwell(data=None, **UPDATE)], f":1: table orders: {GONE}"),
    ("wal2json", BIG, "", [line.replace('"columns"', '"identity"') for line in wal2json(("id", 1), action="U")], f":2: table kinds: {GONE}"),
    # Canal's labels
    ("canal", ORDERS, "", [json.dumps({"database": "d", "table": "orders", "type": "INSERT", "es": 1, "isDdl": False, "data": [{"id": "1", "v": "²"}],
                                       "mysqlType": {"id": "int", "v": "enum('²','1')"}})], [{**ROW, "v": "²"}]),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "ddl", "source", "lines", "expected"), CASES, ids=lambda case: str(case)[:30])
def test_a_record_is_read_by_itself(dialect, ddl, source, lines, expected, tmp_path):
    made = pure.recipe(tmp_path, ddl, f"  - {pure.PLAIN}\n{OP}", dialect, ", Kafka_Default_Topic: t", source)
    pure.check_lines(made, tmp_path / "f", lines, expected)


@pytest.mark.parametrize(("op", "before", "expected"), [
    ("u", {"id": 1, "v": 9}, {"one": [3, 2], "two": [4, 2]}),
    ("d", {"id": 1, "v": None}, {"one": [0], "two": [0]}),
])  # fmt: skip
def test_small_tables_of_the_same_columns_keep_their_own_keys(op, before, expected, tmp_path):
    """They are decoded together from 400 rows on."""
    ddl = "create table one(id int primary key, v int); create table two(id int, v int primary key);"
    if op == "d":
        ddl = "create table one(id int primary key, v int); create table two(id int, v int);"
    after = {"id": 2, "v": 9} if op == "u" else None
    events = [
        debezium(op, before, after, table).replace('"lsn": 5', f'"lsn": {5 + at}').replace('"txId": 7', f'"txId": {7 + at}')
        for at, table in enumerate(["one", "two"] * 300)
    ]  # fmt: skip
    made = pure.recipe(tmp_path, ddl, f"  - {pure.PLAIN}\n{OP}", "debezium")
    (tmp_path / "f").write_text("\n".join(events))
    fragments, _ = pure.fragments(made, tmp_path / "f")
    rows = [(row["table"], row["op"], json.loads(row["payload"])) for row in fragments.to_pylist()]
    for table, operations in expected.items():
        own = [(code, row) for name, code, row in rows if name == table]
        assert [code for code, _ in own] == operations * 300
        assert all(("v" in row) == (table == "two" or op == "u") for _, row in own)
