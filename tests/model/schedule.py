"""Actors that take turns at named steps, in an order that a list of choices decides."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypeVar

import greenlet

Item = TypeVar("Item")
MOST_STEPS = 6000
NO_LOG: Any = SimpleNamespace(**{name: lambda *_, **__: None for name in ("info", "warning", "error")})
_STEPS_ASLEEP = 20


class Killed(BaseException):
    """The process of an actor has ended at this step: nothing that it does after it has an effect."""


class Choices:
    """Numbers that decide a schedule: random ones, or given ones, which are 0 when they have come to their end."""

    def __init__(self, seed: int = 0, given: Iterable[int] | None = None) -> None:
        self._random = random.Random(seed).random if given is None else None
        self._given = iter(given or ())
        self.made: list[int] = []

    def below(self, limit: int) -> int:
        """Return a number below a limit."""
        value = int(self._random() * limit) if self._random else min(next(self._given, 0), limit - 1)
        self.made.append(value)
        return value

    def chance(self, of_thousand: int) -> bool:
        """Return True in so many of a thousand cases; 0 is never."""
        return bool(of_thousand) and self.below(1000) >= 1000 - of_thousand

    def one(self, items: Sequence[Item]) -> Item:
        """Return one of some items; the first one is the simplest."""
        return items[self.below(len(items))]


@dataclass
class Worker:
    """A Python process of Spark's, or a driver: what its modules keep."""

    producers: dict[Any, Any] = field(default_factory=dict)
    transactional: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Actor:
    """A thread of a process."""

    name: str
    process: Any
    worker: Worker
    greenlet: Any = None
    dead: bool = False
    done: bool = False
    error: BaseException | None = None
    record: Any = None
    attempt: Any = None
    """Which try of a cycle it is of."""
    until: Callable[[], bool] | None = None
    """What it waits for, if it waits."""
    sleeps: bool = False
    """Whether it waits for time alone, which passes where nobody else can continue."""

    @property
    def lives(self) -> bool:
        """Whether it has more to do."""
        return not (self.dead or self.done)


class World:
    """One schedule: its actors, what they did, and the clock."""

    def __init__(self, choices: Choices, switched: Callable[[Worker], None]) -> None:
        """switched: is called with the worker of the actor that continues."""
        self.choices, self._switched = choices, switched
        self.actors: list[Actor] = []
        self.trace: list[str] = []
        self.clock = 0.0
        self.steps = 0
        self.now: Actor | None = None
        self.is_at_once = False
        """Whether what is made durable now is a part of something that is."""
        self._hub = greenlet.getcurrent()

    def spawn(self, name: str, process: Any, worker: Worker, run: Callable[[], object]) -> Actor:
        """Add an actor, which begins when it is its turn."""
        actor = Actor(name, process, worker)

        def body() -> None:
            try:
                run()
            except Killed:
                pass
            except Exception as error:  # noqa: BLE001 - the schedule decides what it means
                actor.error = error
            actor.done = True

        actor.greenlet = greenlet.greenlet(body, self._hub)
        self.actors.append(actor)
        return actor

    def step(self, label: str) -> None:
        """Have another actor continue, or this one. What follows happens at once, up to the next step."""
        actor = self.now
        assert actor is not None
        if actor.dead:
            raise Killed
        self._hub.switch()
        if actor.dead:
            raise Killed
        self.clock += 0.001
        self.trace.append(f"{actor.name}: {label}")

    def wait(self, label: str, until: Callable[[], bool]) -> None:
        """Have others continue until something holds."""
        actor = self.now
        assert actor is not None
        actor.until = until
        try:
            self.step(label)
        finally:
            actor.until = None

    def sleep(self, seconds: float) -> None:
        """Have others continue for some steps, in which so many seconds pass."""
        wakes, at = self.clock + seconds, self.steps + _STEPS_ASLEEP
        actor = self.now
        assert actor is not None
        actor.sleeps = True
        try:
            self.wait("sleep", lambda: self.steps >= at)
        finally:
            actor.sleeps = False
        self.clock = max(self.clock, wakes)

    def note(self, text: str) -> None:
        """Note what is no step of an actor's."""
        self.trace.append(f"   {text}")

    def go(self, actor: Actor) -> None:
        """Have an actor continue to its next step."""
        self.steps += 1
        self.now = actor
        self._switched(actor.worker)
        actor.greenlet.switch()

    @property
    def is_acting(self) -> bool:
        """Whether an actor runs now."""
        return greenlet.getcurrent() is not self._hub

    def kill(self, actors: Iterable[Actor]) -> None:
        """End actors where they are. What they held of the system is given back, as at a process's end."""
        for actor in actors:
            if actor.lives:
                actor.dead = True
                if actor.greenlet:
                    self.now = actor
                    self._switched(actor.worker)
                    actor.greenlet.throw(Killed)

    def living(self) -> list[Actor]:
        """Return the actors that have more to do."""
        return [actor for actor in self.actors if actor.lives]

    def ready(self) -> list[Actor]:
        """Return those that can continue now; where all wait, those that sleep, for time passes."""
        living = self.living()
        ready = [actor for actor in living if actor.until is None or actor.until()]
        return ready or [actor for actor in living if actor.sleeps]

    def end(self) -> None:
        """End all actors."""
        self.kill(self.actors)


def shrink(made: list[int], fails: Callable[[list[int]], bool], tries: int = 2000) -> list[int]:
    """Return a shorter list of choices, with smaller numbers, that still fails."""

    def attempt(candidate: list[int]) -> bool:
        nonlocal tries
        tries -= 1
        return tries >= 0 and fails(candidate)

    best, size = made, max(len(made) // 2, 1)
    while size and tries > 0:
        at = 0
        while at < len(best) and tries > 0:
            without, zeros = best[:at] + best[at + size :], [*best[:at], *[0] * size, *best[at + size :]]
            if attempt(without):
                best = without
            elif any(best[at : at + size]) and attempt(zeros[: len(best)]):
                best = zeros[: len(best)]
                at += size
            else:
                at += size
        size //= 2
    return best
