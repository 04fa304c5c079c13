"""`import debezium`: a channel from a configuration of a Debezium source connector in Kafka Connect.

https://debezium.io/documentation/reference/stable/connectors/. The channel makes the messages that the connector made:
it captures the database, or reads changes as JSON lines; each property that has no counterpart is named, with the
reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from integrator.errors import ConfigurationError
from integrator.imports import (
    connect_file,
    debezium_capture,
    debezium_captured,
    debezium_columns,
    debezium_delivery,
    debezium_formats,
    debezium_kept,
    debezium_reasons,
    debezium_records,
    debezium_snapshots,
)
from integrator.imports import debezium_transforms as transforms
from integrator.imports import draft as drafts
from integrator.imports.connect_file import Config
from integrator.imports.debezium_kept_topics import KeptTopics
from integrator.imports.debezium_patterns import items
from integrator.imports.debezium_tables import Tables
from integrator.imports.debezium_topics import Topics
from integrator.imports.draft import Draft

_ORDER = ("FileFormat", "Integrate", "Capture", "TableProperties", "ColumnProperties")
_MODES = {
    "time.precision.mode": "time_precision_mode",
    "decimal.handling.mode": "decimal_handling_mode",
    "binary.handling.mode": "binary_handling_mode",
}
_DEFAULTS = {"adaptive", "precise", "bytes"}
_MOST_NAME = 12
_LOCATION = re.compile(r"[a-z][a-z0-9_]{0,11}")
_ENVELOPE = (
    "events are Debezium's but for what docs/formats.md lists for envelopes; rows of a refresh are c there, not r"
)
_TRANSACTIONS = (
    "a transaction's id is the beginning of {hvr_integ_seq}, transactions without rows that are sent have no messages, "
    "and their rows are numbered with gaps (docs/messages.md)"
)
_OMITTED = (
    "values that a record leaves out (PostgreSQL's unchanged large values, deletes of which the key alone is recorded) "
    "are not in the row, where Debezium has null"
)
_AS_NULL = (
    "values that a record leaves out (PostgreSQL's unchanged large values, images of which the key alone is recorded) "
    "are null in rows (Missing_Values: NULL), numbers too; a column with IntegrateExpression {hvr_missing} names them, "
    "and REPLICA IDENTITY FULL has them recorded"
)
_UNAVAILABLE = ("postgres", "oracle")
"""Databases whose large values are not in records of updates that do not change them."""
UNAVAILABLE = "__debezium_unavailable_value"


@dataclass(frozen=True)
class Connector:
    """A database's connector. dump: a command that writes the definitions of its tables.

    schema: of tables for which none is known. in_databases: whether its schemas are databases. captured_as: the class
    of locations that capture it; None where none does.
    """

    product: str
    sql_dialect: str
    schema: str | None
    dump: str
    times: str = "adaptive"
    in_databases: bool = False
    captured_as: str | None = None


_MYSQL = Connector(
    "MySQL", "mysql", None, "mysqldump --no-data --databases …", "adaptive_time_microseconds", True, "mysql"
)
CONNECTORS = {
    "PostgresConnector": Connector("PostgreSQL", "postgres", "public", "pg_dump -s", captured_as="postgres"),
    "MySqlConnector": _MYSQL,
    "MariaDbConnector": replace(
        _MYSQL, product="MariaDB", dump="mariadb-dump --no-data --databases …", captured_as="mariadb"
    ),
    "SqlServerConnector": Connector("SQL Server", "tsql", "dbo", "Management Studio, Generate Scripts"),
    "OracleConnector": Connector("Oracle", "oracle", None, "DBMS_METADATA.GET_DDL"),
    "Db2Connector": Connector("Db2", "db2", None, "db2look -e"),
}
"""By the last part of the connector's class."""


@dataclass(frozen=True)
class Options:
    """What the command was given. definitions: a file with the tables' definitions. worker: the worker's properties.

    keeps_connector: the channel reads the topics of the connector, which continues. reads_files: it reads files of
    another capture, where it could capture by itself. offsets: the connector's, where the capture continues there.
    """

    definitions: Path | None
    sql_dialect: str | None
    worker: Path | None
    brokers: str | None
    channel: Path
    keeps_connector: bool = False
    reads_files: bool = False
    offsets: Path | None = None


