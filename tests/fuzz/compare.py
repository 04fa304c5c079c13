"""Rows as they are against rows as they must be: exactly, with the sign of zero and the type of each value."""

from __future__ import annotations

import json
from typing import Any

from tests.fuzz.oracle.tree import Number, parse
from tests.fuzz.oracle.verdict import MISSING, JsonText, OneOf, Row, Wrong


def difference(expected: list[Row], got: list[Row]) -> str:
    """Return what is different, as text; empty where nothing is."""
    if len(expected) != len(got):
        return f"{len(got)} rows, expected {len(expected)}"
    for one, other in zip(expected, got, strict=True):
        if (one.op, one.table) != (other.op, other.table):
            return f"op {other.op} of {other.table}, expected op {one.op} of {one.table}"
        for name, value in (one.values or {}).items() if other.values is not None else ():
            found = other.values[name]
            if not same(value, found):
                return f"op {one.op}, column {name}: {found!r}, expected {value!r}"
    return ""


def same(expected: Any, got: Any) -> bool:
    """Return whether a value is the expected one."""
    if isinstance(expected, OneOf):
        return any(same(one, got) for one in expected.values)
    if isinstance(expected, JsonText):
        return isinstance(got, str) and _same_json(expected.tree, got)
    if expected is MISSING or got is MISSING:
        return expected is got
    if isinstance(expected, list):
        return isinstance(got, list) and len(expected) == len(got) and all(map(same, expected, got))
    if isinstance(expected, float):
        return isinstance(got, float) and repr(expected) == repr(got)
    if isinstance(expected, str):
        return isinstance(got, str) and str.__eq__(expected, got)
    return type(expected) is type(got) and bool(expected == got)


def _same_json(tree: Any, text: str) -> bool:
    try:
        return _exactly(tree) == _exactly(parse(text))
    except Wrong:
        return False


def _exactly(tree: Any) -> str:
    """Return a form of JSON in which a number differs from its text, and 1.0 from 1."""
    if isinstance(tree, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{_exactly(value)}" for name, value in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ",".join(map(_exactly, tree)) + "]"
    return str(tree) if isinstance(tree, Number) else json.dumps(tree)
