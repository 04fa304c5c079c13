"""Properties of Kafka's clients: librdkafka's, and those of Java's producer.

https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md,
https://kafka.apache.org/documentation/#producerconfigs.
"""

from __future__ import annotations

from dataclasses import replace

from integrator.names.contract import Name, keys, named, same, settable

_CODE = "it loads native code into the integrator's processes, which a channel must not do"
_COMMAND = "it runs a command, which a channel must not do; use sasl.kerberos.principal and sasl.kerberos.keytab"
_JAVA_CODE = "it names a class of Java's, and librdkafka has none"
FORMATS = "the Kafka location's format makes keys and values: leave it out (FileFormat, MessageKeySerializer)"
_PEM = "use {}, a PEM file or its text (of a JKS file: keytool -importkeystore -deststoretype pkcs12, openssl pkcs12)"
_AUTHORITY = _PEM.format("Stream_Public_Certificate") + ", or Kafka_Tls: true where the system knows the authority"
_CERTIFICATE = _PEM.format("Stream_Client_Public_Certificate")
TIMEOUT = "use HVR_KAFKA_MSG_DELIVERY_TIMEOUT, in seconds"
_LARGEST = "use HVR_KAFKA_MSG_MAX_BYTES"
_METRICS = "the integrator's own are at its HTTP endpoint (docs/operations/monitoring.md)"
_TLS = "OpenSSL chooses it; ssl.cipher.suites and ssl.sigalgs.list limit it"
_STICKY = "sticky.partitioning.linger.ms is librdkafka's"
_RELOGIN = "sasl.kerberos.min.time.before.relogin is librdkafka's"

_OURS_TOO = {
    "sasl.mechanism": "Kafka_Authentication_Method",
    "sasl.mechanisms": "Kafka_Authentication_Method",
    "sasl.username": "Stream_User",
    "sasl.password": "Stream_Password",
    "sasl.kerberos.service.name": "Kafka_Kerberos_Service",
    "sasl.kerberos.principal": "Kafka_Kerberos_Client_Principal",
    "sasl.kerberos.keytab": "Kafka_Kerberos_Keytab",
    "sasl.oauthbearer.token.endpoint.url": "Kafka_Oauth_Token_Url",
    "sasl.oauthbearer.client.id": "Stream_User",
    "sasl.oauthbearer.client.secret": "Stream_Password",
    "sasl.oauthbearer.scope": "Kafka_Oauth_Scope",
    "ssl.ca.location": "Stream_Public_Certificate",
    "ssl.certificate.location": "Stream_Client_Public_Certificate",
    "ssl.key.location": "Stream_Client_Private_Key",
    "ssl.key.password": "Stream_Client_Private_Key_Password",
}
"""Who we are to the brokers: HVR_KAFKA_PROPERTY takes it, and the location has keys for it."""
_PROTOCOL = "use Kafka_Tls: true for …SSL, and Kafka_Authentication_Method for SASL_…, of the Kafka location"

