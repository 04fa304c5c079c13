"""Whether the messages of a table have its events as they came, and what of these is still read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from integrator.contracts.table_recipe import CaptureRecipe, Field, TableRecipe
from integrator.contracts.whole_event import EVENT, EVENT_TIME
from integrator.decode.dialects import DIALECTS
from integrator.expressions.parts import ColumnValue, Op, Sql, depends_on
from integrator.plan.parameters import ChannelScope
from integrator.transform import sql

_FORMATS = ("JSON", "PAYLOAD")
"""JSON without a schema: it is not known beforehand which members an object has."""


def notes_of_events(scope: ChannelScope) -> Iterator[str]:
    """Yield that events would be as they came if the dialect was named that has them."""
    dialect, envelope = getattr(scope.channel.locations[scope.cap_loc], "dialect", ""), scope.layout.envelope
    having = [name for name, one in DIALECTS.items() if envelope and one.events_for == envelope]
    if dialect == "auto" and having:
        yield (
            f"Envelope {envelope} with dialect auto: the data of messages is made of the tables' columns; to have "
            f"events of {having[0]} as they came, write dialect: {having[0]} at the source"
        )


def has_whole_events(scope: ChannelScope) -> bool:
    """Return whether the records of the source have events for the envelope, in a format that can have any."""
    dialect = getattr(scope.channel.locations[scope.cap_loc], "dialect", "")
    envelope, location = scope.layout.envelope, scope.location
    of_envelope = bool(envelope) and DIALECTS[dialect].events_for == envelope if dialect else False
    return of_envelope and scope.layout.format in _FORMATS and location.Oversized_Rows != "SKELETON"


def with_whole_events(made: TableRecipe) -> TableRecipe:
    """Return the recipe whose messages have events as they came, of which only what keys and headers ask for is read.

    Where actions do something to columns, or ask which values are missing, it is the same recipe.
    """
    is_plain = [field == _plain(field) for field in made.fields]
    sent = [field.source for field in made.fields]
    if not all(is_plain) or sent != [column.name for column in made.table.columns]:
        return made
    if made.capture != CaptureRecipe() or any(depends_on(parts, "missing") for parts in made.expressions):
        return made
    read = set(_read(made))
    columns = tuple(column for column in made.table.columns if column.name in read)
    key = tuple(name for name in made.key if name in read)
    of_key = [field for field in made.fields if field.source in read]
    own = [Field(column.name, column.type, column.nullable, source=column.name) for column in (EVENT, EVENT_TIME)]
    return replace(
        made,
        table=replace(made.table, columns=(*columns, EVENT, EVENT_TIME), key=key),
        key=key,
        distribution_key=tuple(name for name in made.distribution_key if name in read),
        fields=(*own, *of_key),
        masked=(),
        whole_events=True,
    )


def _plain(field: Field) -> Field:
    """Return the field that is a column of the table as it is."""
    return Field(field.name, field.type, field.nullable, source=field.name, column=field.name)


def _read(made: TableRecipe) -> Iterator[str]:
    """Yield the columns that keys and headers are made of."""
    for parts in made.expressions:
        for part in parts:
            match part:
                case ColumnValue(name):
                    yield name
                case Sql():
                    yield from sql.names(part, made.table)
                case Op(name="hvr_key_hash"):
                    yield from made.distribution_key
                case Op(name="hvr_key_names"):
                    yield from made.key
    if made.message_key.columns:
        yield from made.key
