"""What a schema registry is asked. Each answer is checked: what is none of a registry's is an error.

The client is the vendor's (https://github.com/confluentinc/confluent-kafka-python), which tries again what fails for a
moment, and the next URL when one is down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from confluent_kafka.schema_registry import RegisteredSchema, Schema, SchemaRegistryClient

from integrator.contracts.registry_access import RegistryAccess
from integrator.contracts.written_schema import SchemaKind, WrittenSchema
from integrator.errors import ConfigurationError, EnvironmentFault
from integrator.registry.bounded import MOST_ID, BoundedSession, is_id, printable
from integrator.registry.explained import explained, says_none

_MOST_REFERENCES = 1000
_TYPES: dict[str, SchemaKind] = {"AVRO": "AVRO", "PROTOBUF": "PROTOBUF", "JSON": "JSON"}
Answer = TypeVar("Answer")


def client_of(access: RegistryAccess) -> SchemaRegistryClient:
    """Return the vendor's client. Raises ConfigurationError."""
    try:
        client = SchemaRegistryClient.new_client(dict(access.client))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the schema registry's client cannot be made: {error}; see Schema_Registry") from None
    rest: Any = client._rest_client  # noqa: SLF001 - the client has no other door to its HTTP session
    rest.session = BoundedSession(rest.session, access.timeout_s)
    return client


def if_there(ask: Callable[[], Answer], access: RegistryAccess, where: str = "") -> Answer | None:
    """Return what the registry answers, or None where it has no such thing. Raises what is wrong otherwise.

    where: what is asked for, for errors.
    """
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - the client's kinds are many; each is explained
        if says_none(error):
            return None
        raise explained(error, access, where) from None


def check_id(found: object, where: str) -> None:
    """Raise EnvironmentFault for what is no id of a schema."""
    if not is_id(found):
        raise EnvironmentFault(
            f"{where}: the registry gave the id {printable(found)}; ids are whole numbers from 1 to "
            f"{MOST_ID}: mend the registry, or Kafka_Schema_Registry, if that is another server"
        )


def check_text(schema: Schema, where: str) -> None:
    """Raise EnvironmentFault for a schema that is no text."""
    if not isinstance(schema.schema_str, str | None):
        raise EnvironmentFault(f"{where}: the registry gave a schema that is no text")


class Schemas:
    """Schemas that records were written with."""

    def __init__(self, access: RegistryAccess) -> None:
        """Connect to nothing yet. Raises ConfigurationError."""
        self._access, self._client = access, client_of(access)

    def by_id(self, schema_id: int) -> WrittenSchema | None:
        """Return the schema of an id, with what it imports; None where the registry has none. IntegratorError."""
        where = f"schema {schema_id}"
        found = if_there(lambda: self._client.get_schema(schema_id), self._access, where)
        return None if found is None else self._written(found, where)

    def latest(self, subject: str) -> tuple[int, WrittenSchema] | None:
        """Return the id and the schema of a subject's latest version; None where there is none. IntegratorError."""
        found = if_there(lambda: self._client.get_latest_version(subject), self._access, subject)
        if found is None:
            return None
        check_id(found.schema_id, subject)
        return int(found.schema_id or 0), self._written(found.schema, subject)

    def _version(self, subject: str, number: int) -> RegisteredSchema | None:
        return if_there(lambda: self._client.get_version(subject, number), self._access, subject)

    def _written(self, schema: Schema, where: str) -> WrittenSchema:
        check_text(schema, where)
        kind = schema.schema_type or "AVRO"
        if kind not in _TYPES:
            raise EnvironmentFault(
                f"{where}: the registry has it as {printable(kind)}; accepted are {', '.join(_TYPES)}"
            )
        imported: dict[str, str] = {}
        self._add_references(schema, where, imported)
        return WrittenSchema(_TYPES[kind], schema.schema_str or "", tuple(imported.items()))

    def _add_references(self, schema: Schema, where: str, imported: dict[str, str]) -> None:
        """Add what a schema imports, and what that imports before it. Raises IntegratorError."""
        for one in schema.references or ():
            name, subject, version = str(one.name), str(one.subject), int(one.version or 0)
            if name in imported:
                continue
            if len(imported) >= _MOST_REFERENCES:
                raise EnvironmentFault(f"{where}: it refers to over {_MOST_REFERENCES} schemas")
            found = self._version(subject, version)
            if found is None:
                raise EnvironmentFault(
                    f"{where}: it refers to version {version} of {printable(subject)}, which the registry does not "
                    "have; register it again"
                )
            check_text(found.schema, subject)
            self._add_references(found.schema, where, imported)
            imported[name] = found.schema.schema_str or ""
