"""JSON with a JSON Schema: every case validates, and reads back by Python's json; the schema is annotated for Connect."""

import base64
import json
from decimal import Decimal

import jsonschema
import pyarrow as pa
import pytest

from integrator import schema
from integrator.contracts.message_format import Options, SchemaId
from integrator.formats import json_schema
from integrator.formats.records import UnsupportedValue
from integrator.schema import Column
from tests.cases import CASES, array
from tests.wire import neutral

IDS = [case[0] for case in CASES]
OPTIONS = Options(decimals="NUMERIC")


def read(kind, value):
    """JSON as Connect writes values: times and dates are numbers, bytes base64."""
    if value is None:
        return None
    match kind:
        case schema.Bytes():
            return base64.b64decode(value)
        case schema.Decimal(_, scale):
            return Decimal(value).quantize(Decimal(1).scaleb(-scale), context=neutral.EXACT)
        case schema.Float():
            return neutral.given(kind, float(value))
        case schema.Interval():
            return neutral.from_iso(value)
        case schema.Array(item):
            return [read(item, part) for part in value]
        case schema.Struct(fields):
            return {field.name: read(field.type, value[field.name]) for field in fields}
        case _:
            return value


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_every_case_validates_and_reads_back(case):
    _, kind, values, _, _ = case
    listed = [Column("c", kind)]
    said = json.loads(json_schema.schema_text("t", listed, OPTIONS))
    jsonschema.Draft7Validator.check_schema(said)
    validator = jsonschema.Draft7Validator(said)
    rows = json_schema.FORMAT.encoder(listed, OPTIONS)({"c": array(kind, values)}, {}).to_pylist()
    for row, value in zip(rows, values, strict=True):
        validator.validate(json.loads(row))
        assert neutral.same(neutral.given(kind, value), read(kind, json.loads(row, parse_float=Decimal)["c"]))


def test_a_value_of_another_type_would_not_validate():
    said = json.loads(json_schema.schema_text("t", [Column("c", schema.Integer(32), False)], OPTIONS))
    for wrong in ({"c": "1"}, {"c": 1.5}, {"c": None}, []):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, said)


def test_golden_schema():
    listed = [
        Column("id", schema.Integer(64), nullable=False),
        Column("price", schema.Decimal(10, 2)),
        Column("name", schema.String()),
        Column("raw", schema.Bytes(), nullable=False),
    ]
    assert json.loads(json_schema.schema_text("orders", listed, OPTIONS)) == {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "title": "orders",
        "properties": {
            "id": {"type": "integer", "connect.type": "int64", "connect.index": 0},
            "price": {
                "oneOf": [
                    {"type": "null"},
                    {
                        "type": "number",
                        "connect.type": "bytes",
                        "title": "org.apache.kafka.connect.data.Decimal",
                        "connect.version": 1,
                        "connect.parameters": {"scale": "2", "connect.decimal.precision": "10"},
                    },
                ],
                "connect.index": 1,
            },
            "name": {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 2},
            "raw": {"type": "string", "connect.type": "bytes", "connect.index": 3},
        },
        "additionalProperties": False,
    }


def test_a_missing_value_is_left_out():
    listed = [Column(name, schema.Integer(32)) for name in "abc"]
    columns = {name: pa.array([1, None, 3], pa.int32()) for name in "abc"}
    encode = json_schema.FORMAT.encoder(listed, OPTIONS)
    gone = {"a": [True, False, True], "c": [False, False, True]}
    missing = {name: pa.array(mask).to_numpy(zero_copy_only=False) for name, mask in gone.items()}
    rows = encode(columns, missing).to_pylist()
    assert rows == ['{"b":1,"c":1}', '{"a":null,"b":null,"c":null}', '{"b":3}']
    every = {name: pa.array([True] * 3).to_numpy(zero_copy_only=False) for name in "abc"}
    assert encode(columns, every).to_pylist() == ["{}"] * 3


def test_nan_is_refused_by_its_row():
    encode = json_schema.FORMAT.encoder([Column("c", schema.Float(64))], OPTIONS)
    with pytest.raises(UnsupportedValue, match="no JSON number") as raised:
        encode({"c": pa.array([1.0, None, float("nan")])}, {})
    assert raised.value.index == 2


def test_the_wire_format_is_that_of_avro():
    assert json_schema.FORMAT.frame("t", [], OPTIONS, SchemaId(7)).opening == b"\x00\x00\x00\x00\x07"
