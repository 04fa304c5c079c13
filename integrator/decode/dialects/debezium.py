"""Debezium's change events as JSON lines (https://debezium.io/documentation/reference/stable/).

A line is an event's value: with its schema or without, in the envelope or flattened by ExtractNewRecordState. Lines
that are no change of a row are counted: tombstones (`null`), transaction marks, heartbeats, schema changes, messages.

Operations: c and r insert, u update, d delete, t truncate. A flattened event says by `__deleted` or `__op` what it is,
and is an insert where it has neither. A record without a value deletes by its key, see `record_keys`, but for one right
after a delete of the same key, which repeats it.

Positions: PostgreSQL's last commit before the transaction (`sequence`) and txId; MySQL's binlog file and position of
the transaction's first event; SQL Server's and Db2's commit_lsn; Oracle's commit_scn. Others, flattened events that
were not given such fields, and events of MySQL whose file is empty text, stand in the order of files and lines.

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

from integrator.arrow.arrays import mask
from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords, mark, of_lines
from integrator.decode.dialects import debezium_positions
from integrator.decode.dialects.debezium_coding import (
    EMPTY,
    MYSQL,
    NAMED,
    DebeziumCoding,
    databases,
    fields_of,
    placeholders,
)
from integrator.decode.dialects.debezium_kinds import (
    ENVELOPES,
    EXPECTED,
    MARKS,
    MEMBERS,
    actions_of,
    kinds_of,
    rows_of,
    words_of,
)
from integrator.decode.dialects.debezium_positions import SOURCE, Source
from integrator.decode.dialects.fields import written_at
from integrator.decode.dialects.record_keys import KEY, PAYLOAD, SCHEMA, keyed, keys_of, with_plain_keys
from integrator.decode.fields import Qualified, Where, instants, named
from integrator.decode.json.document import Document
from integrator.decode.json.objects import Objects
from integrator.decode.json.slices import DictionaryTexts
from integrator.decode.rows.images import COLUMNS, JsonImages
from integrator.decode.rows.records import Records
from integrator.engine.arrays import Mask
from integrator.errors import Fault, PublicDataError


def decode(document: Document, reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    ignored: Counter[str] = Counter()
    document = with_plain_keys(document, reading, EXPECTED)
    events, schemas, by_key = _payloads(Objects.of_lines(document).find(SCHEMA, PAYLOAD, KEY, *MEMBERS), ignored)
    kinds = kinds_of(events, has_time=bool(reading.only_table and reading.only_table.column("ts_ms")))
    kinds = {name: which & ~by_key for name, which in kinds.items()}
    flat = ~np.logical_or.reduce(list(kinds.values()))
    words = words_of(events, flat)
    action = np.where(by_key, "D", actions_of(words))
    rows = rows_of(events, words, action, kinds, ignored, flat)
    marks = kinds[MARKS]
    status = events.text("status") if marks.any() else None
    at = np.flatnonzero(rows)
    objects, action, flat, by_key = events.take(at), action[at], flat[at], by_key[at]
    where, source = Where.of(objects), Blocks(objects, flat)
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
            DictionaryTexts(schemas.codes[at], schemas.texts),
            dict(ignored),
            flat,
            by_key,
        ),
        where,
        reading,
    )
    if not by_key.any():
        return found, debezium_positions.positions(status, marks, source, at, where, found.row_counts)
    of = np.flatnonzero(~by_key)
    source = Blocks(objects.take(of), flat[of])
    own = debezium_positions.positions(status, marks, source, at[of], where.take(of), found.row_counts[of])
    return found, own.among(~by_key, found.row_counts)


@dataclass(frozen=True)
class Events:
    """Events that change a row: what they do, where they come from, their images, and the schemas of these.

    ignored: what else there was, counted. flat: which images have fields that ExtractNewRecordState added.
    by_key: which are records without a value, of which there is the key.
    """

    action: npt.NDArray[np.str_]
    source: Source
    after: Objects
    before: Objects
    schemas: DictionaryTexts
    ignored: dict[str, int]
    flat: Mask
    by_key: Mask


def changes(events: Events, where: Where, reading: Reading) -> Records:
    """Return the changes of events, which are at `where`. Raises DataError."""
    schemas, source, modes = events.schemas, events.source, reading.debezium
    connectors = _connectors(source, events.by_key)
    is_mysql = databases(connectors) == NAMED.index(MYSQL)
    used = [schemas.codes == code for code in range(len(schemas.texts))]
    fields = [fields_of(text, where, of) if of.any() else {} for text, of in zip(schemas.texts, used, strict=True)]
    coding = DebeziumCoding(fields, modes, frozenset(schemas.codes[events.by_key].tolist()))
    names = Qualified(_database(source, is_mysql), _schema(source, is_mysql), source.labels("table").encoded())
    names = named(names, events.after, reading.default_table) if names.table.null_count else names
    found = Records(
        where=where,
        action=events.action,
        schema=names.schema,
        database=names.database,
        table=names.table,
        values=JsonImages(
            events.after,
            events.before,
            coding,
            _is_added,
            unavailable=placeholders(modes.unavailable_value),
            key_only=modes.old_images,
            empty=EMPTY,
            variant=(schemas.codes.astype(np.int64) + 1) * 8 + databases(connectors) * 2 + events.flat,
            declared=coding.datatype,
            retyped=coding.retyped,
        ),
        old=events.before.filled & (events.action == "U"),
        cap_tstamp=pc.if_else(pa.array(events.by_key), written_at(events.after), _time(source, where)),
        cap_user=source.text("user_name"),
        ignored=events.ignored,
        by_topic=events.by_key if events.by_key.any() else None,
    )
    _check_tables(found)
    return found


def _connectors(source: Source, by_key: Mask) -> DictionaryTexts:
    """Return the connector of each event; of records without a value, that of all others around them."""
    found = source.labels("connector")
    if by_key.any() and len(found.texts) == 1:
        return DictionaryTexts(np.where(by_key, np.int32(0), found.codes), found.texts)
    return found


def _schema(source: Source, is_mysql: Mask) -> pa.Array:
    """Return the schema of each event's table, which in MySQL is a database."""
    if not is_mysql.any():
        return source.labels("schema").encoded()
    return pc.if_else(pa.array(is_mysql), source.text("db"), source.text("schema"))


