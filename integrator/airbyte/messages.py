"""Messages of the protocol on standard output, one JSON object a line."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from integrator.channel.secret import Secrets
from integrator.errors import Defect, IntegratorError, Kind

_LEVELS = {"debug": "DEBUG", "info": "INFO", "warning": "WARN", "error": "ERROR", "critical": "FATAL"}
_FAILURES = {"configuration": "config_error", "columns": "config_error", "environment": "config_error"}
"""Kinds that the user of the connection mends; of others, those that may be retried are transient."""
_OPTIONS = {
    "Kafka_Brokers": "bootstrap_servers",
    "Kafka_Default_Topic": "topic_pattern",
    "Create_Topics": "create_topics",
    "Partitions": "topic_partitions",
    "Replication_Factor": "topic_replication_factor",
    "Kafka_Authentication_Method": "sasl_mechanism",
    "Kafka_Oauth_Token_Url": "sasl_oauthbearer_token_endpoint_url",
    "Sasl_Jaas_Config": "sasl_jaas_config",
    "Stream_Public_Certificate": "ssl_truststore_certificates",
    "Stream_Client_Public_Certificate": "ssl_keystore_certificate_chain",
    "Stream_Client_Private_Key": "ssl_keystore_key",
    "Kafka_Schema_Registry": "schema_registry_url",
    "Kafka_Schema_User": "schema_registry_user",
    "Kafka_Schema_Registry_Password": "schema_registry_password",
    "HVR_KAFKA_MSG_MAX_BYTES": "max_request_size",
    "HVR_KAFKA_MSG_DELIVERY_TIMEOUT": "delivery_timeout_ms",
}
"""The options from which settings of the channel are made, which errors name."""
_SETTINGS = re.compile(rf"\b({'|'.join(_OPTIONS)})\b")
_PLACE = re.compile(r"(?<!\S)\S*/spool/\d+\.stdin\.(\d+)\.jsonl:(\d+)")
"""Where a record is in a segment of the spool, whose name has the number of its first record."""
_OF_DATA = "a record was refused: its reason, with its values, is in internal_message and in the log"


class Messages:
    """Writes messages, whole lines at a time, from any thread; secrets in texts of ours are stars (I7)."""

    def __init__(self, out: BinaryIO, secrets: Secrets | None = None) -> None:
        self._out, self._secrets = out, secrets or Secrets()
        self._one = threading.Lock()

    def line(self, line: bytes) -> None:
        """Write a message that is a line already, with its end."""
        with self._one:
            self._out.write(line)
            self._out.flush()

    def _write(self, kind: str, name: str, body: Mapping[str, Any]) -> None:
        self.line(json.dumps({"type": kind, name: body}, ensure_ascii=False).encode() + b"\n")

    def _text(self, text: str) -> str:
        """Return a text without secrets, in which settings have the names of options, and records their numbers."""
        placed = _PLACE.sub(lambda found: f"record {int(found[1]) + int(found[2]) - 1} of standard input", text)
        return _SETTINGS.sub(lambda found: _OPTIONS[found[1]], self._secrets.mask(placed))

    def spec(self, specification: Mapping[str, Any]) -> None:
        """Write what the destination is and how it is configured."""
        self._write("SPEC", "spec", specification)

    def status(self, failure: str = "") -> None:
        """Write that a check succeeded, or why it failed."""
        failed = {"status": "FAILED", "message": self._text(failure)}
        self._write("CONNECTION_STATUS", "connectionStatus", failed if failure else {"status": "SUCCEEDED"})

    def log(self, level: str, text: str) -> None:
        """Write a line of the log; level: structlog's word."""
        self._write("LOG", "log", {"level": _LEVELS.get(level, "INFO"), "message": self._text(text)})

    def event(self, event: Mapping[str, Any]) -> None:
        """Write an event of structlog as a line of the log."""
        more = {name: value for name, value in event.items() if name not in ("event", "level", "timestamp")}
        text = " ".join([str(event.get("event", "")), *(f"{name}={value}" for name, value in more.items())])
        self.log(str(event.get("level", "info")), text)

    def error(self, error: IntegratorError) -> None:
        """Write why the command ends; a text with values of rows is not what users see first."""
        text, kind = self._text(str(error)), error.kind
        shown = _OF_DATA if error.has_values and not isinstance(error, Defect) else text
        body = {"message": shown, "internal_message": text, "failure_type": failure_type(kind)}
        if isinstance(error, Defect):
            body |= {"message": text.splitlines()[0], "stack_trace": text}
        trace = {"type": "ERROR", "emitted_at": round(time.time() * 1000), "error": body}
        self._write("TRACE", "trace", trace)


def failure_type(kind: Kind) -> str:
    """Return what the protocol calls a kind of error."""
    return "transient_error" if kind.retriable else _FAILURES.get(kind.name, "system_error")


@contextlib.contextmanager
def protected() -> Iterator[BinaryIO]:
    """Have standard output for messages alone: what else writes there, of any library or process, is on stderr."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(kept), "wb") as out:
            yield out
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
