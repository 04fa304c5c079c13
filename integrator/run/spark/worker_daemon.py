"""Spark's daemon, of which its Python workers are forks, with what a cycle needs imported once for all of them.

Spark runs this module on this machine (`spark.python.daemon.module`) with the module of the workers as its argument.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def import_steps(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Import a cycle's steps where this runs, and yield what is given."""
    from integrator.run.passes import first_pass, second_pass  # noqa: F401, PLC0415 - in the worker

    yield from batches


if __name__ == "__main__":
    from pyspark import daemon

    if sys.argv[1:] == ["pyspark.worker"]:  # others plan or list, and need none of it
        list(import_steps(iter(())))
    daemon.manager()
