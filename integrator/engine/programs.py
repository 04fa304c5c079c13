"""Programs that schemas are compiled to, by which encoded records are written as JSON; and why one is not accepted."""

from __future__ import annotations

from typing import NamedTuple

from integrator.engine.arrays import Ints, Octets, Places, Words

WIDTH = 6
"""Numbers of an instruction: what it does; the place and size of the literal that is written first; three more."""
MAX_DEPTH = 64
"""Arrays, maps and records that may be inside each other."""
FULL = -1
"""There is no room for what is written: the record is to be written again, with more."""
(
    OK,
    CUT,
    LONG_VARINT,
    NO_INT,
    NO_BRANCH,
    NO_BOOLEAN,
    NO_SYMBOL,
    NEGATIVE,
    NO_BLOCK,
    TOO_MANY,
    TOO_DEEP,
    TRAILING,
    NO_FRAME,
    NO_FIELD,
    NO_WIRE_TYPE,
    NO_GROUP,
    IN_PIECES,
    MISSING,
    NO_DATE,
    NO_TIME,
    OUT_OF_RANGE,
    OTHER_SCALE,
) = range(22)


class Stacks(NamedTuple):
    """Room for what is open: arrays, maps, records and messages, and the fields of messages, as each loop has them."""

    frames: Ints
    fields: Ints


class Text(NamedTuple):
    """Bytes of records, and the same as words; where each record begins and ends."""

    octets: Octets
    words: Words
    starts: Ints
    ends: Ints


class Programs(NamedTuple):
    """Programs one after another. code: instructions. literals: what they write, as words.

    begins, engine: of each program its first instruction, and what runs it. of: of each record its program; -1: it is
    not written.
    """

    code: Places
    literals: Words
    begins: Ints
    engine: Octets
    of: Places


class Lines(NamedTuple):
    """What was written of records. ends: where each line ends. fault, at: why it is not accepted, and at which byte."""

    ends: Ints
    fault: Octets
    at: Ints
