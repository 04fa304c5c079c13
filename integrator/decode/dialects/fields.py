"""Fields of envelopes that several dialects have: names of tables in one text, headers, and times of writing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.contracts.change_batch import RECORD
from integrator.decode.fields import INSTANT, Qualified, Where
from integrator.decode.json.objects import Objects, names_of
from integrator.decode.json.slices import texts_of
from integrator.decode.lines.lines import NO_TIME
from integrator.engine.values import Slices


def with_headers(where: Where, metadata: Objects) -> Where:
    """Return where records stand, the members of their metadata among the headers of their topic's records.

    These come last, so that a header counts before a member of its name.
    """
    document, (node, of) = metadata.document, metadata.members()
    names, values = names_of(document, node).encoded(), texts_of(document.text, Slices.of_nodes(document.nodes, node))
    fields = {field.name: pa.nulls(len(metadata), field.type) for field in RECORD}
    if where.record is not None:
        fields = {name: pc.struct_field(where.record, name) for name in fields}
        own = fields["headers"]
        of = np.concatenate([of, np.repeat(np.arange(len(own)), np.diff(own.offsets))])
        order = pa.array(np.argsort(of, kind="stable"))
        names = pa.concat_arrays([names.cast(pa.string()), own.keys]).take(order)
        values = pa.concat_arrays([values, own.items]).take(order)
    bounds = np.append(0, np.cumsum(np.bincount(of, minlength=len(metadata))))
    fields["headers"] = pa.MapArray.from_arrays(pa.array(bounds, pa.int32()), names.cast(pa.string()), values)
    return replace(where, record=pa.StructArray.from_arrays(list(fields.values()), fields=list(RECORD)))


def qualified(names: pa.Array, where: Where, name: str) -> Qualified:
    """Return the parts of names such as `shop`, `sales.shop` and `east.sales.shop`; `name` is the field's.

    Raises DataError for a name with an empty part, or with more parts: it is not known of which table it is.
    """
    expected = "table, schema.table or database.schema.table, no part empty"
    where.check(names, ~mask(pc.match_substring_regex(names, r"^[^.]+(\.[^.]+){0,2}$")), name, expected)
    before = pc.extract_regex(names, r"^(?:(?P<database>[^.]+)\.)?(?P<schema>[^.]+)\.[^.]+$")
    database = pc.struct_field(before, "database")
    database = pc.if_else(pc.equal(database, ""), None, database)  # the group is empty where it is not there
    return Qualified(database, pc.struct_field(before, "schema"), pc.replace_substring_regex(names, r"^.*\.", ""))


def written_at(objects: Objects) -> pa.Array:
    """Return when the source has it that records were written; null where it has no time of them."""
    origin = objects.lines.origin
    if origin is None:
        return pa.nulls(len(objects), INSTANT)
    times = origin.times[objects.line]
    return pa.array(times, pa.timestamp("ms", "UTC"), mask=times == NO_TIME).cast(INSTANT)
