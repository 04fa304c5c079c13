"""Capture and Restrict: which change rows become what, before anything else is done to them.

https://fivetran.com/docs/hvr6/action-reference/capture and …/restrict. A change row is written `op k v`; `-` is null, and
a value that is not there, or `.`, is missing.
"""

import itertools
import random

import pytest

from integrator.cli import show
from integrator.decode.contract import Reading
from integrator.errors import ConfigurationError
from tests.parts import pure

pytestmark = pytest.mark.fast

DDL = "create table t(k int primary key, v varchar(9), big text);"
OP = "{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: '{hvr_op}'}"
SEQUENCE = (
    "{action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, TimeKey: true, "
    "IntegrateExpression: '{hvr_integ_seq}'}"
)
EVERYTHING = [OP, SEQUENCE]


def records(text, tx="1"):
    """Change rows, with commas between."""
    made = []
    for row in text.split(","):
        op, k, *rest = row.split() + ([] if row.split()[0] != "5" else [None])
        v = {"v": None if rest[0] == "-" else rest[0]} if rest and rest[0] != "." else {}
        big = {"big": rest[1]} if rest[1:] else {}
        made.append({"hvr_op": int(op), "hvr_tx_seq": tx, **({"k": int(k)} if k else {}), **v, **big})
    return made


def told(row):
    v = [("-" if row["v"] is None else row["v"])] if "v" in row else ["."] if "big" in row else []
    big = [("-" if row["big"] is None else row["big"])] if "big" in row else []
    return " ".join(map(str, [row["op"], *([] if row["op"] == 5 else [row["k"], *v, *big])]))


def sent(directory, actions, *changes):
    recipe = pure.tables(directory, DDL, [*EVERYTHING, *actions])
    path = pure.hvr(directory, *changes)
    _, [note] = pure.fragments(recipe, path)
    return pure.read(recipe, path), note


AUGMENT = [
    # AugmentIncomplete     captured                       sent
    ("NONE", "4 1 a x, 2 1 b", "4 1 a x, 2 1 b"),
    ("LOB", "4 1 a x, 2 1 b", "4 1 a x, 2 1 b x"),  # `big` is a text without length
    ("ALL", "4 1 a x, 2 1 b", "4 1 a x, 2 1 b x"),
    ("ALL", "3 1 a x, 2 2 b", "3 1 a x, 2 2 b x"),
    ("ALL", "4 1 - x, 2 1", "4 1 - x, 2 1 - x"),  # null is a value
    ("ALL", "4 1, 2 1 b", "4 1, 2 1 b"),  # the old row has none either
    ("ALL", "2 1 b", "2 1 b"),  # there is no old row
    ("ALL", "1 1 a x, 2 1 b", "1 1 a x, 2 1 b"),
    ("ALL", "4 1 a x, 2 1 b y", "4 1 a x, 2 1 b y"),
]


@pytest.mark.parametrize(("how", "captured", "becomes"), AUGMENT)
def test_augment_incomplete(how, captured, becomes, tmp_path):
    rows, _ = sent(tmp_path, [f"{{action: Capture, AugmentIncomplete: {how}}}"], *records(captured))
    assert [told(row) for row in rows] == becomes.split(", ")


def test_augmenting_lobs_is_for_tables_that_have_some(tmp_path):
    recipe = pure.tables(
        tmp_path, "create table t(k int primary key, v varchar(9));", ["{action: Capture, AugmentIncomplete: LOB}"]
    )
    assert not recipe.tables[0].capture.augment


