"""Segments of captured frames as tasks read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from integrator.decode.contract import File, Reading
from integrator.decode.encodings.pgoutput import (
    BLOCK_BYTES,
    Relation,
    as_they_came,
    frame,
    in_utf_8,
    records_of,
    relations_in,
    relations_of,
    split,
)
from integrator.decode.lines.indexed import IndexedLines
from integrator.decode.lines.joined import MOST_BYTES, JoinedLines, Joint
from integrator.decode.lines.lines import RecordKeys
from integrator.decode.lines.reading import LineReading
from integrator.engine.arrays import Ints
from integrator.engine.pgoutput import BEGIN
from integrator.errors import SchemasFound
from integrator.sources.capture.frames import Standing
from integrator.sources.files.reader import FileReader
from integrator.sources.slices import TaskSlice


@dataclass(frozen=True)
class FramesFile(File):
    """A segment, or several that are joined, whose records these are.

    digests: of the relations whose tables' definitions are known.
    """

    digests: frozenset[int] = field(default_factory=frozenset, repr=False)
    records: IndexedLines | None = field(default=None, repr=False, compare=False)

    @property
    def container(self) -> str:
        """Frames become records as JSON has them."""
        return "json"

    def lines(
        self,
        reading: Reading,
        repeated: tuple[str, str] | None = None,  # noqa: ARG002 - of JSON that others write
        keys: RecordKeys | None = None,  # noqa: ARG002 - frames have no keys
    ) -> Iterator[IndexedLines]:
        """Yield the frames as records, in blocks, or all at once. Raises EnvironmentFault, and SchemasFound.

        Raises DataError for segments that are joined where each is to be read at once.
        """
        how = LineReading(reading.block_bytes, reading.tolerant, reading.masks)
        if self.records is not None:
            if reading.whole_files:
                self.check_alone()
            yield in_utf_8(replace(self.records, hidden=how.hidden), how)
            return
        data, relations = self._known()
        yield from records_of(self.path, data, relations, how, len(data) if reading.whole_files else BLOCK_BYTES)

    def as_they_came(self) -> Iterator[IndexedLines]:
        """Yield the frames as records whose text may not be UTF-8. Raises EnvironmentFault, and SchemasFound."""
        yield from as_they_came(self.path, *self._known())

    def _known(self) -> tuple[bytes, list[Relation]]:
        """Return the frames, and the relations of which each is known. Raises SchemasFound."""
        data, relations = self._read()
        new = [one for one in relations if one.defines and one.digest not in self.digests]
        if new:
            names = ", ".join(one.full_name for one in new)
            raise SchemasFound(f"{names}: new columns or types", Path(self.path).name, [one.digest for one in new])
        return data, relations

    def _read(self) -> tuple[bytes, list[Relation]]:
        data = Path(self.path).read_bytes()
        return data, relations_in(data)

    def raw_lines(self, numbers: Ints) -> Iterator[bytes]:
        """Yield lines without their ends: those of these numbers, which ascend.

        Above the line of a change is the line that begins its transaction: a change alone has no position, and segments
        are removed.
        """
        data, relations = self._read()
        begin = self._begun(data)
        for records in as_they_came(self.path, data, relations):
            begins = np.flatnonzero(records.letters() == BEGIN)
            for at in np.flatnonzero(np.isin(records.numbers, numbers)).tolist():
                before = int(np.searchsorted(begins, at, side="right")) - 1
                above = records.written(int(begins[before])) if before >= 0 else begin
                line = records.written(at)
                yield (line if line == above else above + line).removesuffix(b"\n")
            if len(begins):
                begin = records.written(int(begins[-1]))

    def _begun(self, data: bytes) -> bytes:
        """Return the line that begins the transaction in which a segment begins; empty where it begins in none."""
        begun = Standing().after(next(split(data))).begun
        return b"".join(one.written(0) for one in as_they_came(self.path, frame(begun), ())) if begun else b""


@dataclass(frozen=True)
class FrameReader(FileReader):
    """Reads segments. digests: as of `FramesFile`."""

    digests: frozenset[int] = field(default_factory=frozenset, repr=False)

    def begin(self, slices: Sequence[TaskSlice]) -> None:
        """Raise SchemasFound where changes are of relations that are not known, before any of them is sent."""
        new: dict[int, str] = {}
        first = ""
        for one in slices:
            for relation in relations_of(Path(one.path)):
                if relation.defines and relation.digest not in self.digests:
                    first = first or Path(one.path).name
                    new[relation.digest] = relation.full_name
        if new:
            raise SchemasFound(f"{', '.join(new.values())}: new columns or types", first, list(new))

    def file(self, one: TaskSlice) -> File:
        """Return the segment."""
        return self._segment(one)

    def _segment(self, one: TaskSlice) -> FramesFile:
        return FramesFile(one.path, one.ordinal, digests=self.digests)

    def join(self, slices: Sequence[TaskSlice], *, records: bool) -> File | None:  # noqa: ARG002 - of topics
        """Return the lines of small segments as those of one file; None where they have none, or too many bytes.

        Raises EnvironmentFault, and SchemasFound.
        """
        found, parts, first_lines = list[TaskSlice](), list[IndexedLines](), list[int]()
        line, size = 1, 0
        for one in slices:
            begin = line
            for block in self._segment(one).as_they_came():
                parts.append(block)
                line += len(block)
                size += len(block.data)
            if size > MOST_BYTES:
                return None
            if line > begin:
                found.append(one)
                first_lines.append(begin)
        if not found:
            return None
        joint = Joint(np.array(first_lines), tuple(one.stream for one in found))
        joined = JoinedLines(tuple(one.path for one in found), np.array([one.ordinal for one in found]), joint)
        together = replace(IndexedLines.together(parts), file=slices[0].path)
        return FramesFile(slices[0].path, slices[0].ordinal, joined, records=together)
