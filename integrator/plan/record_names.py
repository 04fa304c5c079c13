"""Integrate's KeyRecordName and ValueRecordName -> the names of a table's records, and what formats make of them."""

from __future__ import annotations

from typing import Literal

from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode import messages
from integrator.expressions.parse import constant_text, parse
from integrator.expressions.substitutions import ExpressionError
from integrator.formats import FORMATS
from integrator.formats.contract import Format
from integrator.formats.keys import KEYS
from integrator.plan.parameters import TableScope
from integrator.plan.topic import names_of
from integrator.schema import Table

Parameter = Literal["KeyRecordName", "ValueRecordName"]
_NAMED: dict[Parameter, list[str]] = {
    "KeyRecordName": [name for name, key in KEYS.items() if key.record is not None],
    "ValueRecordName": [name for name, fmt in FORMATS.items() if fmt.named],
}
"""What has names of records."""


def record_name(given: TableScope, table: Table, parameter: Parameter) -> str:
    """Return the name that a parameter gives to records of `table`; nothing where it gives none, or a wrong one.

    What is wrong is reported.
    """
    integrate = given.kafka.integrate
    template = getattr(integrate.values, parameter)
    if template is None:
        return ""
    try:
        return constant_text(parse(template, table, "record name"), names_of(given.scope, table))
    except ExpressionError as error:
        given.report(integrate.place(parameter), parameter, error.reason)
    return ""


def check_record_names(given: TableScope, table: TableRecipe, probe: Recipe) -> None:
    """Report names of records that formats cannot have, and names that are given to formats without such."""
    layout, serializer = given.scope.layout, table.message_key.serializer
    value = messages.format_of(layout)
    _check(given, "ValueRecordName", layout.format, value if value.named else None, messages.record(table, probe))
    key = KEYS[serializer].record
    _check(given, "KeyRecordName", serializer, key, messages.key_record(table, probe))


def _check(given: TableScope, parameter: Parameter, written: str, named: Format | None, name: str) -> None:
    """Report what is wrong with a name in a format, which is None where it has no names of records."""
    place, table = given.kafka.integrate.place(parameter), given.table.name
    if named is None:
        if place is not None:
            accepted = ", ".join(_NAMED[parameter])
            given.report(place, parameter, f"{written} has no name of a record: leave it out; it belongs to {accepted}")
        return
    why = named.record_refusal(name)
    if not why:
        return
    action = f"{{action: Integrate, table: {table}, {parameter}: …}}"
    text = f"{written}, record {name or 'without a name'}: {why.replace('(BaseName)', action)}"
    if place is None:
        given.scope.problems.add(given.scope.definition(table), text, table)
    else:
        given.report(place, parameter, f"{written}, record {name!r}: {why.replace(' (BaseName)', '')}")
