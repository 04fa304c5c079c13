"""Names of what reads topics: Conduit's source, Kafka's consumers, Spark's and Flink's sources, sink connectors.

https://github.com/ConduitIO/conduit-connector-kafka, https://kafka.apache.org/documentation/#consumerconfigs,
https://spark.apache.org/docs/latest/streaming/structured-streaming-kafka-integration.html,
https://nightlies.apache.org/flink/flink-docs-stable/docs/connectors/table/kafka.
"""

from __future__ import annotations

from integrator.names.contract import named

_TOPICS = "use topics: names, and regular expressions, which begin with ^"
_START = "use start: {}"
_GROUP = "use consumer_group, with start: group to begin where it is, and commit_offsets: true for tools that show lag"
_COMMITTED = "use commit_offsets: true, by which the end of each synced cycle is committed: leave this out"
_NO_GROUP = "no group is joined: leave it out"
_CYCLES = "use CycleByteLimit of Integrate: a cycle takes so many bytes"
_LOSS = "use lost_records: error or earliest"
_ENCODING = "use encoding: it is recognized by the schema's id at the beginning; and key_encoding for keys"
_HEADERS = "use {hvr_cap_header NAME} in an expression"
_COMMITS = "only committed records are read: leave it out"
_KEYED = "use {hvr_cap_record_key} in an expression; rows without a value are deleted by their keys (dialect rows)"
_OPENCDC = "records are read as they are: use dialect, and encoding"

_CONDUIT = {
    "topic": _TOPICS,
    "readFromBeginning": _START.format("earliest for true, latest for false"),
    "groupID": _GROUP,
    "tls.enabled": "use Kafka_Tls: true, or Stream_Public_Certificate",
    "commitOffsetsDelay": _COMMITTED,
    "commitOffsetsSize": _COMMITTED,
    "retryGroupJoinErrors": _NO_GROUP,
    "sdk.batch.size": _CYCLES,
    "sdk.batch.delay": "use poll_seconds",
    "sdk.schema.context.enabled": _OPENCDC,
    "sdk.schema.context.name": _OPENCDC,
    "sdk.schema.extract.type": _OPENCDC,
    "sdk.schema.extract.key.enabled": _OPENCDC,
    "sdk.schema.extract.key.subject": _OPENCDC,
    "sdk.schema.extract.payload.enabled": _OPENCDC,
    "sdk.schema.extract.payload.subject": _OPENCDC,
}
_CLIENTS = {
    "group.instance.id": _NO_GROUP,
    "auto.offset.reset": _START.format("earliest or latest"),
    "enable.auto.commit": _COMMITTED,
    "auto.commit.interval.ms": _COMMITTED,
    "isolation.level": _COMMITS,
    "max.poll.records": _CYCLES,
    "max.poll.interval.ms": _NO_GROUP,
    "session.timeout.ms": _NO_GROUP,
    "heartbeat.interval.ms": _NO_GROUP,
    "partition.assignment.strategy": _NO_GROUP,
    "key.deserializer": _ENCODING,
    "value.deserializer": _ENCODING,
}
_CONNECT = {
    "topics.regex": _TOPICS,
    "key.converter": _ENCODING,
    "value.converter": _ENCODING,
    "header.converter": _HEADERS,
    "pk.mode": _KEYED,
}
_SPARK = {
    "subscribe": _TOPICS,
    "subscribePattern": _TOPICS,
    "assign": "all partitions of a topic are read: use topics",
    "startingOffsets": _START.format("earliest, latest, group, or a timestamp with its zone"),
    "startingTimestamp": _START.format("2026-01-31T12:00:00Z, a timestamp with its zone"),
    "endingOffsets": "run once reads existing messages: --once",
    "failOnDataLoss": _LOSS,
    "maxOffsetsPerTrigger": _CYCLES,
    "minPartitions": "ranges are cut by their bytes: leave it out",
    "includeHeaders": _HEADERS,
    "groupIdPrefix": _NO_GROUP,
    "kafka.group.id": _GROUP,
}
_FLINK = {
    "topic-pattern": _TOPICS,
    "scan.startup.mode": _START.format("earliest, latest, group, or a timestamp with its zone"),
    "scan.startup.timestamp-millis": _START.format("2026-01-31T12:00:00Z, a timestamp with its zone"),
    "properties.group.id": _GROUP,
    "format": _ENCODING,
    "value.format": _ENCODING,
    "key.format": _ENCODING,
}

NAMES = [
    *named("Conduit and others", "source key", _CONDUIT),
    *named("Kafka's consumers", "source key", _CLIENTS),
    *named("Kafka Connect's sinks", "source key", _CONNECT),
    *named("Spark", "source key", _SPARK),
    *named("Flink", "source key", _FLINK),
]
