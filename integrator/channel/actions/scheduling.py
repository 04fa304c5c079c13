"""Scheduling (https://fivetran.com/docs/hvr6/action-reference/scheduling)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from integrator.channel.base import Counted, Scoped, parameter


class Scheduling(Scoped):
    """When the daemon integrates, and how late it may be."""

    EXAMPLE: ClassVar[str] = """\
- {action: Scheduling, IntegrateStartTimes: "0 10-18 * * 1-5|0 0 * * *", IntegrateOnceOnStart: true, LatencySLA: 60}
"""

    action: Literal["Scheduling"]
    IntegrateStartTimes: str | None = parameter(
        None,
        "The daemon integrates existing changes at these times, instead of continuously: minute, hour, day, month and "
        "weekday as in cron, several with | between, in the local time zone.",
        example='"0 10-18 * * 1-5|0 0 * * *"',
    )
    IntegrateOnceOnStart: bool = parameter(
        False,
        "With IntegrateStartTimes: integrate also when the daemon starts. Without: integrate only then.",
        example="true",
    )
    LatencySLA: Annotated[int, Field(ge=1), Counted("seconds")] | None = parameter(
        None,
        "The longest accepted time from commit to acknowledgement, in seconds; a cycle above it is a "
        "warning in the log.",
        example="60",
    )
