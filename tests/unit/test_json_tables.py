"""Values of many tables, of which there are few rows each, are the same when each table is read alone."""

import json
import random

import pytest

from integrator.decode import contract as reading
from integrator.decode.rows import runs as rows
from tests.parts import pure
from tests.unit.test_encode_together import outcome
from tests.unit.test_row_programs import DDL, WHOLE, records

pytestmark = pytest.mark.engine

EXTRA = """
create table nested(k int primary key, list bigint[], small smallint, wide decimal(40,3), on_off boolean);
create table measured(k int primary key, far double precision, near real, sure boolean);
create table odd("k" int primary key, "a""b" varchar(9), "ü" varchar(9), "x\\y" varchar(9));
"""


FULL = [{"hvr_op": 1, "hvr_tx_seq": "1", **one} for one in WHOLE]


def both(made, path, monkeypatch):
    """What comes of the values of all tables together, and of those of each table alone."""
    together = outcome(made, path)
    with monkeypatch.context() as patch:
        patch.setattr(rows, "FEW_ROWS", 0)
        return together, outcome(made, path)


def channel(directory, source=""):
    return pure.recipe(directory, DDL + EXTRA, f"  - {pure.PLAIN}\n", source=source)


def written(directory, *lines):
    path = directory / "a.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


SEPARATORS = {"compact": (",", ":"), "as Python does": (", ", ": "), "otherwise": (" ,  ", " : ")}


@pytest.mark.parametrize("separators", SEPARATORS.values(), ids=SEPARATORS)
@pytest.mark.parametrize("seed", range(3))
def test_records_are_the_same(seed, separators, tmp_path, monkeypatch):
    chance = random.Random(seed)
    made = records(chance)
    for row in made:
        if chance.random() < 0.2:  # missing, which is not null
            row.pop(
                chance.choice(
                    [name for name in row if name == "k" or name not in ("hvr_op", "hvr_tbl_name", "hvr_tx_seq")]
                )
            )
        if chance.random() < 0.2:
            row["hvr_cap_user"] = chance.choice([None, "me"])
    ascii_only = chance.random() < 0.5
    path = written(tmp_path, *(json.dumps(row, separators=separators, ensure_ascii=ascii_only) for row in made))
    together, alone = both(channel(tmp_path), path, monkeypatch)
    assert together == alone


def test_names_may_be_in_any_order(tmp_path, monkeypatch):
    """The one that is expected is what came after the name before the last time."""
    made = [dict(chance.sample(list(row.items()), len(row))) for chance in map(random.Random, range(9)) for row in FULL]
    path = written(tmp_path, *(json.dumps(row, separators=(",", ":")) for row in made))
    together, alone = both(channel(tmp_path), path, monkeypatch)
    assert together == alone


SAID = [
    '{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"2","k":8,"note":"\\u00e9\\ud83d\\ude00 \\"\\\\\\/\\n"}',
    '{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"2","k":8,"note":":\\",\\"a\\":"}',
    '{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"2","k":8,"note":"{[,:]}"}',
    '{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"2","k":8,"note":"null","total":null}',
    '{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"2","k":8,"total":1e1}',
    '{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"2","k":-0}',
    '{"hvr_tbl_name":"nested","hvr_op":1,"hvr_tx_seq":"2","k":8,"list":[1,null,3],"small":-3,"wide":0.125,"on_off":false}',
    '{"hvr_tbl_name":"nested","hvr_op":1,"hvr_tx_seq":"2","k":8,"list":[],"on_off":null}',
    '{"hvr_tbl_name":"people","hvr_op":1,"hvr_tx_seq":"2","k":8,"name":"x","tags":["a\\"b",null]}',
    '{"hvr_tbl_name":"odd","hvr_op":1,"hvr_tx_seq":"2","k":8,"ü":"1","x\\\\y":"2"}',
    '{"hvr_tbl_name":"measured","hvr_op":1,"hvr_tx_seq":"2","k":8,"far":-0.5e-10,"near":1E+5,"sure":true}',
    '{"hvr_tbl_name":"measured","hvr_op":1,"hvr_tx_seq":"2","k":8,"far":5,"near":-0,"sure":false}',
    '{"hvr_tbl_name":"measured","hvr_op":1,"hvr_tx_seq":"2","k":8,"far":0.1234567890123456789,"near":0.1}',
    '{"hvr_tbl_name":"measured","hvr_op":1,"hvr_tx_seq":"2","k":8,"far":null,"near":1e-400,"sure":null}',
    '{"hvr_op":1,"hvr_tx_seq":"2","k":8,"hvr_tbl_name":"orders"}',
    '{"hvr_tbl_name":"orders","hvr_op":1,"hvr_integ_seq":"0000000000000000000A|0000000000000000|0000001","k":8}',
    '{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"2","hvr_cap_tstamp":"2026-01-02T03:04:05.5Z","k":8}',
]


