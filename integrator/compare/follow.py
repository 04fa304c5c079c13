"""Goes round the tables of a channel, one at a time, and keeps when each was last proved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from integrator.compare.job import Comparison, Options
from integrator.compare.kept import keep
from integrator.compare.results import TableResult
from integrator.errors import EnvironmentFault, IntegratorError
from integrator.plan import Plan

_EMPTY_S = 10.0


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
        names = Comparison(plan, options).names
        if not names:  # each is set aside, or gone
            time.sleep(max(pause_s, _EMPTY_S))
        for name in names:
            try:
                [result] = Comparison(planned(), Options((name,), options.per_second)).run()
            except IntegratorError as error:
                if not (error.kind.retriable or isinstance(error, EnvironmentFault)):
                    raise
                failed(name, error)
            else:
                yield result, keep(state, result)
            time.sleep(pause_s)
