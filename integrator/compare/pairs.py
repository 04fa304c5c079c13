"""Topics compared with topics, by key and value, after what is around rows is taken away: for migrations.

Each side is read to where it ends when that begins, and folded by key. What comes meanwhile is read in rounds, until
keys that differ stay so without a new message; those that have one in each round are not settled. Values are compared
as they are written, in the columns that both have.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from integrator.compare.at_topic import GREW, Offsets, Topics, key_digest, ranges_of, values_of
from integrator.compare.digests import NO_ROW, Digester, Records, Runs, digest_of, packed
from integrator.compare.merging import Clear, merged_topics
from integrator.compare.messages import CLEARED, GONE, NOTHING, SET, Documents, Effects, Row
from integrator.compare.results import Difference, Kind, TableResult, same
from integrator.contracts.message_format import MessageFormat
from integrator.contracts.registry_access import RegistryAccess
from integrator.errors import ConfigurationError, DataError

_ROUNDS, _PAUSE_S, _SHOWN, _SAMPLED = 5, 1.0, 20, 1000
_SETTLED = 100_000
"""So many keys that differ are read on, with their rows in memory; others stay as they were found."""
_CLEARED = "a topic has truncates, whose place among messages of other partitions is not known"
_FLATTENED = "__"
"""What begins the names of columns that Debezium's flattening adds, such as __deleted."""


@dataclass
class Side:
    """A topic. columns: of the rows that were read. first, read_to: where partitions begin, and were read to."""

    topic: str
    partitions: int
    columns: dict[str, None] = field(default_factory=dict)
    first: Offsets = field(default_factory=dict)
    read_to: Offsets = field(default_factory=dict)


def unwrapped(document: Any) -> tuple[int, Row]:
    """Return the effect of a value of Debezium's on a row, with or without a schema, its envelope, or flattened."""
    if not isinstance(document, dict):
        raise DataError(f"a value is no object: {document!r}")
    row = document["payload"] if set(document) == {"schema", "payload"} else document
    if row is None:
        return GONE, {}
    if "op" in row and ("after" in row or "before" in row):
        kinds = {"d": GONE, "t": CLEARED}
        return kinds.get(str(row["op"]), SET), row.get("after") or row.get("before") or {}
    if str(row.get("__deleted", "false")).lower() == "true":
        return GONE, row
    return SET, {name: value for name, value in row.items() if not name.startswith(_FLATTENED)}


