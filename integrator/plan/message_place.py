"""Integrate's MessageTimestamp, MessagePartition and Outbox -> which messages a table has, and where they go."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa

from integrator import schema
from integrator.channel.actions import Integrate
from integrator.channel.problems import Report
from integrator.contracts.message_format import MessageFormat
from integrator.expressions.parse import natural_type, parse
from integrator.expressions.parts import Part, Sql
from integrator.expressions.substitutions import ExpressionError
from integrator.schema import Table
from integrator.transform.sql import result_type

_Parameter = Literal["MessageTimestamp", "MessagePartition"]
_WANTED = {
    "MessageTimestamp": "a timestamp is: write {hvr_cap_tstamp}, or a column that is one",
    "MessagePartition": "a whole number is: write a column that is one, or SQL, such as sql: {id} % 12",
}


def timestamp_of(integrate: Integrate, table: Table, report: Report) -> tuple[Part, ...]:
    """Return the expression of the timestamps of a table's messages, if there is one; what is wrong is reported."""
    return _parsed("MessageTimestamp", integrate.MessageTimestamp, table, report)


def partition_of(integrate: Integrate, table: Table, layout: MessageFormat, report: Report) -> tuple[Part, ...]:
    """Return the expression of the partitions of a table's messages, if there is one; what is wrong is reported."""
    if integrate.MessagePartition is not None and layout.bundling.keyless:
        text = f"a message of {layout.bundling.mode} holds rows of many partitions: leave it out, or use ROW or CHANGE"
        report("MessagePartition", text)
        return ()
    return _parsed("MessagePartition", integrate.MessagePartition, table, report)


def outbox_of(integrate: Integrate, layout: MessageFormat, report: Report) -> Literal["", "WARN", "FATAL"]:
    """Return how updates of an outbox are taken, empty for other tables; what does not go with it is reported."""
    if integrate.Outbox is None:
        return ""
    if layout.envelope or layout.before:
        given = "Envelope" if layout.envelope else "BeforeUpdateColumns"
        report("Outbox", f"an event of an outbox is a row as it was inserted: leave {given} out")
    if integrate.OnDeleteSendTombstone:
        report("Outbox", "deletes of an outbox are no events: leave OnDeleteSendTombstone out")
    return integrate.Outbox


def _parsed(parameter: _Parameter, text: str | None, table: Table, report: Report) -> tuple[Part, ...]:
    if text is None:
        return ()
    try:
        parts = parse(text, table, parameter)
        fits = _fits(parameter, parts, table)
    except ExpressionError as error:
        report(parameter, error.reason, table.name)
        return ()
    if not fits:
        report(parameter, f"{text!r} is not accepted; {_WANTED[parameter]}", table.name)
    return parts


def _fits(parameter: _Parameter, parts: tuple[Part, ...], table: Table) -> bool:
    """Return whether an expression gives values of the type that is wanted."""
    if isinstance(parts[0], Sql):
        given = result_type(parts[0], table)
        return bool(pa.types.is_timestamp(given) if parameter == "MessageTimestamp" else pa.types.is_integer(given))
    wanted = schema.Timestamp if parameter == "MessageTimestamp" else schema.Integer
    return isinstance(natural_type(parts, table), wanted)
