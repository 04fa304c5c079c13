"""What records say that they are -> what they do to a row, or as what they are counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from integrator.decode.json.lines import Lines
from integrator.errors import DataError

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Kinds:
    """The words of a dialect: which are I U D T, and as what others are counted."""

    actions: dict[str, str]
    ignored: dict[str, str] = field(default_factory=dict)

    def sort(self, words: pa.Array, lines: Lines, name: str) -> tuple[npt.NDArray[np.str_], Ints, dict[str, int]]:
        """Return what each record that changes a row does, the places of these, and the count of the others.

        Raises DataError for the first word that is none of these; `name` is what it stands under.
        """
        encoded = words.dictionary_encode()
        codes = np.where(
            np.asarray(encoded.is_valid()), encoded.indices.fill_null(0).to_numpy(zero_copy_only=False), -1
        )
        known = [str(word) for word in encoded.dictionary.to_pylist()]
        actions = np.array([*(self.actions.get(word, "") for word in known), ""], "U1")
        wrong = [at for at, word in enumerate(known) if word not in self.actions and word not in self.ignored]
        lost = np.flatnonzero(np.isin(codes, [*wrong, -1]))
        if len(lost):
            said = repr(words[int(lost[0])].as_py()) if codes[lost[0]] >= 0 else "not there"
            accepted = ", ".join([*self.actions, *self.ignored])
            raise DataError(f"{lines.file}:{lines.numbers[lost[0]]}: {name} is {said}; it is one of {accepted}")
        ignored: Counter[str] = Counter()
        for at, count in enumerate(np.bincount(codes, minlength=len(known))):
            if known[at] in self.ignored:
                ignored[self.ignored[known[at]]] += int(count)
        action = actions[codes]
        rows = np.flatnonzero(action != "")
        return action[rows], rows, dict(ignored)
