"""The marks of synced cycles: synced/N.json, and synced/N.held where rows wait for the rest of their transaction.

A mark is written when every message of its cycle is acknowledged (I1). It records which files the cycle had, by their
numbers and by a digest of the journal up to the last one, so that a journal or a checkpoint of another time is found
out (I4).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from integrator import durable
from integrator.contracts.fragments import Checkpoint
from integrator.contracts.sequence import OpenTransaction
from integrator.contracts.shards import Step
from integrator.contracts.streams import PositionRange, Source
from integrator.durable import Damaged
from integrator.names.numbers import counted
from integrator.run.state.sync import Cycle, Rejections

KEPT_CYCLES = 100
_KEPT_REJECTIONS = 100
_COUNTS = ("files", "rows", "messages", "bytes")


@dataclass(frozen=True)
class CycleMark:
    """What is recorded of a synced cycle, with the sub-cycles that followed it; at: when the last was synced.

    planned: the number of the last slice that Spark planned for the cycle. part: how many sub-cycles followed it.
    """

    cycle: int
    at: datetime
    files: int
    rows: int
    messages: int
    bytes: int
    deferred: int
    checkpoint: dict[str, Any]
    journal: str
    path: Path
    planned: int
    part: int
    rejections: tuple[Rejections, ...] = ()

    @property
    def step(self) -> Step:
        """The sub-cycle that was synced last; the cycle itself where none followed it."""
        return self.cycle, self.part

    @property
    def last_slice(self) -> int:
        """The number of the last change file of the cycle, or of those before it where it has none."""
        return int(self.checkpoint["ordinal"])

    @property
    def begins_after(self) -> int:
        """The number of the last change file before the cycle."""
        return self.last_slice - self.files

    @property
    def made_by(self) -> str | None:
        """The fingerprint of the recipe that made the rows which wait."""
        return self.checkpoint.get("made_by")


class CycleMarks:
    """The directory of marks."""

    def __init__(self, directory: Path) -> None:
        self.path = directory

    def cycles(self) -> list[int]:
        """Return the synced cycles that are kept, in order."""
        return sorted(int(path.stem) for path in self.path.glob("[0-9]*.json") if path.stem.isdecimal())

    def has(self, cycle: int) -> bool:
        """Return whether `cycle` is synced."""
        return (self.path / f"{cycle}.json").exists()

    def begun_before(self, cycle: int) -> Step:
        """Return the step that was begun last before a cycle, and synced. Raises Damaged.

        A cycle all of which sub-cycles had sent was not begun: another state's may have sent more of these.
        """
        before = cycle - 1
        while before > 0 and not self.read(before).files and self.has(before - 1):
            before -= 1
        return self.read(before).step if before >= 0 else (-1, 0)

    def write(self, cycle: Cycle, made_by: str, journal: str, part: int = 0) -> None:
        """Write that `cycle` is synced, with so many sub-cycles after it.

        made_by: made its rows that wait. journal: the digest of the files up to it.
        """
        deferred = cycle.checkpoint.deferred
        if deferred:  # before the mark, which records that it is there
            durable.replace(self.path / f"{cycle.cycle}.held", deferred)
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        planned = cycle.checkpoint.ordinal if cycle.planned is None else cycle.planned
        recorded = vars(cycle) | {"journal": journal, "synced": now, "planned": planned, "part": part}
        del recorded["details"], recorded["steps"]
        held = {"held": len(deferred), "held_digest": _digest(deferred), "made_by": made_by}
        recorded["checkpoint"] = vars(cycle.checkpoint) | held
        del recorded["checkpoint"]["deferred"]
        durable.replace(self.path / f"{cycle.cycle}.json", json.dumps(recorded, default=vars).encode())
        for old in self.path.glob(f"{cycle.cycle - KEPT_CYCLES}.*"):
            old.unlink(missing_ok=True)  # one that comes back after a power cut does no harm

    def add(self, done: Cycle, made_by: str, journal: str) -> None:
        """Write that a sub-cycle is synced, too, after its cycle. Raises Damaged."""
        mark = self.read(done.cycle)
        counts = {name: getattr(mark, name) + getattr(done, name) for name in _COUNTS}
        rejections = [*mark.rejections, *done.rejections][-_KEPT_REJECTIONS:]
        both = dataclasses.replace(done, **counts, rejections=rejections, planned=mark.planned)
        self.write(both, made_by, journal, mark.part + 1)

    def read(self, cycle: int) -> CycleMark:
        """Return the mark of `cycle`. Raises Damaged."""
        path = self.path / f"{cycle}.json"
        try:
            recorded = json.loads(path.read_text(encoding="utf-8"))
            numbers = {name: int(recorded[name]) for name in (*_COUNTS, "planned", "part")}
            checkpoint, deferred = recorded["checkpoint"], int(recorded["deferred"])
            mark = CycleMark(
                cycle,
                datetime.fromisoformat(recorded["synced"]),
                **numbers,
                deferred=deferred,
                checkpoint=checkpoint,
                journal=recorded["journal"],
                path=path,
                rejections=tuple(Rejections(**one) for one in recorded.get("rejections", ())),
            )
            _checkpoint(mark, b"")
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise Damaged(f"{path}: the mark of a synced cycle cannot be read: {error!r}") from error
        if recorded["cycle"] != cycle or not 0 <= mark.begins_after <= mark.last_slice:
            raise Damaged(
                f"{path}: is no mark of cycle {cycle}: {recorded['cycle']=}, {mark.files=}, {mark.last_slice=}"
            )
        return mark

    def checkpoint(self, mark: CycleMark) -> Checkpoint:
        """Return where the cycle after `mark` begins. Raises Damaged if the rows that wait there cannot be read."""
        size, path = int(mark.checkpoint["held"]), mark.path.with_suffix(".held")
        deferred = b""
        if size:
            try:
                deferred = path.read_bytes()
                checkpoint = _checkpoint(mark, deferred)
                checkpoint.deferred_rows()
            except (OSError, pa.ArrowException) as error:
                raise Damaged(f"{path}: rows that wait for the rest of their transaction are lost: {error}") from error
            if len(deferred) != size or mark.checkpoint["held_digest"] != _digest(deferred):
                raise Damaged(
                    f"{path}: rows that wait for the rest of their transaction are damaged: "
                    f"{len(deferred):,} of {counted(size, 'byte')}"
                )
        return _checkpoint(mark, deferred)


def _digest(deferred: bytes) -> str:
    return hashlib.sha256(deferred).hexdigest() if deferred else ""


def _checkpoint(mark: CycleMark, deferred: bytes) -> Checkpoint:
    checkpoint = mark.checkpoint
    streams = {name: OpenTransaction(**state) for name, state in checkpoint["streams"].items()}
    opened = OpenTransaction(**checkpoint["open"])
    spans = {stream: PositionRange(*span) for stream, span in checkpoint["spans"].items()}
    sources = {table: Source(*source) for table, source in checkpoint["sources"].items()}
    return Checkpoint(
        int(checkpoint["ordinal"]), opened, int(checkpoint["integ_key"]), deferred, streams, spans, sources
    )
