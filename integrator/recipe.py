"""What the executors need to know, and nothing else: plain frozen data that pickles, prints and compares.

The driver decides, executors obey: they never read YAML and never ask Kafka what to do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from integrator.expression import Part
from integrator.schema import Column, Table, Type

DELETE, INSERT, UPDATE, BEFORE_KEY_UPDATE, BEFORE_UPDATE, TRUNCATE = range(6)
"""HVR's operation codes (https://www.hvr-software.com/docs/6/hvr-internal-objects/extra-columns-for-capture-fail-and-history-tables)."""

DELETED = (DELETE, BEFORE_KEY_UPDATE, TRUNCATE)
"""The operations after which the row, or its key, is gone: SoftDelete is 1."""

STYLES: dict[str, tuple[int, ...]] = {
    "Standard": (INSERT, UPDATE),
    "SoftDelete": (INSERT, UPDATE, BEFORE_KEY_UPDATE, DELETE, TRUNCATE),
    "TimeKey": (INSERT, BEFORE_UPDATE, UPDATE, BEFORE_KEY_UPDATE, DELETE, TRUNCATE),
}
"""Which operations a replication style sends (hvr-semantics 1.3)."""


@dataclass(frozen=True)
class Field:
    """A column of the messages: its name and type there, and where its value comes from.

    `source` is the table column to take; `expression` is evaluated instead where there is one; `soft_delete` fields are
    computed from the operation. `extra` fields are not columns of the table.
    """

    name: str
    type: Type
    nullable: bool
    source: str | None = None
    expression: tuple[Part, ...] = ()
    soft_delete: bool = False
    extra: bool = False

    def column(self, *, nullable: bool) -> Column:
        """Return the field as a column, null allowed or not."""
        return Column(self.name, self.type, nullable)


@dataclass(frozen=True)
class TableRecipe:
    """How the changes of one table become messages."""

    table: Table
    topic: str
    style: str
    key: tuple[str, ...]
    distribution_key: tuple[str, ...]
    fields: tuple[Field, ...]

    @property
    def operations(self) -> tuple[int, ...]:
        """The operations that are sent."""
        return STYLES[self.style]


@dataclass(frozen=True)
class Recipe:
    """How the changes of a channel become messages, and how these reach Kafka."""

    channel: str
    cap_loc: str
    dialect: str
    tables: tuple[TableRecipe, ...]
    default_table: str | None
    ignore_unknown_tables: bool
    decimals: Literal["BASE64", "NUMERIC"]
    times: Literal["ADAPTIVE", "CONNECT"]
    timezone: str
    max_bytes: int
    delivery_timeout_s: int
    producer: dict[str, str] = field(repr=False)  # I7: may hold passwords
