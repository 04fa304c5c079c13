"""When a stream ends for its journal to be renewed: when enough entries could be compacted, and not again and again."""

from types import SimpleNamespace

import pytest

from integrator.run.state import compaction
from integrator.run.state.compaction import MOST_ENTRIES, JournalCompaction
from integrator.sources.journal.journal import least_compacted

CASES = [
    # compacted before, and how many entries no kept cycle needs
    (0, MOST_ENTRIES, False),
    (0, MOST_ENTRIES + 1, True),
    (5_000_000, 5_000_000 + MOST_ENTRIES + 1, True),
    (100_000_000, 100_000_000 + MOST_ENTRIES + 1, False),  # a year of a socket: fewer than are compacted
    (100_000_000, 101_000_001, True),
]


@pytest.mark.parametrize(("compacted", "compactable", "due"), CASES)
def test_when_it_is_due(compacted, compactable, due, monkeypatch):
    monkeypatch.setattr(compaction, "_INSPECT_S", 0.0)
    made = JournalCompaction(SimpleNamespace(compactable=lambda: compactable), None, "shop")
    made._compacted = compacted
    assert made.is_due() is due
    assert not due or compactable - compacted > least_compacted(compacted)  # so that it is compacted then


def test_it_is_looked_at_once_a_minute():
    made = JournalCompaction(SimpleNamespace(compactable=lambda: MOST_ENTRIES + 1), None, "shop")
    assert [made.is_due(), made.is_due()] == [True, False]
