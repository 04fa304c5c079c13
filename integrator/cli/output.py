"""Where commands print. In a file or a pipe no line is wrapped and nothing is cut; colours are rich's (NO_COLOR)."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

OPERATIONS = {0: "delete", 1: "insert", 2: "update", 3: "before key update", 4: "before update", 5: "truncate"}
"""What {hvr_op} means, for people."""
_WHOLE = 1_000_000
"""Columns of an output that has no end of a line."""


def console() -> Console:
    """Return what prints to stdout, text as it is: what is in brackets is no style."""
    return Console(
        soft_wrap=True, markup=False, highlight=False, emoji=False, width=None if sys.stdout.isatty() else _WHOLE
    )


@contextlib.contextmanager
def working(text: str) -> Iterator[None]:
    """Show that something continues: a moving sign in a terminal, else a line."""
    shown = console()
    if shown.is_terminal:
        with shown.status(f"{escape(text)} …"):
            yield
    else:
        shown.print(f"{text} …")
        sys.stdout.flush()
        yield


def grid(*headers: str, title: str | None = None) -> Table:
    """Return a table whose cells continue in further lines, where the terminal is too narrow for them."""
    return Table(*(Column(header, overflow="fold") for header in headers), title=title, title_style="bold")


def plain_grid(*headers: str) -> Table:
    """Return the same without lines around the cells."""
    made = grid(*headers)
    made.box = None
    return made
