"""Shards: the parts of a cycle that are sent side by side, each in a Kafka transaction of its own (I8)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

Step = tuple[int, int]
"""The number of a cycle, and 0; or of its sub-cycle, from 1. Steps follow each other as they ascend."""


@dataclass(frozen=True)
class CycleRecord:
    """What is recorded of a cycle, or a sub-cycle, at the brokers: before it is sent, and in each shard's transaction.

    It has all that decides what a shard sends, so that two tries of a cycle are the same try, or are refused.
    generation: of the state directory; cycles of another one are other cycles, and texts ascend with time. part: the
    number of the sub-cycle, 0 for the cycle itself. journal: the digest of the change files up to the last one. recipe:
    the fingerprint of the recipe. count: into how many shards it is divided. moment: when it was begun, in milliseconds
    since 1970. topic: whose partition 0 has the offset that the record is written as. widest: the most shards of any
    try of the cycle, or of what it replaces: so many ids must be fenced before the cycle is divided otherwise. claimed:
    that is being done, and no task sends meanwhile.
    """

    generation: str
    cycle: int
    part: int
    journal: str
    recipe: str
    count: int
    moment: int
    topic: str
    widest: int
    claimed: bool = False

    @property
    def step(self) -> Step:
        """Which cycle or sub-cycle it is."""
        return self.cycle, self.part

    @property
    def began(self) -> datetime:
        """When the cycle was begun."""
        return datetime.fromtimestamp(self.moment / 1000, timezone.utc)


@dataclass(frozen=True)
class Shards:
    """How the messages of a cycle, or of a slice of a refresh, are sent in transactions.

    name: what the transactional ids begin with: who takes over an id fences those who had it before. stream: which run
    of the stream: a producer that sent a shard of the step before in the same run may continue. record: of the cycle;
    None for a slice. exactly_once: a shard that was committed is not sent again. before: the step before in this run.
    """

    name: str
    stream: str = ""
    record: CycleRecord | None = None
    exactly_once: bool = False
    before: Step | None = None

    @property
    def step(self) -> Step | None:
        """The cycle or sub-cycle; None for a slice, of which there is no other."""
        return None if self.record is None else self.record.step

    def transactional_id(self, shard: int) -> str:
        """Return the transactional id of a shard, which is the consumer group of its record too."""
        return f"{self.name}-{shard}"
