"""Change rows: the contract between dialects and everything after them.

The metadata of all rows are in one place, and so are the columns of a table, in a segment: one table is one run of rows
in one segment, and many tables cost what one does (I6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np
import pyarrow as pa

from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE, UPDATE
from integrator.contracts.segment import Segment
from integrator.engine.arrays import Ints, Mask

_ARRAYS = ("op", "integ_seq", "tx_seq", "countdown", "cap_tstamp", "cap_user", "record", "without_form")
RECORD = pa.struct(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("key", pa.string()),
        ("headers", pa.map_(pa.string(), pa.string())),
        ("timestamp", pa.timestamp("us", "UTC")),
    ]
)
"""What a topic has of a record beside its value. key: text, in base64 where all are bytes."""
BETWEEN_NAMES = "\0"
"""What stands between the columns of `without_form`: no database has it in a name."""


@dataclass(frozen=True)
class ChangeBatch:
    """Change rows of any tables of a file, segment after segment, each table's in source order.

    An update is two adjacent rows: before image, then after image.
    op: int8, HVR's operation codes. integ_seq: 45 characters, text order = change order. tx_seq: 20 hex digits.
    countdown: int32, rows left in the transaction with this one; 0 where its end is not known.
    cap_tstamp: timestamp(us, UTC), the commit in the source; null where the source does not say.
    cap_user: string; null where the source does not say.
    record: RECORD, the record of a topic that each row was read from; null where no expression asks, or in files.
    without_form: string, the columns of each row that are null because their types lack the database's value (see
    `BETWEEN_NAMES`); null for rows without such.
    line: int64, the line of the file that each row was read from. order: int64, its place among all rows of the batch.
    before_images: which rows are before images whose after image is the next row; None: found from op and order.
    location: the source location that they are of, where there are several.
    """

    file: str
    segments: tuple[Segment, ...]
    op: pa.Array
    integ_seq: pa.Array
    tx_seq: pa.Array
    countdown: pa.Array
    cap_tstamp: pa.Array
    cap_user: pa.Array
    record: pa.Array
    without_form: pa.Array
    line: Ints
    order: Ints
    before_images: Mask | None = None
    location: str = ""

    def __len__(self) -> int:
        return len(self.op)

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The table of each run of rows."""
        return tuple(chain.from_iterable([segment.tables for segment in self.segments]))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of rows of each run."""
        return tuple(chain.from_iterable([segment.sizes for segment in self.segments]))

    @cached_property
    def run_of_row(self) -> Ints:
        """The run that each row is in."""
        return np.repeat(np.arange(len(self.sizes)), np.array(self.sizes, np.int64))

    @cached_property
    def bounds(self) -> Ints:
        """Where each segment begins, and the end."""
        return np.cumsum([0, *[sum(segment.sizes) for segment in self.segments]])

    def table_of(self, row: int) -> str:
        """Return the table that a row is of."""
        return self.tables[int(np.searchsorted(np.cumsum(self.sizes), row, side="right"))]

    @property
    def one(self) -> Segment:
        """The segment of rows that have one. Raises ValueError for others."""
        [segment] = self.segments
        return segment

    @property
    def columns(self) -> Mapping[str, pa.Array]:
        """The columns of rows of one segment."""
        return self.one.columns

    @property
    def missing(self) -> Mapping[str, Mask]:
        """Which values are missing in rows of one segment, by column."""
        return self.one.missing

    @property
    def gaps(self) -> Mapping[str, Mask]:
        """The values that messages will not have, missing in the source or left out, by column; of one segment."""
        missing, left_out = self.one.missing, self.one.left_out
        none = np.zeros(len(self), bool)
        return {name: missing.get(name, none) | left_out.get(name, none) for name in {**missing, **left_out}}

    def with_columns(self, columns: Mapping[str, pa.Array], missing: Mapping[str, Mask]) -> ChangeBatch:
        """Return rows of one segment with other columns."""
        return replace(self, segments=(replace(self.one, columns=columns, missing=missing),))

    @cached_property
    def is_before_image(self) -> Mask:
        """Which rows are before images whose after image is the next row; computed before rows are skipped."""
        if self.before_images is not None:
            return self.before_images
        op = self.op.to_numpy(zero_copy_only=False)
        found = np.zeros(len(op), bool)
        found[:-1] = ((op == BEFORE_KEY_UPDATE) | (op == BEFORE_UPDATE))[:-1] & (op[1:] == UPDATE)
        found[:-1] &= np.diff(self.order) == 1
        ends = np.cumsum(np.array(self.sizes, np.int64))
        found[ends[ends > 0] - 1] = False  # no update goes from one table into the next
        return found

    def rows(self, start: int, stop: int, segments: tuple[Segment, ...]) -> ChangeBatch:
        """Return the rows from `start` to before `stop`, which are those of `segments`."""
        arrays = {name: getattr(self, name).slice(start, stop - start) for name in _ARRAYS}
        at = slice(start, stop)
        return ChangeBatch(
            self.file,
            segments,
            **arrays,
            line=self.line[at],
            order=self.order[at],
            before_images=self.is_before_image[at],
            location=self.location,
        )

    def split_by_table(self) -> list[ChangeBatch]:
        """Return the rows of each table."""
        if len(self.tables) <= 1:
            return [self][: len(self.tables)]
        found, start = [], 0
        for segment in self.segments:
            for part in segment.split([1] * len(segment.tables)):
                found.append(self.rows(start, start + len(part), (part,)))
                start += len(part)
        return found

    def only(self, places: Sequence[int]) -> ChangeBatch:
        """Return the rows of some segments, by their places, which ascend."""
        if len(places) == len(self.segments):
            return self
        segments, bounds = tuple(self.segments[place] for place in places), self.bounds
        first, last = places[0], places[-1] + 1
        if last - first == len(places):
            return self.rows(int(bounds[first]), int(bounds[last]), segments)
        at = np.concatenate([np.arange(bounds[place], bounds[place + 1]) for place in places])
        taken = pa.array(at)
        arrays = {name: getattr(self, name).take(taken) for name in _ARRAYS}
        before = self.is_before_image[at]
        return ChangeBatch(
            self.file,
            segments,
            **arrays,
            line=self.line[at],
            order=self.order[at],
            before_images=before,
            location=self.location,
        )

    def filter(self, keep: Mask) -> ChangeBatch:
        """Return the rows for which `keep` is True; two rows that become neighbours by that are no update."""
        if keep.all():
            return self
        at, bounds = pa.array(keep), self.bounds
        left = [
            segment.filter(keep[start:stop])
            for segment, start, stop in zip(self.segments, bounds[:-1], bounds[1:], strict=True)
        ]
        segments = tuple(segment for segment in left if segment is not None)
        if not segments and self.segments:  # of no rows, with its columns
            none = self.segments[0]
            empty = {name: column.slice(0, 0) for name, column in none.columns.items()}
            segments = (Segment(none.tables[:1], (0,), empty),)
        return ChangeBatch(
            self.file,
            segments,
            **{name: getattr(self, name).filter(at) for name in _ARRAYS},
            line=self.line[keep],
            order=self.order[keep],
            before_images=(self.is_before_image & np.append(keep[1:], [False]))[keep],
            location=self.location,
        )

    def merged(self) -> ChangeBatch:
        """Return rows of segments with the same columns as those of one; runs of a table become one run."""
        if len(self.segments) == 1:
            return self
        first = self.segments[0]
        starts = [place for place, name in enumerate(self.tables) if not place or name != self.tables[place - 1]]
        return replace(
            self,
            segments=(
                Segment(
                    tuple(self.tables[place] for place in starts),
                    tuple(np.add.reduceat(self.sizes, starts).tolist()),
                    {name: pa.concat_arrays([one.columns[name] for one in self.segments]) for name in first.columns},
                    _joined_masks(self.segments, [one.missing for one in self.segments]),
                    _joined_masks(self.segments, [one.left_out for one in self.segments]),
                ),
            ),
            before_images=self.is_before_image,
        )


def no_changes(file: str) -> ChangeBatch:
    """Return a batch without rows."""
    none, records = np.empty(0, np.int64), pa.nulls(0)
    texts, stamps = pa.nulls(0, pa.string()), pa.nulls(0, pa.timestamp("us", "UTC"))
    codes, counts = pa.nulls(0, pa.int8()), pa.nulls(0, pa.int32())
    return ChangeBatch(file, (), codes, texts, texts, counts, stamps, texts, records, texts, none, none)


def joined(batches: Sequence[ChangeBatch]) -> ChangeBatch:
    """Return the rows of batches of one file, of which there is one at least, one after another."""
    batches = [batch for batch in batches if len(batch)] or batches[:1]
    if len(batches) == 1:
        return batches[0]
    return ChangeBatch(
        batches[0].file,
        tuple(segment for batch in batches for segment in batch.segments),
        **{name: pa.concat_arrays([getattr(batch, name) for batch in batches]) for name in _ARRAYS},
        line=np.concatenate([batch.line for batch in batches]),
        order=np.concatenate([batch.order for batch in batches]),
        before_images=np.concatenate([batch.is_before_image for batch in batches]),
        location=batches[0].location,
    )


def _joined_masks(segments: Sequence[Segment], masks: Sequence[Mapping[str, Mask]]) -> dict[str, Mask]:
    pairs = list(zip(segments, masks, strict=True))
    names = [name for name in segments[0].columns if any(name in of for of in masks)]  # in the order of columns
    return {name: np.concatenate([of.get(name, np.zeros(len(one), bool)) for one, of in pairs]) for name in names}
