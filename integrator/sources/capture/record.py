"""What a capture keeps beside its segments: of which database it is, and whose rows were read."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integrator import durable
from integrator.errors import EnvironmentFault
from integrator.sources.capture.asked import Asked
from integrator.sources.capture.ranges import Reading

FILE = "capture.json"
ANEW = (
    "to begin anew, with the rows that tables have now: integrator forget --channel FILE, and remove the channel's "
    "state directory; topics keep rows that are gone by then"
)


@dataclass(frozen=True)
class Refused:
    """Rows of a table that the database does not give: why; and when, by the clock, they are asked for again."""

    why: str
    again_at: float
    pause_s: float

    @property
    def rests(self) -> bool:
        """Whether they are not asked for now."""
        return 0 < self.again_at - time.time() <= self.pause_s  # unless the clock was set


@dataclass
class Record:
    """system: the server's identifier. database: which one of it, or whose log. slot: at PostgreSQL.

    creating: the slot, or the position to begin at, is not there for certain. confirmed: the highest position that may
    have been confirmed to the server, or below which nothing is ours. read: the tables whose rows were read, or are not
    wanted, with their oids. log: the file of MariaDB's log that
    `confirmed` is in. numbers: the oids of tables where the database gives none. followed: the position of the last
    statement that was followed. timeline: of PostgreSQL's log; 0 where it is not known. types: of MariaDB's tables the
    columns that its log has as BINARY, with their types, until the log has a statement that may change them. copied_at,
    copies: the position of the rows that were read last, and how many tables were begun to be read at it.
    sent: tables of which rows were read, if not all: a truncate is before the next ones. again: those whose rows are to
    be read again. behind: those whose topics have other rows than they, and why. shapes: what tells whether the rows of
    a table became others without a change in the log. dropped: of tables the columns that were dropped since their rows
    were read. unpublished: tables that are wanted, and whose changes PostgreSQL
    does not send, with what must be done. reading: tables of which some rows were read. asked: refreshes that have not
    ended. gtids: the transactions that were captured up to `confirmed`, where a binary log has such names. files: how
    much higher files of the log are numbered here than at the server, for positions ascend where it is another one.
    inherited: the transactions that were captured from the servers before, which its log has before `inherited_until`.
    refused: tables whose rows the database does not give.
    product: the class of the location.
    """

    system: str
    database: str
    slot: str
    creating: bool = True
    confirmed: int = 0
    read: dict[str, int] = field(default_factory=dict)
    log: str = ""
    numbers: dict[str, int] = field(default_factory=dict)
    followed: int = 0
    timeline: int = 0
    types: dict[str, dict[str, str]] = field(default_factory=dict)
    copied_at: int = 0
    copies: int = 0
    sent: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    behind: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, dict[str, Any]] = field(default_factory=dict)
    dropped: dict[str, list[str]] = field(default_factory=dict)
    unpublished: dict[str, str] = field(default_factory=dict)
    reading: dict[str, Reading] = field(default_factory=dict)
    asked: dict[str, Asked] = field(default_factory=dict)
    gtids: str = ""
    files: int = 0
    inherited: str = ""
    inherited_until: int = 0
    product: str = ""
    refused: dict[str, Refused] = field(default_factory=dict)

    def drop(self, table: str, columns: Iterable[str]) -> None:
        """Note columns that were dropped: rows that were sent have values of them."""
        self.dropped[table] = sorted({*self.dropped.get(table, ()), *columns})

    def write(self, spool: Path) -> None:
        """Make it durable, in the directory of the spool."""
        durable.replace(spool / FILE, json.dumps(self, default=vars).encode())


def read(spool: Path) -> Record | None:
    """Return what is kept; None before the first start. Raises EnvironmentFault for a file that is damaged."""
    path = spool / FILE
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_bytes())
        for name, kind in (("reading", Reading), ("asked", Asked), ("refused", Refused)):
            found[name] = {table: kind(**one) for table, one in found[name].items()}
        return Record(**found)
    except (ValueError, LookupError, TypeError) as error:
        raise EnvironmentFault(
            f"{path}: is damaged ({error!r}), and it records what was captured; restore it, or begin anew: integrator "
            "forget --channel FILE, and remove the channel's state directory"
        ) from error
