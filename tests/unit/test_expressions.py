"""Every substitution: what it gives, beside what is written. Columns of `t` are k = 7, v = 'x', at = 2026-02-03 04:05:06.789."""

import json

import pytest

from integrator.channel.load import RunOptions
from integrator.contracts.fragments import Checkpoint
from integrator.errors import ConfigurationError
from integrator.expressions.parse import parse
from integrator.expressions.substitutions import SUBSTITUTIONS, ExpressionError
from tests.parts import pure

DDL = 'create table shop."T"(k int, v text, at timestamptz(3), primary key(k, v));'
RECORD = {
    "hvr_tx_seq": "2a",
    "hvr_tx_countdown": 3,
    "hvr_cap_tstamp": "2026-07-01T10:20:30.123456Z",
    "hvr_cap_user": "scott",
    "k": 7,
    "v": "x",
    "at": "2026-02-03T04:05:06.789Z",
}
NOW = int(pure.NOW.timestamp())
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
    ("{hvr_integ_key}", "varchar", f"{NOW:08X}01000000"),
    ("{hvr_integ_tstamp}", "varchar", "2026-11-20 13:00:00.000"),
    ("{hvr_row_uuid}", "varchar", ...),
    ("{hvr_missing}", "varchar", None),
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
    ("{at %[utc] %S.SSS %SSSS}", "varchar", "06.789 06789"),
    ('{"a": {"b": {k}}, "c": true}', "varchar", '{"a": {"b": 7}, "c": true}'),
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
    assert given is ... or payload["new"] == given


STANDS_IN = {
    # substitution           where it may stand: IntegrateExpression, CaptureExpression, MessageKey and Headers, Topic
    "hvr_op": "IE MK MH",
    "hvr_op_str": "IE MK MH",
    "hvr_integ_seq": "IE MK MH",
    "hvr_integ_key": "IE MK MH",
    "hvr_tx_seq": "IE MK MH",
    "hvr_tx_countdown": "IE MK MH",
    "hvr_tx_scn": "IE MK MH",
    "hvr_cap_tstamp": "IE CE MK MH",
    "hvr_integ_tstamp": "IE MK MH",
    "hvr_cap_loc": "IE CE MK MH T",
    "hvr_cap_user": "IE CE MK MH",
    "hvr_cap_topic": "IE MK MH",
    "hvr_cap_partition": "IE MK MH",
    "hvr_cap_offset": "IE MK MH",
    "hvr_cap_record_key": "IE MK MH",
    "hvr_cap_header": "IE MK MH",
    "hvr_cap_record_tstamp": "IE MK MH",
    "hvr_chn_name": "IE MK MH T",
    "hvr_tbl_name": "IE MK MH T",
    "hvr_tbl_base_name": "IE MK MH T",
    "hvr_schema": "IE MK MH T",
    "hvr_key_names": "IE MK MH",
    "hvr_key_hash": "MK MH",
    "hvr_cap_filename": "MK MH",
    "hvr_cap_subdirs": "MK MH",
    "hvr_row_uuid": "IE MK MH",
    "hvr_missing": "IE MK MH",
    "hvr_slice_num": "IE CE MK MH",
    "hvr_slice_total": "IE CE MK MH",
    "hvr_slice_value": "IE CE MK MH",
    "k": "IE CE MK MH T",
}
CONTEXTS = {
    "IE": "IntegrateExpression",
    "CE": "CaptureExpression",
    "MK": "MessageKey",
    "MH": "MessageHeaders",
    "T": "topic",
}


@pytest.mark.parametrize("name", STANDS_IN)
def test_where_a_substitution_may_stand(name, tmp_path):
    table = pure.recipe(tmp_path, DDL).tables[0].table

    def stands(context):
        try:
            return bool(parse(f"{{{name}}}", table, context))
        except ExpressionError:
            return False

    assert [short for short, context in CONTEXTS.items() if stands(context)] == STANDS_IN[name].split()


def test_every_substitution_is_in_the_table_above():
    assert set(SUBSTITUTIONS) == set(STANDS_IN) - {"k"}


@pytest.mark.parametrize(("scn", "text"), [(1, "1"), (0, "0"), (281474976710655, "281474976710655")])
def test_tx_scn_is_oracles(scn, text, tmp_path):
    action = (
        "{action: ColumnProperties, Name: scn, Extra: true, Datatype: varchar, IntegrateExpression: '{hvr_tx_scn}'}"
    )
    record = {**RECORD, "hvr_tx_seq": f"{scn * 65536 + 77:x}"}
    [row] = pure.rows(tmp_path, DDL, [action], record)
    assert row["scn"] == text


