"""Locations of databases whose changes are captured (extension: HVR captures by itself)."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from integrator.channel.base import Counted
from integrator.channel.sources import SourceLocation

_SLOT = r"^[a-z0-9_]{1,63}$"
"""https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-SLOTS-MANIPULATION"""
_LSN = r"^[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}$"
_PLACE = r"^[^:]+\.[0-9]+:[0-9]+$"


ADDRESS = "address"
"""The kind of the error of an address that is none."""
_CUT = (
    "the address ends before its host does: in a user or a password / ? # and @ are written %2F %3F %23 and %40 (the "
    "address is not shown, for it may have a password)"
)


def address_problem(address: str) -> str | None:
    """Return what is wrong with an address in the form of a URL, without the address (I7); None if nothing is."""
    try:
        parts = urlsplit(address)
        is_cut = parts.scheme and "@" in address and "@" not in parts.netloc
        has_port = "," in parts.netloc or parts.port is None or parts.port > 0
    except ValueError:  # of brackets that do not match, and of ports that are none
        return _CUT
    return None if has_port and not is_cut else _CUT


class DatabaseLocation(SourceLocation):
    """A database that is captured, whatever product it is of."""

    tables: list[str] = Field(
        default=["*"],
        min_length=1,
        description="Which tables: SCHEMA.TABLE, with * for any text; without a dot, tables in any schema.",
    )
    exclude: list[str] = Field(default=[], description="Which of these are not captured, written as tables.")
    text_columns: list[str] = Field(
        default=[],
        description="Columns that are sent as the text that the database prints: TABLE.COLUMN or "
        "SCHEMA.TABLE.COLUMN, with * for any text.",
    )
    values_without_form: Literal["null", "text", "stop"] = Field(
        "stop",
        description="What becomes of values that messages do not have (docs/sources/postgres.md), such as NaN in JSON, "
        "and 0000-00-00. null: they are null, counted, and named in the header integrator.without.form; in a key "
        "they stop the channel. text: columns whose types may have them are text. stop: the channel stops, or "
        "rejects their rows, as `errors` has it.",
    )
    snapshot: Literal["initial", "never", "only"] = Field(
        "initial",
        description="initial: the rows that tables have are sent before their changes. never: changes alone. only: the "
        "rows alone, once; nothing is made at the database, and its log is not read.",
    )
    snapshot_rows_per_second: Annotated[int, Field(ge=1000), Counted("rows")] | None = Field(
        None, description="The most rows of tables that are read in a second."
    )
    signal_table: Annotated[str, Field(pattern=r"^[^.]+\..+$")] | None = Field(
        None,
        description="A captured table, SCHEMA.TABLE, whose new rows ask for refreshes, as Debezium's signal tables: "
        "id, type (execute-snapshot), data (JSON: data-collections, additional-conditions, truncate-record).",
    )
    on_rewrite: Literal["read_again", "warn", "stop"] = Field(
        "warn",
        description="Where the rows of a table become others, and the log has no change of them "
        "(docs/sources/postgres.md). read_again: after a truncate, the rows are read again. warn: it "
        "is logged, at each start. stop: the channel stops.",
    )
    spool_bytes: Annotated[int, Field(ge=1024 * 1024), Counted("bytes")] = Field(
        1024 * 1024 * 1024,
        description="Nothing is read from the database while this many bytes of the spool are not sent yet. At most "
        "as many are kept for going back.",
    )
    unknown_columns: Literal["error", "ignore", "add"] = Field(
        "error", description="Columns come from the database's catalogue, so that none is unknown."
    )
    poll_seconds: Annotated[float, Field(ge=0.05, le=3600), Counted("seconds")] = Field(
        0.1, description="How often the daemon checks for captured changes."
    )

    @field_validator("address", check_fields=False)
    @classmethod
    def _has_its_host(cls, address: str) -> str:
        if problem := address_problem(address):
            raise PydanticCustomError(ADDRESS, problem.replace("{", "{{").replace("}", "}}"))
        return address

    @property
    def product(self) -> str:
        """The class of the location, which names the product."""
        return str(vars(self)["class_"])

    @property
    def captures_changes(self) -> bool:
        """Whether changes are captured."""
        return self.snapshot != "only"


class PostgresLocation(DatabaseLocation):
    """A PostgreSQL database, from version 10, whose changes are captured by logical replication."""

    class_: Literal["postgres"] = Field(alias="class", description="A PostgreSQL database that is captured.")
    address: str = Field(
        repr=False,
        description="The database, as libpq takes it: postgresql://user@host:5432/shop?sslmode=verify-full, or "
        "host=… dbname=… user=… service=… passfile=…. Give a password as ${NAME}, or by a passfile.",
    )
    publication: Annotated[str, Field(pattern=r"^.{1,63}$")] | None = Field(
        None, description="The publication; by default integrator_ and the channel's name. It is created where needed."
    )
    slot: Annotated[str, Field(pattern=_SLOT)] | None = Field(
        None, description="The replication slot; named as the publication by default. It is created where needed."
    )
    failover: bool = Field(
        False,
        description="Whether standbys that synchronize slots have ours, too, so that the capture continues at a "
        "promoted one: from PostgreSQL 17 on. Not at a standby.",
    )
    dialect: Literal["pgoutput"] = Field("pgoutput", description="How changes come; there is nothing to choose.")
    start_position: Annotated[str, Field(pattern=_LSN)] | None = Field(
        None,
        description="To continue what another program has captured by `slot` (docs/sources/postgres.md): the position "
        "(LSN) up to which that has sent changes, as 0/16B3748. Rows of published tables are not read.",
    )
    partitions: Literal["root", "leaf"] = Field(
        "root", description="Whether rows of a partitioned table are of that, or of its partitions."
    )


class BinlogLocation(DatabaseLocation):
    """A server whose changes are captured from its binary log."""

    class_: Literal["mysql", "mariadb"] = Field(alias="class", description="Which product it is.")
    address: str = Field(
        repr=False,
        description="The server: mysql://user@host:3306 or mariadb://…, or …/shop for the tables of one database; "
        "after a ? ssl_mode (disabled, preferred, required, verify_ca, verify_identity), ssl_ca, ssl_cert, ssl_key. "
        "Give a password as ${NAME}, or in the variable MYSQL_PWD.",
    )
    server_id: Annotated[int, Field(ge=1, le=4294967295)] | None = Field(
        None, description="Ours among the server's replicas, each of which has another; made of the channel's name."
    )
    start_position: Annotated[str, Field(pattern=_PLACE)] | None = Field(
        None,
        description="To continue what another program has captured (docs/sources/mysql.md): where a transaction begins "
        "in the binary log, as FILE:OFFSET. Rows that tables have then are not read.",
    )


class MySqlLocation(BinlogLocation):
    """A MySQL server, from version 8.0.17, whose changes are captured from its binary log."""

    class_: Literal["mysql"] = Field(alias="class", description="A MySQL that is captured.")
    dialect: Literal["mysql"] = Field("mysql", description="How changes come; there is nothing to choose.")


class MariaDbLocation(BinlogLocation):
    """A MariaDB server, from version 10.5, whose changes are captured from its binary log."""

    class_: Literal["mariadb"] = Field(alias="class", description="A MariaDB that is captured.")
    dialect: Literal["mariadb"] = Field("mariadb", description="How changes come; there is nothing to choose.")
