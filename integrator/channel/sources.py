"""Locations that change records come from (extensions: HVR captures by itself)."""

from __future__ import annotations

from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, Field, ValidationInfo

from integrator.channel import patterns
from integrator.channel.base import Counted, Group, Model
from integrator.channel.paths import LocalPath
from integrator.names import meant, nearest


def zone(name: str) -> str:
    """Return the name of a zone. Raises ValueError for what is none."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = nearest(name, available_timezones())
        meaning = f"do you mean {near}?" if near else "write one such as Europe/Berlin or UTC"
        raise ValueError(f"{name!r} is no IANA time zone; {meaning}") from None
    return name


def known_dialect(name: str, info: ValidationInfo) -> str:
    """Return the name of a dialect. Raises ValueError for one that is not among the context's `dialects`."""
    known = (info.context or {}).get("dialects", [name])
    if name not in known:
        raise ValueError(f"{name!r} is no dialect; {meant(name, known)}")
    return name


class Debezium(Model):
    """How Debezium's connector was set. The modes are for events without schemas, which do not say what values mean."""

    time_precision_mode: Literal[
        "ADAPTIVE", "ADAPTIVE_TIME_MICROSECONDS", "CONNECT", "ISOSTRING", "MICROSECONDS", "NANOSECONDS"
    ] = Field("ADAPTIVE", description="The connector's time.precision.mode; MySQL's is ADAPTIVE_TIME_MICROSECONDS.")
    decimal_handling_mode: Literal["PRECISE", "DOUBLE", "STRING"] = Field(
        "PRECISE", description="The connector's decimal.handling.mode."
    )
    binary_handling_mode: Literal["BYTES", "BASE64", "BASE64_URL_SAFE", "HEX"] = Field(
        "BYTES", description="The connector's binary.handling.mode."
    )
    unavailable_value: str = Field(
        "__debezium_unavailable_value", description="The connector's unavailable.value.placeholder."
    )
    old_images: Literal["AUTO", "FULL", "KEY"] = Field(
        "AUTO",
        description="What before images contain beside the key. FULL: all values (PostgreSQL's REPLICA IDENTITY "
        "FULL, MySQL). KEY: nothing, which Debezium writes as null or as empty values. AUTO: as KEY for "
        "images that have only null and empty values there.",
    )


class SourceLocation(Model):
    """Where change records come from, whatever way they take."""

    group: Group = Field("SOURCE", description="The location group that actions name.")
    dialect: Annotated[str, AfterValidator(known_dialect)] = Field(
        "auto",
        description="The shape of the records (docs/sources/index.md). auto: it is recognized for each file, or range "
        "of a topic, by the names in its first record.",
    )
    debezium: Debezium = Field(default_factory=Debezium, description="With the debezium dialect: its modes.")
    table: str | None = Field(None, description="The table of all records, where these do not name theirs.")
    time_zone: Annotated[str, AfterValidator(zone)] = Field(
        "UTC",
        description="The IANA time zone of timestamps that canal and goldengate write without a zone: the "
        "zone of their machine.",
    )
    timestamp_column: str | None = Field(
        None, description="With dms and files that have column names: TimestampColumnName, the commit's time."
    )
    unknown_tables: Literal["error", "ignore"] = Field(
        "error", description="Changes of tables that the channel does not have: an error; or not sent, and counted."
    )
    unknown_columns: Literal["error", "ignore", "add"] = Field(
        "error",
        description="Columns that the table's definition does not have: an error; not sent, and counted; or added "
        "to the table while the channel runs (HVR's AdaptDDL).",
    )
    repeated_positions: Literal["error", "send"] = Field(
        "error",
        description="Changes whose position is not after that of the change before: an error; or sent, for a "
        "source that repeats changes after a restart.",
    )
    poll_seconds: Annotated[float, Field(ge=0.05, le=3600), Counted("seconds")] = Field(
        0.5, description="How often the daemon checks for new files or records."
    )


class FilesLocation(SourceLocation):
    """A directory of change files, read as a stream: each file is one ordered run."""

    class_: Literal["files"] = Field(alias="class", description="Change files.")
    path: LocalPath = Field(description="A directory, one file, or a pattern such as data/*.jsonl.")
    pattern: str = Field("*", description="Which file names of the directory are change files.")
    ignore: list[str] = Field(
        default=[".*", "_*", "*.tmp", "*.part", "*.partial", "*.inprogress", "*~"],
        description="Temporary names: such a file is not read before it is renamed.",
    )
    order: Literal["name", "time"] = Field("name", description="Files follow each other by name, or by time of change.")


