"""SQL over the row (extension): what it can do, what it may not, and what is said when it fails."""

import hashlib

import pytest

from integrator.decode.contract import reading_of
from tests.parts import pure

DDL = (
    "create table t(k int primary key, name text, price decimal(10,2), day date, at timestamp(3), data bytea, "
    "big bigint, ratio double precision, odd boolean);"
)
ROW = {
    "k": 7,
    "name": "Zoë",
    "price": 12.5,
    "day": "2026-02-03",
    "at": "2026-02-03T04:05:06.007",
    "data": "00ff",
    "big": 2**60,
    "ratio": 0.5,
    "odd": None,
    "hvr_cap_user": "scott",
}

GIVES = [
    # SQL                                                        datatype               value
    ("upper(name) || '-' || k", "varchar", "ZOË-7"),
    ("k + 1", "bigint", 8),
    ("k * 2", "integer", 14),
    ("price * 2", "decimal, Precision: 12, Scale: 2", 25.0),
    ("price > 10", "boolean", True),
    ("case when price > 100 then 'dear' when price > 10 then 'fair' else 'cheap' end", "varchar", "fair"),
    ("coalesce(odd, false)", "boolean", False),
    ("cast(price as varchar)", "varchar", "12.50"),
    ("cast(k as varchar)", "varchar", "7"),
    ("day", "date", "2026-02-03"),
    ("day + interval '1 day'", "date", "2026-02-04"),
    ("extract(year from at)", "integer", 2026),
    ("to_char(at, '%Y/%m')", "varchar", "2026/02"),
    ("date_trunc('hour', at)", "timestamp, Precision: 3", "2026-02-03T04:00:00"),
    ("substr(name, 1, 1) || repeat('*', 2)", "varchar", "Z**"),
    ("regexp_replace(name, '[^a-zA-Z]', '?')", "varchar", "Zo?"),
    ("encode(sha256(name), 'hex')", "varchar", ...),
    ("md5(name)", "varchar", ...),
    ("character_length(name)", "integer", 3),
    ("octet_length(name)", "integer", 4),
    ("data", "blob", "AP8="),
    ("ratio / 2", "double", 0.25),
    ("big + 1", "bigint", 2**60 + 1),
    ("null", "varchar", None),
    ("'it''s'", "varchar", "it's"),
    ("{k} + {hvr_op}", "integer", 8),
    ("hvr_op", "integer", 1),
    ("{hvr_cap_user} || '@' || {hvr_tbl_name}", "varchar", "scott@t"),
    ("name in ('a', 'Zoë')", "boolean", True),
    ("name like 'Z%'", "boolean", True),
    ("nullif(k, 7)", "integer", None),
]


def action(expression, datatype="varchar"):
    return (
        f"{{action: ColumnProperties, Name: new, Extra: true, Datatype: {datatype}, "
        f'IntegrateExpression: "sql: {expression}"}}'
    )


@pytest.mark.parametrize(("expression", "datatype", "value"), GIVES)
def test_what_an_expression_gives(expression, datatype, value, tmp_path):
    [row] = pure.rows(tmp_path, DDL, [action(expression, datatype)], ROW)
    assert value is ... or row["new"] == value


def test_hashes_are_the_worlds(tmp_path):
    actions = [
        action("encode(sha256(name), 'hex')"),
        action("md5(name)").replace("new", "other"),
    ]
    [row] = pure.rows(tmp_path, DDL, actions, ROW)
    assert row["new"] == hashlib.sha256("Zoë".encode()).hexdigest()
    assert row["other"] == hashlib.md5("Zoë".encode(), usedforsecurity=False).hexdigest()


def test_each_row_has_its_own_value_and_null_stays_null(tmp_path):
    rows = [{**ROW, "k": k, "name": name} for k, name in enumerate(("a", None, "", "d" * 5000))]
    made = pure.rows(tmp_path, DDL, [action("upper(name) || '!'")], *rows)
    assert [row["new"] for row in made] == ["A!", None, "!", "D" * 5000 + "!"]


