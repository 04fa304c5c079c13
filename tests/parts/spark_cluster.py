"""A real Spark standalone cluster on loopback, from the pyspark package: a master and workers of one core each."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil
import pyspark

from integrator.run.spark import class_archive
from tests.parts.waiting import until

HOME = Path(pyspark.__file__).parent
JAVA_OPTIONS = f"-XX:TieredStopAtLevel=1 {class_archive.options()}"
"""These processes live for seconds, most of which is their start: they have no second compiler, and archived classes."""


class SparkCluster:
    """A master, and workers that can be added, killed and paused."""

    def __init__(self, directory: Path, workers: int = 2) -> None:
        self._directory = directory
        self._port = _free_port()
        self.master = f"spark://127.0.0.1:{self._port}"
        self._processes: list[subprocess.Popen[bytes]] = []
        self._start("master.Master", "--port", str(self._port), "--webui-port", "0", log="master")
        until(lambda: _listens(self._port), "the master does not listen")
        for _ in range(workers):
            self.add_worker()

    def add_worker(self, cores: int = 1) -> None:
        """Start another worker."""
        number = len(self._processes)
        words = (
            "--cores",
            str(cores),
            "--memory",
            "2g",
            "--webui-port",
            "0",
            "--work-dir",
            str(self._directory / f"w{number}"),
        )
        self._start("worker.Worker", *words, self.master, log=f"worker-{number}")
        log = self._directory / f"worker-{number}.log"
        until(lambda: "Successfully registered" in log.read_text(), "a worker does not register")

    def _start(self, kind: str, *words: str, log: str) -> None:
        environment = {
            **os.environ,
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
        }
        command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", *words]
        with (self._directory / f"{log}.log").open("wb") as output:
            self._processes.append(
                subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
            )

    def executors(self) -> list[psutil.Process]:
        """Return the executors' JVMs, those that were started first at first."""
        found = []
        for worker in self._processes[1:]:
            if worker.poll() is None:
                children = psutil.Process(worker.pid).children(recursive=True)
                found += [one for one in children if "CoarseGrainedExecutorBackend" in " ".join(_command(one))]
        return sorted(found, key=psutil.Process.create_time)

    def busiest(self, seconds: float = 1.0) -> psutil.Process:
        """Return the executor that works most, its Python processes included."""
        before = [(one, _cpu(one)) for one in self.executors()]
        time.sleep(seconds)
        return max(before, key=lambda pair: _cpu(pair[0]) - pair[1])[0]

    def kill_worker(self) -> None:
        """kill -9 of the first worker that runs; its executors end when they find out."""
        worker = next(one for one in self._processes[1:] if one.poll() is None)
        worker.kill()
        worker.wait()

    def workers(self) -> int:
        """How many workers run."""
        return sum(one.poll() is None for one in self._processes[1:])

    def lose_worker(self, draw: random.Random) -> None:
        """kill -9 of one of the workers that run, and of its executors; another one takes its place."""
        worker = draw.choice([one for one in self._processes[1:] if one.poll() is None])
        family = family_of(worker.pid)
        send(signal.SIGKILL, family)
        worker.wait()
        self.add_worker()

    def __enter__(self) -> SparkCluster:
        return self

    def __exit__(self, *_: object) -> None:
        family = [one for process in self._processes if process.poll() is None for one in family_of(process.pid)]
        for process in self._processes:
            process.kill()
            process.wait()
        send(signal.SIGKILL, family)


def family_of(pid: int) -> list[psutil.Process]:
    """Return a process and all below it."""
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def send(number: signal.Signals, processes: list[psutil.Process]) -> None:
    """Send a signal to processes, as far as they still are there."""
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue


def _cpu(executor: psutil.Process) -> float:
    return sum(sum(one.cpu_times()[:2]) for one in family_of(executor.pid))


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
