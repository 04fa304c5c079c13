"""TableProperties: a case a parameter, what is said and what is sent.

https://fivetran.com/docs/hvr6/action-reference/tableproperties
"""

import pytest

from integrator.errors import ConfigurationError
from tests.parts import pure

pytestmark = pytest.mark.fast

DDL = "create table t(k int primary key, code varchar(9), note text, at timestamp(3), day date, n int, data bytea);"
ROW = {
    "k": 1,
    "code": "A1  ",
    "note": "a\x00€b ",
    "at": "2026-02-03T00:00:00",
    "day": "2026-02-03",
    "n": 5,
    "data": "cafe",
}
ALL = {
    "k": 1,
    "code": "A1  ",
    "note": "a\x00€b ",
    "at": "2026-02-03T00:00:00",
    "day": "2026-02-03",
    "n": 5,
    "data": "yv4=",
}
LATE = {**ROW, "at": "2026-02-03T04:05:06"}
BARE = {"k": 1}
TEXT = "{action: ColumnProperties, Name: at, Datatype: varchar}"

SENT = [
    # what is said beside action: TableProperties     a record, and what is otherwise in the message
    ("TrimWhiteSpace: true", ROW, {"code": "A1"}),  # of varchar and char; `note` is text
    ("TrimWhiteSpace: false", ROW, {}),
    ("TrimTime: 'YES'", LATE, {}),  # and see below
    (r"CharacterMapping: '\x00>;\u20ac>EUR'", ROW, {"note": "aEURb "}),
    (r"CharacterMapping: '\x20>_'", ROW, {"code": "A1__", "note": "a\x00€b_"}),
    (r"CharacterMapping: 'A>B;1>2'", ROW, {"code": "B2  "}),
    (r"CharacterMapping: 'A>1;1>A'", ROW, {"code": "1A  "}),  # all at once, not one after the other
    (r"CharacterMapping: '€>\\\n\t'", ROW, {"note": "a\x00\\\n\tb "}),
    ("MapBinary: HEX", ROW, {"data": "cafe"}),
    ("MapBinary: BASE64", ROW, {}),
    # of the other kinds nothing is invented: 0 and empty text could be true
    ("MissingRepresentationString: '?'", BARE, {"code": "?", "note": "?"}),
    ("MissingRepresentationNumeric: '-1'", BARE, {"n": -1}),
    ("MissingRepresentationDate: '1970-01-01'", BARE, {"at": "1970-01-01T00:00:00", "day": "1970-01-01"}),
    ("MissingRepresentationString: '?'", {**ROW, "note": None}, {"note": None}),  # null is not missing
]


@pytest.mark.parametrize(("said", "record", "other"), SENT)
def test_what_a_parameter_does(said, record, other, tmp_path):
    [row] = pure.rows(tmp_path, DDL, [f"{{action: TableProperties, {said}}}"], record)
    if record is BARE:
        assert row == {"k": 1, **other}
    else:
        assert row == {**ALL, **other}


TIMES = [
    # TrimTime    the column's type      midnight,              and later
    ("NO", None, "2026-02-03T00:00:00", "2026-02-03T04:05:06"),
    ("YES", None, "2026-02-03T00:00:00", "2026-02-03T00:00:00"),
    ("MIDNIGHT", None, "2026-02-03T00:00:00", "2026-02-03T04:05:06"),
    ("NO", "varchar", "2026-02-03 00:00:00", "2026-02-03 04:05:06"),
    ("MIDNIGHT", "varchar", "2026-02-03", "2026-02-03 04:05:06"),
]


@pytest.mark.parametrize(("trim", "datatype", "midnight", "later"), TIMES)
def test_trim_time(trim, datatype, midnight, later, tmp_path):
    actions = [f"{{action: TableProperties, TrimTime: '{trim}'}}", *([TEXT] if datatype else [])]
    assert [row["at"] for row in pure.rows(tmp_path, DDL, actions, ROW, LATE)] == [midnight, later]


def test_names_of_the_table(tmp_path):
    actions = [
        "{action: TableProperties, group: KAFKA, BaseName: T_OUT, Schema: SALES}",
        "{action: TableProperties, group: SOURCE, BaseName: T_IN}",
        "{action: Integrate, Topic: '{hvr_schema}.{hvr_tbl_base_name}.{hvr_tbl_name}'}",
    ]
    recipe = pure.tables(tmp_path, DDL, actions)
    [message] = pure.messages(recipe, pure.hvr(tmp_path, {"hvr_tbl_name": "T_IN", **ROW}))
    assert message.topic == "SALES.T_OUT.t"


@pytest.mark.parametrize("group", ["'*'", "SOURCE", "KAFKA", "kaf"])
def test_the_rows_of_an_absent_table_are_counted(group, tmp_path):
    ddl = DDL + "create table other(k int primary key);"
    recipe = pure.tables(tmp_path, ddl, [f"{{action: TableProperties, table: t, group: {group}, Absent: true}}"])
    path = pure.hvr(tmp_path, {"hvr_tbl_name": "other", "k": 1}, {"hvr_tbl_name": "t", **ROW})
    sent, [note] = pure.fragments(recipe, path)
    assert (len(sent), note.not_sent) == (1, {"rows of absent tables": 1})


