"""ColumnProperties: a case a parameter, what is said and what is sent. The row is k = 1, name, price, at, data.

https://fivetran.com/docs/hvr6/action-reference/columnproperties
"""

import pytest

from integrator.compare.tables import compared
from tests.parts import pure

pytestmark = pytest.mark.fast

DDL = "create table t(k int primary key, name varchar(40), price decimal(10,2), at timestamp(3), data bytea);"
ROW = {"k": 1, "name": "Zoë Ø.", "price": 12.5, "at": "2026-02-03T04:05:06.007", "data": "cafe"}
ALL = {"k": 1, "name": "Zoë Ø.", "price": 12.5, "at": "2026-02-03T04:05:06.007", "data": "yv4="}

SENT = [
    # what is said beside action: ColumnProperties          what is otherwise in the message; None: the field is not there
    ("Name: name, BaseName: NAME", {"name": None, "NAME": "Zoë Ø."}),
    ("DatatypeMatch: 'varchar', IntegrateExpression: 'x'", {"name": "x"}),
    ("Name: new, Extra: true, Datatype: varchar", {"new": ...}),
    ("Name: new, Extra: true, Datatype: varchar, Nullable: false", {"new": ""}),
    ("Name: new, Extra: true, Datatype: integer, Nullable: false", {"new": 0}),
    ("Name: new, Extra: true, Datatype: integer, IntegrateExpression: '{k}'", {"new": 1}),
    ("Name: price, Absent: true", {"price": None}),
    ("Name: name, CaptureExpression: \"sql: upper(name) || '!'\"", {"name": "ZOË Ø.!"}),
    ("Name: name, CaptureExpression: '{hvr_cap_loc}/{name}', CaptureExpressionType: INLINE", {"name": "src/Zoë Ø."}),
    ("Name: name, IntegrateExpression: '{name}/{price}'", {"name": "Zoë Ø./12.50"}),
    ("DatatypeMatch: 'varchar', IntegrateExpression: '<{{hvr_col_name}}>'", {"name": "<Zoë Ø.>"}),
    ("DatatypeMatch: 'timestamp', Datatype: varchar, IntegrateExpression: '{{hvr_col_name %Y}}'", {"at": "2026"}),
    ("Name: name, TrimDatatype: 5", {"name": "Zoë "}),
    ("Name: name, TrimDatatype: 6", {"name": "Zoë "}),  # Ø has two bytes: never inside a character
    ("Name: name, TrimDatatype: 7", {"name": "Zoë Ø"}),
    ("Name: name, TrimDatatype: 3", {"name": "Zo"}),
    ("Name: name, TrimDatatype: 100", {}),
    ("Name: data, TrimDatatype: 1", {"data": "yg=="}),
    ("Name: gone, Extra: true, SoftDelete: true", {"gone": 0}),
    ("Name: price, Datatype: varchar", {"price": "12.50"}),
    ("Name: price, Datatype: varchar, Length: prec", {"price": "12.50"}),
    ("Name: name, Datatype: varchar, Length: 'charlen/4'", {}),
    ("Name: price, Datatype: decimal, Precision: 'prec+2', Scale: 'scale*2'", {"price": 12.5}),
    ("Name: at, Datatype: timestamp, Precision: 6", {"at": "2026-02-03T04:05:06.007000"}),
    ("Name: name, Datatype: varchar, Length: 40, Nullable: false", {}),
    ("Name: name, IgnoreDuringCompare: true", {}),
    ("Name: name, IntegrateExpression: 'masked', Context: masked", {}),
    ("Name: name, IntegrateExpression: 'masked', Context: '!masked'", {"name": "masked"}),
]


@pytest.mark.parametrize(("said", "other"), SENT)
def test_what_a_parameter_does(said, other, tmp_path):
    expected = {name: value for name, value in {**ALL, **other}.items() if value is not None}
    expected = {name: None if value is ... else value for name, value in expected.items()}
    assert pure.rows(tmp_path, DDL, [f"{{action: ColumnProperties, {said}}}"], ROW) == [expected]


