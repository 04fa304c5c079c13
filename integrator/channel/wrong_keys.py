"""Keys that are not known, are missing, or say of which kind a mapping is: what to write."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import BaseModel

from integrator.channel.actions import ACTIONS
from integrator.channel.mistake import NOTHING, Mistake, ModelError
from integrator.channel.shape import LOCATIONS, field_at, homes_of, keys_of, model_at
from integrator.channel.topics import TopicsLocation
from integrator.names import IN_PROPERTY, Kind, Name, foreign, listed, meant, nearest, plain
from integrator.names.consumers import NO_PROPERTIES

_KINDS: tuple[Kind, ...] = ("parameter", "key", "property", "variable")
_ACKS = ("acks", "request.required.acks")
_NO_ACKS = "with acks=0 nothing is acknowledged, and nothing could be synced: leave it out"


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
        ours = _with_property(theirs, found)
        ours = NO_PROPERTIES if reads_topics and ours != theirs.ours else ours
        text = f"this key, of {theirs.of}, is not known here: {ours}"
        return Mistake(found.path, text, theirs.key if theirs.key in known else "")
    if homes:
        also = f"do you mean {near}? " if near else ""
        return Mistake(found.path, f"this key is not known here; {also}{key} belongs to {' or '.join(homes)}", near)
    return Mistake(found.path, f"this key is not known here; {meant(key, known)}", near)


def _with_property(theirs: Name, found: ModelError) -> str:
    """Return what to write, of a property as an action, with the value that was given if it may be shown."""
    if not theirs.ours.endswith(IN_PROPERTY):
        return theirs.ours
    is_shown = isinstance(found.given, str | int | float) and not found.is_secret
    shown = str(found.given) if is_shown else "…"
    if theirs.sets in _ACKS and shown in ("0", "none"):
        return _NO_ACKS
    value = "1" if theirs.sets in _ACKS and shown == "one" else shown
    return f'{theirs.ours}"{theirs.name}={value}"}}'


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


EXPLAINED: dict[str, Callable[[ModelError], Mistake | None]] = {
    "extra_forbidden": _unknown,
    "missing": _missing,
    "union_tag_invalid": _unknown_tag,
    "union_tag_not_found": _missing_tag,
}
"""By kind of error."""
