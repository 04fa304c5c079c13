"""JSON text as a tree that can be written in ways that JSON allows, and in ways that it does not."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field

_SPACES = ("", "", "", " ", "  ", "\t", "\r", " " * 40)


@dataclass
class Leaf:
    """A scalar, as it is written. frozen: it is not to be changed."""

    text: str
    frozen: bool = False


@dataclass
class Group:
    """An object, whose items have names, or a list, whose items have none."""

    is_object: bool
    names: list[str] = field(default_factory=list)
    items: list[Leaf | Group] = field(default_factory=list)

    def index(self, name: str) -> int:
        """Return where the member of that name stands; -1 where there is none."""
        written = json.dumps(name, ensure_ascii=False)
        return self.names.index(written) if written in self.names else -1


class _Text(str):
    __slots__ = ()


def read(line: str, frozen: str = "") -> Group:
    """Return the tree of a line; the member `frozen` of the line's object is left as it is."""
    pairs = json.loads(line, object_pairs_hook=_Pairs, parse_int=_Text, parse_float=_Text)
    node = _node(pairs)
    assert isinstance(node, Group)
    at = node.index(frozen)
    if at >= 0:
        node.items[at] = Leaf(write(node.items[at]), frozen=True)
    return node


class _Pairs(list):
    """The members of an object."""


def _node(value: object) -> Leaf | Group:
    if isinstance(value, _Pairs):
        return Group(
            True, [json.dumps(name, ensure_ascii=False) for name, _ in value], [_node(one) for _, one in value]
        )
    if isinstance(value, list):
        return Group(False, [], [_node(one) for one in value])
    return Leaf(str(value) if isinstance(value, _Text) else json.dumps(value, ensure_ascii=False))


def write(node: Leaf | Group, spaces: random.Random | None = None) -> str:
    """Return the tree as text, with white space anywhere where `spaces` is given."""
    if isinstance(node, Leaf):
        return node.text
    gap = (lambda: spaces.choice(_SPACES)) if spaces else (lambda: "")
    parts = [
        f"{gap()}{node.names[at] + gap() + ':' + gap() if node.is_object else ''}{write(item, spaces)}{gap()}"
        for at, item in enumerate(node.items)
    ]
    begin, end = "{}" if node.is_object else "[]"
    return begin + (",".join(parts) or gap()) + end


def groups(node: Leaf | Group, *, objects: bool = False) -> list[Group]:
    """Return all objects and lists in the tree, itself among them."""
    if isinstance(node, Leaf):
        return []
    inner = [found for item in node.items for found in groups(item, objects=objects)]
    return ([node] if node.is_object or not objects else []) + inner


def places(node: Group) -> list[tuple[Group, int]]:
    """Return where each value stands: its group, and its place in that."""
    return [
        (group, at)
        for group in groups(node)
        for at, item in enumerate(group.items)
        if not (isinstance(item, Leaf) and item.frozen)
    ]