KEYS = [
    # what is said                           replication key, distribution key
    ("Name: a, Key: true", ("k", "a"), ("k",)),
    ("Name: a, SurrogateKey: true", ("a",), ("a",)),
    ("Name: a, DistributionKey: true", ("k",), ("a",)),
]


@pytest.mark.parametrize(("said", "key", "distribution"), KEYS)
def test_keys(said, key, distribution, tmp_path):
    recipe = pure.tables(
        tmp_path, "create table t(k int primary key, a int);", [f"{{action: ColumnProperties, {said}}}"]
    )
    assert (recipe.tables[0].key, recipe.tables[0].distribution_key) == (key, distribution)


MATCHES = [
    # condition                                              the columns of `many` that match
    ("decimal", ["small", "large"]),
    ("numeric", ["small", "large"]),
    ("number[prec>=19]", ["large"]),
    ("decimal[prec<19 && scale=2]", ["small"]),
    ("decimal[prec>1 && scale!=2]", ["large"]),
    ("decimal[scale<>2]", ["large"]),
    ("varchar[bytelen>200]", ["long"]),
    ("varchar[charlen<=50]", ["short"]),
    ("varchar[charlen<50]", []),
    ("varchar[null='false']", ["short"]),
    ("varchar[encoding='UTF-8' && null='true']", ["long"]),
    ("text", ["free"]),
    ("clob", ["free"]),
    ("text[charlen>1]", []),
    ("integer", ["k"]),
    ("timestamp[prec=6]", ["micros"]),
]


@pytest.mark.parametrize(("condition", "names"), MATCHES)
def test_datatype_match(condition, names, tmp_path):
    ddl = (
        "create table many(k int primary key, small decimal(10,2), large decimal(19,0), short varchar(50) not null, "
        "long varchar(51), free text, millis timestamp(3), micros timestamp(6));"
    )
    action = f'{{action: ColumnProperties, DatatypeMatch: "{condition}", IntegrateExpression: "null"}}'
    recipe = pure.tables(tmp_path, ddl, [action])
    assert [field.name for field in recipe.tables[0].fields if field.expression] == names


def test_an_action_with_a_name_wins_over_one_with_a_datatype(tmp_path):
    actions = [
        "{action: ColumnProperties, Name: name, IntegrateExpression: 'named'}",
        "{action: ColumnProperties, table: t, group: kaf, DatatypeMatch: varchar, IntegrateExpression: 'matched'}",
    ]
    assert pure.rows(tmp_path, DDL, actions, ROW)[0]["name"] == "named"


PROBLEMS = [
    ("DatatypeMatch: 'varchar[bytelen~2]', Absent: true", "'bytelen~2' is no condition; write prec, scale,"),
    ("DatatypeMatch: 'colour', Absent: true", "'colour' is no datatype; accepted are"),
    ("DatatypeMatch: '[x', Absent: true", "'[x' is no datatype with conditions"),
    ("DatatypeMatch: varchar, Name: name, Absent: true", "needs Name or DatatypeMatch, one of them"),
    ("Absent: true", "needs Name or DatatypeMatch, one of them"),
    ("DatatypeMatch: varchar, Extra: true, Datatype: text", "an Extra column has a Name"),
    ("Name: name, Datatype: varchar, Length: 'bytes/3'", "bytes"),
    ("Name: name, Datatype: varchar, Length: 'charlen/0'", "charlen/0"),
    ("Name: k, Datatype: varchar, Length: 'charlen/2'", "charlen"),
    ("Name: price, Datatype: decimal, Precision: 'scale(2)'", "scale(2)"),
    ("Name: price, TrimDatatype: 5", "only text and bytes can be cut"),
    ("Name: name, CaptureExpressionType: INLINE", "goes with CaptureExpression"),
    ("Name: name, CaptureExpression: x, CaptureExpressionType: SQL_PER_ROW", "INLINE"),
    ("Name: name, CaptureExpression: '{hvr_op}'", "{hvr_op} cannot stand in a CaptureExpression"),
    ("Name: k, group: SOURCE, Absent: true", "belongs to the key, which cannot be absent"),
    (
        "Name: name, IntegrateExpression: x, ExpressionScope: UPSERT",
        "'UPSERT' is no operation of rows; accepted are DELETE, INSERT,",
    ),
    ("Name: name, ExpressionScope: INSERT", "goes with an IntegrateExpression"),
    ("Name: name, IntegrateExpression: '{hvr_op}', ExpressionScope: INSERT", "an expression with {hvr_op} can have"),
    ("Name: name, IntegrateExpression: x, ExpressionScope: DELETE", "are sent with a SoftDelete or TimeKey column"),
    ("Name: name, Absent: true, Context: 'A b'", "Context"),
]


