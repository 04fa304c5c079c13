"""`import hvr`: a channel from a definition of HVR: hvrdefinitionexport's JSON, or hvrcatalogexport's XML.

Locations, location groups, tables with their columns and keys, and actions have the same names here; what has no
counterpart is named, with the reason.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integrator.errors import ConfigurationError
from integrator.imports import draft as drafts
from integrator.imports import hvr_actions, hvr_json, hvr_kafka, hvr_types, hvr_xml
from integrator.imports.captured_location import AGAIN, address_of
from integrator.imports.draft import Draft, flow
from integrator.imports.hvr_actions import Places
from integrator.imports.hvr_definition import ALL, GENERAL, HvrChannel, HvrHub, HvrTable
from integrator.imports.hvr_settle import settle

KAFKA = ("kafka", "eventhub", "azure_eventhub")
"""Classes of locations that a channel sends to."""
_CAPTURES = {
    "oracle": "Debezium or GoldenGate", "postgresql": "wal2json or Debezium", "mysql": "Maxwell, Canal or Debezium",
    "mariadb": "Maxwell, Canal or Debezium", "sqlserver": "Debezium or AWS DMS", "db2": "Debezium or AWS DMS",
}  # fmt: skip
"""What captures the changes of a database, as docs/sources/index.md has it."""
_CAPTURED = {"postgresql": "postgres", "mysql": "mysql", "mariadb": "mariadb"}
"""The classes of locations that capture a database, by HVR's for it."""
_ADDRESS = {
    "host": "Database_Host", "port": "Database_Port", "user": "Database_User", "database": "Database_Name",
}  # fmt: skip
_PASSWORD = "Database_Password"  # noqa: S105 - HVR's name
_APART = ", and import each of them into a channel of its own: these may send to the same topics"
_CAPITALS = ("oracle", "db2", "db2i")


@dataclass(frozen=True)
class Options:
    """What the command was given: the names of HVR's channel and locations, where a file has several.

    reads_files: the channel reads files of another capture, where it could capture by itself.
    """

    hvr_channel: str | None
    source: str | None
    target: str | None
    brokers: str | None
    channel: Path
    reads_files: bool = False


def run(file: Path, options: Options, timezone: str) -> tuple[str, ConfigurationError | None]:
    """Write the channel and its table definitions; return what it has, and what the check finds.

    Raises ConfigurationError.
    """
    definitions = options.channel.with_name(f"{options.channel.stem}.tables.yaml")
    drafts.refuse_existing(options.channel, definitions)
    hub = read(file)
    channel = _chosen(hub, options.hvr_channel, file)
    if not channel.tables:
        raise ConfigurationError(f"{file}: channel {channel.name} has no tables: export it with its tables")
    groups = {loc: group for group, members in channel.groups.items() for loc in members}
    places = _places(hub, channel, groups, options, file)
    draft = Draft(channel.name, f"HVR's definition of channel {channel.name}")
    for name in hub.ignored:
        draft.report.ignore(name, "channels, locations, tables and actions are what is imported")
    draft.source_name, draft.kafka_name = places.source, places.kafka
    _take_source(hub.locations.get(places.source, {}), places, draft, reads_files=options.reads_files)
    draft.kafka["group"] = places.kafka_group
    hvr_kafka.import_kafka_location(places.kafka, hub.locations.get(places.kafka, {}), options.brokers, draft)
    for name in groups:
        if name not in (places.source, places.kafka):
            kind = hub.locations.get(name, {}).get("Class", "unknown class")
            draft.report.ignore(f"location {name} ({kind})", "a channel has one source and one Kafka location")
    definitions.write_text(_definitions(channel, draft), encoding="utf-8")
    entry: dict[str, Any] = {"file": definitions}
    named = {one.base_name: one.name for one in channel.tables.values() if one.name != one.base_name.lower()}
    draft.tables.append(entry | ({"names": named} if named else {}))
    for table in channel.tables.values():
        if table.group != GENERAL:
            draft.table_groups.setdefault(table.group, []).append(table.name)
    hvr_actions.import_actions(hub, channel, places, draft)
    if draft.source["class"] != "files":
        draft.source["tables"] = list(_captured_tables(channel, draft))
    settle(draft, timezone)
    return drafts.write(draft, options.channel, timezone)


