"""JSON lines of the hvr dialect: a record is a row, with the hvr_ columns beside its own."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from integrator.arrow.arrays import every_refused, first_refused
from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords
from integrator.decode.dialects.hvr_records import META, POSITION, decoded, positions_of
from integrator.decode.fields import Where
from integrator.decode.json.document import Document
from integrator.decode.json.objects import Objects
from integrator.decode.json.slices import DictionaryTexts, labels_of
from integrator.decode.json.values import read_json
from integrator.decode.lines.lines import cut
from integrator.decode.order.positions import Positions
from integrator.decode.rows.coding import JsonCoding
from integrator.decode.rows.images import JsonImages
from integrator.decode.text.refused import ValueRefused
from integrator.errors import DataError, Fault, shown
from integrator.schema import arrow_type

EXPECTED = "a record with hvr_op, hvr_tx_seq and the columns of its table"
_REFUSED = (ValueRefused, pa.ArrowInvalid, pa.ArrowNotImplementedError)
_TYPED = tuple(name for name in META if name != "hvr_tbl_name")


def decode(document: Document, reading: Reading) -> Decoded:
    """Return the change rows of lines. Raises DataError."""
    objects = _objects(document)
    values = JsonImages(objects, objects, JsonCoding(), lambda name, _: name in META, infers=True)
    table, meta = _tables(objects, reading), {name: _typed(objects, name) for name in _TYPED}
    return decoded(Where.of(objects), meta, table, values)


def positions(document: Document) -> Positions:
    """Return where the records of lines stand. Raises DataError."""
    objects = _objects(document)
    return positions_of(Where.of(objects), {name: _typed(objects, name) for name in POSITION})


def _objects(document: Document) -> Objects:
    return Objects.of_lines(document).required(EXPECTED).find(*META)


def _tables(objects: Objects, reading: Reading) -> DictionaryTexts:
    """Return the name of each record's table. Raises DataError for one without a name, or whose name is no text."""
    at = objects.slices("hvr_tbl_name")
    found = labels_of(objects.document.text, at)
    where = Where.of(objects)
    if (found.codes < 0).any():
        if reading.default_table is None:
            where.refuse(
                found.codes < 0,
                lambda at: (
                    "the record has no hvr_tbl_name, and the channel has several tables; add it, or name the "
                    f"table at the source location; {objects.lines.shown(at)}"
                ),
            )
        texts = [*found.texts, reading.default_table or ""]
        found = DictionaryTexts(np.where(found.codes < 0, np.int32(len(texts) - 1), found.codes), texts)
    where.refuse(
        ~(at.are_texts(objects.document.text) | at.nulls(objects.document.text)),
        lambda odd: f"hvr_tbl_name is {cut(found.texts[found.codes[odd]])}; expected text",
    )
    return found


def _typed(objects: Objects, name: str) -> pa.Array:
    """Return the values of an hvr_ column in its type, null where a record has none. Raises DataError with the line."""
    text, at, kind = objects.document.text, objects.slices(name), META[name]

    def read(start: int, stop: int) -> pa.Array:
        return read_json(text, at.part(start, stop), kind)

    def accepts(start: int, stop: int) -> bool:
        try:
            read(start, stop)
        except _REFUSED:
            return False
        return True

    try:
        return read(0, len(objects))
    except _REFUSED:
        index = first_refused(len(objects), accepts)

    def fault(index: int) -> Fault:
        raw = text[at.start[index] : at.end[index]].tobytes().decode()
        value = shown(json.loads(raw)) if raw.startswith('"') else cut(raw)
        place = Where.of(objects).place(index)
        return Fault(place, f"{name}: {value} is no {arrow_type(kind)}; mend the record")

    raise DataError(fault(index), lambda: list(map(fault, every_refused(len(objects), accepts))))


RECORDS = JsonRecords(decode, EXPECTED, positions=positions)
