"""A line of JSON -> a tree, by Python's `json`, strictly as RFC 8259 has it and with what the project refuses besides."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.fuzz.oracle.verdict import Wrong

DEPTH = 128
"""Brackets in each other, of which a line has more, are an error."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


class Number(str):
    """A JSON number, as it is written."""

    __slots__ = ()


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Wrong("a member twice in an object")
    return members


def _no_constant(text: str) -> Any:
    raise Wrong("a bare word that is no JSON")


def depth(text: str) -> int:
    """Return how many brackets stand in each other at most, outside of strings."""
    deep = most = 0
    for mark in re.findall(r"[\[\]{}]", _STRING.sub("", text)):
        deep += 1 if mark in "[{" else -1
        most = max(most, deep)
    return most


def parse(text: str) -> Any:
    """Return the tree: dicts, lists, str, `Number`, bool, None. Raises Wrong."""
    if depth(text) > DEPTH:
        raise Wrong("nested too deeply")
    try:
        return json.loads(
            text, object_pairs_hook=_members, parse_int=Number, parse_float=Number, parse_constant=_no_constant
        )
    except ValueError:
        raise Wrong("no JSON") from None


def has_lone_surrogate(tree: Any) -> bool:
    """Return whether a string or a name anywhere in it has half of a surrogate pair."""
    if isinstance(tree, dict):
        return any(has_lone_surrogate(name) or has_lone_surrogate(value) for name, value in tree.items())
    if isinstance(tree, list):
        return any(map(has_lone_surrogate, tree))
    return isinstance(tree, str) and bool(_SURROGATE.search(tree))


def an_object(tree: Any, what: str) -> dict[str, Any]:
    """Return the tree, which must be an object. Raises Wrong."""
    if not isinstance(tree, dict):
        raise Wrong(f"{what} is no object")
    return tree
