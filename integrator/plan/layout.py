"""FileFormat + Kafka location -> the layout of messages: format, options, envelope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from integrator.channel.actions import FileFormat
from integrator.channel.locations import KafkaLocation
from integrator.channel.merge import Parameters, whole_location
from integrator.channel.model import Channel
from integrator.channel.problems import Problems, Report
from integrator.contracts.message_format import Csv, JsonMode, MessageFormat, Options
from integrator.encode.envelopes import ENVELOPES
from integrator.formats import FORMATS
from integrator.plan.bundling import bundling_of, check_format

BELONGS = {
    "JsonMode": ("Json",),
    "AvroVersion": ("Avro",),
    "BlockCompress": ("Avro", "Parquet"),
    "ParquetVersion": ("Parquet",),
    "PageSize": ("Parquet",),
    **dict.fromkeys(("HeaderLine", "FieldSeparator", "LineSeparator", "QuoteCharacter", "EscapeCharacter"), ("Csv",)),
    **dict.fromkeys(("FileTerminator", "NullRepresentation"), ("Csv",)),
    "Compact": ("Xml",),
    "Compress": ("Json", "Csv", "Xml", "Text", "Bytes"),
    "Encoding": ("Csv", "Xml", "Json", "Text"),
    "ConvertNewlinesTo": ("Json", "Csv", "Xml", "Text"),
    "BeforeUpdateColumnsWhenChanged": ("Json", "Xml"),
}
"""Which formats a parameter belongs to; with others it would do nothing, which is a problem of the channel."""

_BLOCKS = {"Avro": ("DEFLATE", "NONE"), "Parquet": ("GZIP", "LZ4", "NONE")}
_DEFAULT_BLOCKS: dict[str, Literal["NONE", "DEFLATE", "GZIP", "LZ4"]] = {"Avro": "DEFLATE", "Parquet": "GZIP"}
_ALONE = ("Text", "Bytes")
"""What makes one value the message."""
TEXT_FIELD = "FileFormat Text"
"""The name of the field with the text of messages; columns have none with a blank, as a rule."""
_OWN_ENCODING = ("SCHEMA_PAYLOAD", "PAYLOAD")
"""Connect's converters read UTF-8 only."""


def layout_of(
    channel: Channel, name: str, location: KafkaLocation, max_bytes: int, problems: Problems
) -> MessageFormat:
    """Return how messages are laid out, of `max_bytes` at most; what is wrong is added to `problems`."""
    given = whole_location(FileFormat, channel, name, problems)
    report, at_location = problems.at_actions(given.places), problems.at_location(name)
    kind, envelope = _kind(given, location, report), given.values.Envelope or ""
    mode = _mode(given.values)
    format_name = _format(kind, mode, location)
    _check_before(given.values, format_name, report)
    if kind in _ALONE:
        for parameter in ("Envelope", "BeforeUpdateColumns"):
            if getattr(given.values, parameter):
                report(parameter, f"with {kind}, a message is one value: leave it out")
    if format_name in _OWN_ENCODING and given.values.Encoding != "UTF-8":
        report("Encoding", "Connect's converters read UTF-8; choose a plain JsonMode, Csv or Xml")
    for parameter in ("Encoding", "ConvertNewlinesTo") if format_name == "BSON" else ():
        if parameter in given.places:
            report(parameter, f"{parameter} is for text, and BSON is binary; leave it out")
    _check_location(location, format_name, envelope, at_location)
    block = given.values.BlockCompress
    if block and kind in _BLOCKS and block not in _BLOCKS[kind]:
        report("BlockCompress", f"{kind} has {', '.join(_BLOCKS[kind])}")
    options = _options(kind, mode, given.values, location)
    if kind == "Csv":
        _check_csv(options.csv, report)
    layout = MessageFormat(
        format=format_name,
        options=options,
        envelope=envelope,
        before=given.values.BeforeUpdateColumns or "",
        before_changed=given.values.BeforeUpdateColumnsWhenChanged,
        single_value={"Text": TEXT_FIELD, "Bytes": given.values.Bytes or ""}.get(kind, ""),
        bundling=bundling_of(location, max_bytes, at_location),
    )
    check_format(layout, at_location)
    return layout


def _kind(given: Parameters[FileFormat], location: KafkaLocation, report: Report) -> str:
    """Return the kind of format; parameters that do not belong to it are reported."""
    values = given.values
    is_chosen = {
        "Json": values.Json,
        "Avro": values.Avro,
        "Csv": values.Csv,
        "Xml": values.Xml,
        "Parquet": values.Parquet,
        "Text": values.Text is not None,
        "Bytes": values.Bytes is not None,
    }
    chosen = [kind for kind, is_set in is_chosen.items() if is_set]
    if len(chosen) > 1:
        report(chosen[1], f"a location has one format, and {chosen[0]} is another; leave one of them out")
    kind = chosen[0] if chosen else "Json"
    if location.Kafka_Schema_Registry is None:
        _check_belongs(kind, given.places, report)
        return kind
    for parameter in (*chosen, *(one for one in given.places if one in BELONGS and "Json" not in BELONGS[one])):
        report(parameter, "with a schema registry the format is Kafka_Schema_Registry_Format: leave it out")
    for parameter in ("JsonMode", "Compress", "Encoding", "ConvertNewlinesTo"):
        if parameter in given.places:
            report(parameter, f"{parameter} is for formats without a schema registry: leave it out")
    return "Registry"


