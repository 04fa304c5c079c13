"""Row events of the log -> messages of pgoutput's shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.decode.encodings.pgoutput import Relation
from integrator.engine.binlog import DELETE, INSERT, UPDATE, Program, scan, write
from integrator.errors import EnvironmentFault
from integrator.sources.binlog.charsets import Charsets
from integrator.sources.binlog.events import COMPRESSED, INSERTS, UPDATES, WITH_MORE, Cursor, Event, inflated
from integrator.sources.binlog.table_map import LARGE, TableMap, program_of, relation_of
from integrator.sources.capture.record import ANEW

_POST_HEADER_BYTES = 8


class Rows:
    """How the rows of a table are read, by its map."""

    def __init__(self, own: TableMap, oid: int, kinds: Mapping[str, str], charsets: Charsets) -> None:
        """Take a map with names. kinds: the types of columns in the catalogue. Raises as `program_of`."""
        self.map = own
        self.relation: Relation = relation_of(own, oid, kinds)
        self.announced = self.relation.message()
        self._needed = sum(1 << at for at, one in enumerate(own.columns or ()) if one.type not in LARGE)
        self._program: Program = program_of(own, kinds, charsets)

    def messages(self, event: Event) -> Iterator[bytes]:
        """Yield the changes of an event. Raises EnvironmentFault for one that is damaged."""
        body = event.body
        more = int.from_bytes(body[_POST_HEADER_BYTES : _POST_HEADER_BYTES + 2], "little")
        cursor = Cursor(body, _POST_HEADER_BYTES + (more if event.kind in WITH_MORE else 0))
        columns = cursor.number()
        at = cursor.at
        action = INSERT if event.kind in INSERTS else UPDATE if event.kind in UPDATES else DELETE
        if event.kind in COMPRESSED:
            bits = ((columns + 7) >> 3) * (2 if action == UPDATE else 1)
            body = body[: at + bits] + inflated(body[at + bits :])
        there = int.from_bytes(body[at : at + ((columns + 7) >> 3)], "little")
        if ((1 << columns) - 1 if action == INSERT else self._needed) & ~there:
            raise EnvironmentFault(
                f"the log before {event.end} does not have all columns of its rows of {self.map.name}: a client has "
                f"set binlog_row_image = MINIMAL or NOBLOB; {ANEW}"
            )
        data = np.frombuffer(body, np.uint8)
        floats, found = np.empty(0, np.uint8), np.zeros(3, np.int64)
        end = scan(data, at, action, self._program, floats, found) if columns == len(self._program.kind) else -1
        if end >= 0 and found[2]:
            floats = np.empty(8 * found[2], np.uint8)
            scan(data, at, action, self._program, floats, found)
        if end < 0:
            raise EnvironmentFault(
                f"rows of {self.map.name} before {event.end} in the log are damaged, or of another table"
            )
        rows, room, many = found.tolist()
        texts, bounds = _texts(floats, many)
        out, ends = np.empty(room, np.uint8), np.empty(rows, np.int64)
        write(data, at, action, self.relation.oid, self._program, texts, bounds, out, ends, found)
        begin, made = 0, out.tobytes() if rows < 2 else out[: ends[-1]].tobytes()
        for last in ends.tolist():
            yield made[begin:last]
            begin = last


def _texts(floats: np.ndarray[tuple[int], np.dtype[np.uint8]], many: int) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers as text, and where each begins, with the end of the last one."""
    if not many:
        return np.zeros(1, np.uint8), np.zeros(1, np.int64)
    wide = floats.view("<f8")
    with np.errstate(invalid="ignore"):  # half of a wide one may be no number
        narrow = floats.view("<f4")[::2].astype(np.float64)
    is_narrow = floats.view("<u4")[1::2] == 0xFFFFFFFF
    texts = pc.cast(pa.array(np.where(is_narrow, narrow, wide)), pa.string())
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[: many + 1].astype(np.int64)
    return np.frombuffer(texts.buffers()[2], np.uint8), offsets
