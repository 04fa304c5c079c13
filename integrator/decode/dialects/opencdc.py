"""OpenCDC records as JSON lines, as Conduit writes them (https://conduit.io/docs/using/opencdc-record).

Operations: create and snapshot insert, update, delete. A delete without a before image deletes by its key. Raw images
and keys (base64) are taken where they hold a JSON object, or nothing; a raw key that holds anything else is passed over
where the images are objects, and it is not needed.

Positions: the order of files and lines, for what a record's position means is its source's own business; there are no
transactions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import first, mask
from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords, mark, of_lines
from integrator.decode.dialects.fields import qualified, with_headers
from integrator.decode.dialects.texts import TextCoding, from_base64, json_typed
from integrator.decode.fields import Where, instants, named
from integrator.decode.json.document import Document
from integrator.decode.json.objects import Objects
from integrator.decode.order.positions import Positions
from integrator.decode.rows.coding import zoned
from integrator.decode.rows.images import JsonImages
from integrator.decode.rows.operations import Operations
from integrator.decode.rows.records import Records
from integrator.decode.text.refused import ValueRefused, guarded
from integrator.engine.arrays import Mask
from integrator.errors import DataError, Fault
from integrator.schema import Type, describe

EXPECTED = "an OpenCDC record"
_EMPTY = '""'
OPERATIONS = Operations({"create": "I", "snapshot": "I", "update": "U", "delete": "D"})


def decode(document: Document, reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    objects = Objects.of_lines(document).required(EXPECTED).find("operation", "metadata", "key", "payload")
    action, at, ignored = OPERATIONS.classify(objects.labels("operation"), Where.of(objects), "operation")
    objects = objects.take(at)
    where = Where.of(objects)
    payload, metadata = objects.inner("payload", EXPECTED), objects.inner("metadata", EXPECTED)
    members = [(payload, "after", "payload.after"), (payload, "before", "payload.before"), (objects, "key", "key")]
    after, before, key = _images(members, _needs_key(payload, action))
    before = before.either(before.filled | (action != "D"), key)
    names = qualified(metadata.text("opencdc.collection"), where, "opencdc.collection")
    names = named(names, objects, reading.default_table)
    nanos = metadata.first_text(["opencdc.createdAt", "opencdc.readAt"])
    if reading.records:
        where = with_headers(where, metadata)
    found = Records(
        where=where,
        action=action,
        database=names.database,
        schema=names.schema,
        table=names.table,
        values=JsonImages(after, before, CODING),
        old=before.filled & (action == "U"),
        cap_tstamp=instants(nanos, where, "opencdc.createdAt or opencdc.readAt", "ns"),
        ignored=ignored,
    )
    return found, Positions.none(found.row_counts)


def _needs_key(payload: Objects, action: npt.NDArray[np.str_]) -> Mask:
    """Return of which records the key is read: deletes without a before image, and those whose images are raw."""
    text = payload.document.text
    before, after = (payload.slices(name) for name in ("before", "after"))
    there = payload.inner("before", "an object or raw", ~before.are_texts(text)).filled
    raw = [at.are_texts(text) & (at.end - at.start > len(_EMPTY)) for at in (before, after)]
    return np.asarray((action == "D") & ~there | raw[0] | raw[1], np.bool_)


def _images(members: Sequence[tuple[Objects, str, str]], needs_key: Mask) -> list[Objects]:
    """Return images that are objects as they are; where one is raw, all as objects of a document of their own."""
    if not any(one.slices(name).are_texts(one.document.text).any() for one, name, _ in members):
        return [one.inner(name, f"an object as {shown}") for one, name, shown in members]
    every, sizes = np.ones(len(needs_key), np.bool_), len(members[0][0])
    used = (every, every, needs_key)
    texts = [_objects(one, name, shown, which) for (one, name, shown), which in zip(members, used, strict=True)]
    lines = np.tile(members[0][0].line, len(members))
    found = Objects.of_texts(pa.concat_arrays(texts), members[0][0].lines, lines, "an object")
    return [found.take(np.arange(sizes) + place * sizes) for place in range(len(members))]


def _objects(objects: Objects, name: str, shown: str, which: Mask) -> pa.Array:
    """Return images that are objects as they are, and raw ones decoded, of the records of `which`; others are null.

    Raises DataError for what is no object.
    """
    texts, raw = objects.raw(name), objects.slices(name).are_texts(objects.document.text)
    try:
        encoded = pc.if_else(pa.array(raw & which), objects.text(name), None)
        encoded = pc.if_else(pc.equal(encoded, ""), None, encoded)
        decoded = guarded(encoded, _decoded, "base64 of a JSON object")
    except ValueRefused as error:
        raise DataError(Fault(Where.of(objects).place(error.index), f"{shown} is raw: {error}")) from None
    texts = pc.if_else(pa.array(raw), decoded, texts)
    odd = first(np.asarray(~mask(pc.starts_with(pc.utf8_trim_whitespace(pc.fill_null(texts, "{")), "{"))))
    if odd is not None:
        where = Where.of(objects).place(odd)
        raise DataError(Fault(where, f"{shown} is no object, but {texts[odd].as_py()[:100]}"))
    return texts


def _decoded(values: pa.Array) -> pa.Array:
    text = from_base64(values).cast(pa.string())
    if not pc.all(
        pc.fill_null(pc.match_substring_regex(text, r"(?s)^\s*\{.*\}\s*$", ignore_case=False), fill_value=True)
    ).as_py():
        raise ValueError("its bytes are no JSON object")
    return text


def _typed(kind: Type, values: pa.Array) -> pa.Array:
    match kind:
        case schema.Bytes():
            return guarded(values, from_base64, describe(kind))
        case schema.Timestamp():  # Go's own text, of older versions
            go = pc.replace_substring_regex(values, r" \+0000 UTC$", "Z")
            return zoned(kind, go, "UTC") if kind.zoned else json_typed(kind, go)
        case schema.Date():
            return json_typed(kind, pc.replace_substring_regex(values, r"[T ]00:00:00(Z| \+0000 UTC)$", ""))
        case schema.Decimal() | schema.Integer():  # Go's big.Rat
            return json_typed(kind, pc.replace_substring_regex(values, r"/1$", ""))
        case _:
            return json_typed(kind, values)


CODING = TextCoding("opencdc", _typed, zoned="utc")


DIALECT = replace(of_lines(JsonRecords(decode, EXPECTED), (mark("operation", "payload"),)), has_metadata=True)