def test_integ_key_grows_over_rows_files_and_cycles(tmp_path):
    action = (
        "{action: ColumnProperties, Name: n, Extra: true, Datatype: varchar, IntegrateExpression: '{hvr_integ_key}'}"
    )
    recipe = pure.tables(tmp_path, DDL, [action])
    records = [{**RECORD, "k": k, "hvr_tx_seq": f"{k}"} for k in range(1, 7)]
    files = [pure.hvr(tmp_path, *records[3 * n : 3 * n + 3], name=f"{n}.jsonl") for n in range(2)]
    keys = [row["n"] for row in pure.read(recipe, *files)]
    assert keys == sorted(set(keys))
    assert [len(key) for key in keys] == [16] * 6
    assert keys[:2] == [f"{NOW:08X}0100000{n}" for n in (0, 1)]  # the first file's rows
    later = Checkpoint(integ_key=NOW + 1000)  # the first second that earlier cycles left
    sent, _ = pure.fragments(recipe, files[0], checkpoint=later)
    again = [json.loads(message.value)["n"] for message in pure.unpacked(pure.bundled(recipe, sent))]
    assert min(again) > f"{NOW + 1000:08X}"


def test_file_and_directories_are_known_to_keys_and_headers(tmp_path):
    actions = ["{action: Integrate, MessageHeaders: 'file={hvr_cap_filename};in={hvr_cap_subdirs};v={v}'}"]
    recipe = pure.tables(tmp_path, DDL, actions)
    (tmp_path / "in" / "a" / "b").mkdir(parents=True)
    path = pure.hvr(tmp_path / "in" / "a" / "b", RECORD, name="x.jsonl")
    [message] = pure.messages(recipe, path)
    assert message.headers == {"file": b"x.jsonl", "in": b"a/b", "v": b"x"}


VARIABLES = [
    ("{action: ColumnProperties, Name: v, IntegrateExpression: 'for {hvr_var_who}'}", "for us"),
    ("{action: ColumnProperties, Name: v, CaptureExpression: '{hvr_var_who}-{v}'}", "us-x"),
    ("{action: Restrict, CaptureCondition: \"{v} <> '{hvr_var_who}'\"}", "x"),
    ("{action: ColumnProperties, Name: v, IntegrateExpression: a, Context: night}", "a"),
    ("{action: ColumnProperties, Name: v, IntegrateExpression: a, Context: '!night'}", "x"),
    ("{action: ColumnProperties, Name: v, IntegrateExpression: a, Context: day}", "x"),
]


@pytest.mark.parametrize(("action", "v"), VARIABLES)
def test_variables_and_contexts_of_a_run(action, v, tmp_path):
    run = RunOptions(frozenset({"night"}), (("who", "us"),))
    others = [  # a run may say only what a channel asks for
        "{action: ColumnProperties, Name: k, IntegrateExpression: '{k}', Context: night}",
        "{action: ColumnProperties, Name: x, Extra: true, Datatype: text, IntegrateExpression: '{hvr_var_who}'}",
    ]
    [row] = pure.rows(tmp_path, DDL, [action, *others], RECORD, run=run)
    assert row["v"] == v


def test_what_a_run_says_and_no_action_asks_for_is_a_mistake(tmp_path):
    action = "{action: ColumnProperties, Name: v, IntegrateExpression: '{hvr_var_who}', Context: '!masked'}"
    run = RunOptions(frozenset({"maskd"}), (("who", "us"), ("whom", "them")))
    with pytest.raises(ConfigurationError) as raised:
        pure.tables(tmp_path, DDL, [action], run=run)
    assert "no action uses the context 'maskd'; do you mean masked?" in str(raised.value)
    assert "no action uses the variable 'whom'; do you mean who?" in str(raised.value)


def test_a_variable_in_quotes_in_sql_is_its_value_whatever_that_is(tmp_path):
    condition = "{action: Restrict, CaptureCondition: \"{v} <> '{hvr_var_who}'\"}"
    column = "{action: ColumnProperties, Name: v, IntegrateExpression: \"sql: '{hvr_var_who}'\"}"
    run = RunOptions(variables=(("who", "x' or '1'='1"),))
    assert pure.rows(tmp_path, DDL, [condition, column], RECORD, run=run)[0]["v"] == "x' or '1'='1"


