"""What a configured catalog asks for, as far as a destination that appends can do it; the rest is refused by name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from integrator.airbyte.spec import APPEND
from integrator.errors import ConfigurationError, Problem, shown
from integrator.schema import Table
from integrator.tables import airbyte_catalog

_MODE = (
    f"destination_sync_mode is {{}}, and records of a topic are neither replaced nor removed; accepted is {APPEND}: "
    "choose “Full refresh | Append” or “Incremental | Append” for the stream"
)
_GENERATION = (
    "minimum_generation_id is {}, with generation_id {}: records of generations before it are to be removed, and those "
    "of a topic are not; refresh the stream and retain its records, or empty its topic yourself and start anew"
)
Descriptor = tuple[str | None, str]
"""The namespace and the name of a stream."""


def read(file: str) -> tuple[str, list[Table]]:
    """Return the text of a configured catalog, and its streams as tables. Raises ConfigurationError."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError([Problem(file, 0, "", f"the catalog cannot be read: {error}")]) from None
    tables, problems = airbyte_catalog.read(file, text)
    if not problems:
        problems = [Problem(file, 0, name, why) for one in json.loads(text)["streams"] for name, why in _refused(one)]
    if problems:
        raise ConfigurationError(problems)
    return text, tables


def descriptor(table: Table) -> Descriptor:
    """Return the stream that a table is."""
    return table.schema, table.base_name


def _refused(configured: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what of a configured stream cannot be done, and what to do."""
    stream = configured.get("stream")
    if not isinstance(stream, Mapping):
        yield "streams", f"{shown(configured)} is no configured stream: it has stream, sync_mode and more"
        return
    namespace, name = stream.get("namespace"), f"stream {stream['name']}"
    name = f"{name} of namespace {namespace}" if namespace else name
    mode = configured.get("destination_sync_mode", APPEND)
    if mode != APPEND:
        yield name, _MODE.format(repr(mode))
    least, current = configured.get("minimum_generation_id"), configured.get("generation_id")
    if mode == APPEND and least not in (None, 0):
        yield name, _GENERATION.format(least, current)
    if configured.get("include_files"):
        yield name, "include_files is true, and files are not transferred into topics; have the stream without files"
