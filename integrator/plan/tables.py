"""Table definitions and the actions that hold for each table -> its recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from integrator.channel.actions import Capture, Integrate, Restrict, TableProperties
from integrator.channel.problems import Report
from integrator.channel.reader import Path_
from integrator.contracts.fragments import Shape
from integrator.contracts.recipe import Messages, Read, Recipe
from integrator.contracts.table_recipe import CaptureRecipe, Coercion, TableRecipe
from integrator.encode import messages
from integrator.encode.envelopes import ENVELOPES
from integrator.encode.messages import format_of
from integrator.formats.contract import refusals
from integrator.formats.keys import KEYS
from integrator.names import meant
from integrator.plan.capture import capture_of
from integrator.plan.fields import Rules, fields_of
from integrator.plan.identity import in_database
from integrator.plan.keys import DISTRIBUTION_KEY_LIMIT, distribution_key, explicit_key, implicit_key
from integrator.plan.message_key import headers_of, key_of
from integrator.plan.parameters import (
    ChannelScope,
    ColumnParameters,
    PlacedParameters,
    TableParameters,
    column_properties,
    effective,
    effective_by_place,
)
from integrator.plan.registry import DEFAULT_STRATEGY, Strategies
from integrator.plan.tombstones import Keys, tombstones_of
from integrator.plan.topic import topic_of
from integrator.schema import Bytes, Table
from integrator.transform.coerce import TYPES


def table_recipe(scope: ChannelScope, table: Table, strategies: Strategies) -> TableRecipe | None:
    """Return how `table` is sent, or None where a problem stands in the way; its subject strategies are noted."""
    problems, before = scope.problems, len(scope.problems)
    merged = column_properties(scope, table, "kafka")
    properties, set_at = effective(scope, table, TableProperties)
    definition, table = table, replace(table, schema=properties.get("Schema") or table.schema)
    coercion = _coercion(scope, table, properties, set_at)
    sends_deletes = _style(merged) != "Standard" or bool(scope.layout.envelope)
    rules = Rules(coercion, scope.location.Expression_Scopes == "APPLY", deletes=sends_deletes)
    fields = fields_of(table, merged, rules, scope)
    own_key = explicit_key(table, merged)
    keyed = replace(table, key=own_key or implicit_key(table, merged))
    named = replace(keyed, base_name=properties.get("BaseName") or table.base_name)
    in_source = in_database(scope, definition)
    integrate, places = effective(scope, table, Integrate)
    capture = effective_by_place(scope, table, Capture)

    report = problems.at_actions(places)
    message_key = key_of(integrate, keyed, fields, scope.layout, report, registry=scope.registry)
    strategies |= _strategies(integrate, table, message_key.serializer, report, registry=scope.registry)
    envelope = ENVELOPES.get(scope.layout.envelope)
    limit, avoid = properties.get("DistributionKeyLimit"), properties.get("DistributionKeyAvoidPattern")
    hashed = distribution_key(merged, keyed.key, DISTRIBUTION_KEY_LIMIT if limit is None else limit, avoid)
    flagged = any(values.get("DistributionKey") for values, _ in merged.values())
    if not own_key:
        scope.notes.append(_keyless(keyed))
    keys = Keys(keyed, bool(own_key), message_key, fields, hashed, flagged)
    made = TableRecipe(
        table=named,
        topic=topic_of(scope, named, integrate.get("Topic"), places.get("Topic")),
        style="TimeKey" if envelope else _style(merged),  # an envelope says every change
        key=keyed.key,
        keyless=not own_key,
        distribution_key=hashed,
        fields=fields,
        message_key=message_key,
        headers=headers_of(integrate, keyed, report),
        tombstones=tombstones_of(integrate, keys, scope.layout, report),
        truncates=not capture.get("NoTruncate"),
        before_updates=not capture.get("NoBeforeUpdate"),
        missing_as_null=scope.location.Missing_Values == "NULL",
        capture=_captured(scope, keyed, merged, capture, keyed=bool(own_key)),
        in_database=(in_source.schema, in_source.base_name, in_source.partitions),
        coercion=coercion,
        midnight_is_date=properties.get("TrimTime") == "MIDNIGHT",
        binary=_binary(scope, properties, set_at),
    )
    if not scope.channel.errors.log_messages:
        made = replace(made, masked=_masked(made))
    _check_sayable(scope, made, _made_at(merged))
    if not made.distribution_key and not all(field.extra for field in fields):
        problems.add(scope.definition(table.name), _NO_KEY, table.name)
    return made if len(problems) == before else None


_NO_KEY = "none of its columns can be its key; give it one, {action: ColumnProperties, Name: …, Key: true}"


def _made_at(merged: ColumnParameters) -> dict[str, Path_]:
    """Return the actions that make columns of messages, by the columns' names there."""
    made: dict[str, Path_] = {}
    for name, (values, places) in merged.items():
        for parameter in ("BaseName", "Datatype", "Extra"):
            if parameter in places:
                made.setdefault(values.get("BaseName") or name, ("actions", places[parameter], parameter))
    return made