@pytest.mark.parametrize(("said", "told"), PROBLEMS)
def test_what_cannot_be_is_a_problem_of_the_channel(said, told, tmp_path):
    assert told in pure.refusal(tmp_path, DDL, f"{{action: ColumnProperties, {said}}}")


SCOPED = [
    # the Kafka location says       insert       update (old, new)        delete
    ("IGNORE", ["new", "new", "new", "new"]),
    ("APPLY", ["new", "b", "new", "c"]),
]


@pytest.mark.parametrize(("scopes", "names"), SCOPED)
def test_expression_scope(scopes, names, tmp_path):
    actions = [
        "{action: ColumnProperties, Name: at_once, Extra: true, Datatype: integer, TimeKey: true, "
        "IntegrateExpression: '{hvr_op}'}",
        "{action: ColumnProperties, Name: name, IntegrateExpression: new, ExpressionScope: 'INSERT, UPDATE_AFTER'}",
    ]
    records = [{"hvr_op": op, **ROW, "name": name} for op, name in ((1, "a"), (4, "b"), (2, "c"), (0, "c"))]
    sent = pure.rows(tmp_path, DDL, actions, *records, kafka=f", Expression_Scopes: {scopes}")
    assert [(row["at_once"], row["name"]) for row in sent] == list(zip((1, 4, 2, 0), names, strict=True))


def test_an_expression_is_evaluated_for_the_rows_of_its_scope_only(tmp_path):
    actions = [
        "{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, TimeKey: true, "
        "IntegrateExpression: '{hvr_op}'}",
        "{action: ColumnProperties, Name: name, IntegrateExpression: 'x{price}', ExpressionScope: 'INSERT, UPDATE_AFTER'}",
        "{action: ColumnProperties, Name: at, Absent: true}",
    ]
    bare = {"k": 1, "data": None}
    records = [{"hvr_op": 0, **bare}, {"hvr_op": 2, **bare, "price": 1}, {"hvr_op": 0, **bare, "name": "own"}]
    sent = pure.rows(tmp_path, DDL, actions, *records, kafka=", Expression_Scopes: APPLY")
    assert [row.get("name") for row in sent] == [None, "x1.00", "own"]
    with pytest.raises(pure.IntegratorError) as raised:
        pure.rows(tmp_path, DDL, actions, records[0], {"hvr_op": 2, **bare}, kafka=", Expression_Scopes: APPLY")
    assert "a.jsonl:2: table t, column name: {price} is missing" in str(raised.value)


ABSENT = [
    # what is said of columns, and of which one check says that it belongs to the key
    (["Name: k, Absent: true"], "'k' belongs to the key, which cannot be absent"),
    (["Name: name, SurrogateKey: true", "Name: k, Absent: true"], ""),
    (
        ["Name: name, SurrogateKey: true", "Name: name, Absent: true"],
        "'name' belongs to the key, which cannot be absent",
    ),
    (["Name: name, Key: true", "Name: name, Absent: true"], "'name' belongs to the key, which cannot be absent"),
]


