"""What may be written in a channel file, in HVR's nouns. Field descriptions become the JSON Schema and the docs.

Sources: https://fivetran.com/docs/hvr6/property-reference/location-properties,
https://fivetran.com/docs/hvr6/action-reference/columnproperties and .../environment. What HVR does not have is
marked as an extension.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

DEFAULT_MAX_BYTES = 1_000_000
MIN_MAX_BYTES = 4096
DEFAULT_CYCLE_BYTES = 256 * 1024 * 1024


class Model(BaseModel):
    """Strict, frozen, and closed: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


LocationName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,11}$")]
Group = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]


class FilesLocation(Model):
    """A directory of change files, read as a stream: each file is one ordered run."""

    group: Group = Field("SOURCE", description="The location group that actions name.")
    class_: Literal["files"] = Field(alias="class", description="Change files.")
    path: str = Field(description="A directory, one file, or a pattern such as data/*.jsonl.")
    dialect: Literal["hvr", "wal2json"] = Field(description="The shape of the records.")
    pattern: str = Field("*", description="Which file names of the directory are change files.")
    ignore: list[str] = Field(
        default=[".*", "_*", "*.tmp", "*.part", "*.partial", "*.inprogress", "*~"],
        description="Temporary names: such a file is not read before it is renamed.",
    )
    order: Literal["name", "time"] = Field("name", description="Files follow each other by name, or by time of change.")
    table: str | None = Field(None, description="The table of all records, where the hvr dialect's records name none.")
    unknown_tables: Literal["error", "ignore"] = Field(
        "error", description="What to do with changes of tables that the channel does not have."
    )
    poll_seconds: Annotated[float, Field(ge=0.05, le=3600)] = Field(
        0.5, description="How often the daemon looks for new files."
    )


class TopicCreation(Model):
    """Create missing topics (extension: HVR wants them to be there)."""

    Partitions: Annotated[int, Field(ge=1)] = Field(1, description="Partitions of a new topic.")
    Replication_Factor: Annotated[int, Field(ge=1)] = Field(1, description="Replicas of each partition.")
    Topic_Config: dict[str, str] = Field(default={}, description="Topic configuration, for example retention.ms.")


class KafkaLocation(Model):
    """A Kafka cluster, and how messages are made for it."""

    group: Group = Field("KAFKA", description="The location group that actions name.")
    class_: Literal["kafka"] = Field(alias="class", description="Kafka.")
    Kafka_Brokers: Annotated[list[str], Field(min_length=1)] = Field(description="host:port of each; the port is 9092.")
    Kafka_Default_Topic: str = Field(
        "{hvr_tbl_name}",
        description="Text with {hvr_tbl_name}, {hvr_tbl_base_name}, {hvr_schema}, {hvr_cap_loc} or {hvr_chn_name}.",
    )
    Kafka_Message_Bundling: Literal["ROW"] = Field("ROW", description="ROW: one row is one message.")
    Kafka_Message_Compress: Literal["NONE", "LZ4", "GZIP", "SNAPPY", "ZSTD"] = Field(
        "LZ4", description="Compression of the message set on its way to the broker."
    )
    Create_Topics: TopicCreation | None = Field(None, description="Create missing topics (extension).")
    Json_Decimals: Literal["BASE64", "NUMERIC"] = Field(
        "BASE64", description="Decimals as Connect's converter writes them by default, or as JSON numbers (extension)."
    )
    Json_Times: Literal["ADAPTIVE", "CONNECT"] = Field(
        "ADAPTIVE",
        description="Times finer than a millisecond: ADAPTIVE sends them whole, as int64 microseconds; CONNECT always "
        "sends Connect's milliseconds and refuses a value that has more (extension).",
    )


Location = Annotated[FilesLocation | KafkaLocation, Field(discriminator="class_")]


class TableFile(Model):
    """A file with table definitions."""

    file: str = Field(description="SQL DDL (.sql), an Avro schema (.avsc) or YAML (.yaml).")
    sql_dialect: str = Field("postgres", description="Whose SQL a .sql file is in: postgres, mysql, oracle, tsql …")
    only: list[str] | None = Field(None, description="Take these tables only.")


class Scoped(Model):
    """Where an action holds: at a location or a group of them, for a table, a table group, or all."""

    group: str = Field("*", description="A location group, a location, or * for all.")
    table: str = Field("*", description="A table, a table group, or * for all.")


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


class Integrate(Scoped):
    """How changes are integrated (https://fivetran.com/docs/hvr6/action-reference/integrate)."""

    action: Literal["Integrate"]
    CycleByteLimit: Annotated[int, Field(ge=0)] | None = Field(
        None, description="Bytes of change files in one cycle; a file is never split; 0 is no limit."
    )


Action = Annotated[ColumnProperties | Environment | Integrate, Field(discriminator="action")]


class Channel(Model):
    """A channel: from where, to where, which tables, and how."""

    channel: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,11}$")] = Field(
        description="Its name: at most 12 lower-case letters, digits and underscores."
    )
    locations: dict[LocationName, Location] = Field(description="The source and the Kafka location, by name.")
    tables: Annotated[list[str | TableFile], Field(min_length=1)] = Field(description="Files with table definitions.")
    table_groups: dict[Group, list[str]] = Field(default={}, description="Names for sets of tables.")
    actions: list[Action] = Field(default=[], description="What differs from the defaults.")
    state: str = Field("state", description="The directory in which each channel keeps its progress.")
