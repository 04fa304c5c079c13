"""How rows are laid out in messages, for all tables of a channel: plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Mode = Literal["ROW", "CHANGE", "TRANSACTION", "THRESHOLD"]
DEFAULT_THRESHOLD = 800_000
"""Bytes (https://fivetran.com/docs/hvr6/property-reference/location-properties)."""


Decimals = Literal["BASE64", "NUMERIC", "TEXT"]
Times = Literal["ADAPTIVE", "CONNECT", "DEBEZIUM"]
JsonMode = Literal[
    "SCHEMA_PAYLOAD", "PAYLOAD", "ROW_FRAGMENTS", "ROW_ARRAY", "TABLE_OBJECT", "TABLE_OBJECT_BSON", "TABLE_ARRAY"
]


@dataclass(frozen=True)
class Csv:
    """HVR's FileFormat Csv parameters (https://fivetran.com/docs/hvr6/action-reference/fileformat)."""

    header_line: bool = False
    field_separator: str = ","
    line_separator: str = "\n"
    quote: str = '"'
    escape: str = '"'
    file_terminator: str = ""
    null: str = ""


@dataclass(frozen=True)
class Options:
    """How values are written where a format leaves the choice: plain data of FileFormat and the Kafka location."""

    decimals: Decimals = "BASE64"
    times: Times = "ADAPTIVE"
    binary: Literal["BASE64", "HEX", "COPY"] = "BASE64"
    json_mode: JsonMode = "SCHEMA_PAYLOAD"
    csv: Csv = field(default_factory=Csv)
    compact: bool = False
    avro_basic: bool = False
    """Avro before 1.8: no logical types."""
    block_compress: Literal["NONE", "DEFLATE", "GZIP", "LZ4"] = "NONE"
    parquet_version: Literal["v1", "v2", "v3"] = "v2"
    page_size: int = 1024 * 1024
    array: bool = False
    """Messages are Avro arrays of the record."""
    zeros: bool = True
    """Whether NOT NULL columns have a zero default in Avro, as HVR has it; Debezium has none."""
    version: int = 0
    """The version that Connect's schema of the message has, if it has one."""
    encoding: str = "UTF-8"
    newlines: Literal["", "UNIX", "DOS"] = ""
    compress: Literal["", "GZIP", "LZ4"] = ""
    numbers: tuple[tuple[str, int], ...] = ()
    """Protobuf's field numbers that are taken, by the field's path: those of the subject's latest version."""


@dataclass(frozen=True)
class SchemaId:
    """What a registry calls a schema: a number, and a GUID where it gives one and messages are to carry that."""

    id: int
    guid: str | None = None


@dataclass(frozen=True)
class Bundling:
    """Which rows share a message: one row; those of a change; of a transaction; or any, as they arrive.

    threshold: bytes of value after which a message of TRANSACTION or THRESHOLD is closed. concatenated: each row stands
    in it as in a message of its own. one_partition: messages without a key go to the topic's first partition.
    """

    mode: Mode = "ROW"
    threshold: int = DEFAULT_THRESHOLD
    concatenated: bool = False
    one_partition: bool = True

    @property
    def keyless(self) -> bool:
        """Whether a message may hold rows of several keys, and so has none."""
        return self.mode in ("TRANSACTION", "THRESHOLD")


@dataclass(frozen=True)
class MessageFormat:
    """How rows are laid out in messages, for all tables: a name in formats.FORMATS and how it is to write.

    envelope: a name in envelopes.ENVELOPES, or empty. before: what stands before the names of old values, where the two
    images of an update are one row; before_changed: only values that changed have an old one. single_value: the field
    whose value is the message, where one is.
    """

    format: str = "SCHEMA_PAYLOAD"
    options: Options = field(default_factory=Options)
    envelope: str = ""
    before: str = ""
    before_changed: bool = False
    single_value: str = ""
    bundling: Bundling = field(default_factory=Bundling)


@dataclass(frozen=True)
class Oversized:
    """What becomes of a row whose message would be above the maximum size.

    Its message goes to the topic `dead_letters`, in parts; or it is sent without its largest values (`skeleton`); or
    the cycle fails.
    """

    dead_letters: str = ""
    skeleton: bool = False
