"""Several directories of change files as one source: each is a stream, beside those of the others.

Changes of a location come in its order; between those of two there is none. Slices are named LOCATION|PATH, so that the
journal numbers those of all of them, and the state knows which stream each is of.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from integrator.channel.problems import Report
from integrator.channel.sources import SourceLocation
from integrator.decode.contract import File
from integrator.errors import EnvironmentFault
from integrator.schema import Table
from integrator.sources.contract import Feed, FixedSchemas, Opening, Problems
from integrator.sources.files import moved
from integrator.sources.files.listing import Listing
from integrator.sources.files.reader import FileReader
from integrator.sources.files.source import Files
from integrator.sources.slices import ALL, NOTHING_TAKEN, Limit, Slice, TaskSlice

_BETWEEN = "|"


def location_of(path: str) -> str:
    """Return the location that a slice is of."""
    return path.partition(_BETWEEN)[0]


def path_of(path: str) -> str:
    """Return the path of a slice's file."""
    return path.partition(_BETWEEN)[2]


@dataclass(frozen=True)
class SeveralListings:
    """What finds the files of all locations, by their names."""

    of: tuple[tuple[str, Listing], ...]

    def slices(self, _ends: Mapping[str, int] = NOTHING_TAKEN, _limit: Limit = ALL) -> list[Slice]:
        """Return the files that are there now, location by location. Raises EnvironmentFault as each listing does.

        A file that two of them have would be sent twice: that is an EnvironmentFault, too.
        """
        found, known = list[Slice](), dict[str, str]()
        for name, listing in self.of:
            for one in listing.slices():
                other = known.setdefault(one.path, name)
                if other != name:
                    raise EnvironmentFault(
                        f"{one.path} is a file of the locations {other} and {name}, and would be sent twice: give each "
                        "a directory or a pattern of its own"
                    )
                found.append(dataclasses.replace(one, path=f"{name}{_BETWEEN}{one.path}"))
        return found

    def until(self) -> None:
        """Return that files are listed all at once."""

    def modified(self) -> int | None:
        """Return nothing: of several directories an older one may be the one that has changed."""
        return None

    def stream_of(self, path: str) -> str:
        """Return the location, whose files are a stream."""
        return location_of(path)

    def together(self, paths: Sequence[str]) -> int:
        """Return all of them."""
        return len(paths)

    @property
    def number_of(self) -> Callable[[str], int] | None:
        """Nothing: change files are numbered as they arrive."""
        return None


@dataclass(frozen=True)
class SeveralReaders:
    """Reads change files of several locations."""

    files = FileReader()

    def begin(self, slices: Sequence[TaskSlice]) -> None:
        """Do nothing: files are opened one by one."""

    def file(self, one: TaskSlice) -> File:
        """Return the file, with the location that it is of."""
        return dataclasses.replace(self.files.file(_real(one)), location=location_of(one.path))

    def join(self, slices: Sequence[TaskSlice], *, records: bool) -> File | None:
        """Return small files of one location as one; None for those of several."""
        [name, *others] = dict.fromkeys(location_of(one.path) for one in slices)
        joined = None if others else self.files.join([_real(one) for one in slices], records=records)
        return None if joined is None else dataclasses.replace(joined, location=name)

    def divide(self, slices: Sequence[TaskSlice], joined: File) -> list[tuple[Sequence[TaskSlice], File]]:  # noqa: ARG002 - of the contract
        """Return the files one by one."""
        return [((one,), self.file(one)) for one in slices]

    def check_unchanged(self, one: TaskSlice) -> None:
        """Raise EnvironmentFault for a file that is not as it was taken."""
        self.files.check_unchanged(_real(one))


def _real(one: TaskSlice) -> TaskSlice:
    return dataclasses.replace(one, path=path_of(one.path))


@dataclass(frozen=True)
class Several(FixedSchemas):
    """Directories of change files, by the names of their locations, whose settings are the same but for the place."""

    of: tuple[tuple[str, Files], ...]
    reader = SeveralReaders()
    whole_transactions = False
    any_database = True
    example = Files.example

    @property
    def location(self) -> SourceLocation:
        """The first location, for what is the same in all of them."""
        return self.of[0][1].location

    def describe(self) -> str:
        """Return what each location is."""
        return "; ".join(f"{name}: {one.describe()}" for name, one in self.of)

    def check(self, tables: Sequence[Table], report: Report) -> None:
        """Report what is wrong with the first location; the others are checked by themselves."""
        self.of[0][1].check(tables, report)

    def notes(self) -> Iterator[str]:
        """Yield that there is no order between the locations."""
        names = ", ".join(name for name, _ in self.of)
        yield (
            f"changes of the locations {names} come side by side: {{hvr_integ_seq}} orders those of each, and "
            "{hvr_cap_loc} beside it distinguishes them"
        )

    def inspect(self, directory: str, *, is_free: bool) -> Problems:
        """Yield why files of this machine cannot be listed."""
        for name, one in self.of:
            yield from _of(name, one.inspect(directory, is_free=is_free))

    def reach(self, directory: str) -> Problems:
        """Yield why files of a store cannot be listed."""
        for name, one in self.of:
            yield from _of(name, one.reach(directory))

    def place(self, state: Path) -> str:  # noqa: ARG002 - of the contract
        """Return nothing: files are in several places."""
        return ""

    def listing(self, place: str, delay_s: int = 0) -> SeveralListings:  # noqa: ARG002 - of the contract
        """Return what finds the files of all locations."""
        return SeveralListings(tuple((name, one.listing(one.place(Path()), delay_s)) for name, one in self.of))

    def prepare(self, place: str) -> None:
        """Do nothing: the directories are the user's."""

    def open(self, opening: Opening) -> Feed:
        """Return a feed that does nothing. Raises ConfigurationError for files that were taken under other paths."""
        moved.check(opening.journal, opening.slices, path_of)
        return Feed()


def _of(name: str, found: Problems) -> Problems:
    for key, text in found:
        yield key, f"{name}: {text}"
