"""Actions: what differs from the defaults, with HVR's names (https://fivetran.com/docs/hvr6/action-reference).

In comes YAML; out go models whose fields are the parameters. Each parameter's description names what HVR does not have,
or has otherwise. A new parameter is a field here, and its use in plan/, which has what actions give as these models
(`channel/merge`). A new action is a file, its name in the union and in the dict here, and a page of `make docs`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from integrator.channel.actions.capture import Capture
from integrator.channel.actions.column_properties import ColumnProperties
from integrator.channel.actions.environment import Environment
from integrator.channel.actions.file_format import FileFormat
from integrator.channel.actions.integrate import Integrate
from integrator.channel.actions.restrict import Restrict
from integrator.channel.actions.scheduling import Scheduling
from integrator.channel.actions.table_properties import TableProperties
from integrator.channel.base import Scoped

ACTIONS: dict[str, type[Scoped]] = {
    "ColumnProperties": ColumnProperties,
    "TableProperties": TableProperties,
    "Capture": Capture,
    "Integrate": Integrate,
    "FileFormat": FileFormat,
    "Restrict": Restrict,
    "Scheduling": Scheduling,
    "Environment": Environment,
}

Action = Annotated[
    ColumnProperties | TableProperties | Capture | Integrate | FileFormat | Restrict | Scheduling | Environment,
    Field(discriminator="action"),
]

__all__ = [
    "ACTIONS", "Action", "Capture", "ColumnProperties", "Environment", "FileFormat",
    "Integrate", "Restrict", "Scheduling", "TableProperties",
]  # fmt: skip
