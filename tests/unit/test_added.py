"""unknown_columns: add. Columns that come while the channel runs: how they are found, typed, kept, and null before."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from integrator.errors import ColumnsFound, ConfigurationError, DataError, from_wire
from integrator.plan import build
from integrator.run.state.directory import State
from integrator.schema import Column, Decimal, Integer, Table
from integrator.tables import discovered_columns
from tests.parts import pure

DDL = "create table t(k int primary key, v text);"
ADD = ", unknown_columns: add"
JSON = "  - {action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}\n"


def channel(tmp_path, dialect="hvr", kafka="", ddl=DDL, actions=JSON):
    return pure.recipe(tmp_path, ddl, actions, dialect, kafka, ADD)


def jsonl(tmp_path, *records, name="a.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def wal2json(kind, **columns):
    named = [{"name": name, "type": "text", "value": value} for name, value in columns.items()]
    return {"action": kind, "schema": "public", "table": "t", "columns": named, "lsn": "0/1", "nextlsn": "0/2"}


def hvr(**columns):
    return {"hvr_op": 1, "hvr_tx_seq": "1", **columns}


RECORDS = {
    # the dialect, lines, and what is found of columns: datatype and first line
    "hvr": (
        "hvr",
        [hvr(k=1), hvr(k=2, n=None), hvr(k=3, n=5, w="x"), hvr(k=4, n=6, b=True)],
        {"n": ("bigint", 2), "w": ("text", 3), "b": ("boolean", 4)},
    ),
    "maxwell": (
        "maxwell",
        [
            {"database": "d", "table": "t", "type": "insert", "ts": 1, "xid": 1, "commit": True, "data": {"k": 1}},
            {"database": "d", "table": "t", "type": "insert", "ts": 1, "xid": 2, "commit": True, "data": {"k": 2, "n": 7}},
        ],
        {"n": ("text", 2)},
    ),
    "wal2json": (
        "wal2json",
        [{"action": "B", "lsn": "0/1", "nextlsn": "0/2"}, wal2json("I", k=1), wal2json("I", k=2, w="x"), {"action": "C", "lsn": "0/1", "nextlsn": "0/2"}],
        {"w": ("text", 3)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_columns_are_found_with_their_types_and_first_lines(name, tmp_path):
    dialect, records, expected = RECORDS[name]
    with pytest.raises(ColumnsFound) as raised:
        pure.fragments(channel(tmp_path, dialect), jsonl(tmp_path, *records))
    found = raised.value
    assert (list(found.tables), found.ordinal) == (["t"], 1)
    assert {column: tuple(said) for column, said in found.tables["t"].items()} == expected
    assert f"a.jsonl:{min(line for _, line in expected.values())}: table t: not in its definition: " in str(found)


def test_of_parquet_and_csv(tmp_path):
    rows = {"hvr_op": [1, 1], "hvr_tx_seq": ["1", "1"], "k": [1, 2], "n": pa.array([None, 7], pa.int16())}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    with pytest.raises(ColumnsFound) as raised:
        pure.fragments(channel(tmp_path), tmp_path / "a.parquet")
    assert raised.value.tables == {"t": {"n": ["bigint", 2]}}
    (tmp_path / "a.csv").write_text("hvr_op,hvr_tx_seq,k,w\n1,1,1,x\n")
    with pytest.raises(ColumnsFound) as raised:
        pure.fragments(channel(tmp_path), tmp_path / "a.csv")
    assert raised.value.tables == {"t": {"w": ["text", 2]}}


def test_of_tables_that_are_alike_the_right_one_is_named(tmp_path):
    recipe = channel(tmp_path, ddl=DDL + DDL.replace(" t(", " u("))
    with pytest.raises(ColumnsFound) as raised:
        pure.fragments(recipe, jsonl(tmp_path, hvr(hvr_tbl_name="t", k=1), hvr(hvr_tbl_name="u", k=1, n=5)))
    assert raised.value.tables == {"u": {"n": ["bigint", 2]}}


def test_the_columns_of_all_tables_of_a_block_are_found_at_once(tmp_path):
    recipe = channel(tmp_path, ddl=DDL + "".join(DDL.replace(" t(", f" {name}(") for name in "uvw"))
    records = [hvr(hvr_tbl_name=name, k=1, **({"n": 5} if name != "v" else {})) for name in "tuvw"]
    with pytest.raises(
        ColumnsFound, match=r"a.jsonl:1: table t: not in its definition: n; and 2 more tables"
    ) as raised:
        pure.fragments(recipe, jsonl(tmp_path, *records))
    assert raised.value.tables == {"t": {"n": ["bigint", 1]}, "u": {"n": ["bigint", 2]}, "w": {"n": ["bigint", 4]}}


def test_what_has_no_plain_type_is_to_be_defined(tmp_path):
    with pytest.raises(DataError, match=r"a.jsonl:1: table t: column 'o' is not in its definition, and is not added"):
        pure.fragments(channel(tmp_path), jsonl(tmp_path, hvr(k=1, o={"a": 1})))


ODD = [
    # values of a column that comes, and what it is; or what is said
    (["2024-05-01", "2024-05-01 10:00:00"], "text"),
    ([None, "x", "2024-05-01"], "text"),
    ([0.5], "its values are float; define it"),
    ([9007199254740993, 0.5], "its values are float, int; define it"),
    ([1, "x"], "its values are int, str; define it"),
    ([1, 12345678901234567890], "its values are int, object; define it"),
    ([True, 1], "its values are bool, int; define it"),
    ([[1]], "its values are list; define it"),
]


def airbyte(**columns):
    return {"type": "RECORD", "record": {"stream": "t", "emitted_at": 1, "data": columns}}


@pytest.mark.parametrize(("values", "said"), ODD)
@pytest.mark.parametrize(("dialect", "record"), [("hvr", hvr), ("airbyte", airbyte)])
def test_what_a_column_is_that_comes_in_json(values, said, dialect, record, tmp_path):
    path = jsonl(tmp_path, *(record(k=k, n=value) for k, value in enumerate(values)))
    with pytest.raises((ColumnsFound, DataError)) as raised:
        pure.fragments(channel(tmp_path, dialect), path)
    if " " in said:
        assert f"a.jsonl:1: table t: column 'n' is not in its definition, and is not added by itself: {said}" in str(
            raised.value
        )
    else:
        assert raised.value.tables == {"t": {"n": [said, 1]}}


TEXTUAL = {
    # records with a column n that comes, of dialects that do not tell by JSON's types what a value is
    "canal": lambda n: {"type": "INSERT", "database": "d", "table": "t", "es": 1, "id": 1, "isDdl": False, "data": [{"k": "1", "n": n}]},
    "debezium": lambda n: {"k": 1, "n": n, "__deleted": "false"},
    "dms": lambda n: {"data": {"k": 1, "n": n}, "metadata": {"operation": "insert", "schema-name": "d", "table-name": "t", "timestamp": "2026-01-01T00:00:00Z"}},
    "goldengate": lambda n: {"table": "D.t", "op_type": "I", "op_ts": "2026-01-01 00:00:00", "after": {"k": 1, "n": n}},
    "maxwell": lambda n: {"database": "d", "table": "t", "type": "insert", "ts": 1, "data": {"k": 1, "n": n}},
    "opencdc": lambda n: {"operation": "create", "metadata": {"opencdc.collection": "t"}, "payload": {"after": {"k": 1, "n": n}}},
    "delta-cdf": lambda n: {"k": 1, "n": n, "_change_type": "insert", "_commit_version": 1},
}  # fmt: skip


@pytest.mark.parametrize("dialect", TEXTUAL)
@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1, 1.5], "text"),
        (["x"], "text"),
        ([{"a": 1}], "its values are dict; define it"),
        ([[1]], "its values are list; define it"),
        (["x", 1], "its values are int, str; define it"),
        ([True, 1.5], "its values are bool, float; define it"),
    ],
)
def test_what_a_column_is_that_comes_in_text(dialect, values, said, tmp_path):
    path = jsonl(tmp_path, *map(TEXTUAL[dialect], values))
    with pytest.raises((ColumnsFound, DataError)) as raised:
        pure.fragments(channel(tmp_path, dialect), path)
    if said == "text":
        assert raised.value.tables == {"t": {"n": ["text", 1]}}
    else:
        assert f"a.jsonl:1: table t: column 'n' is not in its definition, and is not added by itself: {said}" in str(
            raised.value
        )


def test_a_column_that_another_task_has_found_later_is_found_again_earlier(tmp_path):
    first = jsonl(tmp_path, hvr(k=1, v="a"), hvr(k=2, v="b", n=5), hvr(k=3, v="c"))
    recipe = channel(tmp_path, ddl="create table t(k int primary key, v text, n bigint);")
    [table] = recipe.tables
    recipe = replace(recipe, tables=(replace(table, added=(("n", 3, 7),)),))
    with pytest.raises(ColumnsFound, match=r"a.jsonl:2: table t: n is here before where it was found first") as raised:
        pure.fragments(recipe, first)
    known = discovered_columns.with_found(
        {"t": {"n": discovered_columns.DiscoveredColumn("bigint", 3, 7)}}, raised.value
    )
    assert known == {"t": {"n": discovered_columns.DiscoveredColumn("bigint", 1, 2)}}


def test_null_alone_is_no_column_yet(tmp_path):
    assert pure.read(channel(tmp_path), jsonl(tmp_path, hvr(k=1, v="a", n=None))) == [{"k": 1, "v": "a"}]


def test_a_column_is_null_before_it_came_and_missing_after_that(tmp_path):
    first = jsonl(tmp_path, hvr(k=1, v="a"))
    second = jsonl(tmp_path, hvr(k=2, v="b"), hvr(k=3, v="c", n=5), hvr(k=4, v="d"), name="b.jsonl")
    third = jsonl(tmp_path, hvr(k=5, v="e"), name="c.jsonl")
    state = tmp_path / "state" / "pure"
    state.mkdir(parents=True)
    recipe = channel(tmp_path)
    with pytest.raises(ColumnsFound) as raised:
        pure.fragments(recipe, first, second, third)
    assert raised.value.ordinal == 2
    State(str(state)).mark_added(discovered_columns.with_found(discovered_columns.read(state), raised.value))
    text = (tmp_path / "channel.yaml").read_text()
    (tmp_path / "channel.yaml").write_text(text.replace("channel: pure", f"channel: pure\nstate: {tmp_path}/state"))
    plan = build(str(tmp_path / "channel.yaml"), "UTC")
    assert plan.notes[-1] == "t.n (bigint) was added when records came that had it"
    assert pure.read(plan.recipe, first, second, third) == [
        {"k": 1, "v": "a", "n": None},
        {"k": 2, "v": "b", "n": None},
        {"k": 3, "v": "c", "n": 5},
        {"k": 4, "v": "d"},
        {"k": 5, "v": "e"},
    ]
    (tmp_path / "tables.sql").write_text("create table t(k int primary key, v text, n decimal(9,2));")
    [table] = build(str(tmp_path / "channel.yaml"), "UTC").recipe.tables
    assert table.table.columns[2] == Column("n", Decimal(9, 2))


def test_an_added_column_that_is_absent_later_is_none():
    table = Table("t", "t", None, (Column("k", Integer(32), nullable=False),), ("k",))
    assert discovered_columns.places(table, {"t": {"n": discovered_columns.DiscoveredColumn("bigint", 2, 2)}}) == ()


def test_what_is_found_crosses_processes():
    found = ColumnsFound("a:1: text", {"t": {"n": ("bigint", 3)}}, 7)
    read = from_wire(f"before {found.to_wire()} behind")
    assert isinstance(read, ColumnsFound)
    assert (str(read), read.tables, read.ordinal) == ("a:1: text", {"t": {"n": ["bigint", 3]}}, 7)


def test_transactions_that_wait_go_not_with_it(tmp_path):
    with pytest.raises(ConfigurationError, match="unknown_columns: add at the source would leave rows that wait"):
        channel(tmp_path, kafka=", Kafka_Message_Bundling: TRANSACTION")
