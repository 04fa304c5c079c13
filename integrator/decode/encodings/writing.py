"""Encoded records -> JSON lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.decode.encodings.program import Program, joined
from integrator.engine import programs as engine
from integrator.engine.arrays import Ints, Octets, Places, words
from integrator.engine.json_writer import Floats, output_of
from integrator.engine.programs import MAX_DEPTH, Lines, Programs, Text
from integrator.engine.rows import place_texts
from integrator.engine.transcode import write_lines

MOST_BYTES = 2**31 - 2**16
"""Of the lines of a block: places in it have 32 bits."""
_LEAST = 4096
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
    engine.NO_BLOCK: "a block of items has another size than it says",
    engine.TOO_MANY: "here are too many items without bytes",
    engine.TOO_DEEP: f"its values are nested more than {MAX_DEPTH} times",
    engine.TRAILING: "it goes on after its schema ends",
    engine.NO_FRAME: "it does not begin with the magic byte 0 and a schema's id",
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
    stack, state = np.empty((MAX_DEPTH, 3), np.int64), np.zeros(3, np.int64)
    ran = Programs(made.code, made.literals, made.begins, made.engine, of)
    given = Text(text, words(text), starts, ends)
    spans = np.bincount(of[of >= 0], minlength=len(programs)).tolist()
    size = (
        _LEAST
        + 2 * int((ends - starts).sum())
        + sum(many * len(one.literals) for many, one in zip(spans, programs, strict=True))
    )
    out = bytearray(min(size, MOST_BYTES))
    floats = Floats(np.empty(count + 16, np.int64), np.empty(count + 16, np.int64), np.empty(count + 16, np.bool_))
    while write_lines(given, ran, stack, floats, output_of(np.frombuffer(out, np.uint8)), lines, state) < count:
        if state[2] + 16 > len(floats.bits) // 2:
            floats = _with_more(floats)
        if len(out) >= MOST_BYTES:
            raise TooLarge
        more = bytearray(min(2 * len(out), MOST_BYTES))
        more[: state[1]] = memoryview(out)[: state[1]]
        out = more
    many = int(state[2])
    _write_floats(Floats(floats.bits[:many], floats.place[:many], floats.single[:many]), out)
    del out[int(state[1]) :]
    return Written(out, lines.ends.astype(np.int32), lines.fault, lines.at)


def _with_more(floats: Floats) -> Floats:
    size = len(floats.bits)
    return Floats(
        np.resize(floats.bits, 2 * size), np.resize(floats.place, 2 * size), np.resize(floats.single, 2 * size)
    )


def _write_floats(floats: Floats, out: bytearray) -> None:
    """Write numbers with a fraction into their places, as Arrow writes them: as short as they are read back."""
    target = np.frombuffer(out, np.uint8)
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
