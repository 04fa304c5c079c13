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
    objects = Objects.of_lines(document)
    if not objects.has_object.all():
        ignored["tombstones"] += int((~objects.has_object).sum())
        objects = objects.take(np.flatnonzero(objects.has_object))
    objects.find(*(f"{_PREFIX}{name}" for name in ("op", *map(_attribute, SOURCE))), "data")
    operation = objects.labels(f"{_PREFIX}op")
    action, at, others = OPERATIONS.sort(operation, Where.of(objects), f"{_PREFIX}op")
    objects = objects.take(at)
    where, source = Where.of(objects), Attributes(objects)
    data = objects.inner("data", EXPECTED).find("schema", "payload", "before", "after")
    wrapped = data.has("schema") & data.has("payload")
    schemas = DictionaryTexts(np.full(len(objects), -1, np.int32), [])
    if wrapped.any():
        schemas = data.where(wrapped).labels("schema")
        data = data.inner("payload", EXPECTED, wrapped).either(wrapped, data)
    framed = data.has("before") | data.has("after") | (action == "T")
    deleted = action == "D"
    after = data.inner("after", COLUMNS, np.isin(action, ["I", "U"])).either(framed, data.where(~deleted))
    before = data.inner("before", COLUMNS, np.isin(action, ["U", "D"])).either(framed, data.where(deleted))
    found = changes(Events(action, source, after, before, schemas, {**ignored, **others}, ~framed), where, reading)
    no_marks = np.zeros(len(at), np.bool_)
    return found, debezium_positions.positions(None, no_marks, source, np.arange(len(at)), found)


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


DIALECT = of_lines(JsonRecords(decode, EXPECTED), (mark("specversion", "iodebeziumop"),))
