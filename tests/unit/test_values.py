"""Text as PostgreSQL prints it, and what it is."""

import pyarrow as pa
import pytest

from integrator import schema
from integrator.decode.text.refused import ValueRefused
from integrator.decode.text.values import from_text

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler, pytest.mark.fast]

ARRAYS = [
    ("{a,b}", ["a", "b"]),
    ("{}", []),
    ('{"a,\nb",c}', ["a,\nb", "c"]),
    ('{"q\\"uote","back\\\\slash",""}', ['q"uote', "back\\slash", ""]),
    ('{NULL,null,"NULL"}', [None, None, "NULL"]),
    ("{Zoë,李}", ["Zoë", "李"]),
    (
        '{\u00a0,"x y",\u2003z\u2003}',
        ["\u00a0", "x y", "\u2003z\u2003"],
    ),  # PostgreSQL quotes white space of ASCII alone
    ("{\u00a0,\u2003z\u2003}", ["\u00a0", "\u2003z\u2003"]),
    ('{ a ,\t"b" , c d }', ["a", "b", "c d"]),
    ("{ }", []),
    ('{"a","b\\"}"}', ["a", 'b"}']),
    ("{nUlL,nullx}", [None, "nullx"]),
]


@pytest.mark.parametrize(("text", "items"), ARRAYS)
def test_arrays(text, items):
    for texts in ([text], [text, "{x,y}", None]):
        got = from_text(pa.array(texts), schema.Array(schema.String())).to_pylist()
        assert got == [items, ["x", "y"], None][: len(texts)]


REFUSED = [
    ("{{a},{b}}", schema.Array(schema.String()), "several dimensions; declare the column as text"),
    ("[0:1]={a,b}", schema.Array(schema.String()), "expected an array literal"),
    ('{"abc}', schema.Array(schema.String()), "expected a quote"),
    ('{"abc\\"}', schema.Array(schema.String()), "expected a quote"),
    ("{a,}", schema.Array(schema.String()), "expected an item"),
    ("{a, ,b}", schema.Array(schema.String()), "expected an item"),
    ('{"a"b}', schema.Array(schema.String()), "expected a comma"),
    ('{a"b"}', schema.Array(schema.String()), "expected quotes"),
    ("{a}b}", schema.Array(schema.String()), "expected quotes"),
    ("{0x1F}", schema.Array(schema.Integer(32)), "expected digits"),
    ("", schema.Array(schema.String()), "expected an array literal"),
    ("1.5", schema.Integer(32), "is no integer"),
    ("99999999999", schema.Integer(32), "is no integer"),
    ("1.005", schema.Decimal(5, 2), "is no decimal(5,2)"),
    (
        "9" * 39,
        schema.Decimal(38, 0),
        "does not hold exactly",
    ),  # Arrow's cast gives -20847100762815390390123822295304634369
    ("-" + "9" * 60, schema.Decimal(38, 0), "does not hold exactly"),
    ("0." + "0" * 40 + "1", schema.Decimal(38, 2), "does not hold exactly"),  # Arrow's cast gives 0.00
    ("1e-41", schema.Decimal(10, 2), "does not hold exactly"),
    ("1e9", schema.Decimal(10, 2), "does not hold exactly"),
    ("1e", schema.Decimal(10, 2), "does not hold exactly"),
    ("9" * 80, schema.Decimal(76, 0), "does not hold exactly"),
    ("0g", schema.Bytes(), "is no blob"),
    ("24:00:00", schema.Time(), "is no time(6)"),
    ("infinity", schema.Timestamp(), "is no timestamp(6)"),
    ("2026-01-01 00:00:00.1234567+00", schema.Timestamp(zoned=True), "is no timestamptz(6)"),
    ("yes", schema.Boolean(), "is no boolean"),
]


@pytest.mark.parametrize(("text", "kind", "told"), REFUSED)
def test_what_is_not_of_a_type_is_refused_with_its_place(text, kind, told):
    with pytest.raises(ValueRefused) as raised:
        from_text(pa.array([None, None, text, None]), kind)
    assert told in str(raised.value)
    assert raised.value.index == 2
