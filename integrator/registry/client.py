"""The schema registry, asked by the driver only: each schema once, at the start; executors get the ids in the Recipe.

The client is the vendor's (https://github.com/confluentinc/confluent-kafka-python), which tries again what fails for a
moment, and the next URL when one is down.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from confluent_kafka.schema_registry import RegisteredSchema, Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from integrator.contracts.message_format import SchemaId
from integrator.contracts.recipe import Recipe, TableRecipe
from integrator.errors import ConfigurationError, EnvironmentFault, IntegratorError
from integrator.formats.protobuf import numbers_of
from integrator.plan import Plan
from integrator.plan.registry import Registration, RegistrySettings
from integrator.registry.bounded import (
    MOST_ID,
    AnswerTooLarge,
    BoundedSession,
    is_guid,
    is_id,
    printable,
    printable_lines,
)
from integrator.registry.compatible import incompatibility

NOT_FOUND, CONFLICT, INVALID = 404, 409, 422
DENIED = (401, 403)
REDIRECTED = (301, 302, 303, 307, 308)


def resolve(plan: Plan) -> Plan:
    """Return the plan with the ids of its schemas, which are registered where they are not there yet.

    Raises ConfigurationError for what the registry refuses, EnvironmentFault where it does not answer.
    """
    if plan.registry is None:
        return plan
    client = _client(plan.registry)
    settings = plan.registry
    plan = replace(plan, recipe=_with_numbers(plan, client))
    ids = {
        (registration.table, registration.part): _registered(client, settings, registration)
        for registration in plan.registrations
    }
    tables = tuple(
        replace(table, value_id=ids.get((table.table.name, "value")), key_id=ids.get((table.table.name, "key")))
        for table in plan.recipe.tables
    )
    return replace(plan, recipe=replace(plan.recipe, tables=tables))


def check(plan: Plan) -> list[str]:
    """Return of each schema whether the registry has it, or would take it; registers nothing. Raises as `resolve`."""
    if plan.registry is None:
        return []
    settings = plan.registry
    client = _client(settings)
    plan = replace(plan, recipe=_with_numbers(plan, client))
    return [f"{one.subject}: {_checked(client, settings, one)}" for one in plan.registrations]


def _checked(client: SchemaRegistryClient, settings: RegistrySettings, registration: Registration) -> str:
    latest = _latest(client, settings, registration.subject)
    if settings.use_latest or not settings.auto_register:
        _found(client, settings, registration, latest)
        return "there"
    if latest is None:
        return "new"
    if _lookup(client, settings, registration) is not None:
        return "there"
    try:
        fits = client.test_compatibility(registration.subject, Schema(registration.text, registration.type))
    except Exception as error:  # noqa: BLE001 - the client's kinds are many; each is explained
        raise _explained(error, settings, registration, latest) from None
    if not fits:
        raise _refused("the registry says it is not compatible", registration, latest)
    return "a new version, compatible"


def _client(settings: RegistrySettings) -> SchemaRegistryClient:
    try:
        client = SchemaRegistryClient.new_client(dict(settings.client))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the schema registry's client cannot be made: {error}; see Schema_Registry") from None
    rest: Any = client._rest_client  # noqa: SLF001 - the client has no other door to its HTTP session
    rest.session = BoundedSession(rest.session, settings.client["timeout"])
    return client


def _with_numbers(plan: Plan, client: SchemaRegistryClient) -> Recipe:
    """Return the recipe with the field numbers of Protobuf messages that are there: a number keeps its field."""
    settings = plan.registry
    if settings is None or plan.recipe.messages.layout.format != "REGISTRY_PROTOBUF":
        return plan.recipe
    taken: dict[str, tuple[tuple[str, int], ...]] = {}
    for registration in plan.registrations:
        latest = _latest(client, settings, registration.subject) if registration.part == "value" else None
        if latest is not None and latest.schema.schema_str and latest.schema.schema_type == "PROTOBUF":
            taken[registration.table] = numbers_of(latest.schema.schema_str)

    def numbered(table: TableRecipe) -> TableRecipe:
        return replace(table, numbers=taken.get(table.table.name, ()))

    return replace(plan.recipe, tables=tuple(map(numbered, plan.recipe.tables)))


def _registered(client: SchemaRegistryClient, settings: RegistrySettings, registration: Registration) -> SchemaId:
    latest = _latest(client, settings, registration.subject)
    if settings.use_latest or not settings.auto_register:
        return _id(settings, registration, _found(client, settings, registration, latest))
    try:
        made = client.register_schema_full_response(
            registration.subject, Schema(registration.text, registration.type), settings.normalize
        )
    except Exception as error:  # noqa: BLE001 - the client's kinds are many; each is explained
        raise _explained(error, settings, registration, latest) from None
    return _id(settings, registration, made)


def _found(
    client: SchemaRegistryClient,
    settings: RegistrySettings,
    registration: Registration,
    latest: RegisteredSchema | None,
) -> RegisteredSchema:
    """Return the schema that is to be there already: the subject's latest version, or ours."""
    if settings.use_latest:
        if latest is None:
            raise ConfigurationError(
                f"{registration.subject}: no version is registered, and Use_Latest_Version asks for one"
            )
        theirs = latest.schema.schema_type or "AVRO"
        same = theirs == registration.type
        why = (
            incompatibility(registration.type, registration.text, latest.schema.schema_str or "")
            if same
            else f"it is {theirs}"
        )
        if why:
            raise _refused(f"its latest version cannot read our messages: {why}", registration, latest)
        return latest
    found = _lookup(client, settings, registration)
    if found is None:
        raise ConfigurationError(
            f"{registration.subject}: the schema of table {registration.table} is not registered, and Auto_Register is "
            f"false; register it, or let the integrator do it:\n{_pretty(registration.text)}"
        )
    return found


