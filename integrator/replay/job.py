"""The replay: letters as change files of their own, through the channel's own steps, with progress of their own.

state/CHANNEL/replay is the state directory of a run that reads state/CHANNEL/replay/letters. So the channel's progress
stays as it is, a replay that was interrupted continues where it was, and a letter is sent once.

letters/N.jsonl     records that were given back: those of one file, in its order; see `Source.letters`
letters/N.given     of each line of N.jsonl the letter that it was; written before it, and of no meaning without it
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from integrator import durable
from integrator.errors import ConfigurationError, SchemasFound
from integrator.plan import Plan
from integrator.replay.letters import Letter
from integrator.run import daemon
from integrator.run.replanning import resolved, without_aside
from integrator.run.state.directory import State
from integrator.sources.contract import Letters
from integrator.sources.files.source import files_in

_WAIT_S = 60.0
_DIRECTORY = "replay"
_PATTERN = "[0-9]*.jsonl"
_FRAME = 5
"""The bytes of a zero and of a schema's id, with which records of a registry begin."""


@dataclass(frozen=True)
class Rejection:
    """A line that was rejected again: where the letter stood that it was, and why."""

    stood: str
    stage: str
    reason: str


@dataclass(frozen=True)
class Outcome:
    """What a replay did.

    given: letters that were taken. before: those that were taken by an earlier replay. emptied: those without a record.
    rows, messages: what was read of them, and sent. rejected: how many lines were rejected again, and some of these.
    """

    given: int
    before: int
    emptied: int
    rows: int = 0
    messages: int = 0
    rejected: int = 0
    rejections: tuple[Rejection, ...] = ()


def plan_of(plan: Plan) -> Plan:
    """Return the plan that reads given letters where `plan` reads the channel's source.

    Raises ConfigurationError for a channel with several source locations: {hvr_cap_loc} would be another.
    """
    if plan.recipe.read.any_database:
        raise ConfigurationError(
            f"channel {plan.channel} has several source locations, and dead letters do not record which one a line is "
            "of: write mended records into a file of their location"
        )
    directory = Path(plan.state).absolute() / _DIRECTORY
    source = files_in(plan.changes.location, str(directory / "letters"), _PATTERN)
    if plan.changes.letters is not None:
        source = dataclasses.replace(source, reader=plan.changes.letters)
    recipe, channel = plan.recipe, plan.origin.channel
    stopping = channel.errors.model_copy(update={"tables": "stop"})  # else it was planned anew, for the source
    origin = dataclasses.replace(plan.origin, channel=channel.model_copy(update={"errors": stopping}))
    unknown_columns = recipe.read.unknown_columns
    read = dataclasses.replace(
        recipe.read,
        path=source.location.path,
        repeated_positions=True,
        sent_later=True,
        absent=tuple(one for one in recipe.read.absent if one.name not in plan.aside),  # rejected again, and not lost
        ignore_unknown_tables=recipe.read.ignore_unknown_tables and not plan.aside,
        follows_schemas=False,
        unknown_columns="error" if unknown_columns == "add" else unknown_columns,
    )
    return dataclasses.replace(
        plan,
        source=source,
        origin=origin,
        state=str(directory),
        aside={},  # of the channel: see `absent`
        delay=0,
        recipe=dataclasses.replace(
            recipe,
            read=read,
            tables=tuple(dataclasses.replace(table, added=()) for table in recipe.tables),
            tolerance=dataclasses.replace(recipe.tolerance, most=(), logged=recipe.tolerance.logged or "lines"),
        ),
    )


def without_refused(plan: Plan) -> Plan:
    """Return a plan without the tables that the channel has as set aside, or whose schemas are refused now."""
    state = State(plan.state)
    return resolved(without_aside(plan, state).of_state(state.identity()), state)


def with_schemas(plan: Plan, letters: Iterable[Letter]) -> Plan:
    """Return a plan with the schemas whose ids letters of topics begin with, where there are any now.

    Raises IntegratorError.
    """
    if plan.changes.letters is None:
        return plan
    ids = {int.from_bytes(one.record[1:_FRAME]) for one in letters if one.record[:1] == b"\0"}
    found = SchemasFound("letters have the ids of schemas", "", sorted(ids))
    return dataclasses.replace(plan, source=plan.changes.learned(found, tolerant=True))


