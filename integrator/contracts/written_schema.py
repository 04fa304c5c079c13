"""Schemas that records were written with, as a registry has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SchemaKind = Literal["AVRO", "PROTOBUF", "JSON"]


@dataclass(frozen=True)
class WrittenSchema:
    """A schema. references: what it imports, by the name it does, those first that others need.

    message: of Protobuf the path of the message in its file: its index, or that of the one it is in, and so on.
    """

    type: SchemaKind
    text: str
    references: tuple[tuple[str, str], ...] = ()
    message: tuple[int, ...] = (0,)
