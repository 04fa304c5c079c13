"""What to write instead of what the model refuses, by kind of error.

Keys that are not known, are missing, or say of which kind a mapping is; and values of another kind than their key's:
text, lists, numbers with units, words, mappings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from pydantic import BaseModel

from integrator.channel.actions import ACTIONS
from integrator.channel.mistakes.mistake import NOTHING, Mistake, ModelError
from integrator.channel.mistakes.shape import LOCATIONS, field_at, homes_of, keys_of, model_at, unit_of, words_of
from integrator.channel.paths import ElsewhereError
from integrator.channel.patterns import PATTERNS
from integrator.channel.topics import TopicsLocation
from integrator.librdkafka.properties import is_of_producer
from integrator.names import IN_PROPERTY, Kind, Name, foreign, listed, meant, nearest, plain
from integrator.names.numbers import counted
from integrator.names.units import in_unit

_KINDS: tuple[Kind, ...] = ("parameter", "key", "property", "variable")
_ACKS = ("acks", "request.required.acks")
_NO_ACKS = "with acks=0 nothing is acknowledged, and nothing could be synced: leave it out"
_PLAIN = re.compile(r"[\w./-]+(:\w+)?")
"""Text that needs no quotes in a list."""
_TRUTHS = {
    **dict.fromkeys(("1", "yes", "true", "on", "y"), True),
    **dict.fromkeys(("0", "no", "false", "off", "n"), False),
}
_BOUNDS = {
    "greater_than": ("gt", "above {}"),
    "greater_than_equal": ("ge", "of {} at least"),
    "less_than_equal": ("le", "of {} at most"),
}


def _unknown(found: ModelError) -> Mistake:
    above, key = found.path[:-1], str(found.path[-1])
    kind = model_at(above, found.data)
    known = keys_of(kind) if kind is not None else {}
    reads_topics = kind is TopicsLocation
    kinds: tuple[Kind, ...] = ("source key", *_KINDS) if reads_topics else _KINDS
    near, theirs, homes = nearest(key, known), foreign(key, *kinds), homes_of(key)
    within = key.removeprefix(f"{above[-1]}." if above else "")
    near = within if within in known else near
    if near and (plain(near) == plain(key) or within != key):
        return Mistake(found.path, f"this key is not known here; do you mean {near}?", near)
    if theirs is not None:
        ours = _with_property(theirs, found, f"group: {above[-1]}, " if reads_topics else "")
        text = f"this key, of {theirs.of}, is not known here: {ours}"
        return Mistake(found.path, text, theirs.key if theirs.key in known else "")
    if homes:
        also = f"do you mean {near}? " if near else ""
        return Mistake(found.path, f"this key is not known here; {also}{key} belongs to {' or '.join(homes)}", near)
    return Mistake(found.path, f"this key is not known here; {meant(key, known)}", near)


def _with_property(theirs: Name, found: ModelError, scope: str) -> str:
    """Return what to write: of a property an action of this scope, with the value that was given if it may be shown."""
    if not theirs.ours.endswith(IN_PROPERTY):
        return theirs.ours
    is_shown = isinstance(found.given, str | int | float) and not found.is_secret
    shown = str(found.given) if is_shown else "…"
    if not scope and theirs.sets in _ACKS and shown in ("0", "none"):
        return _NO_ACKS
    if scope and is_of_producer(theirs.sets):
        return "it is a producer's, and does nothing at a source: leave it out"
    value = "1" if theirs.sets in _ACKS and shown == "one" else shown
    action = theirs.ours.replace("Environment, ", f"Environment, {scope}")
    return f'{action}"{theirs.name}={value}"}}'


def _missing(found: ModelError) -> Mistake:
    field = field_at(found.path, found.data)
    described = (field.description or "") if field is not None else ""
    return Mistake(found.path, f"this key is missing: {described.rstrip('.')}".removesuffix(": "))


def _tags(found: ModelError) -> tuple[str, Mapping[str, type[BaseModel]]]:
    """Return the key that says of which kind a mapping is, and the kinds."""
    return ("action", ACTIONS) if found.path[0] == "actions" else ("class", LOCATIONS)


def _unknown_tag(found: ModelError) -> Mistake:
    tag, kinds = _tags(found)
    given, path = found.context["tag"], (*found.path, tag)
    theirs = foreign(given, "action") if tag == "action" else None
    if theirs is not None:
        return Mistake(path, f"{theirs.of}'s {theirs.name} {theirs.ours}; {listed(kinds)}")
    near = nearest(given, kinds)
    what = "action" if tag == "action" else "class of location"
    return Mistake(path, f"{given!r} is no {what}; {meant(given, kinds)}", replacement=near or NOTHING)


def _missing_tag(found: ModelError) -> Mistake:
    tag, kinds = _tags(found)
    given = set(found.given) if isinstance(found.given, dict) else set()
    fits = [word for word, kind in kinds.items() if given and given <= set(keys_of(kind))]
    text = f"the key {tag} is missing; " + (f"do you mean {tag}: {fits[0]}?" if fits else listed(kinds))
    return Mistake((*found.path, tag), text, replacement=fits[0] if fits else NOTHING)


def _word(found: ModelError) -> Mistake:
    field = field_at(found.path, found.data)
    known = words_of(field) if field is not None else []
    near, theirs = nearest(found.given, known), foreign(found.given, "word", "variable")
    text = f"{found.shown} is not one of {found.context['expected']}"
    if theirs is not None:
        word = theirs.ours.removeprefix("use ")
        replacement = word if word in known else NOTHING
        return Mistake(found.path, f"{text}; {found.given}, of {theirs.of}: {theirs.ours}", replacement=replacement)
    return Mistake(found.path, f"{text}; do you mean {near}?" if near else text, replacement=near or NOTHING)


def _text(found: ModelError) -> Mistake | None:
    written = found.written.get(found.path)
    if found.given is None:
        return Mistake(found.path, "text is wanted here, and nothing is given")
    if written is None:
        return None
    quoted = "…" if found.is_secret else json.dumps(written, ensure_ascii=False)
    if isinstance(found.given, dict) and not written.startswith("{") and not found.is_secret:
        tight = re.sub(r":\s+", ":", written, count=1)
        text = f"text is wanted here, and a colon with a blank after it makes a mapping: write {tight}, or {quoted}"
        return Mistake(found.path, text, replacement=tight)
    return Mistake(found.path, f"text is wanted here: write {quoted}, in quotes", replacement=written)


def _list(found: ModelError) -> Mistake | None:
    if not isinstance(found.given, str | int | float):
        return None
    items = [one.strip() for one in str(found.given).split(",")]
    written = ", ".join(one if _PLAIN.fullmatch(one) else json.dumps(one, ensure_ascii=False) for one in items)
    return Mistake(
        found.path, f"a list is wanted here: write [{'…' if found.is_secret else written}]", replacement=items
    )


def _number(found: ModelError) -> Mistake:
    field = field_at(found.path, found.data)
    given, unit = found.given, unit_of(field) if field is not None else None
    wanted = "a number" if found.kind.startswith("float") else "a whole number"
    wanted += f" of {unit} is wanted here" if unit else " is wanted here"
    if isinstance(given, str) and re.fullmatch(r"-?\d+(\.\d+)?", given):
        number = float(given) if "." in given else int(given)
        return Mistake(found.path, f"{wanted}, without quotes: write {given}", replacement=number)
    counted = in_unit(given, unit) if isinstance(given, str) and unit else None
    if counted is not None and (isinstance(counted, int) or found.kind.startswith("float")):
        return Mistake(found.path, f"{wanted}, without its unit: for {given} write {counted}", replacement=counted)
    return Mistake(found.path, f"{wanted}; found {found.shown}")


def _truth(found: ModelError) -> Mistake:
    truth = _TRUTHS.get(str(found.given).lower())
    if truth is None:
        return Mistake(found.path, f"true or false is wanted here; found {found.shown}")
    written = "true" if truth else "false"
    return Mistake(found.path, f"true or false is wanted here, without quotes: write {written}", replacement=truth)


def _mapping(found: ModelError) -> Mistake:
    kind = model_at(found.path, found.data)
    known = keys_of(kind) if kind is not None else {}
    fits = [key for key, field in known.items() if found.given in words_of(field)]
    if len(fits) == 1:
        text = f"a mapping is wanted here: write {{{fits[0]}: {found.given}}}"
        return Mistake(found.path, text, replacement={fits[0]: found.given})
    if len(found.path) == 2 and found.path[0] == "locations":
        return Mistake(found.path, "a location is a mapping; is it a key of the one above? indent it as those are")
    return Mistake(found.path, f"a mapping is wanted here, {listed(known, 'with the keys')}; found {found.shown}")


def _pattern(found: ModelError) -> Mistake | None:
    pattern = PATTERNS.get(str(found.context["pattern"]))
    if pattern is None:
        return None
    fit = pattern.fit(found.given) if isinstance(found.given, str) and not found.is_secret else ""
    text = f"{found.shown} {pattern.meaning}" + (f"; write {fit}" if fit else "")
    return Mistake(found.path, text, replacement=fit or NOTHING)


def _bound(found: ModelError) -> Mistake:
    name, words = _BOUNDS[found.kind]
    return Mistake(found.path, f"a number {words.format(found.context[name])} is wanted here; found {found.shown}")


def _short(found: ModelError) -> Mistake:
    what = "an entry" if found.kind == "too_short" else "a character"
    return Mistake(found.path, f"{what} at least is wanted here; found {found.shown}")


def _long(found: ModelError) -> Mistake:
    most = found.context["max_length"]
    return Mistake(found.path, f"{counted(most, 'character')} at most; found {found.shown}")


def _own_text(found: ModelError) -> Mistake:
    error = found.context["error"]
    return Mistake(found.path, str(error), replacement=error.meant if isinstance(error, ElsewhereError) else NOTHING)


EXPLAINED: dict[str, Callable[[ModelError], Mistake | None]] = {
    "extra_forbidden": _unknown,
    "missing": _missing,
    "union_tag_invalid": _unknown_tag,
    "union_tag_not_found": _missing_tag,
    "literal_error": _word,
    "string_type": _text,
    "list_type": _list,
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "float_type", "float_parsing"), _number),
    **dict.fromkeys(("bool_type", "bool_parsing"), _truth),
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), _mapping),
    "string_pattern_mismatch": _pattern,
    **dict.fromkeys(_BOUNDS, _bound),
    **dict.fromkeys(("too_short", "string_too_short"), _short),
    "string_too_long": _long,
    "value_error": _own_text,
}
"""By kind of error."""
