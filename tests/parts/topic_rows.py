"""Changes in topics, as a consumer has them: Debezium's events as they arrive, and the integrator's rows."""

from __future__ import annotations

import datetime
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.parts import rebuild
from tests.parts.live_tables import KEYS, Row

Decode = Callable[[str, bytes], Row]
Identity = tuple[Any, ...]
"""What two changes have in common only if they are one: its table, its key, and the version that it leaves, if any."""
EPOCH = datetime.datetime(1970, 1, 1)
LOOKED_FOR_S = 0.3


class Tap:
    """All that ever was in topics, read while it comes: what compaction deletes later is still here."""

    def __init__(self, servers: str, topics: Iterable[str]) -> None:
        self._topics, self._stop = tuple(topics), threading.Event()
        self.read: dict[tuple[str, int, int], Message] = {}
        self._decoded: dict[tuple[str, int, int], Row] = {}
        settings = {"group.id": "tap", "isolation.level": "read_committed", "enable.auto.commit": False}
        settings |= {"reconnect.backoff.max.ms": 200}
        self._consumer = Consumer({"bootstrap.servers": servers, "log_level": 0, "fetch.wait.max.ms": 50, **settings})
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        taken: set[tuple[str, int]] = set()
        looked = 0.0
        while not self._stop.is_set():
            if time.monotonic() - looked > LOOKED_FOR_S:
                looked = time.monotonic()
                there = self._partitions() - taken
                if there:
                    self._consumer.incremental_assign([TopicPartition(*one, OFFSET_BEGINNING) for one in there])
                    taken |= there
            for message in self._consumer.consume(1000, 0.05) if taken else ():
                if not message.error():
                    self.read[message.topic(), message.partition(), message.offset()] = message
        self._consumer.close()

    def _partitions(self) -> set[tuple[str, int]]:
        try:
            topics = self._consumer.list_topics(timeout=2).topics
        except Exception:  # noqa: BLE001 - the broker is away
            return set()
        return {(topic, one) for topic in self._topics if topic in topics for one in topics[topic].partitions}

    def events(self, topic: str, decode: Decode) -> list[Row]:
        """The events of a topic, without tombstones, in the order of each partition."""
        found = sorted(place for place in list(self.read) if place[0] == topic)
        for place in found:
            value = self.read[place].value()
            if place not in self._decoded and value is not None:
                self._decoded[place] = decode(topic, value)
        return [self._decoded[place] for place in found if place in self._decoded]

    def __enter__(self) -> Tap:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def avro(client: Any) -> Decode:
    """Confluent's deserializer, by the registry's schemas; times are microseconds and dates days since 1970."""
    read = AvroDeserializer(client)

    def decode(topic: str, value: bytes) -> Row:
        return dict(_plain(read(value, SerializationContext(topic, MessageField.VALUE))))

    return decode


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - EPOCH.date()).days
    return value


def connect_json(topic: str, value: bytes) -> Row:
    """A row as Kafka's JsonConverter writes it, with its schema."""
    return rebuild.payload(value)


def json_event(topic: str, value: bytes) -> Row:
    """A Debezium event in JSON, with its schema or without."""
    event = json.loads(value)
    return dict(event.get("payload", event))


def leaves_row(identity: Identity) -> bool:
    """Return whether the change leaves a row: only then it is certain that another one is a repeat."""
    return identity[1] == "after"


def of_event(table: str, event: Row) -> list[Identity]:
    """The identities of what a Debezium event has: of its change, and of the image before an update, if it is there."""
    key, before, after = KEYS[table], event["before"], event["after"]
    if event["op"] == "d":
        return [(table, "deleted", *(before[name] for name in key))]
    found = [(table, "after", *(after[name] for name in (*key, "version")))]
    if before is not None:
        found.append((table, "before", *(before[name] for name in (*key, "version"))))
    return found


_IMAGES = {0: "deleted", 1: "after", 2: "after", 4: "before"}


def of_row(table: str, row: Row) -> Identity:
    """The identity of what a row of the integrator is: a change, or an image before an update."""
    names = KEYS[table] if row["op_val"] == 0 else (*KEYS[table], "version")
    return (table, _IMAGES[row["op_val"]], *(row[name] for name in names))


def rebuilt(table: str, rows: list[Row]) -> list[Row]:
    """The table that a consumer makes of rows: in the order of their positions, the last one of a key says what is.

    A column that a row lacks, or whose name is in its column `gone`, stays as it was.
    """
    made: dict[Identity, Row] = {}
    for row in sorted(rows, key=lambda row: row["integ_seq"]):
        gone = set((row.get("gone") or "").split(","))
        image = {name: value for name, value in row.items() if name not in {"op_val", "integ_seq", "gone", *gone}}
        key = tuple(image[name] for name in KEYS[table])
        if row["op_val"] == 0:
            made.pop(key, None)
        elif row["op_val"] != 4:
            made[key] = {**made.get(key, {}), **image}
    return [made[key] for key in sorted(made)]


def check_tables(table: str, made: list[Row], wanted: list[Row]) -> None:
    """Check that a rebuilt table is the database's. A column that no row of a key ever had is null."""
    columns = {name for row in wanted for name in row}
    by_key = [{tuple(row[name] for name in KEYS[table]): row for row in rows} for rows in (made, wanted)]
    full = {key: dict.fromkeys(columns) | row for key, row in by_key[0].items()}
    differ = [key for key in full.keys() | by_key[1].keys() if full.get(key) != by_key[1].get(key)]
    shown = "".join(f"\n  {full.get(key)!s:.300}, and not {by_key[1].get(key)!s:.300}" for key in differ[:3])
    assert not differ, f"{table}: {len(differ)} of {len(wanted)} rows differ:{shown}"


def check_once(came: Counter[Identity], sent: Counter[Identity], *, all_came: bool, once: bool) -> None:
    """Check that what came was sent: each change as often as it came where `once`, else that often or more.

    all_came: whether no change may be passed over; in a compacted topic some are.
    """
    of_nowhere = {one: sent[one] for one in sent if one not in came}
    assert not of_nowhere, f"sent, and never came: {of_nowhere}"
    lost = {one: (count, sent[one]) for one, count in came.items() if sent[one] < count}
    assert not (lost and all_came), f"lost (came, sent): {lost}"
    repeated = {one: (came[one], count) for one, count in sent.items() if count > came[one]}
    assert not (repeated and once), f"I8, sent again (came, sent): {repeated}"
