"""Where a process shows what its channels do."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from integrator.channel import patterns
from integrator.channel.base import Model

DEFAULT_LISTEN = "127.0.0.1:8472"


class Monitor(Model):
    """The HTTP endpoint of the process: a status page, /status, /metrics, /health, /ready (extension)."""

    enabled: bool = Field(True, description="Whether there is one.")
    listen: Annotated[str, Field(pattern=patterns.ADDRESS)] | None = Field(
        None,
        description="host:port; by default 127.0.0.1:8472, or any free port if that one is in use. It has no "
        "authentication; beyond loopback (0.0.0.0:8472 in a container) it must be complete.",
    )
