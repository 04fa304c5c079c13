"""What the destination is: its options as a JSON schema, and the sync modes of a destination that appends."""

from __future__ import annotations

from typing import Any

from integrator.airbyte.options import OWN, PRODUCERS, PROTOCOLS, Option

APPEND = "append"
_DOCUMENTATION = "https://docs.airbyte.com/integrations/destinations/kafka"
_PROTOCOL_VERSION = "0.2.0"


def specification() -> dict[str, Any]:
    """Return the ConnectorSpecification."""
    options = (*PRODUCERS, *OWN)
    protocol = {
        "title": "Protocol",
        "type": "object",
        "description": "How the brokers are reached.",
        "order": len(options),
        "oneOf": [_protocol(name, more) for name, more in PROTOCOLS.items()],
    }
    return {
        "protocol_version": _PROTOCOL_VERSION,
        "documentationUrl": _DOCUMENTATION,
        "supportsIncremental": True,
        "supportsNormalization": False,
        "supportsDBT": False,
        "supported_destination_sync_modes": [APPEND],
        "connectionSpecification": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "Kafka Destination Spec",
            "type": "object",
            "required": [*_required(options), "protocol"],
            "additionalProperties": True,
            "properties": {**_properties(options), "protocol": protocol},
        },
    }


def _protocol(name: str, options: tuple[Option, ...]) -> dict[str, Any]:
    constant = {"type": "string", "const": name, "default": name, "order": 0}
    return {
        "title": name,
        "type": "object",
        "required": ["security_protocol", *_required(options)],
        "properties": {"security_protocol": constant, **_properties(options, 1)},
    }


def _required(options: tuple[Option, ...]) -> list[str]:
    return [option.name for option in options if option.required]


def _properties(options: tuple[Option, ...], first: int = 0) -> dict[str, Any]:
    return {option.name: option.schema(place) for place, option in enumerate(options, first)}
