"""Plots of the last hour, as SVG: values over time, with axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from integrator.monitor.history import HOUR_S

Points = Sequence[tuple[float, float]]
"""Values by how many seconds ago."""
_WIDTH, _HEIGHT = 400, 90
"""Of the plot itself; its axes are left of it and below."""
_LEFT, _BELOW, _ABOVE = 48, 18, 8
_MINUTES = (60, 45, 30, 15, 0)
_STEPS = (1, 2, 2.5, 5, 10)
_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))


def plot(title: str, points: Points, *, joined: bool) -> str:
    """Return a plot of values by seconds ago; `joined` by a line, else as dots."""
    most = max((value for _, value in points), default=0.0)
    top = _top(most)
    places = [(_x(ago), _y(value, top)) for ago, value in points]
    if joined:
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        drawn = f'<polyline points="{line}" fill="none" stroke="var(--plot)" stroke-width="1.5"/>'
    else:
        drawn = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="var(--plot)"/>' for x, y in places)
    width, height = _LEFT + _WIDTH + 16, _ABOVE + _HEIGHT + _BELOW
    return (
        f'<div><span class="soft">{title}; highest {_short(most)}</span><svg role="img" '
        f'aria-label="{title}; highest {_short(most)}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">{_axes(top)}{drawn}</svg></div>'
    )


def _axes(top: float) -> str:
    values = "".join(
        f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{_y(value, top):.1f}" y2="{_y(value, top):.1f}" '
        f'stroke="var(--line)"/><text x="{_LEFT - 5}" y="{_y(value, top) + 4:.1f}" text-anchor="end">{_short(value)}'
        "</text>"
        for value in (0.0, top / 2, top)
    )
    times = "".join(
        f'<text x="{_x(minutes * 60):.1f}" y="{_ABOVE + _HEIGHT + 14}" text-anchor="middle">'
        f"{f'{minutes} min ago' if minutes else 'now'}</text>"
        for minutes in _MINUTES
    )
    return values + times


def _x(ago: float) -> float:
    return _LEFT + _WIDTH * (1 - min(ago, HOUR_S) / HOUR_S)


def _y(value: float, top: float) -> float:
    return _ABOVE + _HEIGHT * (1 - value / top)


def _top(most: float) -> float:
    """Return the end of an axis for values up to `most`: a round number."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(step * power for step in _STEPS if step * power >= most * (1 - 1e-9))


def _short(value: float) -> str:
    """Return a number in few characters: 112k, 0.25."""
    factor, unit = next(((factor, unit) for factor, unit in _UNITS if value >= factor), (1, ""))
    return f"{value / factor:.3g}{unit}"
