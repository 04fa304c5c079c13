"""What is made for the docs: the channel's JSON Schema, the reference, a page for each action, graphs of figures, the map.

python -m tests.generate        (make docs); tests/unit/test_generated.py checks that they are current
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from prometheus_client import Counter, Gauge, Histogram

from integrator import schema
from integrator.channel import (
    access,
    base,
    created_topics,
    databases,
    locations,
    model,
    sources,
    tolerance,
    topics,
)
from integrator.contracts.message_format import Options
from integrator.decode.dialects import CHOSEN
from integrator.expressions.substitutions import SUBSTITUTIONS
from integrator.formats import FORMATS
from integrator.monitor.metrics import Metrics
from integrator.names import IN_PROPERTY, NAMES, Name
from integrator.plan import kafka
from integrator.schema import Column
from tests import action_pages, graphs, package_map
from tests.action_pages import default_of, type_of

ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "schemas" / "channel.schema.json"
REFERENCE = ROOT / "docs" / "reference.md"


def json_schema() -> str:
    made = model.Channel.model_json_schema(by_alias=True)
    for definition in made["$defs"].values():
        _add_words(definition)
    made = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Channel", **made}
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


SOURCE_KEYS = ("Keys of every source of changes", sources.SourceLocation)
DATABASE_KEYS = ("Keys of a captured database", databases.DatabaseLocation)
ACCESS_KEYS = ("Keys of access to Kafka", access.KafkaAccess)
REGISTRY_KEYS = ("Keys of a schema registry", access.RegistryLocation)


def reference() -> str:
    parts = [
        "# Reference\n\nThe keys of a channel file, and the words that they take; the names and numbers that the program "
        "shows. Made from the model by `make docs`; do not edit. What is marked *(extension)* HVR does not have. The "
        "parameters of actions have [pages of their own](actions/README.md).\n",
        _model("Channel", model.Channel),
        _model("errors", tolerance.Errors),
        _model("threshold", tolerance.Threshold),
        _model("Restart", model.Restart),
        _model("Latency", model.Latency),
        _model("Resolved", model.Resolved),
        _model("Monitor", model.Monitor),
        _model("Table files", model.TableFile),
        _model("Location of class files", sources.FilesLocation, SOURCE_KEYS),
        _model("Location of class socket", sources.SocketLocation, SOURCE_KEYS),
        _model("tls", sources.SocketTls),
        _model("Location of class postgres", databases.PostgresLocation, DATABASE_KEYS),
        _model("Location of class mysql or mariadb", databases.BinlogLocation, DATABASE_KEYS),
        _model(DATABASE_KEYS[0], DATABASE_KEYS[1], SOURCE_KEYS),
        _model("Location of class kafka with topics", topics.TopicsLocation, SOURCE_KEYS, ACCESS_KEYS, REGISTRY_KEYS),
        _model(*SOURCE_KEYS),
        _model("debezium", sources.Debezium),
        _model("Location of class snapshot", sources.SnapshotLocation),
        _model("Location of class jdbc", sources.JdbcLocation),
        _model("Location of class kafka", locations.KafkaLocation, ACCESS_KEYS, REGISTRY_KEYS),
        _model(*ACCESS_KEYS),
        _model(*REGISTRY_KEYS),
        _model("Schema_Registry", locations.RegistryUse),
        _model("Create_Topics", created_topics.TopicCreation),
        _model("Entry of Create_Topics as a list", created_topics.TopicRule),
        datatypes(),
        substitutions(),
        _table(
            "librdkafka's properties where HVR_KAFKA_PROPERTY does not say otherwise",
            ["property", "value"],
            [[f"`{name}`", f"`{value}`"] for name, value in kafka.DEFAULTS.items()],
        ),
        metrics(),
        names_of_others(),
    ]
    return "\n".join(parts)


def substitutions() -> str:
    """The table of substitutions, those of one type and the same places in a row; what most have in common is above it."""
    common = ("IntegrateExpression", "MessageKey", "MessageHeaders")
    alike: dict[tuple[str, str], list[str]] = {}
    for name, one in SUBSTITUTIONS.items():
        others = [place for place in one.contexts if place not in common]
        lacking = [place for place in common if place not in one.contexts]
        places = [f"also {', '.join(others)}"] * bool(others) + [f"not {', '.join(lacking)}"] * bool(lacking)
        alike.setdefault((schema.describe(one.type), "; ".join(places)), []).append(f"`{{{name}}}`")
    rows = [[", ".join(names), *shared] for shared, names in alike.items()]
    return (
        f"## Substitutions\n\nEach may stand in {', '.join(common)}, unless the last column says otherwise. "
        f"[Expressions](expressions.md) explains them.\n\n" + _grid(["substitutions", "type", "places"], rows)
    )


_MIGRATED = ("HVR", "Kafka Connect", "Debezium", "Airbyte", "Conduit")


def names_of_others() -> str:
    """A table for each product that channels come from: its names, those with one answer in a row."""
    parts = [
        "## Names of other products\n\n`check` answers these names with ours, and those of Kafka's clients, Spark, Flink "
        "and others. They count with `_`, `-` or capitals in the place of `.` too. Keys without a place are the Kafka "
        "location's; of a source key, the source's; `errors` is at the top of the channel. ✓: may be set in "
        "HVR_KAFKA_PROPERTY.\n"
    ]
    for product in sorted(_MIGRATED):
        answers: dict[str, list[str]] = {}
        for one in sorted(NAMES, key=lambda one: one.name.lower()):
            if one.of == product:
                name = f"{{{one.name}}}" if one.kind == "substitution" else one.name
                answers.setdefault(_here(one), []).append(f"`{name}`{'✓' * bool(one.sets)}")
        rows = [[", ".join(names), _escape(here)] for here, names in answers.items()]
        parts.append(f"**{product}**\n\n{_grid(['name', 'here'], rows)}")
    return "\n".join(parts)


def metrics() -> str:
    """The table of metrics, as the endpoint's registry has them; those of the process are its client library's."""
    held = [
        one for value in vars(Metrics()).values() for one in (value.values() if isinstance(value, dict) else [value])
    ]
    made = [one for one in held if isinstance(one, Counter | Gauge | Histogram)]
    if not all("channel" in one._labelnames for one in made):
        raise ValueError("a metric has no label `channel`")
    rows = [[f"`{_metric(one)}`", one._type, one._documentation] for one in made]
    return "## Metrics\n\nEach has the label `channel`, and those in braces.\n\n" + _grid(
        ["metric", "type", "meaning"], rows
    )


def _metric(one: Counter | Gauge | Histogram) -> str:
    labels = ", ".join(label for label in one._labelnames if label != "channel")
    return f"{one._name}{'_total' * isinstance(one, Counter)}{f'{{{labels}}}' if labels else ''}"


def _here(one: Name) -> str:
    """The answer to a name, without what the text above the tables says of all."""
    ours = one.ours
    if ours.endswith(IN_PROPERTY):
        return "HVR_KAFKA_PROPERTY of Environment"
    if one.name.startswith("errors.") and one.name.removeprefix("errors.") in ours:
        return "the same below `errors`, without `errors.`"
    return ours.removeprefix("use ").removeprefix("here ").removesuffix(" of the Kafka location")


def _add_words(definition: dict[str, Any]) -> None:
    """Add the words that a key may have to its definition, where the model leaves them to what stands above it."""
    if "dialect" in definition.get("properties", {}):
        definition["properties"]["dialect"]["enum"] = list(CHOSEN)


def _model(title: str, kind: type[base.Model], *shared: tuple[str, type[base.Model]]) -> str:
    """A table of a model's keys, but for those that it has just as models do whose own sections are named."""
    made = _schema_of(kind)
    known = [_schema_of(one)["properties"] for _, one in shared]
    required = made.get("required", [])
    rows = [
        [f"`{name}`", type_of(item), default_of(name, item, required), _escape(_linked(item.get("description", "")))]
        for name, item in made["properties"].items()
        if not any(keys.get(name) == item for keys in known)
    ]
    links = " and ".join(f"[{name[0].lower()}{name[1:]}](#{name.lower().replace(' ', '-')})" for name, _ in shared)
    beside = f" The {links} stand beside these." if shared else ""
    return (
        f"## {title}\n\n{made.get('description', '')}{beside}\n\n{_grid(['key', 'type', 'default', 'meaning'], rows)}"
    )


