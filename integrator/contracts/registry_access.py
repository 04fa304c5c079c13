"""How a schema registry is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RegistryAccess:
    """urls: of one registry, or of several that share their schemas. client: the vendor's client's properties.

    timeout_s: how long a whole answer may take. key: what the location calls the URL.
    """

    urls: tuple[str, ...]
    client: Mapping[str, str | float] = field(repr=False)  # I7: has passwords
    timeout_s: float
    key: str = "Kafka_Schema_Registry"