_PROPERTIES = {
    "message.max.bytes": _LARGEST,
    "message.timeout.ms": TIMEOUT,
    "delivery.timeout.ms": TIMEOUT,
    "delivery.report.only.error": "the counting of acknowledgements rests on it",
    "partitioner": "use Kafka_Partitioner",
    "transactional.id": "use delivery: exactly_once",
    "transaction.timeout.ms": "use delivery: exactly_once",
    "plugin.library.paths": _CODE,
    "ssl.engine.location": _CODE,
    "ssl.engine.id": _CODE,
    "ssl.providers": _CODE,
    "sasl.kerberos.kinit.cmd": _COMMAND,
    "max.request.size": _LARGEST,
    "max.block.ms": TIMEOUT,
    "key.serializer": FORMATS,
    "value.serializer": FORMATS,
    "partitioner.class": "use Kafka_Partitioner",
    "partitioner.ignore.keys": "use Bundle_Partition",
    "partitioner.adaptive.partitioning.enable": _STICKY,
    "partitioner.availability.timeout.ms": _STICKY,
    "interceptor.classes": _JAVA_CODE,
    "metric.reporters": _METRICS,
    "metrics.num.samples": _METRICS,
    "metrics.recording.level": _METRICS,
    "metrics.sample.window.ms": _METRICS,
    "auto.include.jmx.reporter": _METRICS,
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
    "sasl.login.class": _JAVA_CODE,
    "sasl.login.callback.handler.class": "use Kafka_Authentication_Method OAUTHBEARER with Kafka_Oauth_Token_Url",
    "sasl.client.callback.handler.class": _JAVA_CODE,
    "sasl.kerberos.ticket.renew.window.factor": _RELOGIN,
    "sasl.kerberos.ticket.renew.jitter": _RELOGIN,
    **dict.fromkeys(
        (
            "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms", "sasl.login.refresh.buffer.seconds",
            "sasl.login.refresh.min.period.seconds", "sasl.login.refresh.window.factor",
            "sasl.login.refresh.window.jitter", "sasl.login.retry.backoff.max.ms", "sasl.login.retry.backoff.ms",
            "sasl.oauthbearer.header.urlencode",
        ),
        "librdkafka asks for tokens, and renews them, in its own way: leave it out",
    ),
    **dict.fromkeys(
        (
            "sasl.oauthbearer.jwks.endpoint.url", "sasl.oauthbearer.jwks.endpoint.refresh.ms",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
            "sasl.oauthbearer.expected.audience", "sasl.oauthbearer.expected.issuer",
            "sasl.oauthbearer.clock.skew.seconds", "sasl.oauthbearer.scope.claim.name",
            "sasl.oauthbearer.sub.claim.name",
        ),
        "brokers check a token's claims, and clients do not: leave it out",
    ),
    "sasl.oauthbearer.jwt.retriever.class": _JAVA_CODE,
    "sasl.oauthbearer.jwt.validator.class": _JAVA_CODE,
    "transaction.two.phase.commit.enable": "use delivery: exactly_once",
    "topic": "use Kafka_Default_Topic, or Topic of Integrate",
    "group.id": "use consumer_group of a source with topics",
    "auto.offset.reset": "use start of a source with topics",
}  # fmt: skip

_KEYS = {
    "bootstrap.servers": "Kafka_Brokers",
    "metadata.broker.list": "Kafka_Brokers",
    "compression.type": "Kafka_Message_Compress",
    "compression.codec": "Kafka_Message_Compress",
    "compression": "Kafka_Message_Compress",
    "sasl.jaas.config": "Sasl_Jaas_Config",
}

_SETTABLE = same(
    (
        "acks", "request.required.acks", "linger.ms", "queue.buffering.max.ms", "batch.size", "batch.num.messages",
        "client.id", "client.dns.lookup", "enable.idempotence", "retries", "retry.backoff.ms",
        "message.send.max.retries", "max.in.flight", "max.in.flight.requests.per.connection", "request.timeout.ms",
        "queue.buffering.max.messages", "queue.buffering.max.kbytes", "socket.connection.setup.timeout.ms",
        "connections.max.idle.ms", "metadata.max.age.ms", "enable.ssl.certificate.verification",
    )
) | {
    "buffer.memory": "queue.buffering.max.kbytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "ssl.endpoint.identification.algorithm": "ssl.endpoint.identification.algorithm",
    "compression.gzip.level": "compression.level",
    "compression.lz4.level": "compression.level",
    "compression.zstd.level": "compression.level",
}  # fmt: skip

_METHODS = {
    "PLAIN": "use USER_PASS",
    "GSSAPI": "use KERBEROS",
    "SCRAM": "use SCRAM-SHA-256 or SCRAM-SHA-512, as the brokers have it",
    "AWS_MSK_IAM": "use AWS_MSK_IAM, with Kafka_Aws_Region",
}
_SERIALIZERS = {
    "StringSerializer": "use STRING",
    "KafkaAvroSerializer": "use KAFKA_AVRO, or KAFKA_AVRO_SCHEMA for the key columns",
    "KafkaJsonSchemaSerializer": "use KAFKA_JSON, or KAFKA_JSON_SCHEMA for the key columns",
    "KafkaProtobufSerializer": "use KAFKA_PROTOBUF_SCHEMA",
}

OF = "Kafka's clients"
NAMES = [
    *keys(OF, _KEYS, "property"),
    Name("security.protocol", OF, "property", _PROTOCOL, sets="security.protocol"),
    *(replace(one, sets=one.name) for one in keys(OF, _OURS_TOO, "property")),
    *settable(OF, _SETTABLE),
    *named(OF, "property", _PROPERTIES),
    *named("Kafka's sasl.mechanism", "word", _METHODS),
    *named("Kafka's and Confluent's serializers", "word", _SERIALIZERS),
]
