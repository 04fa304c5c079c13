"""What of a script is not understood."""

from __future__ import annotations


class NotUnderstood(ValueError):
    """A statement, or a part of it, that is not understood; `line` is where it begins, `where` the table or column."""

    def __init__(self, text: str, line: int, where: str = "") -> None:
        super().__init__(text)
        self.line = line
        self.where = where
