"""Values whose meaning each record tells beside them: a schema (Debezium), or the source's types (Canal)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import Mask
from integrator.decode.json.lines import cut
from integrator.decode.records import Cells
from integrator.decode.text.refused import by_group
from integrator.errors import DataError
from integrator.schema import Column

Ints = npt.NDArray[np.int64]
Told = TypeVar("Told")


class ToldValues(Generic[Told]):
    """What records tell of their columns; records of one batch may tell several things."""

    def __init__(self, texts: pa.Array, read: Callable[[Any], dict[str, Told]], file: str, line: Ints) -> None:
        """Take what each record tells as JSON, or null; `read` says what it says of each column. Raises DataError."""
        encoded = texts.dictionary_encode()
        self._of = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
        self._told: list[dict[str, Told]] = []
        for code, text in enumerate(encoded.dictionary.to_pylist()):
            try:
                self._told.append(read(json.loads(text)))
            except (ValueError, LookupError, TypeError, AttributeError) as error:  # whatever a schema is not
                where = f"{file}:{line[np.flatnonzero(self._of == code)[0]]}"
                why = f"what the record says of its columns cannot be read ({error!r})"
                raise DataError(f"{where}: {why}: {cut(text)}") from None

    def typed(
        self,
        column: Column,
        cells: Cells,
        record: Ints,
        convert: Callable[[pa.Array, Mask | None, Told | None], pa.Array],
    ) -> pa.Array:
        """Return what `convert` makes of values, given which are strings, and what each one's record tells of it."""
        codes: dict[Told | None, int] = {}
        told = [one.get(column.name) for one in self._told]
        kind = np.array([codes.setdefault(one, len(codes)) for one in [*told, None]])[self._of[record]]

        def of(one: Told | None, code: int) -> Callable[[pa.Array], pa.Array]:
            return lambda part: convert(part, None if cells.quoted is None else cells.quoted[kind == code], one)

        used = np.unique(kind).tolist()
        if not used:
            return convert(cells.values, cells.quoted, None)
        return by_group(cells.values, kind, {code: of(one, code) for one, code in codes.items() if code in used})
