"""The hvr dialect: three containers of the same records, order across files, and missing apart from null."""

import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from integrator.contracts.fragments import Checkpoint
from integrator.contracts.sequence import OpenTransaction
from integrator.errors import DataError
from tests.parts import pure

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler, pytest.mark.fast]

DDL = """create table orders(id int primary key, v text, d date, b bytea, n decimal(10,2), f real, ok boolean,
  at timestamptz, tags text[]);
create table items(id varchar(9) primary key, n smallint);"""
SEQ = (
    "  - {action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, TimeKey: true, "
    'IntegrateExpression: "{hvr_integ_seq}"}'
)
ORDER = {
    "hvr_tbl_name": "orders",
    "id": 1,
    "v": 'say "hi"\n',
    "d": "2026-01-02",
    "b": "00ff",
    "n": 12.5,
    "f": 0.25,
    "ok": True,
    "at": "2026-01-01T00:00:00.000001Z",
    "tags": ["x", None, "y z"],
}
EXPECTED = {
    "id": 1,
    "v": 'say "hi"\n',
    "d": 20455,
    "b": "AP8=",
    "n": "BOI=",
    "f": 0.25,
    "ok": True,
    "at": 1767225600000001,
    "tags": ["x", None, "y z"],
    "seq": "00000000000000000001|0000000000000000|0000000",
}


def as_csv(path):
    path.write_text(
        "hvr_tbl_name,hvr_op,hvr_tx_seq,id,v,d,b,n,f,ok,at,tags\n"
        'orders,1,1,1,"say ""hi""\n",2026-01-02,00ff,12.5,0.25,true,2026-01-01 00:00:00.000001+00,"{x,NULL,""y z""}"\n'
    )


def as_parquet(path):
    record = {**ORDER, "hvr_op": 1, "hvr_tx_seq": "1"}
    pyarrow.parquet.write_table(pa.Table.from_pylist([record]), path)


def as_json(path):
    path.write_text(json.dumps({**ORDER, "hvr_op": 1, "hvr_tx_seq": "1"}))


@pytest.mark.parametrize("write", [as_json, as_csv, as_parquet])
def test_three_containers_of_the_same_record(write, tmp_path):
    recipe = pure.recipe(tmp_path, DDL, SEQ)
    write(tmp_path / "file")
    assert pure.payloads(recipe, tmp_path / "file") == [EXPECTED]


def test_null_is_null_and_what_is_not_there_is_missing(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, SEQ)
    path = pure.hvr(tmp_path, {"hvr_tbl_name": "items", "id": "a", "n": None}, {"hvr_tbl_name": "items", "id": "b"})
    first, second = pure.payloads(recipe, path)
    assert first["n"] is None
    assert "n" not in second
    (tmp_path / "a.csv").write_text("hvr_tbl_name,hvr_op,hvr_tx_seq,hvr_missing,id,n\nitems,1,1,,a,\nitems,1,1,n,b,\n")
    assert [set(p) for p in pure.payloads(recipe, tmp_path / "a.csv")] == [{"id", "n", "seq"}, {"id", "seq"}]


def test_a_name_inside_a_text_is_no_column(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, SEQ)
    path = pure.hvr(tmp_path, {"hvr_tbl_name": "orders", "id": 1, "v": '"d": 1, "hvr_tbl_name": "items"'})
    [payload] = pure.payloads(recipe, path)
    assert "d" not in payload


def test_rows_of_several_tables_keep_their_order_and_number(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, SEQ)
    records = [{"hvr_tbl_name": ("orders", "items")[i % 2], "id": (i, str(i))[i % 2]} for i in range(6)]
    got = pure.payloads(recipe, pure.hvr(tmp_path, *records))  # table after table: topics have no order among them
    assert [payload["id"] for payload in got] == [0, 2, 4, "1", "3", "5"]
    assert [payload["seq"][-1] for payload in got] == list("024135")
    one_topic = pure.recipe(tmp_path, DDL, SEQ, kafka=", Kafka_Default_Topic: all")
    got = pure.payloads(one_topic, pure.hvr(tmp_path, *records))
    assert [payload["id"] for payload in got] == [0, "1", 2, "3", 4, "5"]


def test_a_transaction_continues_over_files(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, SEQ)
    rows = [{"hvr_tbl_name": "items", "hvr_tx_seq": tx, "id": str(i)} for i, tx in enumerate("1112223")]
    whole = pure.payloads(recipe, pure.hvr(tmp_path, *rows))
    parts = [pure.hvr(tmp_path, *rows[:2], name="1"), pure.hvr(tmp_path, rows[2], name="2")]
    parts.append(pure.hvr(tmp_path, *rows[3:], name="3"))
    assert pure.payloads(recipe, *parts) == whole
    _, [note] = pure.fragments(recipe, parts[0])
    sent, _ = pure.fragments(recipe, parts[1], checkpoint=Checkpoint(1, note.streams[""].open))
    assert sent["integ_seq"].to_pylist() == [whole[2]["seq"]]


