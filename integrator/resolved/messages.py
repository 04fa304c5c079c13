"""Resolved messages: up to where all that was committed is in the topics, so that none of it comes later (I12).

{"channel": "shop", "epoch": "3f0a…", "position": "0/1A2B3C8", "integ_seq": "000…|FFF…|FFFFFFF",
 "committed_at": "2027-01-31T12:00:00.123456Z", "sent_at": "2027-01-31T12:00:01.000000Z",
 "tables": {"orders": {"position": "0/1A2B3C8", "integ_seq": "…"},
            "notes": {"position": null, "integ_seq": null, "why": "its rows are being read"}},
 "offsets": {"shop.orders": [17, 4]}}

What is at the top holds for all tables of the channel; it stays while one of them lacks something (`why`). In an epoch
no position goes back. The key is the channel's name. `offsets`, where they are asked for, are the ends of partitions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any, NamedTuple

_OLDEST = datetime.fromtimestamp(0, timezone.utc)


class Point(NamedTuple):
    """A position in the source's log: as the source writes it, and as the greatest {hvr_integ_seq} up to it.

    server: whose log it is, where another server may take its place, whose positions begin anew.
    """

    position: str
    integ_seq: str
    server: str = ""


@dataclass(frozen=True)
class TablePoint:
    """Up to where a table is resolved; None: nothing of it is. why: what it lacks now, empty where it lacks nothing."""

    point: Point | None
    why: str = ""


@dataclass(frozen=True)
class Resolved:
    """A message. epoch: the identity of the channel's state. committed: the latest commit, None where it is not known.

    offsets: of each topic the end of each partition, the number after its last message; None where they are not asked
    for. sent: when it was.
    """

    channel: str
    epoch: str
    point: Point | None = None
    committed: datetime | None = None
    tables: Mapping[str, TablePoint] = field(default_factory=dict)
    offsets: Mapping[str, Sequence[int]] | None = None
    sent: datetime = _OLDEST

    def of_table(self, name: str) -> Point | None:
        """Return up to where a table is resolved; None where nothing of it is, or it is none of the channel's."""
        found = self.tables.get(name)
        return None if found is None else found.point

    def points_of(self, names: Sequence[str]) -> list[Point | None]:
        """Return up to where tables are resolved; without names, or where a message has no room for tables, all are.

        All: that were captured by then, and are not set aside.
        """
        return [self.of_table(name) for name in names] if names and self.tables else [self.point]

    def following(self, here: Point, committed: datetime | None, lacking: Mapping[str, str]) -> Resolved:
        """Return the message that follows this one: no position is before that of this one.

        here: up to where all tables are in the topics that lack nothing. lacking: of each table of the channel what it
        lacks, empty for nothing.
        """
        tables = {
            name: TablePoint(self.of_table(name) if why else _later(self.of_table(name), here), why)
            for name, why in lacking.items()
        }
        made = replace(self, tables=tables, offsets=None)
        if not any(lacking.values()):
            latest = max(filter(None, (self.committed, committed)), default=None)
            made = replace(made, point=_later(self.point, here), committed=latest)
        return made

    def is_after(self, here: Point) -> bool:
        """Return whether it is after a position: cycles are sent again by a state that was moved back."""
        points = (self.point, *(one.point for one in self.tables.values()))
        return any(point is not None and point.integ_seq > here.integ_seq for point in points)

    def has_more(self, than: Resolved | None) -> bool:
        """Return whether it has a position, and other ones than a message before it."""
        has_any = self.point is not None or any(one.point for one in self.tables.values())
        return has_any and (than is None or (than.point, than.tables) != (self.point, self.tables))

    def to_json(self) -> bytes:
        """Return the message as UTF-8."""
        members: dict[str, Any] = {"channel": self.channel, "epoch": self.epoch, **_of_point(self.point)}
        members |= {"committed_at": _text(self.committed), "sent_at": _text(self.sent)}
        members["tables"] = {
            name: _of_point(one.point) | ({"why": one.why} if one.why else {}) for name, one in self.tables.items()
        }
        if self.offsets is not None:
            members["offsets"] = {topic: list(ends) for topic, ends in self.offsets.items()}
        return json.dumps(members, ensure_ascii=False).encode()

    @staticmethod
    def of_json(text: bytes) -> Resolved:
        """Return the message that `to_json` wrote. Raises ValueError for another one."""
        try:
            members = json.loads(text)
            tables = {name: TablePoint(_point(one), one.get("why", "")) for name, one in members["tables"].items()}
            committed = members["committed_at"]
            return Resolved(
                channel=str(members["channel"]),
                epoch=str(members["epoch"]),
                point=_point(members),
                committed=None if committed is None else datetime.fromisoformat(committed.replace("Z", "+00:00")),
                tables=tables,
                offsets=members.get("offsets"),
                sent=datetime.fromisoformat(members["sent_at"].replace("Z", "+00:00")),
            )
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"no resolved message: {error!r}") from error


def _later(one: Point | None, other: Point) -> Point:
    return other if one is None or one.integ_seq < other.integ_seq else one


def _of_point(point: Point | None) -> dict[str, Any]:
    position, integ_seq, server = (None, None, "") if point is None else point
    return {"position": position, "integ_seq": integ_seq, **({"server": server} if server else {})}


def _point(members: Mapping[str, Any]) -> Point | None:
    if members["position"] is None:
        return None
    return Point(str(members["position"]), str(members["integ_seq"]), str(members.get("server", "")))


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
