"""Shards: the parts of a cycle that are sent side by side, each in a Kafka transaction of its own (I8)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CycleRecord:
    """What is committed in a shard's transaction, beside its messages: which cycle it was.

    generation: of the state directory; cycles of another one are other cycles. journal: the digest of the change files
    up to the cycle's last one. topic: whose partition 0 has the offset that the record is written as.
    """

    generation: str
    cycle: int
    journal: str
    topic: str


@dataclass(frozen=True)
class Shards:
    """How the messages of a cycle, or of a slice of a refresh, are sent in transactions.

    name: what the transactional ids begin with: who takes over an id fences those who had it before. stream, cycle: a
    producer that sent a shard of the cycle before in the same run of the stream may go on; None for a slice, of which
    there is no other. record: None where a repetition sends all messages again.
    """

    name: str
    stream: str = ""
    cycle: int | None = None
    record: CycleRecord | None = None

    def transactional_id(self, shard: int) -> str:
        """Return the transactional id of a shard, which is the consumer group of its record too."""
        return f"{self.name}-{shard}"
