"""Schemas that lines begin with are left out, and nothing else: each line is what it was, whole, and in errors."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integrator.decode.json.document import read_document
from integrator.decode.json.objects import Objects
from integrator.decode.lines import reading as reading_lines
from integrator.decode.lines.reading import LineReading, read_lines, whole_lines
from integrator.decode.lines.repeated import RepeatedMember
from integrator.errors import DataError

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler]

ONE = '{"type":"struct","name":"a"}'
OTHER = '{"type":"struct","name":"b","fields":[{"field":"é"}]}'
LEFT_OUT = [f'{{"schema":{ONE},"payload":{{"id":1}}}}', f'{{"schema":{OTHER},"payload":null}}']
AS_THEY_ARE = [
    *('{"schema": ' + ONE + ',"payload":{}}', f'{{ "schema":{ONE},"payload":{{}}}}', '{"payload":{},"schema":{}}'),
    *(f'{{"schema":{ONE},"id":1}}', f'{{"schema":{ONE}}}', '{"schema":0,"payload":{}}', '{"schema":null,"payload":{}}'),
    *('{"schema":{"a":"\\u0062"},"payload":{}}', '{"schema":{"a":1,"a":2},"payload":{}}', '{"id":1}', "", "null"),
    *('{"schema":{"a":NaN},"payload":{}}', '{"schema":{"a"', '{"schema":{"a":1}', '{"schema":', "{"),
]
LINES = st.lists(st.sampled_from([*LEFT_OUT, *AS_THEY_ARE]) | st.text('{}"schemapyld:,é', max_size=30), max_size=30)


def reading(block=1000):
    return LineReading(block, shortening=RepeatedMember("schema", "payload"))


def text_of(found):
    return [(int(number), found.whole(at).rstrip("\n")) for at, number in enumerate(found.numbers)]


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.integers(1, 300))
def test_every_line_is_what_it_was(tmp_path_factory, texts, end, block):
    path = tmp_path_factory.mktemp("lines") / "f"
    path.write_bytes("".join(text + end for text in texts).encode())
    wanted = [(at, text) for at, text in enumerate(texts, 1) if text.strip(" \t\r")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading_lines, "_PIECE_BYTES", 64)
        assert [one for part in read_lines(str(path), reading(block)) for one in text_of(part)] == wanted
    assert [one for part in whole_lines(str(path), reading()) for one in text_of(part)] == wanted


@pytest.mark.parametrize(("text", "is_left_out"), [*((t, True) for t in LEFT_OUT), *((t, False) for t in AS_THEY_ARE)])
def test_what_is_left_out(text, is_left_out, tmp_path):
    (tmp_path / "f").write_text(f"{text}\n{text}\n")
    found = list(read_lines(str(tmp_path / "f"), reading()))
    for part in found:
        codes = [-1, -1] if part.left_out is None else part.left_out.codes.tolist()
        assert codes == [0 if is_left_out else -1] * 2
        assert (b'"schema":0,"payload"' in part.data) == (is_left_out or text.startswith('{"schema":0'))
    assert found or not text


def test_which_schema_each_record_has(tmp_path):
    texts = [LEFT_OUT[0], AS_THEY_ARE[0], LEFT_OUT[1], '{"id":1}', LEFT_OUT[0], AS_THEY_ARE[2]]
    (tmp_path / "f").write_text("".join(text + "\n" for text in texts))
    [part] = read_lines(str(tmp_path / "f"), reading())
    labels = Objects.of_lines(read_document(part, "an event")).labels_with_left_out("schema")
    assert [labels.texts[code] if code >= 0 else None for code in labels.codes] == [ONE, ONE, OTHER, None, ONE, "{}"]
    assert len(set(labels.texts)) == len(labels.texts)


@pytest.mark.parametrize("tail", ['"id":}}', '"id":1', "}}x", '"id":1,"id":2}}'])
def test_an_error_is_as_without_it(tail, tmp_path):
    (tmp_path / "f").write_text(f'{LEFT_OUT[1]}\n{{"schema":{OTHER},"payload":{{{tail}\n')

    def refused(how):
        [part] = read_lines(str(tmp_path / "f"), how)
        with pytest.raises(DataError) as error:
            read_document(part, "an event")
        return str(error.value)

    assert refused(reading()) == refused(LineReading(1000))


def test_more_schemas_than_are_kept_are_read_all_the_same(tmp_path):
    texts = [json.dumps({"schema": {"name": n}, "payload": {"id": n}}, separators=(",", ":")) for n in range(1500)]
    (tmp_path / "f").write_text("".join(text + "\n" for text in texts * 2))
    [part] = read_lines(str(tmp_path / "f"), reading(1 << 20))
    assert [text for _, text in text_of(part)] == texts * 2
    labels = Objects.of_lines(read_document(part, "an event")).labels_with_left_out("schema")
    assert [labels.texts[code] for code in labels.codes] == [f'{{"name":{n}}}' for n in range(1500)] * 2
    assert np.count_nonzero(part.left_out.codes >= 0) == 2 * 1024
