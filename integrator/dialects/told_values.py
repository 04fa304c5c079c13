"""Values whose meaning each record tells beside them: a schema (Debezium), or the source's types (Canal)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.schema import Column

Ints = npt.NDArray[np.int64]
Told = TypeVar("Told")


class ToldValues(Generic[Told]):
    """What records tell of their columns; records of one batch may tell several things."""

    def __init__(self, texts: pa.Array, read: Callable[[Any], dict[str, Told]]) -> None:
        """Take what each record tells as JSON, or null; `read` says what it says of each column."""
        encoded = texts.dictionary_encode()
        self._of = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
        self._told = [_read(read, text) for text in encoded.dictionary.to_pylist()]

    def typed(
        self, column: Column, values: pa.Array, record: Ints, convert: Callable[[pa.Array, Told | None], pa.Array]
    ) -> pa.Array:
        """Return what `convert` makes of values, given what the record of each tells of the column."""
        of = self._of[record]
        kinds = np.unique(of)
        told = {at: self._told[at].get(column.name) if at >= 0 else None for at in kinds.tolist()}
        if len(set(told.values())) <= 1:
            return convert(values, next(iter(told.values()), None))
        parts, places = [], []
        for at, one in told.items():
            chosen = np.flatnonzero(of == at)
            parts.append(convert(values.take(pa.array(chosen)), one))
            places.append(chosen)
        return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places))))


def _read(read: Callable[[Any], dict[str, Told]], text: str) -> dict[str, Told]:
    try:
        return read(json.loads(text))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"what it says of its columns cannot be read ({error!r}): {text[:200]}") from None
