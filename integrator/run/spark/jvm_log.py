"""What Spark's JVM writes to stderr, as events of the log: a line each, secrets hidden (I7), without Java's traces.

What a failed task or query writes there comes to the driver as an exception too, and is reported by whoever handles it;
so it is not shown a second time. Under spark-submit the JVM is the parent process, and writes where that writes.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator
from typing import IO

import structlog
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from integrator.run.seen.progress import DEBUG

_LINE = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?P<level>[A-Z]+) (?P<logger>[\w.$]+): (?P<text>.*)")
_AT_START = re.compile(
    r"WARNING: Using incubator modules|Using Spark's default log4j profile|Setting (default|Spark) log level|"
    r"To adjust logging level|Picked up \w+OPTIONS"
)
"""Written whenever a JVM starts."""
_OF_TRACE = re.compile(
    r"\s|$|Caused by: |Suppressed: |Traceback |Driver stacktrace|During handling of|The above exception was|"
    r"([\w$]+\.)+[\w$]*(Exception|Error)\b|Exception in thread|\w+(Error|Exception)(: |$)"
)
_REPORTED = ("Executor", "TaskSetManager", "MicroBatchExecution", "PythonRunner", "ArrowPythonRunner", "Utils")
"""Loggers of errors that the driver gets as exceptions."""
_NEVER_HIDDEN = "OutOfMemoryError"
_MOST = 300
"""Characters of a line that are shown."""


def start_jvm(conf: SparkConf) -> None:
    """Start the JVM of this process with `conf`, if it has none yet; its stderr becomes events of the log."""
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:  # noqa: SLF001 - spark-submit's
        return
    reading, writing = os.pipe()
    lines = os.fdopen(reading, encoding="utf-8", errors="replace")
    threading.Thread(target=_report, args=(lines,), name="spark-log", daemon=True).start()
    try:
        gateway = launch_gateway(conf, {"stderr": writing})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)  # noqa: SLF001
    finally:
        os.close(writing)


def _report(lines: IO[str]) -> None:
    log = structlog.get_logger()
    with lines:
        if os.environ.get(DEBUG):
            for line in lines:
                log.info("spark", text=line.rstrip("\n"))
            return
        for level, logger, text in worth_reading(lines):
            getattr(log, level)("spark", text=text, **({"logger": logger} if logger else {}))


def worth_reading(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield level, logger and text of those lines that nobody else reports; `logger` is empty where none is named."""
    for whole in lines:
        line = whole.rstrip("\n")
        found = _LINE.match(line)
        if _NEVER_HIDDEN in line:
            yield "error", "", line[:_MOST]
        elif found is not None:
            if found["level"] in {"ERROR", "FATAL"} and found["logger"] not in _REPORTED:
                yield "error", found["logger"], found["text"][:_MOST]
        elif not _AT_START.match(line) and not _OF_TRACE.match(line):
            yield "warning", "", line[:_MOST]
