"""Plain JSON, CSV and XML: what Python's json and csv, pyarrow and lxml read of every case; modes, quotes, encodings."""

import base64
import csv
import gzip
import io
import json
import sys
from decimal import Decimal

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from integrator import schema
from integrator.contracts.message_format import Csv, Options
from integrator.formats import csv_text, hvr_xml, plain_json
from integrator.formats.finish import compressor, text_bytes
from integrator.formats.records import InvalidValue, UnsupportedValue
from integrator.schema import Column
from tests.cases import CASES, array
from tests.wire import neutral

pytestmark = pytest.mark.fast

IDS = [case[0] for case in CASES]
OPTIONS = Options(decimals="NUMERIC", json_mode="ROW_FRAGMENTS")


def encode(said, kind, values, options=OPTIONS, missing=None):
    return said.encoder([Column("c", kind)], options)({"c": values}, missing or {}).to_pylist()


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_pythons_json_reads_every_case(case):
    _, kind, values, _, _ = case
    for row, value in zip(encode(plain_json.FORMAT, kind, array(kind, values)), values, strict=True):
        got = neutral.plain_json(kind, json.loads(row, parse_float=Decimal)["c"])
        if isinstance(kind, schema.String):
            got = json.loads(row)["c"]
        assert neutral.same(neutral.given(kind, value), got)


MODES = [
    ("ROW_FRAGMENTS", '{"c1":44}'),
    ("ROW_ARRAY", '[{"c1":44}]'),
    ("TABLE_OBJECT", '{"tab1":[{"c1":44}]}'),
    ("TABLE_ARRAY", '[{"tab1":[{"c1":44}]}]'),
]


@pytest.mark.parametrize(("mode", "message"), MODES)
def test_the_modes_of_plain_json(mode, message):
    options = Options(json_mode=mode)
    frame = plain_json.FORMAT.frame("tab1", [], options, None)
    [row] = plain_json.FORMAT.encoder([Column("c1", schema.Integer(32))], options)({"c1": pa.array([44])}, {})
    assert frame.opening.decode() + row.as_py() + frame.closing.decode() == message


def test_decimals_and_bytes_of_json_as_the_channel_says():
    amount = pa.array([Decimal("-1.50")], pa.decimal128(10, 2))
    for decimals, text in (("NUMERIC", "-1.50"), ("TEXT", '"-1.50"'), ("BASE64", '"/2o="')):
        assert encode(plain_json.FORMAT, schema.Decimal(10, 2), amount, Options(decimals=decimals)) == [
            f'{{"c":{text}}}'
        ]
    data = pa.array([b"\x00\xff"])
    for binary, text in (("BASE64", "AP8="), ("HEX", "00ff")):
        assert encode(plain_json.FORMAT, schema.Bytes(), data, Options(binary=binary)) == [f'{{"c":"{text}"}}']


PLAIN = Options(decimals="NUMERIC", binary="BASE64", csv=Csv(null="\\N"))


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_pythons_csv_reads_every_case(case):
    _, kind, values, _, _ = case
    if sys.version_info < (3, 11):  # whose csv takes no NUL
        values = [value for value in values if not isinstance(value, str) or "\x00" not in value]
    for row, value in zip(encode(csv_text.FORMAT, kind, array(kind, values), PLAIN), values, strict=True):
        text = row.decode()
        [fields] = csv.reader(io.StringIO(text, newline=""))
        field = fields[0] if fields else ""  # an empty line is how one empty field is written
        is_null = text == "\\N\n"
        if isinstance(kind, schema.Bytes):
            got = None if is_null else base64.b64decode(field)
        else:
            got = neutral.from_plain_text(kind, None if is_null else field)
        assert neutral.same(neutral.given(kind, value), got)


TEXTS = ["", "plain", 'q"uote', "com,ma", "new\nline", "\\N", "Zoë 李雷 🚀", "\\", None, " x ", "a\r\nb"]
STYLES = [
    Csv(header_line=True),
    Csv(header_line=True, field_separator="|", null="NULL"),
    Csv(header_line=True, field_separator="\t", quote="'", escape="'"),
    Csv(header_line=True, escape="\\"),
]


