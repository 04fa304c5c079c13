"""Which of the names that are known somebody may mean."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_CLOSE = 0.75
_PART = 4
"""Letters of a name that is taken for the beginning of another."""
_MOST_LISTED = 40
_BETWEEN = re.compile(r"[\s._-]+")


def plain(name: str) -> str:
    """Return a name without what it is often written otherwise in: capitals, points, hyphens, underscores."""
    return _BETWEEN.sub("", name).lower()


def nearest(name: object, known: Iterable[str]) -> str:
    """Return the known name that `name` is most like, or nothing where it is like none."""
    by_plain = {plain(one): one for one in reversed(list(known))}
    asked = plain(str(name))
    found = [asked] if asked in by_plain else difflib.get_close_matches(asked, by_plain, 1, _CLOSE)
    if not found:
        found = [one for one in by_plain if sorted(one) == sorted(asked)][:1]  # letters in another order
    if not found and len(asked) >= _PART:
        found = [one for one in reversed(by_plain) if one.startswith(asked)]
    return by_plain[found[0]] if found else ""


def meant(name: object, known: Iterable[str], accepted: str = "accepted are") -> str:
    """Return the question whether a known name is meant, or which there are, where `name` is like none."""
    names = list(known)
    found = nearest(name, names)
    return f"do you mean {found}?" if found else listed(names, accepted)


def listed(names: Iterable[str], accepted: str = "accepted are") -> str:
    """Return which names there are, the first of them where there are many."""
    every = list(names)
    if not every:
        return "there is none"
    more = f" and {len(every) - _MOST_LISTED} more" if len(every) > _MOST_LISTED else ""
    return f"{accepted} {', '.join(every[:_MOST_LISTED])}{more}"
