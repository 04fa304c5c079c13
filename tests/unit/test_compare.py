"""Rows of a table and of its topic, folded and merged: by digests in files, and by a model in memory."""

import contextlib
import itertools
import json
import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integrator.compare import rounds
from integrator.compare.as_messages import Taken
from integrator.compare.at_topic import MessagesOf, NotComparable, Seen
from integrator.compare.digests import NO_ROW, RECORD, Digester, Runs, change_of, packed
from integrator.compare.merging import Clear, folded, merge, merged, merged_topics, repeated
from integrator.compare.messages import CLEARED, GONE, NOTHING, SET, Documents, Effects, Texts
from integrator.compare.results import TableResult, same
from integrator.compare.rounds import Candidate, Found, Round, first_round, is_same, shown
from integrator.compare.sides import Sides
from integrator.compare.standing import Standing
from integrator.compare.tables import Compared
from integrator.contracts.message_format import Bundling, MessageFormat, Options
from integrator.contracts.table_recipe import TableRecipe
from integrator.errors import DataError, IntegratorError
from integrator.schema import Column, Integer, Table
from integrator.sources.binlog import events
from integrator.sources.postgres.server import lsn_of, lsn_text

pytestmark = pytest.mark.fast

RECIPE = TableRecipe(
    Table(None, "t", "t", (Column("id", Integer(64), False),), ("id",)), "topic", "TimeKey", ("id",), ("id",), ()
)
CODES = tuple((code, code) for code in range(6))
JSON = MessageFormat("JSON", Options(json_mode="ROW_FRAGMENTS"))


def table(**given):
    known = {"envelope": "", "identity": "row", "columns": ("id", "v"), "key": ("id",), "op": "op", "codes": CODES}
    return Compared(RECIPE, **(known | given))


def sides(tmp_path, layout=JSON, **given):
    return Sides(table(**given), Documents(layout), tmp_path / "sides")


def text(**row):
    return json.dumps(row).encode()


def records(*rows):
    """Records of (key, row, partition, offset, effect)."""
    found = [
        packed(key.to_bytes(16, "little"), row.to_bytes(16, "little"), (part, at, 0), effect)
        for key, row, part, at, effect in rows
    ]
    return np.frombuffer(b"".join(found), RECORD)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3), st.sampled_from([SET, GONE])), max_size=30))
def test_the_last_message_of_a_key_is_its_row(changes):
    rows = records(*((key, row, 0, at, effect) for at, (key, row, effect) in enumerate(changes)))
    rows = rows[np.lexsort((np.arange(len(rows)), rows["key"][:, 1], rows["key"][:, 0]))]
    model = {key: (row, effect) for key, row, effect in changes}
    found = folded(rows, Clear())
    assert not len(found.several)
    assert {int(one["key"][0]): (int(one["row"][0]), int(one["effect"])) for one in found.last} == model


@given(
    st.dictionaries(st.integers(0, 20), st.integers(1, 2)),
    st.dictionaries(st.integers(0, 20), st.tuples(st.integers(1, 2), st.sampled_from([SET, GONE]))),
)
def test_both_sides_are_merged_as_a_model_does(own, its):
    found = merge(
        records(*((key, row, 0, 0, SET) for key, row in sorted(own.items()))),
        records(*((key, row, 0, 0, effect) for key, (row, effect) in sorted(its.items()))),
        records(),
    )
    there = {key: row for key, (row, effect) in its.items() if effect == SET}
    assert found.rows == len(own)
    assert found.equal == sum(own.get(key) == row for key, row in there.items())

    def keys(some):
        return {int(one["key"][0]) for one in some}

    assert keys(found.different[0]) == {key for key in own.keys() & there.keys() if own[key] != there[key]}
    assert keys(found.missing) | keys(found.gone[0]) == own.keys() - there.keys()
    assert keys(found.extra) == there.keys() - own.keys()


def test_a_key_in_two_partitions_is_ambiguous():
    found = folded(records((1, 1, 0, 5, SET), (1, 2, 1, 3, SET), (2, 1, 0, 6, SET)), Clear())
    assert [int(one["key"][0]) for one in found.last] == [2]
    assert [int(one["key"][0]) for one in found.several] == [1]
    assert merge(records((1, 2, 0, 0, SET)), found.last, found.several).ambiguous == 1


def position_text(number):
    return f"{number:020X}|{7:016X}|{0:07X}"


