"""Rows as COPY writes them -> the messages that a refresh would send: by the plan, in this process."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from integrator.compare.at_topic import NotComparable
from integrator.contracts.fragments import FILE_SUMMARY, REJECTED_OP, Checkpoint, FileSummary
from integrator.contracts.message_format import Bundling
from integrator.contracts.recipe import Recipe
from integrator.deliver.bundle import Bundler
from integrator.errors import SchemasFound, from_wire
from integrator.plan import Plan
from integrator.run.passes.first_pass import first_pass
from integrator.sources.capture.frames import Segment, Standing, begin, commit, copied
from integrator.sources.capture.points import Captured
from integrator.sources.contract import SliceReader
from integrator.sources.files.reader import slice_of
from integrator.sources.slices import rows_of

_MICROS_TO_2000 = 946_684_800_000_000
_ALTERED = (
    "it was altered, and what is captured of it is from before: compare again after its next change, or after a refresh"
)


@dataclass(frozen=True)
class Taken:
    """Rows of a table as messages. rejected: how many rows the plan would not send, for they cannot be.

    numbers: which row each message is of; none where that is not known.
    """

    keys: list[bytes | None]
    values: list[bytes | None]
    rejected: int = 0
    numbers: list[int] = field(default_factory=list)


class AsMessages:
    """Makes messages of rows as COPY writes them."""

    def __init__(self, plan: Plan, directory: Path) -> None:
        """directory: where segments are written, one at a time."""
        recipe, layout = plan.recipe, plan.recipe.messages.layout
        alone = replace(recipe.messages, layout=replace(layout, bundling=Bundling()))
        self._recipe: Recipe = replace(recipe, messages=alone, transactions=None)
        self._reader: SliceReader = plan.changes.reader
        self._path = directory / "rows.frames"
        self._micros = int(time.time() * 1e6) - _MICROS_TO_2000

    def of(self, table: Captured, rows: bytes, lsn: int, topic: str) -> Taken:
        """Return the messages of whole rows that were read at a position. Raises IntegratorError, NotComparable."""
        segment = Segment(Standing())
        segment.know(table.relation.message())
        segment.add(begin(lsn - 1, self._micros, 1))
        segment.add_change(copied(table.relation.oid, rows), table.relation.oid.to_bytes(4, "big"))
        segment.add(commit(lsn - 1, lsn, self._micros))
        self._path.write_bytes(b"".join(segment.pieces))
        run = first_pass(self._recipe, Checkpoint(), datetime.now(timezone.utc), self._reader)
        bundler, found, rejected = Bundler(self._recipe), Taken([], []), 0
        try:
            for batch in run(iter([rows_of([slice_of(self._path, 1)])])):
                of_rows = batch.filter(pc.and_(pc.greater_equal(batch["op"], 0), pc.less(batch["op"], REJECTED_OP)))
                texts = batch["payload"].filter(pc.equal(batch["op"], FILE_SUMMARY)).to_pylist()
                rejected += sum(FileSummary.of_json(text).rejected for text in texts)
                self._take(bundler, of_rows.filter(pc.equal(of_rows["topic"], topic)), found)
        except RuntimeError as error:
            known = from_wire(str(error))
            if isinstance(known, SchemasFound):
                raise NotComparable(_ALTERED) from None
            raise known or error from None
        numbers = found.numbers if len(found.numbers) == len(found.keys) else []
        return replace(found, rejected=rejected, numbers=numbers)

    @staticmethod
    def _take(bundler: Bundler, rows: pa.RecordBatch, found: Taken) -> None:
        if rows.num_rows:
            found.numbers.extend(int(one.rpartition("|")[2], 16) for one in rows["integ_seq"].to_pylist())
            for messages in bundler.add(rows):
                found.keys.extend(messages.keys.to_pylist())
                found.values.extend(messages.values.to_pylist())
