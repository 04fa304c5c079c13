"""FileFormat + Kafka location -> the layout of messages: format, options, envelope."""

from __future__ import annotations

from typing import Any

from integrator.channel import scope as scopes
from integrator.channel.actions import FileFormat
from integrator.channel.locations import KafkaLocation
from integrator.channel.model import Channel
from integrator.channel.problems import Problems, Report
from integrator.contracts.message_format import Csv, MessageFormat, Options
from integrator.encode.envelopes import ENVELOPES
from integrator.formats import FORMATS
from integrator.plan.bundling import bundling_of, check_format

KINDS = ("Json", "Avro", "Csv", "Xml", "Parquet")
BELONGS = {
    "JsonMode": ("Json",),
    "AvroVersion": ("Avro",),
    "BlockCompress": ("Avro", "Parquet"),
    "ParquetVersion": ("Parquet",),
    "PageSize": ("Parquet",),
    **dict.fromkeys(("HeaderLine", "FieldSeparator", "LineSeparator", "QuoteCharacter", "EscapeCharacter"), ("Csv",)),
    **dict.fromkeys(("FileTerminator", "NullRepresentation"), ("Csv",)),
    "Compact": ("Xml",),
    "Compress": ("Json", "Csv", "Xml"),
    "Encoding": ("Csv", "Xml", "Json"),
    "ConvertNewlinesTo": ("Json", "Csv", "Xml"),
    "BeforeUpdateColumnsWhenChanged": ("Json", "Xml"),
}
"""Which formats a parameter belongs to; with others it would do nothing, which is a problem of the channel."""

_BLOCKS = {"Avro": ("DEFLATE", "NONE"), "Parquet": ("GZIP", "LZ4", "NONE")}
_OWN_ENCODING = ("SCHEMA_PAYLOAD", "PAYLOAD")
"""Connect's converters read UTF-8 only."""


def layout_of(
    channel: Channel, name: str, location: KafkaLocation, max_bytes: int, problems: Problems
) -> MessageFormat:
    """Return how messages are laid out, of `max_bytes` at most; what is wrong is added to `problems`."""
    values, places = scopes.whole_location(FileFormat, channel, name, problems)
    report, at_location = problems.at_actions(places), problems.at_location(name)
    chosen = [kind for kind in KINDS if values.get(kind)]
    if len(chosen) > 1:
        report(chosen[1], f"a location has one format, and {chosen[0]} is another; leave one of them out")
    kind = chosen[0] if chosen else "Json"
    if location.Kafka_Schema_Registry is not None:
        for parameter in (*chosen, *(p for p in values if p in BELONGS and "Json" not in BELONGS[p])):
            report(parameter, "with a schema registry the format is Kafka_Schema_Registry_Format: leave it out")
        for parameter in ("JsonMode", "Compress", "Encoding", "ConvertNewlinesTo"):
            if parameter in values:
                report(parameter, f"{parameter} is for formats without a schema registry: leave it out")
        kind = "Registry"
    else:
        _check_belongs(kind, values, report)
    envelope = values.get("Envelope") or ""
    before = values.get("BeforeUpdateColumns") or ""
    if envelope and before:
        report("BeforeUpdateColumns", f"the {envelope} envelope has both images of an update: leave it out")
    if values.get("BeforeUpdateColumnsWhenChanged") and not before:
        report("BeforeUpdateColumnsWhenChanged", 'needs BeforeUpdateColumns beside it, such as "old&"')
    mode = values.get("JsonMode") or ("SCHEMA_PAYLOAD" if not envelope else ENVELOPES[envelope].format)
    mode = "ROW_FRAGMENTS" if mode == "JSON" else mode
    format_name = _format(kind, mode, location)
    if values.get("BeforeUpdateColumnsWhenChanged") and FORMATS[format_name].missing != "omit":
        report(
            "BeforeUpdateColumnsWhenChanged", f"{format_name} has one schema for all rows; use a plain JsonMode or Xml"
        )
    if format_name in _OWN_ENCODING and values.get("Encoding", "UTF-8") != "UTF-8":
        report("Encoding", "Connect's converters read UTF-8; choose a plain JsonMode, Csv or Xml")
    _check_location(location, format_name, envelope, at_location)
    block = values.get("BlockCompress")
    if block and kind in _BLOCKS and block not in _BLOCKS[kind]:
        report("BlockCompress", f"{kind} has {', '.join(_BLOCKS[kind])}")
    options = _options(kind, mode, values, location, envelope)
    _check_csv(options.csv, report if kind == "Csv" else None)
    layout = MessageFormat(
        format=format_name,
        options=options,
        envelope=envelope,
        before=before,
        before_changed=bool(values.get("BeforeUpdateColumnsWhenChanged")),
        bundling=bundling_of(location, max_bytes, at_location),
    )
    check_format(layout, at_location)
    return layout


