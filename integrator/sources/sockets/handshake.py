"""A sender's hello, its first line: `{"hello": {"sender": "shop-1", "secret": "…", "from": 1001}}`."""

from __future__ import annotations

import hmac
import json
import re
from dataclasses import dataclass

from integrator.sources.sockets.endpoint import Refused

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BEGINNING = b'{"hello"'
_MEMBERS = (("sender", ""), ("from", 1), ("secret", ""))


@dataclass(frozen=True)
class Hello:
    """A sender's name, and the number of its first line; None where it does not count its lines."""

    sender: str
    first: int | None


def is_hello(line: bytes) -> bool:
    """Return whether a line is meant as a hello."""
    return line.replace(b" ", b"").startswith(_BEGINNING)


def hello_of(line: bytes, secret: str | None) -> Hello:
    """Return the members of a hello. Raises Refused for what is none, or has another secret than the channel's."""
    try:
        members = json.loads(line)["hello"]
        name, first, given = (members.get(member, usual) for member, usual in _MEMBERS)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(f"a hello that cannot be read: {error}") from None
    if not isinstance(name, str) or type(first) is not int or not isinstance(given, str):
        raise Refused("a hello has sender and secret, which are text, and from, which is a whole number")
    if secret is not None and not hmac.compare_digest(given.encode(errors="replace"), secret.encode()):
        raise Refused("the secret does not match")
    if first < 1:
        raise Refused(f"it begins with line {first}; lines are counted from 1 on")
    if not _NAME.fullmatch(name):
        raise Refused("a sender's name has 1 to 64 letters, digits, - and _")
    return Hello(name, first if "from" in members else None)
