"""One value as a message: FileFormat Text and Bytes; and the values of headers, as Kafka Connect's converters write them."""

import json

import pytest

from integrator.errors import ConfigurationError, DataError
from tests.parts import pure

pytestmark = pytest.mark.fast

DDL = "create table t(id int primary key, v text, n decimal(6,2), at timestamptz(3), photo bytea);"
AT = "2026-11-20T12:34:56.789Z"
PHOTO = b"\x00\xff\n"
ONE = {"hvr_op": 1, "id": 1, "v": 'a\u00e9,"b"\nc', "n": "1.50", "at": AT, "photo": PHOTO.hex()}
NONE = {"hvr_op": 1, "id": 2, "v": None, "n": None, "at": None, "photo": None}


def sent(directory, fmt, *records, ddl=DDL, more="", kafka=""):
    recipe = pure.recipe(directory, ddl, f"  - {{action: FileFormat, {fmt}}}\n{more}", kafka=kafka)
    stamped = [{"hvr_cap_tstamp": AT, **record} for record in records]
    return pure.messages(recipe, pure.hvr(directory, *stamped))


def values(directory, fmt, *records, **more):
    return [message.value for message in sent(directory, fmt, *records, **more)]


TEXTS = [
    # the template, the message of a row, and that of a row of nulls
    ("{v}", ONE["v"], None),
    ("{id}", "1", "2"),
    ("{n}", "1.50", None),
    ("{at}", "2026-11-20 13:34:56", None),  # as IntegrateExpression has it: the channel's zone
    ("{id}: {v}", f"1: {ONE['v']}", "2: "),
    ("row {hvr_op} of {hvr_tbl_name}", "row 1 of t", "row 1 of t"),
    ("sql: upper(v)", ONE["v"].upper(), None),
    ("fixed", "fixed", "fixed"),
]


@pytest.mark.parametrize(("template", "text", "of_nulls"), TEXTS)
def test_text(template, text, of_nulls, tmp_path):
    found = values(tmp_path, f"Text: '{template}'", ONE, NONE)
    assert found == [text.encode(), None if of_nulls is None else of_nulls.encode()]


def test_text_in_another_encoding_with_other_line_ends_and_compressed(tmp_path):
    import gzip

    fmt = "Text: '{v}', Encoding: UTF-16LE, ConvertNewlinesTo: DOS, Compress: GZIP"
    [found] = values(tmp_path, fmt, ONE)
    assert gzip.decompress(found).decode("utf-16-le") == ONE["v"].replace("\n", "\r\n")


def test_bytes(tmp_path):
    assert values(tmp_path, "Bytes: photo", ONE, NONE) == [PHOTO, None]


def test_a_message_of_one_value_has_the_key_of_its_row(tmp_path):
    more = "  - {action: Integrate, MessageKeySerializer: CONNECT_PAYLOAD, MessageHeaders: 'v={id}', OnDeleteSendTombstone: true}\n"
    found = sent(tmp_path, "Text: '{v}'", ONE, {"hvr_op": 0, "id": 1}, more=more)
    assert [(json.loads(message.key), message.value, message.headers) for message in found] == [
        ({"id": 1}, ONE["v"].encode(), {"v": b"1"}),
        ({"id": 1}, None, {"v": b"1"}),
    ]


def test_a_text_needs_the_values_that_are_in_it(tmp_path):
    with pytest.raises(
        DataError, match=r"\{v\} is missing in the record; write \{v %\[allow_missings\]\} to let it be"
    ):
        sent(tmp_path, "Text: '{v}'", {"hvr_op": 2, "id": 1})
    deleted = {"hvr_op": 0, "id": 1}
    more = "  - {action: ColumnProperties, Name: gone, Extra: true, SoftDelete: true}\n"
    assert values(tmp_path, "Text: '{hvr_op};{id}'", deleted, more=more) == [b"0;1"]


def test_values_without_keys(tmp_path):
    [found] = sent(tmp_path, "Text: '{v}'", ONE, more="  - {action: Integrate, MessageKeySerializer: NONE}\n")
    assert (found.key, found.value) == (None, ONE["v"].encode())


def test_what_is_made_for_one_table_is_sent_as_its_text(tmp_path):
    more = "  - {action: ColumnProperties, Name: raw, Extra: true, Datatype: blob, IntegrateExpression: '{photo}'}\n"
    assert values(tmp_path, "Bytes: raw", ONE, more=more) == [PHOTO]


