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
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import Mask, mask
from integrator.decode.contract import File, Reading
from integrator.decode.dialect import Decoded, mark, of_lines
from integrator.decode.dialects import debezium_positions
from integrator.decode.dialects.debezium_coding import EMPTY, DebeziumCoding, fields_of, placeholders
from integrator.decode.dialects.debezium_positions import SOURCE, Source
from integrator.decode.fields import Where, instants
from integrator.decode.images import COLUMNS, JsonImages
from integrator.decode.json.document import Document
from integrator.decode.json.grammar import OPEN
from integrator.decode.json.objects import Objects
from integrator.decode.json.slices import Labels
from integrator.decode.records import Records
from integrator.decode.refusal import refuse
from integrator.errors import DataError, shown

EXPECTED = "a change event of Debezium"
_ENVELOPES, _MARKS = "envelopes", "transaction marks"
_MEMBERS = (
    *("before", "after", "source", "op", "ts_ms", "message", "ddl"),
    *("status", "id", "event_count", "data_collections", "__deleted", "__op"),
)
ACTIONS = {"c": "I", "r": "I", "u": "U", "d": "D", "t": "T"}


def decode(document: Document, file: File, reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    ignored: Counter[str] = Counter()
    events, schemas = _payloads(Objects.of_lines(document).find("schema", "payload", *_MEMBERS), ignored)
    kinds = _kinds(events, has_time=bool(reading.only_table and reading.only_table.column("ts_ms")))
    flat = ~np.logical_or.reduce(list(kinds.values()))
    words = _words(events, flat)
    action = _actions(words)
    rows = _rows(events, words, action, kinds, ignored, flat)
    marks = kinds[_MARKS]
    status = events.text("status") if marks.any() else None
    at = np.flatnonzero(rows)
    objects, action, flat = events.take(at), action[at], flat[at]
    where, source = Where(file.path, objects.numbers), Blocks(objects, flat)
    framed = objects.where(~flat) if flat.any() else objects
    after = framed.inner("after", COLUMNS, np.isin(action, ["I", "U"]))
    before = framed.inner("before", COLUMNS, np.isin(action, ["U", "D"]))
    if flat.any():
        deleted = action == "D"
        after = objects.either(flat & ~deleted, after)
        before = objects.either(flat & deleted, before)
    found = changes(
        Events(
            action,
            source,
            after,
            before,
            Labels(schemas.codes[at], schemas.texts),
            dict(ignored),
            flat,
        ),
        where,
        reading,
    )
    return found, debezium_positions.positions(status, marks, source, file, at, found)


@dataclass(frozen=True)
class Events:
    """Events that change a row: what they do, where they come from, their images, and the schemas of these.

    ignored: what else there was, counted. flat: which images have fields that ExtractNewRecordState added.
    """

    action: npt.NDArray[np.str_]
    source: Source
    after: Objects
    before: Objects
    schemas: Labels
    ignored: dict[str, int]
    flat: Mask


def changes(events: Events, where: Where, reading: Reading) -> Records:
    """Return the changes of events, which are at `where`. Raises DataError."""
    schemas, source, modes = events.schemas, events.source, reading.debezium
    is_mysql = source.labels("connector").are("mysql", "mariadb")
    used = [schemas.codes == code for code in range(len(schemas.texts))]
    fields = [fields_of(text, where, of) if of.any() else {} for text, of in zip(schemas.texts, used, strict=True)]
    found = Records(
        file=where.file,
        action=events.action,
        schema=_schema(source, is_mysql),
        table=source.labels("table").encoded(reading.default_table),
        values=JsonImages(
            events.after,
            events.before,
            DebeziumCoding(fields, modes),
            _is_added,
            unavailable=placeholders(modes.unavailable_value),
            key_only=modes.old_images,
            empty=EMPTY,
            variant=(schemas.codes.astype(np.int64) + 1) * 4 + is_mysql * 2 + events.flat,
        ),
        old=events.before.has_object & (events.action == "U"),
        line=where.line,
        cap_tstamp=_time(source, where),
        cap_user=source.text("user_name"),
        ignored=events.ignored,
    )
    _check_tables(found)
    return found


def _schema(source: Source, is_mysql: Mask) -> pa.Array:
    """Return the schema of each event's table, which in MySQL is a database."""
    if not is_mysql.any():
        return source.labels("schema").encoded()
    return pc.if_else(pa.array(is_mysql), source.text("db"), source.text("schema"))


def _is_added(name: str, variant: int) -> bool:
    """Return whether ExtractNewRecordState added the field."""
    return bool(variant & 1) and name.startswith("__")


def _payloads(objects: Objects, ignored: Counter[str]) -> tuple[Objects, Labels]:
    """Return the events, without tombstones, and their schemas, if they have any."""
    wrapped = objects.has("payload") & objects.has("schema")
    none = Labels(np.full(len(objects), -1, np.int32), [])
    events, schemas = objects, none
    if wrapped.any():
        events = objects.inner("payload", EXPECTED, wrapped).either(wrapped, objects)
        schemas = objects.labels_with_left_out("schema")
        if not wrapped.all():
            schemas = Labels(np.where(wrapped, schemas.codes, np.int32(-1)), schemas.texts)
    there = events.has_object
    if there.all():
        return events, schemas
    ignored["tombstones"] += int((~there).sum())
    at = np.flatnonzero(there)
    return events.take(at), Labels(schemas.codes[at], schemas.texts)


def _kinds(objects: Objects, *, has_time: bool) -> dict[str, Mask]:
    """Return which records are events in an envelope, and which are none of a row; all others are flattened events.

    The columns of a flattened event may have any names: so each kind is known by several of its own. has_time: whether
    the table of records that name none has a column `ts_ms`, which is all that a heartbeat has.
    """
    objects.find(*_MEMBERS)

    def have(*names: str) -> Mask:
        return np.asarray(np.logical_and.reduce([objects.has(name) for name in names]), np.bool_)

    def is_object(name: str) -> Mask:
        return np.asarray(have(name) & (objects.slices(name).first_bytes(text) == OPEN), np.bool_)

    def is_image(name: str) -> Mask:
        """Return which records have an object or null as a member, or do not have it."""
        return np.asarray(~have(name) | is_object(name) | objects.slices(name).nulls(text), np.bool_)

    text = objects.document.text
    images = (have("before") | have("after")) & is_image("before") & is_image("after")
    framed = is_object("source") | is_object("message") | images
    marks = have("status", "id", "event_count", "data_collections")
    if marks.any():
        marks &= objects.labels("status").are("BEGIN", "END")
    flattened = have("__deleted") | have("__op")
    alone = have("ts_ms")
    if alone.any() and not have("op").all():
        alone &= (objects.counts() == 1) & (not has_time)
    else:
        alone &= False
    kinds = {
        _ENVELOPES: have("op") & framed,
        _MARKS: marks,
        "schema changes": have("ddl") & is_object("source") & ~have("op"),
        "heartbeats": alone,
    }
    return {name: which & ~flattened for name, which in kinds.items()}


def _actions(words: Labels) -> npt.NDArray[np.str_]:
    """Return what each event does: I U D T, m for a message, or ? for another word."""
    meant = [ACTIONS.get(word, "m" if word == "m" else "?") for word in words.texts]
    return np.array([*meant, "?"], "U1")[words.codes]


def _words(objects: Objects, flat: Mask) -> Labels:
    """Return the op of each event; of flattened ones by `__deleted` and `__op`. Raises DataError."""
    if not flat.any():
        return objects.labels("op")
    deleted, own = objects.text("__deleted"), objects.text("__op")
    where = Where(objects.lines.file, objects.numbers)
    where.check(deleted, ~mask(pc.is_in(deleted, pa.array(["true", "false"]))) & flat, "__deleted", "true or false")
    is_deleted = pc.fill_null(pc.equal(deleted, "true"), fill_value=False)
    where.check(own, mask(pc.not_equal(own, "d")) & mask(is_deleted) & flat, "__op", "d, for __deleted is true")
    of_flat = pc.if_else(is_deleted, "d", own)
    return Labels.of(pc.if_else(pa.array(flat), pc.fill_null(of_flat, "c"), objects.text("op")))


def _rows(
    objects: Objects,
    words: Labels,
    action: npt.NDArray[np.str_],
    kinds: dict[str, Mask],
    ignored: Counter[str],
    flat: Mask,
) -> Mask:
    """Return which events change a row; count the others by what they are. Raises DataError for what is none."""
    events = kinds[_ENVELOPES] | flat
    rows = np.asarray(np.isin(action, ["I", "U", "D", "T"]) & events, np.bool_)
    if rows.all():
        return rows
    known = rows.copy()
    for reason, which in ({"logical messages": (action == "m") & events} | kinds).items():
        count = int((which & ~known).sum()) if reason != _ENVELOPES else 0
        if count:
            ignored[reason] += count
            known |= which

    def text(at: int) -> str:
        word = shown(words.texts[words.codes[at]] if words.codes[at] >= 0 else None)
        return f"the op {word} is none of c u d r t m"

    refuse(objects.lines.file, objects.numbers, ~known, text)
    return rows


class Blocks:
    """The source blocks of events, or the fields of them that ExtractNewRecordState added."""

    def __init__(self, objects: Objects, flat: Mask) -> None:
        is_flat = bool(flat.any())  # there `source` is a column
        blocks = objects.where(~flat) if is_flat else objects
        self._blocks = blocks.inner("source", EXPECTED).find(*SOURCE)
        self._objects = objects if is_flat else None

    def text(self, name: str) -> pa.Array:
        """Return a field of each."""
        if not self.has(name):
            return pa.nulls(len(self._blocks), pa.string())
        own = self._blocks.text(name)
        if self._objects is None:
            return own
        return pc.coalesce(own, self._objects.first_text([f"__source_{name}", f"__{name}"]))

    def has(self, name: str) -> bool:
        """Return whether any event has a field that is not null."""
        objects = self._objects
        flattened = [] if objects is None else [objects.slices(f"__source_{name}"), objects.slices(f"__{name}")]
        text = self._blocks.document.text
        return any(not at.nulls(text).all() for at in (self._blocks.slices(name), *flattened))

    def labels(self, name: str) -> Labels:
        """Return a field of each, of which many are the same."""
        return self._blocks.labels(name) if self._objects is None else Labels.of(self.text(name))


def _check_tables(found: Records) -> None:
    nameless = np.flatnonzero(mask(pc.is_null(found.table)))
    if len(nameless):
        raise DataError(
            f"{found.file}:{found.line[nameless[0]]}: the event does not say its table, and the channel has "
            "several; flatten with add.fields=source.table, or name the table at the source location"
        )


def _time(source: Source, where: Where) -> pa.Array:
    """Return the commit time, as finely as the event has it."""
    micros, millis = (
        instants(source.text("ts_us"), where, "ts_us", "us"),
        instants(source.text("ts_ms"), where, "ts_ms", "ms"),
    )
    return pc.coalesce(micros, millis) if micros.null_count else micros


_RECOGNIZED = (
    mark("__deleted", certain=True),
    mark("__op", certain=True),
    mark("payload", "schema"),
    mark("op", "source"),
    mark("status", "id", "event_count"),
    mark("ddl", "source"),
)
DIALECT = replace(of_lines(decode, EXPECTED, _RECOGNIZED, repeated=("schema", "payload")), bare=frozenset({"ts_ms"}))
