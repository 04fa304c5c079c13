"""What other products call what a channel has: one table, for error texts and for docs/reference.md.

hvr, kafka, peers, consumers, types: the names, by where they come from. near: which known name a misspelled one may be.
A new name is a line in one of the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from integrator.names import consumers, hvr, kafka, peers, types
from integrator.names.contract import IN_PROPERTY, Kind, Name
from integrator.names.near import listed, meant, nearest, plain

_OF: dict[str, Sequence[Name]] = {
    "HVR": hvr.NAMES,
    "Kafka": kafka.NAMES,
    "peers": peers.NAMES,
    "consumers": consumers.NAMES,
    "types": types.NAMES,
}
NAMES = tuple(chain.from_iterable(_OF.values()))
"""All of them; where two are written alike, the first counts."""

_BY_NAME = {(one.kind, plain(one.name)): one for one in reversed(NAMES)}


def foreign(name: object, *kinds: Kind) -> Name | None:
    """Return the entry of another product's name of one of these kinds, however it is written; None for no such."""
    return next((found for kind in kinds if (found := _BY_NAME.get((kind, plain(str(name)))))), None)


__all__ = ["IN_PROPERTY", "NAMES", "Kind", "Name", "foreign", "listed", "meant", "nearest", "plain"]
