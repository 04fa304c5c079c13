"""A capture agent: sends numbered lines through a socket, and continues after what is received, as often as it must."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from functools import partial

CHUNK = 500


class Agent:
    """Sends the lines 1 to `count` that `line` makes, at most `rate` a second, until all of them are acknowledged."""

    def __init__(self, port: int, name: str, count: int, line: Callable[[int], bytes], rate: float = 0) -> None:
        self.received = 0
        self.connections = 0
        self._port, self._name, self._count, self._line, self._rate = port, name, count, line, rate

    def run(self) -> None:
        while self.received < self._count:
            with contextlib.suppress(OSError):
                self._session()
            time.sleep(0.1)

    def _session(self) -> None:
        with socket.create_connection(("127.0.0.1", self._port), 10) as connected:
            replies = connected.makefile("rb")
            hello = {"hello": {"sender": self._name}}
            connected.sendall(json.dumps(hello).encode() + b"\n")
            self.received = json.loads(next(replies, b'{"received": 0}'))["received"]
            self.connections += 1
            reading = threading.Thread(target=self._acknowledge, args=(replies,))
            reading.start()
            try:
                self._send(connected, self.received + 1)
            finally:
                with contextlib.suppress(OSError):
                    connected.shutdown(socket.SHUT_WR)
                reading.join()
                replies.close()

    def _acknowledge(self, replies: object) -> None:
        with contextlib.suppress(OSError, ValueError):
            for reply in replies:  # type: ignore[attr-defined]
                self.received = json.loads(reply).get("received", self.received)

    def _send(self, connected: socket.socket, first: int) -> None:
        started = time.monotonic()
        for start in range(first, self._count + 1, CHUNK):
            connected.sendall(b"".join(map(self._line, range(start, min(start + CHUNK, self._count + 1)))))
            due = (start + CHUNK - first) / self._rate if self._rate else 0
            time.sleep(max(0.0, started + due - time.monotonic()))


def hvr_line(name: str, number: int) -> bytes:
    """Row `number` of an agent: its key is number % 1000, and ten rows are a transaction."""
    row = {"hvr_op": 1, "hvr_tx_seq": f"{number // 10:X}", "a": name, "k": number % 1000, "n": number}
    return json.dumps(row).encode() + b"\n"


def main() -> None:
    """python -m tests.parts.agent PORT NAME COUNT RATE: its pid, then a line with its counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("name")
    parser.add_argument("count", type=int)
    parser.add_argument("rate", type=float)
    given = parser.parse_args()
    print(os.getpid(), flush=True)
    agent = Agent(given.port, given.name, given.count, partial(hvr_line, given.name), given.rate)
    agent.run()
    print(json.dumps({"received": agent.received, "connections": agent.connections}), flush=True)


if __name__ == "__main__":
    main()
