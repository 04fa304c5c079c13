"""Changes of tables that are set aside: held beside the spool until the tables are resumed, in order (I4).

aside/TABLE/NUMBER.frames   what the segment of this number has of the table
aside/TABLE/handed.json     up to which segment that was handed back to the spool, and which files are still to be

A file that is handed back is a segment of a stream of its own, after all segments that were captured until then. So a
table has its changes in the order of the log: first those that were held, then those that are captured later.
"""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from integrator import durable
from integrator.decode.encodings.pgoutput import Relation, frame, relations_of, split
from integrator.decode.source_tables import OF_OTHERS
from integrator.engine.pgoutput import BEGIN, COMMIT, COPY, INSERT, RELATION, TRUNCATE, UPDATE
from integrator.sources.capture.definitions import matches
from integrator.sources.capture.frames import ROWS, Standing, end_of
from integrator.sources.contract import HELD, HeldTable
from integrator.sources.spool import number_of, sealed_in

OTHERS = Relation(0, *OF_OTHERS, "n", ())
"""What rows of other tables are held as."""
OTHER_ROW = struct.pack(">BIcH", INSERT, OTHERS.oid, b"N", 0)
OWN = frozenset((*ROWS, TRUNCATE, COPY))
_OID_BYTES = 5
"""Of a message: its kind, and the table."""
_HANDED = "handed.json"
_FILES = "[0-9]*.frames"


def is_of(name: str, names: Sequence[str]) -> bool:
    """Return whether a relation, SCHEMA.TABLE, is a table, or a partition of it. names: as of `HeldTable`."""
    return name == names[0] or matches(name, names[1:])


def hold(segment: Path, directory: Path, names: Sequence[str]) -> None:
    """Hold what a segment has of a table, where that is not done already. What returns is durable."""
    file = directory / f"{number_of(segment.name):012d}.frames"
    if file.exists() or number_of(segment.name) <= _handed(directory).after:
        return
    data = segment.read_bytes()
    is_continued = Standing().after(next(split(data))).is_open and _ends_within(directory, file)
    oids = {one.oid for one in relations_of(segment) if is_of(one.full_name, names)}
    if oids or is_continued:
        found = _of_table(data, oids, None if is_continued else partial(_rows_before, segment))
        durable.make_directory(directory)
        durable.replace(file, found)


def _ends_within(directory: Path, file: Path) -> bool:
    """Return whether what is held before a file ends within a transaction. Later files are of before a move back."""
    held = sorted(one for one in directory.glob(_FILES) if one < file)
    return bool(held) and end_of(held[-1]).is_open


def _rows_before(segment: Path) -> int:
    """Return how many rows the transaction in which a segment begins has before it, in segments that are there."""
    rows, sender = 0, _sender(segment)
    before = [one for one in sealed_in(segment.parent) if one.name < segment.name and _sender(one) == sender]
    for path in reversed(before):
        messages = list(split(path.read_bytes()))
        begins = [place for place, one in enumerate(messages) if one[0] == BEGIN]
        rows += sum(map(_rows, messages[begins[-1] if begins else 0 :]))
        if begins or not Standing().after(messages[0]).is_open:
            break
    return rows


def _sender(segment: Path) -> str:
    return segment.name.split(".")[1]


def _rows(message: bytes) -> int:
    """Return how many rows a message makes, as the decoder counts them: an update with a before image makes two."""
    if message[0] == TRUNCATE:
        return int.from_bytes(message[1:5], "big")
    if message[0] == COPY:  # whose line feeds in values are escaped
        return message.count(b"\n", _OID_BYTES)
    return (1 + (message[0] == UPDATE and message[5:6] != b"N")) if message[0] in ROWS else 0


