"""Properties of Kafka's Java producer -> a Kafka location and variables of the job.

https://kafka.apache.org/documentation/#producerconfigs. What librdkafka has under the same name is set by
HVR_KAFKA_PROPERTY.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from integrator.cli.imports.draft import Draft
from integrator.names import foreign
from integrator.plan.kafka_access import MECHANISMS

_SAME = (
    "client.id", "batch.size", "linger.ms", "max.in.flight.requests.per.connection", "client.dns.lookup",
    "buffer.memory", "socket.connection.setup.timeout.ms", "request.timeout.ms", "send.buffer.bytes",
    "receive.buffer.bytes", "reconnect.backoff.ms", "reconnect.backoff.max.ms", "retry.backoff.ms",
    "retry.backoff.max.ms", "metadata.max.age.ms", "connections.max.idle.ms", "compression.gzip.level",
    "compression.lz4.level", "compression.zstd.level", "ssl.endpoint.identification.algorithm", "ssl.cipher.suites",
)  # fmt: skip
"""Those that HVR_KAFKA_PROPERTY takes under their names."""
_LOOKUPS = {"default": "use_all_dns_ips"}
_IAM = "AWS_MSK_IAM"
_METHODS = {mechanism: method for method, mechanism in MECHANISMS.items() if method != _IAM} | {_IAM: _IAM}
_REGION = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com")
_DIRECT = {
    "sasl.kerberos.service.name": "Kafka_Kerberos_Service",
    "sasl.oauthbearer.token.endpoint.url": "Kafka_Oauth_Token_Url",
}
_NUMBERS = ("max.request.size", "delivery.timeout.ms", "max.in.flight.requests.per.connection", "batch.size")
_MOST_IN_FLIGHT = 5
_LEAST_BYTES, _MOST_BYTES, _MOST_SECONDS = 4096, 1_000_000_000, 2_147_483
_IDLE = {
    "max.block.ms": "a message that cannot be sent is reported after HVR_KAFKA_MSG_DELIVERY_TIMEOUT",
    "socket.connection.setup.timeout.max.ms": "librdkafka has no largest one",
    "enable.idempotence": "messages are sent idempotently with acks=all, so that none comes twice or out of order",
    "acks": "acks=all is the default here: with 1, a broker that is lost loses messages",
    "retries": "librdkafka tries again until HVR_KAFKA_MSG_DELIVERY_TIMEOUT is over",
    "transactional.id": "use delivery: exactly_once",
    "transaction.timeout.ms": "use delivery: exactly_once",
    "max.in.flight.requests.per.connection": "an idempotent producer has 5 at most",
    "batch.size": "librdkafka's batches have a byte at least; linger.ms=0 sends each message at once",
    "max.request.size": f"HVR_KAFKA_MSG_MAX_BYTES is {_LEAST_BYTES:,} at least",
    "sasl.mechanism": f"{', '.join(_METHODS)} are there",
}
_DEFAULTS = {
    "acks": ("all", "-1"),
    "enable.idempotence": ("true",),
    "partitioner.class": ("",),
    "sasl.client.callback.handler.class": ("software.amazon.msk.auth.iam.IAMClientCallbackHandler",),
}
"""Values that say what holds here anyway."""
JKS = (
    "Java's key stores are not read: make PEM of it (keytool -importkeystore -deststoretype pkcs12, openssl pkcs12), "
    "and name the file as {}"
)


def take(given: Mapping[str, str], draft: Draft, prefix: str, label: Callable[[str], str] = str) -> None:
    """Put a producer's properties where they belong; note those that have no counterpart.

    prefix: of the names of environment variables that secrets are given in. label: what a property is called in notes.
    """
    pem = {store: given.get(f"ssl.{store}.type", "").upper() == "PEM" for store in ("truststore", "keystore")}
    for name, value in given.items():
        if name.startswith("ssl.") and name not in _SAME:
            _take_store(name, value, draft, label(name), pem=pem.get(name.split(".")[1], False), prefix=prefix)
        elif name in _NUMBERS and not value.lstrip("-").isdigit():
            draft.idle(label(name), f"{value!r} is no whole number")
        elif value not in _DEFAULTS.get(name, ()):
            _take(name, value, draft, label(name), prefix)
    if "SSL" in given.get("security.protocol", "").upper() and "Stream_Public_Certificate" not in draft.kafka:
        draft.kafka["Kafka_Tls"] = True
    region = _REGION.search(",".join(draft.kafka.get("Kafka_Brokers", ())))
    if draft.kafka.get("Kafka_Authentication_Method") == _IAM and region is not None:
        draft.kafka["Kafka_Aws_Region"] = region[1]


def _take(name: str, value: str, draft: Draft, key: str, prefix: str) -> None:
    kafka = draft.kafka
    match name:
        case "bootstrap.servers":
            kafka["Kafka_Brokers"] = [one.strip() for one in value.split(",") if one.strip()]
        case "compression.type":
            kafka["Kafka_Message_Compress"] = value.upper()
        case "max.request.size" if _LEAST_BYTES <= int(value) <= _MOST_BYTES:
            draft.variables["HVR_KAFKA_MSG_MAX_BYTES"] = value
        case "delivery.timeout.ms":
            seconds = min(_MOST_SECONDS, max(1, -(-int(value) // 1000)))
            draft.variables["HVR_KAFKA_MSG_DELIVERY_TIMEOUT"] = str(seconds)
        case "sasl.mechanism" if value in _METHODS:
            kafka["Kafka_Authentication_Method"] = _METHODS[value]
        case "sasl.jaas.config":
            form = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="x" password="x";'
            kafka["Sasl_Jaas_Config"] = draft.secret(key, f"{prefix}_JAAS", value, form)
        case "security.protocol":
            pass
        case _ if name in _DIRECT:
            kafka[_DIRECT[name]] = value
        case "max.in.flight.requests.per.connection" if int(value) > _MOST_IN_FLIGHT:
            draft.idle(key, _IDLE[name])
        case "batch.size" if int(value) < 1:
            draft.idle(key, _IDLE[name])
        case _ if name in _SAME:
            draft.properties.append(f"{name}={_LOOKUPS.get(value, value) if name == 'client.dns.lookup' else value}")
        case _:
            draft.idle(key, _IDLE.get(name) or _reason(name))


def _take_store(name: str, value: str, draft: Draft, key: str, *, pem: bool, prefix: str) -> None:
    """Put certificates and keys where they belong: PEM files that are there, and PEM text."""
    kafka, certificate, private = draft.kafka, "-----BEGIN CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----"
    match name:
        case "ssl.truststore.type" | "ssl.keystore.type":
            pass
        case "ssl.truststore.location" if pem:
            _take_file(("Stream_Public_Certificate",), value, draft, key)
        case "ssl.keystore.location" if pem:
            _take_file(("Stream_Client_Public_Certificate", "Stream_Client_Private_Key"), value, draft, key)
        case "ssl.truststore.certificates":
            kafka["Stream_Public_Certificate"] = draft.secret(key, f"{prefix}_CA", value, certificate)
        case "ssl.keystore.certificate.chain":
            kafka["Stream_Client_Public_Certificate"] = draft.secret(key, f"{prefix}_CERTIFICATE", value, certificate)
        case "ssl.keystore.key":
            kafka["Stream_Client_Private_Key"] = draft.secret(key, f"{prefix}_KEY", value, private)
        case "ssl.key.password" if "Stream_Client_Private_Key" in kafka:
            kafka["Stream_Client_Private_Key_Password"] = draft.secret(key, f"{prefix}_KEY_PASSWORD", value)
        case "ssl.truststore.location":
            draft.idle(key, JKS.format("Stream_Public_Certificate"))
        case "ssl.keystore.location":
            draft.idle(key, JKS.format("Stream_Client_Public_Certificate and Stream_Client_Private_Key"))
        case _:
            draft.idle(key, _reason(name))


def _take_file(properties: tuple[str, ...], path: str, draft: Draft, key: str) -> None:
    if Path(path).is_file():
        draft.kafka.update(dict.fromkeys(properties, path))
    else:
        draft.idle(key, f"there is no file {path} on this machine; copy it, and name it as {' and '.join(properties)}")


def _reason(name: str) -> str:
    """Return why a property cannot be set, and what is set in its place."""
    known = foreign(name, "property")
    return known.ours if known is not None and not known.sets else "no counterpart is known"
