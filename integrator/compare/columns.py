"""Digests of the messages of a block at once, by the index of their JSON: where a message is one row in an object.

Other layouts (bundles, lists, OpenCDC's envelope), and blocks with a message that is not as expected, are read row by
row (`at_topic.MessagesOf`): it knows what is wrong. Values are compared as they are written; rows that are equal and
written differently are found to be so when they are read again (`rounds.is_same`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from integrator.compare.digests import RECORD, Records
from integrator.compare.messages import CLEARED, DECODER, GONE, NOTHING, SET, Documents, Texts
from integrator.compare.tables import Compared
from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE, DELETE, TRUNCATE
from integrator.contracts.sequence import SEQUENCE_WIDTHS
from integrator.decode.json.document import read_document
from integrator.decode.json.objects import Objects
from integrator.decode.lines.lines import Lines
from integrator.engine.arrays import Ints
from integrator.errors import DataError

_EXPECTED = "a row"
_ENVELOPES = ("", "DEBEZIUM")
_FALSE = pa.array(["0", "false", '""', "0.0"])
_BETWEEN = "\x1f"
"""Between values: in JSON it is written as an escape."""
_SEQUENCE = sum(SEQUENCE_WIDTHS) + 2
_NIBBLES = np.full(256, 255, np.uint8)
_NIBBLES[np.frombuffer(b"0123456789ABCDEF", np.uint8)] = np.arange(16)
_NIBBLES[np.frombuffer(b"abcdef", np.uint8)] = np.arange(10, 16)
_EFFECTS = {"d": GONE, "t": CLEARED, "c": SET, "u": SET, "r": SET}


class Digests(NamedTuple):
    """The effects of a block of messages. records: of rows that are set or gone; `at` is the number of the message.

    cleared: the numbers of messages by which all rows are gone, and their positions, see `digests.change_of`.
    """

    records: Records
    cleared: list[tuple[int, bytes]]


@dataclass(frozen=True)
class Columns:
    """How messages of a table are read. unprefixed: returns a message's key without the id of a schema."""

    table: Compared
    documents: Documents
    unprefixed: Callable[[bytes], bytes]

    @property
    def reads(self) -> bool:
        """Whether messages of this layout are read."""
        layout = self.documents.layout
        is_row = layout.format != "JSON" or layout.options.json_mode == "ROW_FRAGMENTS"
        is_utf8 = layout.options.encoding.lower().replace("-", "") == "utf8"
        return layout.bundling.mode == "ROW" and is_row and is_utf8 and self.table.envelope in _ENVELOPES

    def of(self, keys: Sequence[bytes | None], texts: Texts, place: str) -> Digests | None:
        """Return the effects of messages; None where they must be read row by row. place: for errors."""
        there = np.flatnonzero(~texts.nulls)
        by_key = self.table.identity == "key"
        no_key = np.array([key is None for key in keys], np.bool_)
        if by_key and (no_key & texts.nulls).any():
            return None
        try:
            document = read_document(Lines(place, texts.data, np.arange(len(keys)), texts.ends), _EXPECTED)
            is_null = len(document.lines) > len(there)  # as a registry's values are written; others are blank
            rows = Objects.of_lines(document.take(there) if is_null else document)
            if self.documents.layout.format == "SCHEMA_PAYLOAD":
                rows = rows.inner("payload", _EXPECTED)
            if len(rows) != len(there) or not rows.has_object.all():
                return None
            effect, image = self._effects(rows)
            change = self._changes(rows)
        except DataError:
            return None
        if by_key and (no_key[there] & (effect != CLEARED)).any():  # a truncate alone has none
            return None
        cleared = [
            (int(there[one]), change[one].tobytes() if change[one].any() else b"")
            for one in np.flatnonzero(effect == CLEARED)
        ]
        kept = np.flatnonzero((effect == SET) | (effect == GONE))
        row = self._rows(image)
        made = np.zeros(len(keys) if by_key else len(kept), RECORD)
        of_rows = made[there[kept]] if by_key else made
        of_rows["effect"] = effect[kept]
        of_rows["row"] = np.where((effect[kept] == SET)[:, None], row[kept], 0)
        of_rows["change"], of_rows["at"] = change[kept].view("S22")[:, 0], there[kept]
        if not by_key:
            digests = self._keys(image, kept)
            if digests is None:
                return None
            made["key"] = digests
            return Digests(made, cleared)
        made["effect"], made["at"] = NOTHING, np.arange(len(keys))
        made["effect"][np.flatnonzero(texts.nulls)] = GONE
        made[there[kept]] = of_rows
        made["key"] = _digested([self.unprefixed(key or b"") for key in keys])
        return Digests(made[made["effect"] != NOTHING], cleared)

    def _effects(self, rows: Objects) -> tuple[Ints, Objects]:
        """Return the effect of each message, and the row that it is on."""
        table, none = self.table, np.zeros(len(rows), np.bool_)
        if table.envelope:
            op = rows.labels("op")
            effect = np.array([*(_EFFECTS.get(text, NOTHING) for text in op.texts), NOTHING], np.int64)[op.codes]
            return effect, rows.inner("before", _EXPECTED).either(effect == GONE, rows.inner("after", _EXPECTED))
        code = np.full(len(rows), -1, np.int64)
        if table.op:
            known, op = {str(value): code for value, code in table.codes}, rows.labels(table.op)
            code = np.array([*(known.get(text, -1) for text in op.texts), -1], np.int64)[op.codes]
        no_key = ~none if table.key else none
        for name in table.key:
            no_key = no_key & rows.has(name) & np.asarray(rows.raw(name).is_null())
        is_soft = none
        if table.soft_delete:
            raw = rows.raw(table.soft_delete)
            is_soft = np.asarray(pc.and_(raw.is_valid(), pc.invert(pc.is_in(raw, _FALSE))))
        is_cleared = (code == TRUNCATE) | ((code < 0) & no_key)
        is_gone = np.isin(code, (DELETE, BEFORE_KEY_UPDATE)) | is_soft
        return np.select([is_cleared, is_gone, code == BEFORE_UPDATE], [CLEARED, GONE, NOTHING], SET), rows

    def _rows(self, image: Objects) -> npt.NDArray[np.uint64]:
        """Return the digests of rows; a column that is not there is null."""
        image.find(*self.table.columns)
        values = [pc.fill_null(image.raw(name), "null") for name in self.table.columns]
        joined = pc.binary_join_element_wise(*values, _BETWEEN) if values else pa.array([""] * len(image))
        return _digested(joined.cast(pa.binary()).to_pylist())

    def _keys(self, image: Objects, kept: Ints) -> npt.NDArray[np.uint64] | None:
        """Return the digests of keys, as `digests.Digester.key` makes them; None where a row lacks columns of it."""
        columns = []
        for name in self.table.key:
            if not image.has(name)[kept].all():
                return None
            raw = pc.fill_null(image.raw(name), "null").take(pa.array(kept)).to_pylist()
            columns.append([DECODER.decode(one) for one in raw])
        values = columns[0] if len(columns) == 1 else zip(*columns, strict=True)
        return _digested([repr(one).encode() for one in values])

    def _changes(self, rows: Objects) -> npt.NDArray[np.uint8]:
        """Return the positions of messages, 22 bytes each; zeros where there is none, see `digests.change_of`."""
        if self.table.envelope:
            text = pc.utf8_slice_codeunits(rows.inner("source", _EXPECTED).text("sequence"), -_SEQUENCE - 2, -2)
        elif self.table.position:
            text = rows.text(self.table.position)
        else:
            return np.zeros((len(rows), 22), np.uint8)
        is_one = np.asarray(pc.fill_null(pc.equal(pc.binary_length(text), _SEQUENCE), False))
        octets = np.zeros((len(rows), _SEQUENCE), np.uint8)
        octets[is_one] = np.frombuffer("".join(text.filter(pa.array(is_one)).to_pylist()).encode(), np.uint8).reshape(
            -1, _SEQUENCE
        )
        nibbles = _NIBBLES[np.delete(octets, (SEQUENCE_WIDTHS[0], _SEQUENCE - SEQUENCE_WIDTHS[2] - 1), axis=1)]
        is_one &= (nibbles != 255).all(axis=1)
        nibbles = np.append(np.where(is_one[:, None], nibbles, 0), np.zeros((len(rows), 1), np.uint8), axis=1)
        return np.ascontiguousarray(nibbles[:, ::2] << 4 | nibbles[:, 1::2])


def _digested(texts: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """Return the digests of texts, as `Records` have them."""
    digest = xxhash.xxh3_128_digest
    return np.frombuffer(b"".join([digest(one) for one in texts]), "<u8").reshape(-1, 2)
