"""Every substitution: what it gives, beside what is written. Columns of `t` are k = 7, v = 'x', at = 2026-02-03 04:05:06.789."""

import pytest

from integrator.errors import ConfigurationError
from tests.parts import pure

DDL = "create table shop.T(k int, v text, at timestamptz(3), primary key(k, v));"
RECORD = {
    "hvr_tx_seq": "2a",
    "hvr_tx_countdown": 3,
    "hvr_cap_tstamp": "2026-07-01T10:20:30.123456Z",
    "hvr_cap_user": "scott",
    "k": 7,
    "v": "x",
    "at": "2026-02-03T04:05:06.789Z",
}
SEQUENCE = f"{0x2A:020X}|{0:016X}|{16**7 - 3:07X}"

GIVES = [
    ("{hvr_op}", "integer", 1),
    ("<hvr_op>", "integer", 1),
    ("{hvr_op_str}", "varchar", "I"),
    ("{hvr_op_str 1>new;2>old}", "varchar", "new"),
    ("{hvr_op_str 2>old}", "varchar", "1"),
    ("{hvr_integ_seq}", "varchar", SEQUENCE),
    ("{hvr_tx_seq}", "varchar", f"{0x2A:020X}"),
    ("{hvr_tx_countdown}", "integer", 3),
    ("{hvr_cap_tstamp}", "timestamptz", 1782901230123456),
    ("{hvr_cap_tstamp}", "varchar", "2026-07-01 12:20:30"),
    ("{hvr_cap_tstamp %[utc] %Y-%m-%dT%H:%M:%S}", "varchar", "2026-07-01T10:20:30"),
    ("{hvr_cap_tstamp %[localtime]%H:%M:%S[.SSS]}", "varchar", "12:20:30.123"),
    ("{hvr_integ_tstamp %[utc] %H:%M}", "varchar", "12:00"),
    ("{hvr_cap_user}", "varchar", "scott"),
    ("{hvr_cap_loc}", "varchar", "src"),
    ("{hvr_chn_name}", "varchar", "pure"),
    ("{hvr_tbl_name}", "varchar", "t"),
    ("{hvr_tbl_base_name}", "varchar", "T"),
    ("{hvr_schema}", "varchar", "shop"),
    ("{hvr_key_names ,}", "varchar", "k,v"),
    ("{{hvr_key_names |}}", "varchar", "7|x"),
    ("{k}", "bigint", 7),
    ("{k}", "varchar", "7"),
    ("{at %[utc] %j %y %U}", "varchar", "034 26 05"),
    ("{hvr_tbl_name}-{k}:{v}", "varchar", "t-7:x"),
    ('{"k": {k}}', "varchar", '{"k": 7}'),
    ("null", "integer", None),
    ("5", "integer", 5),
    ("'it''s'", "varchar", "it's"),
    ("plain text", "varchar", "plain text"),
]


@pytest.mark.parametrize(("written", "datatype", "given"), GIVES)
def test_substitutions(written, datatype, given, tmp_path):
    action = f"  - {{action: ColumnProperties, Name: new, Extra: true, Datatype: {datatype}, IntegrateExpression: "
    recipe = pure.recipe(tmp_path, DDL, action + repr(written).replace("\\'", "''").replace("\"it''s\"", "x") + "}")
    [payload] = pure.payloads(recipe, pure.hvr(tmp_path, RECORD))
    assert payload["new"] == given


def test_missing_values_in_expressions_are_zero_or_empty_on_request(tmp_path):
    action = "  - {action: ColumnProperties, Name: new, Extra: true, Datatype: varchar, IntegrateExpression: "
    recipe = pure.recipe(tmp_path, DDL, action + '"{k}/{at %[allow_missings]}"}')
    record = {"k": 7, "v": "x"}
    assert pure.payloads(recipe, pure.hvr(tmp_path, record))[0]["new"] == "7/1970-01-01 01:00:00"


REFUSED = [
    ("hvr_op", "{hvr_op}", "a column named hvr_op cannot take {hvr_op}"),
    ("new", "{hvr_slice_num}", "{hvr_slice_num} belongs to refresh"),
    ("new", "{hvr_var_min}", "is a variable that this run does not have; give it: --variable NAME=VALUE"),
    ("new", "{hvr_unknown}", "{hvr_unknown} is not known here; accepted are hvr_op,"),
    ("new", "{nothing}", "neither a substitution nor a column of t, which has k, v, at"),
    ("new", "{{hvr_op}}", "double braces go with hvr_key_names and hvr_col_name"),
    ("new", "{hvr_op_str 1=x}", "is no mapping"),
]


@pytest.mark.parametrize(("name", "written", "told"), REFUSED)
def test_what_cannot_be_is_a_problem_of_the_channel(name, written, told, tmp_path):
    action = f'  - {{action: ColumnProperties, Name: {name}, Extra: true, Datatype: varchar, IntegrateExpression: "{written}"}}'
    with pytest.raises(ConfigurationError) as raised:
        pure.recipe(tmp_path, DDL, action)
    assert told in str(raised.value)
    assert "$.actions[1].IntegrateExpression" in str(raised.value)
