"""CoerceErrorPolicy and CoerceErrorType: values that do not fit their type in the messages, and what becomes of them.

https://fivetran.com/docs/hvr6/action-reference/tableproperties
"""

import sys

import pytest

from integrator.transform.coerce import TYPES
from tests.parts import pure

pytestmark = pytest.mark.fast

# column: its type at the source, and in the messages
COLUMNS = {
    "tiny": ("bigint", "smallint"),
    "price": ("decimal(20,4)", "decimal, Precision: 5, Scale: 2"),
    "ratio": ("double precision", "decimal, Precision: 5, Scale: 2"),
    "count": ("double precision", "integer"),
    "words": ("text", "varchar, Length: 3"),
    "code": ("text", "integer"),
    "day": ("text", "date"),
    "at": ("timestamp(6)", "timestamp, Precision: 3"),
    "old": ("timestamp(6)", "timestamp, Precision: 9"),
    "must": ("text", "varchar, Length: 9, Nullable: false"),
    "only": ("int", "integer, Nullable: false"),
    "truth": ("text", "boolean"),
    "moment": ("timestamp(3)", "date"),
    "whole": ("bigint", "double"),
}
DDL = "create table t(k int primary key, {});".format(
    ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
)
ROUNDING_ONLY = ("ratio", "count", "moment")  # such a type is a problem of the channel, unless ROUNDING is coerced
FITS = {
    "k": 1,
    "tiny": 1,
    "price": 1.25,
    "ratio": 1.25,
    "count": 3,
    "words": "abc",
    "code": "5",
    "day": "2026-02-03",
    "at": "2026-02-03T04:05:06.007",
    "old": "2026-02-03T04:05:06",
    "must": "x",
    "only": 1,
    "truth": "true",
    "moment": "2026-02-03T00:00:00",
    "whole": 9007199254740992,
}

CASES = [
    # column   value                          kind of misfit       sent instead
    ("tiny", 40_000, "NUMERIC_RANGE", 32767),
    ("tiny", -(2**40), "NUMERIC_RANGE", -32768),
    ("price", 1000.5, "NUMERIC_RANGE", 999.99),
    ("price", -1000.5, "NUMERIC_RANGE", -999.99),
    ("price", 1.999, "ROUNDING", 1.99),
    ("price", -1.999, "ROUNDING", -1.99),  # toward zero
    ("ratio", 2.345, "ROUNDING", 2.34),
    ("count", 3.9, "ROUNDING", 3),
    ("whole", 9007199254740993, "ROUNDING", 9007199254740992.0),
    ("whole", 9223372036854775807, "ROUNDING", 9223372036854775808.0),  # as a double, it is no bigint
    ("count", 1e12, "NUMERIC_RANGE", 2147483647),
    ("words", "abcd", "STRING_TRUNCATION", "abc"),
    ("words", "äöüß", "STRING_TRUNCATION", "äöü"),
    ("code", "12x", "OTHER", None),
    ("code", "99999999999", "NUMERIC_RANGE", 2147483647),
    ("code", "1.5", "ROUNDING", 1),
    ("day", "yesterday", "OTHER", None),
    ("truth", "perhaps", "OTHER", None),
    ("at", "2026-02-03T04:05:06.007999", "ROUNDING", "2026-02-03T04:05:06.007"),
    ("old", "3000-01-01T00:00:00", "DATE_RANGE", "2262-04-11T23:47:16.854775000"),
    ("must", None, "NULLS", ""),
    ("only", None, "NULLS", 0),
    ("moment", "2026-02-03T04:05:06", "ROUNDING", "2026-02-03"),
]


def retyped(column):
    return f"{{action: ColumnProperties, Name: {column}, Datatype: {COLUMNS[column][1]}}}"


def made(directory, column, value, said=None):
    actions = [retyped(column), *([f"{{action: TableProperties, {said}}}"] if said else [])]
    recipe = pure.tables(directory, DDL, actions)
    path = pure.hvr(directory, FITS, {**FITS, "k": 2, column: value}, {**FITS, "k": 3})
    _, [note] = pure.fragments(recipe, path)
    return pure.read(recipe, path), note


@pytest.mark.parametrize(("column", "value", "misfit", "instead"), CASES)
def test_a_misfit_is_made_to_fit_counted_and_written_down(column, value, misfit, instead, tmp_path):
    rows, note = made(tmp_path, column, value, "CoerceErrorPolicy: WARNING_FILE")
    assert [row["k"] for row in rows] == [1, 2, 3]
    assert rows[1][column] == instead
    assert rows[1] == {**rows[0], "k": 2, column: instead}
    assert rows[2] == {**rows[0], "k": 3}
    assert note.warnings == {f"{misfit} of t.{column}": 1}
    [detail] = note.details
    assert (detail["line"], detail["key"], detail["column"], detail["misfit"]) == (2, "k=2", column, misfit)
    assert detail["file"] == f"{tmp_path}/a.jsonl"
    assert (detail["value"] is None) == (value is None)


