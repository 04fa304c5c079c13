"""The last failure of a channel, as failure.json has it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FILE = "failure.json"


@dataclass(frozen=True)
class Failure:
    """What a channel failed with. `error` has no secrets; has_values: it may hold values of rows, as the log does.

    in_a_row: failures without a synced cycle between them. again_in: seconds until the channel starts again by itself;
    None where it does not. mended: when the next cycle was synced, "" before; times are ISO 8601.
    """

    time: str
    kind: str
    action: str
    error: str
    has_values: bool
    in_a_row: int
    again_in: float | None
    mended: str = ""


def read(directory: Path) -> Failure | None:
    """Return the last failure of the channel whose state directory this is; None if there is none that can be read."""
    try:
        return Failure(**json.loads((directory / FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