COALESCE = [
    # captured, in one transaction                           sent
    ("1 1 a", "1 1 a"),
    ("1 1 a, 4 1 a, 2 1 b", "1 1 b"),
    ("1 1 a, 2 1 b, 2 1 c", "1 1 c"),
    ("1 1 a, 0 1 a", ""),
    ("1 1 a, 4 1 a, 2 1 b, 0 1 b", ""),
    ("4 1 a, 2 1 b, 4 1 b, 2 1 c", "4 1 a, 2 1 c"),
    ("2 1 b, 2 1 c", "2 1 c"),
    ("4 1 a, 2 1 b, 0 1 b", "0 1 b"),
    ("0 1 a, 1 1 b", "2 1 b"),
    ("0 1 a, 1 1 b, 0 1 b", "0 1 b"),
    ("1 1 a, 1 2 a, 4 1 a, 2 1 b, 0 2 a, 1 3 c", "1 1 b, 1 3 c"),
    ("3 1 a, 2 2 a", "0 1 a, 1 2 a"),  # a key update ends one row's changes and begins another's
    ("1 1 a, 3 1 a, 2 2 a", "1 2 a"),
    ("3 1 a, 2 2 a, 0 2 a", "0 1 a"),
    ("3 1 a, 2 2 a, 3 2 a, 2 1 b", "2 1 b"),
    ("1 1 a, 5, 1 1 b", "1 1 a, 5, 1 1 b"),  # nothing is coalesced over a truncate
    ("1 1 a, 5, 1 1 b, 2 1 c", "1 1 a, 5, 1 1 c"),
    # values that a row leaves out are those that it had before
    ("1 1 a x, 2 1 b", "1 1 b x"),
    ("2 1 b, 2 1 . y", "2 1 b y"),
    ("2 1 b, 2 1", "2 1 b"),
    ("4 1 a x, 2 1 b, 4 1 b, 2 1 c", "4 1 a x, 2 1 c x"),
    ("3 1 a x, 2 2 b", "0 1 a x, 1 2 b x"),
    # over key updates too
    ("3 1 a x, 2 2 b, 3 2 b, 2 3 c", "0 1 a x, 1 3 c x"),
    ("1 1 a x, 3 1 a, 2 2 c", "1 2 c x"),
    ("4 1 a x, 2 1 b, 3 1 b, 2 2 c", "0 1 b x, 1 2 c x"),
    ("0 1 a x, 1 1 b", "2 1 b"),  # a new row is not the one that was deleted
]


@pytest.mark.parametrize(("captured", "becomes"), COALESCE)
def test_coalesce(captured, becomes, tmp_path):
    changes = records(captured)
    rows, note = sent(tmp_path, ["{action: Capture, Coalesce: true}"], *changes)
    assert [told(row) for row in rows] == list(filter(None, becomes.split(", ")))
    assert note.not_sent.get("rows coalesced", 0) == len(changes) - len(rows)
    assert [row["seq"] for row in rows] == sorted(row["seq"] for row in rows)


def test_changes_of_two_transactions_are_not_coalesced(tmp_path):
    rows, _ = sent(tmp_path, ["{action: Capture, Coalesce: true}"], *records("1 1 a"), *records("2 1 b, 2 1 c", "2"))
    assert [told(row) for row in rows] == ["1 1 a", "2 1 c"]


