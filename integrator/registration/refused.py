"""Schemas that a registry refuses: why, and the choices."""

from __future__ import annotations

import difflib
import json

from confluent_kafka.schema_registry import RegisteredSchema
from confluent_kafka.schema_registry.error import SchemaRegistryError

from integrator.contracts.registry_access import RegistryAccess
from integrator.errors import IntegratorError, SchemaRefused
from integrator.plan.registry import Registration
from integrator.registry.bounded import printable, printable_lines
from integrator.registry.explained import explained

CONFLICT, INVALID = 409, 422


def refused(
    error: Exception, access: RegistryAccess, registration: Registration, latest: RegisteredSchema | None
) -> IntegratorError:
    """Return our error for one of the client's, when a schema is registered: who acts, on what."""
    code = error.http_status_code if isinstance(error, SchemaRegistryError) else 0
    message = printable(error.error_message or "") if isinstance(error, SchemaRegistryError) else ""
    if code == CONFLICT:
        return refusal(message or "not compatible", registration, latest)
    if code == INVALID:
        return SchemaRefused(
            f"{registration.subject}: the registry cannot read the schema: {message}\n{pretty(registration.text)}",
            registration.table,
        )
    return explained(error, access, registration.subject)


def refusal(reason: str, registration: Registration, latest: RegisteredSchema | None) -> SchemaRefused:
    """Return the error for a schema that the registry will not have: its reason, the difference, and the choices."""
    before = pretty((latest.schema.schema_str if latest else "") or "").splitlines()
    ours = pretty(registration.text).splitlines()
    difference = printable_lines("\n".join(difflib.unified_diff(before, ours, "registered", "ours", lineterm="", n=1)))
    return SchemaRefused(
        f"{registration.subject}: the registry refuses the schema of table {registration.table}: {printable(reason)}\n"
        f"{difference}\n"
        "choices: let new columns be nullable; set the subject's compatibility to NONE; write to another topic or "
        "subject (Kafka_Default_Topic, ValueSubjectStrategy); or keep the old column (ColumnProperties Datatype)",
        registration.table,
    )


def pretty(text: str) -> str:
    """Return a schema as messages show it: JSON over several lines."""
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
