"""A broker in memory, and librdkafka's interface to it: transactions with epochs (KIP-98), offsets of groups in them.

What a real broker does and this one does not: replicas, leaders, retention, quotas. A call is one step, or two where the
client sends its request again: the first request is then late, and arrives at any time after (KAFKA-17754).
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError

from integrator.librdkafka.rdkafka_h import Records
from tests.model.schedule import World

_AGAIN_S = 0.1
"""librdkafka's retry.backoff.ms."""
FENCED = KafkaError._FENCED
_STATE = KafkaError.INVALID_TXN_STATE


@dataclass
class Entry:
    """A record in the log: who has sent it, in which cycle, and whether read_committed shows it."""

    topic: str
    key: bytes
    value: str
    process: Any
    record: Any
    cycle: int
    attempt: Any = None
    state: str = "open"


@dataclass
class Txn:
    """The open transaction of an id."""

    entries: list[Entry] = field(default_factory=list)
    groups: set[str] = field(default_factory=set)


class Refused(Exception):
    """The broker answers with an error."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Broker:
    """One broker with one partition a topic. verifies: as brokers since Kafka 3.6 do (KIP-890, part 1)."""

    def __init__(self, *, verifies: bool) -> None:
        self.verifies = verifies
        self.log: list[Entry] = []
        self.commits: list[Entry] = []
        self.late: list[tuple[str, Callable[[], object]]] = []
        self._epochs: Counter[str] = Counter()
        self._open: dict[str, Txn] = {}
        self._last_commit: dict[str, bool | None] = {}
        self._offsets: dict[tuple[str, str], tuple[int, str]] = {}
        self._pending: dict[str, dict[tuple[str, str], tuple[int, str]]] = {}

    def init(self, tid: str) -> int:
        """Fence earlier producers of an id, and abort their transaction."""
        self._epochs[tid] += 1
        self._end(tid, commit=False)
        self._last_commit[tid] = None
        return self._epochs[tid]

    def _check(self, tid: str, epoch: int) -> None:
        if self._epochs[tid] != epoch:
            raise Refused(FENCED)

    def add(self, tid: str, epoch: int) -> None:
        """AddPartitionsToTxn: a transaction begins, or continues."""
        self._check(tid, epoch)
        self._open.setdefault(tid, Txn())

    def add_group(self, tid: str, epoch: int, group: str) -> None:
        """AddOffsetsToTxn."""
        self.add(tid, epoch)
        self._open[tid].groups.add(group)

    def produce(self, tid: str, epoch: int, entry: Entry) -> None:
        """Append a record. Raises Refused."""
        self._check(tid, epoch)
        if tid not in self._open:
            if self.verifies:
                raise Refused(_STATE)
            self.log.append(entry)  # it hangs: no end of a transaction is for it
            return
        self.log.append(entry)
        self._open[tid].entries.append(entry)

    def append(self, entry: Entry) -> None:
        """Append a record of no transaction."""
        entry.state = "committed"
        self.log.append(entry)
        self.commits.append(entry)

    def offset(self, tid: str, epoch: int, group: str, topic: str, value: tuple[int, str]) -> None:
        """TxnOffsetCommit. Raises Refused."""
        self._check(tid, epoch)
        if self.verifies and (tid not in self._open or group not in self._open[tid].groups):
            raise Refused(_STATE)
        self._pending.setdefault(tid, {})[group, topic] = value

    def end(self, tid: str, epoch: int, *, commit: bool) -> None:
        """EndTxn. The end of a transaction that has ended so already is a success."""
        self._check(tid, epoch)
        if tid not in self._open and self._last_commit.get(tid) is not commit:
            raise Refused(_STATE)
        self._end(tid, commit=commit)

    def _end(self, tid: str, *, commit: bool) -> None:
        txn, pending = self._open.pop(tid, Txn()), self._pending.pop(tid, {})
        for entry in txn.entries:
            entry.state = "committed" if commit else "aborted"
        if commit:
            self.commits += txn.entries
            self._offsets.update(pending)
        self._last_commit[tid] = commit

    def committed(self, group: str, topic: str) -> tuple[int, str] | None:
        """Return a group's offset. Raises Refused where a transaction that has another one is open."""
        if any((group, topic) in pending for pending in self._pending.values()):
            raise Refused(KafkaError.UNSTABLE_OFFSET_COMMIT)
        return self._offsets.get((group, topic))


def short(name: str) -> str:
    """Return a transactional id without the random part: ch, or ch-0."""
    return re.sub(r"-[0-9a-f]{8}-[0-9a-f-]{27}", "", name)


@dataclass
class Faults:
    """How many of each kind a schedule may have, and how likely each is where it could be, of a thousand."""

    late: int = 0
    unanswered: int = 0
    chance: int = 100


