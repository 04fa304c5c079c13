"""Debezium's change events as CloudEvents in JSON lines, structured mode.

https://debezium.io/documentation/reference/stable/integrations/cloudevents.html: attributes `iodebezium…` have what the
source block has otherwise, and `data` the images, with their schema or without, or the row alone.

Operations, positions, values and what is missing are those of the debezium dialect.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords, mark, of_lines
from integrator.decode.dialects import debezium_positions
from integrator.decode.dialects.debezium import Events, changes
from integrator.decode.dialects.debezium_kinds import ACTIONS
from integrator.decode.dialects.debezium_positions import SOURCE
from integrator.decode.dialects.record_keys import KEY, SCHEMA, keyed, keys_of, with_plain_keys
from integrator.decode.fields import Where
from integrator.decode.json.document import Document
from integrator.decode.json.objects import Objects
from integrator.decode.json.slices import DictionaryTexts
from integrator.decode.rows.images import COLUMNS
from integrator.decode.rows.operations import Operations
from integrator.engine.arrays import Mask

EXPECTED = "a CloudEvent of Debezium, with its data in JSON"
OPERATIONS = Operations(ACTIONS, {"m": "logical messages"})
_PREFIX = "iodebezium"


def decode(document: Document, reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    ignored: Counter[str] = Counter()
    objects = Objects.of_lines(with_plain_keys(document, reading, EXPECTED)).find(SCHEMA, KEY)
    if not objects.has_object.all():
        ignored["tombstones"] += int((~objects.has_object).sum())
        objects = objects.take(np.flatnonzero(objects.has_object))
    by_key = keyed(objects)
    objects.find(*(f"{_PREFIX}{name}" for name in ("op", *map(_attribute, SOURCE))), "data")
    own = np.flatnonzero(~by_key)
    events = objects.take(own) if by_key.any() else objects
    actions, at, others = OPERATIONS.classify(events.labels(f"{_PREFIX}op"), Where.of(events), f"{_PREFIX}op")
    action, used = np.full(len(objects), "D"), by_key.copy()
    action[own[at]], used[own[at]] = actions, True
    objects, action, by_key = objects.take(np.flatnonzero(used)), action[used], by_key[used]
    where, source = Where.of(objects), Attributes(objects)
    data = objects.inner("data", EXPECTED).find("schema", "payload", "before", "after")
    wrapped = data.has("schema") & data.has("payload")
    schemas = DictionaryTexts(np.full(len(objects), -1, np.int32), [])
    if wrapped.any():
        schemas = data.where(wrapped).labels("schema")
        data = data.inner("payload", EXPECTED, wrapped).either(wrapped, data)
    framed = data.has("before") | data.has("after") | (action == "T") | by_key
    deleted = action == "D"
    after = data.inner("after", COLUMNS, np.isin(action, ["I", "U"])).either(framed, data.where(~deleted))
    before = data.inner("before", COLUMNS, np.isin(action, ["U", "D"])).either(framed, data.where(deleted))
    if by_key.any():
        before = objects.inner(KEY, COLUMNS, by_key).either(by_key, before)
        of_keys = objects.labels_with_left_out(SCHEMA)
        codes = np.where(by_key, np.where(of_keys.codes < 0, -1, of_keys.codes + len(schemas.texts)), schemas.codes)
        schemas = DictionaryTexts(codes.astype(np.int32), [*schemas.texts, *of_keys.texts])
    all_ignored = {**ignored, **others}
    found = changes(
        Events(action, source, after, before, schemas, all_ignored, ~framed | by_key, by_key), where, reading
    )
    own = np.flatnonzero(~by_key)
    placed = debezium_positions.positions(
        None,
        np.zeros(len(own), np.bool_),
        Attributes(objects.take(own)) if by_key.any() else source,
        own,
        where.take(own) if by_key.any() else where,
        found.row_counts[own],
    )
    return found, placed.among(~by_key, found.row_counts) if by_key.any() else placed


def _deletes(document: Document) -> Mask:
    """Return which records are events that delete, or have no value."""
    objects = Objects.of_lines(document)
    return np.asarray(~objects.has_object | objects.labels(f"{_PREFIX}op").are("d"), np.bool_)


def _attribute(name: str) -> str:
    """Return the name of a field as that of an attribute, which has letters and digits only."""
    return name.replace("_", "")


class Attributes:
    """The attributes of events that have what a source block has; older versions keep capitals in their names."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    @property
    def partial(self) -> Mask:
        """Which have only the fields that were asked for: none."""
        return np.zeros(len(self._objects), np.bool_)

    def _names(self, name: str) -> list[str]:
        return list(dict.fromkeys(f"{_PREFIX}{one}" for one in (_attribute(name), _attribute(name).lower())))

    def text(self, name: str) -> pa.Array:
        """Return a field of each."""
        return pc.coalesce(*(self._objects.text(one) for one in self._names(name)))

    def has(self, name: str) -> bool:
        """Return whether any event has a field that is not null."""
        text = self._objects.document.text
        return any(not self._objects.slices(one).nulls(text).all() for one in self._names(name))

    def labels(self, name: str) -> DictionaryTexts:
        """Return a field of each, of which many are the same."""
        return DictionaryTexts.of(self.text(name))


DIALECT = of_lines(
    JsonRecords(decode, EXPECTED, keys=keys_of(_deletes, EXPECTED)), (mark("specversion", "iodebeziumop"),)
)
