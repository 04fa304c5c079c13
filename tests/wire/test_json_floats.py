"""Floating point numbers in every format that writes JSON: they read back the same, minus zero too, or are refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest

from integrator import schema
from integrator.contracts.message_format import Options
from integrator.formats import FORMATS
from integrator.formats.keys import KEYS, key_options
from integrator.formats.records import UnsupportedValue
from integrator.schema import Column
from integrator.transform.cast import json_text

PLAIN = Options(decimals="NUMERIC", json_mode="ROW_FRAGMENTS")
JSON = [("SCHEMA_PAYLOAD", Options()), ("PAYLOAD", Options()), ("JSON", PLAIN), ("REGISTRY_JSON", Options())]
VALUES = [0.0, -0.0, 1.0, -3.0, 0.1, 1e15, 1e16, 2.0**53, 1e22, 1e-7, 5e-324, 1.7976931348623157e308]
NO_NUMBERS = [math.nan, math.inf, -math.inf]


def test_the_formats_are_all_that_write_json():
    assert {name for name, _ in JSON} <= set(FORMATS)
    others = {name for name in FORMATS if "JSON" in name or "PAYLOAD" in name} - {name for name, _ in JSON}
    assert not others


@pytest.mark.parametrize(("name", "options"), JSON)
@pytest.mark.parametrize("bits", [32, 64])
def test_a_number_reads_back_with_its_sign(name, options, bits):
    kind = schema.Float(bits)
    sent = [value for value in VALUES if bits == 64 or abs(value) < 1e38]
    column = pa.array(sent, schema.arrow_type(kind))
    rows = FORMATS[name].encoder([Column("c", kind)], options)({"c": column}, {})
    read = [json.loads(text)["c"] for text in rows.cast(pa.binary()).to_pylist()]
    assert [np.dtype(f"f{bits // 8}").type(value).tobytes() for value in read] == [
        value.tobytes() for value in column.to_numpy()
    ]


@pytest.mark.parametrize(("name", "options"), JSON)
@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_json_has_no_number_for_is_refused(name, options, value):
    for kind, values in ((schema.Float(64), [1.0, value]), (schema.Array(schema.Float(64)), [[1.0], [value]])):
        encode = FORMATS[name].encoder([Column("c", kind)], options)
        with pytest.raises(UnsupportedValue, match="is no JSON number; send the column as text") as raised:
            encode({"c": pa.array(values, schema.arrow_type(kind))}, {})
        assert raised.value.index == 1


STRUCTS = [name for name, key in KEYS.items() if key.encoder is not None and ("JSON" in name or "CONNECT" in name)]


@pytest.mark.parametrize("name", STRUCTS)
def test_minus_zero_in_keys(name):
    encode = KEYS[name].encoder([Column("c", schema.Float(64))], key_options(name, Options()))
    assert encode({"c": pa.array([-0.0, 0.0])}, {}).cast(pa.string()).to_pylist() == (
        ["-0.0", "0"] if KEYS[name].lone else ['{"c":-0.0}', '{"c":0}']
    )


def test_lists_as_json_text():
    kind = schema.Array(schema.Float(64))
    assert json_text(pa.array([[-0.0, 0.0, 1.5]]), kind, None).to_pylist() == ["[-0.0,0,1.5]"]
