"""CoerceErrorPolicy and CoerceErrorType: values that do not fit their type in the messages, and what becomes of them.

https://fivetran.com/docs/hvr6/action-reference/tableproperties
"""

import pytest

from integrator.properties.coerce import TYPES
from tests.parts import pure

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
