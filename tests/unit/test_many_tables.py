"""I6: what is done for a batch is not done for each of its tables: the calls of Arrow do not grow with the tables."""

import dataclasses
import json
import sys

import pytest

from integrator.contracts.message_format import SchemaId
from tests.parts import pure

ROWS = 3000
COLUMNS = "id bigint primary key, name varchar(40), note text, price decimal(12,2), at timestamp, qty int"


def row(at):
    values = {"id": at, "name": f"customer {at}", "note": "x", "price": "1.50", "at": "2026-01-02 03:04:05"}
    return values | {"qty": at % 50}


def hvr(at, table):
    return [{"hvr_tbl_name": table, "hvr_op": 1, "hvr_tx_seq": f"{at + 1:X}", **row(at)}]


def gap(at, table):
    [record] = hvr(at, table)
    return [{name: value for name, value in record.items() if at // 500 % 50 or name != "note"}]


def key_only(at, table):
    """One of fifty rows of each table is a delete of which only the key is recorded."""
    [record] = hvr(at, table)
    named = {name: record[name] for name in ("hvr_tbl_name", "hvr_tx_seq", "id")}
    return [record if at // 500 % 50 else named | {"hvr_op": 0}]


def maxwell(at, table):
    record = {"database": "shop", "table": table, "type": "insert", "ts": 1, "xid": at, "commit": True}
    return [record | {"position": f"m.000006:{1000 + at}", "data": row(at)}]


def debezium(at, table):
    source = {"connector": "postgresql", "ts_ms": 1, "schema": "public", "table": table, "txId": at, "lsn": 2000 + at}
    values = row(at) | {"price": "BNI=", "at": 1_767_323_045_000_000}
    return [{"before": None, "after": values, "source": source, "op": "c"}]


def wal2json(at, table):
    columns = [{"name": name, "type": "?", "value": value} for name, value in row(at).items()]
    begin = {"action": "B", "xid": at, "nextlsn": f"0/{at + 1:X}"}
    return [begin, {"action": "I", "schema": "public", "table": table, "columns": columns}, {"action": "C"}]


PLAIN = "{action: FileFormat, Json: true, JsonMode: PAYLOAD}"
CASES = {
    # the dialect, what makes the records, and actions
    "hvr": ("hvr", hvr, [PLAIN]),
    "hvr, Connect JSON": ("hvr", hvr, []),
    "hvr, a column missing in one of fifty rows": ("hvr", gap, [PLAIN]),
    "hvr, the table's name in a column": (
        "hvr",
        hvr,
        [
            PLAIN,
            "{action: ColumnProperties, Name: t, Extra: true, Datatype: text, IntegrateExpression: '{hvr_tbl_name}'}",
        ],
    ),
    "hvr, a CaptureExpression": (
        "hvr",
        hvr,
        [PLAIN, "{action: ColumnProperties, Name: qty, CaptureExpression: 'sql: qty + 1'}"],
    ),
    "hvr, another datatype": ("hvr", hvr, [PLAIN, "{action: ColumnProperties, Name: price, Datatype: text}"]),
    "hvr, TrimWhiteSpace": ("hvr", hvr, [PLAIN, "{action: TableProperties, TrimWhiteSpace: true}"]),
    "hvr, Envelope DEBEZIUM": ("hvr", hvr, ["{action: FileFormat, Envelope: DEBEZIUM}"]),
    "hvr, Envelope DEBEZIUM, deletes of keys": ("hvr", key_only, ["{action: FileFormat, Envelope: DEBEZIUM}"]),
    "hvr, Envelope DEBEZIUM, text missing": ("hvr", gap, ["{action: FileFormat, Envelope: DEBEZIUM}"]),
    "hvr, Envelope OPENCDC": ("hvr", hvr, ["{action: FileFormat, Envelope: OPENCDC}"]),
    "hvr, Envelope AIRBYTE": ("hvr", hvr, ["{action: FileFormat, Envelope: AIRBYTE}"]),
    "hvr, CSV": ("hvr", hvr, ["{action: FileFormat, Csv: true}"]),
    "hvr, XML": ("hvr", hvr, ["{action: FileFormat, Xml: true}"]),
    "hvr, Avro's files": ("hvr", hvr, ["{action: FileFormat, Avro: true}"]),
    "hvr, Envelope DEBEZIUM in CSV": ("hvr", hvr, ["{action: FileFormat, Csv: true, Envelope: DEBEZIUM}"]),
    "hvr, Envelope DEBEZIUM in XML": ("hvr", hvr, ["{action: FileFormat, Xml: true, Envelope: DEBEZIUM}"]),
    "hvr, Envelope DEBEZIUM in Avro": ("hvr", hvr, ["{action: FileFormat, Envelope: DEBEZIUM}"], "AVRO"),
    "hvr, Envelope DEBEZIUM in Protobuf": ("hvr", hvr, ["{action: FileFormat, Envelope: DEBEZIUM}"], "PROTOBUF"),
    "hvr, JSON Schema": ("hvr", hvr, [], "JSON"),
    "hvr, Avro": ("hvr", hvr, [], "AVRO"),
    "hvr, Protobuf": ("hvr", hvr, [], "PROTOBUF"),
    "maxwell": ("maxwell", maxwell, [PLAIN]),
    "debezium": ("debezium", debezium, [PLAIN]),
    "wal2json": ("wal2json", wal2json, [PLAIN]),
}


UNLIKE = dict.fromkeys(CASES, 50) | {
    "hvr, a column missing in one of fifty rows": 55,
    "hvr, Envelope DEBEZIUM, deletes of keys": 60,
    "hvr, Envelope DEBEZIUM, text missing": 60,
}
"""Cases in which tables with columns of their own are encoded together, too, and how many of our functions are called
for a table at most."""


def with_own(record, at):
    """A record whose table has a column that no other table has, which is named by the table's number."""
    if "columns" in record:
        own = {"name": f"own{at}", "type": "integer", "value": 1}
        return record | {"columns": [*record["columns"], own]}
    images = [name for name in ("data", "after") if name in record]
    if images:
        return record | {images[0]: record[images[0]] | {f"own{at}": 1}}
    return record if "action" in record else record | {f"own{at}": 1}


def made(directory, tables, case, rows, *, unlike=False):
    """The recipe of a case, and a file of its records; the rows of a table are far from each other.

    unlike: each table has a column of its own.
    """
    dialect, records, actions, *formats = CASES[case]
    directory.mkdir()
    own = [f", own{at} int" if unlike else "" for at in range(tables)]
    ddl = "".join(f"create table t{at:03}({COLUMNS}{own[at]});" for at in range(tables))
    kafka = "".join(
        f', Kafka_Schema_Registry: "http://localhost:1", Kafka_Schema_Registry_Format: {one}' for one in formats
    )
    recipe = pure.recipe(directory, ddl, "".join(f"  - {action}\n" for action in actions), dialect, kafka)
    if formats:
        with_ids = [dataclasses.replace(one, value_id=SchemaId(at)) for at, one in enumerate(recipe.tables, 1)]
        recipe = dataclasses.replace(recipe, tables=tuple(with_ids))
    path = directory / "f"
    numbered = [
        (at * 7919 % tables, record) for at in range(rows) for record in records(at, f"t{at * 7919 % tables:03}")
    ]
    lines = [json.dumps(with_own(record, table) if unlike else record) for table, record in numbered]
    path.write_text("\n".join(lines) + "\n")
    return recipe, path


def calls(directory, tables, case, *, unlike=False):
    """How many calls of Arrow's functions, and of our own, a first pass makes."""
    recipe, path = made(directory, tables, case, ROWS, unlike=unlike)
    pure.fragments(recipe, path)  # what is prepared once
    counted = {"arrow": 0, "ours": 0}

    def count(frame, event, _function):
        if event == "call":
            counted["arrow"] += "pyarrow" in frame.f_code.co_filename
            counted["ours"] += "/integrator/" in frame.f_code.co_filename

    sys.setprofile(count)
    try:
        pure.fragments(recipe, path)
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize("case", CASES)
def test_calls_do_not_grow_with_the_tables(case, tmp_path):
    few, many = calls(tmp_path / "few", 10, case), calls(tmp_path / "many", 300, case)
    assert few["arrow"] > 10
    assert many["arrow"] <= 1.2 * few["arrow"]
    assert many["ours"] - few["ours"] < 23 * 290  # a table is looked up, and has a frame


@pytest.mark.parametrize("case", UNLIKE)
def test_nor_where_each_table_has_a_column_of_its_own(case, tmp_path):
    few, many = (calls(tmp_path / str(tables), tables, case, unlike=True) for tables in (10, 300))
    assert few["arrow"] > 10
    assert many["arrow"] <= 1.2 * few["arrow"]
    assert many["ours"] - few["ours"] < UNLIKE[case] * 290  # and a layout, by which its rows are written
