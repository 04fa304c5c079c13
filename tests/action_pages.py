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

DOCS = Path(__file__).parent.parent / "docs" / "actions"
MADE = "Made by `make docs`."
SCOPE = """\
A parameter without another type is `true` or `false`, and `false` by default.

## Where it holds

`group` is a location group, a location, or `*`; `table` is a table, a table group, or `*`; the default is `*`. Of several actions
that set a parameter, the most specific wins: a table before a table group before `*`, then a location before a location group before
`*`. Two equally specific ones that disagree are an error. With `group: "*"`, `BaseName`, `Schema` and `Absent` mean the messages: to
change the source, name its location or group. A parameter holds at Kafka, unless its page names another place.

A column that an action names must be in all tables of its scope; with a table group, or `table: "*"` written out, in one of them:
`{action: ColumnProperties, table: "*", Name: email, Absent: true}` sends no e-mail address of any table.

{context} also have
[`Context`](../expressions.md#contexts-and-variables): the runs in which the action holds.

Capture and Integrate without parameters are accepted, as every channel of HVR has them. What HVR has and is not here is among [the names of
other products](../reference.md#names-of-other-products).
"""


def index() -> str:
    rows = [f"| [{name}]({name}.md) | {(kind.__doc__ or '').splitlines()[0]} |\n" for name, kind in ACTIONS.items()]
    return (
        "# Actions\n\nActions say what differs from the defaults, a row each, under HVR's names: scope, action, parameters. "
        f"{MADE}\n\n| action | what it says |\n| --- | --- |\n"
        + "".join(rows)
        + f"\n{SCOPE.replace('{context}', _with_context())}"
    )


def _with_context() -> str:
    *names, last = (name for name, kind in ACTIONS.items() if "Context" in kind.model_fields)
    return f"{', '.join(names)} and {last}"


def page(name: str) -> str:
    kind = ACTIONS[name]
    made = kind.model_json_schema(by_alias=True)
    inside = inspect.getmodule(kind)
    link = re.search(r"https://\S+?(?=\))", (inside.__doc__ if inside else "") or "")
    head = (
        f"# {name}\n\n{made['description']} See [its scope](README.md#where-it-holds) and [HVR's "
        f"page]({link[0] if link else ''}).\n\n"
    )
    example = f"```yaml\nactions:\n{_indented(kind.EXAMPLE)}```\n\n"
    names = [parameter for parameter in made["properties"] if parameter not in ("action", "group", "table", "Context")]
    required = made.get("required", [])
    parts = [_parameter(kind, parameter, made["properties"][parameter], required) for parameter in names]
    return head + example + "\n".join(parts)


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


def _parameter(kind: type[Scoped], name: str, item: dict[str, Any], required: list[str]) -> str:
    default = default_of(name, item, required)
    is_usual = default in ("", "required", "`false`")
    facts = [type_of(item), default if default == "required" else "" if is_usual else f"default {default}"]
    facts.append(_place(kind, name))
    differs = item.get("differs", "")
    if differs == "extension":
        facts, differs = [*facts, "an extension"], ""
    otherwise = f" Differs from HVR: {differs}" if differs else ""
    shown = f" `{name}: {item['example']}`" if "text" in type_of(item).split(" or ") else ""
    told = "; ".join(fact for fact in facts if fact not in ("", "true or false"))
    written = f"\n*{told}*{shown}\n" if told else ""
    described = re.sub(r"docs/(\w+)\.md", r"[\1](../\1.md)", item["description"])
    return f"## {name}\n\n{described}{otherwise}\n{written}"


def _place(kind: type[Scoped], name: str) -> str:
    """The place at which a parameter holds, unless that is Kafka alone."""
    if name in scope.SCOPE_KEYS:
        return ""
    if name in scope.ONLY_AT_SOURCE:
        return "at the source"
    return "source or Kafka" if name in scope.AT_SOURCE.get(kind.__name__, ()) else ""


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
