"""XXH64 as the library xxhash has it: of values of all lengths, in slices, and the example of the docs."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from integrator.transform.key_hash import hex_digests

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler]

KNOWN = {b"": "ef46db3751d8e999", b"a": "d24ec4f1a98c6e5b", b"i2:42": "ec42cc5e0209b688"}
"""Of the empty text, of a letter, and of an integer key."""


@pytest.mark.parametrize("value", KNOWN)
def test_known_hashes(value):
    assert hex_digests(pa.array([value], pa.binary())).to_pylist() == [KNOWN[value]]


def test_each_length_takes_its_way_through_the_lanes():
    random_bytes = random.Random(1)
    values = [random_bytes.randbytes(length) for length in range(200)]
    assert hex_digests(pa.array(values, pa.binary())).to_pylist() == [*map(xxhash.xxh64_hexdigest, values)]


@given(st.lists(st.binary(max_size=100)), st.integers(0, 5))
def test_hashes_are_those_of_the_library(values, begin):
    found = hex_digests(pa.array(values, pa.binary()).slice(begin))
    assert found.to_pylist() == [*map(xxhash.xxh64_hexdigest, values[begin:])]
