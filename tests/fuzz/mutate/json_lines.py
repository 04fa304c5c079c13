"""Mutations of a line of JSON that know its structure. Each changes the tree in place, or does nothing where it cannot."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.fuzz.mutate import damage, pools
from tests.fuzz.mutate.nodes import Group, Leaf, groups, places, read, write


@dataclass(frozen=True)
class Names:
    """Members of a dialect's envelope: of operations, positions and times, tables and schemas."""

    words: tuple[str, ...] = ()
    positions: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


Mutation = Callable[[Group, random.Random, Names], None]


def _text(rng: random.Random) -> str:
    text = rng.choice(pools.TEXTS)
    return json.dumps(text, ensure_ascii=rng.random() < 0.3)


def scalar(rng: random.Random) -> str:
    """Return a value that is no list and no object, as text."""
    choice = rng.random()
    if choice < 0.3:
        return rng.choice(pools.NUMBERS)
    if choice < 0.38:
        return rng.choice(pools.NO_NUMBERS)
    if choice < 0.42:
        return rng.choice(pools.LONG_NUMBERS)
    if choice < 0.5:
        return rng.choice(["true", "false", "null", "null"])
    if choice < 0.58:
        return rng.choice(pools.ESCAPED)
    return _text(rng)


def _value(tree: Group, rng: random.Random, _names: Names) -> None:
    group, at = rng.choice(places(tree))
    group.items[at] = Leaf(scalar(rng) if rng.random() < 0.8 else rng.choice(pools.NESTED))


def _tweak(tree: Group, rng: random.Random, _names: Names) -> None:
    """Change a character of a value, so that it is nearly one of its type."""
    leaves = [(group, at) for group, at in places(tree) if isinstance(group.items[at], Leaf)]
    if not leaves:
        return
    group, at = rng.choice(leaves)
    text = group.items[at].text  # type: ignore[union-attr]
    inside = (1, len(text) - 1) if text.startswith('"') and len(text) > 1 else (0, len(text))
    place = rng.randint(*inside)
    letter = rng.choice("0123456789-+.:TZ /eE,{}[] aAfF_=")
    cut = min(place + rng.choice((0, 1, 1)), inside[1])
    group.items[at] = Leaf(text[:place] + rng.choice((letter, letter, "", letter * 2)) + text[cut:])


def _redigit(tree: Group, rng: random.Random, _names: Names) -> None:
    """Give a value other digits: most often it stays one of its type."""
    leaves = [(group, at) for group, at in places(tree) if isinstance(group.items[at], Leaf)]
    for group, at in rng.sample(leaves, min(len(leaves), rng.choice((1, 2, 5)))):
        text = group.items[at].text  # type: ignore[union-attr]
        group.items[at] = Leaf(
            re.sub(r"(?<!\\u)[1-9]", lambda found: rng.choice(("1", "2", "3", found[0], found[0])), text)
        )


def _same_type(tree: Group, rng: random.Random, _names: Names) -> None:
    """Replace a number by a number, text by text."""
    leaves = [(group, at) for group, at in places(tree) if isinstance(group.items[at], Leaf)]
    for group, at in rng.sample(leaves, min(len(leaves), 1)):
        text = group.items[at].text  # type: ignore[union-attr]
        group.items[at] = Leaf(_text(rng) if text.startswith('"') else rng.choice(pools.NUMBERS))


def _quoting(tree: Group, rng: random.Random, _names: Names) -> None:
    leaves = [(group, at) for group, at in places(tree) if isinstance(group.items[at], Leaf)]
    if not leaves:
        return
    group, at = rng.choice(leaves)
    text = group.items[at].text  # type: ignore[union-attr]
    group.items[at] = Leaf(text[1:-1] if text.startswith('"') and len(text) > 2 else json.dumps(text))


def _wrapped(tree: Group, rng: random.Random, _names: Names) -> None:
    group, at = rng.choice(places(tree))
    item = group.items[at]
    group.items[at] = Group(False, [], [item]) if rng.random() < 0.5 else Group(True, ['"a"'], [item])


def _absent(tree: Group, rng: random.Random, _names: Names) -> None:
    group, at = rng.choice(places(tree))
    del group.items[at]
    if group.is_object:
        del group.names[at]


def _objects(tree: Group) -> list[Group]:
    return [group for group in groups(tree, objects=True) if group.items]


def _escaped(name: str, rng: random.Random) -> str:
    inside = name[1:-1]
    plain = [
        at
        for at, letter in enumerate(inside)
        if letter != "\\" and (at == 0 or inside[at - 1] != "\\") and ord(letter) < 0x10000
    ]
    if not plain or "\\" in inside:
        return name
    at = rng.choice(plain)
    code = f"\\u{ord(inside[at]):04x}"
    return f'"{inside[:at]}{code.upper().replace("U", "u", 1) if rng.random() < 0.3 else code}{inside[at + 1 :]}"'


