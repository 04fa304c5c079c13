"""How messages show values."""

from __future__ import annotations

from decimal import Decimal

import pytest

from integrator.errors import SHOWN, shown

SHORT = [
    ("bolt", "'bolt'"),
    ("it's\n", '"it\'s\\n"'),
    (b"\xff", "b'\\xff'"),
    (None, "None"),
    (Decimal("1.20"), "1.20"),
    (["a", None], "['a', None]"),
]
LONG = [
    ("x" * 1_048_576, "… (1,048,576 characters)"),
    (b"\x00" * 300, "… (300 bytes)"),
    ("\x00" * SHOWN, "… (200 characters)"),
    (10**300, "… (301 characters)"),
]


@pytest.mark.parametrize(("value", "text"), SHORT)
def test_a_short_value_is_shown_whole(value: object, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(("value", "end"), LONG)
def test_a_long_value_is_cut_and_its_length_given(value: object, end: str) -> None:
    text = shown(value)
    assert text.endswith(end)
    assert len(text) == SHOWN + len(end)