@pytest.mark.parametrize(("column", "value", "misfit", "instead"), CASES)
def test_the_policy_says_how_loud(column, value, misfit, instead, tmp_path):
    rows, note = made(tmp_path, column, value, f"CoerceErrorPolicy: SILENT, CoerceErrorType: {misfit}, table: t")
    assert (rows[1][column], note.warnings, note.details) == (instead, {}, [])
    _, note = made(tmp_path, column, value, "CoerceErrorPolicy: WARNING")
    assert (note.warnings, note.details) == ({f"{misfit} of t.{column}": 1}, [])


@pytest.mark.parametrize(("column", "value", "misfit"), [case[:3] for case in CASES])
def test_a_misfit_that_the_policy_is_not_for_is_fatal(column, value, misfit, tmp_path):
    others = [kind for kind in TYPES if kind != misfit]
    with pytest.raises(pure.IntegratorError) as raised:
        made(tmp_path, column, value, f"CoerceErrorPolicy: SILENT, CoerceErrorType: '{', '.join(others)}'")
    if misfit == "ROUNDING" and column in ROUNDING_ONLY:
        assert "cannot become" in str(raised.value)
    else:
        assert f"{tmp_path}/a.jsonl:2: table t, column {column}" in str(raised.value)


@pytest.mark.parametrize(("column", "value"), [case[:2] for case in CASES])
def test_without_a_policy_a_misfit_is_fatal(column, value, tmp_path):
    with pytest.raises(pure.IntegratorError) as raised:
        made(tmp_path, column, value)
    place = "channel.yaml:" if column in ("ratio", "moment") else f"a.jsonl:2: table t, column {column}"
    assert f"{tmp_path}/{place}" in str(raised.value)


ALONE = [
    # a text that is a number in an odd way, its type in the messages, and what it becomes whatever stands beside it
    ("1e3", "decimal, Precision: 10, Scale: 2", 1000.0),
    ("0x10", "integer", None),
    (" 7 ", "integer", 7),
    ("0.1234567890123456789012345", "decimal, Precision: 38, Scale: 30", 0.1234567890123456789012345),
    ("1e400", "decimal, Precision: 10, Scale: 2", 99999999.99),
    ("-1e400", "bigint", -(2**63)),
    ("1e-400", "integer", 0),
    ("9" * 60, "decimal, Precision: 38, Scale: 0", int("9" * 38)),
]


@pytest.mark.parametrize(("text", "kind", "becomes"), ALONE)
@pytest.mark.parametrize("beside", [[], ["zz"], ["5", "zz", "1.23456"]])
def test_a_value_becomes_the_same_whatever_stands_beside_it(text, kind, becomes, beside, tmp_path):
    actions = [
        f"{{action: ColumnProperties, Name: v, Datatype: {kind}}}",
        "{action: TableProperties, CoerceErrorPolicy: SILENT}",
    ]
    rows = [{"k": k, "v": v} for k, v in enumerate([text, *beside])]
    assert pure.rows(tmp_path, "create table t(k int primary key, v text);", actions, *rows)[0]["v"] == becomes


WIDE = [
    # type at the source, value, type in the messages, misfit, what it becomes
    ("decimal(38,0)", 10**37, "decimal, Precision: 38, Scale: 2", "NUMERIC_RANGE", 10**36),
    ("decimal(38,30)", "0.123456789", "decimal, Precision: 10, Scale: 2", "ROUNDING", 0.12),
    ("double precision", 1e-22, "decimal, Precision: 38, Scale: 25", "", 1e-22),
    ("double precision", 1e-30, "decimal, Precision: 38, Scale: 25", "ROUNDING", 0.0),
    ("double precision", 1e300, "real", "NUMERIC_RANGE", 3.4028235e38),
    ("double precision", 0.1, "real", "ROUNDING", 0.1),
    ("decimal(60,0)", 10**45, "real", "NUMERIC_RANGE", 3.4028235e38),
    ("decimal(76,0)", 10**75, "decimal, Precision: 70, Scale: 0", "NUMERIC_RANGE", float("9" * 70)),
]


