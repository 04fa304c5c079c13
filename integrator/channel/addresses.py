"""Whether an address of a channel is reached from this machine alone, and whether it can be listened on."""

from __future__ import annotations

import ipaddress
import socket


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine by its name or address alone; no name is looked up."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def why_not_listened(address: str) -> str | None:
    """Return why host:port cannot be listened on; None where it can."""
    host, _, port = address.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, place in found:
            with socket.socket(family, kind, protocol) as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                tried.bind(place)
    except OSError as error:
        reason = error.strerror or str(error)
        return f"{address} cannot be listened on: {reason}; choose another port, or end the process that has this one"
    return None
