"""Whether an address of a channel is reached from this machine alone, and whether it can be listened on."""

from __future__ import annotations

import errno
import ipaddress
import socket

NOT_HERE = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})
"""Errors of `localhost` in IPv6, where the machine has none."""


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine by its name or address alone; no name is looked up."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def why_not_listened(address: str) -> str | None:
    """Return why host:port cannot be listened on, at any of its addresses that this machine has; None where it can."""
    host, _, port = address.rpartition(":")
    reason, is_free = "", False
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        found, reason = [], error.strerror or str(error)
    for family, kind, protocol, _, place in found:
        try:
            with socket.socket(family, kind, protocol) as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                tried.bind(place)
            is_free = True
        except OSError as error:
            if error.errno not in NOT_HERE:
                is_free, reason = False, error.strerror or str(error)
                break
            reason = error.strerror or str(error)
    if is_free:
        return None
    return f"{address} cannot be listened on: {reason}; choose another port, or end the process that has this one"
