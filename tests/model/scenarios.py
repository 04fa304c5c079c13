"""The kinds of schedules, by name: which faults each may draw."""

from __future__ import annotations

from tests.model import binlog, postgres
from tests.model.capture_schedule import CaptureScenario
from tests.model.delivery_schedule import Scenario

SCENARIOS: dict[str, Scenario | CaptureScenario] = {
    "kills and cores": Scenario(),
    "copies": Scenario(copies=2),
    "gone back": Scenario(copies=2, backs=2, kills=1),
    "imports": Scenario(copies=1, backs=1, imports=2, kills=1),
    "definitions": Scenario(copies=1, definitions=2),
    "late requests": Scenario(kills=0, starts=0, lost=0, late=2),
    "late requests and kills": Scenario(kills=1, starts=1, late=2, unanswered=2),
    "unanswered": Scenario(unanswered=3, copies=1),
    "transactions": Scenario(counts=True, copies=1, unanswered=1),
    "everything": Scenario(copies=2, backs=1, imports=1, definitions=2, late=1, unanswered=1, counts=True),
    "topics": Scenario(partitions=2, copies=1, backs=1),
    "sub-cycles": Scenario(locked=True, copies=2, lost=0, unanswered=1, starts=3, definitions=2),
    "sub-cycles and all else": Scenario(
        locked=True, copies=2, backs=1, imports=1, lost=0, late=1, unanswered=1, starts=3, counts=True
    ),
    "refresh": Scenario(locked=True, lost=0, refreshes=2, starts=3),
    "refresh at least once": Scenario(exactly_once=False, locked=True, lost=0, refreshes=2, starts=3),
    "resolved": Scenario(resolves=True, copies=2, unanswered=1, starts=3, definitions=2),
    "resolved, and gone back": Scenario(resolves=True, copies=1, backs=2, imports=1, kills=3, late=1),
    "resolved in sub-cycles": Scenario(
        resolves=True, locked=True, copies=1, backs=1, imports=1, lost=0, unanswered=1, starts=3, counts=True
    ),
    "resolved at least once": Scenario(
        resolves=True, exactly_once=False, locked=True, lost=0, unanswered=1, starts=3, kills=3
    ),
    "resolved at least once on a cluster": Scenario(resolves=True, exactly_once=False, unanswered=1, lost=300),
    "at least once": Scenario(exactly_once=False, locked=True, lost=0, unanswered=1, starts=3),
    "at least once on a cluster": Scenario(exactly_once=False, unanswered=1, lost=300),
    "full disks": Scenario(disks=3, copies=1, backs=1, imports=1, counts=True),
    "full disks at least once": Scenario(exactly_once=False, locked=True, lost=0, disks=3, starts=3),
    "capture": CaptureScenario(postgres.Postgres, quiet=False),
    "capture of a quiet log": CaptureScenario(postgres.Postgres, quiet=True),
    "ranges": CaptureScenario(postgres.Postgres, quiet=False, by_range=True),
    "ranges of a quiet log": CaptureScenario(postgres.Postgres, quiet=True, by_range=True),
    "capture of a binlog": CaptureScenario(binlog.Binlog, quiet=False),
    "ranges of a binlog": CaptureScenario(binlog.Binlog, quiet=False, by_range=True),
    "ranges of a quiet binlog": CaptureScenario(binlog.Binlog, quiet=True, by_range=True),
}
