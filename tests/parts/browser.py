"""A real browser without a window: Debian's Chromium, which shows a page and takes a picture of it."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from collections import Counter
from pathlib import Path

import pytest

from tests.parts.waiting import PATIENCE_S

MORE: list[str] = []
"""Further words of the browser's command line."""
_FORMAT = (8, 2, 0, 0, 0)
"""A PNG's bit depth and colour type, as Chromium writes them: RGB of 8 bits; https://www.w3.org/TR/png-3/#11IHDR."""


def program() -> str:
    """The browser's path; the test is skipped where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("a real browser is not here (Debian: chromium)")
    return found


def shown(url: str, picture: Path, width: int = 1200, height: int = 900) -> str:
    """Take a picture of a page as a browser shows it; return its document."""
    command = [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-sync"]
    command += [f"--user-data-dir={picture.parent}/profile", f"--window-size={width},{height}"]
    for last in ([f"--screenshot={picture}"], ["--dump-dom"]):
        done = subprocess.run(
            [*command, *MORE, *last, url], check=False, capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def colours(picture: Path) -> Counter[str]:
    """How many pixels of a picture have each colour, as #rrggbb (https://www.w3.org/TR/png-3/)."""
    data, at, packed = picture.read_bytes(), 8, b""
    width = height = 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, *form = struct.unpack(">IIBBBBB", body)
            assert tuple(form) == _FORMAT, form
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    raw, before, found = zlib.decompress(packed), bytearray(3 * width), Counter[str]()
    for line in range(height):
        begin = line * (3 * width + 1)
        before = _unfiltered(raw[begin], bytearray(raw[begin + 1 : begin + 1 + 3 * width]), before)
        found.update(before[place : place + 3].hex() for place in range(0, 3 * width, 3))
    return Counter({f"#{name}": count for name, count in found.items()})


def _unfiltered(kind: int, line: bytearray, above: bytearray) -> bytearray:
    """A line without its filter (https://www.w3.org/TR/png-3/#9Filters)."""
    for place in range(len(line)):
        left, upper = (line[place - 3] if place >= 3 else 0), above[place]
        corner = above[place - 3] if place >= 3 else 0
        line[place] = (line[place] + (0, left, upper, (left + upper) // 2, _nearest(left, upper, corner))[kind]) & 255
    return line


def _nearest(left: int, upper: int, corner: int) -> int:
    return min((left, upper, corner), key=lambda one: abs(left + upper - corner - one))
