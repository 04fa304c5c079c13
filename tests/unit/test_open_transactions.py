"""A transaction that continues over several files has the same positions, however files are divided among tasks (I2)."""

import itertools
import json

import pytest

from tests.parts import pure

DDL = "create table t(id int primary key);"
FILES, ROWS = 5, 3


def hvr(number):
    return {"hvr_op": 1, "hvr_tx_seq": "A", "hvr_tbl_name": "t", "id": number}


def maxwell(number):
    place = f"mysql-bin.000003:{1000 + number}"
    row = {
        "database": "d",
        "table": "t",
        "type": "insert",
        "ts": 1,
        "xid": 7,
        "position": place,
        "data": {"id": number},
    }
    return row | {"xoffset": number}


def wal2json(number):
    columns = [{"name": "id", "type": "integer", "value": number}]
    return {"action": "I", "schema": "public", "table": "t", "columns": columns}


def debezium(number):
    source = {"connector": "postgresql", "schema": "public", "table": "t", "lsn": number, "txId": 7, "ts_ms": 1}
    return {"op": "c", "before": None, "after": {"id": number}, "source": source | {"sequence": '["10","11"]'}}


def goldengate(number):
    stamp = "2026-11-23 01:02:03.000000"
    return {
        "table": "S.T",
        "op_type": "I",
        "op_ts": stamp,
        "pos": f"{number:020}",
        "xid": "1.2.3",
        "after": {"ID": number},
    }


BEGIN = {"action": "B", "xid": 7, "timestamp": "2026-01-01 00:00:00+00", "nextlsn": "1/2"}
DIALECTS = {"hvr": hvr, "maxwell": maxwell, "wal2json": wal2json, "debezium": debezium, "goldengate": goldengate}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_transaction_over_several_files_is_counted_on_by_each_task(dialect, tmp_path):
    made, numbers, files = pure.recipe(tmp_path, DDL, dialect=dialect), itertools.count(1), []
    for name in range(FILES):
        records = [BEGIN] if dialect == "wal2json" and not name else []
        records += [DIALECTS[dialect](number) for number in itertools.islice(numbers, ROWS)]
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text("".join(json.dumps(record) + "\n" for record in records))
    expected = pure.fragments(made, *files)[0]["integ_seq"].to_pylist()
    assert len(set(expected)) == FILES * ROWS
    for before in range(FILES):
        found = pure.fragments(made, *files, of_others=before)[0]["integ_seq"].to_pylist()
        assert found == expected[before * ROWS :]