def test_a_consumer_ends_with_the_same_rows_coalesced_or_not(tmp_path):
    chance = random.Random(7)
    changes, there = [], {}
    for tx in range(60):
        for _ in range(chance.randint(1, 12)):
            key, number = chance.randint(1, 5), f"{tx + 1:x}"
            change = {"hvr_tx_seq": number, "big": None}
            if key not in there:
                there[key] = f"v{len(changes)}"
                changes.append({**change, "hvr_op": 1, "k": key, "v": there[key]})
            elif chance.random() < 0.3:
                changes.append({**change, "hvr_op": 0, "k": key, "v": there.pop(key)})
            elif chance.random() < 0.3 and (free := [k for k in range(1, 6) if k not in there]):
                changes.append({**change, "hvr_op": 3, "k": key, "v": there[key]})
                there[free[0]] = there.pop(key)
                changes.append({**change, "hvr_op": 2, "k": free[0], "v": there[free[0]]})
            else:
                changes.append({**change, "hvr_op": 4, "k": key, "v": there[key]})
                there[key] = f"v{len(changes)}"
                changes.append({**change, "hvr_op": 2, "k": key, "v": there[key]})
    rows, _ = sent(tmp_path, ["{action: Capture, Coalesce: true}"], *changes)
    rebuilt = {}
    for row in rows:
        if row["op"] in (0, 3):
            assert rebuilt.pop(row["k"]) is not None
        elif row["op"] in (1, 2):
            assert (row["k"] in rebuilt) == (row["op"] == 2 and old_key_is(rows, row))
            rebuilt[row["k"]] = row["v"]
    assert rebuilt == there
    assert len(rows) < len(changes)
    per_key = itertools.groupby(sorted((row["seq"][:20], row["k"]) for row in rows if row["op"] != 4))
    assert all(len(list(same)) == 1 for _, same in per_key)


def old_key_is(rows, row):
    return not (rows.index(row) and rows[rows.index(row) - 1]["op"] == 3)


CONDITIONS = [
    # captured                    sent, where the condition is v < 'm'
    ("1 1 a", "1 1 a"),
    ("1 1 z", ""),
    ("1 1 -", ""),  # null is not true
    ("0 1 a", "0 1 a"),
    ("0 1 z", ""),
    ("4 1 a, 2 1 b", "4 1 a, 2 1 b"),
    ("4 1 a, 2 1 z", "0 1 a"),  # out of the condition: a delete
    ("4 1 z, 2 1 a", "1 1 a"),  # into it: an insert
    ("4 1 y, 2 1 z", ""),
    ("3 1 a, 2 2 b", "3 1 a, 2 2 b"),
    ("3 1 a, 2 2 z", "0 1 a"),
    ("3 1 z, 2 2 a", "1 2 a"),
    ("3 1 y, 2 2 z", ""),
    ("4 1, 2 1 a", "4 1, 2 1 a"),  # what the old row was is not known: it stays an update
    ("4 1, 2 1 z", "0 1"),
    ("2 1 a", "2 1 a"),
    ("2 1 z", "0 1 z"),  # it may have been inside before
    ("0 1", "0 1"),  # what cannot be told is not taken away
    ("1 1", "1 1"),
    ("2 1", "2 1"),
    ("4 1 a, 2 1 . x", "4 1 a, 2 1 . x"),  # a value that an update leaves out is unchanged
    ("4 1 z, 2 1 . x", ""),
    ("4 1 z y, 2 1 a", "1 1 a y"),  # an insert is whole
    ("4 1, 2 1", "4 1, 2 1"),
    ("4 1 a, 2 1 z, 4 2 z, 2 2 a", "0 1 a, 1 2 a"),
    ("5", "5"),
    ("1 1 a, 4 1 a, 2 1 z, 1 2 z, 4 2 z, 2 2 a", "1 1 a, 0 1 a, 1 2 a"),
]


@pytest.mark.parametrize(("captured", "becomes"), CONDITIONS)
def test_capture_condition(captured, becomes, tmp_path):
    changes = records(captured)
    rows, note = sent(tmp_path, ["{action: Restrict, CaptureCondition: \"{v} < 'm'\"}"], *changes)
    assert [told(row) for row in rows] == list(filter(None, becomes.split(", ")))
    assert note.not_sent.get("rows outside the CaptureCondition", 0) == len(changes) - len(rows)


