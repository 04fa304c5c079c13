"""Restrict, and Capture's conditions -> which rows are captured, and where they go; conditions of refreshes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from integrator import schema
from integrator.channel.merge import Parameters
from integrator.contracts.table_recipe import CaptureRecipe
from integrator.expressions.parse import SQL, fixed_text, parse, sql
from integrator.expressions.parts import Part, Sql
from integrator.expressions.substitutions import ExpressionError
from integrator.plan.parameters import TableScope
from integrator.schema import Table
from integrator.transform import sql_types as engine
from integrator.transform.restrict import reaching


@dataclass(frozen=True)
class Conditions:
    """Restrict's RefreshCondition, SliceCountCondition and SliceSeriesCondition of a table."""

    refresh: str | None = None
    count: str | None = None
    series: str | None = None


def conditions_of(given: TableScope) -> Conditions:
    """Return the conditions that hold for a table at its source."""
    restrict = given.source.restrict.values
    return Conditions(restrict.RefreshCondition, restrict.SliceCountCondition, restrict.SliceSeriesCondition)


def restricted(capture: CaptureRecipe, given: TableScope, in_records: Table, names: tuple[str, str]) -> CaptureRecipe:
    """Return how rows are captured, with conditions and addresses for them.

    names: the Kafka location's and its group's. What is wrong is reported, by place and parameter.
    """
    restrict, own = given.source.restrict, given.source.capture
    capture = replace(
        capture,
        condition=_condition(restrict, "CaptureCondition", given, in_records),
        ignored=_condition(own, "IgnoreCondition", given, in_records),
        ignored_updates=_condition(own, "IgnoreUpdateCondition", given, in_records),
    )
    addresses = _addresses(given, in_records)
    if addresses:
        capture = replace(capture, addresses=addresses, subscribed=(*names, *_subscribed(given)))
        _check_reached(given, capture, names)
    return capture


def _condition(of: Parameters[Any], parameter: str, given: TableScope, in_records: Table) -> Sql | None:
    """Return a condition over rows; None where there is none, or a wrong one, which is reported."""
    text = getattr(of.values, parameter)
    if text is None:
        return None
    text = text.strip()
    is_prefixed = text.lower().startswith(SQL)
    try:
        condition = sql(text[len(SQL) :].strip() if is_prefixed else text, in_records, "CaptureExpression")
        engine.check_condition(condition, in_records)
    except ExpressionError as error:
        given.report(of.places[parameter], parameter, error.reason)
        return None
    return condition


def _addresses(given: TableScope, in_records: Table) -> tuple[Part, ...]:
    """Return AddressTo; none where there is none, or a wrong one, which is reported."""
    restrict, at_kafka = given.source.restrict, given.kafka.restrict
    if restrict.values.AddressTo is None:
        if at_kafka.values.AddressSubscribe is not None:
            place = at_kafka.places["AddressSubscribe"]
            given.report(place, "AddressSubscribe", "needs AddressTo at the source: no row has an address")
        return ()
    try:
        addresses = parse(restrict.values.AddressTo, in_records, "AddressTo")
        engine.check(addresses, in_records, schema.String())
    except ExpressionError as error:
        given.report(restrict.places["AddressTo"], "AddressTo", error.reason)
        return ()
    return addresses


def _subscribed(given: TableScope) -> tuple[str, ...]:
    """Return the further addresses whose rows the Kafka location gets."""
    text = (given.kafka.restrict.values.AddressSubscribe or "").replace(";", ",")
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _check_reached(given: TableScope, capture: CaptureRecipe, names: tuple[str, str]) -> None:
    """Report an address that is the same for all rows, and is not the Kafka location's."""
    constant = fixed_text(capture.addresses)
    if constant is not None and not reaching(capture.subscribed)(constant):
        kafka, group = names
        text = f"{constant!r} does not match {kafka}, {group} or an alias (AddressSubscribe): no row is sent"
        given.report(given.source.restrict.places["AddressTo"], "AddressTo", text)
