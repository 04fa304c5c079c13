"""Actions: what differs from the defaults, with HVR's names (https://fivetran.com/docs/hvr6/action-reference).

What HVR does not have is marked as an extension.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from integrator.channel.base import Scoped


class ColumnProperties(Scoped):
    """Properties of one column (https://fivetran.com/docs/hvr6/action-reference/columnproperties)."""

    action: Literal["ColumnProperties"]
    Name: str = Field(description="The column's name in the channel.")
    BaseName: str | None = Field(None, description="Its name in the messages.")
    Extra: bool = Field(False, description="A column that only the messages have.")
    Absent: bool = Field(False, description="The column is not in the messages.")
    Datatype: str | None = Field(None, description="An HVR datatype.")
    Length: Annotated[int, Field(ge=1)] | None = Field(None, description="Characters of a varchar.")
    Precision: Annotated[int, Field(ge=0)] | None = Field(None, description="Digits of a number or of a second.")
    Scale: Annotated[int, Field(ge=0)] | None = Field(None, description="Digits after the point.")
    Nullable: bool | None = Field(None, description="Whether null is allowed.")
    Key: bool = Field(False, description="The column belongs to the replication key.")
    DistributionKey: bool = Field(False, description="The column belongs to the key that is hashed for Kafka.")
    SoftDelete: bool = Field(False, description="1 where the row was deleted in the source, else 0.")
    TimeKey: bool = Field(False, description="Every change is sent as a row of its own, in order.")
    IntegrateExpression: str | None = Field(None, description="The value, as a template over substitutions.")


class Environment(Scoped):
    """A variable of the integrate job (https://fivetran.com/docs/hvr6/action-reference/environment)."""

    action: Literal["Environment"]
    Name: Literal["HVR_KAFKA_MSG_MAX_BYTES", "HVR_KAFKA_MSG_DELIVERY_TIMEOUT", "HVR_KAFKA_PROPERTY"] = Field(
        description="Largest message in bytes; seconds until a message counts as failed; librdkafka's k=v;k=v."
    )
    Value: str = Field(description="Its value, as text.")


class Capture(Scoped):
    """What is captured (https://fivetran.com/docs/hvr6/action-reference/capture)."""

    action: Literal["Capture"]
    NoBeforeUpdate: bool = Field(False, description="Old rows of updates that keep the key are not sent.")
    NoTruncate: bool = Field(False, description="Truncates are not sent; then NOT NULL columns stay so in each schema.")


SubjectStrategy = Literal[
    "TopicNameSuffixStrategy", "TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"
]


class Integrate(Scoped):
    """How changes are integrated (https://fivetran.com/docs/hvr6/action-reference/integrate)."""

    action: Literal["Integrate"]
    CycleByteLimit: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Bytes of change files in one cycle; a file is never split; 0 is no limit."
    )
    Topic: str | None = Field(None, description="The topic, as a template; else Kafka_Default_Topic.")
    MessageKey: str | None = Field(None, description="The message key, as a template; by default {hvr_key_hash}.")
    MessageKeySerializer: (
        Literal[
            "NONE",
            "STRING",
            "CONNECT",
            "KAFKA_AVRO",
            "KAFKA_JSON",
            "KAFKA_AVRO_SCHEMA",
            "KAFKA_JSON_SCHEMA",
            "KAFKA_PROTOBUF_SCHEMA",
            "CONNECT_SCHEMA",
            "CONNECT_PAYLOAD",
            "JSON_ROW",
        ]
        | None
    ) = Field(
        None,
        description="How the key is written. STRING: its text; KAFKA_AVRO and KAFKA_JSON: its text with a schema; "
        "KAFKA_AVRO_SCHEMA and KAFKA_JSON_SCHEMA: the key columns as a record. Extensions: KAFKA_PROTOBUF_SCHEMA; "
        "CONNECT: the text in Connect JSON; CONNECT_SCHEMA, CONNECT_PAYLOAD and JSON_ROW: the key columns in JSON; "
        "NONE: no key.",
    )
    MessageHeaders: str | None = Field(None, description="Headers of each message: name=template;name=template.")
    OnDeleteSendTombstone: bool | None = Field(None, description="A delete is followed by a message without value.")
    KeySubjectStrategy: SubjectStrategy | None = Field(None, description="The subject of key schemas.")
    ValueSubjectStrategy: SubjectStrategy | None = Field(
        None,
        description="The subject of value schemas. TopicNameSuffixStrategy, the default, is <topic>-<table>-value if "
        "the topic's name does not hold the table's, else <topic>-value.",
    )


