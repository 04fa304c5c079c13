"""Resolved messages are sent beside the cycles, by a thread: they are of cycles that are marked (I1, I12).

In the transaction of a cycle they could not be: its shards commit one after another, and who has read the message would
still get rows of the others. After the mark no row at or below it is sent again, neither by us nor by a process that
takes the channel over, but for what a user sends again: a state that is moved back, or a backup that is imported.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from typing import Protocol

import structlog

from integrator.channel.resolved import Resolved as Asked
from integrator.contracts.outgoing import RECORD_OVERHEAD
from integrator.errors import DeliveryError, EnvironmentFault, IntegratorError, as_integrator_error
from integrator.plan import Plan
from integrator.plan.kafka import is_idempotent
from integrator.resolved.messages import Point, Resolved
from integrator.resolved.topic import ResolvedTopic
from integrator.sources.contract import Feed

_POLL_S, _LAST_TRIES = 0.1, 3


def resolving(state: Identified, plan: Callable[[], Plan], feed: Callable[[], Feed]) -> Resolving | None:
    """Return what sends a channel's resolved messages; None where it has none."""
    asked = plan().resolved
    return None if asked is None else Resolving(asked, state, plan, feed)


class Identified(Protocol):
    """The state of a channel, as far as its messages have it."""

    def identity(self) -> str:
        """Return the identity of the state, which a copy has, too."""

    def producer_name(self, channel: str) -> str:
        """Return what transactional ids of the channel begin with."""


class Resolving:
    """Sends the resolved messages of a channel. failure: why none is sent any more, where somebody must act."""

    def __init__(self, asked: Asked, state: Identified, plan: Callable[[], Plan], feed: Callable[[], Feed]) -> None:
        """Take what the channel asks for. plan, feed: return those of now."""
        self._asked, self._state, self._plan, self._feed = asked, state, plan, feed
        self._topic: ResolvedTopic | None = None
        self._last = Resolved("", "")
        self._sent, self._is_unsure, self._is_cut = float("-inf"), True, False
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="resolved", daemon=True)
        self._log = structlog.get_logger().bind(channel=plan().channel, topic=asked.topic)
        self.failure: IntegratorError | None = None

    def start(self) -> None:
        """Start to send."""
        self._thread.start()

    def finish(self) -> None:
        """Send the last one, and end."""
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._ending.wait(min(_POLL_S, self._asked.every / 2)):
                if time.monotonic() - self._sent >= self._asked.every:
                    self.is_sent()
            any(self.is_sent() for _ in range(_LAST_TRIES))
        except Exception as error:  # noqa: BLE001 - raised by the channel's thread
            self.failure = as_integrator_error(error, "sending resolved messages")
            self._log.error("resolved messages are not sent", reason=str(self.failure))
        finally:
            self._give_up()

    def is_sent(self) -> bool:
        """Send what is new; return False where that is to be tried again. Raises EnvironmentFault."""
        try:
            self.send_new()
        except DeliveryError as error:
            self._log.warning("a resolved message is not sent; it is tried again", reason=str(error))
            self._sent, self._is_unsure = time.monotonic(), True  # the last message may be there, and not committed
            self._give_up()
            return False
        return True

    def send_new(self) -> None:
        """Send what is new. Raises DeliveryError where it is to be tried again, or EnvironmentFault."""
        reached = self._feed().reached()
        if reached is None:
            return
        plan = self._plan()  # after it: a table that is set aside, or came, is so before a cycle is synced without it
        topic = self._taken_over(plan)
        lacking = {one.in_source.name: reached.lacks(one.in_source.at_source) for one in plan.recipe.tables}
        lacking |= dict.fromkeys(plan.aside, "it is set aside")
        committed = datetime.fromtimestamp(reached.committed / 1e6, timezone.utc) if reached.committed else None
        here = Point(reached.position, reached.integ_seq, reached.server)
        made = self._last.following(here, committed, lacking)
        if self._last.is_after(here) or not made.has_more(None if self._is_unsure else self._last):
            return
        if self._asked.per_partition:
            named = [*plan.topics, *(plan.recipe.send.topics or ())]
            made = replace(made, offsets=topic.ends(one for one in named if one != self._asked.topic))
        made = replace(made, sent=datetime.now(timezone.utc))
        topic.send(self._fitting(made, plan.recipe.messages.max_bytes - RECORD_OVERHEAD))
        self._last, self._sent, self._is_unsure = made, time.monotonic(), False
        if topic.is_spent:
            self._give_up()

    def _fitting(self, made: Resolved, most: int) -> bytes:
        """Return a message that is not too large (I5): without offsets, and without tables, where there is no room."""
        without_offsets = replace(made, offsets=None)
        for one in (made, without_offsets):
            if len(value := one.to_json()) <= most:
                return value
        if not self._is_cut:
            remedy = "have the topic and the channel take larger messages (max.message.bytes, message.max.bytes)"
            self._log.warning("resolved messages have no room for their tables", remedy=remedy)
        self._is_cut = True
        return replace(without_offsets, tables={}).to_json()

    def _taken_over(self, plan: Plan) -> ResolvedTopic:
        """Return the topic, whose last message is known."""
        if self._topic is None:
            send, own = plan.recipe.send, None
            if is_idempotent(send.producer):
                own = f"{self._state.producer_name(plan.channel)}-resolved"
            made = self._topic = ResolvedTopic(send, self._asked.topic, plan.channel, own)
            nothing = Resolved(plan.channel, self._state.identity())
            there = nothing if made.last is None else _read(made.last, self._asked.topic)
            self._last = there if there.epoch == nothing.epoch else nothing
        return self._topic

    def _give_up(self) -> None:
        if self._topic is not None:
            self._topic.close()
            self._topic = None


def _read(text: bytes, topic: str) -> Resolved:
    """Return the last message of the channel. Raises EnvironmentFault for another program's."""
    try:
        return Resolved.of_json(text)
    except ValueError as error:
        raise EnvironmentFault(
            f"the topic {topic} has other messages with the channel's name as their key: {error}; give resolved "
            "messages a topic of their own"
        ) from None
