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
        "Bytes of change files, as they are, in one cycle; 256 MiB by default, 0: no limit. A file is never split.",
        example="10000000",
    )
    Delay: Annotated[int, Field(ge=0), Counted("seconds")] | None = parameter(
        None,
        "A change file is read no sooner than this many seconds after it was written.",
        example="600",
    )
    Topic: str | None = parameter(
        None,
        "The topic, as a template; by default Kafka_Default_Topic. With columns or SQL in it, the "
        "topic depends on the row.",
        example='"shop.{hvr_tbl_name}"',
    )
    MessageKey: str | None = parameter(
        None,
        "The message key, as a template, in all formats; by default {hvr_key_hash}.",
        example='"{id}"',
    )
    MessageKeySerializer: Serializer | None = parameter(
        None,
        "How the key is written; which are extensions, docs/messages.md has.",
        example="KAFKA_AVRO_SCHEMA",
    )
    MessageHeaders: str | None = parameter(
        None,
        "Headers of each message, in all formats: name=template;name=template. A bundle has those of its last row.",
        example='"tx={hvr_tx_seq};op={hvr_op}"',
    )
    MessageHeaderSerializer: HeaderSerializer | None = parameter(
        None,
        "How the values of headers are written; by default STRING (docs/messages.md).",
        example="CONNECT",
        differs="extension",
    )
    MessageTimestamp: str | None = parameter(
        None,
        "The timestamp of each message in Kafka: {hvr_cap_tstamp}, the commit in the source, or a "
        "column that is a timestamp (where null, the commit); by default the time of sending.",
        example='"{hvr_cap_tstamp}"',
        differs="extension",
    )
    MessagePartition: str | None = parameter(
        None,
        "The partition of each message: a column, or SQL, whose value is its number. Where it is "
        "null, and by default, the key decides. A number that the topic does not have is an error of "
        "the row.",
        example='"{region_no}"',
        differs="extension",
    )
    Outbox: Literal["WARN", "FATAL"] | None = parameter(
        None,
        "The table is an outbox: only its inserts become messages. Deletes and truncates are counted;"
        " so are updates (WARN), or they are errors of their rows (FATAL).",
        example="WARN",
        differs="extension",
    )
    OnDeleteSendTombstone: bool | None = parameter(
        None,
        "A delete is followed by a message without value; so is an update of the key, for the old "
        "key. It follows the deleted row, if that is sent.",
        example="true",
    )
    KeySubjectStrategy: SubjectStrategy | None = parameter(
        None, "The subject of key schemas.", example="TopicNameStrategy"
    )
    ValueSubjectStrategy: SubjectStrategy | None = parameter(
        None,
        "The subject of value schemas. TopicNameSuffixStrategy, the default: TOPIC-TABLE-value if"
        " the topic's name does not hold the table's, else TOPIC-value.",
        example="TopicNameStrategy",
    )
    KeyRecordName: Annotated[str, Field(min_length=1)] | None = parameter(
        None,
        "The name of the record in key schemas, as a template of the table's names; by default TABLE_key.",
        example='"{hvr_schema}.{hvr_tbl_base_name}.Key"',
        differs="extension",
    )
    ValueRecordName: Annotated[str, Field(min_length=1)] | None = parameter(
        None,
        "The name of the record in value schemas, as a template of the table's names; by default the "
        "table's name. What is before the last dot is the namespace.",
        example='"{hvr_schema}.{hvr_tbl_base_name}.Value"',
        differs="extension",
    )
