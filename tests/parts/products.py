"""Tests that are the same for several databases: which of them a run leaves out that has each test once."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable

_PRODUCT = re.compile(r"\b(postgres|mysql|mariadb)\b", re.IGNORECASE)


def others(ids: Iterable[str], seed: int) -> set[str]:
    """Return the ids of tests that differ in the database alone from one that is kept, which `seed` chooses."""
    alike = defaultdict[str, list[str]](list)
    for one in ids:
        function, _, parameters = one.partition("[")
        alike[f"{function}[{_PRODUCT.sub('*', parameters)}"].append(one)
    left_out = set[str]()
    for name, found in alike.items():
        kept = random.Random(f"{seed} {name}").choice(sorted(found))
        left_out.update(one for one in found if one != kept)
    return left_out
