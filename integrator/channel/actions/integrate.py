"""Integrate (https://fivetran.com/docs/hvr6/action-reference/integrate)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from integrator.channel.base import Counted, InContext, parameter

SubjectStrategy = Literal[
    "TopicNameSuffixStrategy", "TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"
]
Serializer = Literal[
    "NONE", "STRING", "CONNECT", "KAFKA_AVRO", "KAFKA_JSON", "KAFKA_AVRO_SCHEMA", "KAFKA_JSON_SCHEMA",
    "KAFKA_PROTOBUF_SCHEMA", "CONNECT_SCHEMA", "CONNECT_PAYLOAD", "JSON_ROW", "KAFKA_AVRO_SCHEMA_COLUMN",
    "KAFKA_JSON_SCHEMA_COLUMN", "CONNECT_SCHEMA_COLUMN", "CONNECT_PAYLOAD_COLUMN",
]  # fmt: skip

HeaderSerializer = Literal["STRING", "CONNECT", "CONNECT_PAYLOAD", "BYTES"]


class Integrate(InContext):
    """How changes are integrated."""

    EXAMPLE: ClassVar[str] = """\
- {action: Integrate, group: KAFKA, CycleByteLimit: 10000000, Delay: 5}
- {action: Integrate, Topic: "shop.{hvr_tbl_name}", OnDeleteSendTombstone: true}
- {action: Integrate, table: orders, MessageKey: "{order_id}-{line_no}",
   MessageHeaders: "op={hvr_op_str};at={hvr_cap_tstamp}"}
"""

    action: Literal["Integrate"]
    CycleByteLimit: Annotated[int, Field(ge=0), Counted("bytes")] | None = parameter(
        None,
        "Bytes of change files in one cycle, 256 MiB by default; a file is never split; 0 is no limit.",
        example="10000000",
        differs="The size of the files as they are, compressed or not; HVR's default is 10,000,000 compressed bytes.",
    )
    Delay: Annotated[int, Field(ge=0), Counted("seconds")] | None = parameter(
        None,
        "A change file is read no sooner than this many seconds after it was written.",
        example="600",
        differs="HVR does not say what it counts from.",
    )
    Topic: str | None = parameter(
        None,
        "The topic, as a template; by default Kafka_Default_Topic.",
        example='"shop.{hvr_tbl_name}"',
        differs="It may have columns and SQL, too: then the topic depends on the row.",
    )
    MessageKey: str | None = parameter(
        None,
        "The message key, as a template; by default {hvr_key_hash}.",
        example='"{id}"',
        differs="Messages of all formats have a key, not only those of Json and Avro, because the key preserves the "
        "order.",
    )
    MessageKeySerializer: Serializer | None = parameter(
        None,
        "How the key is written. STRING: its text; KAFKA_AVRO and KAFKA_JSON: its text with a schema; "
        "KAFKA_AVRO_SCHEMA and KAFKA_JSON_SCHEMA: the key columns as a record.",
        example="KAFKA_AVRO_SCHEMA",
        differs="Extensions: KAFKA_PROTOBUF_SCHEMA; CONNECT: the text in Connect JSON; CONNECT_SCHEMA, CONNECT_PAYLOAD "
        "and JSON_ROW: the key columns in JSON; …_COLUMN: the one key column alone, without its name; NONE: no key.",
    )
    MessageHeaders: str | None = parameter(
        None,
        "Headers of each message: name=template;name=template.",
        example='"tx={hvr_tx_seq};op={hvr_op}"',
        differs="In all formats, not only with a registry. A bundle has the headers of its last row.",
    )
    MessageHeaderSerializer: HeaderSerializer | None = parameter(
        None,
        "How the values of headers are written. STRING, the default: their text, as Connect's SimpleHeaderConverter "
        "and StringConverter have it of text, whole numbers and booleans; CONNECT and CONNECT_PAYLOAD: with their "
        "types, in Connect JSON with and without schema; BYTES: the bytes of a column, as they are.",
        example="CONNECT",
        differs="extension",
    )
    MessageTimestamp: str | None = parameter(
        None,
        "The timestamp of each message in Kafka: {hvr_cap_tstamp}, the commit in the source, or a column that is a "
        "timestamp; by default the time at which the message is sent.",
        example='"{hvr_cap_tstamp}"',
        differs="An extension. Where the column is null it is the commit; a bundle has that of its last row.",
    )
    MessagePartition: str | None = parameter(
        None,
        "The partition of each message: a column, or SQL, whose value is its number, as it is; where that is null, and "
        "by default, the key decides.",
        example='"{region_no}"',
        differs="An extension. A number that the topic does not have is an error of the row.",
    )
    Outbox: Literal["WARN", "FATAL"] | None = parameter(
        None,
        "The table is an outbox, whose inserts are events: only these become messages. Deletes and truncates are "
        "counted, and not sent; so are updates (WARN), or they are errors of their rows (FATAL).",
        example="WARN",
        differs="An extension, as Debezium's outbox event router has it.",
    )
    OnDeleteSendTombstone: bool | None = parameter(
        None,
        "A delete is followed by a message without value.",
        example="true",
        differs="In all formats, and also for the old key when an update changes the key. It follows the deleted "
        "row, if that is sent.",
    )
    KeySubjectStrategy: SubjectStrategy | None = parameter(
        None, "The subject of key schemas.", example="TopicNameStrategy"
    )
    ValueSubjectStrategy: SubjectStrategy | None = parameter(
        None,
        "The subject of value schemas.",
        example="TopicNameStrategy",
        differs="TopicNameSuffixStrategy, the default, is <topic>-<table>-value if the topic's name does not hold the "
        "table's, else <topic>-value; HVR's own form is not published.",
    )
    KeyRecordName: Annotated[str, Field(min_length=1)] | None = parameter(
        None,
        "The name of the record in key schemas, as a template of names of the table; by default <table>_key.",
        example='"{hvr_schema}.{hvr_tbl_base_name}.Key"',
        differs="extension",
    )
    ValueRecordName: Annotated[str, Field(min_length=1)] | None = parameter(
        None,
        "The name of the record in value schemas, as a template of names of the table; by default the table's name. "
        "What is before the last dot is the namespace.",
        example='"{hvr_schema}.{hvr_tbl_base_name}.Value"',
        differs="extension",
    )
