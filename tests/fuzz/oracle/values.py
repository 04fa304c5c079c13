"""Values of records -> values of columns, by the column's type: from text, from JSON of any type, and strictly by type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.fuzz.oracle import moments, numbers, octets
from tests.fuzz.oracle.tables import Kind
from tests.fuzz.oracle.tree import Number, has_lone_surrogate, parse
from tests.fuzz.oracle.verdict import JsonText, Wrong

Notes = set[str]
_SPACES, _AROUND = " \t\n\v\f\r", "white space around an item of a list's literal"
_ONE_DIGIT = {"true": "1", "false": "0"}


@dataclass(frozen=True)
class Texts:
    """How a dialect writes values as text, where dialects differ."""

    octets: Callable[[str, Notes], bytes] = octets.from_hex
    zone: str = "read"  # of a zone of UTC in a column without one: refused, loose, read
    bare: str = "utc"  # of a moment without a zone in a column with one: refused, utc, or the zone that it is of
    booleans: str = ""  # letters or digits for true and false
    json_lists: bool = True  # lists are also the text of JSON arrays

    def value(self, text: str, kind: Kind, notes: Notes) -> Any:
        """Return text as databases print it as a value of the type. Raises Wrong."""
        match kind.name:
            case "integer":
                return numbers.integer(_ONE_DIGIT.get(text, text) if kind.scale else text, kind.size, notes)
            case "decimal":
                return numbers.decimal(text, kind.size, kind.scale, notes)
            case "number":
                return numbers.number_text(text, notes)
            case "real" | "double":
                return numbers.floating(text, 32 if kind.name == "real" else 64, notes)
            case "boolean":
                return numbers.boolean(text, notes, written=self.booleans)
            case "bytes":
                return self.octets(text, notes)
            case "date":
                return moments.date(text, notes)
            case "time":
                return moments.clock(text, kind.size, notes)
            case "timestamp":
                return moments.timestamp(text, kind.size, notes, zone=self.zone)
            case "timestamptz":
                return moments.timestamptz(text, kind.size, notes, bare=self.bare)
            case "interval":
                return moments.interval(text, notes)
            case "array":
                return self.listed(text, kind.item, notes)
        return text

    def listed(self, text: str, item: Kind | None, notes: Notes) -> list[Any]:
        """Return a list that is written as text."""
        assert item
        if text.startswith("{"):
            texts = replace(self, booleans="tf")  # as PostgreSQL writes them in lists
            return [None if part is None else texts.value(part, item, notes) for part in literal(text, notes)]
        if self.json_lists and text.lstrip(" \t").startswith("["):
            notes |= {"white space before a list in text"} if text[0] != "[" else set()
            return self.of_json(parse(text), Kind("array", item=item), notes)
        raise Wrong("no list")

    def of_json(self, tree: Any, kind: Kind, notes: Notes) -> Any:
        """Return a JSON value, of any type, as a value of the column's."""
        if tree is None:
            return None
        if isinstance(tree, list) and kind.name == "array":
            assert kind.item
            if any(isinstance(one, (list, dict)) for one in tree):
                raise Wrong("a list or an object in a list")
            return [self.of_json(one, kind.item, notes) for one in tree]
        if isinstance(tree, (list, dict)):
            if kind.name != "text":
                raise Wrong("a list or an object in a column of scalars, or an object for a list")
            return JsonText(tree)
        if isinstance(tree, (Number, bool)) and kind.name in ("array", "bytes"):
            raise Wrong("a number or a boolean for a list, or for bytes")
        return self.value(text_of(tree), kind, notes)


def text_of(tree: Any) -> str:
    """Return a scalar as text: a string's characters, else its JSON."""
    if isinstance(tree, bool):
        return "true" if tree else "false"
    if has_lone_surrogate(tree):
        raise Wrong("half of a surrogate pair")
    return str(tree)


def strict(tree: Any, kind: Kind, notes: Notes) -> Any:
    """Return a value as JSON of the hvr dialect has it: of the JSON type that its column's is written in."""
    if tree is None:
        return None
    match kind.name:
        case "array":
            assert kind.item
            if not isinstance(tree, list):
                raise Wrong("no list")
            return [strict(one, kind.item, notes) for one in tree]
        case "boolean":
            if not isinstance(tree, bool):
                raise Wrong("no boolean")
            return tree
        case "integer" | "real" | "double":
            if not isinstance(tree, Number) and not (isinstance(tree, bool) and kind.scale):
                raise Wrong("no number")
        case "decimal" | "number":
            if isinstance(tree, (bool, list, dict)):
                raise Wrong("no decimal")
        case _:
            if isinstance(tree, Number) or not isinstance(tree, str):
                raise Wrong("no text")
    return Texts(zone="loose", bare="refused", json_lists=False).value(text_of(tree), kind, notes)


def literal(text: str, notes: Notes) -> list[str | None]:
    """Return the items of PostgreSQL's literal of a list, of one dimension."""
    if len(text) < 2 or not (text.startswith("{") and text.endswith("}")):
        raise Wrong("no literal of a list")
    if not text[1:-1].strip(_SPACES):
        notes |= {_AROUND} if text != "{}" else set()
        return []
    items: list[str | None] = []
    at = 1
    while True:
        at = _after_spaces(text, at, notes)
        if text[at] == '"':
            at, item = _quoted(text, at + 1)
            items.append(item)
        else:
            stop = at
            while text[stop] not in ',}{"\\':
                stop += 1
            word = text[at:stop].rstrip(_SPACES)
            if text[stop] in '{"\\' or not word:
                raise Wrong("no literal of a list of one dimension")
            if word != text[at:stop]:
                notes.add(_AROUND)
            items.append(None if word.upper() == "NULL" else word)
            at = stop
        at = _after_spaces(text, at, notes)
        if text[at] == "}":
            if at != len(text) - 1:
                raise Wrong("text after a list's literal")
            return items
        if text[at] != ",":
            raise Wrong("no comma between items")
        at += 1


def _after_spaces(text: str, at: int, notes: Notes) -> int:
    begin = at
    while text[at] in _SPACES:
        at += 1
    notes |= {_AROUND} if at > begin else set()
    return at


def _quoted(text: str, at: int) -> tuple[int, str]:
    item = []
    while text[at] != '"':
        at += text[at] == "\\"
        if at >= len(text) - 1:
            raise Wrong("no quote after an item")
        item.append(text[at])
        at += 1
    if at + 1 >= len(text):
        raise Wrong("no end of a list's literal")
    return at + 1, "".join(item)
