"""`write`: a channel over what comes through standard input, integrated by the ordinary engine until that ends."""

from __future__ import annotations

import dataclasses
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from integrator.airbyte import catalog as catalogs
from integrator.airbyte.configuration import configured
from integrator.airbyte.intake import Intake, Limits
from integrator.airbyte.messages import Messages
from integrator.airbyte.options import OWN
from integrator.airbyte.states import States
from integrator.channel.secret import Secrets
from integrator.errors import ProcessLost
from integrator.plan import Plan
from integrator.run import daemon
from integrator.sources.contract import Feed, Opening
from integrator.sources.files.source import Files
from integrator.sources.spool import Segments, segments


@dataclass(frozen=True)
class Piped(Files):
    """Segments that an intake writes while the channel is integrated."""

    intake: Intake = field(repr=False, compare=False)

    def listing(self, place: str, delay_s: int = 0) -> Segments:
        """Return what finds the sealed segments."""
        return segments(place, delay_s)

    def open(self, opening: Opening) -> Feed:
        """Open the spool."""
        return self.intake.opened(Path(opening.recipe.read.path))


def write(options: Mapping[str, Any], catalog: str, descriptor: int, messages: Messages, secrets: Secrets) -> None:
    """Send the records that come through a file descriptor, and give back STATEs, until it ends.

    catalog: the file of the configured catalog. Raises IntegratorError; after that no STATE is given back.
    """
    text, tables = catalogs.read(catalog)
    stopping, states = threading.Event(), States(messages)
    size = next(option.default for option in OWN if option.name == "buffer_bytes")
    limits = Limits(int(options.get("buffer_bytes", size)))
    intake = Intake(descriptor, {catalogs.descriptor(table) for table in tables}, states, limits, stopping)
    with tempfile.TemporaryDirectory(prefix="integrator-airbyte-", ignore_cleanup_errors=True) as directory:
        made = configured(options, text, tables, Path(directory), secrets)
        structlog.get_logger().info("configured", options=made.remarks)
        daemon.integrate([_piped(made.plan, intake)], once=False, stopping=stopping)
    if intake.error is not None:
        raise intake.error
    if not intake.is_done:
        raise ProcessLost(
            "the sync was stopped before all records were synced; the STATEs that were given back are true"
        )


def _piped(plan: Plan, intake: Intake) -> Plan:
    """Return a plan whose changes come through an intake."""
    name = plan.recipe.messages.cap_loc
    found = plan.origin.changes[name]
    if not isinstance(found, Files):
        raise TypeError("a plan that is not over files")
    source = Piped(found.location, intake)
    return dataclasses.replace(
        plan, source=source, origin=dataclasses.replace(plan.origin, changes={**plan.origin.changes, name: source})
    )
