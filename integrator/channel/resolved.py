"""Resolved messages: up to where all that a database committed is in the topics (extension)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from integrator.channel.base import Counted, Model
from integrator.channel.tolerance import TopicName
from integrator.names.units import in_unit


def _seconds(given: object) -> object:
    """Return the seconds of a text with a unit, such as 1s; all else as it is."""
    counted = in_unit(given, "seconds") if isinstance(given, str) else None
    return given if counted is None else float(counted)


class Resolved(Model):
    """Messages that say up to where all that was committed is in the topics (extension)."""

    topic: TopicName = Field(description="Their topic, of which they have the first partition. It has no rows.")
    every: Annotated[
        float,
        BeforeValidator(_seconds),
        Field(ge=0.1, le=3600),
        Counted("seconds"),
        WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]}),
    ] = Field(1.0, description="The least time between two, in seconds or as 500ms, 1s, 5m.")
    per_partition: bool = Field(False, description="Whether they have the end of each partition of the topics.")
