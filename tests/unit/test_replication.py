"""Which operations are sent, and as what: one case a cell of the matrix, and the reference example."""

import json

import pytest

from tests.parts import pure

DDL = "create table t(k int primary key, v text);"
OP = '  - {action: ColumnProperties, Name: op_val, Datatype: integer, Extra: true, IntegrateExpression: "{hvr_op}"}\n'
TIMEKEY = (
    OP + "  - {action: ColumnProperties, Name: integ_seq, Datatype: varchar, Length: 45, Extra: true, TimeKey: true, "
    'IntegrateExpression: "{hvr_integ_seq}"}\n'
)
SOFT = OP + "  - {action: ColumnProperties, Name: deleted, Extra: true, SoftDelete: true}\n"

CHANGES = {
    "insert": [{"hvr_op": 1, "k": 1, "v": "a"}],
    "update": [{"hvr_op": 4, "k": 1, "v": "a"}, {"hvr_op": 2, "k": 1, "v": "b"}],
    "key update": [{"hvr_op": 3, "k": 1, "v": "b"}, {"hvr_op": 2, "k": 9, "v": "b"}],
    "delete": [{"hvr_op": 0, "k": 9, "v": "b"}],
    "truncate": [{"hvr_op": 5}],
}

QUIET = TIMEKEY + "  - {action: Capture, NoBeforeUpdate: true}\n"
MATRIX = [
    # style      change        operations that are sent
    ("", "insert", [1]),
    ("", "update", [2]),
    ("", "key update", [2]),
    ("", "delete", []),
    ("", "truncate", []),
    (SOFT, "insert", [1]),
    (SOFT, "update", [2]),
    (SOFT, "key update", [3, 2]),
    (SOFT, "delete", [0]),
    (SOFT, "truncate", [5]),
    (TIMEKEY, "insert", [1]),
    (TIMEKEY, "update", [4, 2]),
    (TIMEKEY, "key update", [3, 2]),
    (TIMEKEY, "delete", [0]),
    (TIMEKEY, "truncate", [5]),
    (QUIET, "insert", [1]),
    (QUIET, "update", [2]),
    (QUIET, "key update", [3, 2]),
    (QUIET, "delete", [0]),
    (QUIET, "truncate", [5]),
    # and beyond the matrix
    (SOFT + "  - {action: Capture, NoBeforeUpdate: true}\n", "update", [2]),
    (TIMEKEY + "  - {action: Capture, NoTruncate: true}\n", "truncate", []),
    (SOFT + "  - {action: Capture, NoTruncate: true}\n", "truncate", []),
    (TIMEKEY + "  - {action: ColumnProperties, Name: v, Absent: true}\n", "update", [4, 2]),
]


@pytest.mark.parametrize(("style", "change", "sent"), MATRIX)
def test_what_a_style_sends(style, change, sent, tmp_path):
    recipe = pure.recipe(tmp_path, DDL, style or OP)
    path = pure.hvr(tmp_path, *CHANGES[change])
    assert [payload["op_val"] for payload in pure.payloads(recipe, path)] == sent


def test_i4_what_a_style_does_not_send_is_counted(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, OP)
    _, [note] = pure.fragments(recipe, pure.hvr(tmp_path, *CHANGES["update"], *CHANGES["delete"]))
    assert note.rows == 3
    assert note.not_sent == {"op 0 in style Standard": 1, "op 4 in style Standard": 1}


def test_soft_delete_says_whether_the_row_is_gone(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, SOFT)
    path = pure.hvr(tmp_path, *CHANGES["insert"], *CHANGES["key update"], *CHANGES["delete"], *CHANGES["truncate"])
    assert [(p["op_val"], p["deleted"]) for p in pure.payloads(recipe, path)] == [
        (1, 0),
        (3, 1),
        (2, 0),
        (0, 1),
        (5, 1),
    ]


