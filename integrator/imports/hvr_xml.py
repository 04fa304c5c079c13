"""HVR 5's catalogs in XML: <hvr><table name="hvr_channel"><row><column name="chn_name">…, a row for each row of them.

An action's parameters are one text: /Name=op_val /Extra /IntegrateExpression="{hvr_op}".
"""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

from integrator.imports.hvr_definition import ALL, HvrAction, HvrColumn, HvrHub, HvrTable

_NUMBERS = re.compile(r"\d+")
_EMPTY = ("", "0")


def read(text: str) -> HvrHub:
    """Return what the rows of catalogs define. Raises ValueError for what is no XML of HVR's."""
    if "<!ENTITY" in text:
        raise ValueError("it defines entities, which HVR's do not")
    try:
        root = ET.fromstring(text)  # noqa: S314 - entities are refused, and expat fetches none
    except ET.ParseError as error:
        raise ValueError(str(error)) from None
    if root.tag != "hvr":
        raise ValueError(f"its root is <{root.tag}>, not <hvr>")
    hub = HvrHub()
    for table in root.iter("table"):
        for row in table.iter("row"):
            _take(table.get("name", ""), _values(row), hub)
    for channel in hub.channels.values():
        for one in channel.tables.values():
            one.columns.sort(key=lambda column: column.sequence)
    return hub


def _values(row: ET.Element) -> dict[str, str]:
    found = {column.get("name", ""): column for column in row.iter("column")}
    return {name: (one.text or "").strip() for name, one in found.items() if one.get("is_null") != "true"}


def _take(catalog: str, row: dict[str, str], hub: HvrHub) -> None:
    channel, table = row.get("chn_name", ALL), row.get("tbl_name", "")
    match catalog:
        case "hvr_channel":
            hub.channel(channel)
        case "hvr_table":
            hub.channel(channel).tables[table] = HvrTable(table, row.get("tbl_base_name") or table)
        case "hvr_column":
            hub.channel(channel).tables.setdefault(table, HvrTable(table, table)).columns.append(_column(row))
        case "hvr_loc_group":
            hub.channel(channel).groups.setdefault(row.get("grp_name", ""), [])
        case "hvr_loc_group_member":
            hub.channel(channel).groups.setdefault(row.get("grp_name", ""), []).append(row.get("loc_name", ""))
        case "hvr_location":
            given = {name: value for name, value in row.items() if name not in ("loc_name", "loc_class")}
            hub.locations[row.get("loc_name", "")] = {"Class": row.get("loc_class", ""), **given}
        case "hvr_action" | "hvr_config_action":
            own = row.get("loc_name", ALL)
            scope = own if own not in (ALL, "") else row.get("grp_name") or ALL
            action = HvrAction(row.get("act_name", ""), scope, table or ALL, parameters(row.get("act_parameters", "")))
            (hub.actions if channel == ALL else hub.channel(channel).actions).append(action)
        case _:
            hub.ignored.append(catalog)


def _column(row: dict[str, str]) -> HvrColumn:
    first, *others = [int(one) for one in _NUMBERS.findall(row.get("col_length", ""))] or [0]
    second = {"scale": others[0], "charlen": others[0]} if others else {}
    return HvrColumn(
        row.get("col_name", ""),
        row.get("col_datatype", ""),
        int(row.get("col_sequence") or 0),
        int(row.get("col_key") or 0),
        row.get("col_nullable", "") not in _EMPTY,
        {"prec": first, "bytelen": first, **second} if first else {},
    )


def parameters(text: str) -> dict[str, Any]:
    """Return the parameters of an action: /Name=value, /Name="value", and /Name, which is True."""
    return dict(_parameters(text))


def _parameters(text: str) -> Iterator[tuple[str, Any]]:
    words = shlex.shlex(text, posix=True, punctuation_chars=False)
    words.whitespace_split, words.commenters, words.quotes, words.escape = True, "", '"', ""
    for word in words:
        name, equals, value = word.removeprefix("/").partition("=")
        yield name, value if equals else True
