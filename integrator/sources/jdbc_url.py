"""The URL of a database, as its JDBC driver reads it.

https://jdbc.postgresql.org/documentation/use/, https://dev.mysql.com/doc/connector-j/en/connector-j-reference-jdbc-url-format.html,
https://learn.microsoft.com/sql/connect/jdbc/building-the-connection-url,
https://www.ibm.com/docs/en/db2-for-zos/13.0.0?topic=cdsudidsdjs-url-format-data-server-driver-jdbc-sqlj-type-2-connectivity.
"""

from __future__ import annotations

import re

from integrator.names import nearest

_ALIASES = {"postgres": "postgresql", "mssql": "sqlserver", "maria": "mariadb"}
_KNOWN = ("postgresql", "mysql", "mariadb", "sqlserver", "oracle", "db2")
_WITH_DATABASE = ("postgresql", "mysql", "mariadb", "db2")
_LOCAL = {"postgresql": r"[\w-]+(\?.*)?", "db2": r"[\w-]+(:.*=.*;)?"}
"""A database without a host, and what may follow it: of this machine, or that Db2's client knows by its name."""
_EXAMPLES = {
    "sqlserver": "jdbc:sqlserver://HOST:1433;databaseName=DATABASE",
    "oracle": "jdbc:oracle:thin:@//HOST:1521/SERVICE",
}
_HOST = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[\w.-]+)(\\\w+)?(:(?P<port>[^:]*))?")
"""A host, an instance of SQL Server's, and a port."""


def wrong_url(url: str) -> str:
    """Return what is wrong with a JDBC URL, and what to write; nothing where it may be one. The URL is not shown."""
    _, database, rest = url.split(":", 2)
    if database not in _KNOWN:
        near = _ALIASES.get(database) or nearest(database, _KNOWN)
        return f"no driver takes jdbc:{database}: URLs; write jdbc:{near}:" if near else ""
    example = _EXAMPLES.get(database, f"jdbc:{database}://HOST:PORT/DATABASE")
    if database == "oracle":
        return "" if "@" in rest else f"it has no @ before the host; write {example}"
    found = re.match(r"(?:\w+:)*//([^/;?]*)(/([^?;]*))?", rest)
    if found is None:
        is_local = database in _LOCAL and re.fullmatch(_LOCAL[database], rest)
        return "" if is_local else f"it has no // before the host; write {example}"
    hosts, _, name = found.groups()
    wrong = next((one for one in hosts.rpartition("@")[2].split(",") if "(" not in one and _is_wrong(one)), None)
    if wrong is not None:
        shown = "the host" if "@" in rest else repr(wrong)  # I7: a password may stand before the host
        return f"{shown} has no port that can be; write HOST:PORT, with a port from 1 to 65535"
    if database in _WITH_DATABASE and not name:
        return f"it names no database; write {example}"
    return ""


def _is_wrong(host: str) -> bool:
    found = _HOST.fullmatch(host)
    if found is None:
        return True
    port = found["port"]
    return port is not None and not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65535)
