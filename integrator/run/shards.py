"""Which transactional ids a channel has, and into how many shards its cycles are divided: the state file shards.json.

name         what the transactional ids begin with, the channel's name first, by which ACLs are granted; it stays as
             long as the state directory, so that whoever integrates the channel next fences what earlier processes left
             running, on this machine or on others
generation   of the cycles' numbers: another one after the channel was gone back or a backup imported
count        into how many shards the last cycle was divided: a cycle that is repeated has as many, for only then does
             a shard have the same messages, which were committed or not
recipe       the fingerprint of the recipe that made them
"""

from __future__ import annotations

import dataclasses
import json
import uuid
from dataclasses import dataclass
from pathlib import Path

from integrator import durable
from integrator.contracts.recipe import Recipe
from integrator.contracts.shards import CycleRecord, Shards
from integrator.deliver.kafka.transaction import fence
from integrator.errors import ConfigurationError, EnvironmentFault, Problem
from integrator.plan.kafka import is_idempotent

FILE = "shards.json"


@dataclass(frozen=True)
class ShardSettings:
    """What the file has."""

    name: str
    generation: str
    count: int = 0
    recipe: str = ""


def read(state: Path) -> ShardSettings | None:
    """Return what the file has; None if there is none. Raises EnvironmentFault."""
    path = state / FILE
    if not path.exists():
        return None
    try:
        found = ShardSettings(**json.loads(path.read_bytes()))
        valid = isinstance(found.count, int) and all(map(str.isascii, (found.name, found.generation, found.recipe)))
    except (OSError, ValueError, TypeError):
        valid = False
    if not valid:
        raise EnvironmentFault(
            f"{path}: is damaged; end all processes that integrate this channel and remove it: of the last cycle, rows "
            "may be sent again"
        )
    return found


def write(state: Path, settings: ShardSettings) -> None:
    """Write the file."""
    durable.replace(state / FILE, json.dumps(dataclasses.asdict(settings)).encode())


def known(state: Path, channel: str) -> ShardSettings:
    """Return what the file has, which is made if it is not there, with the channel's name. Raises EnvironmentFault."""
    found = read(state)
    if found is None:
        found = ShardSettings(f"{channel}-{uuid.uuid4()}", _generation())
        write(state, found)
    return found


def renew_generation(state: Path) -> None:
    """Have cycles from now on be others than those of the same numbers before. Raises EnvironmentFault."""
    found = read(state)
    if found is not None:
        write(state, dataclasses.replace(found, generation=_generation()))


def _generation() -> str:
    return uuid.uuid4().hex


class CycleShards:
    """Divides the cycles of one run of a stream into shards."""

    def __init__(self, state: Path, recipe: Recipe, topic: str, begun: list[int]) -> None:
        """Take the channel's state directory. topic: whose offset records a cycle. begun: cycles that may be repeated.

        Raises ConfigurationError, or EnvironmentFault.
        """
        if not is_idempotent(recipe.send.producer):
            raise ConfigurationError(
                "on a cluster messages are sent in transactions, which need acks=all and idempotence: leave both out "
                "of HVR_KAFKA_PROPERTY, or have Spark run on one machine (--master 'local[*]')"
            )
        self._state, self._recipe, self._topic, self._begun = state, recipe, topic, set(begun)
        self._settings = known(state, recipe.messages.channel)
        self._stream, self._last = uuid.uuid4().hex, -1

    def count(self, cycle: int, tasks: int) -> int:
        """Return into how many shards the cycle is divided: `tasks`, or as many as when it was begun.

        Raises ConfigurationError if it was begun with another recipe and shards of it may be committed.
        """
        before, recipe = self._settings, self._recipe.fingerprint
        repeated = cycle in self._begun and before.count > 0
        count = before.count if repeated else tasks
        if repeated and before.recipe != recipe:
            if self._recipe.send.exactly_once:
                text = (
                    f"cycle {cycle} was begun with another definition of the channel, and a part of it may be "
                    "committed; run that one until the cycle is synced, then change it; or remove this file: then rows "
                    "of the cycle may come twice"
                )
                raise ConfigurationError([Problem(str(self._state / FILE), 0, "", text)])
            fence(self._recipe.send, Shards(before.name), before.count)  # a key may be in another shard now
        settings = dataclasses.replace(before, count=count, recipe=recipe)
        if settings != before:
            write(self._state, settings)
        self._settings = settings
        self._begun.add(cycle)
        return count

    def of(self, cycle: int, journal: str) -> Shards:
        """Return how a cycle is sent. journal: the digest of the files up to its last one.

        A cycle that is sent again is of another run of the stream: its producers fence those of the first try (I3).
        """
        if cycle == self._last:
            self._stream = uuid.uuid4().hex
        self._last = cycle
        settings = self._settings
        record = CycleRecord(settings.generation, cycle, journal, self._topic)
        return Shards(settings.name, self._stream, cycle, record if self._recipe.send.exactly_once else None)


def allow_recipe(state: Path, recipe: Recipe) -> None:
    """Let a cycle of which nothing is committed be repeated with another recipe. Raises EnvironmentFault."""
    found = read(state)
    if found is not None:
        write(state, dataclasses.replace(found, recipe=recipe.fingerprint))
