"""The headers of messages: those of rows of any tables are made in one pass, and cost what their bytes do."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from integrator.contracts.fragments import WITHOUT_FORM
from integrator.contracts.outgoing import HEADER_OVERHEAD, header_size
from integrator.encode.frames.headers import KindHeaders, headers_of_rows, with_columns

pytestmark = pytest.mark.fast

NAMES = st.sampled_from(["a", "b", "\u00e9", "__value_schema_id"])
VALUES = st.one_of(st.none(), st.binary(max_size=5))
KINDS = st.builds(
    KindHeaders,
    st.lists(st.tuples(NAMES, VALUES), max_size=2).map(tuple),
    st.lists(NAMES, max_size=3).map(tuple),
)


@st.composite
def rows(draw):
    """Kinds, the kind of each row, the values of its headers, or None, and its columns without form, or None."""
    kinds = draw(st.lists(KINDS, min_size=1, max_size=3))
    code = draw(st.lists(st.integers(0, len(kinds) - 1), max_size=8))
    own = [
        draw(st.one_of(st.none(), st.lists(VALUES, min_size=size, max_size=size)))
        for size in (len(kinds[one].names) for one in code)
    ]
    columns = [
        draw(st.one_of(st.none(), st.text(max_size=3))) if values is not None or not kinds[one].names else None
        for one, values in zip(code, own, strict=True)
    ]
    return kinds, code, own, columns


@given(rows(), st.integers(0, 3))
def test_each_message_has_the_headers_of_its_table_and_of_its_row(given_rows, skipped):
    kinds, code, own, columns = given_rows
    expected = [
        [
            *kinds[one].fixed,
            *(zip(kinds[one].names, values, strict=True) if values else ()),
            *([] if named is None else [(WITHOUT_FORM, named.encode())]),
        ]
        for one, values, named in zip(code, own, columns, strict=True)
    ][skipped:]
    values = pa.array(own, pa.list_(pa.binary())).slice(skipped)
    values = with_columns(values, pa.array(columns, pa.string()).slice(skipped))
    found = headers_of_rows(values, np.array(code[skipped:], np.int64), kinds)
    if found is None:
        assert not any(expected)
        return
    assert found.to_lists() == expected
    assert found.sizes().tolist() == [header_size(one) for one in expected]
    for start in range(len(expected)):
        part = found.slice(start, 2)
        assert part.to_lists() == expected[start : start + 2]
        assert part.sizes().tolist() == [header_size(one) for one in expected[start : start + 2]]


def test_a_row_that_has_other_headers_than_its_table_is_a_defect():
    with pytest.raises(ValueError, match="a row has other headers than its table"):
        headers_of_rows(pa.array([[b"1"]], pa.list_(pa.binary())), np.array([0]), [KindHeaders((), ("a", "b"))])


def test_names_cost_their_bytes_and_not_their_characters():
    [found] = headers_of_rows(
        pa.array([[b"12"]], pa.list_(pa.binary())), np.array([0]), [KindHeaders((), ("\u00e9",))]
    ).sizes()
    assert found == 2 + 2 + HEADER_OVERHEAD
