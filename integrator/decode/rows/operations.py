"""The words by which records say what they are -> what they do to a row, or as what they are counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from integrator.decode.fields import Where
from integrator.decode.json.slices import DictionaryTexts
from integrator.engine.arrays import Ints


@dataclass(frozen=True)
class Operations:
    """The words of a dialect: which are I U D T, and as what others are counted."""

    actions: dict[str, str]
    ignored: dict[str, str] = field(default_factory=dict)

    def classify(
        self, words: DictionaryTexts, where: Where, name: str
    ) -> tuple[npt.NDArray[np.str_], Ints, dict[str, int]]:
        """Return what each record that changes a row does, the places of these, and the count of the others.

        Raises DataError for the first word that is none of these; `name` is what it stands under.
        """
        known, codes = words.texts, words.codes
        actions = np.array([*(self.actions.get(word, "") for word in known), ""], "U1")
        wrong = [at for at, word in enumerate(known) if word not in self.actions and word not in self.ignored]
        accepted = ", ".join([*self.actions, *self.ignored])

        def text(at: int) -> str:
            return f"{name} is {repr(known[codes[at]]) if codes[at] >= 0 else 'not there'}; it is one of {accepted}"

        where.refuse(np.isin(codes, [*wrong, -1]), text, collected=True)
        ignored: Counter[str] = Counter()
        for at, count in enumerate(np.bincount(codes, minlength=len(known))):
            if known[at] in self.ignored:
                ignored[self.ignored[known[at]]] += int(count)
        action = actions[codes]
        if not ignored and (action != "").all():
            return action, np.arange(len(action)), {}
        rows = np.flatnonzero(action != "")
        return action[rows], rows, dict(ignored)
