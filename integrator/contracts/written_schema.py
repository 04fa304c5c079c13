"""Schemas that records were written with, as a registry has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SchemaKind = Literal["AVRO", "PROTOBUF", "JSON"]


@dataclass(frozen=True)
class WrittenSchema:
    """A schema. references: what it imports, by the name it does, those first that others need."""

    type: SchemaKind
    text: str
    references: tuple[tuple[str, str], ...] = ()