def _id(settings: RegistrySettings, registration: Registration, found: RegisteredSchema) -> SchemaId:
    if found.schema_id is None:
        raise EnvironmentFault(f"{registration.subject}: the registry gave no id for the schema")
    _check_id(found, registration.subject)
    if settings.in_header and not found.guid:
        raise ConfigurationError(
            f"{registration.subject}: the registry gives no GUID, which Schema_Id_In: HEADER needs; use PREFIX, or "
            "another registry"
        )
    if settings.in_header and not is_guid(found.guid):
        raise EnvironmentFault(f"{registration.subject}: the registry gave {printable(found.guid)}, which is no GUID")
    return SchemaId(found.schema_id, found.guid if settings.in_header else None)


def _check_id(found: RegisteredSchema, subject: str) -> None:
    if not is_id(found.schema_id):
        raise EnvironmentFault(
            f"{subject}: the registry gave the id {printable(found.schema_id)}; ids are whole numbers from 1 to "
            f"{MOST_ID}: mend the registry, or Kafka_Schema_Registry, if that is another server"
        )


def _latest(client: SchemaRegistryClient, settings: RegistrySettings, subject: str) -> RegisteredSchema | None:
    return _if_there(lambda: client.get_latest_version(subject), settings, None)


def _lookup(
    client: SchemaRegistryClient, settings: RegistrySettings, registration: Registration
) -> RegisteredSchema | None:
    schema = Schema(registration.text, registration.type)
    return _if_there(
        lambda: client.lookup_schema(registration.subject, schema, settings.normalize), settings, registration
    )


def _if_there(
    ask: Callable[[], RegisteredSchema], settings: RegistrySettings, registration: Registration | None
) -> RegisteredSchema | None:
    """Return what the registry answers, or None where it has no such thing; every other error is raised."""
    try:
        found = ask()
    except Exception as error:  # noqa: BLE001 - the client's kinds are many; each is explained
        if isinstance(error, SchemaRegistryError) and error.http_status_code == NOT_FOUND:
            return None
        raise _explained(error, settings, registration, None) from None
    if found.schema_id is not None:  # where it has none, that is said by who needs it
        _check_id(found, printable(found.subject))
    if not isinstance(found.schema.schema_str, str | None):
        raise EnvironmentFault(f"{printable(found.subject)}: the registry gave a schema that is no text")
    return found


def _explained(
    error: Exception, settings: RegistrySettings, registration: Registration | None, latest: RegisteredSchema | None
) -> IntegratorError:
    """Return our error for one of the client's: who acts, on what."""
    where = f"{registration.subject}: " if registration else ""
    urls = ", ".join(settings.urls)
    if not isinstance(error, SchemaRegistryError):
        if isinstance(error, AnswerTooLarge):
            return EnvironmentFault(
                f"{where}the server at {urls} gives {error}, which no schema registry does; mend "
                "Kafka_Schema_Registry; nothing was sent"
            )
        reason = f"{type(error).__name__}: {printable(error)}"
        return EnvironmentFault(
            f"{where}no schema registry answers at {urls} ({reason}); start it, or mend "
            "Kafka_Schema_Registry; nothing was sent"
        )
    message = printable(error.error_message or "")
    if error.http_status_code == CONFLICT and registration is not None:
        return _refused(message or "not compatible", registration, latest)
    if error.http_status_code == INVALID and registration is not None:
        return ConfigurationError(
            f"{where}the registry cannot read the schema: {message}\n{_pretty(registration.text)}"
        )
    if error.http_status_code in DENIED:
        return ConfigurationError(
            f"{where}the registry at {urls} refuses us ({error.http_status_code}: {message}); mend "
            "Kafka_Schema_User and its password, the token or the certificate"
        )
    if error.http_status_code in REDIRECTED:
        return ConfigurationError(
            f"{where}the server at {urls} redirects to another address ({error.http_status_code}), where our "
            "credentials do not go; give Kafka_Schema_Registry the address of the registry itself"
        )
    return EnvironmentFault(f"{where}the registry at {urls} failed: {error.http_status_code} {message}")


def _refused(reason: str, registration: Registration, latest: RegisteredSchema | None) -> ConfigurationError:
    """Return the error for a schema that the registry will not have: its reason, the difference, and the choices."""
    before = _pretty((latest.schema.schema_str if latest else "") or "").splitlines()
    ours = _pretty(registration.text).splitlines()
    difference = printable_lines("\n".join(difflib.unified_diff(before, ours, "registered", "ours", lineterm="", n=1)))
    return ConfigurationError(
        f"{registration.subject}: the registry refuses the schema of table {registration.table}: {printable(reason)}\n"
        f"{difference}\n"
        "choices: let new columns be nullable; set the subject's compatibility to NONE; write to another topic or "
        "subject (Kafka_Default_Topic, ValueSubjectStrategy); or keep the old column (ColumnProperties Datatype)"
    )


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
