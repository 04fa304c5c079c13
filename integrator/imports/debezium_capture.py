"""A Debezium connector for PostgreSQL, MySQL or MariaDB -> a location that captures its database.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-connector-properties.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from integrator import tables as definitions
from integrator.errors import ConfigurationError
from integrator.imports import connect_offsets
from integrator.imports.captured_location import address_of
from integrator.imports.connect_file import Config
from integrator.imports.debezium_captured import LISTS, Given, captured
from integrator.imports.debezium_patterns import items
from integrator.imports.debezium_tables import Tables, needs_tables
from integrator.imports.draft import Draft
from integrator.sources.capture.definitions import is_wanted, named

_TOKEN = re.compile(r"(\\\.|\[\.\]|\.(?!\*))|(\.\*)|([\w$#-]+)")
_PLUGIN = "pgoutput"
_NEVER = ("no_data", "never", "schema_only")
_ONLY = ("initial_only",)
_SAME = ("", "initial", "when_needed", "recovery", "schema_only_recovery")
_TLS = {"database.sslrootcert": "sslrootcert", "database.sslcert": "sslcert", "database.sslkey": "sslkey"}
_STORES = ("database.ssl.truststore", "database.ssl.keystore")
_AGAIN = (
    "the transaction that the connector sent last is sent again, whole: consumers see its changes twice, and no other's"
)


@dataclass(frozen=True)
class _Wanted:
    """Patterns of a location's tables."""

    tables: Sequence[str]
    exclude: Sequence[str]


def import_capture(config: Config, kind: str, offsets: Path | None, prefix: str, draft: Draft) -> None:
    """Set the source location. kind: its class. offsets: the connector's, where the channel continues there.

    Raises ConfigurationError where it cannot.
    """
    start = connect_offsets.position(offsets, prefix) if offsets is not None else None
    if start is not None and ("/" in start) != (kind == "postgres"):
        raise ConfigurationError(f"{offsets}: is the offset of a connector for another database: {start}")
    draft.source = {"class": kind, "address": _address(config, kind, draft)}
    _take_snapshot(config, start, draft)
    if kind == "postgres":
        _take_slot(config, start, draft)
    else:
        _take_log(config, start, draft)
    if start is not None:
        draft.source["start_position"] = start
        draft.report.differ(_AGAIN)
        draft.report.todo("the connector must be stopped before its offsets are taken, and not be started again")
    else:
        draft.report.todo(
            "the rows that tables have are sent again, for it is not given where the connector stopped: to continue "
            "there without them, stop it and give its offsets (--offsets FILE)"
        )
    if table := config.get("signal.data.collection"):
        draft.source["signal_table"] = table
        draft.report.todo(
            f"the signal table {table} must be one of the `tables`, and is sent as they are; of its signals "
            "execute-snapshot is followed, and others are errors in the log"
        )


def import_tables(config: Config, given: Given, draft: Draft) -> Tables:
    """Set which tables are captured; return those that are known. Raises ConfigurationError.

    Lists become patterns where these mean the same; else tables are named as their definitions have them.
    """
    lists = {key: items(config.get(key, old)) for key, old in LISTS.items()}
    wanted, tables = _wanted(lists), Tables(database=given.database)
    if given.file is None:
        if wanted is None:
            key = next(key for key in lists if lists[key])
            raise needs_tables(key, ", ".join(lists[key]))
        names = {one.rpartition(".")[2].lower() for one in wanted.tables}
        tables.may_share = not names or len(names) < len(wanted.tables) or any("*" in one for one in wanted.tables)
    else:
        found = definitions.read(str(given.file), given.sql_dialect)
        if found.problems:
            raise ConfigurationError(found.problems)
        tables = captured(found.tables, config, given, draft)
        chosen = sorted(one.full_name for one in tables.tables)
        every = (*chosen, *(one.full_name for one in tables.others))
        if wanted is None or sorted(one for one in every if is_wanted(one, wanted)) != chosen:
            wanted = _Wanted([glob.escape(one) for one in chosen], [])
        named_so = {name: one for name in chosen for one in tables.tables if one.full_name == name}
        tables.tables = named(named_so, dict.fromkeys(named_so, 0))
    if wanted.tables:
        draft.source["tables"] = wanted.tables
    if wanted.exclude:
        draft.source["exclude"] = wanted.exclude
    return tables


