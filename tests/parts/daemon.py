"""The integrator as its users run it: a process, its log, its signals."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from tests.parts.waiting import PATIENCE_S, until

ROOT = Path(__file__).parent.parent.parent
_started: list[Daemon] = []


class Daemon:
    """A running `run.py`, by Python or by spark-submit."""

    def __init__(
        self,
        channel: Path,
        *words: str,
        command: str = "",
        submit: bool = False,
        master: str = "local[2]",
        spark: Sequence[str] = (),
        program: Sequence[str] = ("run.py",),
    ) -> None:
        """Start it. command: another than to integrate. spark: what spark-submit is given as --conf."""
        python = Path(sys.executable)
        settings = [word for setting in spark for word in ("--conf", setting)]
        runner = [str(python.with_name("spark-submit")), "--master", master, *settings] if submit else [str(python)]
        environment = {**os.environ, "TZ": "UTC", "SPARK_MASTER": master, "PYSPARK_PYTHON": str(python)}
        environment["INTEGRATOR_LOG_CYCLES"] = "1"  # tests wait for them
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            [*runner, *program, *filter(None, [command]), "--channel", str(channel), *words],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # spark-submit hands its driver's stderr on to its own stdout
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        _started.append(self)

    def _read(self) -> None:
        """Read until the last of its processes has ended: one may outlive the driver, and still holds the pipe."""
        assert self._process.stdout is not None
        with self._process.stdout as said:
            for line in said:
                self.lines.append(line.rstrip("\n"))

    def events(self, name: str) -> list[dict]:
        events = [json.loads(line) for line in list(self.lines) if line.startswith("{")]
        return [event for event in events if event["event"] == name]

    def wait_for(self, name: str, count: int = 1, seconds: float = PATIENCE_S) -> list[dict]:
        """Wait until its log has so many events of that name; return them. Fails where it ends before."""

        def told() -> str:
            return f"no {name!r}: " + "\n".join(self.lines[-30:])

        until(lambda: len(self.events(name)) >= count or not self.running, told, seconds)
        found = self.events(name)
        assert len(found) >= count, told()
        return found

    def wait_for_rows(self, count: int) -> None:
        """Wait until so many rows are in synced cycles. Fails where it ends before."""

        def told() -> str:
            return f"not {count} rows in synced cycles: " + "\n".join(self.lines[-30:])

        until(lambda: self.rows() >= count or not self.running, told)
        assert self.rows() >= count, told()

    def rows(self) -> int:
        """How many rows are in synced cycles."""
        return sum(cycle["rows"] for cycle in self.events("cycle synced"))

    def terminate(self, seconds: float = PATIENCE_S) -> int:
        self._process.send_signal(signal.SIGTERM)
        return self.wait(seconds)

    def wait(self, seconds: float = PATIENCE_S) -> int:
        code = self._process.wait(seconds)
        self._reader.join(seconds)
        return code

    def kill_jvm(self) -> None:
        """kill -9 of Spark's JVM."""
        for process in psutil.Process(self._process.pid).children(recursive=True):
            if process.name() == "java":
                process.kill()

    def listens_on(self) -> set[str]:
        """The addresses that its processes listen on."""
        family = [psutil.Process(self._process.pid)]
        family += family[0].children(recursive=True)
        found: set[str] = set()
        for process in family:
            with contextlib.suppress(psutil.Error):
                found |= {one.laddr.ip for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN}
        return found

    def kill(self, *, everything: bool) -> None:
        """kill -9 of the process alone, whose JVM and workers are left to find out, or of all of them at once."""
        family = [psutil.Process(self._process.pid)]
        if everything:
            family += family[0].children(recursive=True)
        for process in family:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        self.wait()

    def workers(self) -> set[int]:
        """Spark's Python workers that tasks run in: the children of their daemon."""
        found = set()
        for process in psutil.Process(self._process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.cmdline()[-1:] == ["pyspark.worker"] and "java" not in process.parent().name():
                    found.add(process.pid)
        return found

    def kill_workers(self) -> list[str]:
        """kill -9 of Spark's Python processes; returns what each was."""
        killed = []
        for process in psutil.Process(self._process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                words = [word for word in process.cmdline() if word.startswith("pyspark.")]
                if words:
                    process.kill()
                    killed += words
        return killed

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None


@contextlib.contextmanager
def none_left() -> Iterator[None]:
    """kill -9 of what was started within and still runs: it would take the time of the tests after it, and warn in them."""
    before = len(_started)
    try:
        yield
    finally:
        while len(_started) > before:
            left = _started.pop()
            if left.running:
                left.kill(everything=True)
