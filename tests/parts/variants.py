"""Tests that are the same for several variants: which of them a run leaves out that has each test once.

A variant is a database, one of two versions of PostgreSQL's server, a guarantee of delivery, or a format of messages.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable

_DATABASES, _GUARANTEES = "postgres|mysql|mariadb|of this machine|of PyPI", "at_least_once|exactly_once"
_FORMATS = "connect-json|json[-_]?schema|json|avro|protobuf"
_VARIANT = re.compile(rf"\b({_DATABASES}|{_GUARANTEES}|{_FORMATS})\b", re.IGNORECASE)


def others(ids: Iterable[str], seed: int) -> set[str]:
    """Return the ids of tests that differ in their variant alone from one that is kept, which `seed` chooses."""
    alike = defaultdict[str, list[str]](list)
    for one in ids:
        function, _, parameters = one.partition("[")
        alike[f"{function}[{_VARIANT.sub('*', parameters)}"].append(one)
    left_out = set[str]()
    for name, found in alike.items():
        kept = random.Random(f"{seed} {name}").choice(sorted(found))
        left_out.update(one for one in found if one != kept)
    return left_out
