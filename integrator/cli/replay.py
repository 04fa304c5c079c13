"""`run.py replay` on the console: which letters there are, what became of them, and where their order is lost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from integrator.deliver.kafka.read_back import Begin
from integrator.errors import ConfigurationError, DataError, shortened, shown
from integrator.names.numbers import are, counted
from integrator.plan import Plan
from integrator.replay import exported, letters
from integrator.replay.letters import Letter, LettersFound
from integrator.replay.transactions import with_begins

if TYPE_CHECKING:
    from integrator.replay.job import Rejection
    from integrator.replay.trial import Trial

_NAMED = 20
_ODD = re.compile(rb"\A\0|\n(\s*\n|# )")
"""Of records of topics: what begins with a schema's id, has an empty line, or one like those about letters."""
_ORDER = (
    "order: letters of one file were sent in the order of its lines. Changes of the same keys that came after a letter "
    "were sent before it, with the cycle that rejected it or later: for such a key the letter's older values are now "
    "the last message. Compare with the source, and refresh these tables where that matters; --dry-run names such keys."
)


@dataclass(frozen=True)
class Options:
    """What the command was given."""

    export: Path | None = None
    file: Path | None = None
    from_offset: int | None = None
    since: str | None = None
    dry_run: bool = False


def run(plan: Plan, options: Options, console: Console) -> None:
    """Export letters, or send them again. Raises IntegratorError; DataError where lines are rejected again."""
    if not plan.recipe.tolerance.topic:
        raise ConfigurationError(
            f"channel {plan.channel} has no dead letter topic: set errors: {{tolerance: all, "
            "deadletterqueue.topic.name: …}"
        )
    from integrator.replay import job, trial  # noqa: PLC0415 - check and plan need no Spark

    found = _found(plan, options, console)
    if options.export is not None:
        given = job.Given(plan).known
        left = [letter for letter in found if letter.id not in given]
        texts = [letter for letter in left if not _ODD.search(letter.record)]
        exported.write(options.export, texts)
        console.print(
            f"{options.export}: {counted(len(texts), 'dead letter')}; {len(found) - len(left)} sent again before; "
            f"mend the records, then: replay --file {options.export}",
            highlight=False,
        )
        if others := len(left) - len(texts):
            text = f"not in it: {counted(others, 'record')} that no text file holds: replay without --file sends all"
            console.print(text, highlight=False)
        return
    if options.dry_run:
        _show_trial(found, trial.trial(plan, found), console)
        return
    done = job.replay(plan, found)
    emptied = f", {done.emptied} without a record" if done.emptied else ""
    console.print(
        f"{counted(len(found), 'dead letter')}: {done.given} sent again, {done.before} before{emptied}; "
        f"{counted(done.rows, 'row')} read, {counted(done.messages, 'message')} with those of the dead letter topic, "
        f"{counted(done.rejected, 'line')} rejected again",
        highlight=False,
    )
    _show_rejections(done.rejections, console)
    if done.rows:
        console.print(_ORDER, highlight=False)
    if done.rejected:
        raise DataError(
            f"{counted(done.rejected, 'line')} {are(done.rejected)} rejected again, as new dead letters in "
            f"{plan.recipe.tolerance.topic}; replay --export FILE has them with the reasons"
        )


def _show_rejections(rejections: Sequence[Rejection], console: Console) -> None:
    for one in rejections[:_NAMED]:
        reason = f": {shortened(one.reason)}" if one.reason else ""
        console.print(f"  {one.stood}: {one.stage}{reason}", highlight=False)


def _show_trial(found: Sequence[Letter], tried: Trial, console: Console) -> None:
    console.print(
        f"{counted(len(found), 'dead letter')}, of which {tried.new} would be sent again: "
        f"{counted(tried.rows, 'row')}; {counted(tried.rejected, 'line')} "
        "would be rejected again; nothing was sent",
        highlight=False,
    )
    _show_rejections(tried.rejections, console)
    for topic, count in tried.keys.items():
        later = tried.later.get(topic, [])
        named = f", and could then end on older values: {', '.join(map(shown, later[:_NAMED]))}" if later else ""
        console.print(
            f"order: topic {topic}: {len(later)} of {counted(count, 'key')} with messages since a minute "
            f"before the first letter{named}",
            highlight=False,
        )
    for topic in tried.keyless:
        console.print(f"order: topic {topic}: its messages have no keys, and so no order by key", highlight=False)


def _found(plan: Plan, options: Options, console: Console) -> Sequence[Letter]:
    if options.file is not None:
        return exported.read(options.file)
    found: LettersFound = letters.read(plan, Begin(options.from_offset or 0, _time(options.since)))
    if found.of_others:
        console.print(f"passed over: {counted(found.of_others, 'message')} of other channels", highlight=False)
    if found.incomplete:
        console.print(
            f"not sent: {counted(found.incomplete, 'letter')} without the first or the last part; begin "
            "earlier, if these parts are still there",
            highlight=False,
        )
    return [*with_begins(found.letters, plan)]


def _time(since: str | None) -> int | None:
    """Return a moment in ms since 1970; one without a zone is of this machine's."""
    try:
        return None if since is None else int(datetime.fromisoformat(since).timestamp() * 1000)
    except ValueError:
        raise typer.BadParameter(f"--since {since}: write a timestamp as 2026-11-24T08:00:00+00:00") from None