class TableProperties(Scoped):
    """Properties of a table (https://fivetran.com/docs/hvr6/action-reference/tableproperties)."""

    action: Literal["TableProperties"]
    DistributionKeyLimit: Annotated[int, Field(ge=0)] = Field(
        1, description="How many columns of the key are hashed for Kafka, where none is flagged; 0 is all."
    )
    DistributionKeyAvoidPattern: str | None = Field(
        None, description="Columns that are not hashed while there are others: a|b, with * for any text."
    )


class FileFormat(Scoped):
    """The format of messages (https://fivetran.com/docs/hvr6/action-reference/fileformat); one for a location."""

    action: Literal["FileFormat"]
    Json: bool = Field(False, description="JSON, in a mode.")
    JsonMode: (
        Literal["SCHEMA_PAYLOAD", "PAYLOAD", "ROW_FRAGMENTS", "ROW_ARRAY", "TABLE_OBJECT", "TABLE_ARRAY"] | None
    ) = Field(
        None,
        description="SCHEMA_PAYLOAD is Connect JSON, and the default; PAYLOAD the same without schema (extension); the "
        "others are plain JSON.",
    )
    Avro: bool = Field(False, description="An Avro container file for each message.")
    AvroVersion: Literal["v1_6", "v1_7", "v1_8"] = Field("v1_8", description="Before v1_8: basic types only.")
    Parquet: bool = Field(False, description="A Parquet file for each message.")
    ParquetVersion: Literal["v1", "v2", "v3"] = Field("v2", description="v1: basic types; v2: decimals; v3: times.")
    PageSize: Annotated[int, Field(ge=1)] = Field(1024 * 1024, description="Bytes of a Parquet page.")
    BlockCompress: Literal["NONE", "DEFLATE", "GZIP", "LZ4"] | None = Field(
        None, description="Inside Avro: DEFLATE (default) or NONE; inside Parquet: GZIP (default), LZ4 or NONE."
    )
    Csv: bool = Field(False, description="CSV.")
    HeaderLine: bool = Field(False, description="Each message begins with the columns' names.")
    FieldSeparator: Annotated[str, Field(min_length=1, max_length=1)] = Field(",", description="Between fields.")
    LineSeparator: Annotated[str, Field(min_length=1)] = Field("\n", description="At the end of each line.")
    QuoteCharacter: Annotated[str, Field(min_length=1, max_length=1)] = Field('"', description="Around a field.")
    EscapeCharacter: Annotated[str, Field(min_length=1, max_length=1)] = Field('"', description="Before a quote.")
    FileTerminator: str = Field("", description="At the end of each message.")
    NullRepresentation: str = Field("", description="What null is written as, without quotes.")
    Xml: bool = Field(False, description="HVR's XML.")
    Compact: bool = Field(False, description="Short element names, r and c.")
    Compress: Literal["GZIP", "LZ4"] | None = Field(None, description="Compression of each message.")
    Encoding: Literal[
        "UTF-8", "US-ASCII", "ISO-8859-1", "ISO-8859-9", "WINDOWS-1251", "WINDOWS-1252", "UTF-16LE", "UTF-16BE"
    ] = Field("UTF-8", description="The encoding of text.")
    ConvertNewlinesTo: Literal["UNIX", "DOS"] | None = Field(None, description="Line ends of text.")
    Binary: Literal["BASE64", "HEX", "COPY"] | None = Field(
        None, description="Bytes in text: BASE64 in JSON, COPY (as they are) in CSV by default (HVR: MapBinary)."
    )
    BeforeUpdateColumns: Annotated[str, Field(min_length=1)] | None = Field(
        None, description="The two rows of an update as one, the old values under this prefix and the column's name."
    )
    BeforeUpdateColumnsWhenChanged: bool = Field(
        False, description="Only values that changed have an old one; in JSON and XML."
    )
    Envelope: Literal["DEBEZIUM", "OPENCDC", "AIRBYTE"] | None = Field(
        None, description="Messages as these peers write them, for consumers written for them (extension)."
    )


Action = Annotated[
    ColumnProperties | TableProperties | Environment | Integrate | FileFormat | Capture, Field(discriminator="action")
]
