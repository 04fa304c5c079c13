"""HVR_KAFKA_PROPERTY -> librdkafka's properties: its names, and those of Java's producer and of other products.

librdkafka's: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md. Java's:
https://kafka.apache.org/documentation/#producerconfigs.
"""

from __future__ import annotations

from collections.abc import Callable

from integrator.channel import paths
from integrator.channel.problems import Report

_CODE = "it loads native code into the integrator's processes, which a channel must not do"
_JAVA_CODE = "it names a class of Java's, and librdkafka has none"
_FORMATS = "the Kafka location's format makes keys and values (docs/formats.md)"
_PEM = "use {}, a PEM file or its text (of a JKS file: keytool -importkeystore -deststoretype pkcs12, openssl pkcs12)"
_AUTHORITY = _PEM.format("Stream_Public_Certificate")
_CERTIFICATE = _PEM.format("Stream_Client_Public_Certificate")
_KEY = _PEM.format("Stream_Client_Private_Key")
_TIMEOUT = "use HVR_KAFKA_MSG_DELIVERY_TIMEOUT"
_TLS = "OpenSSL chooses it; ssl.cipher.suites and ssl.sigalgs.list limit it"

RESERVED = {
    "bootstrap.servers": "use Kafka_Brokers",
    "metadata.broker.list": "use Kafka_Brokers",
    "compression.type": "use Kafka_Message_Compress",
    "compression.codec": "use Kafka_Message_Compress",
    "message.max.bytes": "use HVR_KAFKA_MSG_MAX_BYTES",
    "message.timeout.ms": _TIMEOUT,
    "delivery.timeout.ms": _TIMEOUT,
    "delivery.report.only.error": "the counting of acknowledgements rests on it",
    "partitioner": "use Kafka_Partitioner",
    "transactional.id": "use delivery: exactly_once",
    "plugin.library.paths": _CODE,
    "ssl.engine.location": _CODE,
    # Java's producer
    "max.request.size": "use HVR_KAFKA_MSG_MAX_BYTES",
    "max.block.ms": _TIMEOUT,
    "key.serializer": _FORMATS,
    "value.serializer": _FORMATS,
    "key.converter": _FORMATS,
    "value.converter": _FORMATS,
    "partitioner.class": "use Kafka_Partitioner",
    "partitioner.ignore.keys": "use Bundle_Partition",
    "partitioner.adaptive.partitioning.enable": "sticky.partitioning.linger.ms is librdkafka's",
    "partitioner.availability.timeout.ms": "sticky.partitioning.linger.ms is librdkafka's",
    "interceptor.classes": _JAVA_CODE,
    "metric.reporters": "the integrator's own are at its HTTP endpoint (docs/operation.md)",
    "metrics.num.samples": "the integrator's own are at its HTTP endpoint (docs/operation.md)",
    "metrics.recording.level": "the integrator's own are at its HTTP endpoint (docs/operation.md)",
    "metrics.sample.window.ms": "the integrator's own are at its HTTP endpoint (docs/operation.md)",
    "auto.include.jmx.reporter": "the integrator's own are at its HTTP endpoint (docs/operation.md)",
    "metadata.max.idle.ms": "topic.metadata.refresh.interval.ms is librdkafka's",
    "socket.connection.setup.timeout.max.ms": "socket.connection.setup.timeout.ms is all that librdkafka has",
    "security.providers": _JAVA_CODE,
    "ssl.truststore.location": _AUTHORITY,
    "ssl.truststore.password": _AUTHORITY,
    "ssl.truststore.type": _AUTHORITY,
    "ssl.truststore.certificates": "use Stream_Public_Certificate, which takes the PEM text too",
    "ssl.keystore.type": _CERTIFICATE,
    "ssl.keystore.certificate.chain": "use Stream_Client_Public_Certificate, which takes the PEM text too",
    "ssl.keystore.key": "use Stream_Client_Private_Key, which takes the PEM text too",
    "ssl.protocol": _TLS,
    "ssl.enabled.protocols": _TLS,
    "ssl.provider": _JAVA_CODE,
    "ssl.trustmanager.algorithm": _JAVA_CODE,
    "ssl.keymanager.algorithm": _JAVA_CODE,
    "ssl.secure.random.implementation": _JAVA_CODE,
    "ssl.engine.factory.class": _JAVA_CODE,
    "sasl.jaas.config": "use Sasl_Jaas_Config of the Kafka location",
    "sasl.login.class": _JAVA_CODE,
    "sasl.login.callback.handler.class": "use Kafka_Authentication_Method OAUTHBEARER with Kafka_Oauth_Token_Url",
    "sasl.client.callback.handler.class": _JAVA_CODE,
    "sasl.kerberos.ticket.renew.window.factor": "sasl.kerberos.min.time.before.relogin is librdkafka's",
    "sasl.kerberos.ticket.renew.jitter": "sasl.kerberos.min.time.before.relogin is librdkafka's",
    # Conduit's, Airbyte's and Kafka Connect's
    "topic.pattern": "use Kafka_Default_Topic",
    "sync.producer": "each cycle waits for its acknowledgements; leave it out",
    "servers": "use Kafka_Brokers",
    "tls.enabled": "use Stream_Public_Certificate or Kafka_Tls",
    "tls.insecureSkipVerify": "enable.ssl.certificate.verification=false is librdkafka's",
    "saslMechanism": "use Kafka_Authentication_Method",
    "saslUsername": "use Stream_User",
    "saslPassword": "use Stream_Password",
    "deliveryTimeout": _TIMEOUT,
}
"""Properties that HVR_KAFKA_PROPERTY may not set, and what to use in their place."""


