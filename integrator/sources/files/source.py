"""A directory of change files as a source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from integrator.channel.paths import as_known, as_written, names_in
from integrator.channel.problems import Report
from integrator.channel.secret import passwords_of
from integrator.channel.sources import FilesLocation, SourceLocation
from integrator.errors import EnvironmentFault
from integrator.names import nearest
from integrator.schema import Table
from integrator.sources.contract import Feed, FixedSchemas, Opening, Problems, SliceReader
from integrator.sources.files import moved
from integrator.sources.files.listing import Listing
from integrator.sources.files.reader import FileReader
from integrator.sources.location import check_table

REMOTE = "://"
"""In a path that is not of this machine."""
IN_NAMES = (
    "a path must not have a password or key, because it is part of each file's name in the state and in logs; give "
    "them to the process, as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for S3"
)


@dataclass(frozen=True)
class Files(FixedSchemas):
    """Change files: each is a slice."""

    location: FilesLocation
    reader: SliceReader = field(default_factory=FileReader, kw_only=True)
    whole_transactions = True
    example = "{class: files, path: DIRECTORY}"

    def describe(self) -> str:
        """Return the path, the dialect and the order."""
        return f"{as_known(self.location.path)} ({self.location.dialect}, by {self.location.order})"

    def check(self, tables: Sequence[Table], report: Report) -> None:
        """Report of a password in the path, and of a table that records cannot be of."""
        if any(passwords_of(self.location.path)):
            report("path", IN_NAMES)
        check_table(self.location, tables, report)

    def notes(self) -> Iterator[str]:
        """Yield nothing: no setting is unsafe."""
        yield from ()

    def inspect(self, directory: str, *, is_free: bool) -> Problems:  # noqa: ARG002 - of the contract
        """Yield why files of this machine cannot be listed."""
        if REMOTE not in self.location.path:
            yield from self._listed(directory)

    def reach(self, directory: str) -> Problems:
        """Yield why files of a store cannot be listed."""
        if REMOTE in self.location.path:
            yield from self._listed(directory)

    def _listed(self, directory: str) -> Problems:
        path = self.location.path
        try:
            self.listing(path).slices()
        except EnvironmentFault as error:
            yield "path", f"{str(error).replace(path, as_known(path), 1)}{_beside(path, directory)}"

    def place(self, state: Path) -> str:  # noqa: ARG002 - of the contract
        """Return the path, absolute where it is one of this machine."""
        path = self.location.path
        return path if REMOTE in path else str(Path(path).absolute())

    def listing(self, place: str, delay_s: int = 0) -> Listing:
        """Return what finds the files."""
        location = self.location
        return Listing(place, location.pattern, tuple(location.ignore), location.order, delay_s)

    def prepare(self, place: str) -> None:
        """Do nothing: the directory is the user's."""

    def open(self, opening: Opening) -> Feed:
        """Return a feed that does nothing. Raises ConfigurationError for files that were taken under other paths."""
        moved.check(opening.journal, opening.slices)
        return Feed()


def files_in(location: SourceLocation, path: str, pattern: str) -> Files:
    """Return the files at `path` as a source with the settings that all sources have of `location`."""
    settings = {name: getattr(location, name) for name in SourceLocation.model_fields}
    return Files(FilesLocation(**{**settings, "class": "files", "path": path, "pattern": pattern}))


def _beside(path: str, directory: str) -> str:
    """Return what may be meant by a path of this machine that is not there: one beside it that is like it."""
    given = Path(path)
    beside = [] if REMOTE in path else names_in(given.parent)
    near = nearest(given.name, beside) if given.name not in beside else None
    return f"; do you mean {as_written(str(given.parent / near), directory)}?" if near else ""
