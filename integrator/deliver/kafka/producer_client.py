"""librdkafka through its C interface: messages enter its queue out of Arrow's buffers, without a Python object each.

confluent-kafka's own interface takes a dict for each message: with it, handing messages over was a third of all that
Python does for them. Functions and structures: see `rdkafka_h`.
"""

from __future__ import annotations

import ctypes
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from confluent_kafka import KafkaError

from integrator.contracts.outgoing import MessageHeaders
from integrator.contracts.report import RefusedMessage
from integrator.deliver.kafka.permanent import PERMANENT
from integrator.deliver.kafka.records import BESIDE_HEADERS, OWN_PARTITION, arguments_of
from integrator.engine.arrays import Ints
from integrator.engine.calls import call_each
from integrator.librdkafka.client import PRODUCER, Client
from integrator.librdkafka.rdkafka_h import Records, Reported, library

_AGAIN_S, _METADATA_S = 0.1, 30.0
_GRACE_S = 5.0
"""How long after its time a call may return."""
_STUCK: list[ProducerClient] = []
"""Clients in whose calls threads wait for ever. They cannot be ended, and what C may call is kept."""
_TIMED_OUT = KafkaError._MSG_TIMED_OUT  # noqa: SLF001
_PURGED = frozenset((KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT))  # noqa: SLF001
_ANY = -1
"""RD_KAFKA_PARTITION_UA: the partitioner's choice."""


