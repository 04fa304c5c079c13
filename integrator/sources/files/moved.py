"""Whether change files were taken before under other paths, by which the journal knows them: they would come again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from integrator.errors import ConfigurationError
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import Slice


def check(journal: Journal, files: Sequence[Slice], real: Callable[[str], str] = str) -> None:
    """Raise ConfigurationError for the first of `files` that the journal has under another path.

    real: from the path of a slice to that of its file.
    Compacted entries are not compared: of them nothing but a hash of the path is known.
    """
    known: defaultdict[str, list[Slice]] = defaultdict(list)
    for entry in journal.uncompacted:
        known[Path(entry.path).name].append(entry)
    for file in journal.untaken(list(files)):
        for entry in known.get(Path(file.path).name, ()):
            if (entry.size, entry.mtime) == (file.size, file.mtime) and _same(real(entry.path), real(file.path)):
                raise ConfigurationError(
                    f"{file.path}: is known to the channel's state as {entry.path}, and would be sent again: write the "
                    f"source's path so that its files are in {Path(entry.path).parent}, as before"
                )


def _same(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:  # it is not there any more, or in a store
        return False
