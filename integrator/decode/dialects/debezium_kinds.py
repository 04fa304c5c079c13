"""Which of Debezium's records change a row, in an envelope or flattened, and how; and what the others are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.decode.fields import Where
from integrator.decode.json.objects import Objects
from integrator.decode.json.slices import DictionaryTexts
from integrator.decode.refusal import refuse
from integrator.engine.arrays import Mask
from integrator.engine.grammar import OPEN
from integrator.errors import shown

EXPECTED = "a change event of Debezium"
ENVELOPES, MARKS = "envelopes", "transaction marks"
MEMBERS = (
    *("before", "after", "source", "op", "ts_ms", "message", "ddl"),
    *("status", "id", "event_count", "data_collections", "__deleted", "__op"),
)
ACTIONS = {"c": "I", "r": "I", "u": "U", "d": "D", "t": "T"}


def kinds_of(objects: Objects, *, has_time: bool) -> dict[str, Mask]:
    """Return which records are events in an envelope, and which are none of a row; all others are flattened events.

    The columns of a flattened event may have any names: so each kind is known by several of its own. has_time: whether
    the table of records that name none has a column `ts_ms`, which is all that a heartbeat has.
    """
    objects.find(*MEMBERS)

    def have(*names: str) -> Mask:
        return np.asarray(np.logical_and.reduce([objects.has(name) for name in names]), np.bool_)

    def is_object(name: str) -> Mask:
        return np.asarray(have(name) & (objects.slices(name).first_bytes(text) == OPEN), np.bool_)

    def is_image(name: str) -> Mask:
        """Return which records have an object or null as a member, or do not have it."""
        return np.asarray(~have(name) | is_object(name) | objects.slices(name).nulls(text), np.bool_)

    text = objects.document.text
    images = (have("before") | have("after")) & is_image("before") & is_image("after")
    framed = is_object("source") | is_object("message") | images
    marks = have("status", "id", "event_count", "data_collections")
    if marks.any():
        marks &= objects.labels("status").are("BEGIN", "END")
    flattened = have("__deleted") | have("__op")
    alone = have("ts_ms")
    if alone.any() and not have("op").all():
        alone &= (objects.counts() == 1) & (not has_time)
    else:
        alone &= False
    kinds = {
        ENVELOPES: have("op") & framed,
        MARKS: marks,
        "schema changes": have("ddl") & is_object("source") & ~have("op"),
        "heartbeats": alone,
    }
    return {name: which & ~flattened for name, which in kinds.items()}


def actions_of(words: DictionaryTexts) -> npt.NDArray[np.str_]:
    """Return what each event does: I U D T, m for a message, or ? for another word."""
    meant = [ACTIONS.get(word, "m" if word == "m" else "?") for word in words.texts]
    return np.array([*meant, "?"], "U1")[words.codes]


def words_of(objects: Objects, flat: Mask) -> DictionaryTexts:
    """Return the op of each event; of flattened ones by `__deleted` and `__op`. Raises DataError."""
    if not flat.any():
        return objects.labels("op")
    deleted, own = objects.text("__deleted"), objects.text("__op")
    where = Where.of(objects)
    where.check(deleted, ~mask(pc.is_in(deleted, pa.array(["true", "false"]))) & flat, "__deleted", "true or false")
    is_deleted = pc.fill_null(pc.equal(deleted, "true"), fill_value=False)
    where.check(own, mask(pc.not_equal(own, "d")) & mask(is_deleted) & flat, "__op", "d, for __deleted is true")
    of_flat = pc.if_else(is_deleted, "d", own)
    return DictionaryTexts.of(pc.if_else(pa.array(flat), pc.fill_null(of_flat, "c"), objects.text("op")))


def rows_of(
    objects: Objects,
    words: DictionaryTexts,
    action: npt.NDArray[np.str_],
    kinds: dict[str, Mask],
    ignored: Counter[str],
    flat: Mask,
) -> Mask:
    """Return which events change a row; count the others by what they are. Raises DataError for what is none."""
    events = kinds[ENVELOPES] | flat
    rows = np.asarray(np.isin(action, ["I", "U", "D", "T"]) & events, np.bool_)
    if rows.all():
        return rows
    known = rows.copy()
    for reason, which in ({"logical messages": (action == "m") & events} | kinds).items():
        count = int((which & ~known).sum()) if reason != ENVELOPES else 0
        if count:
            ignored[reason] += count
            known |= which

    def text(at: int) -> str:
        word = shown(words.texts[words.codes[at]] if words.codes[at] >= 0 else None)
        return f"the op {word} is none of c u d r t m"

    refuse(objects.lines.file, objects.numbers, ~known, text)
    return rows
