"""Lines that a sender sends, looked at before they count as received: each is one JSON object, null, or blank.

What is refused here is what the decoder would refuse later, when the sender is gone: it is the same check.
"""

from __future__ import annotations

import numpy as np

from integrator.decode.json.document import first_wrong as first_wrong_json
from integrator.decode.json.lines import Lines


def first_wrong(lines: bytes) -> tuple[int, str] | None:
    """Return where the first line begins that is no record, and why; None if each is one. The last one has its end."""
    try:
        lines.decode()
        good, reason = len(lines), ""
    except UnicodeDecodeError as error:
        good, reason = lines.rfind(b"\n", 0, error.start) + 1, "not UTF-8"
    ends = np.flatnonzero(np.frombuffer(lines, np.uint8, good) == ord("\n"))
    offsets = np.concatenate([[0], ends + 1]).astype(np.int32)
    found, why = first_wrong_json(Lines("", lines[:good], np.arange(len(ends)), offsets))
    if why:
        good, reason = int(offsets[found.line]), f"no JSON record in one line: {why}"
    return (good, reason) if reason else None