IGNORED = [
    # captured                    sent where "v = 'z'" is ignored    sent where only such updates are
    ("1 1 a, 1 2 z", "1 1 a", "1 1 a, 1 2 z"),
    ("0 1 z, 0 2 a", "0 2 a", "0 1 z, 0 2 a"),
    ("4 1 a, 2 1 z", "", ""),  # no update is converted
    ("4 1 z, 2 1 a", "4 1 z, 2 1 a", "4 1 z, 2 1 a"),
    ("3 1 a, 2 2 z, 1 3 a", "1 3 a", "1 3 a"),
    ("2 1 z, 2 2 a", "2 2 a", "2 2 a"),
    ("4 1 z, 2 1 . x", "", ""),  # a value that an update leaves out is unchanged
    ("2 1, 2 2 -", "2 1, 2 2 -", "2 1, 2 2 -"),  # unknown
    ("5, 1 1 z", "5", "5, 1 1 z"),
    ("4 1 a, 2 1 z, 4 1 z, 2 1 b", "4 1 z, 2 1 b", "4 1 z, 2 1 b"),
]


@pytest.mark.parametrize("only", ["IgnoreCondition", "IgnoreUpdateCondition"])
@pytest.mark.parametrize(("captured", "changes", "updates"), IGNORED)
def test_ignored_changes(captured, changes, updates, only, tmp_path):
    given = records(captured)
    rows, note = sent(tmp_path, [f"{{action: Capture, {only}: \"{{v}} = 'z'\"}}"], *given)
    becomes = changes if only == "IgnoreCondition" else updates
    assert [told(row) for row in rows] == list(filter(None, becomes.split(", ")))
    assert note.not_sent.get("rows that are ignored (IgnoreCondition)", 0) == len(given) - len(rows)


def test_what_is_ignored_goes_together_with_conditions_and_addresses(tmp_path):
    actions = [
        "{action: Capture, IgnoreCondition: '{k} = 1', IgnoreUpdateCondition: '{k} = 2'}",
        "{action: Restrict, CaptureCondition: '{k} < 4', AddressTo: '{v}'}",
    ]
    captured = "1 1 kaf, 1 2 kaf, 2 2 kaf, 1 3 other, 1 3 kaf, 1 4 kaf, 0 1 kaf"
    rows, note = sent(tmp_path, actions, *records(captured))
    assert [told(row) for row in rows] == ["1 2 kaf", "1 3 kaf"]
    assert note.not_sent == {
        "rows for other locations": 1,
        "rows that are ignored (IgnoreCondition)": 3,
        "rows outside the CaptureCondition": 1,
    }


BOTH = [
    # captured                    sent, where the condition is v < 'm' and big = 'x'; what an update leaves out is unchanged
    ("4 1 a x, 2 1 z", "0 1 a x"),
    ("4 1 z x, 2 1 a", "1 1 a x"),
    ("4 1 a x, 2 1 b", "4 1 a x, 2 1 b"),
    ("4 1 a y, 2 1 b", ""),
    ("4 1 a, 2 1 b", "4 1 a, 2 1 b"),
]


@pytest.mark.parametrize(("captured", "becomes"), BOTH)
def test_a_condition_on_a_column_that_an_update_leaves_out(captured, becomes, tmp_path):
    said = "{action: Restrict, CaptureCondition: \"{v} < 'm' and {big} = 'x'\"}"
    rows, _ = sent(tmp_path, [said], *records(captured))
    assert [told(row) for row in rows] == list(filter(None, becomes.split(", ")))


@pytest.mark.parametrize(
    ("said", "captured", "becomes"),
    [
        ("{action: Capture, Coalesce: true}", "1 1 a x, 2 1 b", "1 1 b x"),
        ("{action: Restrict, CaptureCondition: \"{v} < 'm'\"}", "4 1 z x, 2 1 a", "1 1 a x"),
        ("{action: Capture, AugmentIncomplete: ALL}", "4 1 z x, 2 1 a", "4 1 z x, 2 1 a x"),
        ("{action: Capture, NoTruncate: true}", "2 1 a", "2 1 a zz"),
    ],
)
def test_what_stands_for_missing_values_does_so_where_nothing_is_known(said, captured, becomes, tmp_path):
    rows, _ = sent(tmp_path, [said, "{action: TableProperties, MissingRepresentationString: zz}"], *records(captured))
    assert [told(row) for row in rows] == becomes.split(", ")