class SocketTls(Model):
    """TLS on a socket."""

    certificate: LocalPath | None = Field(None, description="PEM file of our certificate; needed to listen.")
    private_key: LocalPath | None = Field(None, description="PEM file of its key, where it is not in the same file.")
    authority: LocalPath | None = Field(
        None, description="PEM file of the authority that must have signed the other side's certificate."
    )


class SocketLocation(SourceLocation):
    """Lines of change records through TCP: agents connect to us, or we connect. They are spooled before they count."""

    class_: Literal["socket"] = Field(alias="class", description="Lines through a socket.")
    listen: Annotated[str, Field(pattern=patterns.ADDRESS)] | None = Field(
        None, description="host:port on which agents connect, several at once, such as 127.0.0.1:7010."
    )
    connect: Annotated[str, Field(pattern=patterns.ADDRESS)] | None = Field(
        None, description="host:port to connect to; connecting is retried until it succeeds."
    )
    secret: str | None = Field(
        None,
        repr=False,
        description="The secret in each agent's hello. Where `listen` is no loopback address, it or tls with an "
        "authority is required.",
    )
    tls: SocketTls | None = Field(None, description="Encrypts the connections.")
    line_bytes: Annotated[int, Field(ge=1024, le=1 << 30), Counted("bytes")] = Field(
        16 * 1024 * 1024, description="A sender of a longer line is refused."
    )
    line_seconds: Annotated[float, Field(gt=0), Counted("seconds")] = Field(
        60.0,
        description="A sender is refused if it does not end a line, or does not send its first line, within this time.",
    )
    idle_seconds: Annotated[float, Field(ge=0), Counted("seconds")] = Field(
        0.0, description="A sender that is silent for longer is refused; 0: no limit."
    )
    connections: Annotated[int, Field(ge=1, le=1000)] = Field(16, description="The largest number of agents at once.")
    spool_bytes: Annotated[int, Field(ge=1024 * 1024), Counted("bytes")] = Field(
        1024 * 1024 * 1024,
        description="Senders must wait while this many bytes of the spool are not sent yet. At most as many are kept "
        "for going back.",
    )


class SnapshotLocation(Model):
    """Files that hold whole tables, for the command `refresh`."""

    group: Group = Field("SOURCE", description="The location group that actions name.")
    class_: Literal["snapshot"] = Field(alias="class", description="Files of whole tables.")
    path: LocalPath = Field(
        description="Where the files of a table are, with {hvr_tbl_name}, {hvr_tbl_base_name} or {hvr_schema} in it: a "
        "file, a directory or a pattern that Spark can read."
    )
    format: Literal["csv", "json", "parquet", "orc", "avro"] = Field(
        description="Their format; avro needs Spark's own package (jars)."
    )
    options: dict[str, str] = Field(
        default={},
        repr=False,
        description="Options of Spark's reader; CSV has a header by default, and null is an empty field.",
    )
    jars: list[LocalPath] = Field(default=[], description="Jar files that Spark needs for it.")


class JdbcLocation(Model):
    """A database whose tables are read through Spark's JDBC reader, for the command `refresh`."""

    group: Group = Field("SOURCE", description="The location group that actions name.")
    class_: Literal["jdbc"] = Field(alias="class", description="A database.")
    url: Annotated[str, Field(pattern=patterns.JDBC)] = Field(
        repr=False, description="jdbc:postgresql://host/database, jdbc:mysql:, jdbc:mariadb:, or another database's."
    )
    user: str | None = Field(None, description="Its user.")
    password: str | None = Field(None, repr=False, description="That user's password, preferably as ${NAME}.")
    driver: str | None = Field(None, description="The driver's Java class, where Spark does not know it by the URL.")
    jars: list[LocalPath] = Field(
        default=[], description="The driver's jar file, where it is not in Spark's own directory of jars."
    )
    fetch_rows: Annotated[int, Field(ge=1)] = Field(10_000, description="Rows that the driver fetches at a time.")
    options: dict[str, str] = Field(default={}, repr=False, description="Further options of Spark's JDBC reader.")
