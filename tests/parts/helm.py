"""Helm: the one that is installed, or one that is built from the Go module proxy."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess

from tests.parts.brokers import LIBRARIES

PACKAGE = "helm.sh/helm/v3/cmd/helm@v3.18.6"
_PLACE = LIBRARIES.parent / "helm"


def program() -> str | None:
    """Return the program, after it is built if need be, which takes a minute; None where it is not to be had."""
    if (installed := shutil.which("helm")) or not shutil.which("go"):
        return installed
    _PLACE.mkdir(parents=True, exist_ok=True)
    with (_PLACE / "lock").open("w") as lock:  # tests run in several processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (_PLACE / "helm").exists():
            environment = {**os.environ, "GOBIN": str(_PLACE)}
            done = subprocess.run(["go", "install", PACKAGE], env=environment, stderr=-1, text=True, check=False)
            if done.returncode:
                print(f"Helm is not to be had: {done.stderr[-2000:]}")
                return None
    return str(_PLACE / "helm")