def _mode(values: FileFormat) -> JsonMode:
    """Return the mode of JSON: its own, or the envelope's."""
    if values.JsonMode:
        return values.JsonMode
    if not values.Envelope:
        return "SCHEMA_PAYLOAD"
    return "ROW_FRAGMENTS" if ENVELOPES[values.Envelope].format == "JSON" else "SCHEMA_PAYLOAD"


def _check_before(values: FileFormat, format_name: str, report: Report) -> None:
    """Report columns of values before an update where these are there already, or cannot be."""
    if values.Envelope and values.BeforeUpdateColumns:
        text = f"the {values.Envelope} envelope has both images of an update: leave it out"
        report("BeforeUpdateColumns", text)
    if values.BeforeUpdateColumnsWhenChanged and not values.BeforeUpdateColumns:
        report("BeforeUpdateColumnsWhenChanged", 'needs BeforeUpdateColumns beside it, such as "old&"')
    if values.BeforeUpdateColumnsWhenChanged and FORMATS[format_name].missing != "omit":
        text = f"{format_name} has one schema for all rows; use a plain JsonMode or Xml"
        report("BeforeUpdateColumnsWhenChanged", text)


USED = {
    "Json_Decimals": ("SCHEMA_PAYLOAD", "PAYLOAD", "JSON", "REGISTRY_JSON"),
    "Json_Times": ("SCHEMA_PAYLOAD", "PAYLOAD", "REGISTRY_JSON", "REGISTRY_AVRO", "AVRO_FILE"),
}
"""Which formats read a property of the Kafka location; with others it would do nothing."""


def _check_location(location: KafkaLocation, format_name: str, envelope: str, report: Report) -> None:
    for key, formats in USED.items():
        if getattr(location, key) is not None and format_name not in formats:
            report(key, f"belongs to {', '.join(formats)}, and the format is {format_name}")
    missing = FORMATS[format_name].missing
    if location.Missing_Values == "NULL" and (missing == "omit" or (missing == "shape" and not envelope)):
        report("Missing_Values", f"{format_name} leaves missing values out; NULL belongs to formats that cannot")


def _check_belongs(kind: str, places: Mapping[str, int], report: Report) -> None:
    for parameter, kinds in BELONGS.items():
        if parameter in places and kind not in kinds:
            report(parameter, f"{parameter} belongs to {' and '.join(kinds)}, and the format is {kind}; leave it out")


def _format(kind: str, mode: str, location: KafkaLocation) -> str:
    match kind:
        case "Registry":
            return f"REGISTRY_{location.Kafka_Schema_Registry_Format}"
        case "Json":
            return "BSON" if mode == "TABLE_OBJECT_BSON" else mode if mode in _OWN_ENCODING else "JSON"
        case "Avro":
            return "AVRO_FILE"
        case _:
            return kind.upper()


def _options(kind: str, mode: JsonMode, values: FileFormat, location: KafkaLocation) -> Options:
    connect = kind == "Json" and mode in _OWN_ENCODING
    return Options(
        decimals=location.Json_Decimals or ("BASE64" if connect else "NUMERIC"),
        times=location.Json_Times or ("DEBEZIUM" if values.Envelope == "DEBEZIUM" else "ADAPTIVE"),
        binary="COPY" if kind == "Csv" else "BASE64",
        json_mode=mode,
        csv=Csv(
            header_line=values.HeaderLine,
            field_separator=values.FieldSeparator,
            line_separator=values.LineSeparator,
            quote=values.QuoteCharacter,
            escape=values.EscapeCharacter,
            file_terminator=values.FileTerminator,
            null=values.NullRepresentation,
        ),
        compact=values.Compact,
        array=kind == "Registry" and location.Schema_Registry.Bundle_As_Array,
        avro_basic=values.AvroVersion != "v1_8",
        block_compress=values.BlockCompress if values.BlockCompress is not None else _DEFAULT_BLOCKS.get(kind, "NONE"),
        parquet_version=values.ParquetVersion,
        page_size=values.PageSize,
        zeros=values.Envelope != "DEBEZIUM",
        version=ENVELOPES[values.Envelope].version if values.Envelope else 0,
        encoding=values.Encoding,
        newlines=values.ConvertNewlinesTo or "",
        compress=values.Compress or "",
    )


def _check_csv(csv: Csv, report: Report) -> None:
    if csv.field_separator in (csv.quote, csv.escape):
        report("FieldSeparator", "the field separator cannot be the quote or the escape character too")
    special = (csv.field_separator, csv.quote, *csv.line_separator, "\n", "\r")
    if any(character in csv.null for character in special):
        report("NullRepresentation", "what null is written as cannot hold a separator, a quote or a line end")
    if csv.line_separator in (csv.field_separator, csv.quote, csv.escape):
        report("LineSeparator", "the line separator cannot be the field separator, the quote or the escape character")
