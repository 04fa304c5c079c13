"""One step runs ahead of the next in its own thread: Arrow and librdkafka release Python's lock."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import TypeVar

Item = TypeVar("Item")

DEPTH = 2


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """Yield `items`, produced by another thread, at most `DEPTH` ahead; its exceptions are raised here."""
    ready: queue.Queue[tuple[bool, Item | BaseException | None]] = queue.Queue(DEPTH)
    over = threading.Event()

    def work() -> None:
        try:
            for item in items:
                _put(ready, (True, item), over)
                if over.is_set():
                    return
            _put(ready, (False, None), over)
        except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the consumer
            _put(ready, (False, error), over)

    worker = threading.Thread(target=work, name="prefetch", daemon=True)
    worker.start()
    try:
        while True:
            more, item = ready.get()
            if more:
                yield item  # type: ignore[misc]
            elif isinstance(item, BaseException):
                raise item
            else:
                return
    finally:
        over.set()
        worker.join()


def _put(ready: queue.Queue[Item], item: Item, over: threading.Event) -> None:
    while not over.is_set():
        try:
            ready.put(item, timeout=0.1)
        except queue.Full:
            continue
        return