def _database(source: Source, is_mysql: Mask) -> pa.Array:
    """Return the database of each event's table, null in MySQL, whose databases are schemas here."""
    database = source.labels("db").encoded()
    return pc.if_else(pa.array(is_mysql), None, database.cast(pa.string())) if is_mysql.any() else database


def _is_added(name: str, variant: int) -> bool:
    """Return whether ExtractNewRecordState added the field."""
    return bool(variant & 1) and name.startswith("__")


def _payloads(objects: Objects, ignored: Counter[str]) -> tuple[Objects, DictionaryTexts, Mask]:
    """Return the events, and their schemas, if they have any; and which are keys of records without a value.

    Records without a value that stand without their key are counted: they repeat the delete before them.
    """
    by_key, wrapped = keyed(objects), objects.has(PAYLOAD) & objects.has(SCHEMA)
    none = DictionaryTexts(np.full(len(objects), -1, np.int32), [])
    events, schemas = objects, none
    if wrapped.any():
        events = objects.inner(PAYLOAD, EXPECTED, wrapped).either(wrapped, objects)
    if by_key.any():
        events = objects.inner(KEY, COLUMNS, by_key).either(by_key, events)
        wrapped |= by_key
    if wrapped.any():
        schemas = objects.labels_with_left_out(SCHEMA)
        if not wrapped.all():
            schemas = DictionaryTexts(np.where(wrapped, schemas.codes, np.int32(-1)), schemas.texts)
    there = events.has_object
    if there.all():
        return events, schemas, by_key
    ignored["tombstones"] += int((~there).sum())
    at = np.flatnonzero(there)
    return events.take(at), DictionaryTexts(schemas.codes[at], schemas.texts), by_key[at]


def _deletes(document: Document) -> Mask:
    """Return which records are events that delete, or have no value."""
    objects = Objects.of_lines(document).find(SCHEMA, PAYLOAD)
    wrapped = objects.has(PAYLOAD) & objects.has(SCHEMA)
    events = objects.inner(PAYLOAD, EXPECTED, wrapped).either(wrapped, objects)
    framed = kinds_of(events, has_time=False)[ENVELOPES]
    deleted = np.where(framed, events.labels("op").are("d"), events.labels("__op").are("d"))
    return np.asarray(~events.has_object | deleted | events.labels("__deleted").are("true") & ~framed, np.bool_)


class Blocks:
    """The source blocks of events, or the fields of them that ExtractNewRecordState added."""

    def __init__(self, objects: Objects, flat: Mask) -> None:
        is_flat = bool(flat.any())  # there `source` is a column
        blocks = objects.where(~flat) if is_flat else objects
        self._blocks = blocks.inner("source", EXPECTED).find(*SOURCE)
        self._objects = objects if is_flat else None
        self.partial = flat

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

    def labels(self, name: str) -> DictionaryTexts:
        """Return a field of each, of which many are the same."""
        return self._blocks.labels(name) if self._objects is None else DictionaryTexts.of(self.text(name))


def _check_tables(found: Records) -> None:
    nameless = np.flatnonzero(mask(pc.is_null(found.table)))
    if len(nameless):
        raise PublicDataError(
            Fault(
                found.where.place(int(nameless[0])),
                "the event does not name its table, and the channel has "
                "several; flatten with add.fields=source.table, or name the table at the source location",
            )
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
DIALECT = replace(
    of_lines(JsonRecords(decode, EXPECTED, (SCHEMA, PAYLOAD), keys=keys_of(_deletes, EXPECTED)), _RECOGNIZED),
    bare=frozenset({"ts_ms"}),
    in_transactions=True,
)
