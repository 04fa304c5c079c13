"""The rows of one slice, or a truncate record, sent: read by Spark, and acknowledged by the brokers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from integrator.contracts.report import Report, refused_of
from integrator.contracts.shards import Shards
from integrator.deliver.kafka.sender_lock import Senders
from integrator.deliver.kafka.topic_limits import one_by_one, refused
from integrator.errors import DataError, DeliveryError, EnvironmentFault, shortened
from integrator.names.numbers import counted
from integrator.prefetch import prefetch
from integrator.refresh import tables
from integrator.refresh.rows import Rows, fragments
from integrator.run.passes.second_pass import REPORT_DDL, second_pass
from integrator.run.spark.failures import classify


def deliver(source: DataFrame, rows: Rows, senders: Senders, tasks: int, shards: Shards | None) -> list[Report]:
    """Send the rows of `source`; return the tasks' reports when every message is acknowledged.

    senders: the tasks of this try. tasks: how many may send at once. shards: the transactions, where rows are sent in
    some.
    Raises IntegratorError.
    """
    second = second_pass(rows.recipe, senders, tasks, shards)

    def passes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return second(prefetch(fragments(rows, batches)))

    try:
        collected = source.mapInArrow(passes, REPORT_DDL).collect()
    except (PySparkException, Py4JError) as error:
        raise classify(error) or _of_query(rows, str(error)) or _of_data(rows, str(error)) or error from None
    reports = [Report.of_json(row.report) for row in collected]
    found = refused_of(reports)
    if found is not None:
        fault = refused(rows.recipe, found, f"refresh of {rows.table}")
        if isinstance(fault, DeliveryError):  # another message of its batch may be the reason
            return deliver(source, replace(rows, recipe=one_by_one(rows.recipe)), senders, tasks, shards)
        raise fault
    wrong = [report.error for report in reports if report.error]
    sent, acknowledged = (sum(getattr(report, name) for report in reports) for name in ("messages", "acknowledged"))
    if wrong or sent != acknowledged:
        raise DeliveryError(
            f"refresh of {rows.table}: {acknowledged} of {counted(sent, 'message')} acknowledged; "
            f"{wrong[0] if wrong else 'no reason given'}; run it again to continue with the remaining slices"
        )
    return reports


def _of_query(rows: Rows, text: str) -> EnvironmentFault | None:
    """Return the error for a query that failed at the database; its text may have values."""
    reason = shortened(tables.query_failure(text))
    return EnvironmentFault(f"table {rows.table}: {tables.QUERY_FAILED}: {_shown(rows, reason)}") if reason else None


def _shown(rows: Rows, reason: str) -> str:
    return "the reason is not shown, because the channel masks columns" if rows.recipe.masks else reason


def _of_data(rows: Rows, text: str) -> DataError | None:
    """Return the error for a row that Spark could not read; its text may have the row's values."""
    reason = "; ".join(map(shortened, tables.unreadable(text)))
    return DataError(f"table {rows.table}: a row cannot be read: {_shown(rows, reason)}") if reason else None