def run(file: Path, options: Options, timezone: str) -> tuple[str, ConfigurationError | None]:
    """Write the channel; return what it has and what has no counterpart, and what the check finds.

    Raises ConfigurationError.
    """
    drafts.refuse_existing(options.channel)
    config = connect_file.read(file, options.worker)
    given = config.get("connector.class").rpartition(".")[2]
    if given not in CONNECTORS:
        found = f"connector.class is {given}" if given else "it has no connector.class"
        raise ConfigurationError(
            f"{file}: is no configuration of a Debezium source connector: {found}; {', '.join(CONNECTORS)} are read"
        )
    if options.keeps_connector and options.reads_files:
        raise ConfigurationError("--keep-connector reads topics, and --files reads files: leave one of them out")
    connector = CONNECTORS[given]
    captures = connector.captured_as is not None and not (options.keeps_connector or options.reads_files)
    if options.offsets is not None and not captures:
        raise ConfigurationError(
            "--offsets is for connectors for PostgreSQL, MySQL and MariaDB whose database is captured: leave it out"
        )
    draft = (kept if options.keeps_connector else made)(config, connector, options)
    if captures:
        options.channel.write_text(draft.text(options.channel), encoding="utf-8")
        head = f"{options.channel}: channel {draft.name}, not checked: the database's catalogue defines its tables"
        return f"{draft.report.text(head)}\nNext: integrator check --channel {options.channel} --connect", None
    if options.definitions is not None:
        return drafts.write(draft, options.channel, timezone)
    if not draft.tables:
        options.channel.write_text(draft.text(options.channel), encoding="utf-8")
        head = f"{options.channel}: channel {draft.name}, not checked: the schemas of its records define its tables"
        return f"{draft.report.text(head)}\nNext: integrator check --channel {options.channel} --connect", None
    undefined = options.channel.with_name(debezium_captured.UNDEFINED)
    options.channel.write_text(draft.text(options.channel), encoding="utf-8")
    text = draft.report.text(f"{options.channel}: channel {draft.name}, not checked: it has no table definitions yet")
    dump = f"Next: write the tables' definitions to {undefined} ({CONNECTORS[given].dump})"
    return f"{text}\n{dump}\n      integrator check --channel {options.channel}", None


def made(config: Config, connector: Connector, options: Options) -> Draft:
    """Return the channel of a connector's configuration. Raises ConfigurationError."""
    prefix = config.get("topic.prefix", "database.server.name", default="debezium")
    draft = Draft(_name_of(prefix), f"a configuration of Debezium's connector for {connector.product}")
    if draft.name != prefix:
        draft.report.differ(f"the channel is called {draft.name}, not {prefix}: source.name in events is that")
    config.get("name")
    database = _take_database(config, draft)
    captured_as = None if options.reads_files else connector.captured_as
    _take_brokers(config, options, draft)
    dialect = options.sql_dialect or connector.sql_dialect
    named = None if connector.in_databases else database.lower()
    defined = debezium_captured.Given(options.definitions, dialect, connector.schema, named)
    if captured_as is not None:
        config.values.setdefault("time.precision.mode", connector.times)
        debezium_capture.import_capture(config, captured_as, options.offsets, prefix, draft)
        tables = debezium_capture.import_tables(config, defined, draft)
    else:
        draft.remarks.append("Change events of the connector as JSON lines, without transforms; or of another capture.")
        draft.source = {"class": "files", "path": "changes", "dialect": "debezium", "repeated_positions": "send"}
        _take_modes(config, connector, draft)
        tables = debezium_captured.import_captured_tables(config, defined, draft)
    of_columns = _take_skipped(config, draft)
    tombstones = config.on("tombstones.on.delete", default=True)
    same = {"db": database, "name": prefix, "connector": given_name(connector)}
    debezium_columns.import_columns(config, tables, draft)
    debezium_snapshots.import_snapshots(config, tables, draft)
    chain = transforms.import_transforms(config, tables, draft, same, tombstones=tombstones)
    for table, columns in draft.keys.items():
        for column in columns:
            draft.add_action("ColumnProperties", table=table, Name=column, SurrogateKey=True)
    if not chain.flat and not tombstones:
        draft.add_action("Integrate", OnDeleteSendTombstone=False)
    if of_columns and not chain.flat:
        draft.add_action("Capture", NoTruncate=True)
    debezium_formats.import_format(config, chain, tables, draft)
    if not chain.flat:
        draft.report.differ(_ENVELOPE)
    _take_transactions(config, prefix, draft)
    _take_missing(config, connector, chain, draft)
    names = config.get("database.names").split(",")[0].strip()
    topics = Topics(tuple(filter(None, (prefix, names))), config.get("topic.delimiter", default="."))
    topics.routers = chain.routers
    debezium_delivery.import_delivery(config, topics.take(tables, draft), draft)
    debezium_records.import_records(config, topics, tables, draft, chain)
    debezium_records.import_field_names(config, tables, draft)
    for name in config.rest():
        debezium_reasons.report(name, config.values[name], draft.report, captures=captured_as is not None)
    draft.actions.sort(key=lambda action: _ORDER.index(action["action"]))
    return draft


