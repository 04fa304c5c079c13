"""Keys that differ, inspected again at later positions of the log, until what they are is settled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from integrator.compare.as_messages import Taken
from integrator.compare.at_table import Reached, TableRows
from integrator.compare.at_topic import Offsets, Seen, Topics, each, ranges_of
from integrator.compare.digests import Records, digest_of
from integrator.compare.merging import merged
from integrator.compare.messages import CLEARED, SET, Row
from integrator.compare.results import MASKED, Difference, Kind, TableResult, same
from integrator.compare.sides import Sides
from integrator.compare.tables import Compared
from integrator.contracts.recipe import DebeziumModes
from integrator.sources.capture.points import Captured, ConditionRefused
from integrator.sources.capture.ranges import text_of

MOST = 100_000
"""Keys of a table that are inspected again: rows of so many are in memory. Others are counted."""
UNAVAILABLE = DebeziumModes().unavailable_value
_AT_ONCE = 300
_SHOWN = 20


@dataclass
class Candidate:
    """A key that differs. text: the values of its key at the database, if known. where: its last message.

    settled: it is a difference by what was read first. row: what the last message has; None: not read, or no row.
    change: the position of its last message, where messages have one; cleared: that of the last truncate. is_unordered:
    it is not known which of a message and a truncate is the later one.
    """

    kind: Kind
    text: tuple[str, ...] | None
    where: tuple[int, int] | None
    settled: bool
    row: Row | None = None
    gone: bool = False
    change: bytes = b""
    cleared: bytes = b""
    is_unordered: bool = False


@dataclass
class Found:
    """What the first round of a table came to: its result so far, and the keys that differ, by their digests."""

    sides: Sides
    result: TableResult
    candidates: dict[bytes, Candidate] = field(default_factory=dict)
    key: Sequence[str] = ()
    """The columns of the table's key at the database."""
    repairs: list[tuple[Kind, tuple[str, ...]]] = field(default_factory=list)
    """Of differences that are settled: the values of their keys at the database."""
    refused: set[tuple[str, ...]] = field(default_factory=set)
    """Of messages: the values of keys that the types of the key's columns do not have."""
    repeated: list[tuple[int, int, int]] = field(default_factory=list)
    """Where the first rows are that repeat a change: partition, offset, and place in the message."""


def first_round(found: Found, noted: Sequence[Offsets]) -> None:
    """Merge both sides of a table; what differs becomes candidates. noted: where topics ended before each position."""
    sides, result, topic = found.sides, found.result, found.sides.table.topic

    def is_before(number: int, part: int, at: int) -> bool:
        return at < noted[number].get((topic, part), 0)

    clear = sides.clear
    cleared_before = clear.at < 0 or is_before(sides.first, clear.part, clear.at)
    for one in merged(sides.at_table, sides.at_topic, clear):
        result.rows += one.rows
        result.equal += one.equal
        result.ambiguous += one.ambiguous
        result.moved += one.moved
        result.shared += one.shared
        result.repeated += len(one.repeated)
        first = one.repeated[: _SHOWN - len(found.repeated)]
        found.repeated += [(int(row["part"]), int(row["at"]), int(row["inside"])) for row in first]
        for kind, own, its in (("different", *one.different), ("missing", *one.gone)):
            texts = sides.key_texts(own["at"].tolist())
            for key, text, row in zip(own, texts, its, strict=True):
                is_settled = is_before(int(key["part"]), int(row["part"]), int(row["at"])) and cleared_before
                where = (int(row["part"]), int(row["at"]))
                _add(found, key, Candidate(kind, _if_known(text), where, is_settled))  # type: ignore[arg-type]
        for key, text in zip(one.missing, sides.key_texts(one.missing["at"].tolist()), strict=True):
            _add(found, key, Candidate("missing", _if_known(text), None, cleared_before))
        for key in one.extra:
            where = (int(key["part"]), int(key["at"]))
            if sides.table.has_deletes:
                _add(found, key, Candidate("extra", None, where, is_before(sides.first, *where)))


def _add(found: Found, key: Records, one: Candidate) -> None:
    if len(found.candidates) < MOST:
        found.candidates[digest_of(key)] = one
    elif one.settled and one.kind != "different":  # values that are written differently may be equal
        _count(found.result, one.kind)
    else:
        found.result.unsettled += 1


def _if_known(text: bytes | None) -> tuple[str, ...] | None:
    return None if text is None else _values(text)


def _values(text: bytes) -> tuple[str, ...]:
    return tuple(text_of(one) for one in text.split(b"\t"))


def _count(result: TableResult, kind: Kind) -> None:
    setattr(result, kind, getattr(result, kind) + 1)


