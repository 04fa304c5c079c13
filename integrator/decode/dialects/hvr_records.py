"""Records of the hvr dialect, as its containers hand them on."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from integrator.decode.json.slices import DictionaryTexts
from integrator.decode.rows.runs import Values
from integrator.engine.arrays import Ints
from integrator.schema import Integer, String, Timestamp, Type

META: dict[str, Type] = {
    "hvr_tbl_name": String(),
    "hvr_op": Integer(32),
    "hvr_tx_seq": String(),
    "hvr_tx_countdown": Integer(32),
    "hvr_integ_seq": String(),
    "hvr_cap_tstamp": Timestamp("us", zoned=True),
    "hvr_cap_user": String(),
    "hvr_missing": String(),
}
POSITION = ("hvr_integ_seq", "hvr_tx_seq", "hvr_tx_countdown")


@dataclass(frozen=True)
class Records:
    """Records of a batch, in the order of the file: the table of each, the hvr_ columns, and the values of its row."""

    file: str
    line: Ints
    table: DictionaryTexts
    meta: dict[str, pa.Array]
    values: Values
