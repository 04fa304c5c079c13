"""Damage to state directories: files and directories removed, cut, zeroed, or as they were at another time."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

DIRECTORIES = ("checkpoint", "checkpoint/offsets", "checkpoint/commits", "synced")
KINDS = ("removed", "emptied", "cut", "zeroed", "older")


@dataclass(frozen=True)
class Damage:
    """What is done to a file or directory; `older` is the state directory that it is taken from."""

    kind: str
    target: str
    size: int = 0
    older: Path | None = None

    def __str__(self) -> str:
        more = f" to {self.size} bytes" if self.kind == "cut" else f" ({self.older.name})" if self.older else ""
        return f"{self.target} {self.kind}{more}"

    def do(self, state: Path) -> None:
        path = state / self.target
        if self.kind in ("removed", "older"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            if self.older is not None and (self.older / self.target).exists():
                copy = shutil.copytree if (self.older / self.target).is_dir() else shutil.copy2
                path.parent.mkdir(parents=True, exist_ok=True)
                copy(self.older / self.target, path)
        elif path.exists():  # the other one of a pair may have removed it
            os.truncate(path, min(self.size, path.stat().st_size))
            if self.kind == "zeroed":
                path.write_bytes(bytes(self.size))


def draw_damage(draw: random.Random, state: Path, snapshots: list[Path]) -> Damage:
    """One thing that is done to a state directory: to the progress mostly, and to any other file of it."""
    files = sorted(str(path.relative_to(state)) for path in state.rglob("*") if path.is_file())
    newest = [file for file in files if file.rpartition("/")[2].strip(".").split(".")[0] in _last(files)]
    pool = draw.choice([["files.jsonl"], files, newest or files, list(DIRECTORIES)])
    target = draw.choice(pool)
    directory = (state / target).is_dir()
    kind = draw.choice(("removed", "older") if directory else KINDS)
    size = 0 if directory else (state / target).stat().st_size
    if kind == "older":
        return Damage(kind, target, older=draw.choice(snapshots))
    if kind == "cut":
        return Damage(kind, target, draw.randrange(size) if size else 0)
    return Damage(kind, target, size if kind == "zeroed" else 0)


def _last(files: list[str]) -> set[str]:
    """The numbers of the last two cycles."""
    numbers = {int(file.rpartition("/")[2]) for file in files if file.rpartition("/")[2].isdecimal()}
    return {str(number) for number in sorted(numbers)[-2:]}
