"""A schema registry's URL and user, as other products have them -> those of the Kafka location, without secrets."""

from __future__ import annotations

import re
from urllib.parse import unquote

from integrator.imports.draft import Draft

PREFIX = "SCHEMA_REGISTRY"
"""Of the environment variables that have the registry's secrets."""
_USER_INFO = re.compile(r"(\w+://)((?:\$\{[^}]*\}|(?!\$\{)[^/?#\s])*)@(.*)")
"""A URL with a user (RFC 3986, section 3.2.1), or with references of Kafka Connect's in the place of one."""
_INFO = re.compile(r"((?:\$\{[^}]*\}|(?!\$\{)[^:])*)(?::(.*))?", re.DOTALL)
"""user:password; a reference has colons of its own."""


def import_url(text: str, key: str, draft: Draft) -> str | list[str]:
    """Return the registry's URL, or its URLs, without users; the first user that stands in one is set."""
    urls = []
    for url in filter(None, map(str.strip, text.split(","))):
        found = _USER_INFO.fullmatch(url)
        if found is not None and "Kafka_Schema_User" not in draft.kafka:
            take_user(found[2], key, draft, decode=True)
        bare = url if found is None else found[1] + found[3]
        urls.append(draft.secret(key, f"{PREFIX}_URL", None, "http://localhost:8081") if "${" in bare else bare)
    return urls[0] if len(urls) == 1 else urls


def take_user(info: str, key: str, draft: Draft, *, decode: bool = False) -> None:
    """Set the user and password of user:password. decode: it is of a URL, and may have signs as %XX."""
    found = _INFO.fullmatch(info)
    user, password = (found[1], found[2]) if found is not None else (info, None)
    if "${" in user:
        user = draft.secret(f"{key}: its user", f"{PREFIX}_USER", None)
    elif password is None:
        draft.report.todo(f"{key} has no password: give Kafka_Schema_User and Kafka_Schema_Registry_Password")
        return
    draft.kafka["Kafka_Schema_User"] = unquote(user) if decode else user
    secret = None if not password or "${" in password else unquote(password) if decode else password
    draft.kafka["Kafka_Schema_Registry_Password"] = draft.secret(f"the password of {key}", f"{PREFIX}_PASSWORD", secret)