@dataclass
class Round:
    """One reading of candidates: at a position, and then at what topics have.

    ends, until: where topics were read to, and where they end now that they have all changes before the position.
    before: where they ended before it was taken. rejected: of each table the keys whose rows are there, and cannot be
    sent. unread: tables whose rows are being read by the channel: nothing of them is settled.
    """

    topics: Topics
    rows: TableRows
    reached: Reached
    there: Mapping[str, Captured]
    at_table: dict[str, dict[bytes, Row]] = field(default_factory=dict)
    rejected: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)

    def read(self, found: Found, at_source: str) -> None:
        """Read the rows of a table's candidates. The topic is not read on before this."""
        table, key = self.there.get(at_source), list[str]()
        rows: dict[bytes, Row] = {}
        if table is not None:
            key = [*self.reached.point.key(table)]
        texts = (one.text for one in found.candidates.values() if one.text is not None)
        rejected = self.rejected[found.result.table] = set[tuple[str, ...]]()
        topic = found.sides.table.topic
        while table is not None and key and (some := list(islice(texts, _AT_ONCE))):
            for keys, taken in self._chosen(table, key, some, topic, found.refused):
                rows.update((seen.key, seen.row) for seen in found.sides.rows_of(taken))
                sent = {*taken.numbers}
                unsent = [text for number, text in enumerate(keys) if taken.rejected and number not in sent]
                values = (_values(text) for text in unsent)
                rejected.update(one for one in values if self._is_rejected(table, key, one, topic))
        self.at_table[found.result.table] = rows

    def _chosen(
        self,
        table: Captured,
        key: Sequence[str],
        rows: Sequence[tuple[str, ...]],
        topic: str,
        refused: set[tuple[str, ...]],
    ) -> Iterator[tuple[list[bytes], Taken]]:
        """Yield the rows of keys, as `chosen`. One of a message that is none of the key's type is refused."""
        try:
            yield self.rows.chosen(self.reached.point, table, table.condition(key, rows), topic)
        except ConditionRefused:
            half = len(rows) // 2
            refused.update(rows if not half else ())
            for some in (rows[:half], rows[half:]) if half else ():
                yield from self._chosen(table, key, some, topic, refused)

    def _is_rejected(self, table: Captured, key: Sequence[str], row: tuple[str, ...], topic: str) -> bool:
        """Return whether a row cannot be sent; else a condition of the channel leaves it out."""
        return bool(self.rows.chosen(self.reached.point, table, table.condition(key, [row]), topic)[1].rejected)

    def key_of(self, at_source: str) -> Sequence[str]:
        """Return the columns of a table's key at the database."""
        table = self.there.get(at_source)
        return [*self.reached.point.key(table)] if table is not None else []

    def settle(self, found: Found, before: Offsets, ends: Offsets, until: Offsets) -> None:
        """Read the topic on, and settle what is settled; other candidates stay."""
        sides, candidates = found.sides, found.candidates
        self._read_on(found, ends, until)
        if found.result.table in self.unread:
            return
        rows = self.at_table[found.result.table]
        for key, one in list(candidates.items()):
            if one.text is None:  # it cannot be looked up: what was settled stays so
                if one.gone and one.kind == "extra":
                    del candidates[key]
                elif one.row is not None and any(
                    is_lacking(sides.table, one.row, name) for name in sides.table.columns
                ):
                    del candidates[key]  # the row may have what the source has left out
                    found.result.unsettled += 1
                elif one.settled:
                    _difference(found, key, one, None)
                continue
            row = rows.get(key)
            is_last = one.where is None or one.where[1] < before.get((sides.table.topic, one.where[0]), 0)
            if is_same(sides.table, row, one.row, found.result):
                del candidates[key]
                found.result.equal += row is not None
            elif is_last and one.text in self.rejected[found.result.table]:
                _difference(found, key, one, row, kind="different")
            elif is_last:
                _difference(found, key, one, row)
            if key not in candidates:  # the table's rows are counted as they were when each was settled
                found.result.rows += (row is not None) - (one.kind != "extra")

    def _read_on(self, found: Found, ends: Offsets, until: Offsets) -> None:
        """Have candidates know their messages up to `until`; those without an order are counted."""
        sides, candidates = found.sides, found.candidates
        ranges = ranges_of(sides.table.topic, ends, until)
        for _, seen in each(self.topics, sides.messages, ranges):
            _follow(candidates, seen, several=len(ranges) > 1)
        unread = {one.where for one in candidates.values() if one.where and not one.gone and one.row is None}
        for seen in sides.found(self.topics, {one for one in unread if one}, until):
            one = candidates.get(seen.key)
            if one is not None and one.where == seen.where[:2]:
                one.row, one.gone = (seen.row, False) if seen.effect == SET else (None, True)
        for key in [key for key, one in candidates.items() if one.is_unordered]:
            del candidates[key]
            found.result.ambiguous += 1


