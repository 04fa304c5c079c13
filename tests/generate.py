"""The pages that are made from the model: the channel's JSON Schema, and the reference.

python -m tests.generate        (make docs); tests/unit/test_generated.py checks that they are current
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from integrator import errors, expression, schema
from integrator.channel import actions, base, locations, model
from integrator.plan import kafka
from integrator.recipe import STYLES

ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "schemas" / "channel.schema.json"
REFERENCE = ROOT / "docs" / "reference.md"


def json_schema() -> str:
    made = model.Channel.model_json_schema(by_alias=True)
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Channel", **made}
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def reference() -> str:
    parts = [
        "# Reference\n\nMade from the model by `make docs`; do not edit.\n",
        _model("Channel", model.Channel),
        _model("Location of class files", locations.FilesLocation),
        _model("Location of class kafka", locations.KafkaLocation),
        _model("Create_Topics", locations.TopicCreation),
        _model("Schema_Registry", locations.RegistryAccess),
        _model("Table files", model.TableFile),
        _model("Action ColumnProperties", actions.ColumnProperties),
        _model("Action Environment", actions.Environment),
        _model("Action Integrate", actions.Integrate),
        _model("Action FileFormat", actions.FileFormat),
        _model("Action Capture", actions.Capture),
        _table("Datatypes", ["datatype"], [[f"`{name}`"] for name in schema.DATATYPES]),
        _table(
            "Substitutions",
            ["substitution", "type alone", "may stand in"],
            [
                [f"`{{{name}}}`", schema.describe(sub.type), ", ".join(sub.contexts)]
                for name, sub in expression.SUBSTITUTIONS.items()
            ],
        ),
        _table(
            "Replication styles",
            ["style", "operations that are sent"],
            [[style, ", ".join(map(str, operations))] for style, operations in STYLES.items()],
        ),
        _table(
            "librdkafka's properties where HVR_KAFKA_PROPERTY does not say otherwise",
            ["property", "value"],
            [[f"`{name}`", f"`{value}`"] for name, value in kafka.DEFAULTS.items()],
        ),
        _table(
            "librdkafka's properties that HVR_KAFKA_PROPERTY may not set",
            ["property", "because"],
            [[f"`{name}`", why] for name, why in kafka.RESERVED.items()],
        ),
        _table(
            "Exit codes",
            ["code", "kind", "who acts"],
            [["0", "done", ""], ["1", "a defect of the integrator", "its maintainers"]]
            + [
                [str(kind.exit_code), kind.name, kind.who]
                for kind in (errors.CONFIGURATION, errors.DATA, errors.DELIVERY, errors.ENVIRONMENT)
            ],
        ),
    ]
    return "\n".join(parts)


def _model(title: str, kind: type[base.Model]) -> str:
    made = kind.model_json_schema(by_alias=True)
    required = made.get("required", [])
    rows = [
        [f"`{name}`", _type(item), _default(name, item, required), _escape(item.get("description", ""))]
        for name, item in made["properties"].items()
    ]
    return f"## {title}\n\n{made.get('description', '')}\n\n{_grid(['key', 'type', 'default', 'meaning'], rows)}"


def _type(item: dict[str, Any]) -> str:
    if "const" in item:
        return f"`{item['const']}`"
    if "enum" in item:
        return ", ".join(f"`{value}`" for value in item["enum"])
    if "anyOf" in item:
        return " or ".join(_type(option) for option in item["anyOf"] if option.get("type") != "null")
    if "$ref" in item:
        return item["$ref"].rpartition("/")[2]
    if item.get("type") == "array":
        return f"list of {_type(item['items'])}"
    return str(item.get("type", "one of several"))


def _default(name: str, item: dict[str, Any], required: list[str]) -> str:
    if name in required or item.get("default", ...) is ...:
        return "required" if name in required else ""
    default = item["default"]
    return "" if default is None or default in ([], {}) else f"`{json.dumps(default)}`"


def _table(title: str, head: list[str], rows: list[list[str]]) -> str:
    return f"## {title}\n\n{_grid(head, rows)}"


def _grid(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


PAGES = {SCHEMA: json_schema, REFERENCE: reference}

if __name__ == "__main__":
    for path, make in PAGES.items():
        path.write_text(make(), encoding="utf-8")
