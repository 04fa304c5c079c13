"""The tables whose rows were read, as the record of a capture has them: changes of these are captured."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from integrator.sources.capture.intake import Intake
from integrator.sources.capture.points import Captured
from integrator.sources.capture.progress import FILE
from integrator.sources.capture.record import Record


class ReadTables:
    """Which tables' rows were read, or are being read; `record` is in the spool, and `intake` takes their changes."""

    def __init__(self, record: Record, spool: Path, intake: Intake) -> None:
        """Begin with what the record has: of a process that was killed there is no progress."""
        self.record, self.spool, self._intake = record, spool, intake
        (spool / FILE).unlink(missing_ok=True)
        begun = {name: one.oid for name, one in record.reading.items() if one.last is not None}
        record.read |= begun  # changes follow the rows that are durable

    def write(self) -> None:
        """Make the record durable."""
        self.record.write(self.spool)

    def note_read(self, tables: Sequence[Captured], behind: Collection[str] = ()) -> None:
        """Record that the rows of tables were read, or are not wanted: changes from now on are.

        behind: tables that were read in part, or without a truncate: their topics still lack what they lacked. A table
        that had another name has this one alone: should it have the other one again, its rows are read again.
        """
        record, names = self.record, {one.relation.oid: one.name for one in tables}
        read = {name: oid for name, oid in record.read.items() if names.get(oid, name) == name}
        record.read = read | {name: oid for oid, name in names.items()}
        record.again = [name for name in record.again if name not in names.values()]
        read_whole = set(names.values()) - set(behind)
        record.behind = {name: why for name, why in record.behind.items() if name not in read_whole}
        record.shapes = {one.name: dict(one.shape) for one in tables if one.shape} | record.shapes
        self.write()
        self._intake.read |= {one.relation.oid.to_bytes(4, "big") for one in tables}

    def note_shapes(self, tables: Sequence[Captured]) -> None:
        """Note what tables are like as their rows begin to be read: what is otherwise later has other rows."""
        self.record.shapes |= {one.name: dict(one.shape) for one in tables if one.shape}

    def forget(self, oids: set[int]) -> None:
        """Record that tables are not captured any more: should they be again, their rows are read."""
        record = self.record
        record.read = {name: oid for name, oid in record.read.items() if oid not in oids}
        record.reading = {name: one for name, one in record.reading.items() if one.oid not in oids}
        (self.spool / FILE).unlink(missing_ok=True)
        self.write()
        self._intake.leave(oids)

    def begin(self, table: Captured, lsn: int) -> int:
        """Note that rows of a table may be there: a truncate is before those that are read next, if it is interrupted.

        Return which table it is of those that were read at this position: a quiet server's log has one for many rounds,
        and positions ascend.
        """
        record = self.record
        record.sent = sorted({*record.sent, table.name})
        record.copied_at, record.copies = lsn, record.copies + 1 if record.copied_at == lsn else 1
        return record.copies
