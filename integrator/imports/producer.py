"""Properties of Kafka's Java producer -> a Kafka location and variables of the job.

https://kafka.apache.org/documentation/#producerconfigs. What librdkafka has, under the same or another name, is set by
HVR_KAFKA_PROPERTY.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from integrator.channel.kafka_access import MECHANISMS
from integrator.channel.secret import SENSITIVE
from integrator.deliver.kafka.refused import is_known
from integrator.imports.draft import Draft
from integrator.names import foreign

_LOOKUPS = {"default": "use_all_dns_ips"}
_IAM = "AWS_MSK_IAM"
_METHODS = {mechanism: method for method, mechanism in MECHANISMS.items() if method != _IAM} | {_IAM: _IAM}
_REGION = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com")
_LEVEL = re.compile(r"compression\.(\w+)\.level")
_DIRECT = {
    "sasl.kerberos.service.name": "Kafka_Kerberos_Service",
    "sasl.oauthbearer.token.endpoint.url": "Kafka_Oauth_Token_Url",
}
_IN_FLIGHT = "max.in.flight.requests.per.connection"
_NUMBERS = ("max.request.size", "delivery.timeout.ms", _IN_FLIGHT, "batch.size", "retries")
_MOST_IN_FLIGHT = 5
_LEAST_BYTES, _MOST_BYTES, _MOST_SECONDS = 4096, 1_000_000_000, 2_147_483
_ALL = ("all", "-1")
_ACKS = "with acks=0 no message would be acknowledged, and nothing could be synced: it is acks=all"
_ONCE = "delivery: exactly_once needs acks=all and idempotence"
_RETRIES = "an idempotent producer tries again"
_MOST = f"an idempotent producer has {_MOST_IN_FLIGHT} requests in flight at most"
_ORDER = "more than one request in flight without idempotence would break the order of changes"
_REASONS = {
    "max.block.ms": "a message that cannot be sent is reported after HVR_KAFKA_MSG_DELIVERY_TIMEOUT",
    "socket.connection.setup.timeout.max.ms": "librdkafka has no largest one",
    "batch.size": "librdkafka's batches have a byte at least; linger.ms=0 sends each message at once",
    "max.request.size": f"HVR_KAFKA_MSG_MAX_BYTES is {_LEAST_BYTES:,} at least",
}
_ALREADY_SO = {
    "partitioner.class": ("", "org.apache.kafka.clients.producer.internals.DefaultPartitioner"),
    "sasl.client.callback.handler.class": ("software.amazon.msk.auth.iam.IAMClientCallbackHandler",),
}
"""Values of properties that librdkafka does not have, which say what holds here anyway."""
JKS = (
    "Java's key stores are not read: make PEM of it (keytool -importkeystore -deststoretype pkcs12, openssl pkcs12), "
    "and name the file as {}"
)


@dataclass(frozen=True)
class _Property:
    """A property: its name and value, what it is called in the report, and the beginning of secrets' names."""

    name: str
    value: str
    label: str
    prefix: str


def import_producer(given: Mapping[str, str], draft: Draft, prefix: str, label: Callable[[str], str] = str) -> None:
    """Put a producer's properties where they belong; report those that have no counterpart.

    prefix: of the names of environment variables that secrets are given in. label: what a property is called in the
    report.
    """
    pem = {store: given.get(f"ssl.{store}.type", "").upper() == "PEM" for store in ("truststore", "keystore")}
    for name, value in given.items():
        one = _Property(name, value, label(name), prefix)
        why = _impossible(one, given, draft)
        if why:
            draft.report.ignore(one.label, why)
        elif name.startswith(("ssl.truststore.", "ssl.keystore.", "ssl.key.")):
            _take_store(one, draft, pem=pem.get(name.split(".")[1], False))
        elif value not in _ALREADY_SO.get(name, ()):
            _take(one, draft)
    if "SSL" in given.get("security.protocol", "").upper() and "Stream_Public_Certificate" not in draft.kafka:
        draft.kafka["Kafka_Tls"] = True
    region = _REGION.search(",".join(draft.kafka.get("Kafka_Brokers", ())))
    if draft.kafka.get("Kafka_Authentication_Method") == _IAM and region is not None:
        draft.kafka["Kafka_Aws_Region"] = region[1]