def test_the_reference_example_of_a_timekey_channel(tmp_path):
    recipe = pure.recipe(tmp_path, DDL, TIMEKEY)
    path = pure.hvr(tmp_path, *(record for change in CHANGES.values() for record in change))

    def sequence(row):
        return f"00000000000000000001|0000000000000000|{row:07X}"

    assert pure.payloads(recipe, path) == [
        {"k": 1, "v": "a", "op_val": 1, "integ_seq": sequence(0)},
        {"k": 1, "v": "a", "op_val": 4, "integ_seq": sequence(1)},
        {"k": 1, "v": "b", "op_val": 2, "integ_seq": sequence(2)},
        {"k": 1, "v": "b", "op_val": 3, "integ_seq": sequence(3)},
        {"k": 9, "v": "b", "op_val": 2, "integ_seq": sequence(4)},
        {"k": 9, "v": "b", "op_val": 0, "integ_seq": sequence(5)},
        {"k": None, "v": None, "op_val": 5, "integ_seq": sequence(6)},
    ]


def test_the_two_rows_of_a_key_update_have_the_key_of_each(tmp_path):
    said = "  - {action: Integrate, MessageKey: '{k}', MessageKeySerializer: STRING}"
    recipe = pure.recipe(tmp_path, DDL, TIMEKEY + said)
    keys = [message.key for message in pure.messages(recipe, pure.hvr(tmp_path, *CHANGES["key update"]))]
    assert keys == [b"1", b"9"]


KEYLESS = [
    # style    the change of a table without a key, whose key is then all of its columns       operations sent
    ("", [2]),
    (SOFT, [3, 2]),
    (TIMEKEY, [3, 2]),
    (QUIET, [3, 2]),
]


@pytest.mark.parametrize(("style", "sent"), KEYLESS)
def test_an_update_of_a_table_without_a_key_is_a_key_update(style, sent, tmp_path):
    ddl = "create table t(a int, b text, c bytea);"
    recipe = pure.recipe(tmp_path, ddl, style or OP, dialect="wal2json")
    path = tmp_path / "a.jsonl"
    names = [("a", "integer"), ("b", "text"), ("c", "bytea")]

    def columns(*values):
        return [{"name": n, "type": t, "value": v} for (n, t), v in zip(names, values, strict=True)]

    change = {"action": "U", "schema": "public", "table": "t"}
    change |= {"columns": columns(1, "new", "00"), "identity": columns(1, "old", "00")}
    place = {"xid": 7, "lsn": "0/1000", "nextlsn": "0/1100", "timestamp": "2026-11-20 12:00:00+00"}
    path.write_text("".join(json.dumps(r) + "\n" for r in ({"action": "B", **place}, change, {"action": "C", **place})))
    assert recipe.tables[0].key == ("a", "b")
    assert [payload["op_val"] for payload in pure.payloads(recipe, path)] == sent


def test_columns_are_renamed_left_out_retyped_and_added(tmp_path):
    ddl = "create table t(k int primary key, secret text, price decimal(10,2), at timestamp(3));"
    actions = """
  - {action: ColumnProperties, Name: secret, Absent: true}
  - {action: ColumnProperties, Name: price, BaseName: PRICE, Datatype: varchar, Length: 12}
  - {action: ColumnProperties, Name: source, Extra: true, Datatype: varchar, Nullable: false}
  - {action: ColumnProperties, Name: at, IntegrateExpression: "{at %Y/%m}", Datatype: varchar}
"""
    path = pure.hvr(tmp_path, {"k": 1, "secret": "x", "price": 2.5, "at": "2026-02-03T04:05:06.007"})
    assert pure.payloads(pure.recipe(tmp_path, ddl, actions), path) == [
        {"k": 1, "PRICE": "2.50", "at": "2026/02", "source": ""}
    ]


@pytest.mark.parametrize(
    ("values", "actions", "expected"),
    [
        ({"k": 1, "v": "abcdef"}, "Name: v, Datatype: varchar, Length: 5", "'abcdef' is longer than varchar(5)"),
        ({"k": 70000, "v": ""}, "Name: k, Datatype: smallint", "70000 cannot become smallint"),
        ({"k": 1}, 'Name: v, IntegrateExpression: "x{v}"', "{v} is missing in the record"),
        ({"k": 1, "v": None}, "Name: v, Datatype: text, Nullable: false", "null, where the definition says not null"),
    ],
)
def test_a_value_that_a_column_cannot_hold_is_an_error(values, actions, expected, tmp_path):
    recipe = pure.recipe(tmp_path, DDL, f"  - {{action: ColumnProperties, {actions}}}")
    with pytest.raises(pure.IntegratorError) as raised:
        pure.payloads(recipe, pure.hvr(tmp_path, values))
    assert expected in str(raised.value)
    assert f"{tmp_path}/a.jsonl:1: table t, column" in str(raised.value)