USED = {
    "Json_Decimals": ("SCHEMA_PAYLOAD", "PAYLOAD", "JSON", "REGISTRY_JSON"),
    "Json_Times": ("SCHEMA_PAYLOAD", "PAYLOAD", "REGISTRY_JSON", "REGISTRY_AVRO", "AVRO_FILE"),
}
"""Which formats look at a property of the Kafka location; with others it would do nothing."""


def _check_location(location: KafkaLocation, format_name: str, envelope: str, report: Report) -> None:
    for key, formats in USED.items():
        if getattr(location, key) is not None and format_name not in formats:
            report(key, f"belongs to {', '.join(formats)}, and the format is {format_name}")
    missing = FORMATS[format_name].missing
    if location.Missing_Values == "NULL" and (missing == "omit" or (missing == "shape" and not envelope)):
        report("Missing_Values", f"{format_name} leaves missing values out; NULL belongs to formats that cannot")


def _check_belongs(kind: str, values: dict[str, Any], report: Report) -> None:
    for parameter, kinds in BELONGS.items():
        if parameter in values and kind not in kinds:
            report(parameter, f"{parameter} belongs to {' and '.join(kinds)}, and the format is {kind}; leave it out")


def _format(kind: str, mode: str, location: KafkaLocation) -> str:
    match kind:
        case "Registry":
            return f"REGISTRY_{location.Kafka_Schema_Registry_Format}"
        case "Json":
            return mode if mode in _OWN_ENCODING else "JSON"
        case "Avro":
            return "AVRO_FILE"
        case _:
            return kind.upper()


def _options(kind: str, mode: Any, values: dict[str, Any], location: KafkaLocation, envelope: str) -> Options:
    connect = kind == "Json" and mode in _OWN_ENCODING
    default_block = {"Avro": "DEFLATE", "Parquet": "GZIP"}.get(kind, "NONE")
    return Options(
        decimals=location.Json_Decimals or ("BASE64" if connect else "NUMERIC"),
        times=location.Json_Times or ("DEBEZIUM" if envelope == "DEBEZIUM" else "ADAPTIVE"),
        binary="COPY" if kind == "Csv" else "BASE64",
        json_mode=mode,
        csv=Csv(
            header_line=values.get("HeaderLine", False),
            field_separator=values.get("FieldSeparator", ","),
            line_separator=values.get("LineSeparator", "\n"),
            quote=values.get("QuoteCharacter", '"'),
            escape=values.get("EscapeCharacter", '"'),
            file_terminator=values.get("FileTerminator", ""),
            null=values.get("NullRepresentation", ""),
        ),
        compact=values.get("Compact", False),
        array=kind == "Registry" and location.Schema_Registry.Bundle_As_Array,
        avro_basic=values.get("AvroVersion", "v1_8") != "v1_8",
        block_compress=values.get("BlockCompress") or default_block,  # type: ignore[arg-type]
        parquet_version=values.get("ParquetVersion", "v2"),
        page_size=values.get("PageSize", Options.page_size),
        encoding=values.get("Encoding", "UTF-8"),
        newlines=values.get("ConvertNewlinesTo") or "",
        compress=values.get("Compress") or "",
    )


def _check_csv(csv: Csv, report: Any) -> None:
    if report is None:
        return
    if csv.field_separator in (csv.quote, csv.escape):
        report("FieldSeparator", "the field separator cannot be the quote or the escape character too")
    special = (csv.field_separator, csv.quote, *csv.line_separator, "\n", "\r")
    if any(character in csv.null for character in special):
        report("NullRepresentation", "what null is written as cannot hold a separator, a quote or a line end")
    if csv.line_separator in (csv.field_separator, csv.quote, csv.escape):
        report("LineSeparator", "the line separator cannot be the field separator, the quote or the escape character")
