"""Kafka_Brokers -> addresses that librdkafka can resolve."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from typing_extensions import TypedDict

from integrator.channel.secret import Secrets
from integrator.names import meant

DEFAULT_PORT = 9092
_PARTS = ("host", "port")


class _HostAndPort(TypedDict, total=False):
    host: str
    port: int


def of_parts(given: Any) -> Any:
    """Return a broker that is given by its host and port, as HVR has it, as host:port, and anything else as it is.

    Raises ValueError for a mapping that does not name a host, or has other keys.
    """
    if not isinstance(given, dict) or not given.keys() & set(_PARTS):
        return given
    for key in given:
        if key not in _PARTS:
            raise ValueError(f"a broker has no {key!r}; {meant(str(key), list(_PARTS), 'it has')}")
    host, port = given.get("host"), given.get("port", DEFAULT_PORT)
    if not isinstance(host, str) or not host or not isinstance(port, int | str) or isinstance(port, bool):
        raise ValueError(f"a broker is {{host: NAME, port: {DEFAULT_PORT}}}, or NAME:{DEFAULT_PORT} as text")
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


Brokers = Annotated[
    list[Annotated[str, BeforeValidator(of_parts, json_schema_input_type=str | _HostAndPort)]], Field(min_length=1)
]
BROKERS = "The brokers, each as host:port, or as HVR has it, {host: NAME, port: 9092}; the default port is 9092."
_PORTS = range(1, 65536)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+._-]*://")
_PROTOCOLS = {
    "ssl": "; for TLS write Kafka_Tls: true",
    "sasl_ssl": "; for TLS write Kafka_Tls: true, for SASL Kafka_Authentication_Method",
    "sasl_plaintext": "; for SASL write Kafka_Authentication_Method",
}
_HOST = re.compile(r"\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?\.?")


def hide(brokers: Sequence[str], secrets: Secrets) -> None:
    """I7: know the passwords that stand in brokers, where none belongs, before they can be shown."""
    for broker in brokers:
        if "@" in broker:
            secrets.add(broker.rpartition("@")[0].rpartition("/")[2].partition(":")[2])


def wrong_brokers(brokers: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield of brokers that are no host and port their places, and what is wrong; librdkafka would never find them."""
    for at, broker in enumerate(brokers):
        if "@" in broker:
            yield at, "a broker is host:port; for a user, use Stream_User and Stream_Password"
        elif wrong := _wrong_broker(broker):
            yield at, f"{broker!r} {wrong}"


def bootstrap(brokers: Sequence[str]) -> str:
    """Return brokers as librdkafka's bootstrap.servers."""
    return ",".join(map(address_of, brokers))


def _wrong_broker(broker: str) -> str:
    """Return what is wrong with a broker's address, and what to write; nothing where it is one."""
    tight = "".join(broker.split())
    if "," in broker:
        listed = ", ".join(f'"{one}"' for one in tight.split(",") if one)
        return f"is several brokers in one text; write [{listed}]"
    scheme = _SCHEME.match(tight)
    if scheme:
        bare = tight[scheme.end() :].partition("/")[0]
        return f"has a scheme; write {bare}{_PROTOCOLS.get(scheme[0][:-3].lower(), '')}"
    if tight != broker or not broker:
        return f"has blanks; write {tight}" if tight else "is empty; write host:port"
    host, port = _host_and_port(broker)
    if host.count(":") and not host.startswith("["):
        return f"is an IPv6 address without brackets; write [{host}]:{port}, or [{broker}] for the port {DEFAULT_PORT}"
    if port is not None and not (port.isascii() and port.isdigit() and int(port) in _PORTS):
        return f"has no port from 1 to 65535 after its colon; write {host}:{DEFAULT_PORT}, or the port that it has"
    return (
        "" if _HOST.fullmatch(host) else f"has no host before its port; write host:port, such as kafka1:{DEFAULT_PORT}"
    )


def _host_and_port(broker: str) -> tuple[str, str | None]:
    if broker.startswith("["):
        host, bracket, rest = broker.partition("]")
        return host + bracket, rest.removeprefix(":") if rest else None
    host, colon, port = broker.rpartition(":")
    return (host, port) if colon else (broker, None)


def address_of(broker: str) -> str:
    """Return a broker's address with its port."""
    return broker if _host_and_port(broker)[1] is not None else f"{broker}:{DEFAULT_PORT}"