def position(number):
    return change_of(position_text(number)) if number else b""


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 9), st.integers(1, 3)), max_size=30),
    st.integers(0, 9),
)
def test_a_key_in_several_partitions_is_what_its_highest_position_says(changes, cleared):
    """Key, partition, position (0: a tombstone, which has none) and row, as they are read: by partition, in order."""
    changes.sort(key=lambda one: one[1])
    made, model = [], {}
    for at, (key, part, number, row) in enumerate(changes):
        effect = SET if number else GONE
        made.append(
            packed(key.to_bytes(16, "little"), row.to_bytes(16, "little"), (part, at, 0), effect, position(number))
        )
        known = [one for one in model.get(key, []) if one[0] == part]
        model.setdefault(key, []).append((part, number or (known[-1][1] if known else 0), at))
    rows = np.frombuffer(b"".join(made), RECORD)
    rows = rows[np.lexsort((np.arange(len(rows)), rows["key"][:, 1], rows["key"][:, 0]))]

    def is_left(one):
        _, number, at = one
        return not cleared or number > cleared or (not number and changes[at][2])

    left = {key: [*filter(is_left, found)] for key, found in model.items()}
    last, several, moved = {}, set(), 0
    for key, found in left.items():
        if len({part for part, *_ in found}) < 2:
            last |= {key: found[-1][2]} if found else {}
        elif all(number for _, number, _ in found):
            last[key], moved = max(found, key=lambda one: (one[1], one[2]))[2], moved + 1
        else:
            several.add(key)
    found = folded(rows, Clear(0, 0, 0, position(cleared)) if cleared else Clear())
    assert {int(one["key"][0]): int(one["at"]) for one in found.last} == last
    assert ({int(one["key"][0]) for one in found.several}, found.moved) == (several, moved)


@pytest.mark.parametrize("text", ["", "1", "x" * 45, '["1","2"]', "|".join(["0" * 20, "0" * 16, "g" * 7])])
def test_what_is_no_position_is_unknown(text):
    assert change_of(text) == b""


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=30))
def test_messages_that_repeat_a_change_of_their_key_are_found(changes):
    """Key and position; a position of 0 is unknown."""
    found = [
        packed(key.to_bytes(16, "little"), NO_ROW, (0, at, 0), SET, position(seq))
        for at, (key, seq) in enumerate(changes)
    ]
    rows = np.frombuffer(b"".join(found), RECORD)
    rows = rows[np.lexsort((np.arange(len(rows)), rows["key"][:, 1], rows["key"][:, 0]))]
    expected = {at for at, one in enumerate(changes) if one[1] and one in changes[:at]}
    assert {int(one["at"]) for one in repeated(rows)} == expected


def test_records_of_many_keys_come_back_by_file_and_in_order(tmp_path):
    runs = Runs(tmp_path / "runs")
    digester = Digester(("id",), ("id",))
    for offset in range(2):
        for number in range(3000):
            runs.add(packed(digester.key({"id": number}), NO_ROW, (0, offset, 0), SET))
    runs.write()
    back = [runs.bucket(number) for number in range(256)]
    assert sum(map(len, back)) == 6000
    assert all((one["at"][::2] == 0).all() and (one["at"][1::2] == 1).all() for one in back)


def test_a_clear_takes_all_rows_before_it():
    rows = records((1, 1, 0, 1, SET), (2, 1, 0, 9, SET))
    assert [int(one["key"][0]) for one in folded(rows, Clear(0, 5, 0)).last] == [2]


@pytest.mark.parametrize(
    ("row", "effect"),
    [
        ({"id": 1, "op": 1}, SET),
        ({"id": 1, "op": 2}, SET),
        ({"id": 1, "op": 0}, GONE),
        ({"id": 1, "op": 3}, GONE),
        ({"id": 1, "op": 4}, NOTHING),
        ({"id": None, "op": 5}, CLEARED),
        ({"id": 1, "op": 2, "gone": 1}, GONE),
        ({"id": None}, CLEARED),
        ({"v": 1}, SET),
    ],
)
def test_the_effect_of_a_message_is_known_by_its_operation(row, effect):
    effects = Effects("", "op", CODES, "gone", ("id",))
    assert [kind for kind, _ in effects.reader()(row)] == [effect]


def test_envelopes_are_unwrapped():
    debezium = Effects("DEBEZIUM", key=("id",)).reader()
    assert list(debezium({"op": "c", "after": {"id": 1}})) == [(SET, {"id": 1})]
    assert list(debezium({"op": "d", "before": {"id": 1}})) == [(GONE, {"id": 1})]
    assert next(iter(debezium({"op": "t"})))[0] == CLEARED
    opencdc = Effects("OPENCDC", key=("id",)).reader()
    moved = {"operation": "update", "payload": {"before": {"id": 1}, "after": {"id": 2}}}
    assert list(opencdc(moved)) == [(GONE, {"id": 1}), (SET, {"id": 2})]


