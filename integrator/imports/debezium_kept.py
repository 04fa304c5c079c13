"""`import debezium --keep-connector`: a channel that reads what the connector sends, and does not replace it.

What the connector does before it sends is in its records already, and so is the connector's; what decides how these are
read is here: topics, converters, how rows are flattened, and how brokers and registry are reached.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from integrator.channel.access import KafkaAccess, RegistryLocation
from integrator.imports import debezium_converters as converters
from integrator.imports import debezium_flat, producer
from integrator.imports.connect_file import Config
from integrator.imports.debezium_kept_topics import KeptTopics
from integrator.imports.debezium_masks import shown
from integrator.imports.debezium_reasons import TODOS
from integrator.imports.debezium_topics import Router, router
from integrator.imports.draft import PROPERTY, Draft

_READ = (*converters.REGISTRY, "JsonConverter", "CloudEventsConverter")
_KEPT = "the connector stays, and does it before it sends"
_IN_RECORDS = "the records have what it makes of them"
_ACCESS = ("security.", "sasl.", "ssl.")
_METADATA = (
    "value.converter.connect.meta.data=false: schemas do not say which numbers are times: set it to true, or give the "
    "tables' definitions (--tables FILE)"
)
_APICURIO = (
    "Apicurio's converter must write a schema's id as Confluent's does, in 4 bytes "
    "(apicurio.registry.as-confluent=true, apicurio.registry.use-id=contentId)"
)
_OUTBOX = (
    "{} (EventRouter): its topics have the events of an outbox, not rows of tables, and are not read: leave its table "
    "out of table.include.list of another import"
)
_BY_CONTENT = "{} (ContentBasedRouter): add the topics that it sends to to `topics` of the source location"
_UNKNOWN = "{} ({}) is not known: where it changes the shape of records, they cannot be read as Debezium's events"
_NO_DELETES = (
    "{}: deletes leave nothing in the topics, and cannot be sent: set delete.tombstone.handling.mode=rewrite at the "
    "connector to have them"
)
_NO_TOMBSTONES = (
    "tombstones.on.delete=false: flattened deletes leave nothing in the topics: set it to true at the connector"
)
_TEXT_KEYS = (
    "key.converter (StringConverter): keys are the text of Java's structs, and a tombstone's row is not known by it: "
    "set another converter at the connector, or delete.tombstone.handling.mode=rewrite"
)
_PLAIN_KEYS = (
    "keys have no schemas, which name the key columns of tables: name them, {action: ColumnProperties, table: …, "
    "Name: …, Key: true}"
)
_EXTRACTED = (
    "keys are single values, which do not name the table's key column: name it, {{action: ColumnProperties, table: …, "
    "Name: {}, Key: true}}"
)
_ROUTED_ROWS = (
    "flattened rows do not name their tables, and topics are routed: check that the last part of a topic's name is the "
    "table, or set table_of_topic at the source location"
)
_ADDED = "what add.fields adds is no column of the tables, and columns that come later are not sent (unknown_columns)"
_MADE = (
    "ReplaceField", "MaskField", "InsertField", "Cast", "TimestampConverter", "TimezoneConverter", "ValueToKey",
    "InsertHeader", "HeaderFrom", "HeaderToValue", "DropHeaders", "Filter", "SchemaChangeEventFilter",
    "PartitionRouting", "ExtractChangedRecordState", "SetSchemaMetadata", "ExtractField",
)  # fmt: skip
"""Transforms after which records are still read as they are."""
_PARTS_OF_TYPES = re.compile(r"(key|value)\.converter(\..*)?")


def defines_tables(config: Config) -> bool:
    """Return whether the connector's records have schemas, which define the channel's tables."""
    kind = config.get("value.converter").rpartition(".")[2] or "JsonConverter"
    return kind in converters.REGISTRY or converters.has_schemas(config, "value", kind)


def import_kept(config: Config, topics: KeptTopics, draft: Draft) -> None:
    """Have a draft read the connector's topics; its brokers and tables are set. Raises ConfigurationError."""
    draft.source |= {"class": "kafka", "Kafka_Brokers": draft.kafka["Kafka_Brokers"]}
    draft.source |= {"dialect": "debezium", "unknown_columns": "add", "repeated_positions": "send"}
    draft.source.pop("unknown_tables", None)
    draft.remarks.append("The topics of the connector, which continues.")
    _take_access(config, draft)
    _take_converters(config, draft)
    topics.routers, rows = _take_transforms(config, draft)
    for key, given in rows.items():
        _take_rows(key, given, config, draft)
        if topics.routers:
            draft.report.todo(_ROUTED_ROWS)
    draft.source["topics"] = read = topics.take(config, draft)
    draft.kafka["Kafka_Default_Topic"] = target = topics.target(read)
    draft.kafka["Create_Topics"] = {}
    draft.report.differ(
        f"the connector's topics stay as they are; messages go to {target}, as rows with "
        "op_val (0 delete, 1 insert, 2 update) and integ_seq, which orders them; FileFormat, and Kafka_Schema_Registry "
        "of the location kaf, choose another format"
    )
    extra: dict[str, Any] = {"Extra": True}
    draft.add_action("ColumnProperties", Name="op_val", Datatype="integer", **extra, IntegrateExpression="{hvr_op}")
    sequence: dict[str, Any] = {"Datatype": "varchar", "Length": 45, **extra, "TimeKey": True}
    draft.add_action("ColumnProperties", Name="integ_seq", **sequence, IntegrateExpression="{hvr_integ_seq}")
    for name in config.rest():
        todo = next((text for expression, text in TODOS if re.fullmatch(expression, name)), "")
        if todo and not name.startswith("column."):
            draft.report.todo(f"{name}: {todo}")
        else:
            draft.report.ignore(shown(name) if name.startswith("column.") else name, _KEPT)


