"""What a journal of many synced files costs: a start, and a cycle, without Spark.

python -m tests.bench.journal [--files 200000] [--cycles 300]

Each cycle is one of a channel with a schedule, which starts anew: the state is checked, the stream's process opens the
journal, a new file is taken, and the cycle is marked. The synced files are not in the inbox any more.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from integrator.contracts.fragments import Checkpoint
from integrator.run.state import consistency
from integrator.run.state.directory import State
from integrator.run.state.sync import Cycle
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import Slice
from tests.parts import states


def inbox_file(number: int) -> Slice:
    return Slice(f"/data/inbox/orders-{number:09d}.jsonl", 1000 + number, 10**18 + number)


def sync(state: State, cycle: int, first: int, last: int) -> None:
    """Take files up to `last`, and have the cycle synced and committed."""
    Journal(state.journal).take([inbox_file(number) for number in range(first, last)])
    states.spark(state, "offsets", cycle, {"batchWatermarkMs": 0}, {"slices": last})
    state.mark(Cycle(cycle, last - first, 1, 1, 100, None, {}, {}, Checkpoint(last)))
    states.commit(state, cycle)


def start(state: State) -> None:
    """Do with the journal what a start of the stream does."""
    journal = consistency.check(state)
    journal.renew([], state.last_slice())
    journal.compact(state.compactable())


def measure(synced: int, cycles: int) -> float:
    """Return the seconds of `cycles` cycles after `synced`."""
    with tempfile.TemporaryDirectory() as directory:
        state = State(directory)
        state.make()
        end = synced
        if synced:
            sync(state, 0, 0, synced)
        for cycle in range(1 if synced else 0, 3):
            sync(state, cycle, end, end + 1)
            end += 1
        start(state)
        began = time.perf_counter()
        for cycle in range(3, cycles + 3):
            of_process = State(directory)
            start(of_process)
            sync(of_process, cycle, end, end + 1)
            end += 1
        seconds = time.perf_counter() - began
        size = sum(path.stat().st_size for path in Path(directory).glob("files.*"))
        print(f"{cycles} cycles after {synced:>7} files: {seconds:6.2f} s, {size:>9} bytes on disk", flush=True)
        return seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=200_000)
    parser.add_argument("--cycles", type=int, default=300)
    arguments = parser.parse_args()
    for synced in (0, arguments.files):
        measure(synced, arguments.cycles)


if __name__ == "__main__":
    main()