@pytest.mark.parametrize("style", STYLES)
def test_pyarrow_reads_csv_of_all_styles_with_null_apart_from_text(style):
    columns = [Column("n", schema.Integer(32)), Column("s", schema.String()), Column("t", schema.String())]
    table = {"n": pa.array(range(len(TEXTS)), pa.int32()), "s": pa.array(TEXTS), "t": pa.array(TEXTS[::-1])}
    frame = csv_text.FORMAT.frame("t", columns, Options(csv=style), None)
    rows = csv_text.FORMAT.encoder(columns, Options(csv=style))(table, {}).to_pylist()
    read = pyarrow.csv.read_csv(
        io.BytesIO(frame.opening + b"".join(rows) + frame.closing),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=style.field_separator,
            quote_char=style.quote,
            escape_char=style.escape if style.escape != style.quote else False,
            newlines_in_values=True,
        ),
        convert_options=pyarrow.csv.ConvertOptions(
            null_values=[style.null],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            column_types={"s": pa.string(), "t": pa.string()},
        ),
    )
    assert read.to_pydict() == {"n": list(range(len(TEXTS))), "s": TEXTS, "t": TEXTS[::-1]}


def test_golden_csv():
    style = Csv(header_line=True, line_separator="\r\n", file_terminator="EOF", null="?")
    columns = [Column("id", schema.Integer(32)), Column("a,b", schema.String())]
    table = {"id": pa.array([1, None], pa.int32()), "a,b": pa.array(['say "hi"', "?"])}
    frame = csv_text.FORMAT.frame("t", columns, Options(csv=style), None)
    rows = csv_text.FORMAT.encoder(columns, Options(csv=style))(table, {}).to_pylist()
    assert frame.opening + b"".join(rows) + frame.closing == b'id,"a,b"\r\n1,"say ""hi"""\r\n?,"?"\r\nEOF'


def test_bytes_are_copied_into_csv_by_default_and_quoted_where_they_must_be():
    options = Options(binary="COPY")
    assert encode(csv_text.FORMAT, schema.Bytes(), pa.array([b"\x00\xff", b"a,b", None]), options) == [
        b"\x00\xff\n",
        b'"a,b"\n',
        b"\n",
    ]


def document(rows, kind, options=OPTIONS):
    frame = hvr_xml.FORMAT.frame("t", [Column("c", kind)], options, None)
    return (frame.opening + "".join(rows).encode() + frame.closing).decode()


def no_controls(case):
    _, kind, values, *_ = case
    if isinstance(kind, schema.String):
        values = [value for value in values if value is None or not set(value) & set(map(chr, (0, 1, 8, 12, 31)))]
    return case[0], kind, values


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("case", list(map(no_controls, CASES)), ids=IDS)
def test_lxml_reads_every_case(case, compact):
    _, kind, values = case
    options = Options(decimals="NUMERIC", compact=compact)
    for row, value in zip(encode(hvr_xml.FORMAT, kind, array(kind, values), options), values, strict=True):
        root = etree.fromstring(document([row], kind, options).encode())
        assert (root.tag, root.get("version"), root[0].tag, root[0].get("name")) == ("hvr", "1.0", "table", "t")
        [column] = root[0][0]
        assert (root[0][0].tag, column.tag, column.get("name")) == (
            ("r", "c", "c") if compact else ("row", "column", "c")
        )
        text = None if column.get("is_null") == "true" else column.text or ""
        if isinstance(kind, schema.Bytes) and text is not None:
            assert column.get("format") == "hex"
            got = bytes.fromhex(text)
        else:
            got = neutral.from_plain_text(kind, text)
        assert neutral.same(neutral.given(kind, value), got)


