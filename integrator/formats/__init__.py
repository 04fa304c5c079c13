"""Message formats: one file each, from the type tree to functions on columns; `contract` defines what a format is.

In come a table's columns and options; out go functions from arrays to the bytes of each row, and of a message.
A new format is a file with a `Format`, and a line in the dict; its golden bytes are in tests/wire.
"""

from integrator.formats import (
    avro,
    avro_file,
    bson,
    connect_json,
    csv_text,
    hvr_xml,
    json_schema,
    parquet_file,
    plain_json,
    protobuf,
    single_value,
)
from integrator.formats.contract import Format

FORMATS: dict[str, Format] = {
    "SCHEMA_PAYLOAD": connect_json.SCHEMA_PAYLOAD,
    "PAYLOAD": connect_json.PAYLOAD,
    "JSON": plain_json.FORMAT,
    "BSON": bson.FORMAT,
    "CSV": csv_text.FORMAT,
    "XML": hvr_xml.FORMAT,
    "AVRO_FILE": avro_file.FORMAT,
    "PARQUET": parquet_file.FORMAT,
    "TEXT": single_value.TEXT,
    "BYTES": single_value.BYTES,
    "REGISTRY_AVRO": avro.FORMAT,
    "REGISTRY_JSON": json_schema.FORMAT,
    "REGISTRY_PROTOBUF": protobuf.FORMAT,
}