def test_an_old_row_alone_keeps_its_place_however_the_file_is_cut(tmp_path, monkeypatch):
    ddl = DDL + "create table u(k int primary key, v text);"
    said = ["{action: Capture, AugmentIncomplete: ALL}", "{action: Integrate, Topic: all}", SEQUENCE]
    recipe = pure.tables(tmp_path, ddl, said)
    lone = [
        {"hvr_tbl_name": t, "hvr_op": op, "k": k} for t, op, k in (("t", 4, 1), ("u", 1, 2), ("u", 1, 3), ("t", 1, 4))
    ]
    path = pure.hvr(tmp_path, *lone)
    whole = [row["k"] for row in pure.read(recipe, path)]
    for size in (60, 100, 150, 200):  # of a record and more
        monkeypatch.setattr(Reading, "block_bytes", size)
        assert [row["k"] for row in pure.read(recipe, path)] == whole == [1, 2, 3, 4]


SAID = [
    # a condition                                     the keys sent, of 1 a, 2 b, 3 -
    ("{k} >= 2", [2, 3]),
    ("k >= 2", [2, 3]),
    ("{v} is null", [3]),
    ("sql: v in ('a', 'b') and not k = 2", [1]),
    ("{hvr_cap_loc} = 'src'", [1, 2, 3]),
    ("{hvr_cap_loc} = 'other'", []),
    ("{v %[allow_missings]} = 'a'", [1]),
    ("true", [1, 2, 3]),
]


@pytest.mark.parametrize(("condition", "keys"), SAID)
def test_how_a_condition_may_be_written(condition, keys, tmp_path):
    rows, _ = sent(
        tmp_path, [f'{{action: Restrict, CaptureCondition: "{condition}"}}'], *records("1 1 a, 1 2 b, 1 3 -")
    )
    assert [row["k"] for row in rows] == keys


ADDRESSES = [
    # AddressTo            AddressSubscribe     the rows that come to Kafka, of 1 kaf, 2 other, 3 -, 4 KAFKA;x, 5 eu1
    ("'{v}'", None, [1, 4]),
    ("'kaf'", None, [1, 2, 3, 4, 5]),
    ("'KAFKA'", None, [1, 2, 3, 4, 5]),
    ("'x, {v}'", None, [1, 4]),
    ("'{v}'", "eu1", [1, 4, 5]),
    ("'{v}'", "'eu*'", [1, 4, 5]),
    ("'{v}'", "'eu1;other'", [1, 2, 4, 5]),
    ("'k*'", None, [1, 2, 3, 4, 5]),
    ("'{v %[literal]}'", None, [1]),  # the value as it is, not a list
]


@pytest.mark.parametrize(("to", "subscribe", "keys"), ADDRESSES)
def test_addresses(to, subscribe, keys, tmp_path):
    actions = [f"{{action: Restrict, AddressTo: {to}}}"]
    actions += [f"{{action: Restrict, group: KAFKA, AddressSubscribe: {subscribe}}}"] if subscribe else []
    changes = records("1 1 kaf, 1 2 other, 1 3 -, 1 4 KAFKA;x, 1 5 eu1")
    rows, note = sent(tmp_path, actions, *changes)
    assert [row["k"] for row in rows] == keys
    assert note.not_sent.get("rows for other locations", 0) == 5 - len(keys)


