"""Records of the hvr dialect, as its containers hand them on: one `Records` a table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

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


@dataclass(frozen=True)
class Records:
    """Records of one table: its columns, typed, and the hvr_ columns; `order` is the place in the batch.

    Records of a table that the channel does not have (`UNKNOWN`) come without columns: they count in their transaction.
    """

    table: str
    columns: dict[str, pa.Array]
    missing: dict[str, npt.NDArray[np.bool_]]
    meta: dict[str, pa.Array]
    line: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]
    unknown: dict[str, int] = field(default_factory=dict)