def kept(config: Config, connector: Connector, options: Options) -> Draft:
    """Return a channel over the topics of a connector, which continues. Raises ConfigurationError."""
    prefix = config.get("topic.prefix", "database.server.name", default="debezium")
    draft = Draft(_name_of(prefix), f"a configuration of Debezium's connector for {connector.product}, which continues")
    config.get("name")
    _take_modes(config, connector, draft)
    _take_brokers(config, options, draft)
    database = config.get("database.dbname").lower()
    named = None if connector.in_databases else database
    tables = Tables(database=named)
    if options.definitions is not None or not debezium_kept.defines_tables(config):
        dialect = options.sql_dialect or connector.sql_dialect
        defined = debezium_captured.Given(options.definitions, dialect, connector.schema, named)
        tables = debezium_captured.import_captured_tables(config, defined, draft)
    names = items(config.get("database.names"))
    parts = tuple(filter(None, (prefix, *names[:1])))
    delimiter = config.get("topic.delimiter", default=".")
    topics = KeptTopics(parts, delimiter, tables, connector.in_databases)
    debezium_kept.import_kept(config, topics, draft)
    return draft


def given_name(connector: Connector) -> str:
    """Return what events call their connector."""
    return connector.product.lower().replace(" ", "")


def _take_database(config: Config, draft: Draft) -> str:
    """Have the source location called after the database, which events call source.db; return the database."""
    names = items(config.get("database.names") or config.get("database.pdb.name") or config.get("database.dbname"))
    config.get("database.dbname")
    names = names or items(config.get("database.include.list", "database.whitelist"))
    if len(names) > 1:
        draft.report.todo(
            f"a channel has one database's changes, and {names[0]} is taken: for each of the others, import again with "
            "that one alone in the list of databases"
        )
    if not names:
        return ""
    if _LOCATION.fullmatch(names[0]) and names[0] != draft.kafka_name:
        draft.source_name = names[0]
    else:
        draft.report.differ(f"source.db is {draft.source_name}, not {names[0]}, which no location can be called")
    return names[0]


def _name_of(prefix: str) -> str:
    letters = re.sub(r"[^a-z0-9_]+", "_", prefix.lower()).strip("_")
    return (letters if letters[:1].isalpha() else f"c{letters}")[:_MOST_NAME].rstrip("_")


def _take_modes(config: Config, connector: Connector, draft: Draft) -> None:
    """Set how the events' values are written, where events have no schemas."""
    config.values.setdefault("time.precision.mode", connector.times)
    modes = {ours: config.get(key).lower() for key, ours in _MODES.items()}
    given = {key: mode.upper().replace("-", "_") for key, mode in modes.items() if mode and mode not in _DEFAULTS}
    unavailable = config.get("unavailable.value.placeholder")
    if unavailable:
        given["unavailable_value"] = unavailable
    if given:
        draft.source["debezium"] = given


def _take_brokers(config: Config, options: Options, draft: Draft) -> None:
    key = "kafka.bootstrap.servers"
    given = options.brokers or config.get("producer.override.bootstrap.servers")
    found = given or config.get(f"schema.history.internal.{key}", f"database.history.{key}")
    if not found:
        draft.report.todo(
            "the brokers are the worker's (bootstrap.servers), and localhost:9092 is written: put them into "
            "Kafka_Brokers, or give --worker FILE or --brokers"
        )
    elif not given:
        draft.report.todo("the brokers are those of the schema history; if the topics are elsewhere, give --brokers")
    draft.kafka["Kafka_Brokers"] = [one.strip() for one in (found or "localhost:9092").split(",")]


def _take_transactions(config: Config, prefix: str, draft: Draft) -> None:
    """Have a topic of transactions where the connector has one."""
    if not config.on("provide.transaction.metadata", default=False):
        return
    names = (prefix, config.get("topic.transaction", default="transaction"))
    draft.kafka["Transaction_Topic"] = config.get("topic.delimiter", default=".").join(names)
    draft.report.differ(_TRANSACTIONS, "provide.transaction.metadata")


def _take_missing(config: Config, connector: Connector, chain: transforms.Chain, draft: Draft) -> None:
    """Say what is sent for values that records leave out: the connector's placeholder for text that did not change."""
    if not chain.flat:
        draft.kafka.pop("Missing_Values", None)  # an envelope has placeholders, whatever the format
        return
    if chain.is_outbox:  # inserts have all values
        return
    as_null = "Missing_Values" in draft.kafka
    if as_null:
        draft.report.differ(_AS_NULL)
    else:
        draft.report.differ(_OMITTED)
    if connector.sql_dialect in _UNAVAILABLE and (as_null or not chain.deletes):
        placeholder = config.get("unavailable.value.placeholder", default=UNAVAILABLE)
        draft.add_action("TableProperties", MissingRepresentationString=placeholder)
        deletes = "; in deletes too, where Debezium has null" if chain.deletes else ""
        draft.report.differ(f"text that a record leaves out is {placeholder}, as with Debezium{deletes}")


def _take_skipped(config: Config, draft: Draft) -> bool:
    """Note operations that are skipped; return whether truncates are."""
    skipped = [one.strip() for one in config.get("skipped.operations", default="t").split(",")]
    for one in sorted(set(skipped) & {"c", "u", "d", "r"}):
        draft.report.todo(f"skipped.operations: {one}: let the capture skip them, or such changes are sent")
    return "t" in skipped
