"""PostgreSQL's texts of positions and times -> the segments of hvr_integ_seq, and instants."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from integrator.changes import SEQUENCE_WIDTHS, hexadecimal
from integrator.dialects.lines import Lines
from integrator.errors import DataError


def commit(nextlsn: pa.Array) -> pa.Array:
    """Return LSNs (`0/3BD39C8`) as 20 hex digits (https://www.postgresql.org/docs/15/datatype-pg-lsn.html)."""
    halves = pc.split_pattern(nextlsn, "/", max_splits=1)
    high, low = pc.list_element(halves, 0), pc.list_element(halves, 1)
    return pc.utf8_upper(pc.binary_join_element_wise("0000", pc.utf8_lpad(high, 8, "0"), pc.utf8_lpad(low, 8, "0"), ""))


def transaction(xid: pa.Array) -> pa.Array:
    """Return transaction ids, as decimal text, in 16 hex digits; none is 0."""
    numbers = pc.fill_null(xid, "0").cast(pa.uint64()).to_numpy(zero_copy_only=False)
    return hexadecimal(numbers, SEQUENCE_WIDTHS[1])


def instants(lines: Lines, text: pa.Array) -> pa.Array:
    """Return commit times, as PostgreSQL prints them with a zone, as timestamp(us, UTC)."""
    try:
        return text.cast(pa.timestamp("us", "UTC"))
    except pa.ArrowInvalid as error:
        raise DataError(f"{lines.file}: a transaction's timestamp cannot be read: {error}") from None
