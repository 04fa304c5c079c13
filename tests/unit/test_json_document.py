"""Lines are accepted where Python's json reads them with each name once, and their canonical form means the same."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from integrator.decode.json.document import read_document
from integrator.decode.json.objects import Objects, names_of
from integrator.decode.json.slices import raw_of
from integrator.decode.lines.lines import Lines
from integrator.engine.grammar import MAX_DEPTH
from integrator.engine.values import Slices
from integrator.errors import DataError

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler]

TEXT = st.text(st.sampled_from('ab"\\/\x01\t\n{}[],: é\u2028😀'), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
ROWS = st.lists(st.dictionaries(TEXT, VALUES, max_size=4), min_size=1, max_size=4)
WRITTEN = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :\r")])
DAMAGE = st.text(st.sampled_from('{}[]",:\\ \t\rnul0-+.eE1xd8'), max_size=4)


def lines_of(texts):
    data = [text.encode() + b"\n" for text in texts]
    offsets = np.cumsum([0, *map(len, data)]).astype(np.int32)
    return Lines("f", b"".join(data), np.arange(1, len(data) + 1), offsets)


def checked(lines, expected):
    return read_document(lines, expected).lines


def texts_of(lines):
    return [text.rstrip("\n") for text in lines.array.to_pylist()]


def unique(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a member twice")
    return dict(pairs)


def no_constant(word):
    raise ValueError(word)


def read(text):
    """What Python's json reads of a line; ValueError for what is no JSON, or has a lone surrogate."""
    value = json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)
    json.dumps(value, ensure_ascii=False).encode()
    return value


@given(ROWS, WRITTEN, st.booleans())
def test_the_canonical_form_means_the_same(rows, separators, ascii_only):
    document = read_document(
        lines_of([json.dumps(row, separators=separators, ensure_ascii=ascii_only) for row in rows]), "a row"
    )
    assert [read(text) for text in texts_of(document.lines)] == rows
    assert [read_nodes(document, Objects.of_lines(document).take(np.array([row]))) for row in range(len(rows))] == rows


def read_nodes(document, objects):
    """What the nodes of one object say, at any depth."""
    nodes, _ = objects.members()
    labels = names_of(document, nodes)
    names = [labels.texts[code] for code in labels.codes.tolist()]
    found = {name: read_node(document, objects, name) for name in names}
    for name in names:  # in one pass, and one by one
        assert objects.find(*names).node(name).tolist() == Objects.find(objects, name).node(name).tolist()
    return found


def read_node(document, objects, name):
    at = objects.slices(name)
    byte = chr(at.first_bytes(document.text)[0])
    if byte == "{":
        return read_nodes(document, objects.inner(name, "an object"))
    if byte == "[":
        nodes, _ = objects.elements(name)
        texts = raw_of(document.text, Slices.of_nodes(document.nodes, nodes)).to_pylist()
        return [json.loads(text or "null") for text in texts]
    text = objects.text(name)[0].as_py()
    return text if byte == '"' else json.loads(text or "null")


@settings(max_examples=3 * settings.default.max_examples)  # most damage is refused
@given(ROWS, WRITTEN, st.data())
def test_a_damaged_line_is_accepted_where_python_reads_it(rows, separators, data):
    line = json.dumps(rows[0], separators=separators, ensure_ascii=data.draw(st.booleans()))
    at = data.draw(st.integers(0, len(line)))
    line = line[:at] + data.draw(DAMAGE) + line[at + data.draw(st.integers(0, 3)) :]
    try:
        value = read(line.strip(" \t\r"))
    except ValueError:
        value = []
    good = value is None or isinstance(value, dict) or not line.strip(" \t\r")
    texts, error = [], ""
    try:
        texts = texts_of(checked(lines_of(["{}", line, "{}"]), "a row"))
    except DataError as refused:
        error = str(refused)
    assert (not error) == good
    assert not error or error.startswith("f:2: ")
    if texts and line.strip(" \t\r"):
        assert read(texts[1]) == value


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_brackets_inside_each_other_are_bounded(opening):
    closing = {"[": "]", '{"a":': "}"}[opening]
    deepest = '{"a":' + opening * (MAX_DEPTH - 1) + "1" + closing * (MAX_DEPTH - 1) + "}"
    assert texts_of(checked(lines_of([deepest]), "a row")) == [deepest]
    with pytest.raises(DataError, match=f"f:1: no JSON: character .*more than {MAX_DEPTH} brackets"):
        checked(lines_of(['{"a":' + opening * 200_000]), "a row")


@pytest.mark.parametrize("count", [2, 64, 65, 5000])
def test_a_name_that_stands_twice_is_found_among_many(count):
    names = [f"column_{number}" for number in range(count)]
    line = "{" + ",".join(f'"{name}":1' for name in names) + "}"
    assert texts_of(checked(lines_of([line]), "a row")) == [line]
    with pytest.raises(DataError, match=rf"f:1: the member 'column_{count - 1}' stands twice"):
        checked(lines_of([line[:-1] + f',"\\u0063olumn_{count - 1}":2}}']), "a row")


@pytest.mark.parametrize("line", ['{"a":1,"a":2}', '{"a":1,"b":2,"a":3}', '{"b":1,"a":2,"b":3}', '{"a":1,"b":2,"b":3}'])
def test_a_name_that_stands_twice_is_found_after_a_line_with_the_same_names(line):
    with pytest.raises(DataError, match=r"f:2: the member '[ab]' stands twice"):
        checked(lines_of(['{"a":1,"b":2}', line]), "a row")


@pytest.mark.parametrize("line", ['{"b":1,"a":2}', '{"a":1}', '{"b":2}', '{"a":1,"c":2}', '{"aa":1,"b":2,"a":3}', "{}"])
def test_names_may_differ_from_those_of_the_line_before(line):
    lines = ['{"a":1,"b":2}', line, '{"a":1,"b":2}']
    document = read_document(lines_of(lines), "a row")
    for row, text in enumerate(lines):
        assert read_nodes(document, Objects.of_lines(document).take(np.array([row]))) == json.loads(text)


def test_elements_of_lists():
    document = read_document(lines_of(['{"a":[1,[2,3],"a,b"]}', '{"a":[]}', '{"a":null}', '{"a":[{}]}']), "a row")
    nodes, record = Objects.of_lines(document).elements("a")
    found = raw_of(document.text, Slices.of_nodes(document.nodes, nodes))
    assert found.to_pylist() == ["1", "[2,3]", '"a,b"', "{}"]
    assert record.tolist() == [0, 0, 0, 3]
