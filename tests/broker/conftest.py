"""What tests with a broker share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integrator import plan
from integrator.channel.load import RunOptions
from integrator.refresh import job


@pytest.fixture
def refresh(spark: SparkSession) -> Callable[..., dict[str, int]]:
    """`run.py refresh` in the shared session, which has the JDBC drivers of the tests."""

    def run(path: Path, variables: tuple[tuple[str, str], ...] = (), **options: object) -> dict[str, int]:
        made = plan.build(str(path), "UTC", RunOptions(frozenset(), tuple(variables)), refreshing=True)
        return job.send(made, job.Options(**options), spark)  # type: ignore[arg-type]

    return run