def _kilobytes(value: str) -> str:
    return str(-(-int(value) // 1024))


def _socket(value: str) -> str:
    return "0" if int(value) == -1 else str(int(value))


def _algorithm(value: str) -> str:
    return value or "none"


TRANSLATED: dict[str, tuple[str, Callable[[str], str]]] = {
    "buffer.memory": ("queue.buffering.max.kbytes", _kilobytes),
    "send.buffer.bytes": ("socket.send.buffer.bytes", _socket),
    "receive.buffer.bytes": ("socket.receive.buffer.bytes", _socket),
    "ssl.endpoint.identification.algorithm": ("ssl.endpoint.identification.algorithm", _algorithm),
    "compression.gzip.level": ("compression.level", str),
    "compression.lz4.level": ("compression.level", str),
    "compression.zstd.level": ("compression.level", str),
    "clientID": ("client.id", str),
    "batchBytes": ("batch.size", str),
}
"""Names of others that mean what a property of librdkafka does: that property, and its value of theirs."""
FILES = frozenset(
    {
        "https.ca.location",
        "sasl.kerberos.keytab",
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.jwt.template.file",
        "sasl.oauthbearer.assertion.private.key.file",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.crl.location",
        "ssl.key.location",
        "ssl.keystore.location",
    }
)
"""Properties that name a file, or a directory."""
_SEARCHED = "probe"
"""A place of certificates that librdkafka is to find by itself."""


def extra_properties(text: str, report: Report, directory: str) -> dict[str, str]:
    """Return librdkafka's properties of HVR_KAFKA_PROPERTY's `text`; problems are reported of that variable.

    directory: of the channel's file, beside which the files are that properties name.
    """
    extra: dict[str, str] = {}
    for entry in filter(None, map(str.strip, text.split(";"))):
        given, equals, value = entry.partition("=")
        name = given.strip()
        known = name.replace("_", ".")  # as Airbyte and Python's clients write it
        if not equals:
            report("HVR_KAFKA_PROPERTY", "holds an entry that is no property; write name=value;name=value")
        elif known in RESERVED:
            report("HVR_KAFKA_PROPERTY", f"{name} cannot be set here: {RESERVED[known]}")
        elif known in ("acks", "request.required.acks") and value.strip() in ("0", "none"):
            report("HVR_KAFKA_PROPERTY", "acks=0 acknowledges nothing, so nothing could be synced; use 1 or all")
        else:
            ours, convert = TRANSLATED.get(known, (known, str))
            try:
                converted = convert(value.strip()) if known in TRANSLATED else value
            except ValueError:
                report("HVR_KAFKA_PROPERTY", f"{name}={value} is no whole number")
                continue
            if ours in extra:
                report("HVR_KAFKA_PROPERTY", f"{name} says {ours}, which stands there already; leave one of them out")
            if ours in FILES and (file := converted.strip()) != _SEARCHED:
                converted = paths.resolved(file, directory)
                if text := paths.elsewhere(file, converted):
                    report("HVR_KAFKA_PROPERTY", f"{name}: {text}")
            extra[ours] = converted
    return extra