REFUSED = [
    (
        "upper(nothing)",
        "'nothing' is neither a column nor a substitution that may stand in an IntegrateExpression; its columns are k, name,",
    ),
    ("upper(name", "sql: "),
    ("colour(name)", "colour"),
    ("(select max(k))", "a subquery is not possible"),
    ("exists (select 1)", "is not possible: an expression can use only its own row"),
    ("name similar to 'Z%'", "SIMILAR TO is not known here; use LIKE, or ~"),
    ("sum(k)", "an aggregate is not possible"),
    ("count(*)", "an aggregate is not possible"),
    (
        "row_number() over ()",
        "is not possible: an expression can use only its own row, and must give the same result each time",
    ),
    ("random()", "is not possible"),
    ("uuid()", "is not possible"),
    ("now()", "a clock"),
    ("current_date", "a clock is not possible"),
    ("name; drop table t", "sql: "),
    ("'{name}' || k", "in '{name}' braces are text; write … || {name} || …"),
    ("hvr_key_hash || name", "nor a substitution that may stand in an IntegrateExpression"),
    ("{at %Y}", "in SQL a value has no specification; use SQL's functions"),
    ("{hvr_cap_filename}", "cannot stand in an IntegrateExpression"),
]


@pytest.mark.parametrize(("expression", "expected"), REFUSED)
def test_what_an_expression_may_not(expression, expected, tmp_path):
    said = pure.refusal(tmp_path, DDL, action(expression))
    assert expected in said
    assert "$.actions[2].IntegrateExpression" in said


def test_a_type_that_cannot_become_the_columns_is_a_problem_of_the_channel(tmp_path):
    assert "boolean, which cannot become date" in pure.refusal(tmp_path, DDL, action("k > 1", "date"))


FAILS = [
    ("cast(name as integer)", "integer"),
    ("100 / (k - 9)", "integer"),
    ("1.0 / (k - 9)", "double"),  # infinite, of finite columns
    ("0.0 / (k - 9)", "double"),  # NaN
    ("exp(k * 100)", "varchar"),
    ("cast(exp(k * 10) as real)", "real"),
    ("make_array(exp(k * 100))", "'double[]'"),
]


@pytest.mark.parametrize(("expression", "datatype"), FAILS)
def test_a_row_for_which_it_fails_is_named(expression, datatype, tmp_path):
    good = [{**ROW, "k": 1, "name": "5"}] * 40
    with pytest.raises(pure.IntegratorError) as raised:
        pure.rows(tmp_path, DDL, [action(expression, datatype)], *good, {**ROW, "k": 9, "name": "x"}, *good)
    assert f"{tmp_path}/a.jsonl:41: table t, column new: sql: " in str(raised.value)


GUARDED = [("1.0 / nullif(k - 9, 0)", None), ("case when k = 9 then 0.0 else exp(k * 100) end", 0.0)]


@pytest.mark.parametrize(("expression", "value"), GUARDED)
def test_a_result_that_is_guarded_against_infinity(expression, value, tmp_path):
    [row] = pure.rows(tmp_path, DDL, [action(expression, "double")], {**ROW, "k": 9})
    assert row["new"] == value


def test_a_column_that_is_missing_in_a_record_is_an_error_unless_it_is_allowed(tmp_path):
    record = {"k": 1, "hvr_cap_user": None}
    with pytest.raises(pure.IntegratorError) as raised:
        pure.rows(tmp_path, DDL, [action("upper(name)")], record)
    assert "{name} is missing in the record" in str(raised.value)
    [row] = pure.rows(tmp_path, DDL, [action("coalesce({name %[allow_missings]}, 'gone')")], record)
    assert row["new"] == "gone"


@pytest.mark.parametrize("written", ["{hvr_tx_countdown}", "sql: hvr_tx_countdown + 0", "sql: {hvr_tx_countdown}"])
def test_the_countdown_needs_whole_files_however_it_is_written(written, tmp_path):
    said = f"{{action: ColumnProperties, Name: n, Extra: true, Datatype: integer, IntegrateExpression: '{written}'}}"
    assert reading_of(pure.tables(tmp_path, DDL, [said])).whole_files


def test_an_expression_over_no_rows_of_a_table(tmp_path):
    recipe = pure.tables(tmp_path, DDL + "create table other(k int primary key);", [action("k + 1", "bigint")])
    [message] = pure.messages(recipe, pure.hvr(tmp_path, {"hvr_tbl_name": "other", "k": 1}))
    assert b'"new":2' in message.value