REFUSED = [
    ("Text: '{w}'", "", "{w} is neither a substitution nor a column; its columns are id, v, n, at, photo"),
    ("Text: '{photo}'", "", "{photo} is blob, which cannot become text"),
    ("Text: '{hvr_key_hash}'", "", "{hvr_key_hash} cannot stand in an IntegrateExpression"),
    ("Bytes: foto", "", "'foto' is no column of its messages; its columns of bytes are photo, or leave it out: {action: TableProperties, table: t, Absent: true}"),
    ("Bytes: v", "", "'v' is text, and no bytes; write Text: '{v}' for its text"),
    ("Bytes: photo, Text: '{v}'", "", "a location has one format, and Text is another"),
    ("Text: '{v}', Envelope: DEBEZIUM", "", "with Text, a message is one value: leave it out"),
    ("Bytes: photo, BeforeUpdateColumns: o_", "", "with Bytes, a message is one value: leave it out"),
    ("Bytes: photo, Encoding: UTF-16LE", "", "Encoding belongs to Csv and Xml and Json and Text, and the format is Bytes"),
    ("Text: '{v}'", ", Kafka_Schema_Registry: 'http://x'", "with a schema registry the format is Kafka_Schema_Registry_Format: leave it out"),
    ("Text: '{v}'", ", Kafka_Message_Bundling: THRESHOLD", "TEXT makes a value of each row; use ROW"),
    ("Text: '{v}'", ", Json_Times: CONNECT", "belongs to SCHEMA_PAYLOAD, PAYLOAD, REGISTRY_JSON, REGISTRY_AVRO, AVRO_FILE, and the format is TEXT"),
]  # fmt: skip


@pytest.mark.parametrize(("fmt", "kafka", "said"), REFUSED)
def test_what_cannot_be_one_value(fmt, kafka, said, tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        sent(tmp_path, fmt, kafka=kafka)
    assert said in str(raised.value)
    assert f"{tmp_path}/channel.yaml:" in str(raised.value)


HEADERS = [
    # the serializer, the template, the bytes of a row, and of a row of nulls
    ("STRING", "{id}", b"1", b"2"),
    ("STRING", "{at}", b"20261120123456", None),
    ("CONNECT", "{id}", b'{"schema":{"type":"int32","optional":false},"payload":1}', b'{"schema":{"type":"int32","optional":false},"payload":2}'),
    ("CONNECT", "{hvr_tbl_name}", b'{"schema":{"type":"string","optional":false},"payload":"t"}', b'{"schema":{"type":"string","optional":false},"payload":"t"}'),
    ("CONNECT_PAYLOAD", "{v}", json.dumps(ONE["v"], ensure_ascii=False).encode(), None),
    ("CONNECT_PAYLOAD", "{id}-{hvr_op}", b'"1-1"', b'"2-1"'),
    ("CONNECT_PAYLOAD", "{n}", b'"AJY="', None),
    ("CONNECT_PAYLOAD", "{at}", b"1795178096789", None),
    ("CONNECT_PAYLOAD", "{at %Y}", b'"2026"', None),
    ("CONNECT_PAYLOAD", "{hvr_op}", b"1", b"1"),
    ("CONNECT_PAYLOAD", "{photo}", b'"AP8K"', None),
    ("CONNECT_PAYLOAD", "7", b"7", b"7"),
    ("BYTES", "{photo}", PHOTO, None),
]  # fmt: skip


@pytest.mark.parametrize(("serializer", "template", "of_row", "of_nulls"), HEADERS)
def test_headers(serializer, template, of_row, of_nulls, tmp_path):
    more = f"  - {{action: Integrate, MessageHeaders: 'h={template}', MessageHeaderSerializer: {serializer}}}\n"
    found = sent(tmp_path, "Json: true, JsonMode: ROW_FRAGMENTS", ONE, NONE, more=more)
    assert [message.headers for message in found] == [{"h": of_row}, {"h": of_nulls}]


WRONG_HEADERS = [
    ("MessageHeaders: 'h={v}', MessageHeaderSerializer: BYTES", "header h: BYTES writes a column of bytes: write {column} alone"),
    ("MessageHeaders: 'h={photo}{v}', MessageHeaderSerializer: CONNECT", "{photo} is blob, which cannot become text"),
    ("MessageHeaders: 'h={photo}'", "{photo} is blob, which cannot become text"),
    ("MessageHeaderSerializer: CONNECT", "needs MessageHeaders, whose values it writes; leave it out"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "said"), WRONG_HEADERS)
def test_headers_that_cannot_be(given, said, tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        sent(tmp_path, "Json: true", more=f"  - {{action: Integrate, {given}}}\n")
    assert said in str(raised.value)
