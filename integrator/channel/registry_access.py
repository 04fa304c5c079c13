"""A schema registry as a Kafka location has it, at either end."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from integrator.channel.access import RegistryLocation
from integrator.channel.paths import as_known, no_file
from integrator.channel.problems import Report
from integrator.channel.secret import Secrets
from integrator.contracts.registry_access import RegistryAccess

NEEDS_URL = "needs Kafka_Schema_Registry, the registry's URL, beside it"


_OF_REGISTRY = ("Kafka_Schema_User", "Kafka_Schema_Registry_Password", "Schema_Registry")
"""The keys that are for a registry."""


def access_of(location: RegistryLocation, report: Report, secrets: Secrets | None = None) -> RegistryAccess | None:
    """Return how the location's registry is reached; None where it has none. What is wrong is reported."""
    access, given = location.Schema_Registry, location.Kafka_Schema_Registry
    if given is None:
        for key in _OF_REGISTRY:
            if key in location.model_fields_set:
                report(key, NEEDS_URL)
        return None
    urls = tuple(url.strip().rstrip("/") for url in ([given] if isinstance(given, str) else given))
    _check_urls(urls, secrets, report)
    _check_user(location, report)
    for key in ("CA_Certificate", "Client_Certificate", "Client_Private_Key"):
        file = getattr(access, key)
        if file is not None and (why := no_file(file)):
            report(f"Schema_Registry/{key}", f"{why} {as_known(file)!r}; a PEM file is expected")
    for secret in (location.Kafka_Schema_Registry_Password, access.Bearer_Token, access.Client_Private_Key_Password):
        if secrets is not None:
            secrets.add(secret or "")
    return RegistryAccess(urls, _client(location, urls), access.Timeout_Seconds)


def _check_urls(urls: Iterable[str], secrets: Secrets | None, report: Report) -> None:
    for url in urls:
        if "@" in url:  # I7: user and password stand before it
            if secrets is not None:
                secrets.add(url.rpartition("@")[0].rpartition("/")[2].partition(":")[2])
            text = "a URL has no user; use Kafka_Schema_User and Kafka_Schema_Registry_Password"
            report("Kafka_Schema_Registry", text)
        elif wrong := _wrong_url(url):
            report("Kafka_Schema_Registry", f"{url!r} {wrong}")


def _check_user(location: RegistryLocation, report: Report) -> None:
    """Report a user without password, or one beside a token."""
    user, password = location.Kafka_Schema_User, location.Kafka_Schema_Registry_Password
    if (user is None) != (password is None):
        there, absent = ("Kafka_Schema_User", "Kafka_Schema_Registry_Password")[:: 1 if password is None else -1]
        report(there, f"needs {absent} beside it")
    if user is not None and location.Schema_Registry.Bearer_Token is not None:
        report("Schema_Registry", "user and password, or a Bearer_Token, but not both")


def _client(location: RegistryLocation, urls: Iterable[str]) -> dict[str, str | float]:
    """Return the properties of the vendor's client."""
    access, user = location.Schema_Registry, location.Kafka_Schema_User
    client: dict[str, str | float | None] = {
        "url": ",".join(urls),
        "timeout": access.Timeout_Seconds,
        "max.retries": access.Retries,
        "basic.auth.user.info": f"{user}:{location.Kafka_Schema_Registry_Password}" if user is not None else None,
        "ssl.ca.location": access.CA_Certificate,
        "ssl.certificate.location": access.Client_Certificate,
        "ssl.key.location": access.Client_Private_Key,
        "ssl.key.password": access.Client_Private_Key_Password,
    }
    if access.Bearer_Token is not None:
        client |= {
            "bearer.auth.credentials.source": "STATIC_TOKEN",
            "bearer.auth.token": access.Bearer_Token,
            "bearer.auth.logical.cluster": "",
        }
    return {key: value for key, value in client.items() if value is not None}


def _wrong_url(url: str) -> str:
    """Return what is wrong with a registry's URL, and what to write; nothing where it is one."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        return f"is no URL: {error}; write http://HOST:8081"
    if parts.scheme not in ("http", "https"):
        bare = url.partition("://")[2] or url
        return f"is no URL of a registry; write http://{bare}, or https://{bare}"
    if not host or url.split() != [url] or port == 0:
        return "is no URL of a registry; write http://HOST:8081"
    return ""
