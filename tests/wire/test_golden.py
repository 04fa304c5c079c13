"""I2: what every format writes of every case is what it wrote before, byte for byte."""

import json

import pytest

from integrator.formats import FORMATS
from tests.wire import golden

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "PARQUET"])
def test_i2_golden_bytes(name):
    assert golden.written()[name] == json.loads(golden.FILE.read_text(encoding="utf-8"))[name]
