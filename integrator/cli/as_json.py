"""What `check`, `plan` and `state` show, as JSON for programs (--json): one object on stdout; I7: nothing secret."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from integrator.backlog import Lag
from integrator.channel.secret import Secrets, mask_properties
from integrator.cli import show
from integrator.durable import Damaged
from integrator.encode.messages import value_schema
from integrator.errors import IntegratorError
from integrator.plan import Plan
from integrator.run.seen.failure import Failure
from integrator.run.seen.heartbeat import Beat
from integrator.run.state import aside
from integrator.run.state.directory import State
from integrator.run.state.rewind import Synced
from integrator.schema import describe


def written(found: dict[str, Any], hide: Any) -> str:
    """Return an object as text, each text in it after `hide`."""

    def hidden(value: Any) -> Any:
        if isinstance(value, dict):
            return {hide(str(name)): hidden(inside) for name, inside in value.items()}
        if isinstance(value, list | tuple):
            return [hidden(inside) for inside in value]
        return hide(value) if isinstance(value, str) else value

    return json.dumps(hidden(found), ensure_ascii=False, indent=2)


def check(plan: Plan, file: str, connected: str) -> str:
    """Return what `check` found in a channel without problems. connected: what --connect reports."""
    found: dict[str, Any] = {"channel": file, "tables": len(plan.recipe.tables), "notes": list(plan.notes)}
    if connected:
        found["connect"] = connected.splitlines()
    return written({**found, "problems": []}, plan.secrets.mask)


def error(failed: IntegratorError, secrets: Sequence[Secrets]) -> str:
    """Return why a command ended: kind, who acts, exit code; of a channel all problems, with file and line."""

    def mask(text: str) -> str:
        for known in secrets:
            text = known.mask(text)
        return text

    found: dict[str, Any] = {"error": str(failed), "kind": failed.kind.name, "who": failed.kind.who}
    found |= {"exit_code": failed.kind.exit_code, "problems": [dataclasses.asdict(one) for one in failed.problems]}
    return written(found, mask)


def plan(plan: Plan, only: Sequence[str]) -> str:
    """Return what would be sent; `only` of these tables, if any are named."""
    recipe = plan.recipe
    found = {
        "channel": plan.channel,
        "source": plan.source.describe(),
        "kafka": plan.brokers,
        "producer": mask_properties(recipe.send.producer),
        "format": show.layout(recipe),
        "bundling": show.bundling(recipe),
        "max_bytes": recipe.messages.max_bytes,
        "delivery": "exactly_once" if recipe.send.exactly_once else "at_least_once",
        "registry": list(plan.registry.access.urls) if plan.registry else [],
        "state": plan.state,
        "topics": list(plan.topics),
        "notes": list(plan.notes),
        "tables": [
            {
                "table": table.table.name,
                "topic": table.topic,
                "style": table.style,
                "operations": list(table.operations),
                "key": list(table.key),
                "distribution_key": list(table.distribution_key),
                "message_key": show.message_key(table.message_key),
                "captured": list(show.captured(table.capture)),
                "columns": [
                    {
                        "name": show.field_name(field.name),
                        "type": describe(field.type),
                        "nullable": field.nullable,
                        "value": show.value(field),
                    }
                    for field in table.fields
                ],
                "schemas": [
                    {"subject": one.subject, "type": one.type, "schema": one.text}
                    for one in plan.registrations
                    if one.table == table.table.name
                ]
                or [{"schema": value_schema(table, recipe)}],
            }
            for table in recipe.tables
            if not only or table.table.name in only
        ],
    }
    return written(found, plan.secrets.referenced)


def state(
    channel: str, kept: State, failed: Failure | None, cycles: Sequence[Synced | Damaged], lag: Lag | None
) -> str:
    """Return what a channel does now, why it waits, its last failure, its refreshes and its last synced cycles.

    lag: what is not sent, where that was asked for.
    """
    beat = Beat.read(kept.path)
    found: dict[str, Any] = {
        "channel": channel,
        "process": kept.holder(),
        "doing": beat.doing if beat else None,
        "since": beat.since if beat else None,
        "why": beat.why if beat else None,
        "suspended": kept.suspended,
        "failure": dataclasses.asdict(failed) if failed else None,
        "set_aside": {name: dataclasses.asdict(one) for name, one in aside.read(kept.path).items()},
        **{name: list(lines(kept.path)) for name, lines in show.STANDING.items()},
        "cycles": [
            dataclasses.asdict(one) | {"at": one.at.isoformat()} for one in cycles if not isinstance(one, Damaged)
        ],
        "damaged": [str(one) for one in cycles if isinstance(one, Damaged)],
    }
    if lag is not None:
        found["lag_files"], found["lag_bytes"], found["lag_records"] = lag.files, lag.bytes, lag.records
        found["server_log"] = lag.log and dataclasses.asdict(lag.log)
    return written(found, str)
