"""What may be written in a channel file, in HVR's nouns. Field descriptions become the JSON Schema and the docs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo

from integrator.channel import patterns
from integrator.channel.actions import Action
from integrator.channel.base import Counted, Group, LocationName, Model
from integrator.channel.locations import Location
from integrator.channel.paths import LocalPath, NewPath, local
from integrator.channel.resolved import Resolved
from integrator.channel.tolerance import Errors

DEFAULT_LISTEN = "127.0.0.1:8472"


class Monitor(Model):
    """The HTTP endpoint of the process: a status page, /status, /metrics, /health, /ready (extension)."""

    enabled: bool = Field(True, description="Whether there is one.")
    listen: Annotated[str, Field(pattern=patterns.ADDRESS)] | None = Field(
        None,
        description="host:port; by default 127.0.0.1:8472, or any free port if that one is in use. It has no "
        "authentication; beyond loopback (0.0.0.0:8472 in a container) it must be complete.",
    )


class TableFile(Model):
    """A file with table definitions."""

    file: LocalPath = Field(
        description="SQL DDL (.sql), an Avro schema (.avsc), YAML (.yaml), or a catalog of Airbyte (.json)."
    )
    sql_dialect: str = Field(
        "postgres",
        description="The SQL dialect of a .sql file: postgres, mysql, oracle, tsql … For another file, if it is "
        "given: the database that its tables belong to.",
    )
    only: list[str] | None = Field(
        None, description="Take these tables only: by their names in the channel, or schema.table."
    )
    partitions: Literal["root", "leaf"] = Field(
        "root",
        description="For partitioned tables of PostgreSQL. root: rows of partitions belong to the partitioned "
        "table. leaf: each partition is a table of the channel, and the partitioned table is not.",
    )
    names: dict[str, Annotated[str, Field(pattern=patterns.TABLE)]] = Field(
        default={},
        description="The names of tables in the channel, by schema.table or table in the database. By default, a "
        "table has its name in the database, in lower case.",
    )


def _at_its_place(entry: str | TableFile, info: ValidationInfo) -> str | TableFile:
    return local(entry, info) if isinstance(entry, str) else entry


class Restart(Model):
    """How the daemon restarts after a failure that a retry may resolve, such as an unreachable broker (extension)."""

    tries: Annotated[int, Field(ge=0)] = Field(
        10, description="How many failures in a row, with no synced cycle between them, are retried; 0: none."
    )
    first_seconds: Annotated[float, Field(gt=0), Counted("seconds")] = Field(
        1.0, description="Seconds until the first restart; doubled after each further failure."
    )
    most_seconds: Annotated[float, Field(gt=0), Counted("seconds")] = Field(
        60.0, description="The most seconds until a restart."
    )
    timeout_seconds: Annotated[float, Field(ge=-1), Counted("seconds")] | None = Field(
        None, description="Retry for this many seconds, whatever the number of failures; -1: without limit."
    )


class Latency(Model):
    """How soon changes are sent that are captured, or come through sockets (extension)."""

    sub_cycles: Annotated[float, Field(ge=0, le=120), Counted("seconds")] = Field(
        30.0,
        description="Seconds after a cycle, longer where nothing comes, in which changes are sent at once, in "
        "sub-cycles, without a Spark job; then the next cycle begins. 0: none; nor are there any on a Spark "
        "cluster, with Integrate Delay, and where a run ends by itself.",
    )


def _on_a_disk(path: str) -> str:
    if "://" in path or path.startswith("file:"):
        raise ValueError(f"{path} is no local path; the state is on a disk of the driver: write a directory")
    return path


class Progress(Model):
    """Which channel it is, and where its progress is: no secret is needed to know that."""

    channel: Annotated[str, Field(pattern=patterns.NAME)] = Field(
        description="Its name: at most 12 lower-case letters, digits and underscores."
    )
    state: Annotated[NewPath, AfterValidator(_on_a_disk)] = Field(
        "state", validate_default=True, description="The directory in which each channel keeps its progress."
    )

    @property
    def place(self) -> str:
        """The channel's own directory in that."""
        return f"{self.state}/{self.channel}"


class Channel(Progress):
    """A channel: from where, to where, which tables, and how."""

    locations: dict[LocationName, Location] = Field(description="The source and the Kafka location, by name.")
    tables: list[Annotated[str | TableFile, AfterValidator(_at_its_place)]] = Field(
        default=[],
        description="Files with table definitions. They may be left out where the source has them: topics whose "
        "records have schemas.",
    )
    table_groups: dict[Group, list[str]] = Field(default={}, description="Names for sets of tables.")
    actions: list[Action] = Field(default=[], description="What differs from the defaults.")
    delivery: Literal["at_least_once", "exactly_once"] = Field(
        "at_least_once",
        description="at_least_once: rows of a cycle that failed may come again, with the same bytes. exactly_once: in "
        "Kafka transactions, so that a consumer with isolation.level=read_committed sees each change once (extension).",
    )
    errors: Errors = Field(default=Errors(), description="What becomes of records that cannot be read or sent.")
    restart: Restart = Field(default=Restart(), description="What the daemon does after a failure.")
    latency: Latency = Field(default=Latency(), description="How soon changes are sent.")
    resolved: Resolved | None = Field(
        None, description="Messages that say up to where all is in the topics (extension)."
    )
    monitor: Monitor = Field(default=Monitor(), description="Where the process shows what its channels do.")