def _of_table(data: bytes, oids: Collection[int], rows_before: Callable[[], int] | None) -> bytes:
    """Return a segment with the changes of some relations alone; a transaction that has none of them is left out.

    Rows of others are rows of OTHERS, which are not sent, so that those of the table have the positions that they have
    in the log (I2). rows_before: counts those of the transaction in which the segment begins; None: it is held.
    """
    messages = split(data)
    first = next(messages)
    begun = Standing().after(first)
    kept, transaction, is_ours = [first, OTHERS.message()], list[bytes](), begun.is_open and rows_before is None
    if begun.is_open and rows_before is not None:  # the reader has to see where the transaction begins
        kept = [Standing(begun.lsn, 0, begun.end).message(), OTHERS.message()]
        transaction = [begun.begun, *[OTHER_ROW] * rows_before()]
    for message in messages:
        if message[0] == BEGIN:
            transaction, is_ours = [message], False
            continue
        own = list(_own(message, oids))
        is_ours = is_ours or any(one[0] in OWN for one in own if one != OTHER_ROW)
        transaction += own
        if message[0] == COMMIT:
            kept += transaction if is_ours else []
            transaction, is_ours = [], False
    return b"".join(map(frame, [*kept, *transaction] if is_ours else kept))


def _own(message: bytes, oids: Collection[int]) -> Iterator[bytes]:
    """Yield what is held of a message."""
    kind = message[0]
    if kind == TRUNCATE:
        for (oid,) in struct.iter_unpack(">I", message[6:]):
            yield struct.pack(">BIBI", kind, 1, message[5], oid) if oid in oids else OTHER_ROW
    elif kind in OWN or kind == RELATION:
        if struct.unpack_from(">I", message, 1)[0] in oids:
            yield message
        else:
            yield from [OTHER_ROW] * _rows(message)
    elif kind == COMMIT:
        yield message


@dataclass(frozen=True)
class _Handed:
    """after: the number of the last segment of which everything was handed back. files: those that are still to be."""

    after: int = 0
    files: tuple[str, ...] = ()


def _handed(directory: Path) -> _Handed:
    path = directory / _HANDED
    if not path.exists():
        return _Handed()
    given = json.loads(path.read_bytes())
    return _Handed(int(given["after"]), tuple(given["files"]))


def _write(directory: Path, after: int, files: Collection[str]) -> None:
    durable.replace(directory / _HANDED, json.dumps({"after": after, "files": list(files)}).encode())


def hand_back(spool: Path, directory: Path) -> None:
    """Have what is held become segments after all others of a spool. Nothing captures, and all segments are synced."""
    files = [path.name for path in sorted(directory.glob(_FILES))]
    if files:
        _write(directory, number_of(sealed_in(spool)[-1].name), files)
        _finish(spool, directory)


def finish(state: Path, spool: Path) -> None:
    """Come to the end of what a crash left half done, before anything is captured."""
    for path in (state / HELD).glob(f"*/{_HANDED}"):
        _finish(spool, path.parent)


def _finish(spool: Path, directory: Path) -> None:
    handed = _handed(directory)
    if not handed.files:
        return
    [last] = spool.glob(f"{handed.after:012d}.*")
    for number, name in enumerate(handed.files, handed.after + 1):
        if (directory / name).exists():
            durable.rename(directory / name, spool / f"{number:012d}.aside-{handed.after + 1}.1.frames")
    _, sender, first, _ = last.name.split(".")
    standing = end_of(last)
    number = handed.after + len(handed.files) + 1
    # The last segment says where the capture continues.
    own = spool / f"{number:012d}.{sender}.{int(first) + last.stat().st_size}.frames"
    durable.replace(own, frame(standing.message()))
    _write(directory, handed.after, ())


def forget(state: Path, tables: Collection[HeldTable]) -> int:
    """Remove what is held of all but these tables; return how many bytes of changes that were."""
    known, size = {one.directory(state) for one in tables}, 0
    for path in [one for one in (state / HELD).glob("*") if one not in known]:
        size += sum(one.stat().st_size for one in path.glob(_FILES))
        shutil.rmtree(path)
    return size
