"""Spark's configuration, where the user's own does not set it; and its JVM, started ahead with that."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkConf, SparkContext

from integrator.run.spark import class_archive, jvm_log, scratch, worker_daemon
from integrator.sources.slices import SHUFFLING_CORES

_ROOT = str(Path(__file__).resolve().parents[3])

_OF_DRIVER = "spark.driver.extraJavaOptions"
DEFAULTS = {
    "spark.master": os.environ.get("SPARK_MASTER", "local[*]"),
    "spark.driver.memory": "2g",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A task tried again elsewhere could overtake what the first still has on its way; the cycle is sent again instead.
    "spark.task.maxFailures": "1",
    # A speculated task would send its messages twice, in parallel with the first.
    "spark.speculation": "false",
    # Batches between the JVM and Python: many small rows, or a few large ones.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 * 1024 * 1024),
    "spark.sql.streaming.pollingDelay": "50ms",
    # Of the checkpoint, which is in a local file system: the default manager starts a program, chmod, for each file:
    # 45 of a cycle's 220 ms.
    "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager",
    # What goes to Python workers has the recipe, which has passwords: PySpark writes what is longer to a file.
    "spark.broadcast.UDFCompressionThreshold": str(1 << 30),
    "spark.sql.session.timeZone": "UTC",
    # JDBC drivers make moments out of wall clock readings by the zone of their process.
    _OF_DRIVER: "-Duser.timezone=UTC",
    "spark.executor.extraJavaOptions": "-Duser.timezone=UTC",
    "spark.sql.streaming.stopTimeout": "60s",
    # Arrays of some megabytes come and go by the hundred: glibc's malloc would give their pages back to the system each
    # time, which clears them again (https://man7.org/linux/man-pages/man3/mallopt.3.html). Arrow's arrays are in it
    # too: with an allocator of their own, they and numpy's cannot use each other's pages. Each arena reserves 64 MiB of
    # address space, which spark.executor.pyspark.memory counts: two are enough for the threads that decode and encode.
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(32 * 1024 * 1024),
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(128 * 1024 * 1024),
    "spark.executorEnv.MALLOC_TOP_PAD_": str(64 * 1024 * 1024),
    "spark.executorEnv.MALLOC_ARENA_MAX": "2",
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
}
_LOCAL = {
    # Where no other machine takes part, none can connect: Spark's ports take commands from whoever reaches them.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Elsewhere, --py-files may bring this package, which the daemon does not have yet.
    "spark.python.daemon.module": worker_daemon.__name__,
}
_OF_FILES = {_OF_DRIVER: "-Duser.timezone=UTC -XX:TieredStopAtLevel=1"}
"""Where few cores integrate change files, no row passes through the JVM: its second compiler takes a core when the
process starts, and gains nothing later (docs/contributing/speed.md)."""
_LONGEST_DIRECTORY = 60
"""Of sockets between the JVM and Python, whose paths have at most 108 bytes (unix(7)), 45 of them the socket's name.
Over TCP each job waits 40 ms for an acknowledgement that is delayed."""


@dataclass(frozen=True)
class Begun:
    """A JVM that is being started: by what configuration, and what ends when it runs, or raises why it does not."""

    conf: SparkConf
    start: Future[None]


_ahead: list[Begun] = []


def begin(jars: Sequence[str] = (), *, of_files: bool = False) -> Begun:
    """Begin to start the JVM of a session, and return it; later processes have this Python, and these sources.

    jars: on its class path. of_files: it integrates change files. Raises EnvironmentFault where temporary files cannot
    be kept.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if submitted:  # by spark-submit: its JVM has the user's configuration
        SparkContext._ensure_initialized()  # noqa: SLF001 - else SparkConf does not ask the JVM
    given = SparkConf()
    local = str(given.get("spark.master", DEFAULTS["spark.master"])).startswith("local")
    of_master = {**(_LOCAL if local else {}), **(_OF_FILES if of_files and _has_few_cores(given) else {})}
    for key, value in {**DEFAULTS, **of_master}.items():
        given.setIfMissing(key, value)
    if not submitted:
        temporary = scratch.directory()
        given.set(_OF_DRIVER, f'{given.get(_OF_DRIVER)} "-Djava.io.tmpdir={temporary}"')
        given.setIfMissing("spark.sql.warehouse.dir", str(temporary / "warehouse"))
        if len(str(temporary)) < _LONGEST_DIRECTORY:
            given.setIfMissing("spark.python.unix.domain.socket.enabled", "true")
    if class_archive.there():
        given.setIfMissing(class_archive.OPTIONS, class_archive.options())
    if jars:
        given.set("spark.jars", ",".join(jars))
    path = os.pathsep.join(dict.fromkeys(filter(None, [_ROOT, *os.environ.get("PYTHONPATH", "").split(os.pathsep)])))
    os.environ["PYTHONPATH"] = path
    given.set("spark.executorEnv.PYTHONPATH", path)
    return Begun(given, ThreadPoolExecutor(1, "jvm").submit(jvm_log.start_jvm, given))


def begin_ahead() -> None:
    """Begin to start the JVM that integrates change files, while this process imports what it needs for that.

    The first session of change files has it. Raises EnvironmentFault where temporary files cannot be kept.
    """
    if not _ahead:
        _ahead.append(begin(of_files=True))


def begun(jars: Sequence[str] = (), *, of_files: bool = False) -> Begun:
    """Return the JVM that was begun ahead, where it is as is asked for; else one that is begun now: see `begin`."""
    return _ahead.pop() if of_files and not jars and _ahead else begin(jars, of_files=of_files)


def _has_few_cores(given: SparkConf) -> bool:
    """Return whether Spark is to run on this machine alone, on so few cores that no rows are shuffled."""
    master = re.fullmatch(r"local(?:\[(\*|\d+)[^\]]*\])?", str(given.get("spark.master", DEFAULTS["spark.master"])))
    if master is None:
        return False
    cores = (os.cpu_count() or 1) if master[1] == "*" else int(master[1] or 1)
    return cores < SHUFFLING_CORES