def read(file: Path) -> HvrHub:
    """Return what a file defines. Raises ConfigurationError."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file}: cannot be read: {error}") from error
    try:
        if text.lstrip().startswith("<"):
            return hvr_xml.read(text)
        found = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"{file}: is no definition of HVR, neither JSON nor XML: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("changes"), list):
        raise ConfigurationError(f'{file}: is no export of hvrdefinitionexport: it has no list of "changes"')
    try:
        return hvr_json.read(found)
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{file}: a change in it is not of the form of hvrdefinitionexport: {error}") from None


def _chosen(hub: HvrHub, name: str | None, file: Path) -> HvrChannel:
    known = ", ".join(hub.channels) or "none"
    if name is None and len(hub.channels) != 1:
        raise ConfigurationError(f"{file}: defines {known} as channels; name one of them: --hvr-channel")
    if name is not None and name not in hub.channels:
        raise ConfigurationError(f"{file}: defines no channel {name!r}; it defines {known}")
    return hub.channels[name] if name is not None else next(iter(hub.channels.values()))


def _places(hub: HvrHub, channel: HvrChannel, groups: dict[str, str], options: Options, file: Path) -> Places:
    """Return the source and the Kafka location, of those in the channel's groups."""
    capturing = {action.location for action in (*hub.actions, *channel.actions) if action.kind == "Capture"}
    kafka = [name for name in groups if str(hub.locations.get(name, {}).get("Class", "")).lower() in KAFKA]
    others = [name for name in groups if name not in kafka]
    sources = [name for name in others if capturing & {name, groups[name]}] or others
    target = _one("Kafka location", kafka, options.target, "--target", file)
    source = _one("source location", sources, options.source, f"--source{_APART}", file)
    return Places(source, groups[source], target, groups[target])


def _one(what: str, found: list[str], name: str | None, option: str, file: Path) -> str:
    if name is not None and name in found:
        return name
    if name is None and len(found) == 1:
        return found[0]
    known = ", ".join(found) or "none: export the channel with its locations"
    raise ConfigurationError(f"{file}: a channel has one {what}; found {known}; name one of them: {option}")


def _take_source(given: dict[str, Any], places: Places, draft: Draft, *, reads_files: bool) -> None:
    kind = str(given.get("Class", ALL)).lower()
    if kind in _CAPTURED and not reads_files:
        _take_captured(_CAPTURED[kind], given, places, draft)
        return
    captures = _CAPTURES.get(kind, "a capture that docs/sources/index.md names")
    draft.remarks.append(f"Changes of {places.source}, in files of {captures}.")
    draft.source = {"group": places.source_group, "class": "files", "path": "changes"}
    if kind in _CAPITALS:
        draft.report.differ(
            f"columns are called as in HVR; where records have them in capitals, GoldenGate's are found all the same, "
            f"and for others write {{action: ColumnProperties, group: {places.source_group}, Name: id, BaseName: ID}}"
        )
    draft.report.todo(
        f"location {places.source} ({kind}): HVR captured from it; have {captures} write files of changes, or send "
        "lines to a socket (docs/sources/index.md)"
    )
    listed = ", ".join(name for name in given if name != "Class")
    if listed:
        draft.report.ignore(f"location {places.source}: {listed}", "another program captures the changes")


def _take_captured(kind: str, given: dict[str, Any], places: Places, draft: Draft) -> None:
    """Have the database be captured that HVR captured from."""
    found = {ours: str(given[name]) for ours, name in _ADDRESS.items() if name in given}
    secret = f"location {places.source}: {_PASSWORD}" if _PASSWORD in given else ""
    draft.source = {"group": places.source_group, "class": kind, "address": address_of(kind, found, draft, secret)}
    draft.report.todo(AGAIN.format("HVR"))
    for name in given:
        if name not in ("Class", _PASSWORD, *_ADDRESS.values()):
            draft.report.ignore(f"location {places.source}: {name}", "the capture has no such setting")


def _captured_tables(channel: HvrChannel, draft: Draft) -> Iterator[str]:
    """Yield the tables that are captured, as patterns: with their schemas, where HVR's actions name them."""
    schemas = {one.get("table", ALL): str(one["Schema"]) for one in draft.actions if "Schema" in one}
    for table in channel.tables.values():
        schema = schemas.get(table.name, schemas.get(ALL))
        yield glob.escape(f"{schema}.{table.base_name}" if schema else table.base_name)


def _definitions(channel: HvrChannel, draft: Draft) -> str:
    return "".join(
        [
            f"# Imported from HVR's definition of channel {channel.name}.\ntables:\n",
            *(line for table in channel.tables.values() for line in _table(table, draft)),
        ]
    )


def _table(table: HvrTable, draft: Draft) -> Iterator[str]:
    key = [one.name for one in sorted(table.columns, key=lambda one: one.key) if one.key]
    yield f"  - name: {flow(table.base_name)}\n"
    if key:
        yield f"    key: {flow(key)}\n"
    yield "    columns:\n"
    for column in table.columns:
        made, note = hvr_types.definition(column)
        yield f"      - {flow(made)}\n"
        if note:
            draft.report.todo(f"table {table.name}, column {column.name}: {note}")
