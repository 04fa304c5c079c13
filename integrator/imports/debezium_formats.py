"""Converters of Kafka Connect, and Debezium's modes for values -> the format of messages, keys and values.

https://docs.confluent.io/platform/current/connect/userguide.html#configuring-key-and-value-converters;
https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-data-types.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from integrator.imports import debezium_converters as converters
from integrator.imports import debezium_keys as keys
from integrator.imports.connect_file import Config
from integrator.imports.debezium_tables import Tables
from integrator.imports.debezium_transforms import Chain
from integrator.imports.draft import Draft
from integrator.schema import Bytes, Column, Decimal, Interval, String

_REFUSED = (
    "; under BACKWARD, a registry that has the connector's schema refuses ours: set the subject's compatibility to "
    "NONE, or write to another topic"
)


def import_format(config: Config, chain: Chain, tables: Tables, draft: Draft) -> None:
    """Set the format of values and keys."""
    value, key = converters.of(config, "value", draft), converters.of(config, "key", draft)
    of_file: dict[str, Any] = {}
    alone = chain.names.get("ExtractField$Value", "")
    has_schema = converters.has_schemas(config, "value", value)
    if chain.is_json and value == "JsonConverter" and not has_schema:
        value = "StringConverter"  # which writes the same: JSON is text
    if value in converters.REGISTRY:
        converters.take_registry(config, value, draft)
    elif value in converters.LONE:
        of_file |= converters.lone_format(config, value, alone if chain.flat else "", draft)
    if alone and not of_file:
        draft.report.todo(
            f"ExtractField$Value is followed only with {' and '.join(converters.LONE)}, of flattened rows: "
            "values are rows"
        )
    if value not in converters.REGISTRY and not of_file:
        of_file = {"Json": True, "JsonMode": "SCHEMA_PAYLOAD" if has_schema else "PAYLOAD"}
    if config.get("value.converter.decimal.format").upper() == "NUMERIC" and not of_file:
        draft.report.ignore("value.converter.decimal.format", "it is JsonConverter's")
    of_file |= {} if chain.flat else {"Envelope": "DEBEZIUM"}
    if of_file:
        draft.add_action("FileFormat", **of_file)
    converters.take_headers(config, draft)
    keys.import_message_keys(config, chain.names.get("ExtractField$Key", ""), key, tables, draft)
    converters.report_keys(config, draft)
    if not of_file.keys() & set(converters.LONE.values()):
        _take_values(config, value, chain, tables, draft)


def _take_values(config: Config, kind: str, chain: Chain, tables: Tables, draft: Draft) -> None:
    """Set how decimals, times and bytes are written."""
    json, has_schema = "Kafka_Schema_Registry" not in draft.kafka, converters.has_schemas(config, "value", kind)
    decimals = [c for table in tables.tables for c in table.columns if isinstance(c.type, Decimal)]
    blobs = [c for table in tables.tables for c in table.columns if isinstance(c.type, Bytes)]
    match config.get("decimal.handling.mode", default="precise").lower():
        case "string" if json:
            draft.kafka["Json_Decimals"] = "TEXT"
        case "string" if decimals or not tables.known:
            draft.add_action("ColumnProperties", DatatypeMatch="decimal", Datatype="text")
        case "double" if decimals or not tables.known:
            double = "sql: cast({{hvr_col_name}} as double)"
            draft.add_action("ColumnProperties", DatatypeMatch="decimal", Datatype="double", IntegrateExpression=double)
        case "precise" if config.get("value.converter.decimal.format").upper() == "NUMERIC" and json:
            draft.kafka["Json_Decimals"] = "NUMERIC"
    for table in tables.tables:
        for column in table.columns:
            for otherwise in _otherwise(column):
                draft.report.differ(otherwise + ("" if json else _REFUSED), f"{table.name}.{column.name}")
    _take_times(config, chain, draft)
    match config.get("binary.handling.mode", default="bytes").lower():
        case "hex" if blobs or not tables.known:
            text = "sql: encode({{hvr_col_name}}, 'hex')"
            draft.add_action("ColumnProperties", DatatypeMatch="blob", Datatype="text", IntegrateExpression=text)
        case "base64" if blobs and (has_schema or not json):
            draft.report.differ(
                "bytes are bytes in schemas, and the JSON has base64 all the same", "binary.handling.mode"
            )
        case "base64-url-safe" if blobs or not tables.known:
            draft.report.differ("bytes are base64 with + and /, in JSON", "binary.handling.mode")


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
        if names_times:
            draft.kafka["Json_Times"] = "CONNECT"
        draft.add_action("ColumnProperties", DatatypeMatch="timestamp", Datatype="timestamp", Precision=3)
        draft.add_action("TableProperties", CoerceErrorPolicy="SILENT", CoerceErrorType="ROUNDING")
        draft.report.differ("times with zone are Connect's Timestamp here, not text", "time.precision.mode=connect")
        return
    if chain.flat and names_times:
        draft.kafka["Json_Times"] = "DEBEZIUM"
    match mode:
        case "adaptive_time_microseconds" | "microseconds":
            draft.add_action("ColumnProperties", DatatypeMatch="time", Datatype="time", Precision=6)
            if mode == "microseconds":
                draft.add_action("ColumnProperties", DatatypeMatch="timestamp", Datatype="timestamp", Precision=6)
        case "nanoseconds":
            draft.add_action("ColumnProperties", DatatypeMatch="timestamp", Datatype="timestamp", Precision=9)
        case "isostring":
            draft.report.differ("times are numbers, as with adaptive; those with zone are text", "time.precision.mode")