def test_time_stamps_in_keys_and_headers_are_digits(tmp_path):
    said = "{action: Integrate, MessageKey: '{hvr_integ_tstamp}', MessageHeaders: 'c={hvr_cap_tstamp};a={at}'}"
    [message] = pure.messages(pure.tables(tmp_path, DDL, [said]), pure.hvr(tmp_path, RECORD))
    assert message.key == b"20261120120000000"
    assert message.headers == {"c": b"20260701102030", "a": b"20260203040506"}


def test_what_is_missing_has_a_name(tmp_path):
    action = (
        "{action: ColumnProperties, Name: gone, Extra: true, Datatype: varchar, IntegrateExpression: '{hvr_missing}'}"
    )
    record = {"k": 7, "v": "x"}
    assert pure.rows(tmp_path, DDL, [action], record, RECORD)[0]["gone"] == "at"


def test_missing_values_in_expressions_are_zero_or_empty_on_request(tmp_path):
    action = "  - {action: ColumnProperties, Name: new, Extra: true, Datatype: varchar, IntegrateExpression: "
    recipe = pure.recipe(tmp_path, DDL, action + '"{k}/{at %[allow_missings]}"}')
    record = {"k": 7, "v": "x"}
    assert pure.payloads(recipe, pure.hvr(tmp_path, record))[0]["new"] == "7/1970-01-01 01:00:00"


REFUSED = [
    ("hvr_op", "{hvr_op}", "a column named hvr_op cannot take {hvr_op}"),
    ("new", "{hvr_tx_sequence_number}", "is of Db2 for i only"),
    ("new", "{hvr_cap_journal_code}", "is of Db2 for i only"),
    ("new", "{hvr_local_loc}", "belongs to the conditions of refresh and compare"),
    ("new", "{hvr_integ_loc}", "write the location's name"),
    (
        "new",
        "{hvr_cap_filename}",
        "{hvr_cap_filename} cannot stand in an IntegrateExpression; accepted there are hvr_op,",
    ),
    ("new", "{k", "'{k' is no substitution: it has no end; write {k}"),
    ("new", "a {hvr_op; b", "'{hvr_op' is no substitution: it has no end"),
    ("new", "{{hvr_key_names |}", "the braces around hvr_key_names do not match"),
    ("new", "{hvr_cap_tstamp %[UTC] %Y}", "%[UTC] is not known; accepted are %[localtime] or %[utc] first, then %a %b"),
    ("new", "{hvr_cap_tstamp yyyy-MM-dd}", "a format has letters after %, such as %Y-%m-%d"),
    ("new", "{at %Q}", "%Q is not known"),
    ("new", "{k %Y}", "only time stamps have a format, and k is integer"),
    ("new", "{k %[allow_missing]}", "%[allow_missing] is not known; accepted is %[allow_missings]"),
    (
        "new",
        "{hvr_op %Y}",
        "only time stamps, hvr_op_str, hvr_key_names and hvr_cap_header have something after their name",
    ),
    ("new", "{{hvr_col_name}}", "the action is for no column"),
    ("new", "{hvr_local_loc}", "{hvr_local_loc}, of HVR: belongs to the conditions of refresh and compare"),
    ("new", "{hvr_var_min}", "is a variable that this run does not have; give it: --variable NAME=VALUE"),
    ("new", "{hvr_unknown}", "{hvr_unknown} is no substitution; accepted are hvr_op,"),
    ("new", "{nothing}", "neither a substitution nor a column; its columns are k, v, at"),
    ("new", "{{hvr_op}}", "double braces go with hvr_key_names and hvr_col_name"),
    ("new", "{hvr_op_str 1=x}", "is no mapping"),
]


@pytest.mark.parametrize(("name", "written", "expected"), REFUSED)
def test_what_cannot_be_is_a_problem_of_the_channel(name, written, expected, tmp_path):
    action = f'  - {{action: ColumnProperties, Name: {name}, Extra: true, Datatype: varchar, IntegrateExpression: "{written}"}}'
    with pytest.raises(ConfigurationError) as raised:
        pure.recipe(tmp_path, DDL, action)
    assert expected in str(raised.value)
    assert "$.actions[1].IntegrateExpression" in str(raised.value)
