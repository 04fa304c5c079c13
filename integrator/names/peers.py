"""Names of Kafka Connect, Confluent's converters, Debezium, Airbyte, Conduit, Maxwell, Flink and Spark.

https://kafka.apache.org/documentation/#connectconfigs,
https://docs.confluent.io/platform/current/schema-registry/connect.html,
https://debezium.io/documentation/reference/stable/connectors/postgresql.html,
https://docs.airbyte.com/integrations/destinations/kafka, https://github.com/ConduitIO/conduit-connector-kafka,
https://maxwells-daemon.io/config, https://nightlies.apache.org/flink/flink-docs-stable/docs/connectors/datastream/kafka.
"""

from __future__ import annotations

from integrator.names.contract import Name, keys, named, settable
from integrator.names.kafka import FORMATS, TIMEOUT

_SMT = "ColumnProperties and Restrict change rows, and FileFormat Envelope their shape"
_BELOW_ERRORS = "use errors: {{{}: …}} at the top of the channel"
_AT_SOURCE = "use debezium: {{{}: …}} of the source location"
_UNVERIFIED = "use Stream_Public_Certificate; or enable.ssl.certificate.verification=false in HVR_KAFKA_PROPERTY"
_EACH_CYCLE = "each cycle waits for its acknowledgements; leave it out"
_OWN_TABLES = "use tables and exclude of a database that is captured; else tables, with definitions"
_START = "use start of a source with topics: earliest or latest"
_REGISTRY = "use Schema_Registry: {{{}: …}} of the Kafka location"

