"""The headers of messages: those that all messages of a table have, then those whose values are the row's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.fragments import DEAD, DEAD_HEADERS, REJECTED, REJECTED_HEADERS, WITHOUT_FORM
from integrator.contracts.outgoing import MessageHeaders
from integrator.contracts.table_recipe import TableRecipe
from integrator.engine.arrays import Ints
from integrator.formats.keys import KEYS

Fixed: TypeAlias = "tuple[tuple[str, bytes | None], ...]"
_NAMES = {DEAD: DEAD_HEADERS, REJECTED: REJECTED_HEADERS}


@dataclass(frozen=True)
class KindHeaders:
    """The headers of a kind of rows. fixed: those of every message. names: of those whose values are the row's."""

    fixed: Fixed
    names: tuple[str, ...]

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names of all of them, in the order of a message; the last one only some messages have."""
        return (*(name for name, _ in self.fixed), *self.names, WITHOUT_FORM)


class TableHeaders:
    """The headers of each table's messages."""

    def __init__(self, tables: Mapping[str, TableRecipe], value_tail: bytes) -> None:
        """Take the tables by name; value_tail: what follows the GUID of a value's schema in a header."""
        self._tables = tables
        self._fixed = {name: _of_schemas(table, value_tail) for name, table in tables.items()}
        self._fixed[""] = ()  # rejected lines are of no table

    def fixed(self, table: str) -> Fixed:
        """Return the headers that all messages of a table have."""
        return self._fixed[table]

    def of_kind(self, table: str, shape: str) -> KindHeaders:
        """Return the headers of rows of a table and a shape."""
        names = _NAMES.get(shape)
        if names is None:
            names = tuple(name for name, _ in self._tables[table].headers) if table else ()
        return KindHeaders(() if shape == DEAD else self._fixed[table], tuple(names))


def _of_schemas(table: TableRecipe, value_tail: bytes) -> Fixed:
    """Return the headers that name the schemas, where no prefix does: a 1, the GUID's 16 bytes, a tail.

    https://github.com/confluentinc/schema-registry, HeaderSchemaIdSerializer.java.
    """
    key_format = KEYS[table.message_key.serializer].of_struct
    key_tail = key_format.header_tail if key_format else b""
    parts = (("__key_schema_id", table.key_id, key_tail), ("__value_schema_id", table.value_id, value_tail))
    return tuple(
        (name, b"\x01" + UUID(schema_id.guid).bytes + tail)
        for name, schema_id, tail in parts
        if schema_id and schema_id.guid
    )


def headers_of_rows(values: pa.ListArray, code: Ints, kinds: Sequence[KindHeaders]) -> MessageHeaders | None:
    """Return the headers of a message for each row; None where no message has any.

    values: of each row, those of its own headers; null where it has none. code: of each row its kind.
    """
    counts = _counts(values)
    if not counts.any() and not any(kind.fixed for kind in kinds):
        return None
    own = np.array([len(kind.names) for kind in kinds], np.int64)[code]
    if ((counts > 0) & (counts != own) & (counts != own + 1)).any():
        raise ValueError("a row has other headers than its table")
    names = [name for kind in kinds for name in kind.all_names]
    texts = list(dict.fromkeys(names))
    place = {name: at for at, name in enumerate(texts)}
    first_name = np.cumsum([0, *(len(kind.all_names) for kind in kinds)])[:-1]
    fixed = np.array([len(kind.fixed) for kind in kinds], np.int64)
    first_fixed = np.cumsum(fixed) - fixed
    bounds = np.append(0, np.cumsum(fixed[code] + counts))
    row = np.repeat(np.arange(len(code)), np.diff(bounds))
    at = np.arange(bounds[-1]) - bounds[row]  # the place of a header in its message
    kind = code[row]
    of_row = at - fixed[kind]
    first_own = np.cumsum(counts) - counts + int(fixed.sum())
    taken = np.where(of_row < 0, first_fixed[kind] + at, first_own[row] + of_row)
    every = pa.concat_arrays(
        [pa.array([value for one in kinds for _, value in one.fixed], pa.binary()), pc.list_flatten(values)]
    )
    return MessageHeaders(
        bounds,
        np.array([place[name] for name in names], np.int64)[first_name[kind] + at],
        [name.encode() for name in texts],
        every.take(pa.array(taken)),
    )


def with_columns(values: pa.ListArray, columns: pa.Array) -> pa.ListArray:
    """Return the values of headers with WITHOUT_FORM, of the rows with such columns."""
    counts, has = _counts(values), np.asarray(columns.is_valid())
    at = np.insert(np.arange(counts.sum()), np.cumsum(counts)[has], counts.sum() + np.flatnonzero(has))
    every = pa.concat_arrays([pc.list_flatten(values), columns.cast(pa.binary())]).take(pa.array(at))
    return pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(counts + has)), pa.int32()), every)


def _counts(values: pa.ListArray) -> Ints:
    return np.asarray(pc.fill_null(pc.list_value_length(values), 0), np.int64)