def _take_access(config: Config, draft: Draft) -> None:
    """Have both locations reach the brokers as the connector's producer does."""
    given = config.below("producer.override.")
    given.pop("bootstrap.servers", None)
    access = {name: value for name, value in given.items() if name.startswith(_ACCESS)}
    for name in given.keys() - access.keys():
        draft.report.ignore(f"producer.override.{name}", "it is of the connector's producer")
    reached = _scratch(draft, Kafka_Brokers=draft.kafka["Kafka_Brokers"])
    producer.import_producer(access, reached, "KAFKA", "producer.override.{}".format)
    found = {key: value for key, value in reached.kafka.items() if key in KafkaAccess.model_fields}
    draft.source |= found
    draft.kafka |= found
    draft.properties += reached.properties
    draft.guessed |= reached.guessed
    if reached.properties:
        properties = ";".join(reached.properties)
        draft.add_action("Environment", group="SOURCE", Name=PROPERTY, Value=properties)


def _scratch(draft: Draft, **kafka: Any) -> Draft:
    """Return a draft of which not all is taken, with the report and the secrets of `draft`."""
    return Draft("", "", kafka=dict(kafka), report=draft.report, secrets=draft.secrets)


def _take_converters(config: Config, draft: Draft) -> None:
    """Set the registry, or the dialect, that converters ask for. Raises ConfigurationError."""
    given = config.get("value.converter")
    kind = given.rpartition(".")[2] or "JsonConverter"
    if not given:
        draft.report.todo(
            "value.converter is the worker's: JsonConverter with schemas is assumed; --worker FILE reads the worker's"
        )
    if kind == "CloudEventsConverter":
        draft.source["dialect"] = "cloudevents"
    elif kind in converters.REGISTRY:
        _take_registry(config, kind, draft)
    elif kind not in _READ:
        draft.report.todo(f"value.converter: what {kind} writes cannot be read; {', '.join(_READ)} can")
    key = config.get("key.converter").rpartition(".")[2]
    has_schemas = key in converters.REGISTRY or not key or converters.has_schemas(config, "key", key)
    if not has_schemas and not draft.tables:
        draft.report.todo(_PLAIN_KEYS)
    config.taken |= {name for name in config.values if _PARTS_OF_TYPES.fullmatch(name)}