@pytest.mark.parametrize("line", SAID)
def test_lines_that_are_right(line, tmp_path, monkeypatch):
    path = written(tmp_path, *map(json.dumps, FULL), line)
    together, alone = both(channel(tmp_path), path, monkeypatch)
    assert together == alone
    assert not isinstance(together, str), together


@pytest.mark.parametrize("line", SAID)
def test_a_table_alone(line, tmp_path, monkeypatch):
    path = written(tmp_path, line, line.replace("|0000001", "|0000002"))  # a position of its own
    together, alone = both(channel(tmp_path), path, monkeypatch)
    assert together == alone
    assert not isinstance(together, str), together


WRONG = [
    '"k":01',
    '"k":+1',
    '"k":0x1',
    '"k":1.5',
    '"k":"8"',
    '"k":3000000000',
    '"k":8 9',
    '"k":8,"note":nul',
    '"k":8,"note":nullx',
    '"k":8,"note":5',
    '"k":8,"note":"a\tb"',
    '"k":8,"note":"a"b"',
    '"k":8,"note":"a" "b"',
    '"k":8,"note":"a""b"',
    '"k":8,"note":"\\x"',
    '"k":8,"note":"a","note":"b"',
    '"k":8,,"note":"a"',
    '"k":8"note":"a"',
    '"k":8,"note":"a",',
    '"k":8,"note":',
    '"k":8,"note"',
    '"k":8,"note":"a',
    '"k":8,note:"a"',
    '"k":8,"total":12345678901.5',
    '"k":8,"total":"x"',
    '"k":8,"other":1',
    '"k":8,"placed":"yesterday"',
    '"k":8,"note":["a"]',
    '"k":8,"note":{"k":9}',
    '"k":8}{"k":9',
    '"k":8}x{"k":9',
    '"k":8} ',
]


MEASURED = [
    '"far":01',
    '"far":1.',
    '"far":.5',
    '"far":+1',
    '"far":1e',
    '"far":1e+',
    '"far":nan',
    '"far":Infinity',
    '"far":0x1',
]
MEASURED += [
    '"far":1e999',
    '"near":1e39',
    '"far":"1"',
    '"far":--1',
    '"far":-',
    '"far":1.2.3',
    '"far":1_0',
    '"far":true',
]
MEASURED += ['"sure":1', '"sure":True', '"sure":"true"', '"sure":tru', '"sure":trues', '"sure":falsy', '"sure":yes']


def test_values_that_are_mostly_not_there(tmp_path, monkeypatch):
    keys = [{"hvr_tbl_name": "nested", "hvr_op": 1, "hvr_tx_seq": "2", "k": key} for key in range(9)]
    keys[4] |= {"list": [1, None], "wide": 0.125}
    keys[7] |= {"wide": None, "on_off": True}
    together, alone = both(channel(tmp_path), written(tmp_path, *map(json.dumps, FULL + keys)), monkeypatch)
    assert together == alone
    assert not isinstance(together, str), together


@pytest.mark.parametrize("wrong", MEASURED)
def test_a_number_or_boolean_that_is_none(wrong, tmp_path, monkeypatch):
    line = '{"hvr_tbl_name":"measured","hvr_op":1,"hvr_tx_seq":"2","k":8,' + wrong + "}"
    path = written(tmp_path, *map(json.dumps, FULL), line)
    together, alone = both(channel(tmp_path), path, monkeypatch)
    assert together == alone


@pytest.mark.parametrize("wrong", WRONG)
def test_a_line_that_is_wrong_is_named(wrong, tmp_path, monkeypatch):
    line = '{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"1",' + wrong + "}"
    others = [json.dumps(one, separators=(",", ":")) for one in FULL]
    path = written(tmp_path, *others[:3], line, *others[3:])
    together, alone = both(channel(tmp_path), path, monkeypatch)
    assert together == alone
    assert "a.jsonl:4: " in together


