"""Table definitions and the actions that hold for each table -> its recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from integrator.channel.reader import Path_
from integrator.contracts.fragments import PresentFields
from integrator.contracts.message_format import MessageFormat
from integrator.contracts.recipe import Messages, Read, Recipe
from integrator.contracts.table_recipe import CaptureRecipe, Coercion, Field, TableRecipe
from integrator.encode import messages
from integrator.encode.messages import format_of
from integrator.errors import Reason
from integrator.formats.contract import refusals
from integrator.formats.keys import KEYS
from integrator.names import meant
from integrator.plan.capture import TableParameters, capture_of
from integrator.plan.fields import Rules, fields_of
from integrator.plan.identity import in_database
from integrator.plan.keys import distribution_key, explicit_key, implicit_key
from integrator.plan.message_key import headers_of, key_of
from integrator.plan.message_place import outbox_of, partition_of, timestamp_of
from integrator.plan.parameters import ChannelScope, ColumnParameters, TableScope
from integrator.plan.record_names import check_record_names, record_name
from integrator.plan.registry import DEFAULT_STRATEGY, Strategies
from integrator.plan.single_value import with_single_value
from integrator.plan.tombstones import Keys, tombstones_of
from integrator.plan.topic import topic_of
from integrator.plan.whole_event import has_whole_events, with_whole_events
from integrator.schema import Bytes, Column, Table
from integrator.transform.coerce import TYPES

FIELDS_OF: dict[str, Callable[[TableScope, Table, tuple[Field, ...], str], tuple[Field, ...]]] = {
    "single value": with_single_value
}
"""What formats make of a table's fields: from its scope, the table, its fields, and the style of its deletes."""


def table_recipe(scope: ChannelScope, definition: Table, strategies: Strategies) -> TableRecipe | None:
    """Return how a table is sent, or None where a problem stands in the way; its subject strategies are noted."""
    before, given = len(scope.problems), scope.of(definition)
    table = replace(definition, schema=given.kafka.properties.values.Schema or definition.schema)
    coercion = _coercion(given)
    own = fields_of(table, given.kafka.columns, _rules(given, coercion), scope)
    uncompared = {name for name, one in given.source.columns.items() if one.values.IgnoreDuringCompare}
    own = tuple(replace(one, uncompared=True) if one.source in uncompared else one for one in own)
    fields = own
    for complete in FIELDS_OF.values():
        fields = complete(given, table, fields, _style(given.kafka.columns))
    keys = _keys_of(given, table, fields)
    strategies |= _strategies(given, keys.key.serializer)
    made = _recipe(given, keys, coercion)
    if format_of(scope.layout).finite:
        made = replace(made, table=_in_text(made))
    if has_whole_events(scope):
        made = with_whole_events(made)
    if not keys.own and not made.whole_events:
        scope.notes.append(_keyless(keys.table))
        if given.kafka.integrate.values.OnDeleteSendTombstone:
            scope.notes.append(f"table {table.name} has no key: no tombstones follow its deletes")
    if not scope.channel.errors.log_messages:
        made = replace(made, masked=_masked(made))
    _check_supported(given, made, _made_at(given.kafka.columns))
    if not made.distribution_key and not made.whole_events and not (fields and all(field.extra for field in fields)):
        scope.problems.add(scope.definition(table.name), _NO_KEY if table.columns else _NO_COLUMNS, table.name)
    return made if len(scope.problems) == before else None


def _in_text(made: TableRecipe) -> Table:
    """Return a table of which values are null that text does not have, in columns that are not sent as other types."""
    as_they_are = {field.source for field in made.fields if not field.expression and field.source is not None}
    kinds = {field.source: field.type for field in made.fields if field.source in as_they_are}

    def of(column: Column) -> Column:
        is_own = column.without_form == "null" and kinds.get(column.name) == column.type
        return replace(column, without_form="null_in_text") if is_own else column

    return replace(made.table, columns=tuple(map(of, made.table.columns)))


_NO_KEY = "none of its columns can be its key; give it one, {action: ColumnProperties, Name: …, Key: true}"


_NO_COLUMNS = (
    "its definition has no columns; define some, or have whole events as they came: in the envelope of the source's "
    "own dialect, in JSON without a schema"
)


def _rules(given: TableScope, coercion: Coercion) -> Rules:
    scope = given.scope
    sends_deletes = _style(given.kafka.columns) != "Standard" or bool(scope.layout.envelope)
    return Rules(coercion, scope.location.Expression_Scopes == "APPLY", deletes=sends_deletes)