class ProducerClient(Client):
    """A producer of librdkafka. It calls back in `poll` and `flush`, in the thread that calls these.

    What a callback raises is raised there: a message that failed would else pass for acknowledged (I1).
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        failed: Callable[[str, int, RefusedMessage | None], None],
        noticed: Callable[[str, int], None],
    ) -> None:
        """Make a producer; EnvironmentFault describes what is wrong with its properties.

        failed: is called with each message that was not delivered, once: why, librdkafka's code for that, and what the
        message was if it would be refused again.
        noticed: is called with each error, and its code if it is fatal, else 0.
        """
        self._failed, self._callback = failed, Reported(self._reported)  # C does not keep it alive
        self._is_stuck = False
        self._held: list[object] = []
        self.held_bytes = 0
        self._is_transactional, self._known = "transactional.id" in properties, set[str]()
        self._produce = ctypes.cast(library().rd_kafka_produceva, ctypes.c_void_p).value or 0
        super().__init__(
            PRODUCER,
            properties,
            noticed,
            lambda library, configuration: library.rd_kafka_conf_set_dr_msg_cb(configuration, self._callback),
        )

    def __len__(self) -> int:
        """Return how many messages are on their way, and how many calls back are due."""
        return int(self.library.rd_kafka_outq_len(self.handle))

    def hold(self, values: object, size: int) -> None:
        """Keep the values of messages that are produced next, and their size, at least until none is on its way."""
        if not len(self):
            self._held, self.held_bytes = [], 0
        self._held.append(values)
        self.held_bytes += size

    def flush(self, timeout_s: float) -> int:
        """Wait until no message is on its way, or `timeout_s` is over; return how many are left."""
        self.library.rd_kafka_flush(self.handle, round(timeout_s * 1000))
        self.raise_noticed()
        return len(self)

    def close(self) -> None:
        """End the client. What is on its way is lost."""
        if self._is_stuck:
            _STUCK.append(self)
        else:
            super().close()

    def purge(self) -> None:
        """Throw away what is on its way; each message is reported as one whose time is over.

        Of each partition no message is sent after one that was not, though the brokers may still take what they have.
        """
        in_queue, in_flight = 1, 2
        self.library.rd_kafka_purge(self.handle, in_queue | in_flight)

    def produce(self, topic: str, records: Records) -> tuple[int, str]:
        """Take messages, in their order; return how many, and why others were not: `code`.

        Their values are not copied: they must live until nothing is on its way, see `hold`.
        """
        if self._is_transactional and topic not in self._known and (records["partition"] != _ANY).any():
            self.code = self._know(topic)
            if self.code:
                return 0, self.named(self.code)
        place = records.ctypes.data
        taken = self.library.rd_kafka_produce_batch(self.topic(topic), _ANY, OWN_PARTITION, place, len(records))
        if taken == len(records):
            return taken, ""
        self.code = int(records["err"][np.flatnonzero(records["err"])[0]])
        return taken, self.named(self.code)

    def _know(self, topic: str) -> int:
        """Have the client know the partitions of a topic; return librdkafka's code where it does not.

        Of a topic that it does not know yet, rd_kafka_produce_batch adds partition -1 to the transaction in the place
        of the one that a message names, and the transaction cannot be committed (librdkafka 2.16).
        """
        found = ctypes.c_void_p()
        place = ctypes.byref(found)
        code = self.library.rd_kafka_metadata(self.handle, 0, self.topic(topic), place, round(_METADATA_S * 1000))
        if not code:
            self.library.rd_kafka_metadata_destroy(found)
            self._known.add(topic)
        return int(code)

    def produce_each(
        self, topic: str, records: Records, timestamps: Ints | None, headers: MessageHeaders
    ) -> tuple[int, str]:
        """Take messages as `produce`, with timestamps and headers: librdkafka has these in its call for one message.

        timestamps: in milliseconds since 1970, 0 is now; None: now is that of all.
        """
        arguments, kept = arguments_of(self.topic(topic), records, timestamps, headers)
        counts, error = np.diff(headers.bounds) + BESIDE_HEADERS, np.zeros(1, np.int64)
        place, size = arguments.ctypes.data, arguments.itemsize
        taken = call_each(self._produce, self.handle, place, size, counts, error)
        del kept
        return taken, self.reason(int(error[0]))[0]

    def init_transactions(self, timeout_s: float) -> str:
        """Fence the earlier producers of the transactional id; return why that was not possible, if so."""
        return self._called("rd_kafka_init_transactions", timeout_s)

    def begin_transaction(self) -> str:
        """Begin a transaction; return why not, if so."""
        return self.reason(self.library.rd_kafka_begin_transaction(self.handle))[0]

    def commit_transaction(self, timeout_s: float) -> str:
        """Commit the transaction; return why that was not possible, if so: it is then committed or not."""
        return self._called("rd_kafka_commit_transaction", timeout_s)

    def abort_transaction(self, timeout_s: float) -> str:
        """Abort the transaction; return why that was not possible, if so."""
        return self._called("rd_kafka_abort_transaction", timeout_s)

    def send_offset(self, group: str, topic: str, offset: int, metadata: str, timeout_s: float) -> str:
        """Commit a group's offset of the first partition of a topic in the transaction; return why not, if so."""
        library, text = self.library, metadata.encode() + b"\0"  # confluent-kafka's clients read to a zero byte
        offsets = library.rd_kafka_topic_partition_list_new(1)
        of_group = library.rd_kafka_consumer_group_metadata_new(group.encode())
        try:
            partition = library.rd_kafka_topic_partition_list_add(offsets, topic.encode(), 0).contents
            memory = library.rd_kafka_mem_malloc(None, len(text))  # which the list frees
            ctypes.memmove(memory, text, len(text))
            partition.offset, partition.metadata, partition.metadata_size = offset, memory, len(text)
            return self._called("rd_kafka_send_offsets_to_transaction", timeout_s, offsets, of_group)
        finally:
            if not self._is_stuck:
                library.rd_kafka_consumer_group_metadata_destroy(of_group)
                library.rd_kafka_topic_partition_list_destroy(offsets)

    def _called(self, name: str, timeout_s: float, *arguments: Any) -> str:
        """Call a function that takes a timeout, again after a retriable failure; return why it failed, if so."""
        deadline = time.monotonic() + timeout_s
        while True:
            left = max(deadline - time.monotonic(), 0.1)
            returned = self._waited(name, left, arguments)
            if not returned:
                return f"{name} does not return: a broker went while it waited (librdkafka#5456, #5511)"
            reason, retriable = self.reason(returned[0])
            self.poll(0)  # hears what went wrong
            if not reason or not retriable or time.monotonic() >= deadline:
                return reason
            time.sleep(_AGAIN_S)

    def _waited(self, name: str, timeout_s: float, arguments: Sequence[Any]) -> list[Any]:
        """Return what a call returns, if it does so soon after its time: it may wait for ever, whatever its timeout.

        The client is lost then, and the next producer of its transactional id fences it.
        """
        found: list[Any] = []
        if self._is_stuck:
            return found
        function = getattr(self.library, name)
        called = threading.Thread(
            target=lambda: found.append(function(self.handle, *arguments, round(timeout_s * 1000))), daemon=True
        )
        called.start()
        called.join(timeout_s + _GRACE_S)
        self._is_stuck = called.is_alive()
        return found

    def _reported(self, _handle: int, record: Any, _opaque: int) -> None:
        try:
            message = record.contents
            if message.err:
                error = _TIMED_OUT if message.err in _PURGED else message.err
                topic = self.library.rd_kafka_topic_name(message.rkt).decode()
                refused = None
                if error in PERMANENT:
                    key = ctypes.string_at(message.key, message.key_len) if message.key else b""
                    value = ctypes.string_at(message.payload, message.len) if message.payload else b""
                    refused = RefusedMessage(
                        code=error,
                        reason=self.named(error),
                        topic=topic,
                        bytes=len(value) + len(key),
                        key=key.decode(errors="replace"),
                        digest=zlib.crc32(value),
                    )
                self._failed(f"{topic} [{message.partition}]: {self.named(error)}", error, refused)
        except BaseException as raised:  # noqa: BLE001 - whatever it is, it is raised where C returns to
            self.raise_later(raised)
