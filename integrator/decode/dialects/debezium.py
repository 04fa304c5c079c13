"""Debezium's change events as JSON lines (https://debezium.io/documentation/reference/stable/).

A line is an event's value: with its schema or without, in the envelope or flattened by ExtractNewRecordState. Lines
that are no change of a row are counted: tombstones (`null`), transaction marks, heartbeats, schema changes, messages.

Operations: c and r insert, u update, d delete, t truncate. A flattened event says by `__deleted` or `__op` what it is,
and is an insert where it has neither.

Positions: PostgreSQL's last commit before the transaction (`sequence`) and txId; MySQL's binlog file and position of
the transaction's first event; SQL Server's commit_lsn; Oracle's commit_scn. Others, and flattened events that were not
given such fields, stand in the order of files and lines.

Missing are: `__debezium_unavailable_value` (PostgreSQL's unchanged TOAST), and what is null beside the key in an old
image that has nothing but a key (PostgreSQL's default replica identity).
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import Mask, mask
from integrator.decode.contract import File, Reading
from integrator.decode.dialect import Decoded
from integrator.decode.dialects import debezium_positions
from integrator.decode.dialects.debezium_values import DebeziumValues
from integrator.decode.dialects.keys_alone import KeysAlone
from integrator.decode.fields import Where, instants
from integrator.decode.images import JsonValues, none_apart
from integrator.decode.json.lines import Lines
from integrator.decode.json.objects import Inner, Objects, as_lines, lines_text
from integrator.decode.records import Records
from integrator.errors import DataError, shown

EXPECTED = "a change event of Debezium"
_ENVELOPES, _MARKS = "envelopes", "transaction marks"
ACTIONS = {"c": "I", "r": "I", "u": "U", "d": "D", "t": "T"}


def decode(lines: Lines, file: File, reading: Reading) -> Decoded:
    """Return the changes in `lines`. Raises DataError."""
    ignored: Counter[str] = Counter()
    lines = _without_tombstones(lines, ignored)
    objects, schemas = _payloads(Objects(lines, EXPECTED), ignored)
    lines = objects.lines
    kinds = _kinds(objects)
    flat = ~np.logical_or.reduce(list(kinds.values()))
    action, source = _actions(objects, flat), _Source(objects, flat)
    rows = _rows(objects, action, kinds, flat, ignored)
    image = lines_text(lines)
    new = pc.if_else(pa.array(flat), image, objects.raw("after"))
    old = pc.if_else(pa.array(flat & (action == "D")), image, objects.raw("before"))
    at = np.flatnonzero(rows)
    keep = pa.array(at)
    new, old = new.take(keep), old.take(keep)
    images = JsonValues(lines, lines.numbers[at], new, old, _is_added if flat.any() else none_apart)
    found = Records(
        lines=lines,
        action=action[at],
        schema=source.text("schema").take(keep),
        table=pc.coalesce(source.text("table"), pa.scalar(reading.default_table, pa.string())).take(keep),
        values=KeysAlone(
            DebeziumValues(images, schemas.take(keep), reading.debezium, mysql=_is_mysql(source)),
            reading.debezium.old_images,
            file.path,
            lines.numbers[at],
        ),
        old=mask(pc.is_valid(old)) & (action[at] == "U"),
        line=lines.numbers[at],
        cap_tstamp=_time(source, keep, Where(file.path, lines.numbers[at])),
        cap_user=source.text("user_name").take(keep),
        ignored=dict(ignored),
    )
    _check_tables(found)
    return found, debezium_positions.positions(objects.text("status"), kinds[_MARKS], source, file, at, found)


def _is_mysql(source: _Source) -> bool:
    """Say whether it is MySQL's or MariaDB's connector."""
    return bool(pc.any(pc.is_in(source.text("connector"), pa.array(["mysql", "mariadb"]))).as_py())


def _is_added(name: str) -> bool:
    """Say whether ExtractNewRecordState added the field."""
    return name.startswith("__")


def _without_tombstones(lines: Lines, ignored: Counter[str]) -> Lines:
    other = np.flatnonzero(np.frombuffer(lines.data, np.uint8)[lines.offsets[:-1]] != ord("{"))
    null = other[mask(pc.equal(pc.utf8_trim_whitespace(lines.array.take(pa.array(other))), "null"))]
    if not len(null):
        return lines
    ignored["tombstones"] += len(null)
    return lines.take(np.delete(np.arange(len(lines)), null))


def _payloads(objects: Objects, ignored: Counter[str]) -> tuple[Objects, pa.Array]:
    """Return the events without their schemas, and these; null where an event has none."""
    wrapped = objects.has("payload") & objects.has("schema")
    if not wrapped.any():
        return objects, pa.nulls(len(objects), pa.string())
    payload = pc.if_else(pa.array(wrapped), objects.raw("payload"), lines_text(objects.lines))
    there = mask(pc.is_valid(payload))
    if not there.all():
        ignored["tombstones"] += int((~there).sum())
    at = np.flatnonzero(there)
    inner = Objects(as_lines(payload.take(pa.array(at)), objects.lines, at), EXPECTED)
    return inner, objects.raw("schema").take(pa.array(at))


def _only(objects: Objects, name: str) -> Mask:
    """Say which objects have a member of that name and no other (heartbeats)."""
    other = np.zeros(len(objects), bool)
    for one in objects.names:
        if one != name:
            other |= objects.has(one)
    return objects.has(name) & ~other


def _kinds(objects: Objects) -> dict[str, Mask]:
    """Say which records are events in an envelope, and which are none of a row; all others are flattened events.

    The columns of a flattened event may have any names: so each kind is known by several of its own.
    """

    def have(*names: str) -> Mask:
        return np.asarray(np.logical_and.reduce([objects.has(name) for name in names]), np.bool_)

    framed = have("before") | have("after") | have("source") | have("message")
    marks = have("status", "id", "event_count")
    marks &= mask(pc.is_in(objects.text("status"), pa.array(["BEGIN", "END"])))
    flattened = have("__deleted") | have("__op")
    kinds = {
        _ENVELOPES: have("op") & framed,
        _MARKS: marks,
        "schema changes": have("ddl", "source") & ~have("op"),
        "heartbeats": _only(objects, "ts_ms"),
    }
    return {name: which & ~flattened for name, which in kinds.items()}


def _actions(objects: Objects, flat: Mask) -> npt.NDArray[np.str_]:
    """Return what each event does: I U D T, m for a message, or ? for another word."""
    op = _words(objects, flat)
    words = pc.fill_null(op, "").dictionary_encode()
    meant = np.array([ACTIONS.get(word, "m" if word == "m" else "?") for word in words.dictionary.to_pylist()], "U1")
    return np.asarray(meant[words.indices.to_numpy(zero_copy_only=False)], "U1") if len(meant) else meant


def _words(objects: Objects, flat: Mask) -> pa.Array:
    """Return the op of each event; of flattened ones by `__deleted` and `__op`. Raises DataError."""
    op = objects.text("op")
    if not flat.any():
        return op
    deleted = objects.text("__deleted")
    where = Where(objects.lines.file, objects.lines.numbers)
    where.check(deleted, ~mask(pc.is_in(deleted, pa.array(["true", "false"]))) & flat, "__deleted", "true or false")
    own = objects.text("__op")
    is_deleted = pc.fill_null(pc.equal(deleted, "true"), fill_value=False)
    where.check(own, mask(pc.not_equal(own, "d")) & mask(is_deleted) & flat, "__op", "d, for __deleted is true")
    of_flat = pc.if_else(is_deleted, "d", own)
    return pc.if_else(pa.array(flat), pc.fill_null(of_flat, "c"), op)


class _Source:
    """The source blocks of events, or the fields of them that ExtractNewRecordState added."""

    def __init__(self, objects: Objects, flat: Mask) -> None:
        told = objects.raw("source")
        told = pc.if_else(pa.array(flat), None, told) if flat.any() else told  # there it is a column
        self._blocks = Inner(told, objects.lines, EXPECTED)
        self._objects = objects if flat.any() else None

    def text(self, name: str) -> pa.Array:
        """Return a field of each."""
        told = self._blocks.text(name)
        if self._objects is None:
            return told
        return pc.coalesce(told, self._objects.first_text([f"__source_{name}", f"__{name}"]))


def _rows(
    objects: Objects, action: npt.NDArray[np.str_], kinds: dict[str, Mask], flat: Mask, ignored: Counter[str]
) -> Mask:
    """Say which events change a row; count the others by what they are. Raises DataError for what is none of them."""
    events = kinds[_ENVELOPES] | flat
    rows = np.asarray(np.isin(action, ["I", "U", "D", "T"]) & events, np.bool_)
    told = rows.copy()
    for reason, which in ({"logical messages": (action == "m") & events} | kinds).items():
        count = int((which & ~told).sum()) if reason != _ENVELOPES else 0
        if count:
            ignored[reason] += count
            told |= which
    if not told.all():
        at = int(np.flatnonzero(~told)[0])
        word = shown(_words(objects, flat)[at].as_py())
        raise DataError(f"{objects.lines.file}:{objects.lines.numbers[at]}: the op {word} is none of c u d r t m")
    return rows


def _check_tables(found: Records) -> None:
    nameless = np.flatnonzero(mask(pc.is_null(found.table)))
    if len(nameless):
        raise DataError(
            f"{found.lines.file}:{found.line[nameless[0]]}: the event does not say its table, and the channel has "
            "several; flatten with add.fields=source.table, or name the table at the source location"
        )


def _time(source: _Source, keep: pa.Array, where: Where) -> pa.Array:
    """Return the commit time, as finely as the event has it."""
    micros, millis = source.text("ts_us").take(keep), source.text("ts_ms").take(keep)
    return pc.coalesce(instants(micros, where, "ts_us", "us"), instants(millis, where, "ts_ms", "ms"))