def _schema_of(kind: type[base.Model]) -> dict[str, Any]:
    made = kind.model_json_schema(by_alias=True)
    _add_words(made)
    return made


def _table(title: str, head: list[str], rows: list[list[str]]) -> str:
    return f"## {title}\n\n{_grid(head, rows)}"


def _grid(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _linked(text: str) -> str:
    """A description with links to the pages that it names."""
    return re.sub(r"docs/([\w/]+)\.md", r"[\1](\1.md)", text)


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


SAMPLES: list[tuple[str, Any]] = [
    ("boolean", True),
    ("tinyint", 7),
    ("smallint", 7),
    ("integer", 7),
    ("bigint", 7),
    ("real", 1.5),
    ("double", 1.5),
    ("decimal", "12.30"),
    ("varchar", "Zoë"),
    ("uuid", "6f1ed002-ab5e-4e1c-9f3a-0d5d1e2f3a4b"),
    ("json", '{"a":1}'),
    ("blob", b"\x00\xff"),
    ("date", 20777),
    ("time(3)", 45296789),
    ("time(6)", 45296789000),
    ("timestamp(3)", 1795178096789),
    ("timestamp(6)", 1795178096789012),
    ("timestamp(9)", 1795178096789012345),
    ("timestamptz(6)", 1795178096789012),
    ("interval", pa.MonthDayNano((14, 3, 14706789000000))),
    ("integer[]", [7, 8]),
]


def datatypes() -> str:
    """The datatypes, and what every format writes of each, by the formats themselves."""
    rows = []
    for name, value in SAMPLES:
        base, _, digits = name.rstrip(")").partition("(")
        kind = schema.datatype(base, 20, int(digits) if digits else 10, 2)
        rows.append([f"`{name}`", *(f"`{_escape(text)}`" for text in _said(kind, value))])
    head = ["datatype", "Connect type", "Connect JSON", "JSON", "Avro type", "Protobuf type", "CSV"]
    words = ", ".join(f"`{name}`" for name in schema.DATATYPES)
    return (
        f"## Datatypes\n\n{words}. What formats write of them (JSON Schema's messages are as Connect JSON, with decimals as "
        f"numbers; XML is as CSV, with bytes in hex; arrays and structs nest):\n\n{_grid(head, rows)}{NOTES}"
    )


NOTES = """
* The `decimal` is decimal(10,2): in Connect JSON base64 of the unscaled value, with scale and precision in the schema; `Json_Decimals` writes
  digits. `bigint unsigned` is decimal(20,0). Other texts (`char`, `text`, `inet`, `enum`, `numeric` without a precision) are as `varchar`.
* `Micro…` and `Nano…` (years 1678 to 2261) are Debezium's names, `io.debezium.time.…`, for what Connect does not have; other readers see
  int64. `Json_Times: CONNECT` always sends milliseconds, and refuses a value that has more; `Json_Times: DEBEZIUM` names all times, uuid, json
  and enum as Debezium does. Digits 0 to 3 are as (3), 4 to 6 as (6), 7 to 9 as (9). A timestamp without zone counts as UTC.
* JSON refuses NaN and infinities, and has minus zero as `-0.0`. `Datatype: varchar` sends such numbers as text, `Datatype: text` an array or a
  struct as its JSON.
"""


def _said(kind: schema.Type, value: Any) -> list[str]:
    arrow = schema.arrow_type(kind)
    if pa.types.is_temporal(arrow) and not pa.types.is_interval(arrow):
        values = pa.array([value], pa.int32() if arrow.bit_width == 32 else pa.int64()).cast(arrow)
    else:
        values = pa.array([Decimal(value) if pa.types.is_decimal(arrow) else value], arrow)
    columns, numeric = [Column("c", kind)], Options(decimals="NUMERIC", binary="BASE64")

    def text(name: str, options: Options) -> str:
        row = FORMATS[name].encoder(columns, options)({"c": values}, {})[0].as_py()
        return (row if isinstance(row, str) else row.decode()).strip()

    connect_schema = json.loads(FORMATS["SCHEMA_PAYLOAD"].schema_text("t", columns, Options()))["fields"][0]
    connect = " ".join(filter(None, [connect_schema["type"], connect_schema.get("name", "").rpartition(".")[2]]))
    avro = json.loads(FORMATS["REGISTRY_AVRO"].schema_text("t", columns, numeric))["fields"][0]["type"][1]
    if isinstance(avro, dict):
        base = avro["type"] if avro["type"] != "array" else f"array of {avro['items'][1]}"
        avro = f"{base} {avro.get('logicalType', '')}".strip()
    proto = FORMATS["REGISTRY_PROTOBUF"].schema_text("t", columns, numeric)
    field = re.search(r"(?:optional |repeated )?([\w.]+) (?:c|items) = 1", proto)
    plain = [text(name, options)[5:-1] for name, options in (("SCHEMA_PAYLOAD", Options()), ("JSON", numeric))]
    return [connect, *plain, avro, field[1] if field else "", text("CSV", numeric)]


PAGES = {
    SCHEMA: json_schema,
    REFERENCE: reference,
    package_map.PICTURE: package_map.svg,
    **action_pages.PAGES,
    **graphs.PAGES,
}

if __name__ == "__main__":
    for path, make in PAGES.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make(), encoding="utf-8")
