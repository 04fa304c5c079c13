"""The graphs of docs/speed.md, made of its tables: `![title](pictures/speed/NAME.svg)` is a graph of the table after it.

The first column names the bars; each further column whose cells are numbers is a bar of its own beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "speed.md"

_GRAPH = re.compile(r"^!\[(?P<title>[^\]]+)\]\((?P<path>\S+\.svg)\)\n\n(?P<table>(?:\|.*\n)+)", re.MULTILINE)
_NUMBER = re.compile(r"^\**([\d,]+(?:\.\d+)?)(?: (?:s|MiB))?\**$")
_COLOURS = ("#3f51b5", "#e08a2e", "#7a869a", "#4a9b6e")
_WIDTH, _LABELS, _BARS, _BAR, _GAP, _TOP = 800, 270, 420, 18, 12, 56


@dataclass(frozen=True)
class Graph:
    """What a graph shows: its title, the names of its bars, and of each column the name and a value for each bar."""

    title: str
    names: list[str]
    columns: dict[str, list[float]]


def graphs() -> dict[Path, Graph]:
    """Each graph of the page, by its file."""
    text = PAGE.read_text(encoding="utf-8")
    return {DOCS / found["path"]: graph(found["title"], found["table"]) for found in _GRAPH.finditer(text)}


def graph(title: str, table: str) -> Graph:
    """A graph of a table in Markdown. Raises ValueError if no column of it has numbers in all rows."""
    rows = [[plain(cell) for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]] for line in table.splitlines()]
    head, body = rows[0], rows[2:]
    columns = {}
    for at, name in enumerate(head[1:], 1):
        found = [_NUMBER.match(row[at]) for row in body]
        if all(found):
            columns[name] = [float(one[1].replace(",", "")) for one in found if one]
    if not columns:
        raise ValueError(f"{title}: the table has no column of numbers")
    return Graph(title, [row[0] for row in body], columns)


def plain(cell: str) -> str:
    """A cell's text without marks."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell).replace("`", "").replace("**", "").replace("\\|", "|").strip()


def svg(made: Graph) -> str:
    """A picture of horizontal bars."""
    most = max(max(values) for values in made.columns.values())
    step = _BAR * len(made.columns) + _GAP
    height = _TOP + step * len(made.names) + _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="13" '
        f'role="img" aria-label="{escape(made.title)}">\n<rect width="{_WIDTH}" height="{height}" fill="#fff"/>\n'
        f'<text x="16" y="24" font-size="15" font-weight="bold" fill="#1b2140">{escape(made.title)}</text>\n'
        + "".join(f"{line}\n" for line in (*legend(made), *bars(made, most, step)))
        + "</svg>\n"
    )


def legend(made: Graph) -> Iterator[str]:
    """A line of colours and what they stand for; none where there is one column only."""
    if len(made.columns) == 1:
        return
    x = 16
    for name, colour in zip(made.columns, _COLOURS, strict=False):
        yield f'<rect x="{x}" y="34" width="11" height="11" fill="{colour}"/>'
        yield f'<text x="{x + 16}" y="44" fill="#1b2140">{escape(name)}</text>'
        x += 40 + 8 * len(name)


def bars(made: Graph, most: float, step: int) -> Iterator[str]:
    """The bars with their names and values."""
    for row, name in enumerate(made.names):
        top = _TOP + row * step
        middle = top + (step - _GAP) / 2 + 5
        yield f'<text x="{_LABELS - 10}" y="{middle:g}" text-anchor="end" fill="#1b2140">{escape(name)}</text>'
        for at, values in enumerate(made.columns.values()):
            width = max(1, round(_BARS * values[row] / most))
            y = top + at * _BAR
            yield f'<rect x="{_LABELS}" y="{y}" width="{width}" height="{_BAR - 3}" fill="{_COLOURS[at % len(_COLOURS)]}"/>'
            yield f'<text x="{_LABELS + width + 6}" y="{y + 12}" fill="#1b2140">{values[row]:,.10g}</text>'


PAGES = {path: (lambda made=made: svg(made)) for path, made in graphs().items()}