@pytest.mark.parametrize(
    ("mode", "value"),
    [
        ("ROW_FRAGMENTS", b'{"id":1}\n{"id":2}'),
        ("ROW_FRAGMENTS", b'{"id":1}{"id":2}'),
        ("ROW_ARRAY", b'[{"id":1},{"id":2}]'),
        ("TABLE_OBJECT", b'{"t":[{"id":1},{"id":2}]}'),
        ("TABLE_ARRAY", b'[{"t":[{"id":1}]},{"t":[{"id":2}]}]'),
    ],
)
def test_bundles_are_unpacked(mode, value):
    layout = MessageFormat("JSON", Options(json_mode=mode), bundling=Bundling("TRANSACTION"))
    assert Documents(layout).of([value, None], "t/0") == [[{"id": 1}, {"id": 2}], None]


@pytest.mark.parametrize("value", [b"no JSON", b"[1]", b'"text"', b""])
def test_what_is_no_row_is_refused(value):
    with pytest.raises(DataError, match="t/0: a message is"):
        Documents(JSON).of([value], "t/0")


@given(st.lists(st.sampled_from(range(7)), max_size=12))
def test_a_schema_that_is_read_once_changes_no_message(chosen):
    """Messages of two schemas in turn; some have a payload before the schema, more members, or blanks."""
    schemas = [{"type": "struct", "doc": ',"payload":{'}, {"type": "struct", "fields": [{"field": "payload"}]}]
    compact = {"separators": (",", ":")}
    texts = [
        json.dumps({"schema": one, "payload": {"v": n, "payload": "}"}}, **compact) for n in (1, 2) for one in schemas
    ]
    texts.append(json.dumps({"payload": {"v": 3}, "schema": schemas[0]}, **compact))
    texts.append(json.dumps({"schema": schemas[0], "payload": {"v": 4}, "more": {}}, **compact))
    texts.append(json.dumps({"schema": schemas[0], "payload": {"v": 5}}))
    documents = Documents(MessageFormat("SCHEMA_PAYLOAD"))
    found = documents.of([texts[one].encode() for one in chosen], "t/0")
    assert found == [[json.loads(texts[one])["payload"]] for one in chosen]


def test_numbers_keep_all_of_their_digits():
    digester = Digester(("v",), ())
    [[one], [other]] = Documents(JSON).of([b'{"v":0.12345678901234567}', b'{"v":0.12345678901234568}'], "t/0")
    assert digester.row(one) != digester.row(other)


def test_a_message_without_columns_is_equal_but_for_these():
    """Such as a text that PostgreSQL keeps apart: not one that is shorter than a pointer, or a number."""
    result, long, may = TableResult("t", "topic"), "x" * 19, table(may_lack=(("v", 19),))
    assert is_same(may, {"id": 1, "v": long}, {"id": 1}, result)
    assert result.incomplete == 1
    assert is_same(may, {"id": 1, "v": long}, {"id": 1, "v": "__debezium_unavailable_value"}, result)
    assert not is_same(may, {"id": 1, "v": long[1:]}, {"id": 1}, result)
    assert not is_same(may, {"id": 1, "v": long}, {"v": long}, result)
    assert not is_same(table(), {"id": 1, "v": long}, {"id": 1}, result)
    assert not is_same(table(), {"id": 1, "v": "x"}, {"id": 1, "v": "__debezium_unavailable_value"}, result)
    assert not is_same(table(), {"id": 1, "v": "x"}, {"id": 1, "v": None}, result)
    assert not is_same(table(), {"id": 1, "v": "x"}, {"id": 2}, result)
    assert not is_same(table(), {"id": 1, "v": "x"}, None, result)
    assert is_same(table(has_deletes=False), None, {"id": 1}, result)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (True, 1, False),
        (True, True, True),
        (0, False, False),
        (1, Decimal("1.0"), True),
        ("1", 1, False),
        ([1, {"a": True}], [1, {"a": True}], True),
        ([1, {"a": True}], [1, {"a": 1}], False),
        ({"a": 1}, {"a": 1, "b": None}, False),
        (None, None, True),
    ],
)
def test_values_are_the_same_by_their_types(one, other, expected):
    assert same(one, other) is expected


