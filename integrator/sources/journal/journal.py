"""Which change files there are, in the order in which they were taken: their numbers are the stream's offsets.

A file once taken keeps its number, so a cycle that is sent again has the same files (I2). The journal is on disk before
Spark can write an offset that speaks of it. Entries that no cycle can need again are compacted, see compacted: a start
then costs what the kept cycles cost, not what all earlier ones did.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from integrator import durable
from integrator.durable import Damaged
from integrator.errors import EnvironmentFault
from integrator.names.numbers import counted
from integrator.sources.journal import digests
from integrator.sources.journal.compacted import Compacted
from integrator.sources.journal.lines import entry_of, header_of, lines_of
from integrator.sources.slices import Slice

LEAST_COMPACTED = 1_000


def least_compacted(known: int) -> int:
    """Return how many entries are worth that all `known` files are written again: a hundredth of these, and some."""
    return max(LEAST_COMPACTED, known // 100)


class Journal:
    """The files taken so far, in order, on disk.

    Raises Damaged for a journal that is damaged, or has fewer than `referenced` files: so many are in synced
    cycles, or in cycles that Spark's checkpoint has. New files would get numbers that are over already, and would
    never be read (I4).
    """

    def __init__(self, path: Path, referenced: int = 0) -> None:
        self._path = path
        self._whole: int | None = None
        """Where a last line begins that a crash cut short: no cycle can have its file. Cut off before more is added."""
        self._size = 0
        """Bytes of the whole lines that were read or written."""
        self._base = Compacted()
        self._entries = list(self._read(referenced))
        """Those after the compacted ones."""
        self._known = {entry.path: number for number, entry in enumerate(self._entries)}
        self._ends = self._after(self._base.ends, self._entries)

    def follow(self) -> None:
        """Read on what another process, or thread, has added to the file; nothing adds to it now. Raises Damaged."""
        if not self._path.exists() or self._path.stat().st_size <= self._size:
            return
        with self._path.open("rb") as file:
            file.seek(self._size)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        first = len(self._entries) + 1 + bool(self._base.count)
        new = [entry_of(self._path, number, line) for number, line in enumerate(whole.split(b"\n")[:-1], first)]
        self._size += len(whole)
        self._whole = self._size if len(whole) < len(data) else None
        self._know(new)

    def _know(self, new: list[Slice]) -> None:
        self._ends = self._after(self._ends, new)
        self._known.update((entry.path, number) for number, entry in enumerate(new, len(self._entries)))
        self._entries += new

    @property
    def ends(self) -> Mapping[str, int]:
        """Where each stream of ranges ends that were taken, the one that was taken longest ago first; none of files."""
        return self._ends

    def _after(self, ends: Mapping[str, int], entries: Iterable[Slice]) -> dict[str, int]:
        """Return where streams end after these. Raises Damaged where one does not begin where its stream ended (I4)."""
        after = dict(ends)
        for one in entries:
            if one.stream:
                end = after.get(one.stream)
                is_place = one.begin == one.end and (end is None or one.begin >= end)
                if one.begin != end and not is_place:
                    raise Damaged(f"{self._path}: {one.path} does not begin at {end}, where its stream has ended")
                after.pop(one.stream, None)
                after[one.stream] = one.end
        return after

    def __len__(self) -> int:
        return self._base.count + len(self._entries)

    def between(self, start: int, end: int) -> list[tuple[int, Slice]]:
        """Return the entries numbered `start` + 1 to `end`."""
        self._check_has(max(start, end))
        base = self._base.count
        if start < base:
            raise Damaged(
                f"{self._path}: its files up to number {base} are compacted, and those after {start} are asked for"
            )
        return [(number + 1, self._entries[number - base]) for number in range(start, end)]

    def waiting(self, start: int) -> int:
        """Return how many bytes the entries after number `start` have."""
        return sum(entry.size for _, entry in self.between(start, len(self)))

    def number(self, path: str) -> int | None:
        """Return the number of the file at `path`; None where it was not taken, or is compacted."""
        at = self._known.get(path)
        return None if at is None else self._base.count + at + 1

    @property
    def uncompacted(self) -> list[Slice]:
        """The entries that are kept as they were taken."""
        return list(self._entries)

    def digest(self, entries: int) -> str:
        """Return the digest of the first `entries` entries, see digests."""
        if entries < self._base.count:
            raise Damaged(
                f"{self._path}: its files up to number {self._base.count} are compacted, and not those up to "
                f"{entries} alone"
            )
        digest = self._base.digest
        for entry in self._entries[: entries - self._base.count]:
            digest = digests.following(digest, entry.path, entry.size, entry.mtime)
        return digest

    @property
    def compacted(self) -> int:
        """How many of the first entries are compacted."""
        return self._base.count

    def compactable(self, synced: int) -> list[Slice]:
        """Return the entries that `compact` would compact: none where they are few. The last entry stays."""
        base = self._base.count
        more = min(synced, len(self) - 1) - base
        return self._entries[:more] if more >= least_compacted(base) else []

    def compact(self, synced: int) -> None:
        """Compact the first `synced` entries, if they are many: the cycles that are kept have only those after them.

        Called before a stream starts. A crash leaves the journal as it was or as it is to be.
        """
        more = len(self.compactable(synced))
        if not more:
            return
        try:
            first = self._entries[:more]
            compacted = self._base.with_more(self._path, first, self._after(self._base.ends, first))
            self._base, self._entries = compacted, self._entries[more:]
            self._known = {entry.path: number for number, entry in enumerate(self._entries)}
            self._rewrite()
            compacted.remove_others(self._path)
        except OSError as error:
            raise EnvironmentFault(
                f"{self._path}: the journal of change files cannot be compacted: {error}; make room there"
            ) from error

    @staticmethod
    def first(path: Path, entries: int) -> list[tuple[Path, bytes]]:
        """Return the files of a journal that has only the first `entries` entries, and what is in them.

        Raises Damaged where they are not there. Another process may add to the journal, or compact it, meanwhile.
        """
        with path.open("rb") as journal:
            begin = journal.readline()
            header = header_of(begin)
            compacted = Compacted() if header is None else Compacted.read(path, header)
            left = entries - compacted.count + (header is not None) - 1
            data = begin + b"".join(itertools.islice(journal, left)) if left >= 0 else b""
        known = [] if header is None else [(path.with_name(compacted.name), compacted.data())]
        return [*known, (path, data)]

    def _rewrite(self) -> None:
        header = json.dumps(self._base.header()) + "\n" if self._base.count else ""
        data = header.encode() + lines_of(self._entries)
        durable.replace(self._path, data)
        self._whole, self._size = None, len(data)

    def begin_with(self, files: list[Slice], number_of: Callable[[str], int]) -> None:
        """Where nothing was taken yet, take the numbered files that are there, though the first is not number 1.

        Called while no file gets a number, so none below them can appear. Raises EnvironmentFault for a gap between
        them: what follows it would never be taken.
        """
        numbers = [number_of(file.path) for file in files]
        last = number_of(self._entries[-1].path) if self._entries else None
        following = [number for number in numbers if last is None or number > last]
        expected = following[0] if last is None and following else (last or 0) + 1
        for file, number in zip(files[len(files) - len(following) :], following, strict=True):
            if number != expected:
                raise EnvironmentFault(
                    f"{file.path}: is number {number}, and number {expected} is not there, nor in {self._path}: lines "
                    "that were received are gone; restore that file, or remove everything in the state directory but "
                    "the directory of this file, to send all that is there"
                )
            expected += 1
        if not self._entries and files:
            self._add(files)

    def take(self, files: list[Slice], number_of: Callable[[str], int] | None = None) -> None:
        """Add the files that are not known yet, and have them on disk before returning.

        number_of: files are numbered by their names without a gap, and none is taken before those below it: a
        directory that is listed while files get their names may show a later one and not an earlier one.

        Raises EnvironmentFault for a known one that is not as it was taken: what was added to it would be lost (I4).
        """
        new = []
        for file in files:
            number = self._known.get(file.path)
            if number is None:
                new.append(file)
            elif self._entries[number] != file:
                raise EnvironmentFault(_changed(file, self._entries[number]))
        statuses = self._base.statuses(new)
        for file, same in zip(new, statuses, strict=True):
            if same is False:
                raise EnvironmentFault(_changed(file))
        new = [file for file, same in zip(new, statuses, strict=True) if same is None]
        if number_of is not None:
            new = self._after_last(new, number_of)
            following = itertools.count(number_of(self._entries[-1].path) + 1 if self._entries else 1)
            new = list(itertools.takewhile(lambda file: number_of(file.path) == next(following), new))
        if new:
            self._add(new)

    def _add(self, new: list[Slice]) -> None:
        if self._whole is not None:
            durable.cut(self._path, self._whole)
            self._size = self._whole
            self._whole = None
        self._after(self._ends, new)
        lines = lines_of(new)
        durable.append(self._path, lines)
        self._size += len(lines)
        self._know(new)

    def untaken(self, files: list[Slice], number_of: Callable[[str], int] | None = None) -> list[Slice]:
        """Return those files that were not taken yet. number_of: as of `take`."""
        new = [file for file in files if file.path not in self._known]
        if number_of is not None:
            new = self._after_last(new, number_of)
        return [file for file, status in zip(new, self._base.statuses(new), strict=True) if status is None]

    def _after_last(self, files: list[Slice], number_of: Callable[[str], int]) -> list[Slice]:
        """Return those after the one taken last: others were taken under another path, before the state was moved."""
        last = number_of(self._entries[-1].path) if self._entries else 0
        return [file for file in files if number_of(file.path) > last]

    def renew(self, files: list[Slice], synced: int) -> list[str]:
        """Take files anew that were mended while they were in no synced cycle (numbered above `synced`).

        Returns their paths. Called before a stream starts, so no cycle has read them half.
        """
        renewed = []
        for file in files:
            number = self._known.get(file.path, -1)
            if number >= max(synced - self._base.count, 0) and self._entries[number] != file:
                self._entries[number] = file
                renewed.append(file.path)
        if renewed:
            self._rewrite()
        return renewed

    def limit(self, start: int, max_bytes: int) -> int:
        """Return the number of the last file of a cycle after `start`: at least one, up to `max_bytes` (0: all)."""
        self.between(start, start)
        total, base = 0, self._base.count
        for number in range(start, len(self)):
            total += self._entries[number - base].size
            if max_bytes and total > max_bytes and number > start:
                return number
        return len(self)

    def _check_has(self, referenced: int) -> None:
        if len(self) < referenced:
            raise Damaged(_shorter(self._path, len(self), referenced))

    def _read(self, referenced: int) -> Iterator[Slice]:
        """Read the journal. It may be another process that adds to it now, so that nothing is written here."""
        data = self._path.read_bytes() if self._path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.split(b"\n")[:-1]
        header = header_of(lines[0]) if lines else None
        if header is not None:
            self._base = Compacted.read(self._path, header)
        first = 1 if header is None else 2
        entries = [entry_of(self._path, number, line) for number, line in enumerate(lines[first - 1 :], first)]
        known: dict[str, int] = {}
        for number, entry in enumerate(entries, first):
            if known.setdefault(entry.path, number) != number:
                raise Damaged(
                    f"{self._path}:{number}: the journal is damaged: {entry.path} is in line {known[entry.path]}, too"
                )
        has = self._base.count + len(entries)
        if has < referenced:
            raise Damaged(_shorter(self._path, has, referenced))
        self._whole, self._size = len(whole) if len(whole) < len(data) else None, len(whole)
        yield from entries


def _changed(file: Slice, taken: Slice | None = None) -> str:
    """Return the error for a file that is not as it was taken; `taken` is not known of one that is compacted."""
    if taken is None:
        differs = "has another size or time of change than when it was taken"
    elif taken.size == file.size:
        differs = f"still has {counted(file.size, 'byte')}, and was written again or touched since it was taken"
    else:
        differs = f"has {counted(file.size, 'byte')} and had {taken.size:,} when it was taken"
    return (
        f"{file.path}: {differs}: write change files under a temporary name (.tmp) and rename them when they are "
        "whole, and use no name twice; a file that is not synced yet may be mended, then start again; move a synced "
        "one away"
    )


def _shorter(path: Path, has: int, referenced: int) -> str:
    return (
        f"{path}: the journal is gone or cut: it has {counted(has, 'change file')}, and cycles that were synced or "
        f"begun have {referenced:,}"
    )
