"""Restrict -> which rows are captured, and where they go."""

from __future__ import annotations

from dataclasses import replace

from integrator import schema
from integrator.contracts.table_recipe import CaptureRecipe
from integrator.expressions.parse import SQL, fixed_text, parse, sql
from integrator.expressions.substitutions import ExpressionError
from integrator.plan.parameters import TableParameters
from integrator.schema import Table
from integrator.transform import sql_types as engine
from integrator.transform.restrict import reaching


def restricted(
    capture: CaptureRecipe, parameters: TableParameters, in_records: Table, names: tuple[str, str]
) -> CaptureRecipe:
    """Return how rows are captured, with Restrict's condition and addresses for them.

    names: the Kafka location's and its group's. What is wrong is reported, by place and parameter.
    """
    values, places = parameters.restrict.source
    try:
        if values.get("CaptureCondition") is not None:
            text = values["CaptureCondition"].strip()
            is_prefixed = text.lower().startswith(SQL)
            condition = sql(text[len(SQL) :].strip() if is_prefixed else text, in_records, "CaptureExpression")
            engine.check_condition(condition, in_records)
            capture = replace(capture, condition=condition)
    except ExpressionError as error:
        parameters.report(places["CaptureCondition"], "CaptureCondition", str(error))
    subscribed = parameters.restrict.kafka[0].get("AddressSubscribe")
    try:
        if values.get("AddressTo") is not None:
            aliases = tuple(part.strip() for part in (subscribed or "").replace(";", ",").split(",") if part.strip())
            addresses = parse(values["AddressTo"], in_records, "AddressTo")
            engine.check(addresses, in_records, schema.String())
            capture = replace(capture, addresses=addresses, subscribed=(*names, *aliases))
            constant = fixed_text(addresses)
            if constant is not None and not reaching(capture.subscribed)(constant):
                kafka, group = names
                text = f"{constant!r} does not match {kafka}, {group} or an alias (AddressSubscribe): no row is sent"
                parameters.report(places["AddressTo"], "AddressTo", text)
        elif subscribed is not None:
            place = parameters.restrict.kafka[1]["AddressSubscribe"]
            parameters.report(place, "AddressSubscribe", "needs AddressTo at the source: no row has an address")
    except ExpressionError as error:
        parameters.report(places["AddressTo"], "AddressTo", str(error))
    return capture
