"""Waiting for what must come: a test waits for an event, and its limit is for what never comes, not for a slow machine."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 600.0
"""The most that a test waits for one event: a machine with twenty processes a core is that slow. pytest's own limit for a
whole test (pyproject.toml) is above it, so that what was waited for is named."""
_POLL_S = 0.05


def until(
    condition: Callable[[], object], told: Callable[[], str] | str = "it did not come", seconds: float = PATIENCE_S
) -> None:
    """Return as soon as `condition` holds; fail with `told` where it does not hold within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"within {seconds:.0f} s: {told() if callable(told) else told}"
        time.sleep(_POLL_S)
