"""Which refusals of a message no retry helps, and who acts: all others are retried.

https://kafka.apache.org/protocol#protocol_error_codes; librdkafka's own are below zero. A topic that is gone is not
among them: whoever creates it again has the cycle continue.
"""

from __future__ import annotations

from confluent_kafka import KafkaError

from integrator.contracts.report import MSG_SIZE_TOO_LARGE
from integrator.errors import DataError, EnvironmentFault

ACL = (
    "the operator of the brokers must allow our user: ACL Write on the channel's topics; with delivery: exactly_once "
    "or on a cluster, Write on the transactional ids that begin with its name and a hyphen, and Read on the groups and "
    "topics"
)
_SEGMENT = (
    "a batch is larger than a segment of the topic: raise segment.bytes of the topic, or lower batch.size in "
    "HVR_KAFKA_PROPERTY"
)
_RECORD = (
    "the topic does not take such records: one that is compacted (cleanup.policy) takes none without a key, as a "
    "truncate is: leave truncates out ({action: Capture, NoTruncate: true}), give the table a key or a MessageKey, or "
    "do not compact the topic; brokers that validate schemas take none of others; a "
    "MessageTimestamp must be within message.timestamp.before.max.ms and message.timestamp.after.max.ms of the topic "
    "(message.timestamp.difference.max.ms before Kafka 3.6) from the brokers' clock"
)
_POLICY = "a policy of the brokers refuses it: the operator of the brokers must allow such messages in the topic"
_CODING = "the topic or the brokers are of a kind that does not take this: correct {} of the topic, or of the channel"
_TIME = (
    "the topic refuses the record's timestamp: compare the clocks of this machine and of the brokers, and "
    "message.timestamp.before.max.ms and message.timestamp.after.max.ms of the topic"
)
PERMANENT: dict[int, tuple[type[DataError | EnvironmentFault], str]] = {
    MSG_SIZE_TOO_LARGE: (DataError, ""),
    KafkaError.RECORD_LIST_TOO_LARGE: (EnvironmentFault, _SEGMENT),
    KafkaError.INVALID_RECORD: (DataError, _RECORD),
    KafkaError.INVALID_TIMESTAMP: (DataError, _TIME),
    KafkaError.TOPIC_EXCEPTION: (EnvironmentFault, "the brokers do not let clients write to it: write another topic"),
    KafkaError.TOPIC_AUTHORIZATION_FAILED: (EnvironmentFault, ACL),
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: (EnvironmentFault, ACL),
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (EnvironmentFault, ACL),
    KafkaError.GROUP_AUTHORIZATION_FAILED: (EnvironmentFault, ACL),
    KafkaError.POLICY_VIOLATION: (EnvironmentFault, _POLICY),
    KafkaError.INVALID_REQUIRED_ACKS: (EnvironmentFault, "set acks in HVR_KAFKA_PROPERTY to all, 1 or leave it out"),
    KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT: (
        EnvironmentFault,
        _CODING.format("message.format.version, the headers"),
    ),
    KafkaError.UNSUPPORTED_COMPRESSION_TYPE: (
        EnvironmentFault,
        _CODING.format("the compression, Kafka_Message_Compress"),
    ),
}
"""By Kafka's code: the kind of error, and what it means and a remedy."""