def test_a_key_that_several_rows_of_the_table_have_is_not_equal():
    rows = records((1, 1, 0, 0, SET), (1, 2, 0, 1, SET), (2, 1, 0, 2, SET), (3, 1, 0, 3, SET), (3, 2, 0, 4, SET))
    found = merge(rows, records((1, 1, 0, 0, SET), (2, 1, 0, 1, SET)), records())
    assert (found.rows, found.equal, found.shared, len(found.extra), len(found.missing)) == (5, 1, 2, 0, 0)
    assert not TableResult("t", "topic", rows=5, equal=1, shared=2).is_equal
    assert not TableResult("t", "topic", rows=5, equal=5, rejected=1).is_equal, "the topic has no message of it"
    assert not TableResult("t", "topic", rows=5, equal=4).is_equal, "whatever a row was passed over for"
    assert TableResult("t", "topic", rows=5, equal=5).is_equal


def test_a_row_without_a_position_is_not_before_a_truncate():
    """A message of another producer: it may have come after it."""
    made = [
        packed(key.to_bytes(16, "little"), bytes(16), (0, at, 0), effect, position(number))
        for at, (key, effect, number) in enumerate([(1, SET, 3), (2, SET, 0), (3, SET, 7), (4, GONE, 0)])
    ]
    found = folded(np.frombuffer(b"".join(made), RECORD), Clear(0, 0, 0, position(5)))
    assert [int(one["key"][0]) for one in found.last] == [2, 3]


def test_a_tombstone_of_a_row_whose_key_is_not_known_is_a_difference(tmp_path):
    """Its row cannot be looked up: what was settled at first stays so, and is not taken for a row that is gone."""
    one = sides(tmp_path, identity="key", key=())
    rows = [text(id=1, v="a", op=1), text(id=2, v="b", op=1)]
    one.take(0, [], Taken([b"1", b"2"], rows))
    messages = one.messages.columns.of([b"1", b"2", b"2"], Texts.of([*rows, None]), "t")
    one.at_topic.extend(messages.records)
    found = Found(one, TableResult("t", "topic"))
    first_round(found, [{("topic", 0): 10}])
    [candidate] = found.candidates.values()
    candidate.gone = True  # as it is when its message was read again
    again = Round(NoTopics(), None, None, {}, {"t": {}}, {"t": set()})
    again.settle(found, {("topic", 0): 10}, {}, {})
    assert (found.result.missing, found.candidates, found.result.is_equal) == (1, {}, False)
    one.close()


FOLLOWED = {
    # partitions, what is read in this order: (partition, effect, position); what the key is then
    "an insert after a truncate of another partition": (2, [(0, SET, b"2"), (1, CLEARED, b"1")], "row"),
    "a truncate after an insert of another partition": (2, [(0, SET, b"1"), (1, CLEARED, b"2")], "gone"),
    "a truncate that is read before an older insert": (2, [(0, CLEARED, b"2"), (1, SET, b"1")], "gone"),
    "one partition has an order": (1, [(0, CLEARED, b""), (0, SET, b"")], "row"),
    "messages without positions have none": (2, [(0, SET, b""), (1, CLEARED, b"")], "unordered"),
}


@pytest.mark.parametrize("case", FOLLOWED)
def test_a_truncate_and_messages_of_other_partitions_have_their_order(case):
    many, messages, expected = FOLLOWED[case]
    one = Candidate("different", ("1",), (0, 1), settled=True)
    for partition, effect, change in messages:
        rounds._follow({b"k": one}, Seen(b"k", effect, {"id": 1}, (partition, 5, 0), change), several=many > 1)
    assert ("unordered" if one.is_unordered else "gone" if one.gone else "row") == expected


def test_a_truncate_without_a_key_leaves_a_block_to_columns():
    messages = MessagesOf(table(identity="key", key=()), Documents(JSON))
    values = [text(id=1, v="a", op=1), text(op=5), text(id=2, v="b", op=1)]
    found = messages.columns.of([b"1", None, b"2"], Texts.of(values), "t")
    assert found is not None
    assert ([*found.records["at"]], [at for at, _ in found.cleared]) == ([0, 2], [1])
    assert messages.columns.of([b"1", None, None], Texts.of(values), "t") is None


class NoTopics:
    """Topics that have nothing more."""

    def blocks(self, _ranges):
        return iter(())


