"""The Spark session: what the integrator needs of it, where the user's own configuration does not say otherwise."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import structlog
from py4j.protocol import Py4JError
from pyspark import SparkContext, SparkFiles
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas import functions as of_pandas

from integrator.errors import EnvironmentFault, shortened
from integrator.run.spark import class_archive, configuration
from integrator.run.spark.configuration import DEFAULTS
from integrator.run.spark.failures import classify
from integrator.run.spark.worker_daemon import import_steps

if importlib.util.find_spec("pandas") is None:
    # mapInArrow asks for pandas on the driver, and neither it nor a worker uses it (tried with 4.2.1 and 4.3.0).
    of_pandas.require_minimum_pandas_version = lambda: None  # type: ignore[attr-defined] # it is imported there
_STARTING = (
    "see the lines before this one; it needs Java 17 or newer (java -version), free memory for spark.driver.memory, "
    "and a place for temporary files"
)
_POLL_S = 0.2
_WORKERS_KEPT_S = 25.0
_JOB_ENDS_WITHIN_S = 10.0


def start(name: str, jars: Sequence[str] = (), *, of_files: bool = False) -> SparkSession:
    """Return a session: the one of spark-submit, or a local one on all cores, with `jars` on its class path.

    of_files: it integrates change files. Raises EnvironmentFault if Spark does not start.
    """
    begun = configuration.begun(jars, of_files=of_files)
    try:
        begun.start.result()
        spark = SparkSession.builder.config(conf=begun.conf.setAppName(f"integrator {name}")).getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        anew = f"; if {archived} is damaged, remove it, and run prepare" if (archived := class_archive.there()) else ""
        raise classify(error) or EnvironmentFault(
            f"Spark does not start: {shortened(str(error))}; {_STARTING}{anew}"
        ) from error
    _have_no_installed_sources(spark)
    _have_files_on_path(spark)
    return spark


def _have_no_installed_sources(spark: SparkSession) -> None:
    """Have Spark not ask two Python processes which data sources are installed (DataSourceManager), when it gets ours.

    Where another Spark keeps them otherwise, it asks.
    """
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - py4j's only door
    with contextlib.suppress(Py4JError, TypeError, AttributeError):
        manager = getattr(jvm.org.apache.spark.sql.execution.datasources, "DataSourceManager$")  # type: ignore[union-attr]
        none = jvm.PythonUtils.toScalaMap(jvm.java.util.HashMap())  # type: ignore[union-attr]
        getattr(getattr(manager, "MODULE$"), "dataSourceBuilders_$eq")(jvm.scala.Some(none))  # type: ignore[union-attr]


def _have_files_on_path(spark: SparkSession) -> None:
    """Have Spark's Python processes know the directory of its files from their start, where that is this machine's.

    Where it is new to them, each of them reads the archives of PySpark anew, once for each of PySpark's packages: 0.2 s
    of CPU (pyspark.worker_util.setup_spark_files, importlib.invalidate_caches).
    """
    if is_local(spark):
        path = [SparkFiles.getRootDirectory(), *filter(None, [os.environ.get("PYTHONPATH")])]
        spark.sparkContext.environment["PYTHONPATH"] = os.pathsep.join(path)


def there() -> SparkSession | None:
    """Return the session that this process has already; None where it has none."""
    return None if SparkContext._active_spark_context is None else SparkSession.builder.getOrCreate()  # noqa: SLF001


def guest(of: SparkSession) -> SparkSession:
    """Return a session in the Spark of somebody else, which stays as it is, but for the settings that this one has.

    Raises EnvironmentFault where Spark would try tasks again beside those that are still sending.
    """
    conf, (tries, fixed) = of.sparkContext.getConf(), _tries(of)
    if tries != "1":
        raise EnvironmentFault(f"Spark tries a task {tries} times, and order needs that it is tried once: {fixed}")
    if conf.get("spark.speculation", "false") == "true":
        raise EnvironmentFault("Spark may run a task twice, which order forbids: start it with spark.speculation=false")
    own = of.newSession()
    for key, value in DEFAULTS.items():
        if own.conf.isModifiable(key):
            own.conf.set(key, value)
    return own


def _tries(of: SparkSession) -> tuple[str, str]:
    """Return how often Spark tries a task, and how that is made once (SparkContext.createTaskScheduler)."""
    master = str(of.sparkContext.master)
    if local := re.fullmatch(r"local(?:\[[\d*]+(?:, *(\d+))?\])?", master):
        return local[1] or "1", f"write its master {master} without the second number"
    tries = of.sparkContext.getConf().get("spark.task.maxFailures", "4")
    return str(tries), "start it with spark.task.maxFailures=1"


def warm_up(session: SparkSession) -> None:
    """Start a Python worker that has imported the steps, while the first stream is being started.

    Reading the modules is a third of the time to the first synced cycle; the worker is used again for that cycle.
    """

    def run() -> None:
        with contextlib.suppress(Exception):  # what is wrong with workers, the first cycle reports
            session.range(1, numPartitions=1).mapInArrow(import_steps, "id long").collect()

    threading.Thread(target=run, name="warm-up", daemon=True).start()


@contextlib.contextmanager
def workers_kept(session: SparkSession, last_used: Callable[[], float]) -> Iterator[None]:
    """Keep Python workers while nothing comes: Spark ends those that do nothing for a minute.

    The next cycle would begin with a new one, which is ten times its time (PythonWorkerFactory.IDLE_WORKER_TIMEOUT_NS).
    So would a cycle that begins while a worker is being kept: none is while cycles follow each other. Where executors
    are given back while nothing comes, they are not kept for this.

    last_used: returns when a cycle used workers last, by time.monotonic().
    """
    if session.sparkContext.getConf().get("spark.dynamicAllocation.enabled", "false") == "true":
        yield
        return
    tracker, ended = session.sparkContext.statusTracker(), threading.Event()
    partitions = 1 if is_local(session) else session.sparkContext.defaultParallelism

    def run() -> None:
        left = _WORKERS_KEPT_S
        while not ended.wait(left):
            left = last_used() + _WORKERS_KEPT_S - time.monotonic()
            if left > 0:
                continue
            left = _WORKERS_KEPT_S
            with contextlib.suppress(Exception):  # what is wrong with workers or the session, a cycle reports
                if not tracker.getActiveJobsIds():  # a second worker would be started beside one that works
                    session.range(partitions, numPartitions=partitions).mapInArrow(import_steps, "id long").collect()

    thread = threading.Thread(target=run, name="workers-kept", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_JOB_ENDS_WITHIN_S)  # a session that is stopped in the middle of its job logs an error


def stop(session: SparkSession) -> None:
    """Stop a session; one whose JVM has ended is stopped already."""
    try:
        session.stop()
    except (Py4JError, OSError):
        structlog.get_logger().warning("Spark's JVM had ended before it was stopped")


def is_local(session: SparkSession) -> bool:
    """Return whether all of Spark's processes are on this machine, and end with this one."""
    return str(session.sparkContext.master).startswith("local")


