"""Which cycle is sent, as the brokers have it: recorded before its first message, so that each try is the same (I8).

What decides the messages of a shard is in the record (contracts.shards.CycleRecord). A state directory may be a copy of
an earlier one, or the process of another machine may have begun the cycle: what they began is at the brokers alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from integrator.contracts.recipe import Send
from integrator.contracts.shards import CycleRecord, Shards, Step
from integrator.deliver.kafka.cycle_records import committed
from integrator.deliver.kafka.older_state import raise_if_newer, too_late
from integrator.deliver.kafka.transaction import TransactionalProducer
from integrator.errors import BegunOtherwise


class BegunCycles:
    """Records the cycles of one channel, in transactions of an id that whoever integrates the channel next takes over.

    The id is what those of shards begin with, and the name of the group that the record is an offset of.
    """

    def __init__(self, send: Send, name: str, topics: Sequence[str]) -> None:
        """Take the topics under which a record may be; it is written under the first."""
        self._send, self._name, self._topics = send, name, topics
        self._producer: TransactionalProducer | None = None
        self._last: CycleRecord | None = None

    def last(self) -> CycleRecord | None:
        """Return the cycle that was begun last, after all other processes of the channel were fenced.

        Raises DeliveryError.
        """
        self._taken_over()
        return self._last

    def _taken_over(self) -> TransactionalProducer:
        if self._producer is None:
            producer = TransactionalProducer(self._send, self._name)
            try:
                self._last = committed(self._send, self._name, self._topics)
            except BaseException:
                producer.client.close()
                raise
            self._producer = producer
        return self._producer

    def begin(self, record: CycleRecord, after: Step) -> CycleRecord:
        """Record that a cycle is begun; return the record that holds: that of its first try, if that was the same.

        after: the step that the state has as synced last. A later one at the brokers is this one, or another state's:
        a copy of the state may have sent sub-cycles that this one does not know.

        Raises DeliveryError or EnvironmentFault; BegunOtherwise where another definition has committed a part of it.
        """
        last = self.last()
        if last is None or (last.generation == record.generation and last.step <= after):
            self._write(record)
            return record
        if _is_same(last, record):
            return last
        if self._send.exactly_once:
            raise_if_newer(last, record)
        return self._claim(dataclasses.replace(record, widest=max(last.widest, record.widest)))

    def hold(self) -> None:
        """Have no task of the cycle that was begun last send any more, until a cycle is begun. Raises DeliveryError."""
        last = self.last()
        if last is not None:
            self._write(dataclasses.replace(last, claimed=True))
            self._fenced(last)

    def _claim(self, record: CycleRecord) -> CycleRecord:
        """Take a cycle from its earlier tries, or from what it replaces; return the record that holds.

        While the claim is recorded no task begins to send; those that had begun are fenced, one id after the other, and
        what they have committed by then is final. Where the claim is not finished, the next process claims anew. From
        before the shards are inspected until the record holds, one producer has the id, so that nobody claims between.
        """
        claim, before = dataclasses.replace(record, claimed=True), self._last
        self._write(claim)
        if self._producer is None and not self._is_still(claim, before):
            raise too_late(record, self._last)
        held = self._fenced(record) or record
        self._write(held)
        if held.recipe != record.recipe:
            raise BegunOtherwise(
                f"cycle {record.cycle} was begun with another definition of the channel, and a part of it is "
                "committed; run that one until the cycle is synced, then change it; or remove shards.json from the "
                "state directory: then rows of the cycle may come twice"
            )
        return held

    def _is_still(self, claim: CycleRecord, before: CycleRecord | None) -> bool:
        """Take the id over again, which was given up after a claim; return whether no other process has had it since.

        before: what was begun last before the claim, which may be under another topic still.
        """
        return self.last() in (claim, before) and committed(self._send, self._name, [claim.topic]) == claim

    def _fenced(self, record: CycleRecord) -> CycleRecord | None:
        """Fence the shards of all tries of a cycle; return the record by which some are committed."""
        committed_as = None
        shards = Shards(self._name)
        for shard in range(record.widest):
            group = shards.transactional_id(shard)
            TransactionalProducer(self._send, group).client.close()
            found = committed(self._send, group, self._topics) if self._send.exactly_once else None
            if found is not None and (found.generation, found.step) == (record.generation, record.step):
                committed_as = found
        return committed_as

    def _write(self, record: CycleRecord) -> None:
        """Commit the record. Raises DeliveryError."""
        try:
            producer = self._taken_over()
            producer.begin()
            producer.commit(record, self._name)
        except BaseException:
            self.close()
            raise
        self._last = record
        if producer.may_be_repeated:
            self.close()

    def close(self) -> None:
        """Give the id up. The next call takes it over again."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.abandon()


def _is_same(last: CycleRecord, record: CycleRecord) -> bool:
    """Return whether both are tries of one cycle: the first one's count of shards and moment hold for both."""
    held = {name: getattr(last, name) for name in ("count", "moment", "topic", "widest")}
    return dataclasses.replace(record, **held) == last
