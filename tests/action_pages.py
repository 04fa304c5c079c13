"""A page of the docs for each action, made from the model: parameter, type, default, meaning, example, what differs."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from integrator.channel import scope
from integrator.channel.actions import ACTIONS
from integrator.channel.base import Scoped
from integrator.names import hvr

DOCS = Path(__file__).parent.parent / "docs" / "actions"
MADE = "Made from the model by `make docs`; do not edit."
SCOPE = """\
## Where it holds

Each action has a scope: `group` (a location group, a location, or `*`) and `table` (a table, a table group, or `*`, which is the
default). Where several actions say the same parameter, the most specific wins, parameter by parameter: a table before a table group before `*`,
then a location before a location group before `*`; two equally specific ones that disagree are a problem that `check` tells. HVR
does not say which wins.

A column that an action names must be in all tables of its scope. With a table group, or `table: "*"` written out, it need be in one of them, and the action is for the tables
that have it: `{action: ColumnProperties, table: "*", Name: email, Absent: true}` sends no e-mail address of any table.
"""


def index() -> str:
    rows = [f"| [{name}]({name}.md) | {(kind.__doc__ or '').splitlines()[0]} |\n" for name, kind in ACTIONS.items()]
    return (
        f"# Actions\n\n{MADE}\n\nWhat differs from the defaults, row by row, under HVR's names: scope, action, parameters.\n\n"
        "| action | what it says |\n| --- | --- |\n" + "".join(rows) + f"\n{SCOPE}\n{_absent()}"
    )


def _absent() -> str:
    actions = "".join(f"| `{name}` | {why} |\n" for name, why in hvr.ACTIONS.items())
    parameters = "".join(f"| `{name}` | {why} |\n" for name, why in hvr.PARAMETERS.items())
    return (
        "## What HVR has and is not here\n\nCapture and Integrate without parameters, which every channel of HVR has, are "
        "accepted and say nothing.\n\n| action | |\n| --- | --- |\n"
        f"{actions}\n| parameter | |\n| --- | --- |\n{parameters}"
    )


def page(name: str) -> str:
    kind = ACTIONS[name]
    made = kind.model_json_schema(by_alias=True)
    inside = inspect.getmodule(kind)
    link = re.search(r"https://\S+?(?=\))", (inside.__doc__ if inside else "") or "")
    head = f"# {name}\n\n{made['description']} [HVR's page]({link[0] if link else ''}). {MADE}\n\n"
    example = f"```yaml\nactions:\n{_indented(kind.EXAMPLE)}```\n\n"
    names = [parameter for parameter in made["properties"] if parameter not in ("action", "group", "table", "Context")]
    names += ["Context"] if "Context" in made["properties"] else []
    contents = f"Parameters: {', '.join(f'[{parameter}](#{parameter.lower()})' for parameter in names)}.\n\n"
    required = made.get("required", [])
    parts = [_parameter(kind, parameter, made["properties"][parameter], required) for parameter in names]
    scoped = "`group` and `table` say [where it holds](README.md#where-it-holds).\n\n"
    return head + example + scoped + contents + "\n".join(parts)


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


def _parameter(kind: type[Scoped], name: str, item: dict[str, Any], required: list[str]) -> str:
    rows = [("type", type_of(item)), ("default", default_of(name, item, required)), ("holds", _place(kind, name))]
    if "example" in item:
        rows.append(("example", f"`{name}: {item['example']}`"))
    lines = [f"* {label}: {text}\n" for label, text in rows if text]
    differs = item.get("differs", "")
    if differs == "extension":
        differs = "HVR has none: an extension."
    otherwise = f"\nOtherwise than in HVR: {differs}\n" if differs else ""
    return f"## {name}\n\n{item['description']}\n\n{''.join(lines)}{otherwise}"


def _place(kind: type[Scoped], name: str) -> str:
    action = kind.__name__
    if name in scope.SCOPE_KEYS:
        return ""
    if name in scope.ONLY_AT_SOURCE:
        return "at the source"
    return "at the source or at Kafka" if name in scope.AT_SOURCE.get(action, ()) else "at Kafka"


def type_of(item: dict[str, Any]) -> str:
    if "const" in item:
        return f"`{item['const']}`"
    if "enum" in item:
        return ", ".join(f"`{value}`" for value in item["enum"])
    if "anyOf" in item:
        return " or ".join(type_of(option) for option in item["anyOf"] if option.get("type") != "null")
    if "$ref" in item:
        return str(item["$ref"].rpartition("/")[2])
    if item.get("type") == "array":
        return f"list of {type_of(item['items'])}"
    bounds = f", at least {item['minimum']}" if "minimum" in item else ""
    return {"string": "text", "boolean": "true or false"}.get(
        item.get("type", ""), item.get("type", "one of several")
    ) + bounds


def default_of(name: str, item: dict[str, Any], required: list[str]) -> str:
    if name in required or item.get("default", ...) is ...:
        return "required" if name in required else ""
    default = item["default"]
    return "" if default is None or isinstance(default, dict | list) else f"`{json.dumps(default)}`"


PAGES: dict[Path, Callable[[], str]] = {
    DOCS / "README.md": index,
    **{DOCS / f"{name}.md": lambda name=name: page(name) for name in ACTIONS},  # type: ignore[misc]
}
