"""kill -9 of Airbyte's destination at random moments: no STATE is ahead of what a consumer can read.

    python -m tests.faults.airbyte_kills [--kills 20] [--seed 1] [--delivery exactly_once]

A source writes numbered records of two streams, and a STATE of each kind after some of them. The destination is killed
at a random moment, every other time with its JVM and workers. Then every record before the last STATE that it gave back
must be readable; the source continues after that STATE, as Airbyte has it.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.parts import airbyte, kafka_io
from tests.parts.brokers import broker

A_STATE, AT_ONCE = 500, 100
STREAMS = (("one", "a b"), ("two", "a b"))


def catalog() -> list[dict[str, Any]]:
    """The configured streams."""
    return [
        {
            "stream": {"namespace": namespace, "name": name, "json_schema": {"type": "object"}},
            "sync_mode": "incremental", "destination_sync_mode": "append", "generation_id": 1,
            "minimum_generation_id": 0, "sync_id": 1,
        } for namespace, name in STREAMS
    ]  # fmt: skip


def record(number: int) -> str:
    """A record: its number, and some text."""
    namespace, name = STREAMS[number % 2]
    data = {"n": number, "text": "ü" * (number % 90), "nested": {"list": [number, None]}}
    inner = {"namespace": namespace, "stream": name, "data": data, "emitted_at": 1_735_689_600_000 + number}
    return json.dumps({"type": "RECORD", "record": inner}, ensure_ascii=False)


def state(number: int) -> str:
    """A STATE, of each kind in its turn: all records below the number are before it."""
    namespace, name = STREAMS[0]
    stream = {"stream_descriptor": {"name": name, "namespace": namespace}, "stream_state": {"next": number}}
    kinds = (
        {"type": "STREAM", "stream": stream},
        {"type": "GLOBAL", "global": {"shared_state": {"next": number}, "stream_states": [stream]}},
        {"data": {"next": number}},
    )
    return json.dumps({"type": "STATE", "state": kinds[number // A_STATE % 3]})


def next_of(message: dict[str, Any]) -> int:
    """The number of the first record that is not before a STATE."""
    found = message["state"]
    inner = found.get("data") or found.get("global", {}).get("shared_state") or found["stream"]["stream_state"]
    return int(inner["next"])


def lines(begin: int, end: int) -> Iterator[str]:
    """What a source writes from one number to another."""
    for number in range(begin, end):
        yield record(number)
        if (number + 1) % A_STATE == 0:
            yield state(number + 1)


def readable(servers: str, topics: list[str]) -> dict[str, dict[str, Any]]:
    """The messages that a consumer of committed ones reads, by their uuids; one that came twice is the same."""
    found: dict[str, bytes] = {}
    for message in kafka_io.read_all(servers, topics):
        assert message.key is not None
        assert found.setdefault(message.key.decode(), message.value or b"") == message.value, "I2"
    return {key: json.loads(value) for key, value in found.items()}


def check(values: dict[str, dict[str, Any]], below: int) -> int:
    """Check that every record below a number is there, as the source wrote it; return how many came again."""
    numbers = []
    for key, value in values.items():
        data = value["_airbyte_data"]
        wanted = json.loads(record(data["n"]))["record"]
        assert (data, value["_airbyte_emitted_at"]) == (wanted["data"], wanted["emitted_at"])
        assert (value["_airbyte_stream"], value["_airbyte_ab_id"]) == (wanted["stream"], key)
        numbers.append(data["n"])
    missing = set(range(below)) - set(numbers)
    assert not missing, f"I1: a STATE was given back before {len(missing)} records, such as {min(missing)}"
    return len(numbers) - len(set(numbers))


def run(
    servers: str, directory: Path, kills: int, seed: int, create: Any, delivery: str = "at_least_once"
) -> dict[str, int]:
    """Write, kill, and continue after the last STATE; check after each kill. Returns what was counted."""
    draw, prefix = random.Random(seed), f"ab{uuid.uuid4().hex[:8]}"
    topics = [f"{prefix}_{namespace}_a_b" for namespace, _ in STREAMS]
    create(topics)
    options = airbyte.options(servers, f"{prefix}.{{namespace}}.{{stream}}", delivery=delivery, create_topics=False)
    words = airbyte.files(directory, options, catalog())
    begin = with_states = 0
    for kill in range(kills):
        writer, stop = airbyte.Writer(words, {"TMPDIR": str(directory)}), threading.Event()
        feeder = threading.Thread(target=_feed, args=(writer, begin, stop))
        feeder.start()
        if draw.random() < 0.8:  # else before or in the first cycle
            writer.wait_for_states(draw.randint(1, 12))
            with_states += 1
        time.sleep(draw.uniform(0.0, 2.0))
        writer.kill(everything=bool(kill % 2))
        stop.set()
        feeder.join()
        writer.close()
        given = [next_of(message) for message in writer.messages("STATE")]
        assert given == sorted(given)
        begin = max([begin, *given])
        check(readable(servers, topics), begin)
        print(f"kill {kill + 1:2d}: {len(given)} STATEs in this life, the next record is {begin}", flush=True)
    last, end = airbyte.Writer(words, {"TMPDIR": str(directory)}), begin + 4 * A_STATE
    last.send(lines(begin, end))
    assert last.end() == 0, b"".join(last.lines[-20:]).decode()
    assert next_of(last.messages("STATE")[-1]) == end
    values = readable(servers, topics)
    return {"records": end, "repeats": check(values, end), "kills": kills, "with_states": with_states}


def _feed(writer: airbyte.Writer, begin: int, stop: threading.Event) -> None:
    """Write records until the destination is gone."""
    at = begin
    while not stop.wait(0.1):
        try:
            writer.send(lines(at, at + AT_ONCE))
        except (BrokenPipeError, ValueError):
            return
        at += AT_ONCE


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delivery", default="at_least_once")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="airbyte-kills-") as name, broker() as kafka:
        print(f"broker: {kafka.kind}")
        print(run(kafka.servers, Path(name), options.kills, options.seed, kafka.create, options.delivery))


if __name__ == "__main__":
    main()
