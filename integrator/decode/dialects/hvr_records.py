"""Records of the hvr dialect, as its containers hand them on: one `Records` a table, or for several alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from integrator.arrow.arrays import Mask

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
    """Records of one table, or of several: its columns, typed, and the hvr_ columns.

    order: the place in the batch. shares: names and numbers of records, where they are of several tables, one behind
    another. own: the columns of each of these tables, where they are not the same.
    Records of a table that the channel does not have (`UNKNOWN`) come without columns: they count in their transaction.
    """

    table: str
    columns: dict[str, pa.Array]
    missing: dict[str, Mask]
    meta: dict[str, pa.Array]
    line: Places
    order: Places
    unknown: dict[str, int] = field(default_factory=dict)
    shares: tuple[tuple[str, int], ...] = ()
    own: tuple[Mapping[str, pa.Array], ...] = ()
