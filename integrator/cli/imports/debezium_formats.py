"""Converters of Kafka Connect, and Debezium's modes for values -> the format of messages, keys and values.

https://docs.confluent.io/platform/current/connect/userguide.html#configuring-key-and-value-converters;
https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-data-types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from integrator.cli.imports.connect_file import Config
from integrator.cli.imports.debezium_tables import Tables
from integrator.cli.imports.debezium_transforms import Chain
from integrator.cli.imports.draft import Draft
from integrator.schema import Bytes, Column, Decimal, Integer, Interval, String

PREFIX = "SCHEMA_REGISTRY"
"""Of the environment variables that have the registry's secrets."""
_REGISTRY = {
    "AvroConverter": ("AVRO", "KAFKA_AVRO_SCHEMA"),
    "JsonSchemaConverter": ("JSON", "KAFKA_JSON_SCHEMA"),
    "ExtJsonConverter": ("JSON", "KAFKA_JSON_SCHEMA"),
    "ProtobufConverter": ("PROTOBUF", "KAFKA_PROTOBUF_SCHEMA"),
}
"""Converters with a registry: its format of values, and the serializer of keys."""
_QUIET = (
    "schemas.enable",
    "schema.registry.url",
    "apicurio.registry.url",
    "decimal.format",
    "replace.null.with.default",
)
_CONVERTER = {
    "schemas.cache.size": "schemas are made once, at the start",
    "schemas.cache.config": "schemas are made once, at the start",
    "connect.meta.data": "Avro has Connect's types always (docs/registry.md)",
    "enhanced.avro.schema.support": "Avro has Connect's types always (docs/registry.md)",
    "scrub.invalid.names": "a name that Avro cannot have is a problem that check reports; BaseName gives it another",
    "optional.for.nullables": "columns that may be null are optional always",
}


def take(config: Config, chain: Chain, tables: Tables, draft: Draft) -> None:
    """Set the format of values and keys."""
    value, key = _converter(config, "value", draft), _converter(config, "key", draft)
    of_file: dict[str, Any] = {}
    if value in _REGISTRY:
        _take_registry(config, value, draft)
    else:
        of_file = {"Json": True, "JsonMode": "SCHEMA_PAYLOAD" if _has_schemas(config, "value", value) else "PAYLOAD"}
    if config.get("value.converter.decimal.format").upper() == "NUMERIC" and not of_file:
        draft.idle("value.converter.decimal.format", "it is JsonConverter's")
    of_file |= {} if chain.flat else {"Envelope": "DEBEZIUM"}
    if of_file:
        draft.act("FileFormat", **of_file)
    _take_key(config, chain, key, tables, draft)
    _take_values(config, value, chain, tables, draft)


def _converter(config: Config, part: str, draft: Draft) -> str:
    """Return the last part of a converter's class; JsonConverter where none is given or there is no counterpart."""
    given = config.get(f"{part}.converter")
    kind = given.rpartition(".")[2]
    if not given:
        draft.notes.append(
            f"{part}.converter is the worker's: JsonConverter with schemas is assumed; --worker FILE reads the worker's"
        )
        return "JsonConverter"
    if kind == "JsonConverter" or kind in _REGISTRY or (part == "key" and kind == "StringConverter"):
        return kind
    draft.idle(f"{part}.converter ({kind})", "messages are JSON without schemas; docs/formats.md has all formats")
    return "PlainConverter"


def _has_schemas(config: Config, part: str, kind: str) -> bool:
    return kind == "JsonConverter" and config.on(f"{part}.converter.schemas.enable", default=True)


