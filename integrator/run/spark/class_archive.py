"""The classes that Spark's JVM loads at its start, in an archive: made once, it halves the CPU of each later start.

Java's class data sharing: https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html. The archive belongs to
this Python environment, whose jars it names; another version of Java, or other jars, pass it over.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import TimeoutExpired

import pyspark
from pyspark import SparkContext

from integrator.errors import EnvironmentFault

OPTIONS = "spark.driver.defaultJavaOptions"
"""Spark's property for options that stand before those of spark.driver.extraJavaOptions."""
_SUBMIT = "PYSPARK_SUBMIT_ARGS"
_QUIET = "-Xlog:cds*=off"
_WRITES_WITHIN_S = 120


def path() -> Path:
    """Return where the archive is, if it was made."""
    return Path(sys.prefix, "var", "integrator", f"spark-{pyspark.__version__}.jsa")


def there() -> Path | None:
    """Return the archive, where it was made."""
    return path() if path().exists() else None


def options() -> str:
    """Return the options of a JVM that takes its classes from the archive; none where there is no archive."""
    return f'"-XX:SharedArchiveFile={path()}" {_QUIET}' if there() else ""


def make(run: Callable[[], None]) -> Path:
    """Make the archive of what Spark's JVM loads while `run` starts and uses it; return its path.

    The JVM of this process ends with that. Raises EnvironmentFault.
    """
    target = path()
    new = target.with_suffix(f".{os.getpid()}.new")
    umask = os.umask(0o022)  # whoever runs this Python reads the archive; the JVM inherits it
    given = os.environ.get(_SUBMIT, "pyspark-shell")
    os.environ[_SUBMIT] = f"--conf '{OPTIONS}=\"-XX:ArchiveClassesAtExit={new}\" {_QUIET}' {given}"
    try:
        _make_writable(new)
        run()
        _end_jvm()
        if not new.exists():
            raise EnvironmentFault(f"{new}: Java wrote no archive; OpenJDK 17 or newer can (java -version)")
        new.replace(target)
    finally:
        with contextlib.suppress(OSError):
            new.unlink()
        os.environ[_SUBMIT] = given
        os.umask(umask)
    return target


def _make_writable(new: Path) -> None:
    """Make the directory of a new archive; raise EnvironmentFault where the archive cannot be written."""
    try:
        new.parent.mkdir(parents=True, exist_ok=True)
        new.touch()
        new.unlink()
    except OSError as error:
        raise EnvironmentFault(
            f"{new}: cannot be written: {error.strerror}; run this as the user who installed Python's packages"
        ) from error


def _end_jvm() -> None:
    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - as PySpark itself ends it
    if process is None:
        raise EnvironmentFault("Spark's JVM is not this process's own: run this with python, not with spark-submit")
    process.stdin.close()
    try:
        code = process.wait(_WRITES_WITHIN_S)
    except TimeoutExpired:
        raise EnvironmentFault(f"Spark's JVM did not end within {_WRITES_WITHIN_S} s") from None
    if code:
        raise EnvironmentFault(f"Spark's JVM ended with {code} when it wrote the archive; is the disk full (df)?")