def _name(tree: Group, rng: random.Random, _names: Names) -> None:
    group = rng.choice(_objects(tree))
    at = rng.randrange(len(group.names))
    name = group.names[at]
    choice = rng.random()
    if choice < 0.4:
        group.names[at] = _escaped(name, rng)
    elif choice < 0.55:
        group.names[at] = rng.choice((name.upper(), name.lower(), name.title()))
    elif choice < 0.8:
        group.names[at] = rng.choice(pools.NAMES)
    else:
        group.names[at] = name[:-1] + rng.choice("_ x\u0301é") + '"'


def _twice(tree: Group, rng: random.Random, _names: Names) -> None:
    group = rng.choice(_objects(tree))
    at = rng.randrange(len(group.names))
    name = group.names[at] if rng.random() < 0.6 else _escaped(group.names[at], rng)
    item = copy.deepcopy(group.items[at]) if rng.random() < 0.5 else Leaf(scalar(rng))
    place = rng.randint(0, len(group.names))
    group.names.insert(place, name)
    group.items.insert(place, item)


def _more(tree: Group, rng: random.Random, _names: Names) -> None:
    """Add a member, or an item of a list."""
    group = rng.choice(groups(tree))
    place = rng.randint(0, len(group.items))
    if group.is_object:
        group.names.insert(place, rng.choice(pools.NAMES))
    group.items.insert(place, Leaf(scalar(rng) if rng.random() < 0.7 else rng.choice(pools.NESTED)))


def _deep(tree: Group, rng: random.Random, _names: Names) -> None:
    depth = rng.choice((3, 10, 63, 64, 65, 100, 120, 124, 125, 126, 127, 128, 129, 130, 200, 300))
    begin, end = rng.choice((("[", "]"), ('{"a":', "}"), ('[{"b":', "}]")))
    text = begin * depth + rng.choice(("1", "null", '"x"', "[]")) + end * depth
    group = rng.choice(groups(tree))
    if group.is_object and rng.random() < 0.6:
        group.names.append(rng.choice(('"zz"', '"more"', '"j"', '"c"')))
        group.items.append(Leaf(text))
    elif group.items:
        at = rng.randrange(len(group.items))
        if not getattr(group.items[at], "frozen", False):
            group.items[at] = Leaf(text)


def _order(tree: Group, rng: random.Random, _names: Names) -> None:
    for group in _objects(tree):
        places = list(range(len(group.names)))
        rng.shuffle(places)
        group.names, group.items = [group.names[at] for at in places], [group.items[at] for at in places]


def _named(tree: Group, rng: random.Random, names: tuple[str, ...], pool: list[str]) -> None:
    found = [
        (group, group.index(name)) for group in groups(tree, objects=True) for name in names if group.index(name) >= 0
    ]
    if found:
        group, at = rng.choice(found)
        text = rng.choice(pool)
        if (
            text[0] not in '"[{-0123456789ntf'
            or text in ("t", "f", "null", "true", "false")
            or (text[0] in "tfn" and text != "null")
        ):
            text = json.dumps(text)
        group.items[at] = Leaf(text)


def _word(tree: Group, rng: random.Random, names: Names) -> None:
    _named(tree, rng, names.words, pools.WORDS)


def _position(tree: Group, rng: random.Random, names: Names) -> None:
    _named(tree, rng, names.positions, pools.POSITIONS)


def _table(tree: Group, rng: random.Random, names: Names) -> None:
    _named(tree, rng, names.tables, pools.TABLES)


MUTATIONS: dict[Mutation, int] = {
    _value: 20, _same_type: 20, _redigit: 20, _tweak: 15, _quoting: 5, _wrapped: 3, _absent: 6, _name: 8, _twice: 4, _more: 5, _deep: 3, _order: 4,
    _word: 6, _position: 6, _table: 4,
}  # fmt: skip


def mutated(line: str, rng: random.Random, names: Names, frozen: str) -> bytes:
    """Return a line that is nearly the one given."""
    if line.strip() == "null":
        return damage.text(line, rng)
    tree = read(line, frozen)
    for _ in range(rng.choice((0, 1, 1, 1, 1, 1, 1, 2, 2, 3))):
        [mutation] = rng.choices(list(MUTATIONS), list(MUTATIONS.values()))
        if places(tree) and _objects(tree):
            mutation(tree, rng, names)
    text = write(tree, rng if rng.random() < 0.08 else None)
    return damage.text(text, rng) if rng.random() < 0.08 else damage.bytes_of(text)
