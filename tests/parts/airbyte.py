"""Airbyte in tests: the destination as its platform runs it, and an environment of PyPI with its own source and models."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import venv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from tests.parts.brokers import LIBRARIES
from tests.parts.daemon import ROOT
from tests.parts.waiting import PATIENCE_S, until

ENVIRONMENT = LIBRARIES.parent / "airbyte"
REQUIRED = Path(__file__).parent / "airbyte_env" / "requirements.txt"
PLAINTEXT = {"security_protocol": "PLAINTEXT"}
_MADE = "requirements.txt"


def installed() -> Path | None:
    """The programs of an environment with Airbyte's source and models; None where PyPI does not give them."""
    ENVIRONMENT.parent.mkdir(exist_ok=True)
    with ENVIRONMENT.with_name("airbyte.lock").open("w") as lock:  # tests run in several processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = ENVIRONMENT / _MADE
        if not made.exists() or made.read_text() != REQUIRED.read_text():
            venv.create(ENVIRONMENT, with_pip=True, clear=True)
            command = [
                str(ENVIRONMENT / "bin" / "pip"),
                "install",
                "-q",
                "--disable-pip-version-check",
                "-r",
                str(REQUIRED),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"PyPI gave no source of Airbyte's: {done.stderr[-2000:]}")
                return None
            shutil.copy(REQUIRED, made)
    return ENVIRONMENT / "bin"


_ACCEPT = """
import json, sys
from airbyte_cdk.models import AirbyteMessageSerializer
from airbyte_protocol.models import AirbyteMessage
for line in sys.stdin:
    AirbyteMessage.model_validate_json(line)
    print(AirbyteMessageSerializer.load(json.loads(line)).type.value)
"""


def accepted(programs: Path, lines: Sequence[str]) -> list[str]:
    """The types of messages, as the models of Airbyte's CDK, and those of pydantic, read them."""
    done = subprocess.run(
        [str(programs / "python"), "-c", _ACCEPT], input="".join(lines), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


def command(*words: str) -> list[str]:
    """The command line of the destination."""
    return [sys.executable, str(ROOT / "run.py"), "airbyte", *words]


def called(*words: str, given: bytes = b"", environment: Mapping[str, str] | None = None) -> tuple[int, list[str], str]:
    """The exit code, the lines of standard output, and standard error of a command of the destination."""
    more = {**os.environ, **(environment or {})}
    done = subprocess.run(command(*words), input=given, capture_output=True, cwd=ROOT, env=more, check=False)
    return done.returncode, done.stdout.decode().splitlines(keepends=True), done.stderr.decode()


def files(directory: Path, options: Mapping[str, Any], streams: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The words of a command that names a configuration and a catalog, which are written."""
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps(options))
    (directory / "catalog.json").write_text(json.dumps({"streams": streams}))
    return ("--config", str(directory / "config.json"), "--catalog", str(directory / "catalog.json"))


def options(servers: str, pattern: str, **more: Any) -> dict[str, Any]:
    """The options of a destination that writes to a broker of the tests."""
    return {"bootstrap_servers": servers, "topic_pattern": pattern, "protocol": PLAINTEXT, **more}


class Writer:
    """A running `write`: its standard input, and the messages that it wrote so far."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            command("write", *words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        self.lines: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as wrote:
            for line in wrote:
                self.lines.append(line)

    def messages(self, kind: str) -> list[dict[str, Any]]:
        """The messages of a type, as far as they came whole."""
        found = [json.loads(line) for line in list(self.lines) if line.endswith(b"\n")]
        return [message for message in found if message["type"] == kind]

    def send(self, lines: Iterable[str]) -> None:
        """Write lines to its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write("".join(line + "\n" for line in lines).encode())
        self.process.stdin.flush()

    def end(self) -> int:
        """End standard input; return the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return code

    def wait_for_states(self, count: int) -> list[dict[str, Any]]:
        """Wait for so many STATEs, and return them."""
        until(
            lambda: len(self.messages("STATE")) >= count or self.process.poll() is not None,
            lambda: f"not {count} STATEs: " + b"".join(self.lines[-20:]).decode(),
        )
        found = self.messages("STATE")
        assert len(found) >= count, b"".join(self.lines[-20:]).decode()
        return found

    def kill(self, *, everything: bool) -> None:
        """kill -9 of the process alone, or with its JVM and workers; what it wrote until then is read."""
        family = [psutil.Process(self.process.pid)]
        family += family[0].children(recursive=True) if everything else []
        for process in family:
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)

    def close(self) -> None:
        """Close its standard input, which nobody reads any more."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
