"""Why properties of Debezium's connectors have no counterpart here, and what to do instead; the first that fits holds.

https://debezium.io/documentation/reference/stable/connectors/.
"""

from __future__ import annotations

import re

_CAPTURE = "it is for the capture, whose changes are read from files or a socket (docs/sources.md)"
_SHOWN = "the process shows how far it is, /status and metrics (docs/operation.md)"
_REFRESH = "whole tables are sent by integrator refresh (docs/refresh.md)"
_HISTORY = "the channel has the definitions of its tables; unknown_columns: add at the source adds new columns"
_ERRORS = "errors.tolerance of the channel says what becomes of records that cannot be read"
_OF_CAPTURE = (
    r"(database|driver|plugin|slot|publication|binlog|gtid|log\.mining|lob|oracle|rac|xmin|ssl|streaming|data\.query"
    r"|connect\.(timeout|keep|backoff)|connection|event\.deserialization|flush\.lsn|status\.update|archive\.log"
    r"|replica\.identity|table\.ignore\.builtin|include\.(query|unknown)|enable\.time\.adjuster|min\.row\.count"
    r"|use\.nongraceful|message\.prefix|logical\.decoding|openlogreplicator|source\.struct)\b.*"
)

REASONS: tuple[tuple[str, str], ...] = (
    (r"tasks\.max", "the integrator uses all cores that Spark has"),
    (r"snapshot\..*|incremental\..*|signal\..*|read\.only", _REFRESH),
    (r"heartbeat\..*|topic\.heartbeat\.prefix", _SHOWN),
    (r"notification\..*", _SHOWN),
    (r"(schema|database)\.history\..*", _HISTORY),
    (r"include\.schema\.(changes|comments)", f"there is no topic of schema changes: {_HISTORY}"),
    (r"provide\.transaction\.metadata|topic\.transaction|transaction\.topic|transaction\.metadata\.factory",
     'there is no topic of transactions: MessageHeaders "tx={hvr_tx_seq}" has each row\'s'),
    (r"topic\.(naming\.strategy|cache\.size)", "topics are called by Kafka_Default_Topic and Integrate Topic"),
    (r"max\.batch\.size|max\.queue\..*|poll\.interval\.ms|query\.fetch\.size|snapshot\.fetch\.size",
     "a cycle takes the change files that are there, up to Integrate CycleByteLimit"),
    (r"event\.processing\.failure\.handling\.mode|inconsistent\.schema\.handling\.mode|errors\.max\.retries", _ERRORS),
    (r"errors\.deadletterqueue\..*", "a source connector has none; here errors.deadletterqueue.topic.name is one"),
    (r"retriable\.restart\..*|.*\.retry\.(delay|timeout)\..*", "restart of the channel says when a failure is retried"),
    (r"skip\.messages\.without\.change", "an update that changes nothing is sent too"),
    (r"hstore\.handling\.mode", "hstore is text, as the record has it"),
    (r"interval\.handling\.mode", "an interval is text, such as P1Y2M3DT4H5M6S"),
    (r"bigint\.unsigned\.handling\.mode", "bigint unsigned is decimal(20)"),
    (r"(field\.name|schema\.name)\.adjustment\.mode|sanitize\.field\.names",
     "a name that a format cannot have is a problem that check reports; BaseName gives it another"),
    (r"converters|custom\.metric\.tags|post\.processors", "classes of Java's cannot be had here"),
    (r"offset\..*|config\.providers.*|.*\.storage\..*|internal\..*", "it is Kafka Connect's"),
    (r"transaction\.boundary\..*|exactly\.once\.support", "delivery: exactly_once is for each cycle"),
    (r"header\.converter", "headers are text"),
    (_OF_CAPTURE, _CAPTURE),
)  # fmt: skip
"""Expressions for names, and the reason."""


def reason(name: str) -> str:
    """Return why a property has no counterpart."""
    return next((why for expression, why in REASONS if re.fullmatch(expression, name)), "no counterpart is known")
