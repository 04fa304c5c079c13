"""The sub-cycle that was begun last, in the state file sub_cycle.json: it is durable before a message is sent (I2)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from integrator import durable
from integrator.durable import Damaged


@dataclass(frozen=True)
class BegunSubCycle:
    """after, end: the numbers of the last slice before it, and of its own last one. moment: when it was begun."""

    after: int
    end: int
    moment: datetime


def write(path: Path, begun: BegunSubCycle) -> None:
    """Have the file say that a sub-cycle is begun. Raises EnvironmentFault."""
    recorded = {"after": begun.after, "end": begun.end, "moment": begun.moment.isoformat()}
    durable.replace(path, json.dumps(recorded).encode())


def read(path: Path) -> BegunSubCycle | None:
    """Return what the file says; None before the first sub-cycle. Raises Damaged."""
    if not path.exists():
        return None
    try:
        begun = json.loads(path.read_text())
        return BegunSubCycle(int(begun["after"]), int(begun["end"]), datetime.fromisoformat(begun["moment"]))
    except (ValueError, LookupError, TypeError) as error:
        raise Damaged(f"{path}: is no sub-cycle that was begun: {error!r}") from error
