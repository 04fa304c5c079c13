"""Errors of the registry's client -> ours: who acts, on what."""

from __future__ import annotations

from confluent_kafka.schema_registry.error import SchemaRegistryError

from integrator.contracts.registry_access import RegistryAccess
from integrator.errors import ConfigurationError, EnvironmentFault, IntegratorError, RegistryAway
from integrator.registry.bounded import AnswerTooLarge, printable

NOT_FOUND = 404
DENIED = (401, 403)
BUSY = (408, 429)
FAILED = 500
"""And above: errors of a server, which time may mend (RFC 9110, section 15.6)."""
REDIRECTED = (301, 302, 303, 307, 308)


def says_none(error: Exception) -> bool:
    """Return whether a registry answers that it has no such thing: any web server answers 404, without such a code."""
    if not isinstance(error, SchemaRegistryError) or error.http_status_code != NOT_FOUND:
        return False
    code = str(error.error_code)
    return code.startswith(str(NOT_FOUND)) and code != str(NOT_FOUND)


def explained(error: Exception, access: RegistryAccess, where: str = "") -> IntegratorError:
    """Return our error for one of the client's. where: what was asked for."""
    where = f"{where}: " if where else ""
    urls = ", ".join(access.urls)
    if not isinstance(error, SchemaRegistryError):
        if isinstance(error, AnswerTooLarge):
            return EnvironmentFault(
                f"{where}the server at {urls} gives {error}, which no schema registry does; mend "
                "Kafka_Schema_Registry; nothing was sent"
            )
        reason = f"{type(error).__name__}: {printable(error)}"
        return RegistryAway(
            f"{where}no schema registry answers at {urls} ({reason}); start it, or mend "
            "Kafka_Schema_Registry; nothing was sent"
        )
    message = printable(error.error_message or "")
    if error.http_status_code == NOT_FOUND and not says_none(error):
        return ConfigurationError(
            f"{where}the server at {urls} is no schema registry: it has nothing at such a path (404); mend "
            "Kafka_Schema_Registry (of Apicurio it ends in /apis/ccompat/v7, of Cloudera in /api/v1/confluent)"
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
    if error.http_status_code in BUSY or error.http_status_code >= FAILED:
        return RegistryAway(
            f"{where}the registry at {urls} fails now ({error.http_status_code}: {message}); mend it; nothing was sent"
        )
    return EnvironmentFault(f"{where}the registry at {urls} failed: {error.http_status_code} {message}")
