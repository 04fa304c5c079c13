"""What a comparison came to, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Kind = Literal["missing", "extra", "different"]
MASKED = "(masked)"
NO_VALUE = "(no row)"


@dataclass(frozen=True)
class Difference:
    """A row that differs.

    missing: the table has it, and the topic not; extra: the topic alone. key: the columns of its key; or the message's
    key. columns: those that differ, with what the table has, and the topic. Masked values are not in it.
    """

    kind: Kind
    key: Mapping[str, Any]
    columns: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)


@dataclass
class TableResult:
    """A table. why: it is not comparable, and nothing else is there.

    rows: of the table, those that the channel sends. position: where it was read last. equal, missing, extra,
    different: how many keys. unsettled: keys that changed each time they were read. incomplete: rows whose
    messages lack columns (the source left their values out), and are equal but for these. ambiguous: keys that have
    messages in several partitions, without an order; moved: those whose messages are ordered by their positions.
    shared: keys that several rows of the table have, which are not compared. repeated: messages of changes that an
    earlier message has, where messages have the position; they are no difference. repeated_keys: of the first ones.
    rejected: rows that cannot be sent. left_out: columns that are no function of the row. differences: the first ones.
    seconds: for how long it was compared, with what it waited.
    """

    table: str
    topic: str
    why: str = ""
    rows: int = 0
    messages: int = 0
    position: str = ""
    equal: int = 0
    missing: int = 0
    extra: int = 0
    different: int = 0
    unsettled: int = 0
    incomplete: int = 0
    ambiguous: int = 0
    moved: int = 0
    shared: int = 0
    repeated: int = 0
    repeated_keys: list[Mapping[str, Any]] = field(default_factory=list)
    rejected: int = 0
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    differences: list[Difference] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def differs(self) -> bool:
        """Whether differences were found."""
        return bool(self.missing or self.extra or self.different)

    @property
    def is_equal(self) -> bool:
        """Whether all rows were compared, and none differs."""
        is_left = self.unsettled or self.ambiguous or self.shared or self.rejected
        return not (self.why or self.differs or is_left) and self.equal == self.rows

    def as_json(self) -> dict[str, Any]:
        """Return it for programs. Values of other types than JSON's are their texts."""
        return {**asdict(self), "equal_all": self.is_equal}


def same(one: Any, other: Any) -> bool:
    """Return whether two values of JSON are the same: a boolean is no number, and 1.0 is 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    return bool(one == other)
