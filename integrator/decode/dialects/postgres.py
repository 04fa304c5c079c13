"""What PostgreSQL's dialects share: the letters of actions, and texts of positions -> segments of hvr_integ_seq."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.contracts.sequence import SEQUENCE_WIDTHS, hexadecimal
from integrator.decode.fields import Where, bytes_of, whole_numbers
from integrator.decode.json.objects import Objects
from integrator.decode.rows.coding import stamps
from integrator.decode.text.moments import ZONE
from integrator.engine.arrays import Ints, Mask
from integrator.engine.log_numbers import parse_hexadecimal_pairs
from integrator.errors import shown

Letters = np.ndarray[tuple[int], np.dtype[np.str_]]
_ACTIONS = "BCIUDTM"


def actions(objects: Objects) -> Letters:
    """Return what each line does: B begin, C commit, I U D T changes, M message. Raises DataError for another word."""
    words = objects.labels("action")
    unknown = [place for place, word in enumerate(words.texts) if word not in tuple(_ACTIONS)]

    def text(at: int) -> str:
        word = words.texts[words.codes[at]] if words.codes[at] >= 0 else None
        return f"the action {shown(word)} is none of {' '.join(_ACTIONS)}"

    Where.of(objects).refuse(np.isin(words.codes, [*unknown, -1]), text)
    return np.array(words.texts, "U1")[words.codes]


def row_counts(letters: Letters, has_old: Mask) -> Ints:
    """Return how many change rows each line makes: an update with a before image makes two."""
    rows = np.isin(letters, ["I", "D", "T", "U"]).astype(np.int64)
    return np.asarray(rows + ((letters == "U") & has_old), np.int64)


def commit(where: Where, nextlsn: pa.Array) -> pa.Array:
    """Return LSNs (`0/3BD39C8`) as 20 hex digits (https://www.postgresql.org/docs/15/datatype-pg-lsn.html).

    Raises DataError for what is none; null stays null.
    """
    plain = bytes_of(nextlsn)
    values = np.zeros(len(nextlsn), np.uint64)
    if plain is not None and parse_hexadecimal_pairs(*plain, values):
        found = hexadecimal(values, SEQUENCE_WIDTHS[0])
        return pc.if_else(pc.is_valid(nextlsn), found, None) if nextlsn.null_count else found
    parts = pc.extract_regex(nextlsn, r"^(?P<high>[0-9A-Fa-f]{1,8})/(?P<low>[0-9A-Fa-f]{1,8})$")
    where.check(nextlsn, mask(pc.is_null(parts)), "nextlsn", "a position such as 0/3BD39C8")
    high, low = (pc.utf8_lpad(pc.struct_field(parts, name), 8, "0") for name in ("high", "low"))
    return pc.utf8_upper(pc.binary_join_element_wise("0000", high, low, ""))


def instants(texts: pa.Array, where: Where) -> pa.Array:
    """Return commit times, as PostgreSQL prints them with a zone, as timestamp(us, UTC). Raises DataError."""
    zoned = mask(pc.match_substring_regex(texts, rf":\d\d(\.\d+)?{ZONE}$"))
    where.check(texts, ~zoned, "timestamp", "a timestamp with a zone, such as 2026-01-18 03:15:30.139317+00")
    return stamps(where, "timestamp", texts, "UTC")


def commit_of(lsn: str) -> str:
    """Return one LSN as 20 hex digits."""
    high, _, low = lsn.partition("/")
    return f"0000{high.upper():0>8}{low.upper():0>8}"


def transaction(where: Where, xid: pa.Array) -> pa.Array:
    """Return transaction ids, as decimal text, in 16 hex digits; none is 0. Raises DataError for what is none."""
    plain = whole_numbers(xid)
    if plain is not None and not pc.any(pc.less(plain, 0)).as_py():
        values = pc.fill_null(plain, 0).to_numpy(zero_copy_only=False).astype(np.uint64)
        return hexadecimal(values, SEQUENCE_WIDTHS[1])
    wrong = ~mask(pc.match_substring_regex(xid, r"^\d{1,18}$"))
    where.check(xid, wrong, "xid", "the number of a transaction")
    numbers = pc.fill_null(xid, "0").cast(pa.uint64()).to_numpy(zero_copy_only=False)
    return hexadecimal(numbers, SEQUENCE_WIDTHS[1])