DISTRIBUTION = [
    # what is said                                                             the columns that are hashed, of a, b, c
    ("", ("a",)),
    ("DistributionKeyLimit: 2", ("a", "b")),
    ("DistributionKeyLimit: 0", ("a", "b", "c")),
    ("DistributionKeyAvoidPattern: 'a*'", ("b",)),
    ("DistributionKeyAvoidPattern: 'a|b'", ("c",)),
    ("DistributionKeyLimit: 2, DistributionKeyAvoidPattern: 'a|b|c'", ("a", "b")),
]


@pytest.mark.parametrize(("said", "hashed"), DISTRIBUTION)
def test_distribution_key(said, hashed, tmp_path):
    ddl = "create table t(a int, b int, c int, v text, primary key(a, b, c));"
    recipe = pure.tables(tmp_path, ddl, [f"{{action: TableProperties, {said}}}"] if said else [])
    assert recipe.tables[0].distribution_key == hashed


@pytest.mark.parametrize(
    ("said", "sent"), [("MissingRepresentationNumeric: '-1'", {"n": "-1"}), ("MissingRepresentationString: x", {})]
)
def test_a_number_without_precision_is_a_number_where_it_is_missing(said, sent, tmp_path):
    ddl = "create table t(k int primary key, n numeric);"
    [row] = pure.rows(tmp_path, ddl, [f"{{action: TableProperties, {said}}}"], {"k": 1})
    assert row == {"k": 1} | sent
    with pytest.raises(ConfigurationError, match="'many' is no number, which 'n' is"):
        pure.tables(tmp_path, ddl, ["{action: TableProperties, MissingRepresentationNumeric: many}"])


def test_a_number_of_more_digits_than_arrow_holds_does_not_wrap_around(tmp_path):
    """Arrow's cast of text makes 0 of it."""
    with pytest.raises(ConfigurationError, match=r"'10+' is no decimal"):
        pure.tables(
            tmp_path,
            "create table t(k int primary key, n numeric(10, 2));",
            [f"{{action: TableProperties, MissingRepresentationNumeric: '1{'0' * 200}'}}"],
        )


PROBLEMS = [
    ("CharacterMapping: 'ab>c'", "'ab>c' is no rule; write CHARACTER>TEXT;CHARACTER>TEXT"),
    ("CharacterMapping: 'abc'", "'abc' is no rule"),
    (r"CharacterMapping: '\ud800>c'", r"\ud800 is no character; write \u and 4 hex digits of one"),
    (r"CharacterMapping: '\u>c'", r"is no character; write \u and 4 hex digits of one"),
    (r"CharacterMapping: '\q>c'", r"\q is no escape; accepted are"),
    ("MissingRepresentationNumeric: many", "'many' is no integer, which 'n' is"),
    ("MissingRepresentationDate: never", "'never' is no timestamp(3), which 'at' is"),
    (
        "CoerceErrorPolicy: WARNING, CoerceErrorType: 'NUMBERS'",
        "'NUMBERS' is no such misfit; accepted are NUMERIC_RANGE,",
    ),
    ("CoerceErrorType: ROUNDING", "has no effect while CoerceErrorPolicy is FATAL"),
    ("DistributionKeyLimit: -1", "a number of 0 at least"),
    ("TrimTime: SOMETIMES", "'SOMETIMES' is not one of 'YES', 'NO' or 'MIDNIGHT'"),
    ("MissingRepresentationNumeric: -1", 'text is wanted here: write "-1", in quotes'),
    (
        "TrimWhitespace: true",
        "this key is not known here; do you mean TrimWhiteSpace?",
    ),
]


@pytest.mark.parametrize(("said", "expected"), PROBLEMS)
def test_what_cannot_be_is_a_problem_of_the_channel(said, expected, tmp_path):
    assert expected in pure.refusal(tmp_path, DDL, f"{{action: TableProperties, {said}}}")


def test_bytes_are_mapped_where_there_is_text_only(tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        pure.recipe(tmp_path, DDL, "  - {action: TableProperties, MapBinary: HEX}")
    assert "belongs to plain JSON and Csv; the format is SCHEMA_PAYLOAD" in str(raised.value)


def test_bytes_in_csv_are_copied_unless_they_are_mapped(tmp_path):
    ddl = "create table t(k int primary key, data bytea);"
    csv = "  - {action: FileFormat, Csv: true}\n"
    record = {"k": 1, "data": "4142"}
    for how, written in (("COPY", b"AB"), ("HEX", b"4142"), ("BASE64", b"QUI=")):
        recipe = pure.recipe(tmp_path, ddl, f"{csv}  - {{action: TableProperties, MapBinary: {how}}}\n")
        [message] = pure.messages(recipe, pure.hvr(tmp_path, record))
        assert message.value == b"1," + written + b"\n"
