"""A client of librdkafka through its C interface: what producers and consumers have in common.

Functions and structures: see `rdkafka_h`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping

from integrator.errors import EnvironmentFault
from integrator.librdkafka import aws_iam
from integrator.librdkafka.rdkafka_h import Asked, Noticed, library

PRODUCER, CONSUMER = 0, 1
"""rd_kafka_type_t."""
TEXT_BYTES = 512
_FATAL = -150


class Client:
    """A client of librdkafka. It calls back in `poll`, in the thread that calls it.

    What a callback raises is raised there: ctypes would only print it, and an error would be lost.
    """

    def __init__(
        self,
        kind: int,
        properties: Mapping[str, str],
        noticed: Callable[[str, int], None],
        configure: Callable[[ctypes.CDLL, int], None] = lambda _library, _configuration: None,
    ) -> None:
        """Make a client of a kind; EnvironmentFault describes what is wrong with its properties.

        noticed: is called with each error, and its code if it is fatal, else 0. configure: sets what is not a property.
        """
        self.library = library()
        self._on_error = noticed
        signer = aws_iam.signer_of(properties)
        asked = None if signer is None else Asked(lambda handle, _config, _opaque: self._give_token(handle, signer))
        self._callbacks = Noticed(self._noticed), asked  # C keeps none alive
        self._topics: dict[str, int] = {}
        self.code = 0
        self._raised: BaseException | None = None
        configuration, text = self.library.rd_kafka_conf_new(), ctypes.create_string_buffer(TEXT_BYTES)
        for name, value in aws_iam.without_own(properties).items():
            if self.library.rd_kafka_conf_set(configuration, name.encode(), value.encode(), text, len(text)):
                self.library.rd_kafka_conf_destroy(configuration)
                raise EnvironmentFault(f"the Kafka client's property {name}: {text.value.decode()}")
        configure(self.library, configuration)
        self.library.rd_kafka_conf_set_error_cb(configuration, self._callbacks[0])
        if asked is not None:  # asked in a thread of librdkafka's, as calls that wait for brokers do not poll
            self.library.rd_kafka_conf_set_oauthbearer_token_refresh_cb(configuration, asked)
            self.library.rd_kafka_conf_enable_sasl_queue(configuration, 1)
        self.handle = self.library.rd_kafka_new(kind, configuration, text, len(text))
        if not self.handle:
            self.library.rd_kafka_conf_destroy(configuration)
            raise EnvironmentFault(f"the Kafka client does not start: {text.value.decode()}")
        if asked is not None:
            reason, _ = self.reason(self.library.rd_kafka_sasl_background_callbacks_enable(self.handle))
            if reason:
                self.library.rd_kafka_destroy(self.handle)
                raise EnvironmentFault(f"the Kafka client cannot be given tokens: {reason}")

    def close(self) -> None:
        """End the client. What is on its way is lost."""
        for topic in self._topics.values():
            self.library.rd_kafka_topic_destroy(topic)
        self._topics = {}
        self.library.rd_kafka_destroy(self.handle)

    def poll(self, timeout_s: float) -> None:
        """Call callbacks, those of `timeout_s` to come too."""
        self.library.rd_kafka_poll(self.handle, round(timeout_s * 1000))
        self.raise_noticed()

    def topic(self, name: str) -> int:
        """Return the handle of a topic, which is kept. Raises EnvironmentFault."""
        if name not in self._topics:
            made = self.library.rd_kafka_topic_new(self.handle, name.encode(), None)
            if not made:
                raise EnvironmentFault(f"topic {name}: {self.named(self.library.rd_kafka_last_error())}")
            self._topics[name] = made
        return self._topics[name]

    def named(self, error: int) -> str:
        """Return the text of an rd_kafka_resp_err_t, and its name."""
        message = self.library.rd_kafka_err2str(error).decode()
        return f"{message} ({self.library.rd_kafka_err2name(error).decode()})"

    def reason(self, error: int | None) -> tuple[str, bool]:
        """Return the text of an rd_kafka_error_t, which is freed, and whether the call may be repeated.

        Its code is in `code` until the next one.
        """
        if not error:
            return "", False
        self.code = int(self.library.rd_kafka_error_code(error))
        text: bytes = self.library.rd_kafka_error_string(error)
        retriable = bool(self.library.rd_kafka_error_is_retriable(error))
        self.library.rd_kafka_error_destroy(error)
        return text.decode(errors="replace"), retriable

    def raise_later(self, error: BaseException) -> None:
        """Have what a callback raised be raised where C returns to."""
        self._raised = error

    def raise_noticed(self) -> None:
        """Raise what a callback raised."""
        if self._raised is not None:
            raise self._raised

    def _give_token(self, handle: int, signer: aws_iam.Signer) -> None:
        """Give librdkafka a token, or why there is none: it reports that as an error, and asks again later."""
        text = ctypes.create_string_buffer(TEXT_BYTES)
        try:
            token, end = signer()
            given = (token.encode(), end, b"", None, 0, text, len(text))
            refused = self.library.rd_kafka_oauthbearer_set_token(handle, *given)
            reason = text.value if refused else b""
        except Exception as error:  # noqa: BLE001 - in a thread of librdkafka's nobody would hear of it
            reason = str(error).encode()
        if reason:
            self.library.rd_kafka_oauthbearer_set_token_failure(handle, reason)

    def _noticed(self, handle: int, error: int, reason: bytes, _opaque: int) -> None:
        try:
            fatal = error == _FATAL
            message = reason.decode(errors="replace")
            if fatal:
                text = ctypes.create_string_buffer(TEXT_BYTES)
                error = self.library.rd_kafka_fatal_error(handle, text, len(text))
                message = text.value.decode(errors="replace")
            self._on_error(f"{message} ({self.library.rd_kafka_err2name(error).decode()})", error * fatal)
        except BaseException as raised:  # noqa: BLE001 - as above: a fatal error is not to be lost
            self.raise_later(raised)