def test_masked_values_are_not_shown():
    one = Candidate("different", ("1",), (0, 1), settled=True, row={"id": 1, "v": "seen"})
    found = shown(table(masked=frozenset({"v"})), "different", one, {"id": 1, "v": "secret"})
    assert found.key == {"id": 1}
    assert found.columns == {"v": ("(masked)", "(masked)")}


def test_a_message_without_the_key_is_no_row_of_the_table():
    messages = MessagesOf(table(), Documents(JSON))
    with pytest.raises(NotComparable, match="offset 7 lacks columns of the key"):
        list(messages.effects([None], [text(v=1, id2=1, op=1)], (0, [7]), "t/0"))


@pytest.mark.parametrize("offset", [5, 15])
def test_a_difference_is_settled_where_its_last_message_is_before_the_place(tmp_path, offset):
    """Else the change may be one of after the place, and the key is looked at again."""
    one = sides(tmp_path)
    taken = Taken(
        [None] * 3, [text(id=1, v="a", op=1), text(id=2, v="b", op=1), text(id=4, v="d", op=1)], numbers=[0, 1, 2]
    )
    one.take(0, [b"1", b"2", b"4"], taken)
    values = [text(id=1, v="a", op=1), text(id=2, v="B", op=2), text(id=3, v="c", op=1)]
    found = one.messages.columns.of([None] * 3, Texts.of(values), "t").records
    found["at"] = [1, offset, offset]
    one.at_topic.extend(found)
    found = Found(one, TableResult("t", "topic"))
    first_round(found, [{("topic", 0): 10}])
    assert (found.result.rows, found.result.equal) == (3, 1)
    kinds = {each.kind: each for each in found.candidates.values()}
    assert {kind: each.settled for kind, each in kinds.items()} == {
        "different": offset < 10,
        "extra": offset < 10,
        "missing": True,
    }
    assert kinds["different"].text == ("2",)
    assert kinds["missing"].text == ("4",)
    assert list(merged(one.at_table, one.at_topic, Clear())) is not None
    one.close()


def test_two_topics_are_both_folded(tmp_path):
    """A key's last message counts at both; one that is gone at both is no row, one in two partitions is ambiguous."""

    def runs(name, *rows):
        made = Runs(tmp_path / name)
        for key, row, part, at, effect in rows:
            made.add(packed(key.to_bytes(16, "little"), row.to_bytes(16, "little"), (part, at, 0), effect))
        return made

    old = runs("old", (1, 1, 0, 0, SET), (1, 2, 0, 1, SET), (2, 1, 0, 2, SET), (2, 0, 0, 3, GONE), (3, 1, 0, 4, SET))
    for part in (0, 1):
        old.add(packed((9).to_bytes(16, "little"), NO_ROW, (part, 7, 0), SET))
    new = runs("new", (1, 2, 1, 0, SET), (2, 0, 0, 1, GONE), (3, 1, 0, 2, SET), (3, 0, 0, 3, GONE), (9, 1, 0, 4, SET))
    found = list(merged_topics(old, new))
    assert sum(one.rows for one in found) == 2
    assert sum(one.equal for one in found) == 1
    assert [int(key["key"][0]) for one in found for key in one.gone[0]] == [3]
    assert not any(len(one.extra) + len(one.missing) + len(one.different[0]) for one in found)
    assert sum(one.ambiguous for one in found) == 1


VALUES = st.one_of(
    st.none(), st.integers(-3, 3), st.sampled_from(["", "a", "\x1f", "é\n", "1", {"k": [1, None]}, True, 1.5])
)
ROWS = st.fixed_dictionaries(
    {
        "id": st.integers(0, 3),
        "v": VALUES,
        "op": st.integers(0, 5),
        "seq": st.sampled_from([position_text(9), "x", ""]),
    },
    optional={"gone": st.sampled_from([0, 1, None, True]), "more": VALUES},
)
LAYOUTS = {
    "plain": ("JSON", {}),
    "with a schema": ("SCHEMA_PAYLOAD", {}),
    "soft deletes": ("JSON", {"op": "", "soft_delete": "gone"}),
    "by the message's key": ("JSON", {"identity": "key"}),
    "framed keys": ("JSON", {"identity": "key", "framed_keys": True}),
    "debezium": ("SCHEMA_PAYLOAD", {"envelope": "DEBEZIUM", "op": ""}),
}


def written(kind, row):
    """A row as a message; None: a tombstone."""
    if row is None:
        return None
    if kind == "debezium":
        source = {"sequence": f'["1","{row["seq"]}"]'}
        op = "durcct"[row["op"]]
        images = {"before": row if op in "du" else None, "after": None if op in "dt" else row}
        row = {"op": op, "source": source, **images}
    return text(**({"schema": {"n": 1}, "payload": row} if LAYOUTS[kind][0] == "SCHEMA_PAYLOAD" else row))


