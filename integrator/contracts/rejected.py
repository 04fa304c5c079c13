"""Lines that are rejected: no message is made of them, and they go to the dead letter topic as they came (I4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from integrator.errors import Fault

Stage = Literal["VALUE_CONVERTER", "TRANSFORMATION"]
"""Where it failed, in Kafka Connect's words: as it was read, or as its message was made.

https://kafka.apache.org/41/javadoc/org/apache/kafka/connect/ (runtime.errors.Stage)
"""


@dataclass(frozen=True)
class Rejected:
    """A line of a file, at which stage it failed, and why."""

    fault: Fault
    stage: Stage

    @property
    def line(self) -> int:
        """The line."""
        return self.fault.place.line