def _masked(table: TableRecipe) -> tuple[str, ...]:
    """Return the columns whose values are not sent as they came: absent ones, and those that an expression replaces."""
    sent = {field.source for field in table.fields if not field.expression or field.operations}
    sent |= {column.name for column in table.message_key.columns}
    sent -= {name for name, _ in table.capture.expressions}
    return tuple(column.name for column in table.table.columns if column.name not in sent)


def _strategies(
    integrate: dict[str, Any], table: Table, serializer: str, report: Report, *, registry: bool
) -> Strategies:
    """Return under which subjects the schemas of keys and values are registered."""
    chosen: Strategies = {}
    for part, parameter in (("key", "KeySubjectStrategy"), ("value", "ValueSubjectStrategy")):
        if parameter in integrate and not registry:
            report(parameter, f"{parameter} needs a schema registry (Kafka_Schema_Registry)")
        elif parameter in integrate and part == "key" and not KEYS[serializer].schema_type:
            report(parameter, f"{serializer} keys have no schema, and so no subject")
        chosen[table.name, part] = integrate.get(parameter) or DEFAULT_STRATEGY
    return chosen


def _keyless(table: Table) -> str:
    """Return what is noted of a table that has no key of its own."""
    action = f"{{action: ColumnProperties, table: {table.name}, Name: …, Key: true}}"
    text = f"table {table.name} has no primary key and no unique index of NOT NULL columns: its key is all columns"
    return f"{text} ({', '.join(table.key)}); give it one, if there is one: {action}"


def _binary(scope: ChannelScope, properties: dict[str, Any], places: dict[str, int]) -> Any:
    binary = properties.get("MapBinary", "")
    if binary and scope.layout.format not in ("JSON", "CSV"):
        text = f"belongs to plain JSON and Csv; the format is {scope.layout.format}"
        scope.problems.add_at(places["MapBinary"], "MapBinary", text)
    return binary


def _coercion(scope: ChannelScope, table: Table, values: dict[str, Any], places: dict[str, int]) -> Coercion:
    policy, text = values.get("CoerceErrorPolicy", "FATAL"), values.get("CoerceErrorType")
    types = tuple(part.strip() for part in text.split(",")) if text is not None else TYPES
    unknown = [name for name in types if name not in TYPES]
    for name in unknown:
        scope.problems.add_at(
            places["CoerceErrorType"],
            "CoerceErrorType",
            f"{name!r} is no such misfit; {meant(name, TYPES)}",
            table.name,
        )
    if not unknown and text is not None and policy == "FATAL":
        wrong = "has no effect while CoerceErrorPolicy is FATAL; write CoerceErrorPolicy: WARNING beside it"
        scope.problems.add_at(places["CoerceErrorType"], "CoerceErrorType", wrong, table.name)
    return Coercion(policy, types)


def _captured(
    scope: ChannelScope, table: Table, merged: ColumnParameters, capture: PlacedParameters, *, keyed: bool
) -> CaptureRecipe:
    parameters = TableParameters(
        table=table,
        keyed=keyed,
        columns_at_source=column_properties(scope, table, "source"),
        columns=column_properties(scope, table, "either"),
        extra=frozenset(name for name, (values, _) in merged.items() if values.get("Extra")),
        properties=effective_by_place(scope, table, TableProperties),
        capture=capture,
        restrict=effective_by_place(scope, table, Restrict),
        actions=list(scope.channel.actions),
        problems=scope.problems,
    )
    return capture_of(parameters, scope.kafka, scope.location.group)


def _style(merged: ColumnParameters) -> str:
    if any(values.get("TimeKey") for values, _ in merged.values()):
        return "TimeKey"
    return "SoftDelete" if any(values.get("SoftDelete") for values, _ in merged.values()) else "Standard"


def _check_sayable(scope: ChannelScope, table: TableRecipe, places: Mapping[str, Path_]) -> None:
    """Add a problem for what the format cannot say: column, reason and remedy. places: of columns that actions make."""
    fmt, layout = format_of(scope.layout), scope.layout
    probe = Recipe(Read(), (table,), Messages(scope.channel.channel, scope.cap_loc, layout))
    columns = messages.columns(table, probe, Shape())

    def report(text: str, column: str = "") -> None:
        scope.problems.add(places.get(column, scope.definition(table.table.name)), text, table.table.name)

    name = messages.record(table, probe)
    unnamed = fmt.record_refusal(name)
    if unnamed:
        report(f"{layout.format}, record {name}: {unnamed}")
    options = messages.options_of(table, probe)
    for column, why in refusals(fmt, columns, options):
        action = f"{{action: ColumnProperties, table: {table.table.name}, Name: {column}, BaseName: …}}"
        report(f"column {column}, {layout.format}: {why.replace('(BaseName)', action)}", column)
    names = [column.name for column in columns]
    of_fields = {field.name for field in table.fields}
    for twice in sorted({name for name in names if names.count(name) > 1}):
        if layout.before or twice not in of_fields:  # else the fields' own check reports it
            report(f"column {twice}: another would have the same name; choose another BeforeUpdateColumns", twice)
    text = layout.options.encoding != "UTF-8" or layout.options.newlines
    if layout.format == "CSV" and options.binary == "COPY" and text:
        for blob in columns:
            if isinstance(blob.type, Bytes):
                report(f"column {blob.name}: bytes copied into CSV cannot be recoded; use MapBinary: BASE64 or HEX")
