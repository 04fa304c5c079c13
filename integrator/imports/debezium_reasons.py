"""Why properties of Debezium's connectors have no counterpart here, and what to do instead; the first that fits holds.

https://debezium.io/documentation/reference/stable/connectors/.
"""

from __future__ import annotations

import re

from integrator.imports.report import Report

_CAPTURE = "another program captures the changes, which are read from files, a socket or topics (docs/sources/index.md)"
_SHOWN = "progress is shown at /status and /metrics (docs/operations/monitoring.md)"
_REFRESH = "whole tables are sent by integrator refresh (docs/refresh.md)"
_HISTORY = "the channel has the definitions of its tables; unknown_columns: add at the source adds new columns"
_ERRORS = "errors.tolerance of the channel sets what happens to records that cannot be read"
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
     "Transaction_Topic of the Kafka location is that topic, where changes are read from files or sockets"),
    (r"topic\.cache\.size", "topics are called by Kafka_Default_Topic and Integrate Topic"),
    (r"max\.batch\.size|max\.queue\..*|poll\.interval\.ms|query\.fetch\.size|snapshot\.fetch\.size",
     "a cycle takes the change files that are there, up to Integrate CycleByteLimit"),
    (r"event\.processing\.failure\.handling\.mode|inconsistent\.schema\.handling\.mode|errors\.max\.retries", _ERRORS),
    (r"errors\.deadletterqueue\..*",
     "Kafka Connect ignores it for source connectors; set it in errors: of the channel to keep rejected records"),
    (r"retriable\.restart\..*|.*\.retry\.(delay|timeout)\..*", "restart of the channel says when a failure is retried"),
    (r"custom\.metric\.tags", "metrics are named by channel and location"),
    (r"(column|datatype)\.propagate\.source\.type", "schemas do not have the database's types as parameters"),
    (r"offset\..*|config\.providers.*|.*\.storage\..*|internal\..*", "there is no Kafka Connect"),
    (r"transaction\.boundary\..*|exactly\.once\.support", "delivery: exactly_once is for each cycle"),
    (_OF_CAPTURE, _CAPTURE),
)  # fmt: skip
"""Expressions for names, and the reason."""


_CAPTURED: tuple[tuple[str, str], ...] = (
    (r"snapshot\..*|incremental\..*|signal\..*|read\.only", "tables are read as `snapshot` of the source has it"),
    (r"(schema|database)\.history\..*", "the state has the definitions of tables"),
    (r"publication\.autocreate\.mode", "tables that the publication lacks are added to it"),
    (_OF_CAPTURE, "the capture has no such setting"),
)
"""Reasons that go before the others where the database is captured."""
TODOS: tuple[tuple[str, str], ...] = (
    (r"converters|post\.processors",
     "Java classes are not run: what they mask or convert is sent as it is in the records"),
    (r"topic\.naming\.strategy",
     "topics may have other names: compare them with integrator plan, and set Integrate Topic"),
    (r"column\..*", "this property of Debezium is not known: if it hides values, they are sent"),
)  # fmt: skip
"""Expressions for names, and what is to be done."""
DIFFERENCES: tuple[tuple[str, str], ...] = (
    (r"skip\.messages\.without\.change", "an update that changes nothing is sent, too"),
    (r"hstore\.handling\.mode", "hstore is text, as the record has it"),
    (r"interval\.handling\.mode", "an interval is text, such as P1Y2M3DT4H5M6S"),
    (r"bigint\.unsigned\.handling\.mode", "bigint unsigned is decimal(20)"),
)
"""Expressions for names, and what consumers may notice."""
_HASH = "column.mask.hash."
_NAMING = re.compile(r"io\.debezium\.schema\.(Schema|Default|DefaultRegex)TopicNamingStrategy")


def report(name: str, value: str, found: Report, *, captures: bool = False) -> None:
    """Report a property that has no counterpart. Of the names of hashes, which have a salt, the beginning is shown.

    captures: whether the database is captured.
    """
    shown = f"{_HASH}…" if name.startswith(_HASH) else name
    if name == "topic.naming.strategy" and _NAMING.fullmatch(value):
        return
    if what := _first(DIFFERENCES, name):
        found.differ(what, shown)
    elif why := _first((*_CAPTURED, *REASONS) if captures else REASONS, name):
        found.ignore(shown, why)
    elif what := _first(TODOS, name):
        found.todo(f"{shown}: {what}")
    else:
        found.ignore(shown, "no counterpart is known")


def _first(texts: tuple[tuple[str, str], ...], name: str) -> str:
    return next((text for expression, text in texts if re.fullmatch(expression, name)), "")