def test_a_column_that_is_not_known_is_counted(tmp_path, monkeypatch):
    odd = {**FULL[0], "other": 5}
    path = written(tmp_path, *map(json.dumps, FULL), json.dumps(odd))
    together, alone = both(channel(tmp_path, ", unknown_columns: ignore"), path, monkeypatch)
    assert together == alone
    assert together[1][0].warnings == {"values of orders.other, which the table does not have": 1}


def test_a_decimal_of_too_many_digits_is_told_with_its_line(tmp_path):
    line = '{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"2","k":8,"total":12345678901.5}'
    said = outcome(channel(tmp_path), written(tmp_path, *map(json.dumps, FULL), line))
    assert "a.jsonl:7: table orders, column total: '12345678901.5' is no decimal(12,2)" in said


@pytest.mark.parametrize(("columns", "size"), [("c int", 16 << 20), ("c{at} int", 32 << 20)])
def test_blocks_are_larger_for_many_tables_of_other_columns(columns, size, tmp_path, monkeypatch):
    """Of tables that are decoded together a block costs little, of the same columns next to nothing."""
    asked = []
    monkeypatch.setattr(reading, "read_lines", lambda path, how, _: asked.append(how.block_bytes) or iter(()))
    many = "".join(f"create table t{at}(k int primary key, {columns.format(at=at)});" for at in range(300))
    made = pure.tables(tmp_path, many, [])
    pure.fragments(made, pure.hvr(tmp_path, {"hvr_tbl_name": "t1", "k": 1}))
    assert asked == [size]


NAMES = [
    # a column, its name in a record as it stands there
    ("x\\y", "x\\y"),
    ("x\\y", "x\\\\y"),
    ("u\\u0062", "u\\u0062"),
    ("c\td", "c\td"),
    ("hvr_cap_user", "hvr_cap_user"),
]


@pytest.mark.parametrize(("column", "name"), NAMES)
def test_names_that_json_writes_otherwise(column, name, tmp_path, monkeypatch):
    ddl = f'create table a(k int primary key, "{column}" varchar(9), ub varchar(9)); create table b(k int primary key);'
    made = pure.recipe(tmp_path, ddl, f"  - {pure.PLAIN}\n")
    of_b = '{"hvr_tbl_name":"b","hvr_op":1,"hvr_tx_seq":"1","k":1}'
    line = '{"hvr_tbl_name":"a","hvr_op":1,"hvr_tx_seq":"1","k":1,"' + name + '":"v"}'
    together, alone = both(made, written(tmp_path, of_b, line), monkeypatch)
    assert together == alone


def test_missing_columns_are_named_in_the_order_of_columns(tmp_path, monkeypatch):
    ddl = "create table a(k int primary key, n int, v varchar(9), m numeric(9,2), w text); create table b(k int primary key);"
    more = "{action: ColumnProperties, Name: more, Extra: true, Datatype: text, IntegrateExpression: '{hvr_missing}'}"
    made = pure.tables(tmp_path, ddl, [more])
    path = pure.hvr(tmp_path, {"hvr_tbl_name": "b", "k": 1}, {"hvr_tbl_name": "a", "k": 1, "m": 1})
    together, alone = both(made, path, monkeypatch)
    assert together == alone
    assert b'"more":"n,v,w"' in next(message.value for message in together[0] if message.topic == "a")


SEVERAL = [
    ['{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"2","k":8}{"k":9}', '{"k":1,}', "{}"],
    ['{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"2","k":8}[,]{}'],
    ['{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"2","k":8}[,]{"k":9}'],
    ['{"hvr_tbl_name":"orders","hvr_op":1}{,"hvr_tx_seq":"1","k":2}'],
    ['null{"hvr_tbl_name":"orders","hvr_op":1,"hvr_tx_seq":"1","k":2}'],
]


@pytest.mark.parametrize("lines", SEVERAL)
def test_a_line_is_one_object(lines, tmp_path, monkeypatch):
    nested = json.dumps({**FULL[2], "tags": ["q"]}, separators=(",", ":"))
    path = written(tmp_path, *map(json.dumps, FULL), nested, *lines)
    together, alone = both(channel(tmp_path, ", table: bare"), path, monkeypatch)
    assert together == alone
    assert "a.jsonl:8: " in together
