"""Records of the hvr dialect, whichever container they are in -> change rows with their positions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import flat, mask, of_width
from integrator.contracts.sequence import MAX_ROWS_IN_TRANSACTION, SEQUENCE_WIDTHS
from integrator.decode.dialect import Decoded
from integrator.decode.fields import Where
from integrator.decode.json.slices import DictionaryTexts
from integrator.decode.order.positions import NO_TRANSACTION, Given, Positions
from integrator.decode.rows.records import Records
from integrator.decode.rows.runs import Fill, Values
from integrator.engine.numbers import pad_hexadecimal
from integrator.errors import DataError, Fault
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


_ACTIONS = np.array(list("DIUkbT"), "U1")
"""What each of HVR's operation codes does."""
_SEQUENCE = r"^[0-9A-F]{20}\|[0-9A-F]{16}\|[0-9A-F]{7}$"
_DIGIT = np.zeros(128, np.int64)
_DIGIT[[*b"0123456789ABCDEF"]] = np.arange(16)


def decoded(where: Where, meta: Mapping[str, pa.Array], table: DictionaryTexts, values: Values) -> Decoded:
    """Return the change rows of records: one each. meta: the hvr_ columns. Raises DataError."""
    code = meta["hvr_op"]
    op = pc.fill_null(code, -1).to_numpy(zero_copy_only=False)
    wrong = (op < 0) | (op >= len(_ACTIONS))
    text = "expected 0 delete, 1 insert, 2 update, 3 before key update, 4 before other update, 5 truncate"
    where.refuse(wrong, lambda at: f"hvr_op is {code[at].as_py()}; {text}", collected=True)
    found = Records(
        where=where,
        action=_ACTIONS[np.where(wrong, 0, op)],
        schema=pa.nulls(len(op), pa.string()),
        table=table.encoded(),
        values=values,
        old=np.zeros(len(op), bool),
        cap_tstamp=meta["hvr_cap_tstamp"],
        cap_user=meta["hvr_cap_user"],
        fill=Fill(after=False, needs_values=False),
        images=1,
    )
    return found, positions_of(where, meta)


def positions_of(where: Where, meta: Mapping[str, pa.Array]) -> Positions:
    """Return where records stand, by the columns of `POSITION`: hvr_tx_seq names the transaction. Raises DataError."""
    given, tx, countdown = (meta[name] for name in POSITION)
    left = pc.fill_null(countdown, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    number = np.where(left > 0, MAX_ROWS_IN_TRANSACTION - left, -1)
    segment = pa.repeat(NO_TRANSACTION, len(left))
    if given.null_count < len(given):
        wrong = mask(pc.invert(pc.match_substring_regex(given, _SEQUENCE)))
        text = "expected 20, 16 and 7 upper-case hex digits joined by |"
        where.refuse(wrong, lambda at: f"hvr_integ_seq is {given[at].as_py()!r}; {text}")
        first, second, third = (pc.utf8_slice_codeunits(given, *at) for at in ((0, 20), (21, 37), (38, 45)))
        tx, segment = pc.coalesce(first, tx), pc.coalesce(second, segment)
        digits = flat(pc.fill_null(third, "0" * SEQUENCE_WIDTHS[2]))[0].reshape(-1, SEQUENCE_WIDTHS[2])
        number = np.where(
            mask(pc.is_valid(given)), _DIGIT[digits] @ (16 ** np.arange(SEQUENCE_WIDTHS[2])[::-1]), number
        )
    tx = _padded(tx, where)
    where.refuse(
        (left < 0) | (left >= MAX_ROWS_IN_TRANSACTION),
        lambda at: (
            f"hvr_tx_countdown is {left[at]}; expected the rows left in the transaction, this one included: "
            f"1 to {MAX_ROWS_IN_TRANSACTION - 1}, or 0 where that is not known"
        ),
        collected=True,
    )
    return Positions(tx, tx, segment, np.ones(len(left), np.int64), given=Given(number, left))


def _padded(tx_seq: pa.Array, where: Where) -> pa.Array:
    """Return transaction sequences as 20 upper-case hex digits."""
    digits, offsets = flat(tx_seq)
    padded = np.full((len(tx_seq), SEQUENCE_WIDTHS[0]), ord("0"), np.uint8)
    at = pad_hexadecimal(digits, offsets, padded)
    if at < len(tx_seq):
        text = f"hvr_tx_seq is {tx_seq[at].as_py()!r}; expected 1 to 20 hex digits as text"
        raise DataError(Fault(where.place(at), text))
    return of_width(padded)
