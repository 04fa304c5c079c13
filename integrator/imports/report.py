"""What an import prints: what is to be done first, then what differs, then what is ignored, each reason once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass
class Report:
    """What the author of an imported channel must know.

    todos: what is to be done before the channel runs, because it cannot run without, or because values would be sent
    that were kept back. differences: what consumers may notice. ignored: what the channel does without. Each is a text
    with the names of what it holds for, which may be none.
    """

    todos: dict[str, list[str]] = field(default_factory=dict)
    differences: dict[str, list[str]] = field(default_factory=dict)
    ignored: dict[str, list[str]] = field(default_factory=dict)

    def todo(self, text: str, *names: str) -> None:
        """Add what is to be done, and for what."""
        _add(self.todos, text, names)

    def differ(self, what: str, *names: str) -> None:
        """Add a difference, and what it holds for."""
        _add(self.differences, what, names)

    def ignore(self, name: str, why: str) -> None:
        """Add a name of the other product that does nothing here. why: a clause, which stands after "because"."""
        _add(self.ignored, why, (name,))

    def text(self, head: str, remarks: Sequence[str] = ()) -> str:
        """Return the lines under `head`. remarks: those of check, which stand with the differences."""
        return "\n".join([head, *self._lines(remarks)])

    def _lines(self, remarks: Sequence[str]) -> Iterator[str]:
        differences = [*remarks, *_named(self.differences)]
        ignored = [f"{', '.join(names)}: ignored, because {why}" for why, names in self.ignored.items()]
        for title, found in (
            ("To do", _named(self.todos)),
            ("Different from before", differences),
            ("Without a counterpart", ignored),
        ):
            if found:
                yield f"  {title}:"
                yield from (f"    {line}" for line in found)


def _named(found: dict[str, list[str]]) -> list[str]:
    return [f"{', '.join(names)}: {text}" if names else text for text, names in found.items()]


def _add(found: dict[str, list[str]], text: str, names: Sequence[str]) -> None:
    known = found.setdefault(text, [])
    known.extend(name for name in names if name not in known)