class Kafka:
    """What librdkafka's classes are replaced by, for one schedule."""

    def __init__(self, world: World, broker: Broker, faults: Faults) -> None:
        self.world, self.broker, self._faults = world, broker, faults

    def call(self, label: str, request: Callable[[], object], *, repeated: bool = False, lingers: bool = True) -> int:
        """Send a request; return the code of what failed. It may be not answered, or, if `repeated`, sent twice.

        lingers: it may come to the broker after its connection was lost.
        """
        world, faults = self.world, self._faults
        if faults.unanswered and world.choices.chance(faults.chance):
            faults.unanswered -= 1
            world.step(f"{label}; the connection is lost")
            outcome = world.choices.one(("the request, too", "the answer", *["the request is late"][:lingers]))
            world.note(f"what is lost: {outcome}")
            if outcome == "the request is late":
                self.broker.late.append((label, request))
            elif outcome == "the answer":
                with contextlib.suppress(Refused):
                    request()
            return int(KafkaError._TRANSPORT)
        if repeated and faults.late and world.choices.chance(faults.chance):
            faults.late -= 1
            self.broker.late.append((label, request))
            world.step(f"{label}; the connection is lost, and the request is sent again")
            world.clock += _AGAIN_S
        world.step(label)
        try:
            request()
        except Refused as refused:
            return refused.code
        return 0


class Client:
    """`ProducerClient`, whose calls are steps. What is produced is acknowledged at once."""

    def __init__(self, kafka: Kafka, properties: Mapping[str, str]) -> None:
        self._kafka, self.broker, self.tid = kafka, kafka.broker, properties.get("transactional.id", "")
        self.epoch, self._added, self.code, self.held_bytes = 0, False, 0, 0

    def __len__(self) -> int:
        return 0

    def _call(self, label: str, request: Callable[[], object], *, repeated: bool = False) -> str:
        self.code = self._kafka.call(f"{label} by {short(self.tid)} epoch {self.epoch}", request, repeated=repeated)
        return KafkaError(self.code).name() if self.code else ""

    def init_transactions(self, timeout_s: float) -> str:
        """Fence the earlier producers of the id."""

        def request() -> None:
            self.epoch = self.broker.init(self.tid)

        return self._call("init", request)

    def begin_transaction(self) -> str:
        """Begin a transaction, of which the broker does not know yet."""
        self._added = False
        return ""

    def hold(self, _values: object, _size: int) -> None:
        """Do nothing: values are copied."""

    def produce(self, topic: str, records: Records) -> tuple[int, str]:
        """Send messages; return how many, and why no more."""
        for at, one in enumerate(records):
            key = ctypes.string_at(int(one["key"]), int(one["key_len"]))
            value = ctypes.string_at(int(one["payload"]), int(one["len"])).decode()
            actor = self._kafka.world.now
            assert actor is not None
            record = None if topic.endswith(".resolved") else actor.record or actor.process.record
            entry = Entry(topic, key, value, actor.process, record, actor.process.cycle, actor.attempt)
            if not self.tid:
                # one that came late would be older than what was sent since: nothing fences it (docs: what is left)
                self.code = self._kafka.call(f"produce {value}", partial(self.broker.append, entry), lingers=False)
            else:
                if not self._added and self._call("add partition", lambda: self.broker.add(self.tid, self.epoch)):
                    return at, "refused"
                self._added = True
                self._call(f"produce {value}", partial(self.broker.produce, self.tid, self.epoch, entry))
            if self.code:
                return at, KafkaError(self.code).name()
        return len(records), ""

    def send_offset(self, group: str, topic: str, offset: int, metadata: str, timeout_s: float) -> str:
        """Commit an offset in the transaction."""
        broker = self.broker
        if reason := self._call("add group", lambda: broker.add_group(self.tid, self.epoch, group)):
            return reason
        self._added = True
        value = (offset, metadata)
        return self._call(
            f"offset {offset}",
            lambda: broker.offset(self.tid, self.epoch, group, topic, value),
            repeated=True,
        )

    def commit_transaction(self, timeout_s: float) -> str:
        """Commit the transaction."""
        if not self._added:
            return ""
        return self._call("commit", lambda: self.broker.end(self.tid, self.epoch, commit=True), repeated=True)

    def abort_transaction(self, timeout_s: float) -> str:
        """Abort the transaction."""
        if not self._added:
            return ""
        return self._call("abort", lambda: self.broker.end(self.tid, self.epoch, commit=False), repeated=True)

    def poll(self, timeout_s: float) -> None:
        """Do nothing: there are no callbacks."""

    def flush(self, timeout_s: float) -> int:
        """Return that nothing is on its way."""
        return 0

    def purge(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Consumer:
    """confluent-kafka's Consumer, as far as offsets of a group are read."""

    def __init__(self, kafka: Kafka, properties: Mapping[str, Any]) -> None:
        self._kafka, self._group = kafka, str(properties["group.id"])

    def committed(self, partitions: list[Any], timeout: float) -> list[Any]:
        """Return the offsets of a group with their metadata."""
        self._kafka.world.step(f"read {short(self._group)}")
        return [self._of(one.topic) for one in partitions]

    def _of(self, topic: str) -> Any:
        try:
            found = self._kafka.broker.committed(self._group, topic)
        except Refused as refused:
            error = KafkaError(refused.code)
            return SimpleNamespace(topic=topic, offset=-1001, metadata=None, error=error)
        offset, metadata = (-1001, None) if found is None else found
        return SimpleNamespace(topic=topic, offset=offset, metadata=metadata, error=None)

    def close(self) -> None:
        """Do nothing."""
