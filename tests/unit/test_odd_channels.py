"""Channels whose literals, keys, headers or sizes were once taken for something else without a word."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random

import pytest

from integrator.deliver import bundle
from integrator.deliver.bundle import Bundler
from integrator.errors import DataError
from tests.parts import pure

DDL = "create table a(k int primary key, v text);"
ROW = {"hvr_op": 1, "k": 1, "v": "x"}
LONG = "9223372036854775808"


def column(datatype, expression):
    return (
        f"{{action: ColumnProperties, Name: z, Extra: true, Datatype: {datatype}, IntegrateExpression: '{expression}'}}"
    )


def messages(directory, *actions, rows=(ROW,), ddl=DDL, kafka=""):
    made = pure.tables(directory, ddl, list(actions), kafka=kafka)
    return pure.messages(made, pure.hvr(directory, *rows))


@pytest.mark.parametrize(
    ("datatype", "expression", "expected"),
    [
        ("varchar, Length: 9", "007", "007"),
        ("varchar, Length: 9", "+5", "+5"),
        ("varchar, Length: 9", "7", "7"),
        ("integer", "7", 7),
        ("integer", "-7", -7),
        ("integer", "007", 7),
        ("varchar, Length: 30", LONG, LONG),
        ("decimal, Precision: 30, Scale: 0", LONG, int(LONG)),
        ("double", LONG, float(LONG)),
    ],
)
def test_digits_are_a_number_in_a_numeric_column_and_text_elsewhere(datatype, expression, expected, tmp_path):
    [message] = messages(tmp_path, column(datatype, expression))
    assert json.loads(message.value)["z"] == expected


def test_a_number_that_its_column_cannot_hold_is_a_problem_of_the_channel(tmp_path):
    assert LONG in pure.refusal(tmp_path, DDL, column("bigint", LONG))


@pytest.mark.parametrize("digits", ["007", "+5", "0", "99999999999999999999"])
def test_digits_in_topics_headers_and_addresses_are_text(digits, tmp_path):
    address = f"{{action: Restrict, AddressTo: '{digits}'}}", f"{{action: Restrict, AddressSubscribe: '{digits}'}}"
    topic = "" if digits.startswith("+") else f"Topic: '{digits}', "
    [message] = messages(tmp_path, f"{{action: Integrate, {topic}MessageHeaders: 'h={digits}'}}", *address)
    assert (message.headers["h"], message.topic) == (digits.encode(), digits if topic else "a")


def test_an_address_of_digits_that_nobody_has_is_a_problem_of_the_channel(tmp_path):
    assert "'5' does not match kaf" in pure.refusal(tmp_path, DDL, "{action: Restrict, AddressTo: '5'}")


def test_a_semicolon_in_a_substitution_divides_no_headers(tmp_path):
    [message] = messages(tmp_path, "{action: Integrate, MessageHeaders: 'op={hvr_op_str 0>D;1>I}; t={hvr_tbl_name}'}")
    assert message.headers == {"op": b"I", "t": b"a"}


@pytest.mark.parametrize("key", ["{{hvr_key_names}}", "{{hvr_key_names}}{v}", "{x}{{hvr_key_names -}}"])
def test_a_tombstone_needs_a_key_whose_values_are_apart(key, tmp_path):
    ddl = "create table a(x int, y int, v text, primary key(x, y));"
    said = pure.refusal(tmp_path, ddl, f"{{action: Integrate, OnDeleteSendTombstone: true, MessageKey: '{key}'}}")
    assert "the message key lacks separators" in said


def test_a_tombstone_may_have_the_values_of_the_key_with_something_between(tmp_path):
    ddl = "create table a(x int, y int, v text, primary key(x, y));"
    action = "{action: Integrate, OnDeleteSendTombstone: true, MessageKey: '{{hvr_key_names -}}'}"
    row = {"hvr_op": 0, "x": 1, "y": 11, "v": "x"}
    assert [message.key for message in messages(tmp_path, action, rows=[row], ddl=ddl)] == [b"1-11"]


def test_an_expression_for_deletes_holds_in_an_envelope_which_sends_them(tmp_path):
    actions = (
        "{action: FileFormat, Envelope: OPENCDC}",
        "{action: ColumnProperties, Name: v, IntegrateExpression: 'gone', ExpressionScope: DELETE}",
    )
    deleted = {**ROW, "hvr_op": 0}
    [message] = messages(tmp_path, *actions, rows=[deleted], kafka=", Expression_Scopes: APPLY")
    assert json.loads(message.value)["payload"]["before"]["v"] == "gone"


def of_limit(made, limit):
    return dataclasses.replace(made, messages=dataclasses.replace(made.messages, max_bytes=limit))


@pytest.mark.parametrize("limit", [20_000, 1_000_000])
def test_i5_rows_that_compression_makes_larger_stay_below_the_limit(limit, tmp_path):
    made = pure.recipe(
        tmp_path, "create table a(k int primary key, b bytea);", "  - {action: FileFormat, Avro: true}\n"
    )
    noise, accepted = random.Random(7).randbytes(limit + 500), 0
    for size in range(limit - limit // 1000 - 600, limit + 500, max(limit // 20_000, 20)):
        path = pure.hvr(tmp_path, {"hvr_op": 1, "k": 1, "b": noise[:size].hex()})
        try:
            [message] = pure.messages(of_limit(made, limit), path)
        except DataError:
            continue
        accepted += 1
        assert len(message.value) + len(message.key) <= limit
    assert accepted


def test_i2_where_a_message_ends_does_not_depend_on_how_rows_come(tmp_path, monkeypatch):
    """A row in the middle has large headers, and the last one, whose headers a message has, small ones."""
    monkeypatch.setattr(bundle, "BYTES_AT_ONCE", 0)
    actions = "{action: Integrate, MessageHeaders: 'h={h}'}", "{action: ColumnProperties, Name: h, Absent: true}"
    ddl = "create table a(k int primary key, v text, h text);"
    made = pure.tables(tmp_path, ddl, list(actions), kafka=", Kafka_Message_Bundling: TRANSACTION")
    rows = [{"k": 1, "v": "x" * 2000, "h": ""}, {"k": 2, "v": "y" * 1000, "h": "z" * 2500}, {"k": 3, "v": "", "h": ""}]
    sent = pure.fragments(made, pure.hvr(tmp_path, *rows))[0].combine_chunks()
    made = of_limit(made, 5000)
    found = []
    for cuts in ([], [1], [2], [1, 2]):
        bundler, bounds = Bundler(made), [0, *cuts, len(sent)]
        batches = [sent.slice(start, end - start).combine_chunks() for start, end in itertools.pairwise(bounds)]
        messages = [one for batch in batches for part in batch.to_batches() for one in bundler.add(part)]
        found.append([message.value for message in pure.unpacked([*messages, *bundler.end()])])
    assert len(found[0]) == 2
    assert all(one == found[0] for one in found)


def test_i3_dead_letters_of_several_tables_are_in_source_order(tmp_path):
    ddl = (
        "".join(f"create table {name}(k int primary key, v text);" for name in "abc") + "create table d(k int, w int);"
    )
    kafka = ", Oversized_Rows: DEAD_LETTER, Dead_Letter_Topic: dead"
    made = of_limit(pure.tables(tmp_path, ddl, ["{action: Integrate, Topic: '{hvr_tbl_name}'}"], kafka=kafka), 3000)
    names = ["c", "a", "d", "b", "a", "c", "b", "d"]
    rows = [
        {
            "hvr_tbl_name": name,
            "hvr_tx_seq": f"{at + 1:x}",
            "k": at,
            **({"w": at} if name == "d" else {"v": "x" * 4000}),
        }
        for at, name in enumerate(names)
    ]
    dead = [one for one in pure.messages(made, pure.hvr(tmp_path, *rows)) if one.topic == "dead"]
    lines = [int(one.headers["place"].rpartition(b":")[2]) for one in dead]
    assert lines == sorted(lines)
    assert len(set(lines)) == 6
