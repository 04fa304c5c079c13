"""The location of a database that is captured, in the place of another product's."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from integrator.imports.draft import Draft

PASSWORD = "DATABASE_PASSWORD"  # noqa: S105 - the variable's name
_SCHEMES = {"postgres": "postgresql"}
_PORTS = {"postgres": 5432, "mysql": 3306, "mariadb": 3306}
AGAIN = (
    "the rows that tables have are sent again, for it is not given where {} stopped; with `snapshot: never` changes "
    "alone are sent, from the first start on, and those between are not"
)


def address_of(
    kind: str, given: Mapping[str, str], draft: Draft, secret: str = "", parameters: Mapping[str, str] | None = None
) -> str:
    """Return the address of a database, and note what the author must give.

    kind: the location's class. given: host, port, user, database and password, as far as they are known. secret: what
    the other product calls the password; empty where there is none. parameters: those after the address's ?.
    """
    if not given.get("host"):
        draft.report.todo("the database's host is not in the file: write it into `address` of the source location")
    host = given.get("host") or "localhost"
    host = f"[{host}]" if ":" in host else host
    user = quote(given.get("user") or "USER", safe="")
    if secret:
        password = given.get("password")
        known = None if password is None or "${" in password else quote(password, safe="")
        user += f":{draft.secret(f'{secret}, in an address (odd letters as %40),', PASSWORD, known)}"
    database = given.get("database")
    path = f"/{quote(database, safe='')}" if database else ""
    query = urlencode(parameters, safe="/") if parameters else ""
    scheme, port = _SCHEMES.get(kind, kind), given.get("port") or _PORTS[kind]
    return f"{scheme}://{user}@{host}:{port}{path}{'?' if query else ''}{query}"
