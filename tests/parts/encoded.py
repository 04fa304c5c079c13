"""Encoded records as a topic has them -> what stands in the lines that are made of them."""

from __future__ import annotations

import itertools
import json
import math
import random
import struct

import numpy as np

from integrator.decode.encodings.encoded import Encoding, Records, Shape, lines_of

SHAPE = Shape("schema", "payload")
AROUND = b"\xff\x80\x01\x00\x7f"
"""Between records stands what belongs to none: numbers that continue, an end, lengths."""


def frame(schema: int, body: bytes) -> bytes:
    """A record as Confluent's serializers write it."""
    return b"\0" + schema.to_bytes(4, "big") + body


def read(schemas, records, unframed="json", shape=SHAPE):
    """Payloads of records, and of each its schema as Kafka Connect has it; why a record has none, as text after `!`."""
    starts, ends, text = [], [], bytearray(AROUND)
    for one in records:
        starts.append(len(text))
        text += one or b""
        ends.append(len(text))
        text += AROUND
    null = np.array([one is None for one in records])
    given = Records(np.frombuffer(bytes(text), np.uint8), np.array(starts, np.int64), np.array(ends, np.int64), null)
    encoding = Encoding(schemas, framed=unframed == "json", unframed=unframed)
    found = lines_of(given, encoding, shape, encoding.ids_of(given))
    bounds = found.ends.tolist()
    data = bytes(found.data)
    lines = [data[begin:end] for begin, end in itertools.pairwise(bounds)]
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines if line)
    payloads = [
        f"!{found.wrong[row]}" if row in found.wrong else _payload(line, shape) for row, line in enumerate(lines)
    ]
    left = found.left_out
    seen = [json.loads(left.values[code]) if code >= 0 else None for code in left.codes.tolist()] if left else []
    return payloads, seen


def _payload(line, shape):
    found = json.loads(line.decode(errors="replace"))
    return found[shape.member] if shape.schema and found is not None else found


def number(value: float, *, single: bool = False) -> object:
    """A number with a fraction as JSON has it: as short as it is read back."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float(str(np.float32(value))) if single else value


def single(value: float) -> float:
    """The nearest number of 32 bits."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def damaged(rng: random.Random, body: bytes) -> list[bytes]:
    """Return a record cut off at each byte, and with up to three bytes changed, many times."""
    found = [body[:cut] for cut in range(len(body))]
    for _ in range(200):
        changed = bytearray(body or b"\0")
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(changed))] = rng.choice([0, 255, 128, rng.randrange(256)])
        found.append(bytes(changed))
    return found
