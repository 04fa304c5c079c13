"""Where compiled loops are kept: in a directory that is named by all that the machine code depends on.

Numba keeps code by the time of the function's own file. A loop has in it the code of those that it calls, and the
values of constants of other modules, so that a changed file would leave its callers as they were. Each state of this
package, which imports nothing else of the project, has a directory of its own here instead.
https://numba.readthedocs.io/en/stable/developer/caching.html
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np

_config: Any = numba.config
_PREFIX = "checked-" if _config.BOUNDSCHECK else "compiled-"
_IN_USE = "in-use"
_held: list[int] = []
"""Descriptors of files that this process has locked for as long as it lives."""


def choose() -> bool:
    """Have Numba keep code in the directory of these sources; return False where none can be written.

    It is in the directory that NUMBA_CACHE_DIR names, else in the package's `__pycache__`, else in the user's cache
    directory. Where it is new, those of other sources are removed that no process uses.
    """
    name = _PREFIX + _digest()
    for base in _bases():
        directory = base / name
        new = not directory.exists()
        try:
            directory.mkdir(parents=True, exist_ok=True)
            _hold(directory)
        except OSError:
            continue
        if new:
            remove_others(directory)
        _config.CACHE_DIR = str(directory)
        return True
    return False


def is_empty() -> bool:
    """Return whether no code is kept of these sources yet, so that what runs first compiles it."""
    kept = str(_config.CACHE_DIR or "")
    return bool(kept) and next(Path(kept).rglob("*.nbi"), None) is None


def remove_others(kept: Path) -> None:
    """Remove the directories of other sources beside one, but those that a process uses."""
    for other in kept.parent.glob(f"{_PREFIX}*"):
        if other != kept:
            with contextlib.suppress(OSError), (other / _IN_USE).open("w") as used:
                fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(other)


def _hold(directory: Path) -> None:
    """Have nobody remove the directory while this process lives. Raises OSError where it cannot be written."""
    descriptor = os.open(directory / _IN_USE, os.O_RDWR | os.O_CREAT, 0o666)
    _held.append(descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_SH)


def _bases() -> list[Path]:
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return [Path(named).absolute()]
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    package = Path(__file__).parent.parent
    return [*([package / "__pycache__"] if package.is_dir() else []), caches / "integrator"]


def _digest() -> str:
    """Return a digest of the sources of loops, and of what else makes the machine code."""
    processor = (llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten())
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    made = hashlib.sha256(repr((versions, _config.BOUNDSCHECK, processor)).encode())
    for entry in sorted(resources.files("integrator.engine").iterdir(), key=lambda one: one.name):
        if entry.name.endswith(".py"):
            made.update(f"{entry.name}\0".encode() + entry.read_bytes() + b"\0")
    return made.hexdigest()[:32]
