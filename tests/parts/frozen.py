"""`python -m tests.parts.frozen STEP --channel …`: run.py, whose process is stopped (SIGSTOP) at a step of its first cycle.

Whoever started it has it continue with SIGCONT: as a machine that was paused, or a volume without locks that was moved.
"""

from __future__ import annotations

import os
import pkgutil
import signal
import sys

STEPS = {
    "before the brokers are asked": ("integrator.deliver.kafka.begun_cycles:BegunCycles", "begin"),
    "before the cycle is recorded": ("integrator.deliver.kafka.begun_cycles:BegunCycles", "_write"),
    "before its shards are sent": ("integrator.run.cycle", "second_pass"),
    "when all shards are committed": ("integrator.run.cycle", "check_acknowledged"),
}


def main() -> int:
    """Stop once before a function is called, then continue."""
    place, name = STEPS[sys.argv[1]]
    sys.argv = ["run.py", *sys.argv[2:]]
    from integrator.cli.main import main as command

    owner = pkgutil.resolve_name(place)
    function, calls = getattr(owner, name), []

    def stopping(*arguments: object, **named: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        return function(*arguments, **named)

    setattr(owner, name, stopping)
    return command()


if __name__ == "__main__":
    raise SystemExit(main())