@pytest.mark.parametrize("kind", LAYOUTS)
@given(st.lists(st.one_of(st.none(), ROWS), min_size=1, max_size=8))
def test_a_block_at_once_says_what_its_messages_say_one_by_one(kind, rows):
    """The digests of rows are others, and the same where these are."""
    form, how = LAYOUTS[kind]
    documents = Documents(MessageFormat(form, Options(json_mode="ROW_FRAGMENTS")))
    messages = MessagesOf(table(position="seq", columns=("v", "more"), **how), documents)
    keys = [b"prefix" + bytes([97 if row is None else row["id"]]) for row in rows]
    values = [written(kind, row) for row in rows]
    one_by_one, cleared = [], []
    for seen in messages.effects(keys, values, (0, range(len(rows))), "t"):
        if seen.effect == CLEARED:
            cleared.append((seen.where[1], seen.change))
            continue
        digest = messages.digester.row(seen.row) if seen.effect == SET else NO_ROW
        one_by_one.append((seen.where[1], seen.key, digest, seen.effect, seen.change))
    assert messages.columns.reads
    found = messages.columns.of(keys, Texts.of(values), "t")
    assert (
        found.cleared == cleared
    )  # without a position: nothing, by which a truncate among partitions is not comparable
    at_once = [
        (int(one["at"]), one["key"].tobytes(), one["row"].tobytes(), int(one["effect"]), one["change"])
        for one in found.records
    ]
    assert [(at, key, effect, change) for at, key, _, effect, change in at_once] == [
        (at, key, effect, change.rstrip(b"\0")) for at, key, _, effect, change in one_by_one
    ]
    for one, other in itertools.combinations(range(len(at_once)), 2):
        assert (at_once[one][2] == at_once[other][2]) == (one_by_one[one][2] == one_by_one[other][2])


@pytest.mark.parametrize("value", [b"5", b"[]", b"null", b"{", b'{"op": 1}', b"\xff", b'{"id": 1, "id": 2, "op": 1}'])
def test_a_block_with_another_message_is_read_one_by_one(value):
    columns = MessagesOf(table(), Documents(JSON)).columns
    assert columns.of([None, None], Texts.of([text(id=1, v="a", op=1), value]), "t") is None


@pytest.mark.parametrize(
    "layout",
    [
        MessageFormat("JSON", Options(json_mode="ROW_ARRAY")),
        MessageFormat("JSON", Options(json_mode="ROW_FRAGMENTS"), bundling=Bundling("CHANGE")),
        MessageFormat("JSON", Options(json_mode="ROW_FRAGMENTS", encoding="utf-16")),
    ],
)
def test_other_layouts_are_read_one_by_one(layout):
    assert not MessagesOf(table(), Documents(layout)).columns.reads
    assert not MessagesOf(table(envelope="OPENCDC"), Documents(JSON)).columns.reads


class _At:
    """A source that was captured up to a position, of a channel that does not run."""

    def __init__(self, position):
        self._position = position

    def captured(self):
        return self._position

    def holder(self):
        return None


OF_POSTGRES, OF_BINLOG = (
    (lsn_text, lsn_of("0/1A2B3C8")),
    (events.position_text, events.position_of("binlog.000003", 1234)),
)
OF_ANOTHER = "is no position of this database; one is"


@pytest.mark.parametrize(
    ("database", "wanted", "expected"),
    [
        (OF_POSTGRES, "0/1A2B3C8", ""),
        (OF_POSTGRES, "0/1A2B3C9", "and not up to 0/1A2B3C9 (--at): start it"),
        (OF_POSTGRES, "binlog.000003:1234", f"{OF_ANOTHER} 0/1A2B3C8"),
        (OF_BINLOG, events.position_text(events.position_of("binlog.000003", 1234)), ""),
        (OF_BINLOG, events.position_text(events.position_of("binlog.000004", 4)), "(--at): start it"),
        (OF_BINLOG, "0/1A2B3C8", OF_ANOTHER),
    ],
)
def test_a_position_is_waited_for_or_refused(database, wanted, expected):
    shown, captured = database
    at = _At(captured)
    standing = Standing("orders", at, at, shown)
    with pytest.raises(IntegratorError, match=re.escape(expected)) if expected else contextlib.nullcontext():
        standing.wait_until_captured(wanted)
