"""What the model has at a path of a channel: its keys there, and the field of each."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from integrator.channel.actions import ACTIONS
from integrator.channel.base import Counted
from integrator.channel.locations import KafkaLocation, Location, class_of, kafka_model
from integrator.channel.model import Channel
from integrator.channel.reader import Path_
from integrator.channel.topics import TopicsLocation
from integrator.names.units import Unit

_CLASS = "class"


def key_of(name: str, field: FieldInfo) -> str:
    """Return how a field of the model is written."""
    return field.alias or name


def keys_of(kind: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the keys of a model, as they are written."""
    return {key_of(name, field): field for name, field in kind.model_fields.items()}


def model_at(path: Path_, data: Any) -> type[BaseModel] | None:
    """Return the model of the mapping at a path, or None where there is none; `data` says which of several it is."""
    return next(_models(_annotation_at(path, data), value_at(path, data)), None)


def field_at(path: Path_, data: Any) -> FieldInfo | None:
    """Return the field at a path, or of the list that it is in; None where the model has none."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    kind = model_at(path[:-1], data) if path else None
    return keys_of(kind).get(str(path[-1])) if kind is not None else None


def words_of(field: FieldInfo) -> list[str]:
    """Return the words that a field may have; none where it may have others."""
    return [word for one in _branches(field.annotation) if get_origin(one) is Literal for word in get_args(one)]


def unit_of(field: FieldInfo) -> Unit | None:
    """Return what the number of a field counts; None where that has no unit."""
    metadata = [*field.metadata, *_metadata(field.annotation)]
    return next((one.unit for one in metadata if isinstance(one, Counted)), None)


def _metadata(kind: Any) -> Iterator[Any]:
    if get_origin(kind) is Annotated:
        yield from kind.__metadata__
    for one in get_args(kind) if get_origin(kind) in (Union, types.UnionType) else ():
        yield from _metadata(one)


def _branches(kind: Any) -> Iterator[Any]:
    """Yield the types that an annotation may be."""
    if get_origin(kind) is Annotated:
        yield from _branches(get_args(kind)[0])
    elif get_origin(kind) in (Union, types.UnionType):
        for one in get_args(kind):
            yield from _branches(one)
    else:
        yield kind


LOCATIONS: dict[str, type[BaseModel]] = {
    class_of(kind): kind for kind in _branches(Location) if kind is not TopicsLocation
}
"""The kinds of location, by their class. Of class kafka there are two: this has the target."""


def homes_of(key: str) -> list[str]:
    """Return where else in a channel a key may stand: the channel, a kind of location, an action."""
    places: dict[str, type[BaseModel]] = {"the top of the channel": Channel}
    places |= dict(ACTIONS)
    found = [place for place, kind in places.items() if key in keys_of(kind)]
    kinds: dict[str, type[BaseModel]] = {**LOCATIONS, "kafka (as a source, with topics)": TopicsLocation}
    classes = [name for name, kind in kinds.items() if key in keys_of(kind)]
    return found + ([f"a location of class {', '.join(classes)}"] if classes else [])


def _annotation_at(path: Path_, data: Any) -> Any:
    kind: Any = Channel
    for at, step in enumerate(path):
        value = value_at(path[:at], data)
        for one in _branches(kind):
            if isinstance(one, type) and issubclass(one, BaseModel):
                if isinstance(step, int) or one is not next(_models(kind, value), None):
                    continue
                field = keys_of(one).get(str(step))
                kind = field.annotation if field is not None else None
            elif get_origin(one) in (list, dict):
                kind = get_args(one)[-1]
            else:
                continue
            break
        else:
            return None
    return kind


def _models(kind: Any, value: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that a value may be of: of several the one whose tag it has."""
    found = [one for one in _branches(kind) if isinstance(one, type) and issubclass(one, BaseModel)]
    if len(found) == 1:
        yield found[0]
    for one in found if len(found) > 1 and isinstance(value, dict) else ():
        tag = "action" if "action" in one.model_fields else _CLASS
        is_other = one in (KafkaLocation, TopicsLocation) and one is not kafka_model(value)
        if value.get(tag) in words_of(keys_of(one)[tag]) and not is_other:
            yield one


def value_at(path: Path_, data: Any) -> Any:
    """Return what is at a path; None where nothing is."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data