def _keys_of(given: TableScope, table: Table, fields: tuple[Field, ...]) -> Keys:
    """Return how the keys of a table's messages are made; `fields` are those of the messages."""
    scope, at_kafka, properties = given.scope, given.kafka, given.kafka.properties.values
    columns = at_kafka.columns
    own_key = explicit_key(table, columns)
    keyed = replace(table, key=own_key or implicit_key(table, columns))
    report = scope.problems.at_actions(at_kafka.integrate.places)
    message_key = key_of(at_kafka.integrate.values, keyed, fields, scope.layout, report, registry=scope.registry)
    limit, avoid = properties.DistributionKeyLimit, properties.DistributionKeyAvoidPattern
    hashed = distribution_key(columns, keyed.key, limit, avoid)
    flagged = any(column.values.DistributionKey for column in columns.values())
    return Keys(keyed, bool(own_key), message_key, fields, hashed, flagged, _style(columns) == "TimeKey")


def _recipe(given: TableScope, keys: Keys, coercion: Coercion) -> TableRecipe:
    """Return the recipe of a table, whose messages have these keys."""
    scope, properties, integrate = given.scope, given.kafka.properties.values, given.kafka.integrate
    report = scope.problems.at_actions(integrate.places)
    in_source, capture = in_database(given), given.either.capture.values
    named = replace(keys.table, base_name=properties.BaseName or keys.table.base_name)
    topic, of_rows = topic_of(scope, named, integrate.values.Topic, integrate.place("Topic"))
    return TableRecipe(
        table=named,
        topic=topic,
        message_topic=of_rows,
        outbox=outbox_of(integrate.values, scope.layout, report),
        style="TimeKey" if scope.layout.envelope else _style(given.kafka.columns),  # an envelope says every change
        key=keys.table.key,
        keyless=not keys.own,
        distribution_key=keys.hashed,
        fields=tuple(keys.fields),
        message_key=keys.key,
        headers=headers_of(integrate.values, keys.table, report),
        header_serializer=integrate.values.MessageHeaderSerializer or "STRING",
        message_timestamp=timestamp_of(integrate.values, keys.table, report),
        message_partition=partition_of(integrate.values, keys.table, scope.layout, report),
        tombstones=tombstones_of(integrate.values, keys, scope.layout, report),
        not_in_keys=keys.missing if keys.own else (),
        truncates=not capture.NoTruncate,
        before_updates=not capture.NoBeforeUpdate,
        missing_as_null=scope.location.Missing_Values == "NULL",
        capture=_captured(given, keys),
        in_database=(in_source.schema, in_source.base_name, in_source.partitions),
        coercion=coercion,
        midnight_is_date=properties.TrimTime == "MIDNIGHT",
        binary=_binary(given),
        value_record=record_name(given, named, "ValueRecordName"),
        key_record=record_name(given, named, "KeyRecordName"),
    )


def _made_at(columns: ColumnParameters) -> dict[str, Path_]:
    """Return the actions that make columns of messages, by the columns' names there."""
    made: dict[str, Path_] = {}
    for name, column in columns.items():
        for parameter in ("BaseName", "Datatype", "Extra"):
            if parameter in column.places:
                made.setdefault(column.values.BaseName or name, ("actions", column.places[parameter], parameter))
    return made


def _masked(table: TableRecipe) -> tuple[str, ...]:
    """Return the columns whose values are not sent as they came: absent ones, and those that an expression replaces."""
    sent = {field.source for field in table.fields if not field.expression or field.operations}
    sent |= {column.name for column in table.message_key.columns}
    sent -= {name for name, _ in table.capture.expressions}
    return tuple(column.name for column in table.table.columns if column.name not in sent)


def _strategies(given: TableScope, serializer: str) -> Strategies:
    """Return under which subjects the schemas of keys and values are registered."""
    integrate, table, registry = given.kafka.integrate, given.table.name, given.scope.registry
    report = given.scope.problems.at_actions(integrate.places)
    for parameter in ("KeySubjectStrategy", "ValueSubjectStrategy"):
        if parameter in integrate.places and not registry:
            report(parameter, f"{parameter} needs a schema registry (Kafka_Schema_Registry)")
    if "KeySubjectStrategy" in integrate.places and registry and not KEYS[serializer].schema_type:
        report("KeySubjectStrategy", f"{serializer} keys have no schema, and so no subject")
    return {
        (table, "key"): integrate.values.KeySubjectStrategy or DEFAULT_STRATEGY,
        (table, "value"): integrate.values.ValueSubjectStrategy or DEFAULT_STRATEGY,
    }