def _take_registry(config: Config, kind: str, draft: Draft) -> None:
    given = config.below("value.converter.")
    kafka, access = draft.kafka, {}
    url = given.get("schema.registry.url") or given.get("apicurio.registry.url") or "http://localhost:8081"
    if "apicurio.registry.url" in given:
        url = f"{url.partition('/apis/')[0]}/apis/ccompat/v7"
        draft.notes.append(f"Apicurio's registry is reached as Confluent's, at {url}: messages have Confluent's prefix")
    urls = [one.strip() for one in url.split(",")]
    kafka["Kafka_Schema_Registry"] = urls[0] if len(urls) == 1 else urls
    kafka["Kafka_Schema_Registry_Format"] = _REGISTRY[kind][0]
    kafka["Missing_Values"] = "NULL"
    user, colon, password = given.pop("basic.auth.user.info", "").partition(":")
    if colon:
        known = "${" not in user
        kafka["Kafka_Schema_User"] = user if known else draft.secret("its user", f"{PREFIX}_USER", None)
        key = "value.converter.basic.auth.user.info"
        kafka["Kafka_Schema_Registry_Password"] = draft.secret(key, f"{PREFIX}_PASSWORD", password)
    elif user:
        draft.idle("value.converter.basic.auth.user.info", "give Kafka_Schema_User and Kafka_Schema_Registry_Password")
    for name, ours in (("auto.register.schemas", "Auto_Register"), ("use.latest.version", "Use_Latest_Version"),
                       ("normalize.schemas", "Normalize")):  # fmt: skip
        if name in given:
            access[ours] = given.pop(name).lower() == "true"
    if access:
        kafka["Schema_Registry"] = access
    _note_others(given, "value.converter.", draft)


def _note_others(given: Mapping[str, str], prefix: str, draft: Draft) -> None:
    quiet = (*_QUIET, "basic.auth.credentials.source", "value.subject.name.strategy", "key.subject.name.strategy")
    for name in given:
        if name not in quiet:
            draft.idle(
                prefix + name, _CONVERTER.get(name, "no counterpart is known; Schema_Registry has TLS and tokens")
            )


def _take_key(config: Config, chain: Chain, kind: str, tables: Tables, draft: Draft) -> None:
    """Set how keys are written; tables without a key have none, as in Debezium."""
    registry = "Kafka_Schema_Registry" in draft.kafka
    integrate: dict[str, Any] = {}
    if kind in _REGISTRY and registry:
        serializer = _REGISTRY[kind][1]
        integrate["KeySubjectStrategy"] = _strategy(config, "key")
    elif kind in _REGISTRY:
        draft.idle("key.converter", f"{kind} needs a registry, and values have none: keys are JSON")
        serializer = "CONNECT_PAYLOAD"
    elif kind == "StringConverter" and not chain.key_field:
        draft.idle("key.converter", "the text of Java's structs (Struct{id=1}) is not there: keys are JSON")
        serializer = "CONNECT_PAYLOAD"
    else:
        serializer = "CONNECT_SCHEMA" if _has_schemas(config, "key", kind) else "CONNECT_PAYLOAD"
    if registry:
        integrate["ValueSubjectStrategy"] = _strategy(config, "value")
    if chain.key_field and _is_text(config, chain.key_field, kind, tables):
        _take_key_field(chain.key_field, integrate, tables, draft)
    else:
        if chain.key_field:
            draft.idle(
                "ExtractField$Key", "with this converter a key of one value is not there: it has its name beside it"
            )
        _take_keyed(integrate | {"MessageKeySerializer": serializer}, tables, draft)
    _note_others(config.below("key.converter."), "key.converter.", draft)


def _take_keyed(integrate: dict[str, Any], tables: Tables, draft: Draft) -> None:
    """Have keys in all tables but those without one, which have neither keys nor tombstones in Debezium."""
    surrogate = {one["table"] for one in draft.actions if one.get("SurrogateKey")}
    bare = [one.name for one in tables.tables if tables.known and not one.key and one.name not in surrogate]
    subject = {"KeySubjectStrategy": integrate.pop("KeySubjectStrategy", None)} if bare else {}
    draft.act("Integrate", **integrate)
    erases = any(one.get("OnDeleteSendTombstone") for one in draft.actions)
    for table in tables.tables:
        if table.name in bare:
            none = {"MessageKeySerializer": "NONE", "OnDeleteSendTombstone": False if erases else None}
            draft.act("Integrate", group="KAFKA", table=table.name, **none)
        elif subject.get("KeySubjectStrategy"):
            draft.act("Integrate", group="KAFKA", table=table.name, **subject)


def _strategy(config: Config, part: str) -> str:
    given = config.get(f"{part}.converter.{part}.subject.name.strategy").rpartition(".")[2]
    return given or "TopicNameStrategy"


def _is_text(config: Config, field: str, kind: str, tables: Tables) -> bool:
    """Return whether a key of one column is written as that column's text."""
    if kind == "StringConverter":
        return True
    columns = [table.column(field) for table in tables.tables]
    return not _has_schemas(config, "key", kind) and all(one and isinstance(one.type, Integer) for one in columns)