class TopicPair:
    """Two topics. registry: by which schemas of both are found, where they have any.

    effects: by topics, how the effect of messages without an envelope is known, where it is.
    """

    def __init__(
        self,
        topics: Topics,
        names: tuple[str, str],
        registry: RegistryAccess | None,
        effects: Mapping[str, Effects] = MappingProxyType({}),
    ) -> None:
        """Take the names of both. Raises ConfigurationError for one that is not there."""
        self._readers = {name: effects[name].reader() for name in names if name in effects}
        counts = topics.partitions(names)
        if missing := [name for name in names if name not in counts]:
            raise ConfigurationError(f"missing at the brokers: the topics {', '.join(missing)}")
        self._topics, self._sides = topics, [Side(name, counts[name]) for name in names]
        self._documents = Documents(MessageFormat("REGISTRY_JSON"), registry, unframed="json or text")
        self._named: dict[bytes, dict[str, Any]] = {}
        """The keys of rows that differ, by their digests."""

    def run(self) -> TableResult:
        """Compare both; return what came of it. Raises IntegratorError."""
        began = time.monotonic()
        old, new = self._sides
        for side in self._sides:
            self._sample(side)
        read, columns = list[str](), self._common()
        while read != columns:  # again, where later rows have more columns than the first ones
            result, read = TableResult(old.topic, new.topic), columns
            with tempfile.TemporaryDirectory(prefix="compare-") as directory:
                runs = [Runs(Path(directory) / side) for side in ("old", "new")]
                pairs = zip(self._sides, runs, strict=True)
                clears = [self._read(side, one, Digester(columns, ())) for side, one in pairs]
                if any(one.at >= 0 for one in clears):
                    result.why = _CLEARED
                    return result
                columns = self._common()
                open_ = self._merge(runs, result) if read == columns else {}
        others = [*(name for side in self._sides for name in side.columns if name not in columns)]
        result.left_out = tuple(dict.fromkeys(others))
        self._settle(open_, columns, result)
        result.seconds = round(time.monotonic() - began, 3)
        return result

    def _common(self) -> list[str]:
        """Return the columns that both have. Raises ConfigurationError where there are none."""
        old, new = self._sides
        if columns := [name for name in old.columns if name in new.columns]:
            return columns
        raise ConfigurationError(f"{old.topic} and {new.topic} have no column of the same name")

    def _merge(self, runs: Sequence[Runs], result: TableResult) -> dict[bytes, Kind]:
        found: dict[bytes, Kind] = {}
        for one in merged_topics(runs[0], runs[1]):
            result.rows += one.rows
            result.equal += one.equal
            result.ambiguous += one.ambiguous
            parts: Iterable[tuple[Kind, Records]] = (
                ("different", one.different[0]),
                ("missing", one.missing),
                ("missing", one.gone[0]),
                ("extra", one.extra),
            )
            for kind, some in parts:
                few = some[: _SETTLED - len(found)]
                found.update((digest_of(key), kind) for key in few)
                setattr(result, kind, getattr(result, kind) + len(some) - len(few))
        return found

    def _sample(self, side: Side) -> None:
        ends = self._topics.ends({side.topic: side.partitions})
        first = self._topics.first({side.topic: side.partitions})
        near = {place: min(end, first[place] + _SAMPLED) for place, end in ends.items()}
        for _ in self._each(side, first, near):
            pass
        side.first = first

    def _each(self, side: Side, begin: Offsets, end: Offsets) -> Iterable[tuple[bytes, int, Row, tuple[int, int]]]:
        """Yield the key of each message (empty where all rows are gone), its effect, its row, and where it is."""
        reader = self._readers.get(side.topic)
        for one, block in self._topics.blocks(ranges_of(side.topic, begin, end)):
            place = f"{side.topic}/{one.partition}"
            keys = self._documents.of(block.keys(), f"{place}, keys", are_rows=False)
            values = self._documents.of(values_of(block), place)
            for key, value, offset in zip(keys, values, block.offsets.tolist(), strict=True):
                effect, row = (GONE, dict[str, Any]()) if value is None else unwrapped(value[0])
                if effect == SET and reader is not None:
                    [(effect, row)] = reader(row)
                if effect == NOTHING:
                    continue
                if effect == CLEARED:
                    yield b"", effect, row, (one.partition, offset)
                    continue
                if key is None:
                    raise DataError(f"{place}: the message at offset {offset} has no key: nothing distinguishes rows")
                if effect == SET and not row.keys() <= side.columns.keys():
                    side.columns.update(dict.fromkeys(row))
                known = _payload(key[0])
                digest = key_digest(json.dumps(known, sort_keys=True, default=str).encode())
                if digest in self._named:
                    self._named[digest] = known if isinstance(known, dict) else {"key": known}
                yield digest, effect, row, (one.partition, offset)

    def _read(self, side: Side, runs: Runs, digester: Digester) -> Clear:
        ends, clear = self._topics.ends({side.topic: side.partitions}), Clear()
        for key, effect, row, where in self._each(side, side.first, ends):
            if effect == CLEARED:
                clear = Clear(*where)
                continue
            digest = digester.row(row) if effect == SET else NO_ROW
            runs.add(packed(key, digest, (*where, 0), effect))
        side.read_to = ends
        return clear

    def _settle(self, open_: dict[bytes, Kind], columns: Sequence[str], result: TableResult) -> None:
        """Read both on, until keys that differ have no new messages; then read rows that differ, to show them."""
        moved = set[bytes]()
        for _ in range(_ROUNDS if open_ else 0):
            time.sleep(_PAUSE_S)
            moved = {key for side in self._sides for key in self._read_on(side, open_)}
            if b"" in moved:
                result.why = _CLEARED
                return
            if not moved:
                break
        counts = self._topics.partitions([one.topic for one in self._sides])
        if any(counts.get(one.topic) != one.partitions for one in self._sides):
            result.why = GREW
            return
        self._named = {key: {} for key in open_}
        rows = [self._rows(side, open_) for side in self._sides]
        for key, before in open_.items():
            own, its = (one.get(key) for one in rows)
            result.rows += (own is not None) - (before != "extra")
            if own is None and its is None:
                continue
            different = [name for name in columns if own and its and not same(own.get(name), its.get(name))]
            if own and its and not different:
                result.equal += 1
                continue
            if key in moved:
                result.unsettled += 1
                continue
            kind: Kind = "different" if own and its else "missing" if own else "extra"
            setattr(result, kind, getattr(result, kind) + 1)
            if len(result.differences) < _SHOWN:
                shown = {name: ((own or {}).get(name), (its or {}).get(name)) for name in different}
                result.differences.append(Difference(kind, self._named[key], shown))

    def _read_on(self, side: Side, open_: Mapping[bytes, Kind]) -> set[bytes]:
        """Read a side on; return which of the keys have new messages, with an empty one where all rows are gone."""
        ends = self._topics.ends({side.topic: side.partitions})
        begin, side.read_to = side.read_to, ends
        return {key for key, *_ in self._each(side, begin, ends) if not key or key in open_}

    def _rows(self, side: Side, open_: Mapping[bytes, Kind]) -> dict[bytes, Row]:
        """Return what keys have now: the topic is read again, for the keys that differ alone."""
        found: dict[bytes, Row] = {}
        for key, effect, row, _ in self._each(side, side.first, side.read_to) if open_ else ():
            if key in open_:
                found.pop(key, None)
                if effect == SET:
                    found[key] = row
        return found


def _payload(document: Any) -> Any:
    """Return a key without its schema."""
    is_wrapped = isinstance(document, dict) and set(document) == {"schema", "payload"}
    return document["payload"] if is_wrapped else document
