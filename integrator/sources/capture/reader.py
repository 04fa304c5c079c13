"""Segments of captured frames as tasks read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from integrator.decode.contract import File, Reading
from integrator.decode.encodings.pgoutput import BLOCK_BYTES, Relation, lines_of, relations_in
from integrator.decode.lines.lines import Lines, RecordKeys
from integrator.decode.lines.reading import LineReading
from integrator.engine.arrays import Ints
from integrator.errors import SchemasFound
from integrator.sources.files.reader import FileReader
from integrator.sources.slices import TaskSlice


@dataclass(frozen=True)
class FramesFile(File):
    """A segment. digests: of the relations whose tables' definitions are known."""

    digests: frozenset[int] = field(default_factory=frozenset, repr=False)

    @property
    def container(self) -> str:
        """Frames become lines of JSON."""
        return "json"

    def lines(
        self,
        reading: Reading,
        repeated: tuple[str, str] | None = None,  # noqa: ARG002 - of JSON that others write
        keys: RecordKeys | None = None,  # noqa: ARG002 - frames have no keys
    ) -> Iterator[Lines]:
        """Yield the frames as lines, in blocks, or all at once. Raises EnvironmentFault, and SchemasFound."""
        data, relations = self._read()
        new = [one for one in relations if one.digest not in self.digests]
        if new:
            names = ", ".join(one.full_name for one in new)
            raise SchemasFound(f"{names}: new columns or types", new[0].full_name, [one.digest for one in new])
        how = LineReading(reading.block_bytes, reading.tolerant, reading.masks)
        yield from lines_of(self.path, data, relations, how, len(data) if reading.whole_files else BLOCK_BYTES)

    def _read(self) -> tuple[bytes, list[Relation]]:
        data = Path(self.path).read_bytes()
        return data, relations_in(data)

    def raw_lines(self, numbers: Ints) -> Iterator[bytes]:
        """Yield lines without their ends: those of these numbers, which ascend."""
        data, relations = self._read()
        for lines in lines_of(self.path, data, relations, LineReading()):
            for at in np.flatnonzero(np.isin(lines.numbers, numbers)).tolist():
                yield bytes(lines.data[lines.offsets[at] : lines.offsets[at + 1] - 1])


@dataclass(frozen=True)
class FrameReader(FileReader):
    """Reads segments. digests: as of `FramesFile`."""

    digests: frozenset[int] = field(default_factory=frozenset, repr=False)

    def file(self, one: TaskSlice) -> File:
        """Return the segment."""
        return FramesFile(one.path, one.ordinal, digests=self.digests)

    def join(self, slices: Sequence[TaskSlice], *, records: bool) -> File | None:  # noqa: ARG002 - of the contract
        """Return nothing: segments are read one by one."""
        return None
