"""Columns of many tables that lie in common arrays: joined as they lie, and written as records."""

import random

import numpy as np
import pyarrow as pa
import pytest

from integrator.arrow.column_slices import Columns, ColumnSlices, ColumnStore, SlotsByName
from integrator.engine.rows import Columns as Values
from integrator.engine.rows import Rows
from integrator.formats.records import Pattern, around, write_records

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler]

PATTERNS = {
    # between, and beside, values: a row of the values 1, 2
    "all": (("{a:", ",b:", "}"), (("", ""), ("", "")), "{a:1,b:2}"),
    "quotes": (("{a:", ",b:", "}"), (('"', '"'), ("", "")), '{a:"1",b:2}'),
    "brackets": (("{a:", ",b:", "}"), (("", ""), ("<", ">")), "{a:1,b:<2>}"),
    "nothing between": (("", "", ""), (("", ""), ("", "")), "12"),
    "nothing at the end": (("<", "", ""), (("", ""), ("'", "'")), "<1'2'"),
    "bytes": ((b"", b"", b""), ((b"", b""), (b"", b"")), b"12"),
}


@pytest.mark.parametrize("case", PATTERNS)
def test_what_stands_around_values(case):
    between, beside, row = PATTERNS[case]
    kind = pa.binary() if isinstance(row, bytes) else pa.string()
    written = [pa.array(["1"], pa.string()).cast(kind), pa.array(["2"], pa.string()).cast(kind)]
    values, rows = Values(np.array([0, 1]), np.zeros(2, np.bool_)), Rows(*np.zeros((3, 1), np.int64))
    assert write_records(written, Pattern.of([around(between, beside)]), values, rows).to_pylist() == [row]


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_those_of_a_join(seed):
    chance = random.Random(seed)
    total = chance.randint(0, 30)
    common = [f"all{place}" for place in range(total)]  # a field that all rows have
    written, tables, expected, before, begun = [pa.array(common, pa.string())], [], [], 0, total
    starts, places = [], []
    while before < total:
        size, columns = min(chance.randint(0, 9), total - before), chance.randint(0, 4)
        values = [[f"{chance.randint(0, 999)}é" for _ in range(size + 2)] for _ in range(columns)]
        starts += [0, *(begun + (size + 2) * place for place in range(columns))]
        begun += (size + 2) * columns
        written += [pa.array(column, pa.string()) for column in values]
        rows = np.array(sorted(chance.sample(range(size + 2), size)), np.int64)
        between = tuple(chance.choice(("", "-", "<>")) for _ in range(columns + 2))
        beside = tuple(chance.choice((("", ""), ("'", "'"), ("<", ">"))) for _ in range(columns + 1))
        places += [(len(tables), row, before + place) for place, row in enumerate(rows.tolist())]
        tables.append(around(between, beside))
        for place, row in enumerate(rows.tolist()):
            of_row = [common[before + place], *(column[row] for column in values)]
            trios = zip(between, beside, of_row, strict=False)
            said = (f"{lead}{before}{text}{after}" for lead, (before, after), text in trios)
            expected.append("".join(said) + between[-1])
        before += size
    if not tables:
        return
    values, rows = (
        Values(np.array(starts), np.array(starts) == 0),
        Rows(*np.array(places, np.int64).reshape(-1, 3).T.copy()),
    )
    assert write_records(written, Pattern.of(tables), values, rows).to_pylist() == expected


WHOLE = ColumnStore(
    [pa.array([0, 1, 2, 3, 4, None]), pa.array([*"abcdef"])], np.array([0, 0, 1, 0]), np.array([0, 2, 2, 4])
)
TABLES = [
    (ColumnSlices(WHOLE, SlotsByName({"id": 0}), 0, 2), 2),
    (ColumnSlices(WHOLE, SlotsByName({"id": 1, "text": 2}), 0, 2), 2),
    ({"id": pa.array([7])}, 1),
    (ColumnSlices(WHOLE, SlotsByName({"id": 3}), 0, 2), 2),
]


def test_a_column_is_cut_out_where_it_is_asked_for():
    table, _ = TABLES[1]
    assert {name: column.to_pylist() for name, column in table.items()} == {"id": [2, 3], "text": ["c", "d"]}
    assert len(table) == 2
    with pytest.raises(KeyError):
        table["other"]


def test_columns_are_joined_in_their_order():
    columns = Columns.of(TABLES, [("id",)] * 4)
    assert columns.joined().to_pylist() == [0, 1, 2, 3, 7, 4, None]
    assert columns.take(np.array([3, 0])).joined().to_pylist() == [4, None, 0, 1]
    assert columns.with_nulls().tolist() == [True, True, False, True]  # by their arrays


def test_columns_that_lie_beside_each_other_are_not_copied():
    beside = Columns.of(TABLES[:2], [("id",)] * 2).joined()
    assert beside.buffers()[1].address == WHOLE.arrays[0].buffers()[1].address


def test_columns_are_ordered_by_kind_and_as_they_lie():
    columns = Columns.of(TABLES[:2], [("id",), ("text", "id")])
    assert columns.order(np.array([1, 1, 0])).tolist() == [2, 0, 1]
