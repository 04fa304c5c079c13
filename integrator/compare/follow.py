"""Goes round the tables of a channel, one at a time, and keeps when each was last proved.

state/CHANNEL/compared.json  by table: when it was compared last, and what came of it; when it was last equal, and at
                             which place of the log
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from integrator import durable
from integrator.compare.job import Comparison, Options
from integrator.compare.results import TableResult
from integrator.errors import EnvironmentFault, IntegratorError
from integrator.plan import Plan

FILE = "compared.json"


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
    numbers = ("rows", "equal", "missing", "extra", "different", "unsettled", "ambiguous", "position", "seconds", "why")
    one = {"compared": now, **{name: getattr(result, name) for name in numbers}}
    one |= {name: before[name] for name in ("proved", "proved_position") if name in before} | proved
    durable.replace(state / FILE, json.dumps({**known, result.table: one}).encode())
    return one


def follow(
    planned: Callable[[], Plan], options: Options, pause_s: float, failed: Callable[[str, IntegratorError], None]
) -> Iterator[tuple[TableResult, dict[str, Any]]]:
    """Compare tables for ever, one at a time, and wait between two; yield what came of each, and what is kept of it.

    planned: returns the plan, as definitions are now. failed: takes what cannot be compared now, and is tried again in
    the next round. Raises ConfigurationError.
    """
    while True:
        plan = planned()
        state = Path(plan.state)
        for name in Comparison(plan, options).names:
            try:
                [result] = Comparison(planned(), Options((name,), options.per_second)).run()
            except IntegratorError as error:
                if not (error.kind.retriable or isinstance(error, EnvironmentFault)):
                    raise
                failed(name, error)
            else:
                yield result, keep(state, result)
            time.sleep(pause_s)
