"""What all parts of a channel file share: strict, frozen, closed models, and where an action holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from integrator.channel import patterns
from integrator.names.units import Unit


@dataclass(frozen=True)
class Counted:
    """What the number of a field counts, beside it in its annotation."""

    unit: Unit


class Model(BaseModel):
    """Strict, frozen, and closed: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


def parameter(default: Any, meaning: str, *, example: str = "", differs: str = "", **checks: Any) -> Any:
    """Return a parameter of an action, with what its page of the docs says.

    example: how it may be written. differs: what is otherwise than in HVR, and why; "extension" where HVR has none.
    """
    documented: dict[str, Any] = {name: text for name, text in (("example", example), ("differs", differs)) if text}
    return Field(default, description=meaning, json_schema_extra=documented or None, **checks)


LocationName = Annotated[str, Field(pattern=patterns.NAME)]
Group = Annotated[str, Field(pattern=patterns.GROUP)]


class Scoped(Model):
    """Where an action holds: at a location or a group of them, for a table, a table group, or all."""

    EXAMPLE: ClassVar[str]
    """Actions as they may be written, for the docs."""

    group: str = Field("*", description="A location group, a location, or * for all.")
    table: str = Field("*", description="A table, a table group, or * for all.")


class InContext(Scoped):
    """An action that a context turns on or off."""

    Context: str | None = parameter(
        None,
        "The action holds only in runs with `--context NAME`; with ! before the name, only in others.",
        example='"masked"',
        pattern=patterns.CONTEXT,
    )
