"""The runs of a cycle, through both passes: in a Spark job, or in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from integrator.contracts.fragments import FRAGMENT_DDL
from integrator.contracts.recipe import Recipe
from integrator.contracts.report import Report
from integrator.prefetch import prefetch
from integrator.run.passes.first_pass import Pass
from integrator.run.passes.second_pass import REPORT_DDL
from integrator.run.spark.failures import classify

Sent = tuple[list[Report], list[bytes]]
"""The reports of tasks, and the rows that each defers."""


class Runs(Protocol):
    """The runs of a cycle. Its methods raise IntegratorError, and what Spark raises."""

    @property
    def count(self) -> int:
        """By how many tasks they are sent."""

    @property
    def alone(self) -> bool:
        """Whether one task reads and sends them, which has several cores."""

    def sent(self, first: Pass, second: Pass) -> Sent:
        """Return what both passes make of them."""

    def read(self, first: Pass) -> None:
        """Have the first pass read them, and drop what it makes."""


@dataclass(frozen=True)
class SparkRuns:
    """Runs in Spark's rows. count: by how many tasks they are sent. alone: by one, which also reads all of them."""

    rows: DataFrame
    recipe: Recipe
    count: int
    alone: bool

    def sent(self, first: Pass, second: Pass) -> Sent:
        """Return what a Spark job makes of them."""
        if self.alone:  # one ordered run: in order already, and both passes in one task
            reported = self.rows.mapInArrow(lambda batches: second(prefetch(first(batches))), REPORT_DDL)
        else:
            fragments = self.rows.mapInArrow(first, FRAGMENT_DDL)
            reported = in_order(fragments, self.count, self.recipe).mapInArrow(second, REPORT_DDL)
        try:
            rows = reported.collect()
        except PySparkException as error:
            raise classify(error) or error from None
        return [Report.of_json(row.report) for row in rows], [bytes(row.deferred) for row in rows]

    def read(self, first: Pass) -> None:
        """Have a Spark job read them."""
        try:
            self.rows.mapInArrow(first, FRAGMENT_DDL).foreach(lambda _: None)
        except PySparkException as error:
            raise classify(error) or error from None


@dataclass(frozen=True)
class OwnRuns:
    """Few runs, which this process reads and sends: a Spark job would take longer to start."""

    rows: pa.RecordBatch
    count: ClassVar[int] = 1
    alone: ClassVar[bool] = False

    def sent(self, first: Pass, second: Pass) -> Sent:
        """Return what both passes make of them."""
        with _own_errors():
            rows = [row for batch in second(first(iter([self.rows]))) for row in batch.to_pylist()]
        return [Report.of_json(row["report"]) for row in rows], [row["deferred"] for row in rows]

    def read(self, first: Pass) -> None:
        """Read them."""
        with _own_errors():
            for _ in first(iter([self.rows])):
                pass


@contextlib.contextmanager
def _own_errors() -> Iterator[None]:
    """Raise the error that a pass has made text of, for another process."""
    try:
        yield
    except RuntimeError as error:
        raise classify(error) or error from None


def in_order(fragments: DataFrame, tasks: int, recipe: Recipe) -> DataFrame:
    """Bring all changes of a key, or of a topic whose messages have none, into one task, in source order (I3).

    Where messages have partitions of their own, all changes of a partition come into one task, whatever their keys.
    """
    by = [f.col("topic")]
    if recipe.by_partition:
        by += [f.col("partition"), f.when(f.col("partition").isNull(), f.col("key"))]
    elif not recipe.messages.layout.bundling.keyless:
        by.append(f.col("key"))
    return fragments.repartition(tasks, *by).sortWithinPartitions("integ_seq", "rank")
