"""Records without a value: which of them stand in lines with their keys, see `RecordKeys`."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import flat, mask
from integrator.decode.dialects.record_keys import KEY, SCHEMA
from integrator.decode.encodings import encoded
from integrator.decode.encodings.encoded import EncodedLines, Encoding, Shape
from integrator.decode.lines.lines import LeftOut, Lines, RecordKeys
from integrator.decode.lines.reading import LineReading, in_utf_8
from integrator.engine.arrays import Ints, Mask
from integrator.errors import DataError
from integrator.librdkafka.blocks import Block, joined
from integrator.sources.kafka.encoded_records import array_of, check_known, keys_of, pieces, taken, values_of

_TOLERANT = LineReading(tolerant=True, hidden=True)


def places_of_keys(
    block: Block, before: Block | None, keys: RecordKeys | None, shape: Shape, encoding: Encoding, topic: str
) -> Ints:
    """Return the places of the records of a block that stand with their keys. Raises SchemasFound.

    before: the record before the block, if it is still there. A delete and the record without a value that repeats it
    are next to each other. Where compaction took the delete, it took what was before it of the same key, too; so the
    record before has another key then.
    """
    at = np.flatnonzero(block.nulls)
    if keys is None or keys.deletes is None or not len(at):
        return at[:0] if keys is None else at
    shift = 0
    if at[0] == 0 and before is not None:
        block, shift = joined([before, block]), 1
    at += shift
    found, earlier = keys_of(block), np.maximum(at - 1, 0)
    texts = pieces(found.text, block.room.key_ends)
    same = mask(pc.equal(texts.take(pa.array(at)), texts.take(pa.array(earlier))))
    repeats = same & (at > 0) & ~found.null[at] & ~found.null[earlier]
    if repeats.any():
        repeats[repeats] = _which(keys.deletes, block, earlier[repeats], shape, encoding, topic)
    return at[~repeats & ~found.null[at]] - shift


def _which(
    deletes: Callable[[Lines], Mask], block: Block, at: Ints, shape: Shape, encoding: Encoding, topic: str
) -> Mask:
    """Return which of the records at some places are deletes; those that cannot be read are none."""
    records = taken(values_of(block), at)
    ids = encoding.ids_of(records)
    check_known(encoding, ids, topic, "value")
    made = encoded.lines_of(records, encoding, shape, ids)
    lines = Lines(topic, made.data, block.offsets[at], made.ends, left_out=made.left_out)
    lines = in_utf_8(lines.take(np.delete(np.arange(len(at)), sorted(made.wrong))), _TOLERANT, is_ascii=False)
    return np.isin(block.offsets[at], lines.numbers[_deleted(deletes, lines)])


def _deleted(deletes: Callable[[Lines], Mask], lines: Lines) -> Mask:
    """Return which lines are deletes; those that cannot be read are none."""
    if not len(lines):
        return np.zeros(0, np.bool_)
    try:
        return deletes(lines)
    except DataError:
        half = len(lines) // 2
        if not half:
            return np.zeros(1, np.bool_)
        at = np.arange(len(lines))
        return np.concatenate([_deleted(deletes, lines.take(part)) for part in (at[:half], at[half:])])


def line_with_key(block: Block, at: int, encoding: Encoding) -> bytes:
    """Return the line of a record without a value, with its key, which a file may have as well.

    It is the key alone, as it came, where no line can have that: it is damaged, or no JSON in UTF-8, which no reader of
    lines takes for a record; and null where there is no key.
    """
    keys = taken(keys_of(block), np.array([at]))
    if keys.null[0]:
        return b"null"
    made = encoded.lines_of(keys, encoding, Shape(SCHEMA, KEY, always=True), encoding.ids_of(keys))
    line = bytes(made.data[:-1])
    if (left_out := made.left_out) is not None and left_out.codes[0] >= 0:
        line = line[: left_out.at] + left_out.values[left_out.codes[0]] + line[left_out.at + 1 :]
    try:
        json.loads(line)
    except ValueError:
        return block.record(at).keys()[0] or b""
    return line


def with_keys(made: EncodedLines, block: Block, at: Ints, member: str, encoding: Encoding, topic: str) -> EncodedLines:
    """Return the lines of a block, with the keys of the records at some places. Raises SchemasFound."""
    keys = taken(keys_of(block), at)
    ids = encoding.ids_of(keys)
    check_known(encoding, ids, topic, "key")
    own = encoded.lines_of(keys, encoding, Shape(SCHEMA, member, always=True), ids)
    order = np.arange(len(block))
    order[at] = len(block) + np.arange(len(at))
    data, offsets = flat(pa.concat_arrays([array_of(made), array_of(own)]).take(pa.array(order)))
    left_out = own.left_out
    if left_out is not None:
        values, codes = list[bytes](), np.full(len(block), -1, np.int32)
        if made.left_out is not None:
            values, codes = made.left_out.values, made.left_out.codes.copy()
        codes[at] = np.where(left_out.codes < 0, left_out.codes, left_out.codes + len(values))
        left_out = LeftOut([*values, *left_out.values], codes, left_out.at)
    wrong = {**made.wrong, **{int(at[row]): reason for row, reason in own.wrong.items()}}
    return EncodedLines(bytearray(data.tobytes()), offsets.astype(np.int32), left_out, wrong)
