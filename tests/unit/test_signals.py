"""Rows of a signal table -> refreshes that are asked for; what is not understood is an error in the log."""

import json
import struct

import pytest

from integrator.decode.encodings.pgoutput import Column, Relation
from integrator.sources.capture.asked import Asked, asked
from integrator.sources.capture.signals import Signals

COLUMNS = tuple(Column(name, 25, -1, in_key=name == "id") for name in ("id", "type", "data"))
RELATION = Relation(7, "public", "signals", "d", COLUMNS)
OID = (7).to_bytes(4, "big")


class Log:
    def __init__(self):
        self.errors = []

    def error(self, event, **more):
        self.errors.append((event, more.get("reason", "")))


def insert(*values):
    texts = [b"n" if one is None else b"t" + struct.pack(">I", len(one)) + one for one in values]
    return b"I" + OID + b"N" + struct.pack(">H", len(values)) + b"".join(texts)


@pytest.fixture
def signals(tmp_path):
    one = Signals("public.signals", tmp_path, Log())
    one.know(RELATION.message())
    return one


def asked_by(signals, tmp_path, data, kind=b"execute-snapshot"):
    signals.take(insert(b"1", kind, None if data is None else json.dumps(data).encode()))
    return [(table, refresh) for _, table, refresh in asked(tmp_path)]


def test_tables_and_conditions_are_asked_for(signals, tmp_path):
    data = {
        "data-collections": ["public.t", "public.u"],
        "type": "incremental",
        "additional-conditions": [{"data-collection": "public.u", "filter": "id > 5"}],
    }
    assert asked_by(signals, tmp_path, data) == [("public.t", Asked()), ("public.u", Asked("id > 5"))]


def test_a_truncate_may_be_before_the_rows(signals, tmp_path):
    data = {"data-collections": ["public.t"], "truncate-record": True}
    assert asked_by(signals, tmp_path, data) == [("public.t", Asked(truncate=True))]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (None, "no JSON object with data-collections"),
        ([], "no JSON object with data-collections"),
        ({"data-collections": []}, "no JSON object with data-collections"),
        ({"data-collections": [{"name": "a.t"}]}, "no JSON object with data-collections"),
        ({"data-collections": [5]}, "no JSON object with data-collections"),
        ({"data-collections": "a.t"}, "no JSON object with data-collections"),
        (
            {"data-collections": ["a.t"], "additional-conditions": [{"data-collection": None, "filter": "x"}]},
            "both of them texts",
        ),
        (
            {"data-collections": ["a.t"], "additional-conditions": [{"data-collection": "a.t", "filter": None}]},
            "both of them texts",
        ),
        (
            {"data-collections": ["a.t"], "additional-conditions": [{"data-collection": "a.t", "filter": "\ud800"}]},
            "both of them texts",
        ),
        ({"data-collections": ["a.t"], "filter": "x"}, "its data have filter: known are"),
        ({"data-collections": ["a.t"], "additional-conditions": ["x"]}, "a list of objects with data-collection"),
        (
            {"data-collections": ["a.t"], "additional-conditions": [{"data-collection": "a.u", "filter": "x"}]},
            "names tables that data-collections does not: a.u",
        ),
        (
            {
                "data-collections": ["a.t"],
                "additional-conditions": [{"data-collection": "a.t", "filter": "x"}],
                "truncate-record": True,
            },
            "consumers would have no other rows",
        ),
    ],
)
def test_what_is_not_understood_is_an_error(signals, tmp_path, data, reason):
    assert asked_by(signals, tmp_path, data) == []
    [(event, said)] = signals._log.errors
    assert event == "a signal is not followed"
    assert reason in said


def test_what_is_nested_too_deep_and_a_type_that_is_null_stop_nothing(signals, tmp_path):
    signals.take(insert(b"1", b"execute-snapshot", b"[" * 100_000))
    signals.take(insert(b"2", None, b"{}"))
    assert len(signals._log.errors) == 2
    assert list(asked(tmp_path)) == []


def test_other_types_and_changes_ask_for_nothing(signals, tmp_path):
    assert asked_by(signals, tmp_path, {"data-collections": ["a.t"]}, b"log") == []
    assert [said for _, said in signals._log.errors] == ["known is the type execute-snapshot"]
    signals.take(b"D" + OID)
    assert len(signals._log.errors) == 1


def test_a_table_that_got_another_name_is_none(signals):
    assert signals.are_of(OID)
    signals.know(Relation(7, "public", "old", "d", COLUMNS).message())
    assert not signals.are_of(OID)


def test_without_a_table_nothing_is_a_signal(tmp_path):
    one = Signals(None, tmp_path, Log())
    one.know(Relation(7, "", "", "d", COLUMNS).message())
    assert not one.are_of(OID)