def _follow(candidates: dict[bytes, Candidate], seen: Seen, *, several: bool) -> None:
    """Have candidates know a message. several: partitions are read one after another, and truncates are of all."""
    if seen.effect == CLEARED:
        for one in candidates.values():
            one.is_unordered |= several and not seen.change
            if not several or seen.change > one.change:
                one.row, one.where, one.gone, one.settled = None, seen.where[:2], True, False
                one.cleared = seen.change
    elif (found := candidates.get(seen.key)) is not None and not (several and seen.change < found.cleared):
        found.where, found.settled, found.change = seen.where[:2], False, seen.change
        found.row, found.gone = (seen.row, False) if seen.effect == SET else (None, True)


def is_same(table: Compared, row: Row | None, message: Row | None, result: TableResult) -> bool:
    """Return whether a row is as a message has it; one that lacks columns is counted."""
    if row is None or message is None:
        return row is message or (row is None and not table.has_deletes)
    different = [name for name in table.columns if not same(row.get(name), message.get(name))]
    if any(not is_left_out(table, row, message, name) for name in different):
        return False
    result.incomplete += bool(different)
    return True


def is_left_out(table: Compared, row: Row, message: Row, name: str) -> bool:
    """Return whether a message may lack a column for the source has left its value out."""
    least, value = dict(table.may_lack).get(name, 0), row.get(name)
    return is_lacking(table, message, name) and not (isinstance(value, str) and len(value.encode()) < least)


def is_lacking(table: Compared, message: Row, name: str) -> bool:
    """Return whether a message lacks a column for the source may have left its value out."""
    its = message.get(name, UNAVAILABLE)
    lacks = its == UNAVAILABLE or (its is None and table.recipe.missing_as_null)
    return lacks and name in dict(table.may_lack)


def _difference(found: Found, key: bytes, one: Candidate, row: Row | None, kind: Kind | None = None) -> None:
    """Count a difference, which is settled, and note it where it is one of the first.

    kind: of a row that is there, and cannot be sent: it is not repaired.
    """
    del found.candidates[key]
    is_repaired = kind is None and one.text is not None
    if kind is None:
        kind = "different" if row is not None and one.row is not None else "extra" if row is None else "missing"
        kind = kind if one.text is not None else one.kind
    _count(found.result, kind)
    if is_repaired and one.text is not None:
        found.repairs.append((kind, one.text))
    if len(found.result.differences) < _SHOWN:
        found.result.differences.append(shown(found.sides.table, kind, one, row))


def shown(table: Compared, kind: Kind, one: Candidate, row: Row | None) -> Difference:
    """Return a difference for people."""
    known = row if row is not None else one.row or {}
    names = table.key or tuple(name for _, name in table.lookup if name in known)

    def value(name: str, of: Row) -> Any:
        return MASKED if name in table.masked else of.get(name)

    key: dict[str, Any] = {name: value(name, known) for name in names if name in known}
    if not key and one.text is not None and not table.masked:
        key = {"key": ", ".join(one.text)}
    columns = {}
    if row is not None and one.row is not None:
        columns = {
            name: (value(name, row), value(name, one.row))
            for name in table.columns
            if not same(row.get(name), one.row.get(name)) and not is_left_out(table, row, one.row, name)
        }
    return Difference(kind, key, columns)


def name_repeated(found: Found, topics: Topics, until: Offsets) -> None:
    """Have the result know the keys of the first messages that repeat a change. until: where partitions end."""
    for seen in found.sides.found(topics, [where[:2] for where in found.repeated], until):
        if seen.where in found.repeated:
            one = Candidate("extra", None, None, settled=True, row=seen.row)
            found.result.repeated_keys.append(shown(found.sides.table, "extra", one, None).key)


def with_texts(found: Found, topics: Topics, key: Sequence[str], until: Offsets) -> None:
    """Have candidates that only the topic has know the values of their keys at the database, if messages have them."""
    members = dict(found.sides.table.lookup)
    names = [members.get(column) for column in key]
    if not key or not all(names):
        return
    unread = {one.where for one in found.candidates.values() if one.text is None and one.where is not None}
    for seen in found.sides.found(topics, {one for one in unread if one is not None}, until):
        one = found.candidates.get(seen.key)
        if one is None or one.where != seen.where[:2] or seen.effect != SET:
            continue
        one.row = seen.row
        values = [seen.row.get(str(name)) for name in names]
        if all(value is not None for value in values):
            one.text = tuple(str(value) for value in values)


def left(found: Iterable[Found]) -> Iterator[Found]:
    """Yield tables that have candidates."""
    yield from (one for one in found if one.candidates)
