"""A proxy of TCP on loopback that can cut its connections, at once or after so many bytes more, or hold all bytes."""

from __future__ import annotations

import contextlib
import socket
import threading


class Proxy:
    """Listens at `place`, and hands bytes to and from `target`, which may be set later."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.target = ""
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._left: int | None = None
        self._flows = threading.Event()
        self._flows.set()

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.flow()
        self.cut()

    def hold(self) -> None:
        """Hand on no byte, as a network that has lost its way: no end hears that the connection is of no use."""
        self._flows.clear()

    def flow(self) -> None:
        """Hand bytes on again."""
        self._flows.set()

    def cut(self) -> None:
        """Cut all connections."""
        with self._lock:
            self._left = None
            gone, self._open = self._open, set()
        for one in gone:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def cut_after(self, size: int) -> None:
        """Cut all connections when so many bytes more have gone to the target."""
        with self._lock:
            self._left = size

    def _accept(self) -> None:
        while True:
            try:
                ours, _ = self._listener.accept()
            except OSError:
                return
            host, _, port = self.target.rpartition(":")
            try:
                theirs = socket.create_connection((host, int(port)), 5)
            except (OSError, ValueError):
                ours.close()
                continue
            theirs.settimeout(None)
            with self._lock:
                self._open |= {ours, theirs}
            for source, sink, counts in ((ours, theirs, True), (theirs, ours, False)):
                threading.Thread(target=self._pump, args=(source, sink, counts), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, counts: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                due = False
                if counts:
                    with self._lock:
                        if self._left is not None:
                            due = len(data) >= self._left
                            data = data[: self._left]
                            self._left -= len(data)
                sink.sendall(data)
                if due:
                    self.cut()
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
                one.close()
            with self._lock:
                self._open.discard(one)