def test_given_positions_need_no_counting(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, SEQ)
    given = "0000000000000000000A|0000000000000001|0000007"
    path = pure.hvr(
        tmp_path,
        {"hvr_tbl_name": "items", "hvr_tx_seq": "a", "hvr_tx_countdown": 2, "id": "x"},
        {"hvr_tbl_name": "items", "hvr_tx_seq": "a", "hvr_tx_countdown": 1, "id": "y"},
        {"hvr_tbl_name": "items", "hvr_tx_seq": None, "hvr_integ_seq": given, "id": "z"},
    )
    first, second, third = (payload["seq"] for payload in pure.payloads(recipe, path))
    assert first < second
    assert third == given


def test_where_a_file_ends(tmp_path):
    opened = OpenTransaction("A", 2, since_start=True)
    assert opened.after(OpenTransaction("A", 3, since_start=False)) == OpenTransaction("A", 5, since_start=False)
    assert opened.after(OpenTransaction("B", 3, since_start=False)) == OpenTransaction("A", 2, since_start=False)
    assert OpenTransaction("A", 2, since_start=False).after(opened) == OpenTransaction("A", 2, since_start=False)


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"hvr_tbl_name": "orders", "id": "seven"}, "table orders, column id: 'seven' is no integer"),
        ({"hvr_tbl_name": "orders", "id": 1, "d": "tomorrow"}, "column d: 'tomorrow' is no date"),
        ({"hvr_tbl_name": "orders", "id": 1, "b": "0"}, "column b: '0' is no blob"),
        (
            {"hvr_tbl_name": "orders", "id": 1, "at": "2026-01-01 00:00:00"},
            "column at: '2026-01-01 00:00:00' is no timestamptz",
        ),
        ({"hvr_tbl_name": "items", "id": "a", "n": 70000}, "70000"),
        (
            {"hvr_tbl_name": "orders", "id": 1, "colour": "red"},
            "table orders: column 'colour' is not in its definition",
        ),
        ({"hvr_tbl_name": "bills", "id": 1}, "table 'bills', which the channel does not have"),
        ({"id": 1}, "the record has no hvr_tbl_name, and the channel has several tables"),
        ({"hvr_tbl_name": "items", "id": "a", "hvr_op": 7}, "hvr_op is 7; expected 0 delete"),
        ({"hvr_tbl_name": "items", "id": "a", "hvr_op": None}, "hvr_op is None"),
        ({"hvr_tbl_name": "items", "id": "a", "hvr_tx_seq": "xyz"}, "hvr_tx_seq is 'xyz'; expected 1 to 20 hex"),
        ({"hvr_tbl_name": "items", "id": "a", "hvr_integ_seq": "1"}, "hvr_integ_seq is '1'; expected 20, 16 and 7"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(record, told, tmp_path):
    recipe = pure.recipe(tmp_path, DDL, SEQ)
    path = pure.hvr(tmp_path, {"hvr_tbl_name": "items", "id": "good"}, record)
    with pytest.raises(DataError) as raised:
        pure.payloads(recipe, path)
    assert f"{path}:2: " in str(raised.value)
    assert told in str(raised.value)


def test_i2_rows_of_unknown_tables_count_in_their_transaction(tmp_path):
    """Else a position would depend on whether the file before was read, or only asked where it ends."""
    recipe = pure.recipe(tmp_path, DDL, SEQ, source=", unknown_tables: ignore")
    first = pure.hvr(tmp_path, *({"hvr_tbl_name": t, "id": "a"} for t in ("items", "bills", "items")), name="1")
    second = pure.hvr(tmp_path, {"hvr_tbl_name": "items", "id": "b"}, name="2")
    together, [note, _] = pure.fragments(recipe, first, second)
    assert [row[-1] for row in together["integ_seq"].to_pylist()] == ["0", "2", "3"]
    assert note.streams[""].open.rows == 3


def test_an_empty_file_is_no_error(tmp_path):
    (tmp_path / "empty").write_text("")
    sent, [note] = pure.fragments(pure.recipe(tmp_path, DDL, SEQ), tmp_path / "empty")
    assert (sent.num_rows, note.rows) == (0, 0)


def test_unknown_tables_can_be_passed_over_and_are_counted(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, SEQ, source=", unknown_tables: ignore")
    path = pure.hvr(tmp_path, {"hvr_tbl_name": "bills", "id": 1}, {"hvr_tbl_name": "items", "id": "a"})
    sent, [note] = pure.fragments(recipe, path)
    assert sent.num_rows == 1
    assert note.not_sent == {"rows of unknown tables": 1}


def test_a_line_that_ends_in_its_tables_name_is_named(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, SEQ)
    path = pure.hvr(tmp_path, {"hvr_tbl_name": "orders", "id": 1}, {"hvr_tbl_name": "items", "id": "1"})
    path.write_text(path.read_text() + '{"hvr_op":1,"hvr_tbl_name":"ord')
    text = path.read_text().replace('": "', '":"')
    path.write_text(text)
    with pytest.raises(DataError, match=r":3: "):
        pure.fragments(recipe, path)
