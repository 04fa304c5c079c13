"""The schema registry that the tests talk to: a real server, and which one it was."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.parts.brokers import LIBRARIES, free_port
from tests.parts.java import JVM_OPTIONS
from tests.parts.waiting import until

VARIABLE = "INTEGRATOR_TEST_REGISTRY"
VERSION = "3.0.9"
"""The newest of Apicurio in Maven Central that runs on Java 17."""
DIRECTORY = LIBRARIES.parent / f"apicurio-{VERSION}"


@dataclass
class Registry:
    """Where it listens, and what it is."""

    url: str
    kind: str

    @property
    def client(self) -> SchemaRegistryClient:
        return SchemaRegistryClient.new_client({"url": self.url})


@contextlib.contextmanager
def registry() -> Iterator[Registry | None]:
    """A registry named in the environment; Apicurio from Maven Central; Confluent's in Docker is named in the environment."""
    if os.environ.get(VARIABLE):
        yield Registry(os.environ[VARIABLE], f"named by {VARIABLE}")
        return
    runner = _apicurio()
    if runner is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="registry-") as directory:
        server = Server(runner, Path(directory))
        server.start()
        try:
            yield Registry(server.url, f"Apicurio Registry {VERSION} from Maven Central, ccompat v7")
        finally:
            server.stop()


def _apicurio() -> Path | None:
    """The server's jar, fetched if need be; None where there is no Maven or Java."""
    runner = DIRECTORY / f"apicurio-registry-app-{VERSION}-runner.jar"
    if runner.exists():
        return runner
    if not (shutil.which("mvn") and shutil.which("java")):
        return None
    part = DIRECTORY.with_name(f"{DIRECTORY.name}.{os.getpid()}.part")  # tests run in several processes
    part.mkdir(parents=True, exist_ok=True)
    artifact = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={part}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=part)
    if done.returncode:
        print(f"Maven Central gave no registry: {done.stdout[-2000:]}")
        return None
    [archive] = part.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        if hasattr(tarfile, "data_filter"):  # Debian 12's Python 3.11.2 has none
            packed.extraction_filter = tarfile.data_filter
        packed.extractall(part)  # noqa: S202 - from Maven Central, by its checksum
    archive.unlink()
    try:
        part.rename(DIRECTORY)
    except OSError:  # another process was first
        shutil.rmtree(part)
    return runner


class Server:
    """One Apicurio process with its schemas in memory, on a port of 127.0.0.1; it can be stopped and started."""

    def __init__(self, runner: Path, directory: Path) -> None:
        self._runner, self._directory = runner, directory
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}/apis/ccompat/v7"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        settings = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self._port}", "-Dquarkus.log.level=WARN"]
        command = ["java", *JVM_OPTIONS, "-Xmx512m", "-XX:+UseSerialGC", *settings, "-jar", str(self._runner)]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._directory)
        until(self._answers, lambda: (self._directory / "log").read_text()[-4000:])

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._directory / "log").read_text()[-4000:]
        with contextlib.suppress(Exception):  # until it answers, it fails in many ways
            SchemaRegistryClient.new_client({"url": self.url, "max.retries": 0}).get_subjects()
            return True
        return False

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
