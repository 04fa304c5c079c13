"""Columns by which files that are tables are read, of a type that they cannot have: the data's error, with its line."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from integrator.errors import DataError
from tests.parts import pure

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler]

MOMENT = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
TABLES = {
    "hvr": {"hvr_op": pa.array([1, 1]), "hvr_tx_seq": pa.array(["1", "1"])},
    "dms": {"Op": pa.array(["I", "I"]), "dms_timestamp": pa.array(["2026-01-02 00:00:00"] * 2)},
    "delta-cdf": {
        "_change_type": pa.array(["insert"] * 2),
        "_commit_version": pa.array([1, 1]),
        "_commit_timestamp": pa.array([MOMENT] * 2),
    },
}
STRUCT, LIST, BYTES = pa.array([{"x": 1}] * 2), pa.array([[1]] * 2), pa.array([b"\xff"] * 2)
CASES = [
    # dialect, column, its values, what the text is
    ("hvr", "hvr_op", STRUCT, "a.parquet:1: hvr_op is {'x': 1}, of Arrow's type struct<x: int64>; expected is int32"),
    ("hvr", "hvr_tx_seq", LIST, "a.parquet:1: hvr_tx_seq is [1], of Arrow's type list<"),
    ("hvr", "v", pa.array([[("a", 1)]] * 2, pa.map_(pa.string(), pa.int64())), "a.parquet: table t, column v: "),
    ("dms", "Op", STRUCT, "a.parquet:1: Op is {'x': 1}, of Arrow's type struct<x: int64>; expected is string"),
    ("dms", "Op", BYTES, r"a.parquet:1: Op is b'\xff', of Arrow's type binary; expected is string"),
    ("dms", "dms_timestamp", LIST, "a.parquet:1: dms_timestamp is [1], of Arrow's type list<"),
    ("delta-cdf", "_change_type", pa.array([1.5, 1.5]), "a.parquet:1: _change_type is '1.5'; it is one of"),
    ("delta-cdf", "_change_type", STRUCT, "a.parquet:1: _change_type is {'x': 1}, of Arrow's type struct"),
    ("delta-cdf", "_commit_version", pa.array(["7", "x"]), "a.parquet:2: _commit_version is 'x'; expected a whole number"),
    ("delta-cdf", "_commit_version", pa.array([1.0, 1.5]), "a.parquet:2: _commit_version is 1.5, of Arrow's type double; expected is int64"),
    ("delta-cdf", "_commit_timestamp", STRUCT, "a.parquet:1: _commit_timestamp is {'x': 1}"),
    ("delta-cdf", "_commit_timestamp", pa.array(["x", "y"]), "a.parquet:1: _commit_timestamp: 'x' is no timestamptz(6)"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "name", "values", "text"), CASES)
def test_a_column_of_another_type_is_the_datas_error(
    dialect: str, name: str, values: pa.Array, text: str, tmp_path: Path
) -> None:
    """Some were told as a record that cannot be read, by an exception of Arrow's."""
    path = tmp_path / "a.parquet"
    columns = {**TABLES[dialect], "k": pa.array([1, 2]), "v": pa.array([[1], [2]]), name: values}
    pyarrow.parquet.write_table(pa.table(columns), path)
    recipe = pure.recipe(tmp_path, "create table t(k int primary key, v int[]);", dialect=dialect)
    with pytest.raises(DataError) as raised:
        pure.fragments(recipe, path)
    assert text in str(raised.value)
