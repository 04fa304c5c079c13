"""A plan on the console."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text as Cell

from integrator.backlog import Lag, shown
from integrator.channel import paths
from integrator.channel.secret import mask_properties
from integrator.cli.output import grid, plain_grid
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import CaptureRecipe, Field, KeyRecipe
from integrator.durable import Damaged
from integrator.encode.messages import value_schema
from integrator.expressions.parts import ColumnValue, Constant, Op, Part, Sql, Text
from integrator.names.numbers import counted, size
from integrator.plan import Plan
from integrator.refresh.ledger import Ledger
from integrator.run.seen.failure import Failure
from integrator.run.seen.heartbeat import Beat
from integrator.run.state import aside
from integrator.run.state.directory import State
from integrator.run.state.rewind import Synced
from integrator.schema import describe

STANDING: dict[str, Callable[[Path], Iterator[str]]] = {"refreshes": lambda state: Ledger(state).standing()}
"""What else keeps progress in a state, by its name in JSON: where it stands, a line each."""


def standing(state: State, failure: Failure | None) -> Iterator[str]:
    """Yield what a channel does now, why it waits, its last failure, and its refreshes: a line each."""
    holder, beat = state.holder(), Beat.read(state.path)
    if holder is not None:
        why = f" ({beat.why})" if beat and beat.why and state.suspended is None else ""
        yield f"process {holder}: " + (f"{beat.doing}{why} since {beat.since}" if beat else "no heartbeat")
    else:
        yield "no process integrates it" + (f"; the last one: {beat.doing} at {beat.time}" if beat else "")
    if state.suspended is not None:
        yield f"suspended: {state.suspended}"
    if failure is not None:
        what = f"mended at {failure.mended}" if failure.mended else f"not mended, {failure.action}"
        again = f"; starts again {failure.again_in} s after it" if failure.again_in is not None else ""
        again = "" if failure.mended else again
        yield f"last failure: {failure.time} ({failure.kind}), {what}, number {failure.in_a_row} in a row{again}"
        yield from (f"  {line}" for line in failure.error.splitlines())
    for lines in STANDING.values():
        yield from lines(state.path)
    yield from aside.texts(state.path)


def lag(lag: Lag | None) -> Iterator[str]:
    """Yield what is not sent yet, a line each; nothing where that was not asked for."""
    if lag is None:
        return
    yield f"not sent: {counted(lag.files, 'slice')}, {size(lag.bytes)}"
    yield from (f"  {name}: {counted(records, 'record')}" for name, records in sorted(lag.records.items()))
    if lag.log is not None:
        yield from (f"{name}: {value}" for name, value in shown(lag.log))


def state(cycles: Sequence[Synced | Damaged], console: Console) -> None:
    """Print synced cycles, and which of them cannot be gone back to because their mark is damaged."""
    rows = plain_grid("cycle", "synced", "files", "last slice", "rows", "messages", "bytes", "rows that wait")
    for one in cycles:
        if isinstance(one, Damaged):
            console.print(f"{one}; --back-to cannot reach that cycle", highlight=False, markup=False)
            continue
        numbers = (one.files, one.last_slice, one.rows, one.messages, one.bytes, one.deferred)
        rows.add_row(str(one.cycle), one.at.isoformat(timespec="seconds"), *(Cell(str(number)) for number in numbers))
    console.print(rows if cycles else "no cycle is synced yet", highlight=False)


def plan(plan: Plan, only: list[str], console: Console) -> None:
    """Print what `plan` would send; `only` these tables, if any are named."""
    recipe = plan.recipe
    referenced = plan.secrets.referenced  # I7

    def say(text: str, **how: Any) -> None:
        console.print(referenced(text), highlight=False, markup=False, **how)

    say(f"channel   {plan.channel}")
    say(f"source    {plan.source.describe()}")
    say(f"kafka     {plan.brokers}")
    say(f"producer  {mask_properties(recipe.send.producer)}")
    say(f"messages  {layout(recipe)}, {bundling(recipe)}, at most {recipe.messages.max_bytes} bytes")
    if plan.registry:
        say(f"registry  {', '.join(plan.registry.access.urls)}")
    say(f"state     {paths.as_known(plan.state)}")
    for note in plan.notes:
        say(f"note: {note}")
    for table in recipe.tables:
        if only and table.table.name not in only:
            continue
        operations = ", ".join(map(str, table.operations))
        say(f"\ntable {table.table.name} → topic {table.topic}", style="bold")
        say(f"style {table.style}: operations {operations} are sent")
        of_messages = [*table.message_key.expression, *(part for _, of_header in table.headers for part in of_header)]
        is_hashed = any(isinstance(part, Op) and part.name == "hvr_key_hash" for part in of_messages)
        hashed = f"; {{hvr_key_hash}} is of {', '.join(table.distribution_key)}" if is_hashed else ""
        say(f"key: {', '.join(table.key)}{hashed}")
        for line in captured(table.capture):
            say(f"captured: {line}")
        say(f"message key: {message_key(table.message_key)}")
        for name, parts in table.headers:
            say(f"header {name}: {expression_text(parts)}")
        if table.tombstones:
            console.print("a delete is followed by a tombstone")
        columns = grid("column", "type", "null", "value")
        for field in table.fields:
            columns.add_row(
                Cell(field_name(field.name)),
                Cell(describe(field.type)),
                "yes" if field.nullable else "no",
                Cell(referenced(value(field))),
            )
        console.print(columns)
        _schemas(plan, table.table.name, console)


def captured(capture: CaptureRecipe) -> Iterator[str]:
    """Yield what is done to the change rows of a table first, a line each."""
    if capture.condition is not None:
        yield f"only rows for which {capture.condition.text}"
    if capture.ignored is not None:
        yield f"no changes for which {capture.ignored.text}"
    if capture.ignored_updates is not None:
        yield f"no updates for which {capture.ignored_updates.text}"
    if capture.addresses:
        yield f"only rows for {', '.join(capture.subscribed)}, by {expression_text(capture.addresses)}"
    yield from (f"{name} is {expression_text(parts)}" for name, parts in capture.expressions)
    yield from (f"{name} is {source} in the records" for name, source in capture.names)
    yield from (f"{name} is not in the records" for name in capture.absent)
    yield from (f"{name} is cut to {counted(size, 'byte')}" for name, size in capture.trims)
    for names, what in ((capture.blanks, "without blanks at the end"), (capture.days, "without time")):
        if names:
            yield f"{', '.join(names)} {what}"
    yield from (f"{one!r} becomes {other!r}" for one, other in capture.characters)
    yield from (f"{name} is {text!r} where it is missing" for name, text in capture.missing)
    if capture.augment:
        yield "missing values of after images are taken from before images"
    if capture.coalesce:
        yield "changes of a key in a transaction are one"


def layout(recipe: Recipe) -> str:
    """Return the format of the messages, and their envelope."""
    found = recipe.messages.layout
    mode = f" {found.options.json_mode}" if found.format == "JSON" else ""
    return found.format + mode + (f" in the envelope {found.envelope}" if found.envelope else "")


def bundling(recipe: Recipe) -> str:
    """Return which rows are a message."""
    found = recipe.messages.layout.bundling
    threshold = f" of {found.threshold} bytes" if found.keyless else ""
    return found.mode + threshold + (", concatenated" if found.concatenated else "")


def message_key(key: KeyRecipe) -> str:
    """Return what the key of messages is."""
    made_of = ", ".join(column.name for column in key.columns) or expression_text(key.expression)
    return f"{key.serializer} of {made_of}" if made_of else "none"


def _schemas(plan: Plan, name: str, console: Console) -> None:
    """Print the schemas of a table's messages, with their subjects where a registry is to have them."""
    [table] = [table for table in plan.recipe.tables if table.table.name == name]
    found = [one for one in plan.registrations if one.table == name]
    for one in found:
        console.print(f"subject {one.subject} ({one.type})", highlight=False, markup=False)
        _text(plan.secrets.referenced(one.text), console)
    text = "" if found else value_schema(table, plan.recipe)
    if text:
        _text(plan.secrets.referenced(text), console)


def _text(text: str, console: Console) -> None:
    if text.startswith(("{", '"')):
        console.print_json(text, indent=None)
    else:
        console.print(text, highlight=False, markup=False)


def field_name(field: str) -> str:
    """Return the name of a field as people see it: a whole event has one that no column can have."""
    return field.lstrip("\0")


def value(field: Field) -> str:
    """Return what the value of a column is."""
    if field.soft_delete:
        return "1 if deleted, else 0"
    return expression_text(field.expression) if field.expression else field_name(field.source or "empty")


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
            case Sql(text, _):
                texts.append(f"sql: {text}")
    return "".join(texts)
