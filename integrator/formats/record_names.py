"""Names of records and of their fields, as Avro and, for fields, Protobuf have them."""

from __future__ import annotations

import re

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = (
    "null",
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "bytes",
    "string",
    "record",
    "enum",
    "array",
    "map",
    "fixed",
)


def name_refusal(name: str) -> str | None:
    """Return why a column or table cannot have this name in Avro, or None."""
    if NAME.fullmatch(name):
        return None
    return "a name has letters, digits and underscores, and no digit first; give another (BaseName)"


def record_refusal(name: str) -> str | None:
    """Return why no record can have this name, which may have dots, or None."""
    own = name.rpartition(".")[2]
    if own in RESERVED:
        return f"{own} is a type of Avro's; give another (BaseName)"
    return next(filter(None, map(name_refusal, name.split("."))), None)
