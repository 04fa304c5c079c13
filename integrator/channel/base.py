"""What all parts of a channel file share: strict, frozen, closed models, and where an action holds."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Model(BaseModel):
    """Strict, frozen, and closed: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


LocationName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,11}$")]
Group = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]


class Scoped(Model):
    """Where an action holds: at a location or a group of them, for a table, a table group, or all."""

    group: str = Field("*", description="A location group, a location, or * for all.")
    table: str = Field("*", description="A table, a table group, or * for all.")
