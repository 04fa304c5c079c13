"""Under which transactional ids a channel sends, and which of its cycles are the same: the state file shards.json.

name         what the transactional ids begin with, the channel's name first, by which ACLs are granted; it stays as
             long as the state directory, so that whoever integrates the channel next fences what earlier processes left
             running, on this machine or on others
generation   of the cycles' numbers: a later one after the channel was gone back or a backup imported. The brokers have
             the generation of the cycle that was begun last, and take no earlier one
topics       under which the brokers may have the record of the cycle that was begun last
"""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from integrator import durable
from integrator.contracts.recipe import Recipe
from integrator.contracts.shards import CycleRecord, Shards, Step
from integrator.deliver.kafka.begun_cycles import BegunCycles
from integrator.errors import ConfigurationError, EnvironmentFault
from integrator.plan.kafka import is_idempotent
from integrator.plan.topic import NO_RECORD

FILE = "shards.json"


@dataclass(frozen=True)
class ShardSettings:
    """What the file has."""

    name: str
    generation: str
    topics: tuple[str, ...] = ()


def read(state: Path) -> ShardSettings | None:
    """Return what the file has; None if there is none. Raises EnvironmentFault."""
    path = state / FILE
    if not path.exists():
        return None
    try:
        recorded = json.loads(path.read_bytes())
        found = ShardSettings(**{**recorded, "topics": tuple(recorded["topics"])})
        valid = all(map(str.isascii, (found.name, found.generation, *found.topics)))
        _made(found.generation)
    except (OSError, ValueError, TypeError, LookupError):
        valid = False
    if not valid:
        raise EnvironmentFault(
            f"{path}: is damaged; end all processes that integrate this channel and remove it: of the last cycle, rows "
            "may be sent again"
        )
    return found


def _write(state: Path, settings: ShardSettings) -> None:
    durable.replace(state / FILE, json.dumps(vars(settings)).encode())


def known(state: Path, channel: str) -> ShardSettings:
    """Return what the file has, which is made if it is not there, with the channel's name. Raises EnvironmentFault."""
    found = read(state)
    if found is None:
        found = ShardSettings(f"{channel}-{uuid.uuid4()}", _generation())
        _write(state, found)
    return found


def renew_generation(state: Path) -> None:
    """Have cycles from now on be others than those of the same numbers before. Raises EnvironmentFault."""
    found = read(state)
    if found is not None:
        _write(state, dataclasses.replace(found, generation=_generation(found.generation)))


def _generation(after: str = "") -> str:
    """Return a generation that no other state directory has, and whose text comes after that of an earlier one."""
    now = datetime.now(timezone.utc)
    if after:  # the clock may have been set back since
        now = max(now, _made(after) + timedelta(microseconds=1))
    return f"{now.isoformat(timespec='microseconds')} {uuid.uuid4().hex[:12]}"


def _made(generation: str) -> datetime:
    """Return when a generation was made. Raises ValueError."""
    return datetime.fromisoformat(generation.partition(" ")[0])


class CycleShards:
    """Divides the cycles of one run of a stream into shards."""

    def __init__(
        self, state: Path, recipe: Recipe, topics: tuple[str, ...], recorded: Callable[[], None] = lambda: None
    ) -> None:
        """Take the channel's state directory. topics: the channel's, one of which has the offset that records a cycle.

        recorded: is called when the brokers have the record of a cycle, before its first message is sent.

        Raises ConfigurationError, or EnvironmentFault.
        """
        if not is_idempotent(recipe.send.producer):
            raise ConfigurationError(
                "on a cluster messages are sent in transactions, which need acks=all and idempotence: leave both out "
                "of HVR_KAFKA_PROPERTY, or have Spark run on one machine (--master 'local[*]')"
            )
        if not topics:
            raise ConfigurationError(NO_RECORD)
        self._state, self._recipe, self._settings = state, recipe, known(state, recipe.messages.channel)
        before = self._settings.topics
        self._topic = next((topic for topic in before if topic in topics), topics[0])
        self._note_topics({**dict.fromkeys(before), self._topic: None})  # before a record may be under it
        self._begun = BegunCycles(recipe.send, self._settings.name, self._settings.topics)
        self._stream, self._recorded = uuid.uuid4().hex, recorded
        self._last: Step | None = None

    def begin(self, step: Step, after: Step, journal: str, moment: datetime, tasks: int) -> tuple[Shards, CycleRecord]:
        """Return how a step is sent: in as many shards as tasks, or, if it was begun before, as it was then.

        after: the step that was synced last. journal: the digest of the files up to the step's last one. moment: when
        it was begun, as Spark or the state has it. A step that is sent again is of another run of the stream: its
        producers fence those of the first try (I3).

        Raises ConfigurationError if it was begun with another recipe and shards of it are committed; EnvironmentFault
        if the brokers have a later cycle, or one of other files, or of another state directory; DeliveryError.
        """
        settings = self._settings
        before, self._last = self._last, step
        if step == before:
            self._stream, before = uuid.uuid4().hex, None
            self._begun.close()  # another process may have begun it since
        made = round(moment.timestamp() * 1000)
        recipe = self._recipe.fingerprint
        record = CycleRecord(settings.generation, *step, journal, recipe, tasks, made, self._topic, tasks)
        record = self._begun.begin(record, after)
        self._recorded()
        return Shards(settings.name, self._stream, record, self._recipe.send.exactly_once, before), record

    def _note_topics(self, topics: Iterable[str]) -> None:
        noted = dataclasses.replace(self._settings, topics=tuple(topics))
        if noted != self._settings:
            _write(self._state, noted)
            self._settings = noted

    def hold(self) -> None:
        """Have no task of an earlier process send any more: its rows are older than those of a refresh (I3).

        Raises DeliveryError.
        """
        self._begun.hold()

    def close(self) -> None:
        """Give up what is connected to the brokers."""
        self._begun.close()
