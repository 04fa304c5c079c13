"""STATEs, which are given back only when all records before them are synced (I1)."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter, deque
from dataclasses import dataclass

from integrator.airbyte.catalog import Descriptor
from integrator.airbyte.lines import FILE
from integrator.airbyte.messages import Messages
from integrator.errors import PublicDataError

_NO_STREAM = "a STATE of type STREAM has no stream.stream_descriptor with a name; the source must write it"


@dataclass(frozen=True)
class _Waiting:
    """A message that waits. segment: the number of the last segment that has records before it; 0: there are none."""

    segment: int
    line: bytes


class States:
    """The messages that wait, in their order; and how many records came since the last STATE of each stream."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._one = threading.Lock()
        self._waiting: deque[_Waiting] = deque()
        self._bytes = self._synced = 0
        self._closed = False
        self._since: Counter[Descriptor] = Counter()
        self._all = 0

    @property
    def waiting_bytes(self) -> int:
        """How many bytes the messages have that wait."""
        return self._bytes

    @property
    def synced_segment(self) -> int:
        """The number of the last segment that is synced."""
        return self._synced

    def count(self, records: Counter[Descriptor]) -> None:
        """Take note of records that came."""
        self._since.update(records)
        self._all += records.total()

    def add_state(self, line: bytes, segment: int) -> None:
        """Have a STATE wait for a segment; it is given back as it came, with how many records it is for."""
        self.add(_with_stats(line, self._records_of(line)), segment)

    def add(self, line: bytes, segment: int) -> None:
        """Have a message wait for a segment, and be given back as it is."""
        with self._one:
            self._waiting.append(_Waiting(segment, line))
            self._bytes += len(line)
            self._give_back()

    def synced(self, segment: int) -> None:
        """Give back what waits for segments up to this one, which are synced."""
        with self._one:
            self._synced = max(self._synced, segment)
            self._give_back()

    def close(self) -> None:
        """Give back no more: what was not synced by now may never be."""
        with self._one:
            self._closed = True

    def _give_back(self) -> None:
        while not self._closed and self._waiting and self._waiting[0].segment <= self._synced:
            one = self._waiting.popleft()
            self._bytes -= len(one.line)
            self._messages.line(one.line)

    def _records_of(self, line: bytes) -> int:
        """Return how many records came since the last STATE of the same stream; of one for all streams, since that.

        Raises DataError for a STATE of a stream that names none.
        """
        state = json.loads(line)["state"]
        if state.get("type") == "STREAM":
            try:
                named = state["stream"]["stream_descriptor"]
                stream = (named.get("namespace") or None, str(named["name"]))
            except (LookupError, TypeError, AttributeError):
                raise PublicDataError(f"{FILE}: {_NO_STREAM}") from None
            return self._since.pop(stream, 0)
        found, self._all = self._all, 0
        return found


def _with_stats(line: bytes, records: int) -> bytes:
    """Return a STATE with destinationStats in it, and else byte for byte as it was; those of another are replaced."""
    message = json.loads(line)
    if message["state"].pop("destinationStats", None) is not None:
        line = json.dumps(message, ensure_ascii=False).encode() + b"\n"
    stats = f'"destinationStats":{{"recordCount":{records}.0}}'.encode()
    begin = _begin_of_state(line)
    rest = line[begin:].lstrip()
    return line[:begin] + stats + (b"" if rest.startswith(b"}") else b",") + line[begin:]


def _begin_of_state(line: bytes) -> int:
    """Return where the members of the message's own `state` begin, after the brace."""
    text, decoder = line.decode(), json.JSONDecoder()
    at = text.index("{") + 1
    while True:
        found = re.compile(r'[\s,]*("(?:[^"\\]|\\.)*")\s*:\s*').match(text, at)
        if found is None:
            raise ValueError("the message has no state")
        if json.loads(found[1]) == "state":
            return len(text[: found.end() + 1].encode())
        _, at = decoder.raw_decode(text, found.end())
