"""A receiver of a socket's lines on a free port of loopback, without a channel."""

import json
import socket

from integrator.sources.sockets.endpoint import Endpoint, Limits
from integrator.sources.sockets.line_gate import LineGate
from integrator.sources.sockets.receiver import Receiver
from integrator.sources.spool import Spool
from tests.parts.waiting import PATIENCE_S, until


class Receiving:
    """A receiver on a free port of loopback, and what it has spooled."""

    def __init__(self, directory, secret=None, tls=None, door=None, **limits):
        self.directory = directory
        self.spool = Spool(directory, (door or LineGate()).waits)
        given = {"segment_seconds": 0.05, **limits}
        self.receiver = Receiver(
            Endpoint("127.0.0.1", 0, listen=True, secret=secret, tls=tls), self.spool, Limits(**given), "t", door
        )

    def __enter__(self):
        self.receiver.start()
        return self

    def __exit__(self, *_):
        self.receiver.close()
        self.spool.close()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.receiver.port), PATIENCE_S)

    def lines(self, sender=None):
        paths = sorted(self.directory.glob("[0-9]*.jsonl"))
        chosen = [path for path in paths if sender is None or f".{sender}." in path.name]
        return [json.loads(line) for path in chosen for line in path.read_text().splitlines() if line.strip()]

    def wait_for(self, count):
        until(lambda: len(self.lines()) >= count, lambda: f"not {count} lines: {self.lines()}")
        return self.lines()

    def refused(self):
        path = self.directory / "refused.jsonl"
        until(path.exists, f"there is no {path}")
        return [json.loads(line) for line in path.read_text().splitlines()]


def records(count, start=1):
    return b"".join(b'{"n":%d}\n' % n for n in range(start, start + count))