def test_rows_that_become_neighbours_are_no_update(tmp_path):
    """AddressTo takes the new row of one update and the old row of the next."""
    address = ["{action: Restrict, AddressTo: '{v}'}", "{action: Restrict, group: kaf, AddressSubscribe: DE}"]
    changes = records("4 1 DE, 2 1 FR, 4 2 FR, 2 2 DE")
    for said, becomes in (
        ("{action: Capture, AugmentIncomplete: ALL}", ["4 1 DE", "2 2 DE"]),
        ("{action: Restrict, CaptureCondition: '{k} = 1'}", ["4 1 DE", "0 2 DE"]),
        ("{action: Capture, Coalesce: true}", ["2 2 DE"]),
    ):
        rows, note = sent(tmp_path, [*address, said], *changes)
        assert [told(row) for row in rows] == becomes
        assert sum(note.not_sent.values()) == len(changes) - len(rows)
    merged = "  - {action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS, BeforeUpdateColumns: 'old_'}\n"
    recipe = pure.recipe(tmp_path, DDL, merged + "".join(f"  - {said}\n" for said in [*EVERYTHING, *address]))
    [row] = pure.read(recipe, pure.hvr(tmp_path, *changes))
    assert (row["k"], row.get("old_k")) == (2, None)
    recipe = pure.tables(tmp_path, DDL, [*EVERYTHING, *address], kafka=", Kafka_Message_Bundling: CHANGE")
    assert len(pure.messages(recipe, tmp_path / "a.jsonl")) == 2


def test_an_address_is_no_condition_an_update_stays_one(tmp_path):
    rows, _ = sent(tmp_path, ["{action: Restrict, AddressTo: '{v}'}"], *records("4 1 kaf, 2 1 other"))
    assert [told(row) for row in rows] == ["4 1 kaf"]


PROBLEMS = [
    ("{action: Capture, Coalesce: true, table: keyless}", "Coalesce needs a key"),
    ("{action: Restrict, CaptureCondition: '{nothing} = 1'}", "neither a substitution nor a column; its columns are"),
    ("{action: Restrict, CaptureCondition: 'k ='}", "CaptureCondition: tables t, keyless: sql: "),
    ("{action: Restrict, CaptureCondition: '(select 1) = 1'}", "a subquery is not possible"),
    ("{action: Restrict, CaptureCondition: 'k + 1'}", "a condition is true or false, and this is bigint"),
    ("{action: Restrict, CaptureCondition: 'k', table: t, group: KAFKA}", "CaptureCondition does nothing at 'KAFKA'"),
    ("{action: Capture, IgnoreCondition: '{nothing} = 1'}", "neither a substitution nor a column; its columns are"),
    ("{action: Capture, IgnoreUpdateCondition: 'k + 1'}", "a condition is true or false, and this is bigint"),
    ("{action: Capture, IgnoreCondition: '(select 1) = 1'}", "a subquery is not possible"),
    ("{action: Capture, IgnoreCondition: 'k = 1', group: KAFKA}", "IgnoreCondition does nothing at 'KAFKA'"),
    ("{action: Restrict, AddressTo: 'nowhere'}", "'nowhere' does not match kaf, KAFKA or an alias"),
    ("{action: Restrict, group: KAFKA, AddressSubscribe: 'x'}", "no row has an address"),
    ("{action: Restrict, AddressTo: '{nothing}'}", "neither a substitution nor a column; its columns are"),
    ("{action: Capture, AugmentIncomplete: SOME}", "'SOME' is not one of 'NONE', 'LOB' or 'ALL'"),
]


@pytest.mark.parametrize(("action", "said"), PROBLEMS)
def test_what_cannot_be_is_a_problem_of_the_channel(action, said, tmp_path):
    assert said in pure.refusal(tmp_path, DDL + "create table keyless(a int);", action)


SPECIFIC = [
    # two actions, of which the more specific holds, whichever of the locations it names      the parameter, its value
    ("Coalesce: false", "group: src, Coalesce: true", "coalesce", True),
    ("AugmentIncomplete: ALL", "group: src, table: t, AugmentIncomplete: NONE", "augment", False),
    ("group: KAFKA, AugmentIncomplete: ALL", "group: src, AugmentIncomplete: NONE", "augment", False),
    ("table: t, AugmentIncomplete: ALL", "group: src, AugmentIncomplete: NONE", "augment", True),
]


