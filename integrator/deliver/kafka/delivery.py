"""One task's delivery: every message is acknowledged, or the Report says what failed first."""

from __future__ import annotations

import numpy as np

from integrator.contracts.fragments import FileSummary
from integrator.contracts.outgoing import RECORD_OVERHEAD, Messages
from integrator.contracts.recipe import Recipe
from integrator.contracts.report import Report
from integrator.deliver.kafka.diagnosis import with_remedy
from integrator.deliver.kafka.producer import acquire, discard
from integrator.deliver.kafka.rate_limiter import RateLimiter
from integrator.deliver.kafka.topic_batcher import Batch, TopicBatcher
from integrator.deliver.kafka.transaction import Transaction
from integrator.errors import DataError


class Delivery:
    """Sends the messages of one task, and accounts for each."""

    def __init__(self, recipe: Recipe, tasks: int = 1, transaction: Transaction | None = None) -> None:
        """Send for one of `tasks` tasks, which share the rate limit; in a transaction, if one is given."""
        self._recipe = recipe
        self._pace = RateLimiter(recipe.send.rate_limit / tasks) if recipe.send.rate_limit else None
        self._transaction = transaction
        self._producer = acquire(recipe.send.producer) if transaction is None else transaction.producer
        self._batches = TopicBatcher()
        self._bytes = 0

    def send(self, messages: Messages) -> None:
        """Send messages; they may wait for more of their topic, at the longest until `report`.

        Once one has failed no more are sent, for the cycle will be sent again. Raises DataError.
        """
        if self._producer.latch.error:
            return
        limit = self._recipe.messages.max_bytes - RECORD_OVERHEAD
        longest = int(messages.sizes.max(initial=0))
        if longest > limit:  # I5; the first pass has named the row, so this is the last check
            ends = np.cumsum([count for _, count in messages.topic_counts])
            topic = messages.topic_counts[int(np.searchsorted(ends, messages.sizes.argmax(), side="right"))][0]
            raise DataError(f"{topic}: a message of {longest} bytes is above HVR_KAFKA_MSG_MAX_BYTES")
        self._bytes += int(messages.sizes.sum())
        if self._transaction is not None:
            if self._transaction.done:
                self._producer.latch.accepted += len(messages.sizes)
                return
            self._transaction.producer.begin()
        for batch in self._batches.add(messages):
            self._send(batch)

    def _send(self, batch: Batch) -> None:
        parts = ((0, len(batch)),) if self._pace is None else self._pace.parts(len(batch))
        for start, size in parts:
            if self._producer.latch.error:
                return
            self._producer.send(batch.slice(start, size) if size < len(batch) else batch)

    def discard(self) -> None:
        """Give up the producer, and what is on its way."""
        if self._transaction is not None:
            self._transaction.discard()
        else:
            discard(self._recipe.send.producer)

    def report(self, summaries: list[FileSummary], operations: dict[str, int], newest: int | None) -> Report:
        """Send what waits, wait for the acknowledgements, and return the task's Report. Raises DataError."""
        for batch in self._batches.rest():
            self._send(batch)
        left = self._producer.flush()
        latch = self._producer.latch
        error = latch.error
        if error and latch.transport:
            error = f"{error}; the client's last message: {latch.transport}"
        if error:
            error = with_remedy(error)
            self.discard()
        elif self._transaction is not None:
            self._transaction.commit()
        return Report(
            messages=latch.accepted,
            acknowledged=latch.accepted - latch.failed - left,
            bytes=self._bytes,
            error=error,
            newest=newest,
            operations={name: count for name, count in operations.items() if count},
            summaries=tuple(summaries),
            refused=latch.refused,
            code=latch.code,
        )
