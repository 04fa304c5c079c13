"""What must hold after a schedule. Each invariant yields what breaks it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from integrator.resolved.messages import Resolved
from tests.model.kafka import Broker, Entry
from tests.model.process import ENDED, KEYS, REFRESHED, RESOLVED, ROWS_OF_SLICE, TOPIC, Scene


def broken(scene: Scene, broker: Broker, *, exactly_once: bool) -> list[str]:
    """Return what is broken."""
    rows = [entry for entry in broker.log if entry.topic == TOPIC and entry.state == "committed"]
    found = [*nothing_is_lost(scene, rows), *sent_again_alike(rows), *ended_after_rows(broker.commits)]
    if exactly_once:
        found += [*each_once(rows), *one_definition(rows), *generations_ascend(broker.commits)]
    found += [*resolved_holds(scene, broker, exactly_once=exactly_once)]
    found += [*refreshes_are_whole(scene, broker.commits), *refreshes_are_alone(broker.log)]
    return [*found, *order_of_keys(rows, exactly_once=exactly_once)]


def _generation(entry: Entry) -> str:
    return entry.record.generation if entry.record is not None else ""


def _step(entry: Entry) -> tuple[int, int]:
    return entry.record.step if entry.record is not None else (entry.cycle, 0)


def _number(entry: Entry) -> int:
    return int(entry.value.split()[0])


def nothing_is_lost(scene: Scene, rows: Sequence[Entry]) -> Iterator[str]:
    """I1, I4: the rows of a marked cycle are committed, in the generation by which it was sent."""
    there = defaultdict[str, set[int]](set)
    for entry in rows:
        there[_generation(entry)].add(_number(entry))
    for one in scene.synced:
        lacking = set(one.rows) - there[one.generation or ""]
        if lacking:
            yield f"nothing is lost: cycle {one.cycle} of {one.process} is marked without rows {sorted(lacking)}"


def each_once(rows: Sequence[Entry]) -> Iterator[str]:
    """I8: a row is committed once, but for what a user sends again: that is another generation."""
    for (_, number), times in Counter((_generation(entry), _number(entry)) for entry in rows).items():
        if times > 1:
            yield f"each row once: row {number} is committed {times} times"


def one_definition(rows: Sequence[Entry]) -> Iterator[str]:
    """I10: what a refused process has committed is of the cycle as it was begun; else it was refused too late."""
    records = defaultdict(set)
    for entry in rows:
        records[_generation(entry), _step(entry)].add(entry.record)
    for (_, number), found in records.items():
        if len(found) > 1:
            yield f"a refused process has sent nothing: {number} is committed by {len(found)} records"


def generations_ascend(commits: Sequence[Entry]) -> Iterator[str]:
    """I10: once a later state directory has sent, an earlier one sends nothing."""
    latest = ""
    for entry in (one for one in commits if one.record is not None):
        if _generation(entry) < latest:
            yield f"a refused process has sent nothing: {entry.value} is of an earlier generation than what was sent"
            return
        latest = _generation(entry)


def sent_again_alike(rows: Sequence[Entry]) -> Iterator[str]:
    """I2: a row that is sent again, by the same definition, has the same bytes."""
    known: dict[tuple[str, str, int], str] = {}
    for entry in rows:
        recipe = entry.record.recipe if entry.record is not None else ""
        before = known.setdefault((_generation(entry), recipe, _number(entry)), entry.value)
        if before != entry.value:
            yield f"sent again alike: {before!r} and {entry.value!r}"


def order_of_keys(rows: Sequence[Entry], *, exactly_once: bool) -> Iterator[str]:
    """I3: rows of a key ascend. At least once: what comes last of each row ascends, so that a consumer has the newest."""
    by_key = defaultdict[tuple[str, int], list[int]](list)
    for entry in rows:
        by_key[_generation(entry) if exactly_once else "", _number(entry) % KEYS].append(_number(entry))
    for (_, key), numbers in by_key.items():
        seen = numbers if exactly_once else list(reversed(dict.fromkeys(reversed(numbers))))
        for before, after in pairwise(seen):
            if after < before:
                yield f"order per key: row {after} of key {key} comes after row {before}"


def refreshes_are_whole(scene: Scene, commits: Sequence[Entry]) -> Iterator[str]:
    """I1: each slice of a refresh that has come to its end is there."""
    there = {entry.value.split()[0] for entry in commits if entry.topic == REFRESHED}
    for one in scene.refreshed:
        if len(there) < one.slices:
            yield f"nothing is lost: a refresh of {one.slices} slices has ended, and there are {sorted(there)}"


def refreshes_are_alone(log: Sequence[Entry]) -> Iterator[str]:
    """Rows of a refresh are not sent among those of a try of a cycle."""
    tries: dict[int, list[int]] = {}
    for at, entry in enumerate(log):
        if entry.topic == TOPIC:
            tries.setdefault(id(entry.attempt), []).append(at)
    for places in tries.values():
        if any(log[at].topic == REFRESHED for at in range(places[0], places[-1])):
            yield "refreshes are alone: rows of a refresh are among those of a cycle"
            return


def resolved_holds(scene: Scene, broker: Broker, *, exactly_once: bool) -> Iterator[str]:
    """I12: all rows up to a position are there before it is said; none of them comes later; it never goes back.

    It holds for consumers of what is committed, and for those of all. Where a user has cycles sent again, these are rows
    of a later generation; at least once on a cluster, rows that were there may come again.
    """
    at_commit, at_log = {id(entry): at for at, entry in enumerate(broker.commits)}, list(enumerate(broker.log))
    firsts = dict[int, tuple[int, int]]()
    for at, entry in at_log:
        if entry.topic == TOPIC and entry.state == "committed":
            at_log_before, at_commit_before = firsts.get(_number(entry), (at, at_commit[id(entry)]))
            firsts[_number(entry)] = at_log_before, min(at_commit_before, at_commit[id(entry)])
    last = -1
    is_alone = all(one._locked for one in scene.processes)
    for at, entry in at_log:
        if entry.topic != RESOLVED:
            continue
        position = int(Resolved.of_json(entry.value.encode()).point.position)
        if position < last:
            yield f"resolved: it goes back from {last} to {position}"
        last = position
        commit = at_commit.get(id(entry))
        for row in range(1, position + 1):
            in_log, in_commits = firsts.get(row, (1 << 60, 1 << 60))
            if in_log > at or (commit is not None and in_commits > commit):
                yield f"resolved: row {row} comes after {position}"
        own = entry.process.generation or ""
        again = [one for _, one in at_log[at:] if one.topic == TOPIC and _number(one) <= position]
        if (exactly_once or is_alone) and any(_generation(one) <= own for one in again):
            yield f"resolved: rows up to {position} come again"


def resolved_to_the_end(scene: Scene, broker: Broker) -> Iterator[str]:
    """I12: when all is synced, that is said."""
    said = [Resolved.of_json(one.value.encode()) for one in broker.commits if one.topic == RESOLVED]
    last = max((int(one.point.position) for one in said), default=0)
    if last < scene.slices * ROWS_OF_SLICE:
        yield f"resolved: it comes to {last} of {scene.slices * ROWS_OF_SLICE}"


def ended_after_rows(commits: Sequence[Entry]) -> Iterator[str]:
    """The driver's message of a cycle is committed when all rows of the cycle are."""
    ended = set()
    for entry in commits:
        cycle = _generation(entry), _step(entry)
        if entry.topic == ENDED:
            ended.add(cycle)
        elif cycle in ended and entry.record is not None and entry.record.claimed is False:
            yield f"ends come after rows: {entry.value} of cycle {entry.cycle} comes after its end"
