"""Both sides of a table as records in files, and where rows and messages of them are found again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from integrator.compare.as_messages import Taken
from integrator.compare.at_topic import MessagesOf, NotComparable, Offsets, Seen, Topics, each, ranges_of, read_into
from integrator.compare.digests import Records, Runs, packed
from integrator.compare.merging import Clear
from integrator.compare.messages import SET, Documents, Texts
from integrator.compare.tables import Compared
from integrator.librdkafka.fetching import Range

_NEAR = 1000
"""Messages whose offsets are so near to each other are read in one range."""


class Sides:
    """One table. first: the number of the position at which its first rows were read."""

    def __init__(self, table: Compared, documents: Documents, directory: Path) -> None:
        """directory: where files are, which is made."""
        self.table, self.messages = table, MessagesOf(table, documents)
        self.at_table, self.at_topic = Runs(directory / "table"), Runs(directory / "topic")
        self.rejected, self.first, self.clear = 0, -1, Clear()
        self._keys_path, self._size = directory / "keys", 0
        self._keys = self._keys_path.open("wb")

    def take(self, number: int, keys: Sequence[bytes], taken: Taken) -> None:
        """Take rows of the table that were read at a position. Raises NotComparable."""
        self.first = number if self.first < 0 else self.first
        self.rejected += taken.rejected
        known = [keys[number] for number in taken.numbers] if keys else []
        found, columns = None, self.messages.columns
        if columns.reads and taken.values:
            place = f"the rows of table {self.table.name}"
            found = columns.of(taken.keys, self.messages.texts(Texts.of(taken.values), place), place)
        if found is not None:
            self._take_records(number, known, found.records)
            return
        for at, seen in enumerate(self.rows_of(taken)):
            where = (number, self._size if known else -1, 0)
            self.at_table.add(packed(seen.key, self.messages.digester.row(seen.row), where, SET))
            if known:
                self._keys.write(known[at] + b"\n")
                self._size += len(known[at]) + 1

    def _take_records(self, number: int, keys: Sequence[bytes], records: Records) -> None:
        at = records["at"].copy()
        records["part"], records["at"], records["effect"] = number, -1, SET
        if keys:
            sizes = np.array([len(one) + 1 for one in keys], np.int64)
            records["at"] = (self._size + np.cumsum(sizes) - sizes)[at]
            self._keys.write(b"".join([one + b"\n" for one in keys]))
            self._size += int(sizes.sum())
        self.at_table.extend(records)

    def rows_of(self, taken: Taken) -> Iterator[Seen]:
        """Yield rows of the table as messages have them. Raises NotComparable."""
        size = len(taken.values)
        yield from self.messages.effects(
            taken.keys, taken.values, (0, range(size)), f"the rows of table {self.table.name}"
        )

    def key_texts(self, places: Iterable[int]) -> Iterator[bytes | None]:
        """Yield the texts of keys at places of the file of keys; None where there is none."""
        self._keys.flush()
        with self._keys_path.open("rb") as file:
            for place in places:
                if place < 0:
                    yield None
                    continue
                file.seek(place)
                yield file.readline().removesuffix(b"\n")

    def read_topic(self, topics: Topics, begin: Offsets, end: Offsets) -> None:
        """Write the effects of the topic's messages. Raises NotComparable, EnvironmentFault."""
        ranges = ranges_of(self.table.topic, begin, end)
        self.clear = read_into(self.at_topic, topics, self.messages, ranges)

    def found(self, topics: Topics, places: Iterable[tuple[int, int]], end: Offsets) -> Iterator[Seen]:
        """Yield the effects of messages, given their partitions and offsets, and where partitions end."""
        wanted = set(places)
        for _, seen in each(topics, self.messages, list(self._around(wanted, end))):
            if seen.where[:2] in wanted:
                yield seen

    def _around(self, places: Iterable[tuple[int, int]], end: Offsets) -> Iterator[Range]:
        last: Range | None = None
        for part, offset in sorted(places):
            if offset >= end.get((self.table.topic, part), 0):
                continue
            if last is not None and last.partition == part and offset - last.end < _NEAR:
                last = Range(self.table.topic, part, last.begin, offset + 1)
                continue
            if last is not None:
                yield last
            last = Range(self.table.topic, part, offset, offset + 1)
        if last is not None:
            yield last

    def close(self) -> None:
        """End writing."""
        self._keys.close()


__all__ = ["NotComparable", "Sides"]
