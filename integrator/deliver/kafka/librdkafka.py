"""librdkafka through its C interface: messages enter its queue out of Arrow's buffers, without a Python object each.

confluent-kafka's own interface takes a dict for each message: with it, handing messages over was a third of all that
Python does for them. Functions and structures: see `rdkafka_h`.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from integrator.contracts.outgoing import MessageHeaders
from integrator.contracts.report import TooLarge
from integrator.deliver.kafka import aws_iam
from integrator.deliver.kafka.rdkafka_h import (
    Asked,
    Noticed,
    Records,
    Reported,
    library,
)
from integrator.deliver.kafka.records import BESIDE_HEADERS, COPY, arguments_of
from integrator.errors import EnvironmentFault

_PRODUCER = 0
_FATAL = -150
_TOO_LARGE = 10
"""MESSAGE_TOO_LARGE: https://kafka.apache.org/protocol#protocol_error_codes."""
_TEXT_BYTES = 512
_AGAIN_S = 0.1


class Client:
    """A producer of librdkafka. It calls back in `poll` and `flush`, in the thread that calls these.

    What a call back raises is raised there: ctypes would only print it, and a message that failed would pass for
    acknowledged (I1).
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        failed: Callable[[str, TooLarge | None], None],
        noticed: Callable[[str, bool], None],
    ) -> None:
        """Make a producer; EnvironmentFault describes what is wrong with its properties.

        failed: is called with each message that was not delivered, once: why, and what it was if it is too large.
        noticed: is called with each error, and whether it is fatal.
        """
        self._library = library()
        self._failed, self._on_error = failed, noticed
        signer = aws_iam.signer_of(properties)
        asked = None if signer is None else Asked(lambda handle, _config, _opaque: self._give_token(handle, signer))
        self._callbacks = Reported(self._reported), Noticed(self._noticed), asked  # C keeps none alive
        self._topics: dict[str, int] = {}
        self._raised: BaseException | None = None
        configuration, text = self._library.rd_kafka_conf_new(), ctypes.create_string_buffer(_TEXT_BYTES)
        for name, value in aws_iam.without_own(properties).items():
            if self._library.rd_kafka_conf_set(configuration, name.encode(), value.encode(), text, len(text)):
                self._library.rd_kafka_conf_destroy(configuration)
                raise EnvironmentFault(f"the Kafka client's property {name}: {text.value.decode()}")
        self._library.rd_kafka_conf_set_dr_msg_cb(configuration, self._callbacks[0])
        self._library.rd_kafka_conf_set_error_cb(configuration, self._callbacks[1])
        if asked is not None:  # asked in a thread of librdkafka's, as calls that wait for brokers do not poll
            self._library.rd_kafka_conf_set_oauthbearer_token_refresh_cb(configuration, asked)
            self._library.rd_kafka_conf_enable_sasl_queue(configuration, 1)
        self._handle = self._library.rd_kafka_new(_PRODUCER, configuration, text, len(text))
        if not self._handle:
            self._library.rd_kafka_conf_destroy(configuration)
            raise EnvironmentFault(f"the Kafka client does not start: {text.value.decode()}")
        if asked is not None:
            reason, _ = self._reason(self._library.rd_kafka_sasl_background_callbacks_enable(self._handle))
            if reason:
                self._library.rd_kafka_destroy(self._handle)
                raise EnvironmentFault(f"the Kafka client cannot be given tokens: {reason}")

    def close(self) -> None:
        """End the client. What is on its way is lost; `failed` is not called."""
        for topic in self._topics.values():
            self._library.rd_kafka_topic_destroy(topic)
        self._topics = {}
        self._library.rd_kafka_destroy(self._handle)

    def __len__(self) -> int:
        """Return how many messages are on their way, and how many calls back are due."""
        return int(self._library.rd_kafka_outq_len(self._handle))

    def poll(self, timeout_s: float) -> None:
        """Call callbacks, those of `timeout_s` to come too."""
        self._library.rd_kafka_poll(self._handle, round(timeout_s * 1000))
        self._raise()

    def flush(self, timeout_s: float) -> int:
        """Wait until no message is on its way, or `timeout_s` is over; return how many are left."""
        self._library.rd_kafka_flush(self._handle, round(timeout_s * 1000))
        self._raise()
        return len(self)

    def purge(self) -> None:
        """Throw away what is on its way."""
        in_queue, in_flight = 1, 2
        self._library.rd_kafka_purge(self._handle, in_queue | in_flight)

    def produce(self, topic: str, partition: int, records: Records) -> tuple[int, str]:
        """Take messages, in their order; return how many, and why others were not. partition: -1 is the partitioner's.

        Their bytes are copied.
        """
        place = records.ctypes.data
        taken = self._library.rd_kafka_produce_batch(self._topic(topic), partition, COPY, place, len(records))
        if taken == len(records):
            return taken, ""
        return taken, self._named(int(records["err"][np.flatnonzero(records["err"])[0]]))

    def produce_with_headers(
        self, topic: str, partition: int, records: Records, headers: MessageHeaders
    ) -> tuple[int, str]:
        """Take messages as `produce`, and their headers: librdkafka has a call for one message with headers only."""
        arguments, kept = arguments_of(self._topic(topic), partition, records, headers)
        produce, size = self._library.rd_kafka_produceva, arguments.itemsize
        counts = (np.diff(headers.bounds) + BESIDE_HEADERS).tolist()
        address = arguments.ctypes.data
        for place, count in enumerate(counts):
            error = produce(self._handle, address, count)
            if error:
                return place, self._reason(error)[0]
            address += count * size
        del kept
        return len(counts), ""

    def init_transactions(self, timeout_s: float) -> str:
        """Fence the earlier producers of the transactional id; return why that was not possible, if so."""
        return self._called("rd_kafka_init_transactions", timeout_s)

    def begin_transaction(self) -> str:
        """Begin a transaction; return why not, if so."""
        return self._reason(self._library.rd_kafka_begin_transaction(self._handle))[0]

    def commit_transaction(self, timeout_s: float) -> str:
        """Commit the transaction; return why that was not possible, if so: it is then committed or not."""
        return self._called("rd_kafka_commit_transaction", timeout_s)

    def abort_transaction(self, timeout_s: float) -> str:
        """Abort the transaction; return why that was not possible, if so."""
        return self._called("rd_kafka_abort_transaction", timeout_s)

    def send_offset(self, group: str, topic: str, offset: int, metadata: str, timeout_s: float) -> str:
        """Commit a group's offset of the first partition of a topic in the transaction; return why not, if so."""
        library, text = self._library, metadata.encode() + b"\0"  # confluent-kafka's clients read to a zero byte
        offsets = library.rd_kafka_topic_partition_list_new(1)
        of_group = library.rd_kafka_consumer_group_metadata_new(group.encode())
        try:
            partition = library.rd_kafka_topic_partition_list_add(offsets, topic.encode(), 0).contents
            memory = library.rd_kafka_mem_malloc(None, len(text))  # which the list frees
            ctypes.memmove(memory, text, len(text))
            partition.offset, partition.metadata, partition.metadata_size = offset, memory, len(text)
            return self._called("rd_kafka_send_offsets_to_transaction", timeout_s, offsets, of_group)
        finally:
            library.rd_kafka_consumer_group_metadata_destroy(of_group)
            library.rd_kafka_topic_partition_list_destroy(offsets)

    def _called(self, name: str, timeout_s: float, *arguments: Any) -> str:
        """Call a function that takes a timeout, again after a retriable failure; return why it failed, if so."""
        deadline = time.monotonic() + timeout_s
        while True:
            left = max(deadline - time.monotonic(), 0.1)
            reason, retriable = self._reason(getattr(self._library, name)(self._handle, *arguments, round(left * 1000)))
            self.poll(0)  # hears what went wrong
            if not reason or not retriable or time.monotonic() >= deadline:
                return reason
            time.sleep(_AGAIN_S)

    def _reason(self, error: int | None) -> tuple[str, bool]:
        """Return the text of an rd_kafka_error_t, and whether the call may be repeated."""
        if not error:
            return "", False
        text: bytes = self._library.rd_kafka_error_string(error)
        retriable = bool(self._library.rd_kafka_error_is_retriable(error))
        self._library.rd_kafka_error_destroy(error)
        return text.decode(errors="replace"), retriable

    def _topic(self, name: str) -> int:
        if name not in self._topics:
            made = self._library.rd_kafka_topic_new(self._handle, name.encode(), None)
            if not made:
                raise EnvironmentFault(f"topic {name}: {self._named(self._library.rd_kafka_last_error())}")
            self._topics[name] = made
        return self._topics[name]

    def _named(self, error: int) -> str:
        message = self._library.rd_kafka_err2str(error).decode()
        return f"{message} ({self._library.rd_kafka_err2name(error).decode()})"

    def _raise(self) -> None:
        if self._raised is not None:
            raise self._raised

    def _reported(self, _handle: int, record: Any, _opaque: int) -> None:
        try:
            message = record.contents
            if message.err:
                topic = self._library.rd_kafka_topic_name(message.rkt).decode()
                large = None
                if message.err == _TOO_LARGE:
                    key = ctypes.string_at(message.key, message.key_len) if message.key else b""
                    large = TooLarge(topic, message.len + message.key_len, key.decode(errors="replace"))
                self._failed(f"{topic} [{message.partition}]: {self._named(message.err)}", large)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised where C returns to
            self._raised = error

    def _give_token(self, handle: int, signer: aws_iam.Signer) -> None:
        """Give librdkafka a token, or why there is none: it reports that as an error, and asks again later."""
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        try:
            token, end = signer()
            given = (token.encode(), end, b"", None, 0, text, len(text))
            refused = self._library.rd_kafka_oauthbearer_set_token(handle, *given)
            reason = text.value if refused else b""
        except Exception as error:  # noqa: BLE001 - in a thread of librdkafka's nobody would hear of it
            reason = str(error).encode()
        if reason:
            self._library.rd_kafka_oauthbearer_set_token_failure(handle, reason)

    def _noticed(self, handle: int, error: int, reason: bytes, _opaque: int) -> None:
        try:
            fatal = error == _FATAL
            message = reason.decode(errors="replace")
            if fatal:
                text = ctypes.create_string_buffer(_TEXT_BYTES)
                error = self._library.rd_kafka_fatal_error(handle, text, len(text))
                message = text.value.decode(errors="replace")
            self._on_error(f"{message} ({self._library.rd_kafka_err2name(error).decode()})", fatal)
        except BaseException as raised:  # noqa: BLE001 - as above: a fatal error is not to be lost
            self._raised = raised
