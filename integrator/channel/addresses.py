"""Addresses of a channel: which are reached from this machine alone, and sockets that listen at them."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket

_NOT_HERE = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})
"""Errors of `localhost` in IPv6, where the machine has none."""


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine by its name or address alone; no name is looked up."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listening(host: str, port: int, backlog: int | None = None) -> list[socket.socket]:
    """Return sockets that listen at all addresses of a host that this machine has. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    places = dict.fromkeys((family, place[:2]) for family, _, _, _, place in found)
    opened: list[socket.socket] = []
    refused: OSError | None = None
    for family, place in places:
        try:
            opened.append(socket.create_server(place, family=family, backlog=backlog))
        except OSError as error:
            refused = error
            if error.errno not in _NOT_HERE:
                break
    if refused is not None and (not opened or refused.errno not in _NOT_HERE):
        for one in opened:
            one.close()
        raise refused
    return opened


def why_not_listened(address: str) -> str | None:
    """Return why host:port cannot be listened on; None where it can. It is listened on for a moment."""
    host, _, port = address.rpartition(":")
    try:
        for one in listening(host.strip("[]"), int(port)):
            one.close()
    except OSError as error:
        number = error.errno or 0  # below 0: a name is not resolved
        reason = os.strerror(number) if number > 0 else error.strerror or str(error)
        return f"{address} cannot be listened on: {reason}; choose another port, or end the process that has this one"
    return None
