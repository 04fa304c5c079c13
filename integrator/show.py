"""A plan on the console."""

from __future__ import annotations

import json

from rich.console import Console
from rich.table import Table as Grid

from integrator.channel.secret import mask_properties
from integrator.expression import ColumnValue, Constant, Op, Part, Text
from integrator.formats.connect_json import schema_text
from integrator.fragments import Shape
from integrator.plan import Plan
from integrator.recipe import Field
from integrator.schema import describe


def plan(plan: Plan, only: list[str], console: Console) -> None:
    """Print what `plan` would send; `only` these tables, if any are named."""
    recipe = plan.recipe
    console.print(f"channel   {plan.channel}", highlight=False)
    console.print(f"source    {plan.source.path} ({plan.source.dialect}, by {plan.source.order})", highlight=False)
    console.print(f"kafka     {plan.brokers}", highlight=False)
    producer = plan.secrets.mask(str(mask_properties(recipe.producer)))
    console.print(f"producer  {producer}", highlight=False, markup=False)
    console.print(f"messages  Connect JSON, ROW, at most {recipe.max_bytes} bytes", highlight=False)
    console.print(f"state     {plan.state}", highlight=False)
    for table in recipe.tables:
        if only and table.table.name not in only:
            continue
        operations = ", ".join(map(str, table.operations))
        console.print(f"\ntable {table.table.name} → topic {table.topic}", style="bold", highlight=False)
        console.print(f"style {table.style}: operations {operations} are sent", highlight=False)
        key = ", ".join(table.distribution_key)
        console.print(f"key: {', '.join(table.key)}; the message key hashes {key}", highlight=False)
        grid = Grid("column", "type", "null", "value")
        for field in table.fields:
            grid.add_row(field.name, describe(field.type), "yes" if field.nullable else "no", _value(field))
        console.print(grid)
        text = schema_text(table.table.name, Shape().columns(table), recipe.times) + "null}"
        console.print_json(json.dumps(json.loads(text)["schema"]), indent=None)


def _value(field: Field) -> str:
    if field.soft_delete:
        return "1 if deleted, else 0"
    return expression_text(field.expression) if field.expression else (field.source or "empty")


def expression_text(parts: tuple[Part, ...]) -> str:
    """Return an expression as it may be written."""
    texts = []
    for part in parts:
        match part:
            case Text(text):
                texts.append(text)
            case Op(name, spec, value_of):
                inner = f"{{{name}{' ' + spec if spec else ''}}}"
                texts.append(f"{{{inner}}}" if value_of else inner)
            case ColumnValue(name, spec, allow):
                words = [name, *(["%[allow_missings]"] if allow else []), *([spec] if spec else [])]
                texts.append(f"{{{' '.join(words)}}}")
            case Constant(value):
                texts.append("null" if value is None else repr(value))
    return "".join(texts)
