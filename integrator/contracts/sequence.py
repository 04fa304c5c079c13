"""Where changes stand in the order of their source: hvr_integ_seq, and the transaction that is open at a file's end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from integrator.arrow.arrays import flat, of_width
from integrator.engine.arrays import Ints, Words
from integrator.engine.numbers import write_hexadecimal

SEQUENCE_WIDTHS = (20, 16, 7)
"""hvr_integ_seq: the commit's position, the transaction, the row in it; hex digits joined by `|`, 45 characters."""
MAX_ROWS_IN_TRANSACTION = 16 ** SEQUENCE_WIDTHS[2]


@dataclass(frozen=True)
class OpenTransaction:
    """Where a file, or a part of one, stands in the order of transactions: what the next part continues.

    tx: the open transaction's identity, as the dialect writes it; None where it is not known or none is open.
    rows: change rows of it so far. since_start: the part has been inside this one transaction from its first record,
    so that the part before it may hold its beginning. continues: the source says that there is more of it to come; None
    where the part does not show it. identity: what identifies the transaction, where `tx` does not: parts
    that begin at different places of it write another `tx`. cap_tstamp: its commit time in microseconds since 1970,
    where only its begin says it. leading: rows before it that are of the transaction which is open before the part.
    """

    tx: str | None = None
    rows: int = 0
    since_start: bool = True
    continues: bool | None = None
    identity: str | None = None
    cap_tstamp: int | None = None
    leading: int = 0

    def after(self, before: OpenTransaction) -> OpenTransaction:
        """Return the state after this part, given the state `before` it; that of nothing leaves it as it is."""
        if not self.since_start or before == OpenTransaction():
            return self
        if before.tx is None and before.since_start and self.tx is not None:
            return replace(self, leading=before.rows + self.leading)
        same = self.tx == before.tx if self.identity is None else self.identity == before.identity
        if self.tx is None or same:
            continues = before.continues if self.continues is None else self.continues
            return replace(before, rows=before.rows + self.leading + self.rows, continues=continues)
        return replace(self, since_start=False, leading=0)

    @property
    def unfinished(self) -> str:
        """What the integ_seq of the rows of this transaction begins with, if it is known to continue; else empty."""
        return self.tx[: sum(SEQUENCE_WIDTHS[:2]) + 1] if self.tx and self.rows and self.continues else ""


@dataclass(frozen=True)
class EndedTransactions:
    """The transactions that end in a part of a file, by the beginnings of their rows' integ_seq.

    without: the beginnings of rows that are in no transaction.
    """

    ended: pa.Array = field(default_factory=lambda: pa.nulls(0, pa.string()))
    without: pa.Array = field(default_factory=lambda: pa.nulls(0, pa.string()))


def hexadecimal(values: Words, width: int) -> pa.Array:
    """Return each value as `width` upper-case hex digits."""
    digits = np.empty((len(values), width), np.uint8)
    write_hexadecimal(values, digits, 0, width)
    return of_width(digits)


def row_numbers(positions: pa.Array) -> Ints:
    """Return the number of each row in its transaction, given hvr_integ_seq."""
    begin, width = sum(SEQUENCE_WIDTHS) + 2 - SEQUENCE_WIDTHS[2], SEQUENCE_WIDTHS[2]
    digits = flat(positions)[0].reshape(len(positions), -1)[:, begin:].astype(np.int64)
    values = np.where(digits > ord("9"), digits - ord("A") + 10, digits - ord("0"))
    return np.asarray(values @ (16 ** np.arange(width)[::-1]), np.int64)


def integ_seq(commit: pa.Array, transaction: pa.Array, row: Ints) -> pa.Array:
    """Join the segments of hvr_integ_seq: hex text of a commit (20) and a transaction (16), and row numbers.

    I2: a pure function of the source position, so a change sent again is the same, byte for byte.
    """
    joined = np.full((len(row), sum(SEQUENCE_WIDTHS) + 2), ord("|"), np.uint8)
    begin = 0
    for segment, width in zip((commit, transaction), SEQUENCE_WIDTHS, strict=False):
        joined[:, begin : begin + width] = flat(segment)[0].reshape(len(row), width)
        begin += width + 1
    write_hexadecimal(row.astype(np.uint64), joined, begin, begin + SEQUENCE_WIDTHS[2])
    return of_width(joined)