class Given:
    """The letters that replays of a channel were given so far."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._of = plan, plan_of(plan)
        self.directory = Path(self._of.recipe.read.path)
        self.known = {letter for path in self._files() for letter, _ in self._letters(path)}

    def _files(self) -> list[Path]:
        return sorted(self.directory.glob(_PATTERN))

    @staticmethod
    def _letters(path: Path) -> Iterator[tuple[str, str]]:
        """Yield of each line of a file which letter it was, and where that stood."""
        for line in path.with_suffix(".given").read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            yield one["letter"], one["stood"]

    def files(self) -> int:
        """Return how many change files there are."""
        return len(self._files())

    def new(self, letters: Iterable[Letter]) -> list[Letter]:
        """Return those that were not given before, and have a record."""
        return [letter for letter in letters if letter.id not in self.known and letter.record.strip()]

    def take(self, letters: Iterable[Letter]) -> int:
        """Write those that are new as change files; return how many they are. The state is locked."""
        new = self.new(letters)
        last = max((int(path.stem) for path in self._files()), default=0)
        write(self.directory, last, new, self._plan.changes.letters)
        self.known |= {letter.id for letter in new}
        return len(new)

    @staticmethod
    def stood_in(file: str, line: int) -> str:
        """Return where the letter stood that is a line of a change file, or at an offset of a partition."""
        path = Path(file)
        is_file = path.with_suffix(".given").is_file()
        return next(itertools.islice(Given._letters(path), line - 1, None))[1] if is_file else f"{file}:{line}"


def write(directory: Path, number: int, letters: Iterable[Letter], source: Letters | None = None) -> list[Path]:
    """Write letters as change files, those of one file together, numbered after `number`; return the files.

    source: writes those of a source that has no lines. Raises ConfigurationError.
    """
    durable.make_directory(directory)
    files = dict[Path, tuple[bytes, str]]()
    for file, of_file in _by_file(letters, ascending=source is not None):
        number += 1
        lines = [(one, one.record) for one in of_file] if source else list(_lines(of_file))
        given = "".join(json.dumps({"letter": one.id, "stood": one.stood}) + "\n" for one, _ in lines)
        content = b"".join(line + b"\n" for _, line in lines)
        if source is not None:
            content = source.written(number, file, [(one.line, record) for one, record in lines])
        files[directory / f"{number:012d}.jsonl"] = content, given
    for path, (content, given) in files.items():  # once all can be
        durable.replace(path.with_suffix(".given"), given.encode())
        durable.replace(path, content)
    return [*files]


def _by_file(letters: Iterable[Letter], *, ascending: bool) -> Iterator[tuple[str, list[Letter]]]:
    """Yield letters in a row that stood in one file, with its name; ascending: each after the one before it."""
    found = list[Letter]()
    for letter in letters:
        if found and (letter.file != found[-1].file or (ascending and letter.line <= found[-1].line)):
            yield found[0].file, found
            found = []
        found.append(letter)
    if found:
        yield found[0].file, found


def _lines(letters: Iterable[Letter]) -> Iterator[tuple[Letter, bytes]]:
    """Yield the lines of letters of one file; where several begin with the same one, it is once before them."""
    begin = b""
    for letter in letters:
        lines = letter.record.split(b"\n")
        yield from ((letter, line) for line in (lines[1:] if len(lines) > 1 and lines[0] == begin else lines))
        begin = lines[0] if len(lines) > 1 else b""


def replay(plan: Plan, letters: Sequence[Letter]) -> Outcome:
    """Send letters that were not sent again yet, and what an interrupted replay left. Raises IntegratorError."""
    of_channel = State(plan.state)
    plan = with_schemas(without_refused(plan), letters)
    of_letters = plan_of(plan)
    state = State(of_letters.state)
    state.lock(f"{plan.channel} (replay)", _WAIT_S)
    try:
        given = Given(plan)
        before = sum(letter.id in given.known for letter in letters)
        taken = given.take(letters)
        state.mark_refreshed(dict(of_channel.refreshed()))
        cycles = set(state.marks.cycles())
        left = given.files() > state.last_slice()
    finally:
        state.unlock()
    if left:
        daemon.integrate([of_letters], once=True)
    marks = [state.marks.read(cycle) for cycle in state.marks.cycles() if cycle not in cycles]
    rejected = [one for mark in marks for one in mark.rejections]
    return Outcome(
        given=taken,
        before=before,
        emptied=len(letters) - taken - before,
        rows=sum(mark.rows for mark in marks),
        messages=sum(mark.messages for mark in marks),
        rejected=sum(one.count for one in rejected),
        rejections=tuple(
            Rejection(Given.stood_in(one.file, line["line"]), line["stage"], line.get("reason", ""))
            for one in rejected
            for line in one.lines
        ),
    )
