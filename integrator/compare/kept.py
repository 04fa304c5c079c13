"""What is kept of comparisons that go round the tables of a channel.

state/CHANNEL/compared.json  by table: when it was compared last, and what came of it; when it was last equal, and at
                             which position of the log
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from integrator import durable
from integrator.compare.results import TableResult
from integrator.errors import EnvironmentFault

FILE = "compared.json"
_NUMBERS = ("rows", "equal", "missing", "extra", "different", "unsettled", "ambiguous", "shared", "repeated")


def kept(state: Path) -> dict[str, dict[str, Any]]:
    """Return what is kept of each table. Raises EnvironmentFault for a file that is damaged."""
    path = state / FILE
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_bytes())
        if all(isinstance(one, dict) for one in found.values()):
            return dict(found)
    except (ValueError, AttributeError):
        pass
    raise EnvironmentFault(f"{path}: is damaged; remove it: it records when tables were compared, and nothing else")


def keep(state: Path, result: TableResult) -> dict[str, Any]:
    """Keep what came of a table; return it. Raises EnvironmentFault, OSError."""
    known, now = kept(state), datetime.now(timezone.utc).isoformat(timespec="seconds")
    before = known.get(result.table, {})
    proved = {"proved": now, "proved_position": result.position} if result.is_equal else {}
    one = {"compared": now, **{name: getattr(result, name) for name in (*_NUMBERS, "position", "seconds", "why")}}
    one |= {name: before[name] for name in ("proved", "proved_position") if name in before} | proved
    durable.replace(state / FILE, json.dumps({**known, result.table: one}).encode())
    return one
