"""Debezium's recorded events, with the topics and keys that the connector sent them with."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data" / "debezium"
OUT_OF_RANGE = {3, 4, 12, 14, 15}
"""Rows of `types` with infinity, NaN, years BC and 24:00, which no type of Arrow holds."""
IMPRECISE = {"anynum", "iv"}
"""Columns that are text in messages, and in Debezium's events a struct and a number; an import's report names them."""
UNAVAILABLE = "__debezium_unavailable_value"


@dataclass(frozen=True)
class Event:
    """A line, the topic and the key that it was sent with, and its value."""

    line: str
    topic: str
    key: str
    value: Any


def parsed(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


def events(name: str) -> Iterator[Event]:
    """Yield the events of a recording, without rows that cannot be held."""
    keys = (DATA / "keys" / f"{name}.tsv").read_text().splitlines()
    for line, sent in zip((DATA / f"{name}.jsonl").read_text().splitlines(), keys, strict=True):
        topic, key = sent.split("\t")
        number = parsed(key)["id"] if topic.endswith(".types") else None
        if number not in OUT_OF_RANGE:
            yield Event(line, topic, key, parsed(line))


def by_key(sent: Iterable[tuple[str, str, Any]]) -> dict[tuple[str, str], list[Any]]:
    """Values by topic and key, in their order."""
    found = defaultdict(list)
    for topic, key, value in sent:
        found[topic, key].append(value)
    return dict(found)


def is_partial(row: dict[str, Any]) -> bool:
    """Whether the connector had no value for some column of a row."""
    return any(UNAVAILABLE in str(value) for value in row.values())
