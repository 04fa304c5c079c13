"""One value as a message, and the values of headers, read by Kafka Connect's own converters."""

import pytest

from tests.parts import connect, java
from tests.unit.test_single_values import NONE, ONE, PHOTO, sent, values

TYPED = {"{id}": ["int32", None, "1"], "{v}": ["string", None, ONE["v"]], "{n}": ["bytes", "org.apache.kafka.connect.data.Decimal", "1.50"],
         "{photo}": ["bytes", None, PHOTO.hex()], "{hvr_op}": ["int32", None, "1"]}  # fmt: skip
INFERRED = {"{id}": ["int8", None, "1"], "{v}": ["string", None, ONE["v"]], "{hvr_tbl_name}": ["string", None, "t"]}


@pytest.mark.parametrize(
    ("serializer", "converter", "templates"),
    [
        ("CONNECT", "json.JsonConverter", TYPED),
        ("STRING", "storage.SimpleHeaderConverter", INFERRED),
        ("STRING", "storage.StringConverter", {one: ["string", None, text] for one, (_, _, text) in INFERRED.items()}),
    ],
)
def test_headers_read_by_connects_converters(serializer, converter, templates, converter_class_path, tmp_path):
    names = ";".join(f"h{at}={template}" for at, template in enumerate(templates))
    more = f"  - {{action: Integrate, MessageHeaders: '{names}', MessageHeaderSerializer: {serializer}}}\n"
    [found] = sent(tmp_path, "Json: true", ONE, more=more)
    read = java.values_read(converter_class_path, converter, list(found.headers.values()), header=True)
    assert read == list(templates.values())


def test_text_read_by_connects_string_converter(converter_class_path, tmp_path):
    found = values(tmp_path, "Text: '{v}'", ONE, NONE)
    read = java.values_read(converter_class_path, "storage.StringConverter", found)
    assert [text for _, _, text in read] == [ONE["v"], None]


def test_bytes_read_by_connects_byte_array_converter(tmp_path):
    class_path = connect.libraries()
    if class_path is None:
        pytest.skip("Kafka Connect needs mvn and Java")
    more = "  - {action: Integrate, MessageHeaders: 'h={photo}', MessageHeaderSerializer: BYTES}\n"
    found = sent(tmp_path, "Bytes: photo", ONE, NONE, more=more)
    for header, given in ((False, [one.value for one in found]), (True, [one.headers["h"] for one in found])):
        read = java.values_read(class_path, "converters.ByteArrayConverter", given, header=header)
        assert [data for _, _, data in read] == [PHOTO.hex(), None]
