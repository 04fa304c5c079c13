"""HVR 6's definitions in JSON: {"export_header": …, "changes": [{"add_channel": …}, {"add_loc": …}, …]}."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from integrator.imports.hvr_definition import ALL, GENERAL, HvrAction, HvrColumn, HvrHub, HvrTable

_SIZES = ("prec", "scale", "charlen", "bytelen")


def read(found: dict[str, Any]) -> HvrHub:
    """Return what an export's changes define."""
    hub = HvrHub()
    for change in found.get("changes", []):
        for kind, given in change.items() if isinstance(change, dict) else ():
            _take(kind, given if isinstance(given, dict) else {}, hub)
    return hub


def _take(kind: str, given: dict[str, Any], hub: HvrHub) -> None:
    channel = str(given.get("channel", ALL))
    actions = list(_actions(given.get("actions", []), str(given.get("loc", ALL))))
    if kind in ("add_loc", "replace_loc"):
        hub.locations[str(given.get("loc", ""))] = dict(given.get("props", {}))
        hub.actions += actions
    elif kind in ("add_channel", "replace_channel", "add_tables", "replace_tables"):
        made = hub.channel(channel)
        made.tables |= {table.name: table for table in _tables(given.get("tables", {}))}
        for group, of_group in given.get("loc_groups", {}).items():
            made.groups.setdefault(group, []).extend(map(str, of_group.get("members", [])))
        made.actions += actions
    elif actions and channel == ALL:
        hub.actions += actions
    elif actions:
        hub.channel(channel).actions += actions
    else:
        hub.ignored.append(kind)


def _actions(found: Any, location: str) -> Iterator[HvrAction]:
    for one in found if isinstance(found, list) else ():
        scope = str(one.get("loc_scope", location)), str(one.get("table_scope", ALL))
        yield HvrAction(str(one.get("type", "")), *scope, dict(one.get("params", {})))


def _tables(found: dict[str, Any]) -> Iterator[HvrTable]:
    for name, table in found.items():
        columns = [_column(column, of_column) for column, of_column in table.get("cols", {}).items()]
        columns.sort(key=lambda one: one.sequence)
        yield HvrTable(name, table.get("base_name", name), table.get("table_group", GENERAL), columns)


def _column(name: str, found: dict[str, Any]) -> HvrColumn:
    attributes = found.get("attributes", {})
    sizes = {key: int(attributes[key]) for key in _SIZES if str(attributes.get(key, "")).lstrip("-").isdigit()}
    return HvrColumn(
        name,
        str(found.get("data_type", "")),
        int(found.get("sequence", 0)),
        int(found.get("key", 0)),
        bool(attributes.get("nullable", True)),
        sizes,
    )
