"""The picture of the packages: those of each layer from top to bottom, what each is for, and who imports it.

Layers are those of import-linter's contract in pyproject.toml, sentences those of `integrator/__init__.py`, and who
imports a package is found in the code.
"""

from __future__ import annotations

from collections import defaultdict
from html import escape
from pathlib import Path

import grimp
import tomllib

import integrator

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "pictures" / "packages.svg"
_WIDTH, _ROW, _TOP, _BOX, _TEXT = 1000, 36, 16, 120, 150


def layers() -> list[list[str]]:
    """Return the packages of each layer, from top to bottom, without the module that starts the command."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [own] = [one["layers"] for one in contracts if one["type"] == "layers" and one["containers"] == ["integrator"]]
    return [one.split(" | ") for one in own if one != "__main__"]


def sentences() -> dict[str, str]:
    """Return what each package is for, in the order of the docstring."""
    lines = [
        (line.split()[0], line.split(maxsplit=1)[1])
        for line in (integrator.__doc__ or "").splitlines()[2:]
        if line.strip()
    ]
    return dict(lines)


def importers() -> dict[str, set[str]]:
    """Return by which packages each one is imported."""
    found, graph = defaultdict[str, set[str]](set), grimp.build_graph("integrator", cache_dir=None)
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            one, of = (f"{name}.".split(".")[1] for name in (module, other))
            if one and one != of:
                found[of].add(one)
    return found


def svg() -> str:
    """Return the picture."""
    of, texts, rows, at = importers(), sentences(), list[str](), _TOP
    order = [name for layer in layers() for name in layer]
    for layer in layers():
        rows.append(f'<line x1="0" x2="{_WIDTH}" y1="{at}" y2="{at}" stroke="#d5d9e2"/>')
        for name in layer:
            callers = ", ".join(sorted(of[name] - {"__main__"}, key=order.index)) or "none: it is the top"
            rows.append(
                f'<rect x="8" y="{at + 5}" width="{_BOX}" height="{_ROW - 10}" rx="4" fill="#3f51b5"/>'
                f'<text x="{8 + _BOX // 2}" y="{at + 23}" fill="#fff" text-anchor="middle">{name}</text>'
                f'<text x="{_TEXT}" y="{at + 15}" fill="#1b2140">{escape(texts[name])}</text>'
                f'<text x="{_TEXT}" y="{at + 30}" fill="#7a869a" font-size="11">imported by {escape(callers)}</text>'
            )
            at += _ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {at + _TOP}" font-family="sans-serif" '
        f'font-size="13" role="img" aria-label="Packages">\n<rect width="{_WIDTH}" height="{at + _TOP}" fill="#fff"/>\n'
        + "".join(f"{one}\n" for one in rows)
        + "</svg>\n"
    )
