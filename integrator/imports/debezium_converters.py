"""Converters of Kafka Connect: which there are, and how they reach a schema registry -> the Kafka location.

https://docs.confluent.io/platform/current/connect/userguide.html#configuring-key-and-value-converters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from integrator.channel.actions import FileFormat
from integrator.imports import registry_access
from integrator.imports.connect_file import Config
from integrator.imports.draft import Draft

REGISTRY = {
    "AvroConverter": ("AVRO", "KAFKA_AVRO_SCHEMA"),
    "JsonSchemaConverter": ("JSON", "KAFKA_JSON_SCHEMA"),
    "ExtJsonConverter": ("JSON", "KAFKA_JSON_SCHEMA"),
    "ProtobufConverter": ("PROTOBUF", "KAFKA_PROTOBUF_SCHEMA"),
}
"""Converters with a registry: its format of values, and the serializer of keys."""
LONE = {"StringConverter": "Text", "ByteArrayConverter": "Bytes"}
"""Converters of a value that is no struct: FileFormat's parameter that writes one column so."""
_HEADERS = {"SimpleHeaderConverter": "STRING", "StringConverter": "STRING", "JsonConverter": "CONNECT"}
"""How headers are written, by the converter; they are text without one."""
_URLS = ("schema.registry.url", "apicurio.registry.url")
_USER = ("basic.auth.user.info", "schema.registry.basic.auth.user.info")
_SOURCE = ("basic.auth.credentials.source", "schema.registry.basic.auth.credentials.source")
_ACCESS = {
    "auto.register.schemas": "Auto_Register",
    "use.latest.version": "Use_Latest_Version",
    "normalize.schemas": "Normalize",
}
_QUIET = (
    *_URLS, *_USER, *_SOURCE, *_ACCESS, "schemas.enable", "decimal.format", "replace.null.with.default",
    "value.subject.name.strategy", "key.subject.name.strategy",
)  # fmt: skip
_REASONS = {
    "schemas.cache.size": "schemas are made once, at the start",
    "schemas.cache.config": "schemas are made once, at the start",
    "connect.meta.data": "Avro has Connect's types always (docs/registry.md)",
    "enhanced.avro.schema.support": "Avro has Connect's types always (docs/registry.md)",
    "scrub.invalid.names": "a name that Avro cannot have is a problem that check reports; BaseName gives it another",
    "optional.for.nullables": "columns that may be null are optional always",
}
_SECURED = ("ssl.", "bearer.", "schema.registry.ssl.", "schema.registry.bearer.")


def of(config: Config, part: str, draft: Draft) -> str:
    """Return the last part of a converter's class; JsonConverter where none is given or there is no counterpart."""
    given = config.get(f"{part}.converter")
    kind = given.rpartition(".")[2]
    if not given:
        draft.report.todo(
            f"{part}.converter is the worker's: JsonConverter with schemas is assumed; --worker FILE reads the worker's"
        )
        return "JsonConverter"
    if kind == "JsonConverter" or kind in REGISTRY or kind == "StringConverter" or (part == "value" and kind in LONE):
        return kind
    draft.report.todo(
        f"{part}.converter ({kind}) is not there: {part}s are JSON without schemas; docs/formats.md has all formats"
    )
    return "PlainConverter"


def has_schemas(config: Config, part: str, kind: str) -> bool:
    """Return whether a converter writes schemas into messages."""
    return kind == "JsonConverter" and config.on(f"{part}.converter.schemas.enable", default=True)


def lone_format(config: Config, kind: str, field: str, draft: Draft) -> dict[str, str]:
    """Return FileFormat's parameters for a converter of LONE; none where values are structs, which is reported.

    field: of ExtractField$Value.
    """
    if not field:
        draft.report.todo(
            f"value.converter: what {kind} makes of structs (Struct{{id=1}}) is not there: values are JSON without "
            "schemas; FileFormat Text: '…{column}…' writes a text of columns"
        )
        return {}
    if kind == "ByteArrayConverter":
        return {"Bytes": field}
    encoding = config.get("value.converter.converter.encoding", default="UTF-8").upper()
    known = get_args(FileFormat.model_fields["Encoding"].annotation)
    if encoding not in known:
        draft.report.todo(f"value.converter.converter.encoding={encoding}: there are {', '.join(known)}; text is UTF-8")
    return {"Text": f"{{{field}}}"} | ({"Encoding": encoding} if encoding in known and encoding != "UTF-8" else {})


def take_headers(config: Config, draft: Draft) -> None:
    """Set how the values of headers are written, where there are headers."""
    kind = config.get("header.converter").rpartition(".")[2] or "SimpleHeaderConverter"
    plain = kind == "JsonConverter" and not has_schemas(config, "header", kind)
    config.below("header.converter.")
    if not any("MessageHeaders" in one for one in draft.actions):
        return
    written = "CONNECT_PAYLOAD" if plain else _HEADERS.get(kind)
    if written is None:
        draft.report.todo(f"header.converter: {kind} is not there: headers are text")
    elif written != "STRING":
        draft.add_action("Integrate", MessageHeaderSerializer=written)


def take_registry(config: Config, kind: str, draft: Draft) -> None:
    """Set the registry, which is that of values, and who we are to it."""
    given = config.below("value.converter.")
    kafka = draft.kafka
    url = next((given[name] for name in _URLS if given.get(name)), "http://localhost:8081")
    if given.get("apicurio.registry.url") and not given.get("schema.registry.url"):
        url = f"{url.partition('/apis/')[0]}/apis/ccompat/v7"
        draft.report.differ("Apicurio's registry is reached as Confluent's is: messages have Confluent's prefix")
    kafka["Kafka_Schema_Registry"] = registry_access.import_url(url, "value.converter.schema.registry.url", draft)
    kafka["Kafka_Schema_Registry_Format"] = REGISTRY[kind][0]
    if REGISTRY[kind][0] != "JSON":  # which leaves missing values out
        kafka["Missing_Values"] = "NULL"
    source = next((given[name] for name in _SOURCE if given.get(name)), "").upper()
    info = next((given[name] for name in _USER if given.get(name)), "")
    if info and (source == "USER_INFO" or "Kafka_Schema_User" not in kafka):
        registry_access.take_user(info, "value.converter.basic.auth.user.info", draft)
    elif source == "SASL_INHERIT":
        draft.report.todo(
            "the registry's user is that of sasl.jaas.config: give Kafka_Schema_User and Kafka_Schema_Registry_Password"
        )
    access: dict[str, Any] = {ours: given[name].lower() == "true" for name, ours in _ACCESS.items() if name in given}
    if access:
        kafka["Schema_Registry"] = access
    _report_others(given, "value.converter.", draft)


def report_keys(config: Config, draft: Draft) -> None:
    """Report what the converter of keys has that is not that of values: there is one registry, and one access to it."""
    given, values = config.below("key.converter."), config.below("value.converter.")
    if "Kafka_Schema_Registry" in draft.kafka:
        for name in (*_URLS, *_ACCESS):
            if given.get(name, values.get(name)) != values.get(name):
                draft.report.todo(f"key.converter.{name} is another than that of values, which holds for keys too")
    _report_others(given, "key.converter.", draft)


def _report_others(given: Mapping[str, str], prefix: str, draft: Draft) -> None:
    for name in given:
        if name.startswith(_SECURED):
            draft.report.todo(f"{prefix}{name} is not taken: Schema_Registry of the Kafka location has TLS and tokens")
        elif name not in _QUIET:
            draft.report.ignore(prefix + name, _REASONS.get(name, "no counterpart is known"))
