"""Which cycle is sent, as the brokers have it: recorded before its first message, so that each try is the same (I8).

What decides the messages of a shard is in the record (contracts.shards.CycleRecord). A state directory may be a copy of
an earlier one, or the process of another machine may have begun the cycle: what they began is at the brokers alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from integrator.contracts.recipe import Send
from integrator.contracts.shards import CycleRecord, Shards
from integrator.deliver.kafka.cycle_records import committed
from integrator.deliver.kafka.transaction import TransactionalProducer, older_state, too_late
from integrator.errors import BegunOtherwise, EnvironmentFault


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

    def begin(self, record: CycleRecord, *, replaces: bool) -> CycleRecord:
        """Record that a cycle is begun; return the record that holds: that of its first try, if that was the same.

        replaces: the state directory was gone back or imported since, and what other generations sent does not count.
        Raises DeliveryError, ConfigurationError or EnvironmentFault.
        """
        last = self.last()
        if last is None or (last.generation == record.generation and last.cycle < record.cycle):
            self._write(record)
            return record
        if _is_same(last, record):
            return last
        if self._send.exactly_once and not replaces:
            self._check_begun(last, record)
        self._fence(last, record, written=False)
        self._write(record)
        self._fence(last, record, written=True)  # a task that took a shard over in between looked before it was written
        return record

    def _check_begun(self, last: CycleRecord, record: CycleRecord) -> None:
        if last.generation != record.generation:
            raise EnvironmentFault(
                f"cycle {record.cycle}: the brokers have cycle {last.cycle} of a newer state directory of this "
                "channel: that one was moved back, or a backup was imported into it, after this one was copied. Use "
                "the newer one; or remove shards.json from this one: then the rows after its last cycle are sent "
                "again"
            )
        if last.cycle > record.cycle or last.journal != record.journal:
            raise older_state(record.cycle, last)

    def _fence(self, last: CycleRecord, record: CycleRecord, *, written: bool) -> None:
        """Have the brokers refuse what is still sent of the last cycle.

        Raises an error where a shard of it is committed that is one of this cycle. written: the cycle is recorded.
        """
        shards = Shards(self._name)
        for shard in range(last.count):
            group = shards.transactional_id(shard)
            TransactionalProducer(self._send, group).client.close()
            if not self._send.exactly_once:
                continue
            found = committed(self._send, group, self._topics)
            if found is not None and (found.generation, found.cycle) == (record.generation, record.cycle):
                if written:
                    raise too_late(record, found)
                raise BegunOtherwise(
                    f"cycle {record.cycle} was begun with another definition of the channel, and a part of it is "
                    "committed; run that one until the cycle is synced, then change it; or remove shards.json from the "
                    "state directory: then rows of the cycle may come twice"
                )

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

    def close(self) -> None:
        """Give the id up. The next call takes it over again."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.abandon()


def _is_same(last: CycleRecord, record: CycleRecord) -> bool:
    """Return whether both are tries of one cycle: the first one's count of shards and moment hold for both."""
    return dataclasses.replace(record, count=last.count, moment=last.moment, topic=last.topic) == last
