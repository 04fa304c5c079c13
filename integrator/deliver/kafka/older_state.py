"""What refuses a state directory that is older than what the brokers have, or is another process's (I8).

Nothing is sent then.
"""

from __future__ import annotations

from integrator.contracts.shards import CycleRecord
from integrator.errors import EnvironmentFault
from integrator.names.numbers import counted


def raise_if_newer(last: CycleRecord, record: CycleRecord) -> None:
    """Raise EnvironmentFault if what the brokers have as begun last is of a later state directory than the record."""
    if last.generation > record.generation:
        raise EnvironmentFault(
            f"cycle {record.cycle}: the brokers have cycle {last.cycle} of a newer state directory of this channel: "
            "that one was moved back, or a backup was imported into it, after this one was copied (shards.json: "
            f"generation {last.generation} there, {record.generation} here). Use the newer one; or remove shards.json "
            "from this one: then the rows after its last cycle are sent again"
        )
    if last.generation == record.generation and (last.step != record.step or last.journal != record.journal):
        raise older_state(record, last)


def older_state(record: CycleRecord, last: CycleRecord) -> EnvironmentFault:
    """Return the error for a cycle that is not the one which the brokers have under its number, or is before that."""
    what = f"the brokers have cycle {last.cycle}"
    if last.cycle == record.cycle:
        what += " with other change files"
    elif last.step < record.step:
        what = f"the brokers have more of cycle {last.cycle} than this state knows"
    return EnvironmentFault(
        f"cycle {record.cycle}: {what}: the state directory is older than they are; use the newest one, or remove "
        "shards.json from this one: then the rows after its last cycle are sent again"
    )


def too_late(record: CycleRecord, begun: CycleRecord | None) -> EnvironmentFault:
    """Return the error for a cycle that another process begins otherwise, or has sent."""
    other = "nothing" if begun is None else f"cycle {begun.cycle}, in {counted(begun.count, 'shard')}"
    return EnvironmentFault(
        f"cycle {record.cycle}, in {counted(record.count, 'shard')}: another process has begun {other} at the brokers "
        "since: two processes integrate this channel, each with a state directory of its own; end one of them"
    )