@pytest.mark.parametrize(("said", "told"), ABSENT)
def test_a_column_is_of_the_key_that_the_channel_gives_the_table(said, told, tmp_path):
    actions = [f"{{action: ColumnProperties, {one}}}" for one in said]
    if told:
        assert told in pure.refusal(tmp_path, DDL, *actions)
    else:
        [table] = pure.tables(tmp_path, DDL, actions).tables
        assert (table.key, "k" in [field.name for field in table.fields]) == (("name",), False)


TABLES = (
    "create table a(k int primary key, email text, phone text);"
    "create table b(k int primary key, email text);"
    "create table c(k int primary key, phone text);"
)
SHARED = [
    # what is said beside action: ColumnProperties                  tables a, b and c: the columns that are sent
    ('table: "*", Name: email, Absent: true', (["k", "phone"], ["k"], ["k", "phone"])),
    ("table: MINE, Name: email, Absent: true", (["k", "phone"], ["k", "email"], ["k", "phone"])),
    ("table: GENERAL, Name: email, Absent: true", (["k", "email", "phone"], ["k"], ["k", "phone"])),
    ('table: "*", Name: phone, BaseName: tel', (["k", "email", "tel"], ["k", "email"], ["k", "tel"])),
]


@pytest.mark.parametrize(("said", "sent"), SHARED)
def test_an_action_for_several_tables_is_for_those_that_have_its_column(said, sent, tmp_path):
    made = pure.tables(tmp_path, TABLES, [f"{{action: ColumnProperties, {said}}}"], groups="{MINE: [a, c]}")
    assert tuple([field.name for field in table.fields] for table in made.tables) == sent


def test_a_mask_for_all_tables_is_for_those_that_have_its_column(tmp_path):
    said = "{action: ColumnProperties, table: '*', group: SOURCE, Name: email, CaptureExpression: '***'}"
    made = pure.tables(tmp_path, TABLES, [said])
    assert [[name for name, _ in table.capture.expressions] for table in made.tables] == [["email"], ["email"], []]


ELSEWHERE = [
    ("Name: email, Absent: true", "table c: 'email' is no column; tables a, b have it: write table: \"*\" for all that have it, or table: a"),
    ("table: c, Name: email, Absent: true", "table c: 'email' is no column"),
    ('table: "*", Name: emial, Absent: true', "'emial' is no column; do you mean email?"),
    ("table: MINE, Name: fax, Absent: true", "'fax' is no column"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "told"), ELSEWHERE)
def test_a_column_that_no_table_of_the_scope_has_is_a_problem(said, told, tmp_path):
    assert told in pure.refusal(tmp_path, TABLES, f"{{action: ColumnProperties, {said}}}", groups="{MINE: [a, c]}")


AT_SOURCE = [
    ("Name: typo, group: src, TrimDatatype: 5", "'typo' is no column; its columns are k, name,"),
    ("Name: typo, group: SOURCE, CaptureExpression: x", "'typo' is no column"),
    ("Name: typo, group: SOURCE, BaseName: x", "'typo' is no column"),
    ("Name: name, group: SOURCE, BaseName: price", "two columns would be named 'price' in the records"),
    ("Name: new, group: KAFKA, Extra: true, Datatype: text, TrimDatatype: 5", "'new' is an Extra column"),
    ("Name: new, Extra: true, Datatype: text, TrimDatatype: 5", "'new' is an Extra column, which the source has not"),
]


@pytest.mark.parametrize(("said", "told"), AT_SOURCE)
def test_what_is_said_of_the_source_must_be_there(said, told, tmp_path):
    assert told in pure.refusal(tmp_path, DDL, f"{{action: ColumnProperties, {said}}}")


def test_trimming_is_counted(tmp_path):
    actions = ["{action: ColumnProperties, group: SOURCE, Name: name, TrimDatatype: 4}"]
    path = pure.hvr(tmp_path, ROW, {**ROW, "name": "1234"}, {**ROW, "name": None}, {**ROW, "name": "12345"})
    sent, [note] = pure.fragments(pure.tables(tmp_path, DDL, actions), path)
    assert len(sent) == 4
    assert note.warnings == {"TrimDatatype of t.name": 2}


