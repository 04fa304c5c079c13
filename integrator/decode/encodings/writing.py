"""Encoded records -> JSON lines."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.decode.encodings.program import Program, joined
from integrator.engine import programs as engine
from integrator.engine.arrays import Ints, Octets, Places, words
from integrator.engine.json_writer import Floats, output_of
from integrator.engine.programs import MAX_DEPTH, Lines, Programs, Stacks, Text
from integrator.engine.protobuf_fields import FIELD_NUMBERS, FRAME_NUMBERS
from integrator.engine.rows import place_texts
from integrator.engine.transcode import write_lines

MOST_BYTES = 2**31 - 2**16
"""Of the lines of a block: places in it have 32 bits."""
_LEAST = 4096
_KEPT_BYTES = 64 * 2**20
_kept = threading.local()
_NAMED = ('"NaN"', '"Infinity"', '"-Infinity"', "")
"""What is written of numbers that JSON has none for."""
REASONS = {
    engine.CUT: "it ends before its schema does",
    engine.LONG_VARINT: "here is a number of over 64 bits",
    engine.NO_INT: "here is an int of over 32 bits",
    engine.NO_BRANCH: "the union has no such branch",
    engine.NO_BOOLEAN: "a boolean is 0 or 1",
    engine.NO_SYMBOL: "the enum has no such symbol",
    engine.NEGATIVE: "here is a negative length",
    engine.NO_BLOCK: "a block of items has another size than it declares",
    engine.TOO_MANY: "here are too many items without bytes",
    engine.TOO_DEEP: f"its values are nested more than {MAX_DEPTH} times",
    engine.TRAILING: "it continues after its schema ends",
    engine.NO_FRAME: "it does not begin with the magic byte 0 and a schema's id",
    engine.NO_FIELD: "a field's number is from 1 to 536870911",
    engine.NO_WIRE_TYPE: "the field has another wire type than its schema declares",
    engine.NO_GROUP: "here is a group, which is not read",
    engine.IN_PIECES: "a list or a message is divided among pieces of the message it is in, which is not read",
    engine.MISSING: "a required field is missing",
    engine.NO_DATE: "here is no date of the years 1 to 9999",
    engine.NO_TIME: "here is no time of day",
    engine.OUT_OF_RANGE: "here is no timestamp of the years 1677 to 2262",
    engine.OTHER_SCALE: "the decimal has another scale than its schema declares",
}
"""Why a record is not accepted."""


class TooLarge(Exception):
    """The lines of a block have over 2 GiB."""


@dataclass(frozen=True)
class Written:
    """Lines of JSON. ends: where each ends, after a first 0. fault, at: why a record has none, and at which byte."""

    data: bytearray
    ends: Places
    fault: Octets
    at: Ints


def write(text: Octets, starts: Ints, ends: Ints, of: Places, programs: Sequence[Program]) -> Written:
    """Write each record as a line, by the program that `of` has of it; -1: it has none. Raises TooLarge."""
    count, made = len(starts), joined(tuple(programs))
    lines = Lines(np.zeros(count + 1, np.int64), np.zeros(count, np.uint8), np.zeros(count, np.int64))
    state, fields = np.zeros(4, np.int64), max((one.fields for one in programs), default=0)
    stacks = Stacks(
        np.empty((MAX_DEPTH, FRAME_NUMBERS), np.int64),
        np.empty(((MAX_DEPTH + 1) * max(fields, 2), FIELD_NUMBERS), np.int64),
    )
    ran = Programs(made.code, made.literals, made.begins, made.engine, of)
    given = Text(text, words(text), starts, ends)
    spans = np.bincount(of[of >= 0], minlength=len(programs)).tolist()
    size = (
        _LEAST
        + 2 * int((ends - starts).sum())
        + sum(many * len(one.literals) for many, one in zip(spans, programs, strict=True))
    )
    out = _room_of(min(size, MOST_BYTES))
    floats = Floats(np.empty(count + 16, np.int64), np.empty(count + 16, np.int64), np.empty(count + 16, np.bool_))
    while write_lines(given, ran, stacks, floats, output_of(out), lines, state) < count:
        if state[3]:
            floats = _with_more(floats)
            continue
        if len(out) >= MOST_BYTES:
            raise TooLarge
        more = np.empty(min(2 * len(out), MOST_BYTES), np.uint8)
        more[: state[1]] = out[: state[1]]
        out = more
    many = int(state[2])
    _write_floats(Floats(floats.bits[:many], floats.place[:many], floats.single[:many]), out)
    if len(out) <= _KEPT_BYTES:
        _kept.room = out
    return Written(bytearray(out[: state[1]].data), lines.ends.astype(np.int32), lines.fault, lines.at)


def _room_of(size: int) -> Octets:
    """Return room for so many bytes or more: that of the block before, for fresh memory is dear."""
    room: Octets | None = getattr(_kept, "room", None)
    _kept.room = None
    return np.empty(size, np.uint8) if room is None or len(room) < size else room


def _with_more(floats: Floats) -> Floats:
    size = len(floats.bits)
    return Floats(
        np.resize(floats.bits, 2 * size), np.resize(floats.place, 2 * size), np.resize(floats.single, 2 * size)
    )


def _write_floats(floats: Floats, target: Octets) -> None:
    """Write numbers with a fraction into their places, as Arrow writes them: as short as they are read back."""
    for single, kind in ((False, np.float64), (True, np.float32)):
        which = np.flatnonzero(floats.single == single)
        if not len(which):
            continue
        bits = floats.bits[which]
        values = (bits.astype(np.uint32) if single else bits).view(kind)
        texts = pa.array(values).cast(pa.string())
        if not np.isfinite(values).all():
            named = np.select([np.isnan(values), values == np.inf, values == -np.inf], _NAMED[:3], _NAMED[3])
            texts = pc.coalesce(pa.array(named, pa.string(), mask=np.isfinite(values)), texts)
        offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1]
        place_texts(np.frombuffer(texts.buffers()[2], np.uint8), offsets, floats.place[which], target)