def test_golden_xml():
    options = Options(encoding="UTF-8")
    rows = hvr_xml.FORMAT.encoder([Column("a", schema.String()), Column('b"', schema.Bytes())], options)(
        {"a": pa.array(["x < y & z", None]), 'b"': pa.array([b"\x01", b""])},
        {"a": pa.array([False, False]).to_numpy(False)},
    )
    assert document(rows.to_pylist(), schema.String(), options) == (
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?><hvr version="1.0"><table name="t">'
        '<row><column name="a">x &lt; y &amp; z</column><column name=\'b"\' format="hex">01</column></row>'
        '<row><column name="a" is_null="true"/><column name=\'b"\' format="hex"></column></row></table></hvr>'
    )


@pytest.mark.parametrize("text", ["\x00", "a\x1fb", "￿"])
def test_characters_that_xml_does_not_have_are_refused(text):
    with pytest.raises(UnsupportedValue, match="XML cannot hold") as raised:
        encode(hvr_xml.FORMAT, schema.String(), pa.array(["fine", None, text]))
    assert raised.value.index == 2


@pytest.mark.parametrize("said", [plain_json.FORMAT, hvr_xml.FORMAT])
def test_a_missing_value_is_left_out_and_null_is_not(said):
    columns = [Column(name, schema.String()) for name in "ab"]
    table = {name: pa.array(["x", None]) for name in "ab"}
    missing = {"a": pa.array([False, True]).to_numpy(zero_copy_only=False)}
    rows = said.encoder(columns, OPTIONS)(table, missing).to_pylist()
    assert (
        rows
        == {
            plain_json.FORMAT: ['{"a":"x","b":"x"}', '{"b":null}'],
            hvr_xml.FORMAT: [
                '<row><column name="a">x</column><column name="b">x</column></row>',
                '<row><column name="b" is_null="true"/></row>',
            ],
        }[said]
    )


def test_floats_that_json_has_no_number_for_are_text_in_csv_and_xml():
    values = pa.array([float("nan"), float("inf"), float("-inf")])
    assert encode(csv_text.FORMAT, schema.Float(64), values) == [b"NaN\n", b"INF\n", b"-INF\n"]
    with pytest.raises(UnsupportedValue, match="is no JSON number"):
        encode(plain_json.FORMAT, schema.Float(64), values)


@pytest.mark.parametrize(
    "encoding",
    ["US-ASCII", "ISO-8859-1", "ISO-8859-9", "WINDOWS-1251", "WINDOWS-1252", "UTF-16LE", "UTF-16BE", "UTF-8"],
)
@given(values=st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_any_text_in_any_encoding_is_what_python_makes_of_it_or_refused(encoding, values):
    def fits(value):
        try:
            return value is None or value.encode(encoding) is not None
        except UnicodeEncodeError:
            return False

    wrong = [at for at, value in enumerate(values) if not fits(value)]
    if wrong:
        with pytest.raises(InvalidValue, match="has no character") as raised:
            text_bytes(pa.array(values, pa.string()), Options(encoding=encoding))
        assert raised.value.index == wrong[0]
    else:
        made = text_bytes(pa.array(values, pa.string()), Options(encoding=encoding)).to_pylist()
        assert made == [None if value is None else value.encode(encoding) for value in values]


def test_line_ends_and_compression():
    text = pa.array(["a\nb\r\nc", None])
    assert text_bytes(text, Options(newlines="DOS")).to_pylist() == [b"a\r\nb\r\nc", None]
    assert text_bytes(text, Options(newlines="UNIX")).to_pylist() == [b"a\nb\nc", None]
    data = pa.array([b"x" * 100, None, b""])
    packed = compressor(Options(compress="GZIP"))(data).to_pylist()
    assert [None if part is None else gzip.decompress(part) for part in packed] == data.to_pylist()
    assert packed == compressor(Options(compress="GZIP"))(data).to_pylist()
    frames = compressor(Options(compress="LZ4"))(data).to_pylist()
    unpacked = [None if part is None else pa.CompressedInputStream(io.BytesIO(part), "lz4").read() for part in frames]
    assert unpacked == data.to_pylist()
