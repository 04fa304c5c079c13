"""Spark's daemon, of which its Python workers are forks, with what a cycle needs imported once for all of them.

Spark runs this module on this machine (`spark.python.daemon.module`) with the module of the workers as its argument.
"""

from __future__ import annotations

import gc
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
        from integrator.engine.days import days_of

        list(import_steps(iter(())))
        days_of(1970, 1, 1)  # Numba prepares for the first loop of a process, 0.5 s of CPU, which forks then need not
        # What is imported lives as long as the worker: it need not be inspected by the collection after each task, nor
        # be copied for that. Nor need one follow each 700 objects: of a recipe of 2,000 tables, a fifth of the time.
        # https://docs.python.org/3/library/gc.html#gc.freeze
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)
    daemon.manager()
