"""The tutorial's commands, taken from the page as they stand, in a directory where there is nothing."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.parts import postgres
from tests.parts.brokers import Broker, free_port
from tests.parts.waiting import PATIENCE_S

pytestmark = [pytest.mark.broker, pytest.mark.spark]

PAGE = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> list[str]:
    """The page's blocks of a kind. sh: what is tried here; console: what is installed or removed, which is not."""
    return [text for found, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")) if found == kind]


def script(servers: str) -> str:
    """The commands, with free ports in the place of the page's, and the broker of the tests."""
    text = "set -eu\n" + "".join(blocks("sh"))
    text = text.replace("5433", str(free_port()))
    return text.replace("localhost:9092", servers)


def as_a_user(programs: Path) -> None:
    """Have PostgreSQL's server programs run as its own user where root runs the tests, for they refuse root."""
    programs.mkdir()
    found = postgres.programs()
    assert found is not None
    for name in ("initdb", "pg_ctl"):
        wrapper = programs / name
        owner = "--reuid=postgres --regid=postgres --clear-groups"
        wrapper.write_text(f'#!/bin/sh\nexec setpriv {owner} {found / name} "$@"\n')
        wrapper.chmod(0o755)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """What the commands find: the integrator and Python on the PATH, and a HOME of their own."""
    missing = postgres.missing(wal2json=False)
    if missing:
        pytest.skip(f"the tutorial needs {missing}")
    path = [str(Path(sys.executable).parent), os.environ["PATH"]]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root tries the tutorial by setpriv (Debian: util-linux), and it is not here")
        as_a_user(tmp_path / "programs")
        path.insert(0, str(tmp_path / "programs"))
    given = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "KAFKA_", "HVR_"))}
    return given | {"PATH": ":".join(path), "PYTHONPATH": str(ROOT), "SPARK_MASTER": "local[2]"}


@pytest.fixture
def directory() -> Iterator[Path]:
    """An empty directory that PostgreSQL's user may reach, as those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="tutorial-") as name:
        if os.geteuid() == 0:
            shutil.chown(name, "postgres")
        yield Path(name)


def test_the_commands_of_the_tutorial_show_what_it_says(
    broker: Broker, environment: dict[str, str], directory: Path
) -> None:
    with subprocess.Popen(
        ["bash", "-c", script(broker.servers)],
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
    ) as running:
        try:
            shown, _ = running.communicate(timeout=PATIENCE_S)
        finally:
            stop(running.pid, directory, environment)
    logs = "".join(f"\n{path.name}:\n{path.read_text()[-3000:]}" for path in sorted(directory.glob("*.log")))
    assert running.returncode == 0, shown + logs
    expected = [line for block in blocks("text") for line in block.splitlines()]
    assert [line for line in expected if line not in shown] == [], shown
    assert len(expected) == 10


def stop(group: int, directory: Path, environment: dict[str, str]) -> None:
    """End what the commands have left, where one of them failed."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    if (directory / "pg" / "postmaster.pid").exists():
        subprocess.run(["pg_ctl", "-D", "pg", "-m", "immediate", "stop"], cwd=directory, env=environment, check=False)