@pytest.mark.parametrize(("source", "value", "kind", "misfit", "becomes"), WIDE)
def test_numbers_of_every_width(source, value, kind, misfit, becomes, tmp_path):
    actions = [
        f"{{action: ColumnProperties, Name: v, Datatype: {kind}}}",
        "{action: TableProperties, CoerceErrorPolicy: WARNING}",
    ]
    recipe = pure.tables(tmp_path, f"create table t(k int primary key, v {source});", actions)
    path = pure.hvr(tmp_path, {"k": 1, "v": value})
    assert pure.read(recipe, path)[0]["v"] == pytest.approx(becomes, rel=1e-7)
    assert list(pure.fragments(recipe, path)[1][0].warnings) == ([f"{misfit} of t.v"] if misfit else [])


LISTS = [
    # type at the source, value, type in the messages, misfits, what it becomes
    ("bytea", "ff41e2", "text", ["ENCODING"], "?A?"),
    ("bytea", "41c3a9ff", "varchar, Length: 2", ["ENCODING", "STRING_TRUNCATION"], "Aé"),
    ("int[]", [1, 70_000, None], "'smallint[]'", ["NUMERIC_RANGE"], [1, 32767, None]),
    ("int[]", None, "'smallint[]'", [], None),
    ("text[]", ["1", "x", "y", "2.5"], "'integer[]'", ["OTHER", "ROUNDING"], [1, None, None, 2]),
    ("text[]", ["abc", "d"], "'varchar[]', Length: 2", ["STRING_TRUNCATION"], ["ab", "d"]),
    ("bytea[]", ["ff41", "42"], "'text[]'", ["ENCODING"], ["?A", "B"]),
    ("double precision[]", [1e39, 0.5], "'real[]'", ["NUMERIC_RANGE"], [3.4028235e38, 0.5]),
    ("int[]", [10, 20], "varchar, Length: 4", ["STRING_TRUNCATION"], "[10,"),
    ("text", "1e39", "real", ["NUMERIC_RANGE"], 3.4028235e38),
    ("text", "-1e400", "double", ["NUMERIC_RANGE"], -sys.float_info.max),
    ("text", "high", "double", ["OTHER"], None),
]
"""Bytes, lists, and texts that are numbers."""
NEEDS_A_POLICY = ("'real[]'",)


@pytest.mark.parametrize(("source", "value", "kind", "misfits", "becomes"), LISTS)
@pytest.mark.parametrize("policy", ["SILENT", "WARNING", "FATAL"])
def test_items_of_lists_and_bytes_are_made_to_fit(source, value, kind, misfits, becomes, policy, tmp_path):
    actions = [
        f"{{action: ColumnProperties, Name: v, Datatype: {kind}}}",
        f"{{action: TableProperties, CoerceErrorPolicy: {policy}}}",
    ]
    ddl = f"create table t(k int primary key, v {source});"
    if policy == "FATAL" and kind in NEEDS_A_POLICY:
        assert "cannot become" in pure.refusal(tmp_path, ddl, *actions)
        return
    recipe = pure.tables(tmp_path, ddl, actions)
    path = pure.hvr(tmp_path, {"k": 1, "v": None}, {"k": 2, "v": value}, {"k": 3, "v": None})
    if policy == "FATAL" and misfits:
        with pytest.raises(pure.IntegratorError) as raised:
            pure.read(recipe, path)
        assert f"{path}:2: table t, column v: " in str(raised.value)
        return
    assert [row["v"] for row in pure.read(recipe, path)] == [None, becomes, None]
    expected = {f"{misfit} of t.v": 1 for misfit in misfits} if policy == "WARNING" else {}
    assert pure.fragments(recipe, path)[1][0].warnings == expected


def test_a_misfit_in_a_list_is_refused_where_the_policy_is_not_for_it(tmp_path):
    actions = [
        "{action: ColumnProperties, Name: v, Datatype: 'smallint[]'}",
        "{action: TableProperties, CoerceErrorPolicy: SILENT, CoerceErrorType: NULLS}",
    ]
    recipe = pure.tables(tmp_path, "create table t(k int primary key, v int[]);", actions)
    path = pure.hvr(tmp_path, {"k": 1, "v": None}, {"k": 2, "v": [1]}, {"k": 3, "v": [2, 70_000]})
    with pytest.raises(pure.IntegratorError) as raised:
        pure.read(recipe, path)
    text = "a.jsonl:3: table t, column v: an item of the list: 70000 cannot become smallint (NUMERIC_RANGE)"
    assert text in str(raised.value)


TRUTHS = [("int", 1, True, 0), ("int", 0, False, 0), ("int", 5, None, 1), ("double precision", 0.1, None, 1)]


