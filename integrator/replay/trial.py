"""A replay that sends nothing: what would become of letters, and of which keys later changes were sent already."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa

from integrator.contracts.fragments import FILE_SUMMARY, REJECTED_OP, Checkpoint, FileSummary
from integrator.deliver.kafka.read_back import Begin, each_read_back
from integrator.encode.frames.framing import framing_of
from integrator.librdkafka.properties import client_properties
from integrator.plan import Plan
from integrator.replay.job import Given, Rejection, plan_of, with_schemas, without_refused, write
from integrator.replay.letters import Letter
from integrator.run.passes.first_pass import first_pass
from integrator.run.spark.failures import classify
from integrator.sources.files.reader import slice_of
from integrator.sources.slices import rows_of

_BEFORE_MS = 60_000
"""A letter may be sent a little later than the rows that came after it in its cycle."""


@dataclass(frozen=True)
class Trial:
    """What would become of letters.

    new: those that were not sent before. rows: what would be sent of them. rejected: lines that would be rejected.
    keys: how many keys rows have, by topic. later: those of them that have messages since their letter; keyless: topics
    whose messages have no key, and so no order.
    """

    new: int
    rows: int
    rejected: int
    rejections: tuple[Rejection, ...]
    keys: dict[str, int]
    later: dict[str, list[bytes]]
    keyless: tuple[str, ...]


def trial(plan: Plan, letters: Sequence[Letter]) -> Trial:
    """Return what would become of letters, and read the topics since the first of them. Raises IntegratorError."""
    new = Given(plan).new(letters)
    plan = with_schemas(without_refused(plan), new)
    of_letters = plan_of(plan)
    with tempfile.TemporaryDirectory() as directory:
        files = write(Path(directory), 0, new, plan.changes.letters)
        fragments, summaries = _encoded(of_letters, files)
        rejections = tuple(
            Rejection(Given.stood_in(one.path, line["line"]), line["stage"], line.get("reason", ""))
            for one in summaries
            for line in one.rejections
        )
    keys = _keys(of_letters, fragments)
    since = min((letter.time for letter in new), default=0) - _BEFORE_MS
    keyed = {topic: known for topic, known in keys.items() if known - {None}}
    return Trial(
        new=len(new),
        rows=fragments.num_rows,
        rejected=sum(one.rejected for one in summaries),
        rejections=rejections,
        keys={topic: len(known) for topic, known in keyed.items()},
        later=_later(plan, keyed, max(since, 0)),
        keyless=tuple(sorted(set(keys) - set(keyed))),
    )


def _encoded(plan: Plan, files: Sequence[Path]) -> tuple[pa.Table, list[FileSummary]]:
    """Return what the first pass makes of change files: fragments, and what became of each file."""
    slices = rows_of([slice_of(path, number) for number, path in enumerate(files, 1)])
    run = first_pass(plan.recipe, Checkpoint(), datetime.now(timezone.utc), plan.changes.reader)
    try:
        batches = list(run(iter([slices])))
    except RuntimeError as error:
        raise classify(error) or error from None
    made = pa.Table.from_batches(batches)
    ops = made["op"].to_pylist()
    texts = made["payload"].filter(pa.array([op == FILE_SUMMARY for op in ops])).to_pylist()
    return made.filter(pa.array([0 <= op < REJECTED_OP for op in ops])), [FileSummary.of_json(text) for text in texts]


def _keys(plan: Plan, fragments: pa.Table) -> dict[str, set[bytes | None]]:
    """Return the keys of messages by topic; None where messages have no key."""
    framing = framing_of(plan.recipe)
    found: dict[str, set[bytes | None]] = {}
    for batch in fragments.combine_chunks().to_batches():
        keys = framing.keys(batch, framing.kinds(batch)).to_pylist()
        for topic, key in zip(batch["topic"].to_pylist(), keys, strict=True):
            found.setdefault(topic, set()).add(key)
    return found


def _later(plan: Plan, keys: dict[str, set[bytes | None]], since: int) -> dict[str, list[bytes]]:
    """Return those of the keys that topics have messages of since a moment, in ms since 1970."""
    found: dict[str, set[bytes]] = {}
    if keys:
        properties = client_properties(plan.recipe.send.producer)
        for message in each_read_back(plan.brokers, sorted(keys), Begin(time=since), properties):
            if message.key is not None and message.key in keys[message.topic]:
                found.setdefault(message.topic, set()).add(message.key)
    return {topic: sorted(known) for topic, known in found.items()}
