"""The Node consumer of the tests: its packages come from the npm registry, into build/."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from tests.parts.brokers import LIBRARIES
from tests.parts.waiting import PATIENCE_S

PROGRAM = Path(__file__).parent / "node"
INSTALLED = LIBRARIES.parent / "node-consumer"


def installed() -> Path | None:
    """Where the consumer is, with its packages; None where there is no npm."""
    if not (INSTALLED / "node_modules").exists():
        if not (shutil.which("npm") and shutil.which("node")):
            return None
        INSTALLED.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PROGRAM / name, INSTALLED)
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
        done = subprocess.run(command, cwd=INSTALLED, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(INSTALLED)
            print(f"npm gave no packages: {done.stderr[-2000:]}")
            return None
    shutil.copy(PROGRAM / "consume.js", INSTALLED)
    return INSTALLED


def consume(brokers: str, registry: str, kind: str, topic: str, count: int) -> list[dict]:
    directory = installed()
    assert directory is not None
    done = subprocess.run(
        ["node", "consume.js", brokers, registry, kind, topic, str(count)],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert len(done.stdout.splitlines()) == count, done.stdout + done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
