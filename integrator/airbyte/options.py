"""The options of the destination: those of destination-kafka 0.1.11, and ours beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from integrator.channel.secret import Secrets
from integrator.errors import ConfigurationError, Problem, shown
from integrator.names import meant

Kind = Literal["string", "integer", "boolean"]
FORMATS = ("AIRBYTE", "JSON", "CONNECT", "CONNECT_PAYLOAD", "AVRO", "JSON_SCHEMA", "PROTOBUF")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_QUOTED = re.compile(r"""=\s*(["'])(.*?)\1""")
_JAAS = "The login module and its options, as Kafka's Java clients have them."


@dataclass(frozen=True)
class Option:
    """An option: what it is called, of which type it is, and what it does."""

    name: str
    kind: Kind
    title: str
    description: str
    example: Any = None
    default: Any = None
    enum: tuple[str, ...] = ()
    required: bool = False
    secret: bool = False

    def schema(self, order: int) -> dict[str, Any]:
        """Return the JSON schema of its values."""
        more = {"default": self.default, "enum": list(self.enum) or None, "airbyte_secret": self.secret or None}
        more["examples"] = None if self.example is None else [self.example]
        given = {name: value for name, value in more.items() if value is not None}
        return {"title": self.title, "type": self.kind, "description": self.description, "order": order, **given}


def _text(name: str, title: str, description: str, example: str | None = None, **more: Any) -> Option:
    return Option(name, "string", title, description, example, **more)


def _number(name: str, title: str, description: str, example: int) -> Option:
    return Option(name, "integer", title, description, example)


PRODUCERS: tuple[Option, ...] = (
    _text("bootstrap_servers", "Brokers", "host:port of brokers, with commas.", "h1:9092,h2:9092", required=True),
    _text(
        "topic_pattern", "Topic pattern", "The topic of each stream, with {namespace} and {stream} in it; other "
        "characters than letters, digits and _ become _.", "{namespace}.{stream}", required=True,
    ),
    _text("test_topic", "Test topic", "A topic that the check sends a message to.", "test.topic"),
    Option("sync_producer", "boolean", "Synchronous producer", "Does nothing: a STATE is given back only when all "
           "records before it are acknowledged.", default=False),
    _text("client_id", "Client id", "What the brokers' logs call this producer.", "airbyte-producer"),
    _text("acks", "Acks", "Which replicas acknowledge a message.", enum=("0", "1", "all"), default="all"),
    Option("enable_idempotence", "boolean", "Idempotence", "Retries of the producer neither repeat nor reorder "
           "messages.", default=True),
    _text("compression_type", "Compression", "Compression of batches.", default="none",
          enum=("none", "gzip", "snappy", "lz4", "zstd")),
    _number("batch_size", "Batch size", "Bytes of a batch.", 16384),
    _text("linger_ms", "Linger", "Milliseconds that a batch waits for more.", "0"),
    _number("max_in_flight_requests_per_connection", "Requests in flight", "Requests on a connection at once.", 5),
    _text("client_dns_lookup", "DNS lookup", "How host names become addresses.", default="use_all_dns_ips",
          enum=("default", "use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")),
    _text("buffer_memory", "Buffer", "Bytes of messages that wait to be sent.", "33554432"),
    _number("max_request_size", "Largest message", "Bytes of a message.", 1048576),
    _number("retries", "Retries", "How often a request is tried again.", 2147483647),
    _text("socket_connection_setup_timeout_ms", "Connection timeout", "Milliseconds to connect.", "10000"),
    _text("socket_connection_setup_timeout_max_ms", "Largest connection timeout", "Has no effect here.", "30000"),
    _text("max_block_ms", "Largest wait", "Has no effect here: see delivery_timeout_ms.", "60000"),
    _number("request_timeout_ms", "Request timeout", "Milliseconds until a request has failed.", 30000),
    _number("delivery_timeout_ms", "Delivery timeout", "Milliseconds until a message has failed.", 120000),
    _number("send_buffer_bytes", "Send buffer", "Of sockets, in bytes; -1: the system's.", 131072),
    _number("receive_buffer_bytes", "Receive buffer", "Of sockets, in bytes; -1: the system's.", 32768),
)  # fmt: skip
OWN: tuple[Option, ...] = (
    _text(
        "message_format", "Format of messages", "AIRBYTE: destination-kafka's own, with the data as it came. JSON, "
        "CONNECT (with schema), CONNECT_PAYLOAD: rows. AVRO, JSON_SCHEMA, PROTOBUF: rows with a schema registry.",
        enum=FORMATS, default="AIRBYTE",
    ),
    _text(
        "message_key", "Key of messages", "UUID: another one for each record, so that records of a row are in any "
        "partition. PRIMARY_KEY: records of a row are in one partition, in order; streams without a primary key have "
        "uuids.", enum=("UUID", "PRIMARY_KEY"), default="UUID",
    ),
    _text(
        "delivery", "Delivery", "exactly_once: in Kafka transactions, so that readers of committed messages see what "
        "is tried again within a sync once.", enum=("at_least_once", "exactly_once"), default="at_least_once",
    ),
    Option(
        "create_topics", "boolean", "Create topics", "Create topics that are not there; otherwise the brokers do, "
        "where auto.create.topics.enable is set.", default=True,
    ),
    Option("topic_partitions", "integer", "Partitions", "Of topics that are created.", default=1),
    Option("topic_replication_factor", "integer", "Replication", "Of topics that are created.", default=1),
    _text("schema_registry_url", "Schema registry", "Its URL, for AVRO, JSON_SCHEMA and PROTOBUF.", "http://r:8081"),
    _text("schema_registry_user", "User of the registry", "Its user, where it asks for one."),
    _text("schema_registry_password", "Password of the registry", "That user's password.", secret=True),
    Option("buffer_bytes", "integer", "Buffer on disk", "Bytes of records on disk that are not acknowledged yet: then "
           "the source waits.", default=256 * 1024 * 1024),
)  # fmt: skip
_LOGIN = (
    _text("sasl_mechanism", "SASL mechanism", "How we log in.", enum=_MECHANISMS, default="PLAIN", required=True),
    _text("sasl_jaas_config", "SASL JAAS configuration", _JAAS, default="", required=True, secret=True),
    _text("sasl_oauthbearer_token_endpoint_url", "Token endpoint", "URL that issues tokens, for OAUTHBEARER."),
)
_CERTIFICATES = (
    _text("ssl_truststore_certificates", "Authority", "PEM of the authority that signed the brokers' certificates."),
    _text("ssl_keystore_certificate_chain", "Certificate", "PEM of our certificate, where brokers ask for one."),
    _text("ssl_keystore_key", "Private key", "PEM of its key (PKCS#8).", secret=True),
    _text("ssl_key_password", "Password of the key", "Where the key is encrypted.", secret=True),
)
PROTOCOLS: dict[str, tuple[Option, ...]] = {
    "PLAINTEXT": (),
    "SASL_PLAINTEXT": _LOGIN,
    "SASL_SSL": (*_LOGIN, *_CERTIFICATES),
    "SSL": _CERTIFICATES,
}


def checked(found: Any, file: str) -> dict[str, Any]:
    """Return a configuration. Raises ConfigurationError with all that is wrong with it; no value of a secret is shown.

    Options of destination-kafka may be absent: each has a default. Those that are not known are for
    the import, which names each.
    """
    if not isinstance(found, Mapping):
        raise ConfigurationError([Problem(file, 0, "", "is no configuration: it is an object of options")])
    given = {name: value for name, value in found.items() if value not in (None, "")}
    problems = [Problem(file, 0, name, text) for name, text in _wrong(given)]
    if problems:
        raise ConfigurationError(problems)
    return given


def _wrong(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _wrong_values((*PRODUCERS, *OWN), given)
    protocol = given.get("protocol")
    if not isinstance(protocol, Mapping):
        yield "protocol", f"is needed: an object with security_protocol, one of {', '.join(PROTOCOLS)}"
        return
    name = str(protocol.get("security_protocol", "")).upper()
    if name not in PROTOCOLS:
        yield "protocol.security_protocol", f"{name!r} is none; {meant(name, list(PROTOCOLS))}"
        return
    of_protocol = {key: value for key, value in protocol.items() if value not in (None, "")}
    for key, text in _wrong_values(PROTOCOLS[name], of_protocol):
        yield f"protocol.{key}", text


def _wrong_values(options: tuple[Option, ...], given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for option in options:
        if option.name not in given:
            if option.required:
                yield option.name, f"is needed: {option.description}"
            continue
        value = given[option.name]
        named = "its value" if option.secret else shown(value)
        if option.kind == "boolean" and str(value).lower() not in ("true", "false"):
            yield option.name, f"{named} is neither true nor false"
        if option.kind == "integer" and not str(value).lstrip("-").isdigit():
            yield option.name, f"{named} is no whole number"
        if option.kind == "string" and not isinstance(value, str | int | float):
            yield option.name, f"{named} is no text"
        if option.enum and str(value) not in option.enum:
            yield option.name, f"{named} is none; accepted are {', '.join(option.enum)}"


def read(file: str, secrets: Secrets) -> dict[str, Any]:
    """Return the configuration in a file, alone or as Airbyte's API gives it; its secrets are hidden from now on.

    Raises ConfigurationError.
    """
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError([Problem(file, 0, "", f"cannot be read as JSON: {type(error).__name__}")]) from None
    if isinstance(found, Mapping) and isinstance(found.get("connectionConfiguration"), Mapping):
        found = found["connectionConfiguration"]
    _hide(found, secrets)
    return checked(found, file)


def _hide(found: Any, secrets: Secrets) -> None:
    """Hide the values of secret options, passwords in JAAS configurations among them."""
    every = (*PRODUCERS, *OWN, *(option for options in PROTOCOLS.values() for option in options))
    names = {option.name for option in every if option.secret}
    for name, value in found.items() if isinstance(found, Mapping) else ():
        if isinstance(value, Mapping):
            _hide(value, secrets)
        elif name in names and isinstance(value, str) and value:
            secrets.add(value)
            for _, password in _QUOTED.findall(value):
                secrets.add(password)
