"""A Kafka location of HVR -> that of the channel: its properties have the same names.

https://fivetran.com/docs/hvr6/property-reference/location-properties.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from integrator.channel.brokers import of_parts
from integrator.channel.created_topics import BROKER
from integrator.channel.locations import KafkaLocation
from integrator.errors import ConfigurationError
from integrator.imports import registry_access
from integrator.imports.draft import Draft

DEFAULT_BROKERS = "localhost:9092"
_SECRETS = ("Stream_Password", "Stream_Client_Private_Key_Password", "Kafka_Schema_Registry_Password")
_FILES = (
    "Stream_Public_Certificate",
    "Stream_Client_Public_Certificate",
    "Stream_Client_Private_Key",
)
_OURS = set(KafkaLocation.model_fields) - {"group", "class_"}
_BY_USER = ("USER_PASS", "SCRAM-SHA-256", "SCRAM-SHA-512")
_REASONS = {
    "Agent": "there is no agent: the integrator's processes send",
    "Kafka_Kerberos": "librdkafka renews its tickets by the keytab",
    "Cloud": "librdkafka reaches the brokers directly",
    "Case_Sensitive_Names": "names are as the definitions have them",
    "Description": "a comment in the channel can say it",
}
"""Why properties have no counterpart, by how they begin."""
_PEM = "-----BEGIN "


def import_kafka_location(name: str, given: dict[str, Any], brokers: str | None, draft: Draft) -> None:
    """Set the properties of the Kafka location, and note those that have no counterpart."""
    kafka, properties = draft.kafka, {key: value for key, value in given.items() if key != "Class"}
    found = _brokers(brokers or properties.pop("Kafka_Brokers", None))
    properties.pop("Kafka_Brokers", None)
    if not found:
        draft.report.todo(
            f"location {name}: its brokers are not in the file, and {DEFAULT_BROKERS} is written: put them into "
            "Kafka_Brokers, or give --brokers"
        )
    kafka["Kafka_Brokers"] = found or [DEFAULT_BROKERS]
    kafka["Kafka_Message_Compress"] = "NONE"  # HVR's default
    method = str(properties.get("Kafka_Authentication_Method", "NONE"))
    if method in _BY_USER and "Stream_User" in properties:
        properties.setdefault("Stream_Password", None)
    if "Kafka_Schema_User" in properties:
        properties.setdefault("Kafka_Schema_Registry_Password", None)
    for key, value in properties.items():
        if key in _SECRETS:
            kafka[key] = draft.secret(f"location {name}: {key}", key.upper(), None)
        elif key == "Kafka_Schema_Registry":
            urls = value if isinstance(value, list) else [str(value)]
            kafka[key] = registry_access.import_url(",".join(map(str, urls)), f"location {name}: {key}", draft)
        elif key in _FILES:
            _take_file(name, key, str(value), draft)
        elif key in _OURS:
            kafka[key] = _value(key, value)
        else:
            reason = next((why for start, why in _REASONS.items() if key.startswith(start)), "no counterpart is known")
            draft.report.ignore(f"location {name}: {key}", reason)
    kafka["Create_Topics"] = BROKER
    if any(key in properties for key in _FILES[1:]) and not kafka.keys() >= set(_FILES[1:]):
        for key in (*_FILES[1:], "Stream_Client_Private_Key_Password"):
            kafka.pop(key, None)


def _take_file(name: str, key: str, value: str, draft: Draft) -> None:
    if key == "Stream_Client_Private_Key" and _PEM in value:
        draft.kafka[key] = draft.secret(f"location {name}: {key}", key.upper(), value)
    elif _PEM in value or Path(value).is_file():
        draft.kafka[key] = value
    else:
        draft.report.todo(
            f"location {name}: {key}: there is no file {value} on this machine: copy it, and name it as {key}"
        )
        if key == _FILES[0]:
            draft.kafka["Kafka_Tls"] = True  # until then by the system's authorities, never without TLS


def _brokers(given: Any) -> list[str]:
    """Return host:port of brokers: of a text, or of a list of texts or of objects with host and port.

    Raises ConfigurationError.
    """
    if isinstance(given, str):
        return [one.strip() for one in given.split(",") if one.strip()]
    entries = given if isinstance(given, list) else ()
    try:
        return [str(of_parts(_lower(one) if isinstance(one, dict) else one)) for one in entries]
    except ValueError as error:
        raise ConfigurationError(f"Kafka_Brokers: {error}") from None


def _lower(given: dict[str, Any]) -> dict[str, Any]:
    return {key.lower(): value for key, value in given.items()}


def _value(key: str, value: Any) -> Any:
    """Return a property's value; numbers are numbers, and all else text."""
    if key == "Kafka_Message_Bundling_Threshold":
        return max(int(value), 4096) if str(value).isdigit() else value
    return value if isinstance(value, bool | int | list) else str(value)