@pytest.mark.parametrize(("source", "value", "becomes", "misfits"), TRUTHS)
def test_only_0_and_1_are_false_and_true(source, value, becomes, misfits, tmp_path):
    actions = [
        "{action: ColumnProperties, Name: v, Datatype: boolean}",
        "{action: TableProperties, CoerceErrorPolicy: WARNING}",
    ]
    recipe = pure.tables(tmp_path, f"create table t(k int primary key, v {source});", actions)
    path = pure.hvr(tmp_path, {"k": 1, "v": value})
    assert pure.read(recipe, path)[0]["v"] is becomes
    assert pure.fragments(recipe, path)[1][0].warnings == ({"OTHER of t.v": 1} if misfits else {})


def test_a_number_beyond_a_floats_range_is_an_error(tmp_path):
    recipe = pure.tables(
        tmp_path, "create table t(k int primary key, v text);", ["{action: ColumnProperties, Name: v, Datatype: real}"]
    )
    with pytest.raises(pure.IntegratorError) as raised:
        pure.read(recipe, pure.hvr(tmp_path, {"k": 1, "v": "1e39"}))
    assert "a.jsonl:1: table t, column v: '1e39' cannot become real: it is beyond its range" in str(raised.value)


def test_the_time_of_a_moment_is_no_rounding(tmp_path):
    actions = [
        "{action: ColumnProperties, Name: v, Datatype: time}",
        "{action: TableProperties, CoerceErrorPolicy: SILENT}",
    ]
    with pytest.raises(pure.IntegratorError) as raised:
        pure.tables(tmp_path, "create table t(k int primary key, v timestamp);", actions)
    assert "cannot become time" in str(raised.value)


ZEROS = [
    ("decimal(10,2)", 0.0),
    ("decimal(40,2)", 0.0),
    ("date", "1970-01-01"),
    ("timestamp(3)", "1970-01-01T00:00:00"),
    ("time(3)", "00:00:00"),
    ("uuid", "00000000-0000-0000-0000-000000000000"),
    ("boolean", False),
    ("bytea", ""),
    ("int[]", []),
    ("interval", "P0Y0M0DT0H0M0S"),
]


@pytest.mark.parametrize(("kind", "zero"), ZEROS)
def test_what_stands_for_null_where_that_may_not_be(kind, zero, tmp_path):
    actions = ["{action: TableProperties, CoerceErrorPolicy: WARNING}"]
    rows = pure.rows(tmp_path, f"create table t(k int primary key, v {kind} not null);", actions, {"k": 1, "v": None})
    assert rows == [{"k": 1, "v": zero}]
    absent = ["{action: ColumnProperties, group: SOURCE, Name: v, Absent: true}"]
    assert pure.rows(tmp_path, f"create table t(k int primary key, v {kind} not null);", absent, {"k": 1}) == rows


ENCODED = [
    ("US-ASCII", "Zoë €", "Zo? ?"),
    ("ISO-8859-1", "Zoë €", "Zoë ?"),
    ("WINDOWS-1252", "Zoë €", "Zoë €"),
    ("ISO-8859-9", "ğĞ я", "ğĞ ?"),
]


@pytest.mark.parametrize(("encoding", "text", "instead"), ENCODED)
def test_a_character_that_an_encoding_lacks_is_a_question_mark(encoding, text, instead, tmp_path):
    actions = (
        f"  - {{action: FileFormat, Csv: true, Encoding: {encoding}}}\n"
        "  - {action: TableProperties, CoerceErrorPolicy: WARNING, CoerceErrorType: ENCODING}\n"
    )
    recipe = pure.recipe(tmp_path, "create table t(k int primary key, v text);", actions)
    path = pure.hvr(tmp_path, {"k": 1, "v": text}, {"k": 2, "v": "plain"})
    first, second = (message.value.decode(encoding) for message in pure.messages(recipe, path))
    assert (first, second) == (f"1,{instead}\n", "2,plain\n")
    _, [note] = pure.fragments(recipe, path)
    assert note.warnings == ({"ENCODING of t.v": 1} if text != instead else {})


def test_the_file_of_warnings_is_bounded(tmp_path):
    recipe = pure.tables(tmp_path, DDL, [retyped("tiny"), "{action: TableProperties, CoerceErrorPolicy: WARNING_FILE}"])
    path = pure.hvr(tmp_path, *({**FITS, "k": k, "tiny": 10**9} for k in range(1500)))
    _, [note] = pure.fragments(recipe, path)
    assert note.warnings == {"NUMERIC_RANGE of t.tiny": 1500}
    assert len(note.details) == 1000