_CONNECT = {
    "key.converter": FORMATS,
    "value.converter": FORMATS,
    "header.converter": "use MessageHeaders and MessageHeaderSerializer of Integrate",
    "key.converter.schemas.enable": "use MessageKeySerializer of Integrate: CONNECT_SCHEMA or CONNECT_PAYLOAD",
    "value.converter.schemas.enable": "use FileFormat Json: true with JsonMode SCHEMA_PAYLOAD or PAYLOAD",
    "decimal.format": "use Json_Decimals of the Kafka location",
    "transforms": _SMT,
    "predicates": _SMT,
    "connector.class": "use class of each location",
    "tasks.max": "Spark's cores are the tasks: leave it out",
    "exactly.once.support": "use delivery: exactly_once",
    "exactly.once.source.support": "use delivery: exactly_once",
    "transaction.boundary": "a cycle is a transaction with delivery: exactly_once",
    "topic.creation.enable": "use Create_Topics of the Kafka location; broker is what false is there",
    "topic.creation.groups": "use Create_Topics of the Kafka location: a list with an entry for each group",
    "topic.creation.default.partitions": "use Create_Topics: {Partitions: …} of the Kafka location",
    "topic.creation.default.replication.factor": "use Create_Topics: {Replication_Factor: …} of the Kafka location",
    "errors.tolerance": _BELOW_ERRORS.format("tolerance"),
    "errors.retry.timeout": _BELOW_ERRORS.format("retry.timeout"),
    "errors.retry.delay.max.ms": _BELOW_ERRORS.format("retry.delay.max.ms"),
    "errors.log.enable": _BELOW_ERRORS.format("log.enable"),
    "errors.log.include.messages": _BELOW_ERRORS.format("log.include.messages"),
    "errors.deadletterqueue.topic.name": _BELOW_ERRORS.format("deadletterqueue.topic.name"),
    "errors.deadletterqueue.topic.replication.factor": _BELOW_ERRORS.format("deadletterqueue.topic.replication.factor"),
    "errors.deadletterqueue.context.headers.enable": _BELOW_ERRORS.format("deadletterqueue.context.headers.enable"),
    "deadletterqueue": "write the whole name as one key: deadletterqueue.topic.name: …",
}
_CONFLUENT = {
    "basic.auth.user.info": "use Kafka_Schema_User and Kafka_Schema_Registry_Password of the Kafka location",
    "basic.auth.credentials.source": "use Kafka_Schema_User and Kafka_Schema_Registry_Password; leave this out",
    "bearer.auth.token": _REGISTRY.format("Bearer_Token"),
    "auto.register.schemas": _REGISTRY.format("Auto_Register"),
    "use.latest.version": _REGISTRY.format("Use_Latest_Version"),
    "normalize.schemas": _REGISTRY.format("Normalize"),
    "subject.name.strategy": "use ValueSubjectStrategy and KeySubjectStrategy of Integrate",
    "value.subject.name.strategy": "use ValueSubjectStrategy of Integrate",
    "key.subject.name.strategy": "use KeySubjectStrategy of Integrate",
}
_DEBEZIUM = {
    "topic.prefix": "use Kafka_Default_Topic of the Kafka location, such as PREFIX.{hvr_tbl_name}",
    "table.include.list": _OWN_TABLES,
    "table.exclude.list": _OWN_TABLES,
    "column.exclude.list": "use ColumnProperties with Absent: true",
    "column.mask.hash": "use ColumnProperties with CaptureExpression: \"sql: encode(sha256(COLUMN), 'hex')\"",
    "schema.name.adjustment.mode": "use ValueRecordName and KeyRecordName of Integrate",
    "field.name.adjustment.mode": "use ColumnProperties with BaseName",
    "message.key.columns": "use MessageKey of Integrate, or ColumnProperties with Key: true",
    "tombstones.on.delete": "use OnDeleteSendTombstone of Integrate",
    "provide.transaction.metadata": "use Transaction_Topic of the Kafka location",
    "decimal.handling.mode": _AT_SOURCE.format("decimal_handling_mode"),
    "time.precision.mode": _AT_SOURCE.format("time_precision_mode"),
    "binary.handling.mode": _AT_SOURCE.format("binary_handling_mode"),
    "unavailable.value.placeholder": _AT_SOURCE.format("unavailable_value"),
    "snapshot.mode": "use snapshot of a location of class postgres, mysql or mariadb; else the command refresh",
    "route.by.field": "use Topic of Integrate, such as outbox.event.{aggregatetype}",
    "route.topic.replacement": "use Topic of Integrate, such as outbox.event.{aggregatetype}",
    "table.field.event.key": "use MessageKey of Integrate",
    "table.field.event.timestamp": "use MessageTimestamp of Integrate",
    "table.field.payload": "use Text or Bytes of FileFormat",
    "table.fields.additional.placement": "use MessageHeaders and MessagePartition of Integrate",
    "table.op.invalid.behavior": "use Outbox of Integrate",
    "partition.payload.fields": "use MessagePartition of Integrate",
    "partition.topic.num": "use MessagePartition of Integrate, such as sql: {region_no} % 12",
    "slot.name": "use slot of a location of class postgres",
    "publication.name": "use publication of a location of class postgres",
    "plugin.name": "use dialect of the source location",
    "database.hostname": "use address of a location of class postgres, mysql or mariadb; to refresh, url of jdbc",
    "database.server.name": "use Kafka_Default_Topic of the Kafka location, such as PREFIX.{hvr_tbl_name}",
    "heartbeat.interval.ms": "not needed: a quiet table holds no log back",
}
_PEERS = {
    "Airbyte": {
        "sync.producer": _EACH_CYCLE,
        "test.topic": "use the command check --connect --test-topic TOPIC",
        "protocol": "use Kafka_Tls and Kafka_Authentication_Method of the Kafka location",
        "partition.key.field": "use MessageKey of Integrate",
    },
    "Conduit": {
        "tls.enabled": "use Stream_Public_Certificate or Kafka_Tls",
        "caCert": "use Stream_Public_Certificate",
        "clientCert": "use Stream_Client_Public_Certificate",
        "clientKey": "use Stream_Client_Private_Key",
        "insecureSkipVerify": _UNVERIFIED,
        "tls.caCert": "use Stream_Public_Certificate",
        "tls.clientCert": "use Stream_Client_Public_Certificate",
        "tls.clientKey": "use Stream_Client_Private_Key",
        "tls.insecureSkipVerify": _UNVERIFIED,
        "deliveryTimeout": TIMEOUT,
        "sdk.batch.size": "use batch.size in HVR_KAFKA_PROPERTY, or Kafka_Message_Bundling",
        "sdk.batch.delay": "use linger.ms in HVR_KAFKA_PROPERTY",
        "sdk.rate.perSecond": "use HVR_KAFKA_RATE_LIMIT",
        "sdk.rate.burst": "use HVR_KAFKA_RATE_LIMIT",
        "sdk.record.format": "use FileFormat with Envelope: OPENCDC or DEBEZIUM",
        "sdk.record.format.options": "use FileFormat with Envelope: OPENCDC or DEBEZIUM",
        "sdk.schema.extract.key.enabled": "use MessageKeySerializer of Integrate",
        "sdk.schema.extract.payload.enabled": "use Kafka_Schema_Registry, or JsonMode of FileFormat",
    },
    "Maxwell": {
        "producer": "leave it out: Kafka is the target",
        "kafka.topic": "use Kafka_Default_Topic of the Kafka location",
        "kafka.key.format": "use MessageKey and MessageKeySerializer of Integrate",
        "producer.partition.by": "use MessageKey of Integrate, or ColumnProperties with DistributionKey: true",
        "dead.letter.topic": "use Dead_Letter_Topic with Oversized_Rows, or errors: {deadletterqueue.topic.name: …}",
        "filter": "use tables, Restrict, and ColumnProperties with Absent: true",
    },
    "Flink": {
        "delivery.guarantee": "use delivery: at_least_once or exactly_once",
        "sink.delivery-guarantee": "use delivery: at_least_once or exactly_once",
        "scan.startup.mode": "use the command state --back-to, or the command refresh",
        "value.format": FORMATS,
        "key.format": FORMATS,
        "properties.bootstrap.servers": "use Kafka_Brokers of the Kafka location",
    },
    "Spark": {
        "checkpointLocation": "use state: the directory of the channel's progress",
        "kafka.bootstrap.servers": "use Kafka_Brokers of the Kafka location",
        "maxFilesPerTrigger": "use CycleByteLimit of Integrate",
        "maxOffsetsPerTrigger": "use CycleByteLimit of Integrate",
        "includeHeaders": "use MessageHeaders of Integrate",
        "trigger": "use IntegrateStartTimes of Scheduling, or poll_seconds of the source location",
    },
}
_SUBSTITUTIONS = {
    "namespace": "use {hvr_schema}, where the definition of each table names its schema",
    "stream": "use {hvr_tbl_name}, or {hvr_tbl_base_name} for its name in the database",
}

NAMES = [
    *named("Kafka Connect", "property", _CONNECT),
    *keys("Confluent's converters", {"schema.registry.url": "Kafka_Schema_Registry"}, "property"),
    *named("Confluent's converters", "property", _CONFLUENT),
    *named("Debezium", "property", _DEBEZIUM),
    *(name for of, names in _PEERS.items() for name in named(of, "property", names)),
    *keys("Airbyte", {"topic.pattern": "Kafka_Default_Topic"}, "property"),
    *keys("Conduit", {"servers": "Kafka_Brokers"}, "property"),
    *settable("Conduit", {"batchBytes": "batch.size"}),
    *named("Conduit", "key", {"readFromBeginning": _START, "groupID": "use consumer_group of a source with topics"}),
    *named("Airbyte", "substitution", _SUBSTITUTIONS),
    Name("topic", "Conduit and others", "key", "use Kafka_Default_Topic, or Topic of Integrate", "Kafka_Default_Topic"),
    Name("brokers", "other clients", "key", "use Kafka_Brokers of the Kafka location", "Kafka_Brokers"),
]
