"""What resolved messages promise, held against the rows that are in the topics and what a database has committed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from confluent_kafka.admin import AdminClient

from integrator.resolved import Resolved, is_at
from tests.parts import kafka_io


def messages(servers: str, topic: str, *, uncommitted: bool = False) -> list[Resolved]:
    """Return the messages of a topic, in order; none where it is not there yet."""
    how = {"isolation.level": "read_uncommitted"} if uncommitted else {}
    if topic not in AdminClient({"bootstrap.servers": servers}).list_topics(timeout=30).topics:
        return []
    return [Resolved.of_json(one.value) for one in kafka_io.read_all(servers, [topic], properties=how)]


def goes_back(found: Sequence[Resolved]) -> list[str]:
    """Return where a position is before an earlier one."""
    wrong = []
    for before, after in pairwise(found):
        pairs = {"": (before.point, after.point)}
        pairs |= {name: (before.of_table(name), after.of_table(name)) for name in before.tables}
        for name, (one, other) in pairs.items():
            if one is not None and (other is None or other.integ_seq < one.integ_seq):
                wrong.append(f"{name or 'the channel'} goes back from {one.position} to {other}")
    return wrong


def come_later(found: Sequence[Resolved], rows: Iterable[kafka_io.Read], tables: Mapping[str, str]) -> list[str]:
    """Return the rows that come after a message at or below its position. tables: by topic; rows have `seq`."""
    wrong = []
    ends = [(one, {table: one.of_table(table) for table in tables.values()}) for one in found]
    for row in rows:
        seq, table = json.loads(row.value)["seq"], tables[row.topic]
        for one, points in ends:
            point = points[table]
            if point is not None and seq <= point.integ_seq and row.offset >= one.offsets[row.topic][row.partition]:
                wrong.append(f"{row.topic} {row.partition}:{row.offset} {seq} comes after {point}")
                break
    return wrong


def not_there(
    found: Sequence[Resolved], rows: Iterable[kafka_io.Read], table: str, topic: str, commits: Mapping[int, str]
) -> list[str]:
    """Return the changes that are not before the ends of a message that is at them.

    commits: of rows by their `n` a position of the database after their commit.
    """
    at = dict[int, tuple[int, int]]()
    for row in rows:
        if row.topic == topic:
            at.setdefault(json.loads(row.value)["n"], (row.partition, row.offset))
    wrong = []
    for number, position in commits.items():
        first = next((one for one in found if is_at(one, position, [table])), None)
        if first is not None:
            partition, offset = at.get(number, (0, 1 << 60))
            if offset >= first.offsets[topic][partition]:
                wrong.append(f"{number}, committed before {position}, is at {offset}, after {first}")
    return wrong