@pytest.mark.parametrize(("one", "other", "name", "value"), SPECIFIC)
@pytest.mark.parametrize("turned", [False, True])
def test_the_most_specific_action_wins_over_both_locations(one, other, name, value, turned, tmp_path):
    actions = [f"{{action: Capture, {said}}}" for said in ((other, one) if turned else (one, other))]
    assert getattr(pure.tables(tmp_path, DDL, actions).tables[0].capture, name) is value


def test_truncates_and_old_rows_too(tmp_path):
    actions = [
        "{action: Capture, NoTruncate: true, NoBeforeUpdate: true}",
        "{action: Capture, group: src, table: t, NoTruncate: false, NoBeforeUpdate: false}",
    ]
    [table] = pure.tables(tmp_path, DDL, actions).tables
    assert (table.truncates, table.before_updates) == (True, True)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_tie_that_another_action_decides_is_none(order, tmp_path):
    actions = [
        "{action: Capture, table: A, AugmentIncomplete: ALL}",
        "{action: Capture, table: B, AugmentIncomplete: LOB}",
        "{action: Capture, table: t, AugmentIncomplete: NONE}",
    ]
    made = pure.tables(tmp_path, DDL, [actions[n] for n in order], groups="{A: [t], B: [t]}")
    assert not made.tables[0].capture.augment
    with pytest.raises(ConfigurationError) as raised:
        pure.tables(tmp_path, DDL, actions[:2], groups="{A: [t], B: [t]}")
    assert "equally specific" in str(raised.value)


def test_a_condition_that_fails_for_a_row_says_which(tmp_path):
    with pytest.raises(pure.IntegratorError) as raised:
        sent(tmp_path, ["{action: Restrict, CaptureCondition: '10 / (k - 2) > 0'}"], *records("1 1 a, 1 2 b"))
    assert f"{tmp_path}/a.jsonl:2: table t, CaptureCondition: sql: " in str(raised.value)


def test_the_files_of_one_update_may_not_part_its_rows(tmp_path):
    """Where the two rows of an update are needed together, the source says so if they are in two files."""
    recipe = pure.tables(tmp_path, DDL, [*EVERYTHING, "{action: Restrict, CaptureCondition: \"{v} < 'm'\"}"])
    old, new = records("4 1 a, 2 1 z")
    files = [pure.hvr(tmp_path, old, name="1.jsonl"), pure.hvr(tmp_path, new, name="2.jsonl")]
    with pytest.raises(pure.IntegratorError) as raised:
        pure.fragments(recipe, *files)
    assert f"{tmp_path}/1.jsonl:1: table t: the file ends with the before image of an update" in str(raised.value)


def test_the_plan_shows_what_is_done_to_change_rows(tmp_path):
    actions = [
        "{action: Restrict, CaptureCondition: '{k} > 0', AddressTo: '{v}'}",
        "{action: ColumnProperties, Name: v, CaptureExpression: 'sql: upper(v)', TrimDatatype: 5}",
        "{action: Capture, Coalesce: true, AugmentIncomplete: ALL}",
        "{action: TableProperties, TrimWhiteSpace: true, CharacterMapping: 'a>b', MissingRepresentationString: '?'}",
        "{action: ColumnProperties, group: SOURCE, Name: big, BaseName: BIG}",
    ]
    assert list(show.captured(pure.tables(tmp_path, DDL, actions).tables[0].capture)) == [
        'only rows for which "k" > 0',
        "only rows for kaf, KAFKA, by {v}",
        "v is sql: upper(v)",
        "big is BIG in the records",
        "v is cut to 5 bytes",
        "v without blanks at the end",
        "'a' becomes 'b'",
        "v is '?' where it is missing",
        "big is '?' where it is missing",
        "missing values of after images are taken from before images",
        "changes of a key in a transaction are one",
    ]
