"""Which segments of a capture may be in one cycle, where each version of a table is read by a definition of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from integrator.decode.encodings.pgoutput import relations_of
from integrator.sources.spool import Segments


@dataclass(frozen=True)
class VersionedSegments(Segments):
    """Finds the sealed segments of a capture."""

    def together(self, paths: Sequence[str]) -> int:
        """Return how many may be in one cycle: all up to one in which a table is another one than before (I11)."""
        known: dict[str, int] = {}
        for count, path in enumerate(paths):
            for name, digest in _digests(path):
                if known.setdefault(name, digest) != digest and count:
                    return count
        return len(paths)


@lru_cache(maxsize=4096)
def _digests(path: str) -> tuple[tuple[str, int], ...]:
    """Return the tables that a segment has changes of, and their relations. A segment has one of each."""
    try:
        return tuple((one.full_name, one.digest) for one in relations_of(Path(path)) if one.defines)
    except FileNotFoundError:  # which is reported where it is read
        return ()
