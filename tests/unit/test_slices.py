"""Slices: what is asked of a database for each, and that each row is in one of them."""

import pytest

from integrator.errors import ConfigurationError
from integrator.plan.restrict import Conditions
from integrator.refresh.slices import slices_of
from integrator.schema import Column, Float, Integer, String, Table, decimal

TABLES = [
    Table("t", "t", None, (Column("id", Integer()), Column("name", String()), Column("x", Float())), ("id",)),
    Table("u", "u", None, (Column("id", Integer()),), ("id",)),
]
SAID = {"t": Conditions("live", "mod(id, {hvr_slice_total}) = {hvr_slice_num}", "name = '{hvr_slice_value}'")}


def conditions(*wanted, said=None):
    found = slices_of(TABLES, wanted, said or {}, lambda name: f'"{name}"')
    return {table.name: [part.condition for part in found if part.table == table.name] for table in TABLES}


CASES = [
    ((), ["", ""]),
    (("t.id%2",), ['(not (abs(mod(round(coalesce("id", 0), 0), 2)) between 1 and 1))', '(abs(mod(round(coalesce("id", 0), 0), 2)) = 1)']),
    (("t.x<1.5<2.5",), ['("x" <= 1.5)', '("x" > 1.5 and "x" <= 2.5)', '("x" > 2.5 or "x" is null)']),
    (("t.name<a<it's",), ["(\"name\" <= 'a')", "(\"name\" > 'a' and \"name\" <= 'it''s')", "(\"name\" > 'it''s' or \"name\" is null)"]),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "expected"), CASES)
def test_conditions_of_slices(wanted, expected):
    made = conditions(*wanted)
    assert made == {"t": expected if wanted else [""], "u": [""]}


def test_conditions_of_the_channel():
    assert conditions("t.2", said=SAID)["t"] == ["(live) and (mod(id, 2) = 0)", "(live) and (mod(id, 2) = 1)"]
    assert conditions("t.a;o'b", said=SAID)["t"] == ["(live) and (name = 'a')", "(live) and (name = 'o''b')"]
    assert conditions("id%1") == {
        name: ['(not (abs(mod(round(coalesce("id", 0), 0), 1)) between 1 and 0))'] for name in "tu"
    }


NUMBERED = [
    # what is asked for, and number, total and value of each slice
    ((), [(0, 1, None)]),
    (("t.id%2",), [(0, 2, None), (1, 2, None)]),
    (("t.x<1",), [(0, 2, None), (1, 2, None)]),
    (("t.2",), [(0, 2, None), (1, 2, None)]),
    (("t.a; o'b ;;c",), [(0, 3, "a"), (1, 3, "o'b"), (2, 3, "c")]),
]


@pytest.mark.parametrize(("wanted", "numbered"), NUMBERED)
def test_slices_know_which_of_how_many_they_are(wanted, numbered):
    found = slices_of(TABLES, wanted, SAID, lambda name: f'"{name}"')
    assert [(one.number, one.total, one.value) for one in found if one.table == "t"] == numbered


@pytest.mark.parametrize(
    "wanted", ["t.no%2", "t.id%0", "t.id<2<1", "t.id<", "t.id<2<a", "t.name%2", "t.id<b<a", "t.3", "t.a;b", "t.?"]
)
def test_slices_that_cannot_be(wanted):
    with pytest.raises(ConfigurationError, match="--slice, table t: "):
        conditions(wanted)


@pytest.mark.parametrize("wanted", [("t.id%2", "t.id%3"), ("id%2", "id%3")])
def test_a_table_is_cut_in_one_way(wanted):
    with pytest.raises(ConfigurationError, match="has one already"):
        conditions(*wanted)
    assert len(conditions("t.id%2", "id%3")["t"]) == 2


@pytest.mark.parametrize(
    ("kind", "is_number"), [(decimal(None, None), True), (decimal(90, 2), True), (String(50), False)]
)
def test_text_of_fifty_characters_is_no_number(kind, is_number):
    table = Table("t", "t", None, (Column("c", kind),), ("c",))
    if is_number:
        assert len(slices_of([table], ["t.c%2"], {}, str)) == 2
    else:
        with pytest.raises(ConfigurationError, match="'c' is no number"):
            slices_of([table], ["t.c%2"], {}, str)