def _wanted(lists: Mapping[str, list[str]]) -> _Wanted | None:
    """Return the patterns that mean the same as lists; None where none do."""

    def of(kind: str) -> list[str | None]:
        schemas = [*lists[f"schema.{kind}.list"], *lists[f"database.{kind}.list"]]
        return [*map(_pattern, lists[f"table.{kind}.list"]), *(_pattern(rf"{one}\..*") for one in schemas)]

    included, excluded = of("include"), of("exclude")
    tables = [_pattern(one) for one in lists["table.include.list"]]
    if tables and len(tables) < len(included):  # a table must be in both
        schemas = {one and one.removesuffix(".*") for one in included[len(tables) :]}
        if any(one is None or one.partition(".")[0] not in schemas for one in tables):
            return None
        included = tables
    if None in (*included, *excluded):
        return None
    return _Wanted([one for one in included if one], [one for one in excluded if one])


def _pattern(regex: str) -> str | None:
    """Return the pattern that means the same as an expression for schema.table; None where there is none."""
    if not re.fullmatch(rf"(?:{_TOKEN.pattern})+", regex):
        return None
    text = _TOKEN.sub(lambda one: "." if one[1] else "*" if one[2] else one[3], regex)
    match text.partition("."):
        case (_, ".", _):
            return text
        case (alone, _, _) if alone.endswith("*"):  # over the dot, too
            return f"{alone}.*"
        case (alone, _, _) if alone.startswith("*"):
            return f"*.{alone}"
    return None


def _address(config: Config, kind: str, draft: Draft) -> str:
    """Return the address, with a reference in the place of the password."""
    keys = {"host": "database.hostname", "port": "database.port", "user": "database.user"}
    keys |= {"database": "database.dbname"} if kind == "postgres" else {}
    given = {ours: config.get(key) for ours, key in keys.items()}
    config.taken.add("database.password")
    if "database.password" in config.values:
        given["password"] = config.values["database.password"]
    secret = "database.password" if "password" in given else ""
    return address_of(kind, given, draft, secret, dict(_tls(config, kind, draft)))


def _tls(config: Config, kind: str, draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield the parameters of an address for TLS."""
    if kind == "postgres":
        if mode := config.get("database.sslmode"):
            yield "sslmode", mode
        for key, ours in _TLS.items():
            if value := config.get(key):
                yield ours, value
        return
    if mode := config.get("database.ssl.mode"):
        yield "ssl_mode", mode
    for key in _STORES:
        if config.get(key):
            draft.report.todo(
                f"{key}: a key store of Java is not read: give its certificates as PEM files, in ssl_ca, ssl_cert and "
                "ssl_key of the address"
            )


def _take_snapshot(config: Config, start: str | None, draft: Draft) -> None:
    mode = config.get("snapshot.mode").lower()
    if mode in _ONLY:
        if start is not None:
            raise ConfigurationError(f"snapshot.mode is {mode}: the connector captures no changes: leave --offsets out")
        draft.source["snapshot"] = "only"
    elif mode in _NEVER:
        draft.source["snapshot"] = "never"
    elif mode == "always":
        draft.report.differ("the rows that tables have are read once, and not at each start", f"snapshot.mode={mode}")
    elif mode not in _SAME:
        draft.report.todo(f"snapshot.mode={mode} is not there: set `snapshot` at {draft.source_name}: initial, never")


def _take_slot(config: Config, start: str | None, draft: Draft) -> None:
    """Take the slot where it is continued, the publication, and what partitions are."""
    plugin = config.get("plugin.name", default="decoderbufs")
    name = config.get("slot.name", default="debezium")
    drops = config.on("slot.drop.on.stop", default=False)
    if start is not None:
        if plugin != _PLUGIN:
            raise ConfigurationError(
                f"plugin.name is {plugin}, and only a slot of {_PLUGIN} can be continued: leave --offsets out: the "
                "channel has a slot of its own, and sends the rows that tables have"
            )
        if drops:
            raise ConfigurationError(
                "slot.drop.on.stop is true: the slot is gone once the connector stops; set it to false before that, or "
                "leave --offsets out"
            )
        draft.source["slot"] = name
    else:
        draft.report.todo(f"the connector's slot {name} keeps the server's log: drop it when the connector is gone")
    if plugin == _PLUGIN:
        draft.source["publication"] = config.get("publication.name", default="dbz_publication")
    if config.on("slot.failover", default=False):
        draft.source["failover"] = True
    if not config.on("publish.via.partition.root", default=False):
        draft.source["partitions"] = "leaf"


def _take_log(config: Config, start: str | None, draft: Draft) -> None:
    """Take the number among replicas where it is continued, and say what the log must have.

    Beside the connector the channel has a number of its own: of two with the same one, the server ends the first.
    """
    number = config.get("database.server.id")
    if start is not None:
        if number:
            draft.source["server_id"] = int(number)
        draft.report.todo(
            "binlog_row_metadata must be FULL at the server since before the connector stopped: set global "
            "binlog_row_metadata = 'FULL', wait until transactions that were open then are committed, then stop the "
            "connector and take its offsets"
        )