def _impossible(one: _Property, given: Mapping[str, str], draft: Draft) -> str:
    """Return why a property cannot have its value here; nothing where it can."""
    if one.name in _NUMBERS and not one.value.lstrip("-").isdigit():
        return f"{one.value!r} is no whole number"
    once = draft.more.get("delivery") == "exactly_once"
    idempotent = once or (
        given.get("enable.idempotence", "true").lower() == "true" and given.get("acks", "all") in (*_ALL, "0")
    )
    level = _LEVEL.fullmatch(one.name)
    match one.name:
        case "acks" if once and one.value not in _ALL:
            return _ONCE
        case "acks" if one.value == "0":
            return _ACKS
        case "enable.idempotence" if once and one.value.lower() != "true":
            return _ONCE
        case "retries" if idempotent and int(one.value) < 1:
            return _RETRIES
        case "max.in.flight.requests.per.connection" if idempotent and int(one.value) > _MOST_IN_FLIGHT:
            return _MOST
        case "max.in.flight.requests.per.connection" if not idempotent and int(one.value) > 1:
            return _ORDER
        case "batch.size" if int(one.value) < 1:
            return _REASONS[one.name]
        case "max.request.size" if not _LEAST_BYTES <= int(one.value) <= _MOST_BYTES:
            return _REASONS[one.name]
        case _ if level is not None and level[1] != given.get("compression.type", "none").lower():
            return f"compression.type is not {level[1]}"
    return ""


def _take(one: _Property, draft: Draft) -> None:
    kafka, name, value = draft.kafka, one.name, one.value
    match name:
        case "bootstrap.servers":
            kafka["Kafka_Brokers"] = [broker.strip() for broker in value.split(",") if broker.strip()]
        case "compression.type":
            kafka["Kafka_Message_Compress"] = value.upper()
        case "max.request.size":
            draft.variables["HVR_KAFKA_MSG_MAX_BYTES"] = value
        case "delivery.timeout.ms":
            seconds = min(_MOST_SECONDS, max(1, -(-int(value) // 1000)))
            draft.variables["HVR_KAFKA_MSG_DELIVERY_TIMEOUT"] = str(seconds)
        case "sasl.mechanism" if value in _METHODS:
            kafka["Kafka_Authentication_Method"] = _METHODS[value]
        case "sasl.mechanism":
            draft.report.todo(f"{one.label}: {value} is not there: {', '.join(_METHODS)} are")
        case "sasl.jaas.config":
            form = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="unknown";'
            kafka["Sasl_Jaas_Config"] = draft.secret(one.label, f"{one.prefix}_JAAS", value, form)
        case "security.protocol":
            pass
        case _ if name in _DIRECT:
            kafka[_DIRECT[name]] = value
        case _ if _is_settable(name):
            given = _LOOKUPS.get(value, value) if name == "client.dns.lookup" else value
            variable = f"{one.prefix}_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"
            secret = draft.secret(one.label, variable, value) if SENSITIVE.search(name) else ""
            draft.properties.append(f"{name}={secret or given}")
        case _:
            draft.report.ignore(one.label, _REASONS.get(name) or _reason(name))


def _is_settable(name: str) -> bool:
    """Return whether HVR_KAFKA_PROPERTY takes a property."""
    known = foreign(name, "property")
    return bool(known.sets) if known is not None else is_known(name)


def _take_store(one: _Property, draft: Draft, *, pem: bool) -> None:
    """Put certificates and keys where they belong: PEM files that are there, and PEM text."""
    kafka, certificate, private = draft.kafka, "-----BEGIN CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----"
    key, value, prefix = one.label, one.value, one.prefix
    match one.name:
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
            draft.report.todo(f"{key}: {JKS.format('Stream_Public_Certificate')}")
        case "ssl.keystore.location":
            draft.report.todo(f"{key}: {JKS.format('Stream_Client_Public_Certificate and Stream_Client_Private_Key')}")
        case _:
            draft.report.ignore(key, "it is of Java's key stores, and PEM files are read")


def _take_file(properties: tuple[str, ...], path: str, draft: Draft, key: str) -> None:
    if Path(path).is_file():
        draft.kafka.update(dict.fromkeys(properties, path))
    else:
        draft.report.todo(
            f"{key}: there is no file {path} on this machine: copy it, and name it as {' and '.join(properties)}"
        )


def _reason(name: str) -> str:
    """Return why a property cannot be set, as a clause."""
    known = foreign(name, "property")
    if known is None:
        return "no counterpart is known"
    text = known.ours.removesuffix(": leave it out")
    return f"the channel has for it: {text.removeprefix('use ')}" if text.startswith("use ") else text
