"""Under which transactional ids a channel sends, and which of its cycles are the same: the state file shards.json.

name         what the transactional ids begin with, the channel's name first, by which ACLs are granted; it stays as
             long as the state directory, so that whoever integrates the channel next fences what earlier processes left
             running, on this machine or on others
topic        under which the brokers have the record of the cycle that was begun last
generation   of the cycles' numbers: another one after the channel was gone back or a backup imported
renewed      whether no cycle of this generation was begun yet
"""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from integrator import durable
from integrator.contracts.recipe import Recipe
from integrator.contracts.shards import CycleRecord, Shards
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
    topic: str = ""
    renewed: bool = True


def read(state: Path) -> ShardSettings | None:
    """Return what the file has; None if there is none. Raises EnvironmentFault."""
    path = state / FILE
    if not path.exists():
        return None
    try:
        found = ShardSettings(**json.loads(path.read_bytes()))
        texts = (found.name, found.generation, found.topic)
        valid = isinstance(found.renewed, bool) and all(map(str.isascii, texts))
    except (OSError, ValueError, TypeError):
        valid = False
    if not valid:
        raise EnvironmentFault(
            f"{path}: is damaged; end all processes that integrate this channel and remove it: of the last cycle, rows "
            "may be sent again"
        )
    return found


def _write(state: Path, settings: ShardSettings) -> None:
    durable.replace(state / FILE, json.dumps(dataclasses.asdict(settings)).encode())


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
        _write(state, dataclasses.replace(found, generation=_generation(), renewed=True))


def _generation() -> str:
    return uuid.uuid4().hex


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
        topic = self._settings.topic
        self._topic = topic if topic in topics else topics[0]
        self._begun = BegunCycles(recipe.send, self._settings.name, tuple({self._topic: 0, topic or self._topic: 0}))
        self._stream, self._last, self._recorded = uuid.uuid4().hex, -1, recorded

    def begin(self, cycle: int, journal: str, moment: datetime, tasks: int) -> Shards:
        """Return how a cycle is sent: in as many shards as tasks, or, if it was begun before, as it was then.

        journal: the digest of the files up to its last one. moment: when it was begun, as Spark has it. A cycle that is
        sent again is of another run of the stream: its producers fence those of the first try (I3). Raises
        ConfigurationError if it was begun with another recipe and shards of it are committed; EnvironmentFault if the
        brokers have a later cycle, or one of other files, or of another state directory; DeliveryError.
        """
        settings = self._settings
        if cycle == self._last:
            self._stream = uuid.uuid4().hex
            self._begun.close()  # another process may have begun it since
        self._last = cycle
        made = round(moment.timestamp() * 1000)
        recipe = self._recipe.fingerprint
        record = CycleRecord(settings.generation, cycle, journal, recipe, tasks, made, self._topic)
        record = self._begun.begin(record, replaces=settings.renewed)
        self._recorded()
        known_now = dataclasses.replace(settings, topic=self._topic, renewed=False)
        if known_now != settings:
            _write(self._state, known_now)
            self._settings = known_now
        return Shards(settings.name, self._stream, record, self._recipe.send.exactly_once)

    def close(self) -> None:
        """Give up what is connected to the brokers."""
        self._begun.close()
