"""The sources of changes, by the class of their location."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from integrator.sources.contract import Source
from integrator.sources.files.source import Files
from integrator.sources.sockets.source import Socket

SOURCES: dict[str, Callable[[Any], Source]] = {"files": Files, "socket": Socket}
