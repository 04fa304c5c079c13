"""The offsets of synced cycles, committed for a consumer group: tools show its lag, and nothing is read from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import structlog

from integrator.librdkafka.cluster import ClusterFault, cluster_of
from integrator.sources.contract import Feed
from integrator.sources.journal.digests import Beginning
from integrator.sources.kafka.ranges import stream_of


class CommittedOffsets(Feed):
    """Commits where each partition of synced cycles ends."""

    def __init__(self, journal: Path, properties: Mapping[str, str], group: str) -> None:
        self._beginning, self._properties, self._group = Beginning(journal), properties, group
        self._log = structlog.get_logger()

    def synced(self, last: int, *, ends_cycle: bool = True) -> None:  # noqa: ARG002 - of the contract
        """Commit the ends of the ranges up to number `last`. Where that fails, it is logged: progress is not there."""
        ends = self._beginning.ends(last)
        streams = {stream_of(text): end for text, end in ends.items()}
        offsets = {(stream.topic, stream.partition): end for stream, end in streams.items() if stream.topic}
        if not offsets:
            return
        try:
            cluster_of(self._properties).commit(self._group, offsets)
        except ClusterFault as fault:
            self._log.warning("offsets not committed", group=self._group, reason=fault.text)