def has_secret(session: SparkSession) -> bool:
    """Return whether Spark's processes on other machines must know a secret, if there are any."""
    return is_local(session) or session.sparkContext.getConf().get("spark.authenticate", "false") == "true"


def lock_jvm(session: SparkSession, path: Path, wait_s: float) -> tuple[Any, Any]:
    """Have the JVM hold a lock on `path` as long as it lives: it may outlive a killed driver for a moment.

    Returns what must be kept as long: the JVM gives a lock back when nothing speaks of its file any more; `unlock_jvm`
    has it given back at once. Raises EnvironmentFault if another JVM holds it for longer than `wait_s`.
    """
    jvm = session.sparkContext._jvm  # noqa: SLF001 - py4j's only door
    if jvm is None:
        raise EnvironmentFault("Spark has no JVM beside this process; Spark Connect sessions cannot integrate")
    path.touch(mode=0o600)
    file = jvm.java.io.RandomAccessFile(str(path), "rw")
    deadline = time.monotonic() + wait_s
    while (lock := file.getChannel().tryLock()) is None:
        if time.monotonic() > deadline:
            raise EnvironmentFault(f"{path}: the JVM of an earlier process still runs; end it")
        time.sleep(_POLL_S)
    return file, lock


def unlock_jvm(lock: tuple[Any, Any]) -> None:
    """Give back what `lock_jvm` returned: the JVM may live on, and have the channel again."""
    with contextlib.suppress(Py4JError, OSError):  # a JVM that has ended holds nothing
        lock[0].close()


class _OnSignal:
    """A sun.misc.SignalHandler in Python: spark-submit's process is the JVM, so signals reach that."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop

    def handle(self, _signal: object) -> None:
        """Take the signal."""
        self._stop()

    class Java:
        """What py4j reads."""

        implements = ("sun.misc.SignalHandler",)


def on_jvm_signal(session: SparkSession, name: str, stop: Callable[[], None]) -> None:
    """Call `stop` when the JVM gets the signal `name` (TERM), instead of ending it at once."""
    from pyspark.java_gateway import ensure_callback_server_started  # noqa: PLC0415

    context = session.sparkContext
    ensure_callback_server_started(context._gateway)  # type: ignore[no-untyped-call]  # noqa: SLF001
    jvm = context._jvm  # noqa: SLF001
    if jvm is not None:
        jvm.sun.misc.Signal.handle(jvm.sun.misc.Signal(name), _OnSignal(stop))
