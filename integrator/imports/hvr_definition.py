"""What HVR's definitions say, in either form: channels with groups, tables and actions, and locations.

JSON is what hvrdefinitionexport of HVR 6 writes
(https://fivetran.com/docs/hvr6/command-line-interface/command-reference/hvrdefinitionimport): changes that add
locations, channels and tables. XML is what hvrcatalogexport of HVR 5 writes
(https://fivetran.com/docs/hvr5/commands/hvrcatalogexport-hvrcatalogimport): rows of HVR's catalog tables
(https://fivetran.com/docs/hvr5/internal-hvr-objects/catalog-tables) in HVR's own XML.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ALL = "*"
GENERAL = "GENERAL"
"""HVR's table group of all tables that are in no other."""


@dataclass(frozen=True)
class HvrColumn:
    """A column. key: its place in the key, 0 for none. sizes: prec, scale, charlen, bytelen, those that are given."""

    name: str
    datatype: str
    sequence: int = 0
    key: int = 0
    nullable: bool = True
    sizes: dict[str, int] = field(default_factory=dict)


@dataclass
class HvrTable:
    """A table: its name in the channel, its name in the database, its group, and its columns."""

    name: str
    base_name: str
    group: str = GENERAL
    columns: list[HvrColumn] = field(default_factory=list)


@dataclass(frozen=True)
class HvrAction:
    """An action, with where it holds; a parameter without a value is True."""

    kind: str
    location: str = ALL
    table: str = ALL
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the action as notes call it."""
        return f"{self.kind} ({self.location}, {self.table})"


@dataclass
class HvrChannel:
    """A channel. groups: the locations of each location group."""

    name: str
    groups: dict[str, list[str]] = field(default_factory=dict)
    tables: dict[str, HvrTable] = field(default_factory=dict)
    actions: list[HvrAction] = field(default_factory=list)


@dataclass
class HvrHub:
    """All that a file defines. locations: their properties, Class among them. actions: those of all channels.

    ignored: the names of what else it has.
    """

    channels: dict[str, HvrChannel] = field(default_factory=dict)
    locations: dict[str, dict[str, Any]] = field(default_factory=dict)
    actions: list[HvrAction] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)

    def channel(self, name: str) -> HvrChannel:
        """Return the channel of that name, which need not be there yet."""
        return self.channels.setdefault(name, HvrChannel(name))