def _take_key_field(field: str, integrate: dict[str, Any], tables: Tables, draft: Draft) -> None:
    """Have the text of a column as the key, in the tables that have it as theirs."""
    integrate.pop("KeySubjectStrategy", None)
    if integrate:
        draft.act("Integrate", **integrate)
    for table in tables.tables:
        if table.column(field) is None:
            draft.idle(f"ExtractField$Key: {table.name}", f"it has no column {field}: its key is its own")
            continue
        erases = None if table.key == (field,) else False
        if erases is False:
            draft.notes.append(f"table {table.name} has no tombstones: its key is not {field} alone")
        draft.act("Integrate", group="KAFKA", table=table.name, MessageKey=f"{{{field}}}",
                  MessageKeySerializer="STRING", OnDeleteSendTombstone=erases)  # fmt: skip


def _take_values(config: Config, kind: str, chain: Chain, tables: Tables, draft: Draft) -> None:
    """Set how decimals, times and bytes are written."""
    json, has_schema = "Kafka_Schema_Registry" not in draft.kafka, _has_schemas(config, "value", kind)
    decimals = [c for table in tables.tables for c in table.columns if isinstance(c.type, Decimal)]
    blobs = [c for table in tables.tables for c in table.columns if isinstance(c.type, Bytes)]
    match config.get("decimal.handling.mode", default="precise").lower():
        case "string" if json:
            draft.kafka["Json_Decimals"] = "TEXT"
        case "string" if decimals or not tables.known:
            draft.act("ColumnProperties", DatatypeMatch="decimal", Datatype="text")
        case "double" if decimals or not tables.known:
            double = "sql: cast({{hvr_col_name}} as double)"
            draft.act("ColumnProperties", DatatypeMatch="decimal", Datatype="double", IntegrateExpression=double)
        case "precise" if config.get("value.converter.decimal.format").upper() == "NUMERIC" and json:
            draft.kafka["Json_Decimals"] = "NUMERIC"
    for table in tables.tables:
        for column in table.columns:
            draft.notes += [f"{table.name}.{column.name}: {otherwise}" for otherwise in _otherwise(column)]
    _take_times(config, chain, draft)
    match config.get("binary.handling.mode", default="bytes").lower():
        case "hex" if blobs or not tables.known:
            text = "sql: encode({{hvr_col_name}}, 'hex')"
            draft.act("ColumnProperties", DatatypeMatch="blob", Datatype="text", IntegrateExpression=text)
        case "base64" if blobs and (has_schema or not json):
            draft.idle("binary.handling.mode", "bytes are bytes in schemas; the JSON has base64 all the same")
        case "base64-url-safe" if blobs or not tables.known:
            draft.idle("binary.handling.mode", "bytes are base64 with + and /, in JSON")


def _otherwise(column: Column) -> Iterator[str]:
    """Yield what is written otherwise of a column than by Debezium, whatever the modes."""
    if isinstance(column.type, String) and column.type.role == "unconstrained":
        yield "a number without precision is its text here, no struct"
    if isinstance(column.type, Interval):
        yield "an interval is text here (P1Y2M3DT4H5M6S), no number"


def _take_times(config: Config, chain: Chain, draft: Draft) -> None:
    mode = config.get("time.precision.mode", default="adaptive").lower()
    names_times = draft.kafka.get("Kafka_Schema_Registry_Format") != "PROTOBUF"
    if mode == "connect":
        draft.kafka["Json_Times"] = "CONNECT"
        draft.act("ColumnProperties", DatatypeMatch="timestamp", Datatype="timestamp", Precision=3)
        draft.act("TableProperties", CoerceErrorPolicy="SILENT", CoerceErrorType="ROUNDING")
        draft.notes.append("time.precision.mode=connect: times with zone are Connect's Timestamp here, not text")
        return
    if chain.flat and names_times:
        draft.kafka["Json_Times"] = "DEBEZIUM"
    match mode:
        case "adaptive_time_microseconds" | "microseconds":
            draft.act("ColumnProperties", DatatypeMatch="time", Datatype="time", Precision=6)
            if mode == "microseconds":
                draft.act("ColumnProperties", DatatypeMatch="timestamp", Datatype="timestamp", Precision=6)
        case "nanoseconds":
            draft.act("ColumnProperties", DatatypeMatch="timestamp", Datatype="timestamp", Precision=9)
        case "isostring":
            draft.idle("time.precision.mode", "times are numbers, as with adaptive; times with zone are text")
