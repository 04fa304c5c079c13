"""State directories, as the integrator and Spark leave them."""

from __future__ import annotations

import json
from pathlib import Path

from integrator.contracts.fragments import Checkpoint
from integrator.run.state.directory import State
from integrator.run.state.sync import Cycle
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import Slice

FILES = 2
"""Files in each cycle."""


def inbox_file(number: int) -> Slice:
    return Slice(f"/in/{number:03d}.jsonl", 100 + number, 1000 + number)


def begin(state: State, cycle: int) -> None:
    """A cycle takes its files, and Spark writes where it ends."""
    last = (cycle + 1) * FILES
    Journal(state.journal).take([inbox_file(number + 1) for number in range(last)])
    spark(state, "offsets", cycle, {"batchWatermarkMs": 0}, {"slices": last})


def sync(state: State, cycle: int, deferred: bytes = b"") -> None:
    """All of a cycle is acknowledged."""
    state.mark(Cycle(cycle, FILES, 10, 10, 1000, None, {}, {}, Checkpoint((cycle + 1) * FILES, deferred=deferred)))


def commit(state: State, cycle: int) -> None:
    spark(state, "commits", cycle, {"nextBatchWatermarkMs": 0})


def spark(state: State, part: str, cycle: int, *lines: object) -> None:
    directory = Path(state.spark_checkpoint) / part
    directory.mkdir(parents=True, exist_ok=True)
    (directory / str(cycle)).write_text("\n".join(["v1", *map(json.dumps, lines)]))
    (Path(state.spark_checkpoint) / "metadata").write_text('{"id":"31a45c64-e3c0-4d60-91f8-e71ff2f965af"}')


def of_cycles(directory: Path, cycles: int, deferred: bytes = b"") -> State:
    """A state after so many committed cycles; rows wait after the last one."""
    state = State(str(directory))
    state.make()
    for cycle in range(cycles):
        begin(state, cycle)
        sync(state, cycle, deferred if cycle == cycles - 1 else b"")
        commit(state, cycle)
    return state


def unfinished(directory: Path) -> list[Path]:
    """What Spark leaves in `offsets` or `commits` where its process ends before a file of it has its name."""
    directory.mkdir(parents=True, exist_ok=True)
    temporary = ".0.7c3b1f0e-5a41-4b0e-8a35-0f6c2d1f9a77.tmp"
    left = [directory / temporary, directory / f".{temporary}.crc"]
    for path in left:
        path.write_bytes(b"v1")
    return left
