"""Actions that check refuses are left out, each with the reason; never so that more is sent than before.

Where an expression that masked a column cannot be had, the column is left out of the messages; where a condition for
rows cannot, the table is.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from integrator.channel.scope import CONDITIONS
from integrator.errors import ConfigurationError, Problem
from integrator.imports import draft as drafts
from integrator.imports.draft import SCOPE, Draft

_PLACE = re.compile(r"\$\.actions\[(\d+)\](?:\.(\w+))?")
_SCOPES = ("group", "table", "action", "Name", "DatatypeMatch")
_MASKS = ("CaptureExpression", "IntegrateExpression", "Absent")
_CONDITIONS = (*CONDITIONS, "AddressTo", "AddressSubscribe")


def settle(draft: Draft, timezone: str) -> None:
    """Take out of a draft what check refuses of its actions. What else it refuses stays, for the author to mend."""
    for _ in range(2 * len(draft.actions) + 1):
        problems = _problems(draft, timezone)
        places = [(_PLACE.fullmatch(problem.path), problem) for problem in problems]
        found = [(int(place[1]), place[2] or "", problem) for place, problem in places if place is not None]
        found = [one for one in found if one[0] < len(draft.actions)]
        if not found or not _left_out(*found[0], draft):
            return


def _problems(draft: Draft, timezone: str) -> tuple[Problem, ...]:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "channel.yaml"
        file.write_text(draft.text(file), encoding="utf-8")
        try:
            drafts.check(draft, file, timezone)
        except ConfigurationError as error:
            return error.problems
    return ()


def _left_out(at: int, name: str, problem: Problem, draft: Draft) -> bool:
    """Leave a parameter out of an action, or the action; return whether that could be done without sending more."""
    action = draft.actions[at]
    whole = name not in action or name in _SCOPES
    lost = set(action) if whole else {name}
    label = f"{action['action']} ({action.get('group', '*')}, {action.get('table', '*')})"
    label = f"{label} of {action['Name']}" if "Name" in action else label
    label = label if whole else f"{label} {name}"
    instead = _instead(action, lost)
    if instead is None:
        return False
    draft.report.todo(f"{label}: is left out: {problem.text}")
    scope = {key: action[key] for key in SCOPE if key in action} | {"group": draft.kafka["group"]}
    if whole or action.keys() - lost <= {*_SCOPES, "Context"}:
        draft.actions.pop(at)
    else:
        del action[name]
    if instead:
        draft.report.todo(f"{label}: instead {instead['what']} is not sent; mend the expression, and remove Absent")
        draft.actions.append({"action": instead["action"], **scope, **instead["parameters"]})
    return True


def _instead(action: dict[str, Any], lost: set[str]) -> dict[str, Any] | None:
    """Return what must not be sent now: {} if there is nothing, and None where that cannot be said."""
    absent: dict[str, Any] = {"Absent": True}
    if action["action"] in ("Restrict", "Capture") and lost & set(_CONDITIONS):
        return {"action": "TableProperties", "parameters": absent, "what": f"table {action.get('table', '*')}"}
    masked = action["action"] == "ColumnProperties" and not action.get("Extra") and lost & set(_MASKS) & set(action)
    if not masked:
        return {}
    if "Name" not in action or "Absent" in lost:
        return None
    named = {"Name": action["Name"]}
    return {"action": "ColumnProperties", "parameters": named | absent, "what": f"column {action['Name']}"}
