"""Lines of JSON objects are cut where Python's json has it that they are cut."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from integrator.decode.json.scan import NOT_SO, Names, Objects, Room, scan

NAMES = ["a", "b", "hvr_op", "a_long_name_of_27_characters", "ü", "x\\y", 'q"', "ab", "exactly7"]


def scanned(lines, of_line=None, kinds=(NAMES,), shared=0):
    """Each line's members by name, as text; None for all lines of a kind that is not so; and the numbers of values."""
    of_line = [0] * len(lines) if of_line is None else of_line
    text = np.frombuffer(b"".join(line.encode() + b"\n" for line in lines), np.uint8)
    offsets = np.cumsum([0, *(len(line.encode()) + 1 for line in lines)]).astype(np.int32)
    row = [of_line[:place].count(kind) for place, kind in enumerate(of_line)]
    sizes = [of_line.count(kind) for kind, names in enumerate(kinds) for _ in names]
    room = Room(np.cumsum([0, *sizes])[:-1], sum(sizes), shared)
    objects = Objects(offsets, np.array(of_line, np.int32), np.array(row, np.int32))
    values, count = scan(text, objects, Names.of(kinds), room)
    result = []
    for kind, at in zip(of_line, row, strict=True):
        if kind == NOT_SO or count[kind] == NOT_SO:
            result.append(None)
            continue
        places = {}
        for name, base in zip(kinds[kind], room.base[sum(map(len, kinds[:kind])) :].tolist(), strict=False):
            start, end = values.start[base + at], values.end[base + at]
            if end:
                places[name] = text[start:end].tobytes().decode()
                assert values.escaped[base + at] == (places[name].startswith('"') and "\\" in places[name])
        result.append(places)
    return result, count.tolist()


TEXT = st.text(st.sampled_from('ab"\\/\x01\t\n{}[],: é\u2028😀'))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
ROWS = st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES), min_size=1, max_size=5)
WRITTEN = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :\r")])


@given(ROWS, WRITTEN, st.data())
def test_objects_are_cut_as_python_reads_them(rows, separators, data):
    rows = [{name: row[name] for name in data.draw(st.permutations(list(row)))} for row in rows]
    lines = [json.dumps(row, separators=separators, ensure_ascii=False) for row in rows]
    found, count = scanned(lines)
    assert [{name: json.loads(text) for name, text in row.items()} for row in found] == rows
    assert count == [sum(map(len, rows))]


@given(ROWS, WRITTEN, st.data())
@example([{"a": "x"}], (",", ":"), None)
def test_what_is_taken_of_a_damaged_line_is_what_python_reads(rows, separators, data):
    """It may be taken for no object; values may be none: that is seen where their type is."""
    line = json.dumps(rows[0], separators=separators, ensure_ascii=False)
    if data is not None:
        at = data.draw(st.integers(0, len(line)))
        put = data.draw(st.text(alphabet=st.sampled_from('{}[]",:\\ \t\rnt0-.a'), max_size=3))
        line = line[:at] + put + line[at + data.draw(st.integers(0, 3)) :]
    (found,), _ = scanned([line])
    try:
        read = json.loads(line, object_pairs_hook=list, strict=False)
    except ValueError:
        read = None
    if found is None:
        return
    texts = {}
    for name, text in found.items():
        try:
            texts[name] = json.loads(text, object_pairs_hook=list, strict=False)
        except ValueError:
            return  # refused with its value
    assert isinstance(read, list)
    assert texts == dict(read)
    assert len(read) == len(found)


@pytest.mark.parametrize(("line", "found"), [("{}", {}), ("{x}", None), ("", None), ('{"a":1}', {"a": "1"})])
def test_text_shorter_than_a_word(line, found):
    assert scanned([line])[0] == [found]


NOT_OBJECTS = [
    "",
    "null",
    "[]",
    "}",
    '"a"',
    "{",
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    '{"a":1 "b":2}',
    '{"a":1,,"b":2}',
    '{"a":,"b":2}',
    '{,"a":1}',
    '{"a" 1}',
    "{a:1}",
    '{"a":1}}',
    '{"a":1}{"b":2}',
    '{"a":1}]',
    '{"a":"x',
    '{"a":"x\\',
    '{"a":"x\\"}',
    '{"a":"x\ty"}',
    '{"a":"x\\\ty"}',
    '{"a":[1}',
    '{"a":["x}',
    '{"a":{"b":1}',
    '{"a":1,"a":2}',
    '{"other":1}',
    '{"":1}',
    '{"a1":1}',
    '{"exactly":1}',
    '{"exactly78":1}',
]


@pytest.mark.parametrize("line", NOT_OBJECTS)
def test_what_is_no_object_of_these_names(line):
    found, count = scanned(['{"a":1}', line, '{"a":2}'])
    assert found == [None, None, None]
    assert count == [NOT_SO]


def test_kinds_of_objects_are_apart():
    lines = ['{"a":1,"b":2}', '{"x":3}', '{"b":4,"x":5}', "no object", '{"x":"6"}', "passed over"]
    found, count = scanned(lines, [0, 1, 1, 2, 1, NOT_SO], (["a", "b"], ["b", "x"], ["b"]), shared=1)
    assert found == [{"a": "1", "b": "2"}, {"x": "3"}, {"b": "4", "x": "5"}, None, {"x": '"6"'}, None]
    assert count == [1, 3, NOT_SO]  # those of "a", "b" and "b" are shared


def test_a_name_of_another_kind_is_not_taken_for_one_of_this():
    """Not even where it is the next one of all names."""
    lines = ['{"a":1,"a":2}', '{"a":3}', '{"b":4,"a":5}', '{"a":6,"b":7}']
    found, count = scanned(lines, [0, 1, 2, 2], (["a"], ["a", "b"], ["a", "b"]))
    assert found == [None, {"a": "3"}, {"b": "4", "a": "5"}, {"a": "6", "b": "7"}]
    assert count == [NOT_SO, 1, 4]
