"""Columns that the records have and the table's definition does not: an error, or counted and passed over."""

import json

import pytest

from tests.parts import pure

pytestmark = pytest.mark.fast

DDL = "create table t(k int primary key, v text);"
IGNORE = ", unknown_columns: ignore"


def hvr_json(directory):
    return pure.hvr(
        directory, {"k": 1, "v": "a"}, {"k": 2, "v": "b", "colour": "red"}, {"k": 3, "v": "c", "colour": None}
    )


def hvr_csv(directory):
    path = directory / "a.csv"
    path.write_text("hvr_op,hvr_tx_seq,k,v,colour\n1,1,1,a,\n1,1,2,b,red\n1,1,3,c,\n")
    return path


def wal2json(directory):
    def image(**values):
        return [{"name": name, "type": "?", "value": value} for name, value in values.items()]

    begin = {"action": "B", "xid": 1, "timestamp": "2026-01-01 00:00:00+00", "nextlsn": "1/1"}
    rows = [image(k=1, v="a"), image(k=2, v="b", colour="red"), image(k=3, v="c")]
    changes = [{"action": "I", "xid": 1, "schema": "public", "table": "t", "columns": columns} for columns in rows]
    path = directory / "a.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in [begin, *changes, {"action": "C"}]))
    return path


FILES = [("hvr", hvr_json), ("hvr", hvr_csv), ("wal2json", wal2json)]


@pytest.mark.parametrize(("dialect", "write"), FILES)
def test_an_unknown_column_is_an_error_that_says_what_can_be_done(dialect, write, tmp_path):
    with pytest.raises(pure.IntegratorError) as raised:
        pure.payloads(pure.recipe(tmp_path, DDL, dialect=dialect), write(tmp_path))
    assert "colour" in str(raised.value)
    assert "define it, or set unknown_columns: ignore at the source location" in str(raised.value)


@pytest.mark.parametrize(("dialect", "write"), FILES)
def test_or_it_is_counted_and_passed_over(dialect, write, tmp_path):
    recipe = pure.recipe(tmp_path, DDL, dialect=dialect, source=IGNORE)
    path = write(tmp_path)
    assert pure.payloads(recipe, path) == [{"k": 1, "v": "a"}, {"k": 2, "v": "b"}, {"k": 3, "v": "c"}]
    _, [note] = pure.fragments(recipe, path)
    assert note.warnings == {"values of t.colour, which the table does not have": 1}
