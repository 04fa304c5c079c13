"""Lines of standard input, by their types: found together, by the index of JSON that decodes records, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from integrator.airbyte.catalog import Descriptor
from integrator.decode.dialects.airbyte import EXPECTED
from integrator.decode.fields import Where
from integrator.decode.json.document import read_document
from integrator.decode.json.objects import Objects
from integrator.decode.json.slices import DictionaryTexts
from integrator.decode.lines.lines import Lines
from integrator.engine.arrays import Ints
from integrator.errors import ConfigurationError, Fault, Place, PublicDataError

FILE = "standard input"
_OTHERS = ("LOG", "SPEC", "CONNECTION_STATUS", "CATALOG", "CONTROL", "DESTINATION_CATALOG")
_TYPES = ("RECORD", "STATE", "TRACE", *_OTHERS)
_STATUS = "STREAM_STATUS"
_FILES = ("file_reference", "file")
"""What a record has beside its data where a file is transferred, by the protocol and by earlier platforms."""


@dataclass(frozen=True)
class Records:
    """Lines of records one after another, and how many are of each stream."""

    data: bytes
    counts: Counter[Descriptor]


@dataclass(frozen=True)
class Marked:
    """A line that is given back when what is before it is synced: a STATE, or the status of a stream."""

    line: bytes
    is_state: bool


@dataclass(frozen=True)
class Passed:
    """How many messages there were that a destination has nothing to do with, by type."""

    counts: Counter[str]


def classified(block: bytes, before: int, streams: AbstractSet[Descriptor]) -> Iterator[Records | Marked | Passed]:
    """Yield what whole lines are, in their order.

    before: how many lines there were before them. Raises DataError for what is no message of the protocol, and for a
    record of a stream that is not in the catalog; ConfigurationError for a file that is to be transferred.
    """
    try:
        block.decode()
    except UnicodeDecodeError as error:
        line = before + block.count(b"\n", 0, error.start) + 1
        raise PublicDataError(Fault(Place(FILE, line), "the line is not UTF-8; messages are JSON in UTF-8")) from None
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    starts = np.concatenate([[0], ends + 1])
    document = read_document(Lines(FILE, block, before + 1 + np.arange(len(ends)), starts.astype(np.int32)), EXPECTED)
    if not len(document.lines):
        return
    objects = Objects.of_lines(document).required(EXPECTED).find("type", "record", "state", "trace")
    kinds = objects.labels("type")
    _check_types(kinds, Where.of(objects))
    place = document.lines.numbers - before - 1
    of_stream, named = _streams(objects, kinds, streams)
    marked = _marked(objects, kinds)
    yield from _in_order(block, starts, place, (of_stream, named), marked)
    others = {name: int(kinds.are(name).sum()) for name in _OTHERS}
    others["TRACE"] = int((kinds.are("TRACE") & (marked == 0)).sum())
    yield Passed(Counter({name: count for name, count in others.items() if count}))


def _check_types(kinds: DictionaryTexts, where: Where) -> None:
    """Raise DataError for the first type that the protocol does not have."""

    def text(at: int) -> str:
        found = repr(kinds.texts[kinds.codes[at]]) if kinds.codes[at] >= 0 else "not there"
        return f"type is {found}; it is one of {', '.join(_TYPES)}"

    where.refuse(~kinds.are(*_TYPES), text)


def _streams(
    objects: Objects, kinds: DictionaryTexts, streams: AbstractSet[Descriptor]
) -> tuple[Ints, list[Descriptor]]:
    """Return of each line the place of its record's stream in the list, -1 where it has no record; and the list."""
    at = np.flatnonzero(kinds.are("RECORD"))
    record = objects.take(at).inner("record", EXPECTED).required("a record").find("stream", "namespace", *_FILES)
    where = Where.of(record)
    _check_files(record, where)
    names, spaces = record.labels("stream"), record.labels("namespace")
    pairs = (names.codes.astype(np.int64) + 1) * (len(spaces.texts) + 1) + spaces.codes + 1
    _, first, codes = np.unique(pairs, return_index=True, return_inverse=True)
    found: list[Descriptor] = []
    for one in first.tolist():
        name = names.texts[names.codes[one]] if names.codes[one] >= 0 else ""
        space = spaces.texts[spaces.codes[one]] if spaces.codes[one] >= 0 else ""
        found.append((space or None, name))
    for wrong in sorted(at_first for at_first, one in zip(first.tolist(), found, strict=True) if one not in streams):
        raise PublicDataError(Fault(where.place(wrong), _unknown(found[int(codes[wrong])], streams)))
    of_line = np.full(len(objects), -1, np.int64)
    of_line[at] = codes
    return of_line, found


def _check_files(record: Objects, where: Where) -> None:
    """Raise ConfigurationError for the first record that comes with a file."""
    for name in _FILES:
        given = np.flatnonzero(record.has(name) & ~record.slices(name).nulls(record.document.text))
        if len(given):
            raise ConfigurationError(
                f"{where.place(int(given[0]))}: the record has a {name}, and files are not transferred into topics; "
                "have the stream without files"
            )


def _unknown(stream: Descriptor, streams: AbstractSet[Descriptor]) -> str:
    known = ", ".join(sorted(_named(one) for one in streams))
    return (
        f"a record of stream {_named(stream)}, which is not in the configured catalog; its streams are {known}; "
        "refresh the source's schema in the connection"
    )


def _named(stream: Descriptor) -> str:
    namespace, name = stream
    return f"{namespace}.{name}" if namespace else name or "without a name"


def _marked(objects: Objects, kinds: DictionaryTexts) -> Ints:
    """Return which lines are given back: 1 a STATE, 2 the status of a stream, 0 another one. Raises DataError."""
    found = np.zeros(len(objects), np.int64)
    states = np.flatnonzero(kinds.are("STATE"))
    objects.take(states).inner("state", "a state").required("a state")
    found[states] = 1
    traces = np.flatnonzero(kinds.are("TRACE"))
    statuses = objects.take(traces).inner("trace", "a trace").required("a trace").labels("type").are(_STATUS)
    found[traces[statuses]] = 2
    return found


def _in_order(
    block: bytes, starts: Ints, place: Ints, of_stream: tuple[Ints, list[Descriptor]], marked: Ints
) -> Iterator[Records | Marked]:
    """Yield runs of records, and what is marked between them. place: of each line that is not blank its place."""
    codes, named = of_stream
    begin = 0
    for at in [*np.flatnonzero(marked).tolist(), len(marked)]:
        run = np.flatnonzero(codes[begin:at] >= 0) + begin
        if len(run):
            counts = np.bincount(codes[run], minlength=len(named)).tolist()
            by_stream = Counter({one: count for one, count in zip(named, counts, strict=True) if count})
            yield Records(b"".join(_pieces(block, starts, place[run])), by_stream)
        if at < len(marked):
            line = block[starts[place[at]] : starts[place[at] + 1]]
            yield Marked(line, bool(marked[at] == 1))
        begin = at + 1


def _pieces(block: bytes, starts: Ints, lines: Ints) -> Iterator[bytes]:
    """Yield lines, those that are one after another in one piece."""
    breaks = np.flatnonzero(np.diff(lines) != 1) + 1
    for first, last in zip(lines[[0, *breaks]], lines[[*(breaks - 1), -1]], strict=True):
        yield block[starts[first] : starts[last + 1]]