def test_names_at_the_source_and_at_kafka_are_two_things(tmp_path):
    actions = [
        "{action: ColumnProperties, group: SOURCE, Name: name, BaseName: CUST_NAME}",
        "{action: ColumnProperties, group: KAFKA, Name: name, BaseName: customerName}",
        "{action: ColumnProperties, Name: key_twice, Extra: true, Datatype: varchar, IntegrateExpression: '{name}{name}'}",
        "{action: TableProperties, group: SOURCE, BaseName: CUSTOMERS}",
    ]
    record = {**{name: value for name, value in ROW.items() if name != "name"}, "CUST_NAME": "x"}
    [row] = pure.rows(tmp_path, DDL, actions, {"hvr_tbl_name": "CUSTOMERS", **record})
    assert row == {
        **{name: value for name, value in ALL.items() if name != "name"},
        "customerName": "x",
        "key_twice": "xx",
    }


def test_capture_expressions_use_the_names_of_the_source(tmp_path):
    actions = [
        "{action: ColumnProperties, group: SOURCE, Name: name, BaseName: N}",
        "{action: ColumnProperties, Name: name, CaptureExpression: '{N}+{k}'}",
    ]
    record = {**{name: value for name, value in ROW.items() if name != "name"}, "N": "x"}
    assert pure.rows(tmp_path, DDL, actions, record)[0]["name"] == "x+1"


ABSENT = [
    # what is said beside group: SOURCE, Absent: true        what a column has that the records do not
    ("CaptureExpression: fixed", "fixed"),
    ("CaptureExpression: 'sql: k + 1'", "2"),
    ("Name: name", None),
]


@pytest.mark.parametrize(("said", "made"), ABSENT)
def test_a_column_that_the_source_does_not_have(said, made, tmp_path):
    record = {name: value for name, value in ROW.items() if name != "name"}
    said = said if "Name" in said else f"Name: name, {said}"
    actions = [f"{{action: ColumnProperties, group: SOURCE, Absent: true, {said}}}"]
    assert pure.rows(tmp_path, DDL, actions, record) == [{**ALL, "name": made}]


@pytest.mark.parametrize("written", ["sql: md5(name)", "{name}-{k}"])
def test_what_is_computed_from_a_missing_column_is_missing(written, tmp_path):
    """As in a delete of which the source records the key only: what is masked stays masked, and the cycle continues."""
    actions = [
        "{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, TimeKey: true, "
        "IntegrateExpression: '{hvr_op}'}",
        f'{{action: ColumnProperties, Name: name, CaptureExpression: "{written}", Datatype: text}}',
    ]
    rows = pure.rows(tmp_path, DDL, actions, ROW, {"hvr_op": 0, "k": 1}, {"hvr_op": 5}, {**ROW, "k": 2})
    assert [(row["op"], "name" in row) for row in rows] == [(1, True), (0, False), (5, True), (1, True)]
    assert rows[0]["name"] not in (None, ROW["name"])
    assert rows[2]["name"] is None
    assert len({row["name"] for row in (rows[0], rows[3])}) == (1 if "sql" in written else 2)


def test_a_computed_column_that_cannot_be_is_an_error_with_its_place(tmp_path):
    actions = ["{action: ColumnProperties, Name: k, CaptureExpression: '{name}'}"]
    with pytest.raises(pure.IntegratorError) as raised:
        pure.rows(tmp_path, DDL, actions, {**ROW, "name": "7"}, ROW)
    assert f"{tmp_path}/a.jsonl:2: table t, column k: CaptureExpression: " in str(raised.value)


@pytest.mark.parametrize("group", ["'*'", "SOURCE", "KAFKA"])
def test_a_column_may_be_left_out_of_comparisons(group, tmp_path):
    action = f"{{action: ColumnProperties, group: {group}, Name: a, IgnoreDuringCompare: true}}"
    recipe = pure.tables(tmp_path, "create table t(k int primary key, a int);", [action])
    [table], _ = compared(recipe, ["t"])
    assert ("a" in table.columns, "a" in table.left_out) == (False, True)