def _take_registry(config: Config, kind: str, draft: Draft) -> None:
    given = config.below("value.converter.")
    registry = _scratch(draft)
    registry.report = type(draft.report)()
    converters.take_registry(config, kind, registry)
    draft.report.todos |= registry.report.todos
    draft.guessed |= registry.guessed
    known = RegistryLocation.model_fields.keys() - {"Schema_Registry"}
    draft.source |= {key: value for key, value in registry.kafka.items() if key in known}
    if "apicurio.registry.url" in given and given.get("apicurio.registry.as-confluent", "").lower() != "true":
        draft.report.todo(_APICURIO)
    if given.get("connect.meta.data", "true").lower() == "false" and not draft.tables:
        draft.report.todo(_METADATA)


def _take_transforms(config: Config, draft: Draft) -> tuple[list[Router], dict[str, Mapping[str, str]]]:
    """Return routers, and the flattening of rows, if there is one: its key and what is given of it."""
    routers, rows = list[Router](), dict[str, Mapping[str, str]]()
    for name in filter(None, map(str.strip, config.get("transforms").split(","))):
        key, given = f"transforms.{name}", config.below(f"transforms.{name}.")
        kind = given.get("type", "").rpartition(".")[2]
        predicate = config.below(f"predicates.{given['predicate']}.") if "predicate" in given else {}
        predicate |= {"negate": given["negate"]} if predicate and "negate" in given else {}
        short = kind.partition("$")[0]
        match short:
            case "ExtractNewRecordState":
                rows[key] = given
            case "RegexRouter":
                routers.append(router(key, given.get("regex", ""), given.get("replacement", ""), predicate, draft))
            case "ByLogicalTableRouter":
                regex, new = given.get("topic.regex", ""), given.get("topic.replacement", "")
                routers.append(router(key, regex, new, predicate, draft))
            case "EventRouter":
                draft.report.todo(_OUTBOX.format(key))
            case "ContentBasedRouter":
                draft.report.todo(_BY_CONTENT.format(key))
            case _ if short in _MADE:
                draft.report.ignore(f"{key} ({kind})", _IN_RECORDS)
            case _:
                draft.report.todo(_UNKNOWN.format(key, kind))
        if kind == "ExtractField$Key" and not draft.tables:
            draft.report.todo(_EXTRACTED.format(given.get("field", "…")))
    config.get("predicates")
    return routers, rows


def _take_rows(key: str, given: Mapping[str, str], config: Config, draft: Draft) -> None:
    """Have flattened rows read: as events of Debezium's where deletes are rows, else as plain rows with tombstones."""
    mode = debezium_flat.mode_of(key, given, Draft("", ""))
    if mode in debezium_flat.WITH_DELETES:
        draft.report.differ("deletes are rows that have __deleted, which is no column of the messages", key)
        return
    draft.source["dialect"] = "rows"
    _report_deletes(key, mode, config, draft)
    if given.get("add.fields"):
        draft.source["unknown_columns"] = "ignore"
        draft.report.differ(_ADDED, f"{key}.add.fields")


def _report_deletes(key: str, mode: str, config: Config, draft: Draft) -> None:
    tombstones = config.on("tombstones.on.delete", default=True) or mode == "delete-to-tombstone"
    if mode == "drop":
        draft.report.todo(_NO_DELETES.format(key))
    elif not tombstones:
        draft.report.todo(_NO_TOMBSTONES)
    elif config.get("key.converter").endswith("StringConverter"):
        draft.report.todo(_TEXT_KEYS)
    else:
        draft.report.differ("deletes are tombstones, which delete the row of their key (dialect rows)", key)
