"""OpenCDC records as JSON lines, as Conduit writes them (https://conduit.io/docs/using/opencdc-record).

Operations: create and snapshot insert, update, delete. A delete without an old image deletes by its key. Raw images and
keys (base64) are taken where they hold a JSON object.

Positions: the order of files and lines, for what a record's position means is its source's own business; there are no
transactions.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import first, mask
from integrator.decode.contract import File, Reading
from integrator.decode.dialect import Decoded
from integrator.decode.fields import Where, instants
from integrator.decode.images import JsonValues, json_typed, zoned
from integrator.decode.json.canonical import checked
from integrator.decode.json.lines import Lines
from integrator.decode.json.objects import Objects, as_lines, lines_text, unquoted
from integrator.decode.kinds import Kinds
from integrator.decode.positions import NO_TRANSACTION, Positions, by_line
from integrator.decode.records import Ints, Records
from integrator.decode.text.binary import from_base64
from integrator.decode.text.refused import ValueRefused, guarded
from integrator.errors import DataError
from integrator.schema import Column, describe

EXPECTED = "an OpenCDC record"
KINDS = Kinds({"create": "I", "snapshot": "I", "update": "U", "delete": "D"})


def decode(lines: Lines, file: File, reading: Reading) -> Decoded:
    """Return the changes in `lines`. Raises DataError."""
    objects = Objects(lines, EXPECTED)
    action, at, ignored = KINDS.sort(objects.text("operation"), objects.lines, "operation")
    keep, line = pa.array(at), objects.lines.numbers[at]
    payload, metadata = objects.inner("payload", EXPECTED), objects.inner("metadata", EXPECTED)
    new = _objects(payload.raw("after").take(keep), objects.lines, line, "payload.after")
    old = _objects(payload.raw("before").take(keep), objects.lines, line, "payload.before")
    key = _objects(objects.raw("key").take(keep), objects.lines, line, "key")
    old = pc.if_else(pa.array(action == "D"), pc.coalesce(old, key), old)
    name = metadata.text("opencdc.collection").take(keep)
    nanos = pc.coalesce(metadata.text("opencdc.createdAt"), metadata.text("opencdc.readAt")).take(keep)
    found = Records(
        lines=objects.lines,
        action=action,
        schema=pc.struct_field(pc.extract_regex(name, r"(?P<schema>[^.]+)\.[^.]+$"), "schema"),
        table=pc.coalesce(
            pc.replace_substring_regex(name, r"^.*\.", ""), pa.scalar(reading.default_table, pa.string())
        ),
        values=JsonValues(objects.lines, line, new, old, convert=_typed),
        old=mask(pc.is_valid(old)) & (action == "U"),
        line=line,
        cap_tstamp=instants(nanos, Where(file.path, line), "opencdc.createdAt or opencdc.readAt", "ns"),
        ignored=ignored,
    )
    alone = pa.nulls(len(at), pa.string())
    place = by_line(file.number, line)
    return found, Positions(alone, place, pa.repeat(NO_TRANSACTION, len(at)), found.row_counts)


def _objects(texts: pa.Array, lines: Lines, line: Ints, name: str) -> pa.Array:
    """Return images that are objects as they are, and raw ones decoded. Raises DataError for what is no object."""
    raw = mask(pc.starts_with(texts, '"'))
    if raw.any():
        try:
            decoded = guarded(unquoted(pc.if_else(pa.array(raw), texts, None)), _decoded, "base64 of a JSON object")
        except ValueRefused as error:
            raise DataError(f"{lines.file}:{line[error.index]}: {name} is raw: {error}") from None
        at = np.flatnonzero(raw & mask(pc.is_valid(texts)))
        inside = as_lines(decoded.take(pa.array(at)), Lines(lines.file, b"", line, lines.offsets), at)
        own = lines_text(checked(inside, f"{name} as a JSON object"))
        texts = pc.replace_with_mask(texts, pa.array(raw), own)
    odd = first(np.asarray(~mask(pc.starts_with(pc.utf8_trim_whitespace(pc.fill_null(texts, "{")), "{"))))
    if odd is not None:
        raise DataError(f"{lines.file}:{line[odd]}: {name} is no object, but {texts[odd].as_py()[:100]}")
    return texts


def _decoded(values: pa.Array) -> pa.Array:
    text = from_base64(values).cast(pa.string())
    if not pc.all(
        pc.fill_null(pc.match_substring_regex(text, r"(?s)^\s*\{.*\}\s*$", ignore_case=False), fill_value=True)
    ).as_py():
        raise ValueError("its bytes are no JSON object")
    return pc.replace_substring_regex(text, r"[\r\n]", " ")


def _typed(column: Column, values: pa.Array) -> pa.Array:
    match column.type:
        case schema.Bytes():
            return guarded(values, from_base64, describe(column.type))
        case schema.Timestamp():  # Go's own text, of older versions
            go = pc.replace_substring_regex(values, r" \+0000 UTC$", "Z")
            return zoned(column, go, "UTC") if column.type.zoned else json_typed(column, go)
        case schema.Date():
            return json_typed(column, pc.replace_substring_regex(values, r"[T ]00:00:00(Z| \+0000 UTC)$", ""))
        case schema.Decimal() | schema.Integer():  # Go's big.Rat
            return json_typed(column, pc.replace_substring_regex(values, r"/1$", ""))
        case _:
            return json_typed(column, values)
