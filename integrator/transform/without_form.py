"""The columns of rows that are null because their types lack the database's value, by other names, and put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.change_batch import BETWEEN_NAMES, ChangeBatch
from integrator.contracts.table_recipe import TableRecipe


def renamed(columns: pa.Array, names: Callable[[str], str | None]) -> pa.Array:
    """Return the columns of rows by other names; those that have none are left out."""
    if columns.null_count == len(columns):
        return columns
    coded = columns.dictionary_encode()
    found = [[names(name) for name in text.split(BETWEEN_NAMES)] for text in coded.dictionary.to_pylist()]
    texts = [BETWEEN_NAMES.join(filter(None, one)) or None for one in found]
    return pa.array(texts, pa.string()).take(coded.indices)


def together(first: pa.Array, second: pa.Array) -> pa.Array:
    """Return the columns that either of two rows has."""
    both = pc.binary_join_element_wise(pc.fill_null(first, ""), pc.fill_null(second, ""), BETWEEN_NAMES)
    coded = both.dictionary_encode()
    found = [dict.fromkeys(filter(None, text.split(BETWEEN_NAMES))) for text in coded.dictionary.to_pylist()]
    return pa.array([BETWEEN_NAMES.join(names) or None for names in found], pa.string()).take(coded.indices)


def having(columns: pa.Array, name: str) -> pa.Array:
    """Return this column alone, of the rows that have it."""
    around = pc.binary_join_element_wise("", columns, "", BETWEEN_NAMES)
    has = pc.match_substring(around, BETWEEN_NAMES + name + BETWEEN_NAMES)
    return pc.if_else(pc.fill_null(has, fill_value=False), name, None)


def in_messages(changes: ChangeBatch, tables: Mapping[str, TableRecipe]) -> pa.Array:
    """Return the columns of change rows by their names in the messages of their tables."""
    columns, start, found = changes.without_form, 0, []
    if columns.null_count == len(columns):
        return columns
    for table, size in zip(changes.tables, changes.sizes, strict=True):
        fields = tables[table].fields
        names = {field.source: field.name for field in fields if field.source and not field.expression}.get
        found.append(renamed(columns.slice(start, size), names))
        start += size
    return pa.concat_arrays(found)