def _keyless(table: Table) -> str:
    """Return what is noted of a table that has no key of its own."""
    action = f"{{action: ColumnProperties, table: {table.name}, Name: …, Key: true}}"
    text = f"table {table.name} has no primary key and no unique index of NOT NULL columns"
    columns = ", ".join(table.key)
    return f"{text}: its key is all that can be compared ({columns}); give it one, if there is one: {action}"


def _binary(given: TableScope) -> Literal["", "COPY", "HEX", "BASE64"]:
    properties, written = given.kafka.properties, given.scope.layout.format
    if properties.values.MapBinary and written not in ("JSON", "CSV"):
        text = f"belongs to plain JSON and Csv; the format is {written}"
        given.scope.problems.add_at(properties.places["MapBinary"], "MapBinary", text)
    return properties.values.MapBinary or ""


def _coercion(given: TableScope) -> Coercion:
    properties = given.kafka.properties
    policy, text = properties.values.CoerceErrorPolicy, properties.values.CoerceErrorType
    types = tuple(part.strip() for part in text.split(",")) if text is not None else TYPES
    unknown = [name for name in types if name not in TYPES]
    for name in unknown:
        wrong = f"{name!r} is no such misfit; {meant(name, TYPES)}"
        given.report(properties.places["CoerceErrorType"], "CoerceErrorType", wrong)
    if not unknown and text is not None and policy == "FATAL":
        wrong = "has no effect while CoerceErrorPolicy is FATAL; write CoerceErrorPolicy: WARNING beside it"
        given.report(properties.places["CoerceErrorType"], "CoerceErrorType", wrong)
    return Coercion(policy, types)


def _captured(given: TableScope, keys: Keys) -> CaptureRecipe:
    extra = frozenset(name for name, column in given.kafka.columns.items() if column.values.Extra)
    parameters = TableParameters(keys.table, keys.own, extra, given)
    return capture_of(parameters, given.scope.kafka, given.scope.location.group)


def _style(columns: ColumnParameters) -> str:
    if any(column.values.TimeKey for column in columns.values()):
        return "TimeKey"
    return "SoftDelete" if any(column.values.SoftDelete for column in columns.values()) else "Standard"


def _check_supported(given: TableScope, table: TableRecipe, places: Mapping[str, Path_]) -> None:
    """Add a problem for what the format cannot write, with a remedy. places: of columns that actions make."""
    scope, name = given.scope, table.table.name
    fmt, layout = format_of(scope.layout), scope.layout
    probe = Recipe(Read(), (table,), Messages(scope.channel.channel, scope.cap_loc, layout))
    columns, options = messages.columns(table, probe, PresentFields()), messages.options_of(table, probe)

    def report(reason: str | Reason, column: str = "") -> None:
        scope.problems.add(places.get(column, scope.definition(name)), reason, name)

    check_record_names(given, table, probe)
    for column, why in refusals(fmt, columns, options):
        action = f"{{action: ColumnProperties, table: {name}, Name: {column}, BaseName: …}}"
        text = f"column {column}, {layout.format}: {why}"
        report(Reason(text.replace("(BaseName)", action), text), column)
    for twice in _twice(columns, table, layout):
        report(f"column {twice}: another would have the same name; choose another BeforeUpdateColumns", twice)
    if options.binary == "COPY" and _is_recoded(layout):
        for blob in columns:
            if isinstance(blob.type, Bytes):
                report(f"column {blob.name}: bytes copied into CSV cannot be recoded; use MapBinary: BASE64 or HEX")


def _twice(columns: Sequence[Column], table: TableRecipe, layout: MessageFormat) -> list[str]:
    """Return the names that several columns of messages have, but for two fields: their own check reports those."""
    names, of_fields = [column.name for column in columns], {field.name for field in table.fields}
    twice = sorted({name for name in names if names.count(name) > 1})
    return [name for name in twice if layout.before or name not in of_fields]


def _is_recoded(layout: MessageFormat) -> bool:
    """Return whether the text of messages is CSV in another encoding, or with other line ends."""
    return layout.format == "CSV" and (layout.options.encoding != "UTF-8" or layout.options.newlines != "")
