"""The headers of messages: those that all messages of a table have, then those whose values are the row's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.outgoing import MessageHeaders

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class KindHeaders:
    """The headers of a kind of rows. fixed: those of every message. names: of those whose values are the row's."""

    fixed: tuple[tuple[str, bytes | None], ...]
    names: tuple[str, ...]

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names of all of them, in the order of a message."""
        return (*(name for name, _ in self.fixed), *self.names)


def headers_of_rows(values: pa.ListArray, code: Ints, kinds: Sequence[KindHeaders]) -> MessageHeaders | None:
    """Return the headers of a message for each row; None where no message has any.

    values: of each row, those of its own headers; null where it has none. code: of each row its kind.
    """
    counts = np.asarray(pc.fill_null(pc.list_value_length(values), 0), np.int64)
    if not counts.any() and not any(kind.fixed for kind in kinds):
        return None
    own = np.array([len(kind.names) for kind in kinds], np.int64)[code]
    if ((counts > 0) & (counts != own)).any():
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
