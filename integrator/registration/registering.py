"""Schemas are registered once, at the start; executors get the ids in the Recipe."""

from __future__ import annotations

from dataclasses import replace

import structlog
from confluent_kafka.schema_registry import RegisteredSchema, Schema, SchemaRegistryClient

from integrator.contracts.message_format import SchemaId
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode.transactions import NAME as TRANSACTIONS
from integrator.errors import ConfigurationError, EnvironmentFault, SchemaRefused
from integrator.formats import FORMATS
from integrator.plan import Plan
from integrator.plan.registry import Registration, RegistrySettings
from integrator.registration.compatible import incompatibility, rescaled
from integrator.registration.refused import pretty, refusal, refused
from integrator.registry.bounded import is_guid, printable
from integrator.registry.client import check_id, check_text, client_of, if_there
from integrator.registry.explained import says_none

_MOVES = "; its number is in each key, so keys that were written with the version before continue in other partitions"


def resolve(plan: Plan, settings: RegistrySettings) -> Plan:
    """Do what `registration.resolve` promises."""
    client = client_of(settings.access)
    plan = replace(plan, recipe=_with_numbers(plan, client))
    ids = {
        (registration.table, registration.part): _registered(client, settings, registration)
        for registration in plan.registrations
    }
    tables = tuple(
        replace(table, value_id=ids.get((table.table.name, "value")), key_id=ids.get((table.table.name, "key")))
        for table in plan.recipe.tables
    )
    marks = plan.recipe.transactions
    if marks is not None:
        marks = replace(marks, value_id=ids.get((TRANSACTIONS, "value")), key_id=ids.get((TRANSACTIONS, "key")))
    return replace(plan, recipe=replace(plan.recipe, tables=tables, transactions=marks))


def check(plan: Plan, settings: RegistrySettings) -> list[str]:
    """Do what `registration.check` promises."""
    client = client_of(settings.access)
    plan = replace(plan, recipe=_with_numbers(plan, client))
    found: list[str] = []
    refused: list[ConfigurationError] = []
    for one in plan.registrations:
        try:
            found.append(f"{one.subject}: {_checked(client, settings, one)}")
        except ConfigurationError as error:
            refused.append(error)
    if refused:
        raise refused[0] if len(refused) == 1 else ConfigurationError("\n".join(map(str, refused)))
    return found


def _checked(client: SchemaRegistryClient, settings: RegistrySettings, registration: Registration) -> str:
    latest = _latest(client, settings, registration.subject)
    if _stays(registration, latest):
        return "there"
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
        raise refused(error, settings.access, registration, latest) from None
    if not fits:
        raise refusal("the registry says it is not compatible", registration, latest)
    moves = registration.part == "key" and not settings.in_header
    return f"a new version, compatible{_MOVES if moves else ''}"


def _with_numbers(plan: Plan, client: SchemaRegistryClient) -> Recipe:
    """Return the recipe with the field numbers of Protobuf messages that are there: a number keeps its field."""
    settings, numbers_of = plan.registry, FORMATS[plan.recipe.messages.layout.format].numbers_of
    if settings is None or numbers_of is None:
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
    if latest is not None and _stays(registration, latest):
        return _id(settings, registration, latest)
    if settings.use_latest or not settings.auto_register:
        return _id(settings, registration, _found(client, settings, registration, latest))
    try:
        made = client.register_schema_full_response(
            registration.subject, Schema(registration.text, registration.type), settings.normalize
        )
    except Exception as error:  # noqa: BLE001 - the client's kinds are many; each is explained
        raise refused(error, settings.access, registration, latest) from None
    _warn_of_scales(registration, latest)
    return _id(settings, registration, made)


def _warn_of_scales(registration: Registration, latest: RegisteredSchema | None) -> None:
    """Warn of decimals that a reader by the schema of now reads wrongly out of messages of before."""
    is_avro = latest is not None and registration.type == (latest.schema.schema_type or "AVRO") == "AVRO"
    before = latest.schema.schema_str if latest is not None and is_avro else None
    if before and (fields := rescaled(registration.text, before)):
        remedy = (
            "have consumers read each message by the schema that it was written with; those that take the newest one "
            "for all need another topic"
        )
        structlog.get_logger().warning(
            "decimals have another scale", subject=registration.subject, fields=fields, remedy=remedy
        )


def _stays(registration: Registration, latest: RegisteredSchema | None) -> bool:
    """Return whether keys continue with the subject's latest version, by which their bytes are the same.

    The number of a schema is in each key: with a new one, a key would continue in another partition.
    """
    if registration.part != "key" or latest is None or (latest.schema.schema_type or "AVRO") != registration.type:
        return False
    return incompatibility(registration.type, registration.text, latest.schema.schema_str or "") is None


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
            raise refusal(f"its latest version cannot read our messages: {why}", registration, latest)
        return latest
    found = _lookup(client, settings, registration)
    if found is None:
        raise SchemaRefused(
            f"{registration.subject}: the schema of table {registration.table} is not registered, and Auto_Register is "
            f"false; register it, or let the integrator do it:\n{pretty(registration.text)}",
            registration.table,
        )
    return found


def _id(settings: RegistrySettings, registration: Registration, found: RegisteredSchema) -> SchemaId:
    if found.schema_id is None:
        raise EnvironmentFault(f"{registration.subject}: the registry gave no id for the schema")
    check_id(found.schema_id, registration.subject)
    if settings.in_header and not found.guid:
        raise ConfigurationError(
            f"{registration.subject}: the registry gives no GUID, which Schema_Id_In: HEADER needs; use PREFIX, or "
            "another registry"
        )
    if settings.in_header and not is_guid(found.guid):
        raise EnvironmentFault(f"{registration.subject}: the registry gave {printable(found.guid)}, which is no GUID")
    return SchemaId(found.schema_id, found.guid if settings.in_header else None)


def _latest(client: SchemaRegistryClient, settings: RegistrySettings, subject: str) -> RegisteredSchema | None:
    return _checked_answer(if_there(lambda: client.get_latest_version(subject), settings.access))


def _lookup(
    client: SchemaRegistryClient, settings: RegistrySettings, registration: Registration
) -> RegisteredSchema | None:
    schema = Schema(registration.text, registration.type)
    try:
        found = client.lookup_schema(registration.subject, schema, settings.normalize)
    except Exception as error:  # noqa: BLE001 - the client's kinds are many; each is explained
        if says_none(error):
            return None
        raise refused(error, settings.access, registration, None) from None
    return _checked_answer(found)


def _checked_answer(found: RegisteredSchema | None) -> RegisteredSchema | None:
    """Return an answer. Raises EnvironmentFault for one that is no registry's."""
    if found is None:
        return None
    if found.schema_id is not None:  # where it has none, that is said by who needs it
        check_id(found.schema_id, printable(found.subject))
    check_text(found.schema, printable(found.subject))
    return found
