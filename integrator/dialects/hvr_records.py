"""Records of the hvr dialect, as its containers hand them on: one `Records` a table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from integrator.arrays import Mask

META: dict[str, pa.DataType] = {
    "hvr_tbl_name": pa.string(),
    "hvr_op": pa.int32(),
    "hvr_tx_seq": pa.string(),
    "hvr_tx_countdown": pa.int32(),
    "hvr_integ_seq": pa.string(),
    "hvr_cap_tstamp": pa.timestamp("us", "UTC"),
    "hvr_cap_user": pa.string(),
    "hvr_missing": pa.string(),
}


UNKNOWN = ""
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Records:
    """Records of one table: its columns, typed, and the hvr_ columns; `order` is the place in the batch.

    Records of a table that the channel does not have (`UNKNOWN`) come without columns: they count in their transaction.
    """

    table: str
    columns: dict[str, pa.Array]
    missing: dict[str, Mask]
    meta: dict[str, pa.Array]
    line: Places
    order: Places
    unknown: dict[str, int] = field(default_factory=dict)

    def slice(self, table: str, start: int, end: int) -> Records:
        """Return the records from `start` to before `end`, which are of `table`."""
        return Records(
            table,
            {name: values.slice(start, end - start) for name, values in self.columns.items()},
            {name: gone[start:end] for name, gone in self.missing.items() if gone[start:end].any()},
            {name: values.slice(start, end - start) for name, values in self.meta.items()},
            self.line[start:end],
            self.order[start:end],
        )
