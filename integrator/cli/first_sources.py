"""Sources that are asked what they have, for a first channel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from integrator.channel.secret import Secrets
from integrator.cli.first_channel import Source, TopicsRequest
from integrator.cli.over_topics import source_of
from integrator.cli.templates import Template

ASKED: dict[str, Callable[[TopicsRequest, Path, Template, Secrets], tuple[Source, str]]] = {"topics": source_of}
"""From what is asked for, the channel's file, its template and where secrets go to the source and its brokers."""
