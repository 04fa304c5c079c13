"""Locations: where changes come from, and the Kafka they go to, with HVR's property names.

https://fivetran.com/docs/hvr6/property-reference/location-properties. What HVR does not have is marked as an extension.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, Discriminator, Field, Tag

from integrator.channel import patterns
from integrator.channel.access import KafkaAccess, RegistryConnection, RegistryLocation
from integrator.channel.base import Counted, Group
from integrator.channel.brokers import BROKERS, Brokers
from integrator.channel.created_topics import CreateTopics
from integrator.channel.databases import MariaDbLocation, MySqlLocation, PostgresLocation
from integrator.channel.sources import FilesLocation, JdbcLocation, SnapshotLocation, SocketLocation
from integrator.channel.topics import TopicsLocation


class RegistryUse(RegistryConnection):
    """How a schema registry is reached and used (extension)."""

    Auto_Register: bool = Field(
        True,
        description="Register schemas that are not registered yet. If false, all schemas must be registered already.",
    )
    Use_Latest_Version: bool = Field(
        False, description="Write with the id of the subject's latest version, if our messages can be read with it."
    )
    Normalize: bool = Field(False, description="Ask the registry to compare schemas in normalized form.")
    Bundle_As_Array: bool = Field(
        False,
        description="With AVRO: a bundle is an Avro array of the table's record, and the schema of that "
        "array is registered.",
    )
    Schema_Id_In: Literal["PREFIX", "HEADER"] = Field(
        "PREFIX",
        description="PREFIX: the schema's id, in five bytes before each message. HEADER: the schema's "
        "GUID, in a header of the message.",
    )


class KafkaLocation(KafkaAccess, RegistryLocation):
    """A Kafka cluster, and how messages are made for it."""

    group: Group = Field("KAFKA", description="The location group that actions name.")
    class_: Literal["kafka"] = Field(alias="class", description="Kafka.")
    Kafka_Brokers: Brokers = Field(description=BROKERS)
    Kafka_Default_Topic: str = Field(
        "{hvr_tbl_name}",
        description="Text with {hvr_tbl_name}, {hvr_tbl_base_name}, {hvr_schema}, {hvr_cap_loc} or {hvr_chn_name}.",
    )
    Topic_Names: Literal["LITERAL", "UNDERSCORES", "AIRBYTE"] = Field(
        "LITERAL",
        description="LITERAL: topics have the text as their name. UNDERSCORES: each character that Kafka does not"
        " take is an underscore. AIRBYTE: as Airbyte's name transformer: marks of letters go, a run "
        "of blanks is one underscore, and so is each other character but a-z A-Z 0-9 _; {hvr_schema} "
        "is empty where a table has no schema (extension).",
    )
    Kafka_Message_Bundling: Literal["ROW", "CHANGE", "TRANSACTION", "THRESHOLD"] = Field(
        "ROW",
        description="Which rows share a message (docs/bundling.md).",
    )
    Kafka_Message_Bundling_Threshold: Annotated[int, Field(ge=4096), Counted("bytes")] | None = Field(
        None, description="Bytes after which a message of TRANSACTION or THRESHOLD is closed; by default 800,000."
    )
    Bundle_Layout: Literal["DOCUMENT", "CONCATENATED"] | None = Field(
        None,
        description="DOCUMENT, the default: a bundle is one valid document of its format, or one row a line. "
        "CONCATENATED: its messages one after the other, as HVR has it (extension).",
    )
    Bundle_Partition: Literal["FIRST", "ANY"] | None = Field(
        None,
        description="Where messages without a key go. FIRST, the default: to the topic's first partition, in "
        "source order. ANY: to any, without order, as in HVR (extension).",
    )
    Expression_Scopes: Literal["IGNORE", "APPLY"] = Field(
        "IGNORE",
        description="Whether ColumnProperties ExpressionScope has an effect, which it never has on Kafka in HVR "
        "(extension).",
    )
    Transaction_Topic: Annotated[str, Field(pattern=patterns.TOPIC)] | None = Field(
        None,
        description="The topic of messages at the begin and the end of each transaction (docs/messages.md) "
        "(extension).",
    )
    Oversized_Rows: Literal["FAIL", "DEAD_LETTER", "SKELETON"] = Field(
        "FAIL",
        description="What happens to a row larger than HVR_KAFKA_MSG_MAX_BYTES (docs/bundling.md). FAIL: the cycle "
        "fails. DEAD_LETTER: it goes to Dead_Letter_Topic. SKELETON: it is sent without its largest values "
        "(extension).",
    )
    Dead_Letter_Topic: Annotated[str, Field(pattern=patterns.TOPIC)] | None = Field(
        None, description="The topic of dead letters (extension)."
    )
    Kafka_Message_Compress: Literal["NONE", "LZ4", "GZIP", "SNAPPY", "ZSTD"] = Field(
        "LZ4", description="Compression of the message set on its way to the broker."
    )
    Create_Topics: CreateTopics | None = Field(
        None,
        description="Who creates topics that are not there (extension). By default nobody. A mapping: the "
        "channel, all alike. A list: the channel, each by the first entry that matches it, if one "
        "does. broker: the brokers, with their own defaults, as Airbyte and HVR have it.",
    )
    Kafka_Partitioner: Literal[
        "random", "consistent", "consistent_random", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random"
    ] = Field(
        "consistent_random",
        description="How a key becomes a partition: CRC32, as HVR, or murmur2_random, as Java producers, and "
        "others of librdkafka's (extension).",
    )
    Kafka_Schema_Registry_Format: Literal["AVRO", "JSON", "PROTOBUF"] = Field(
        "AVRO", description="The format of messages with a registry; PROTOBUF is an extension."
    )
    Schema_Registry: RegistryUse = Field(
        default_factory=RegistryUse, description="How the registry is reached and used (extension)."
    )
    Json_Decimals: Literal["BASE64", "NUMERIC", "TEXT"] | None = Field(
        None,
        description="Decimals as Connect's converter writes them (BASE64, the default in Connect JSON), as JSON "
        "numbers (NUMERIC, in other JSON), or as text (extension).",
    )
    Json_Times: Literal["ADAPTIVE", "CONNECT", "DEBEZIUM"] | None = Field(
        None,
        description="How times are written (datatypes); DEBEZIUM is the default in its envelope, else ADAPTIVE: "
        "times finer than a millisecond under Debezium's names (extension).",
    )
    Missing_Values: Annotated[Literal["REFUSE", "NULL"], BeforeValidator(lambda given: given or "NULL")] = Field(
        "REFUSE",
        description="Missing values in formats that cannot express them (Avro, Protobuf, CSV, Parquet): the cycle"
        " fails, or they are null (extension).",
    )


def class_of(kind: type[BaseModel]) -> str:
    """Return the class of a kind of location."""
    return str(get_args(kind.model_fields["class_"].annotation)[0])


def kafka_model(given: Any) -> type[KafkaLocation | TopicsLocation]:
    """Return the model of a location of class kafka: a source, where it has `topics`; else the target."""
    is_source = "topics" in given if isinstance(given, dict) else isinstance(given, TopicsLocation)
    return TopicsLocation if is_source else KafkaLocation


_Kafka = Annotated[
    Annotated[KafkaLocation, Tag("KafkaLocation")] | Annotated[TopicsLocation, Tag("TopicsLocation")],
    Discriminator(lambda given: kafka_model(given).__name__),
]
Location = Annotated[
    FilesLocation
    | SocketLocation
    | PostgresLocation
    | MySqlLocation
    | MariaDbLocation
    | SnapshotLocation
    | JdbcLocation
    | _Kafka,
    Field(discriminator="class_"),
]
