"""Sessions at a MySQL or MariaDB server, and what of it is shown."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from typing_extensions import Self

from integrator.errors import EnvironmentFault, SourceAway, shortened
from integrator.sources.binlog.packets import Packets, pymysql
from integrator.sources.binlog.product import product_of

NO_ADDRESS = (
    "the address is none: write {scheme}://USER@HOST:PORT, or …/DATABASE for the tables of one database, with odd "
    "letters as %40; after a ? there may be {parameters}"
)
PASSWORD_VARIABLE = "MYSQL_PWD"  # noqa: S105 - its name
"""The variable by which clients take a password (https://mariadb.com/kb/en/mariadb-environment-variables/)."""
SCHEMES = ("mysql", "mariadb")
_PARAMETERS = ("ssl_mode", "ssl_ca", "ssl_cert", "ssl_key")
_OPEN = frozenset(("disabled", "preferred"))
_MODES = ("disabled", "preferred", "required", "verify_ca", "verify_identity")
_CONNECT_S, _ANSWER_S, _PORT = 10, 3600, 3306
_QUERY = 0x03
_AWAY = frozenset(
    (2002, 2003, 2006, 2013, 1040, 1047, 1053, 1080, 1158, 1159, 1160, 1161, 1203, 1205, 1213, 1317, 1412, 1927, 1146,
     1049, 1054, 1226, 3032, 4031, 0)
)  # fmt: skip
"""Errors after which it is tried again: the server is away, is busy, ends, or a table was altered while it was read.

Numbers are those of https://mariadb.com/kb/en/mariadb-error-codes/ and, of a client, of
https://dev.mysql.com/doc/mysql-errors/en/client-error-reference.html.
"""
_MISSING, _LIMITS = frozenset((1049, 1054, 1146)), frozenset((1040, 1203, 1226))
_REFUSED = frozenset((1044, 1045, 1130))
"""Access denied, to a database or at all, and a host that may not connect."""
_ACCESS = (
    f"mend the user or the password: as {PASSWORD_VARIABLE} in the environment, in the file that the address names, or "
    "in the address, odd letters as %40"
)


@dataclass(frozen=True)
class Address:
    """Where a server is, and who asks. ssl: arguments of PyMySQL. is_encrypted: whether a connection must be."""

    host: str
    port: int
    user: str
    password: str | None = field(repr=False)
    database: str | None
    ssl: dict[str, Any]
    is_encrypted: bool = False


def address_of(text: str) -> Address:
    """Return what an address says. Raises ValueError."""
    parts = urlsplit(text)
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    mode = given.get("ssl_mode", "preferred").lower()
    if parts.scheme not in SCHEMES or not parts.hostname or not parts.username or mode not in _MODES:
        raise ValueError(text)
    if set(given) - set(_PARAMETERS) or "/" in parts.path[1:]:
        raise ValueError(text)
    arguments: dict[str, Any] = {name: value for name, value in given.items() if name != "ssl_mode"}
    if mode == "disabled":
        arguments = {"ssl_disabled": True}
    elif mode != "preferred" or arguments:
        arguments["ssl_verify_cert"] = mode.startswith("verify") or ("ssl_ca" in arguments and mode == "preferred")
        arguments["ssl_verify_identity"] = mode == "verify_identity"
        arguments.setdefault("ssl", {"check_hostname": False, "verify_mode": False} if mode == "required" else {})
    password = unquote(parts.password) if parts.password is not None else os.environ.get(PASSWORD_VARIABLE)
    database = unquote(parts.path[1:]) or None
    return Address(
        parts.hostname, parts.port or _PORT, unquote(parts.username), password, database, arguments, mode not in _OPEN
    )


class LimitFault(SourceAway):
    """All connections that the server, or our user, may have are used."""


class MissingName(SourceAway):
    """A query names a database, a table or a column that does not exist, or does not exist any more."""


class Server:
    """A server, by its address. Nothing is asked before a session is opened."""

    def __init__(self, address: str) -> None:
        """Take an address: mysql://USER@HOST:PORT/DATABASE, or mariadb://…, whichever of them is there."""
        self._address = address

    @property
    def shown(self) -> str:
        """Host and port; nothing secret (I7)."""
        try:
            given = address_of(self._address)
        except ValueError:
            return "the database"
        return f"{given.host}:{given.port}"

    @property
    def problem(self) -> str | None:
        """What is wrong with the address, without the address, which may have a password (I7); None if nothing is."""
        try:
            address_of(self._address)
        except ValueError:
            return NO_ADDRESS.format(scheme=" or ".join(SCHEMES), parameters=", ".join(_PARAMETERS))
        return None

    @property
    def database(self) -> str | None:
        """The database that the address names."""
        return None if self.problem else address_of(self._address).database

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Raise SourceAway where the server does not answer, and EnvironmentFault for what it refuses."""
        try:
            yield
        except pymysql.MySQLError as error:
            code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
            kind = SourceAway if code in _AWAY else EnvironmentFault
            if code in _MISSING or code in _LIMITS:
                kind = MissingName if code in _MISSING else LimitFault
            access = f"; {_ACCESS}" if code in _REFUSED else ""
            raise kind(f"{self.shown}: {shortened(str(error.args[-1] if error.args else error))}{access}") from None
        except OSError as error:
            raise SourceAway(f"{self.shown}: {error.strerror or error}") from None

    def session(self) -> Session:
        """Return a session. Raises SourceAway, EnvironmentFault."""
        if problem := self.problem:
            raise EnvironmentFault(problem)
        given = address_of(self._address)
        try:
            with self.asked():
                connection = pymysql.connect(
                    host=given.host,
                    port=given.port,
                    user=given.user,
                    password=(given.password or "").encode(),
                    charset="utf8mb4",
                    autocommit=True,
                    connect_timeout=_CONNECT_S,
                    read_timeout=_ANSWER_S,
                    program_name="integrator",
                    **given.ssl,
                )
        except RuntimeError as error:  # PyMySQL has no encryption of its own for passwords
            raise EnvironmentFault(
                f"{self.shown}: {error}: install that package; for caching_sha2_password TLS at the server will do"
            ) from None
        session = Session(self, connection)
        if given.is_encrypted and not isinstance(connection._sock, ssl.SSLSocket):  # noqa: SLF001 - nothing else says it
            session.close()
            raise EnvironmentFault(f"{self.shown}: the server has no TLS, which the address asks for (ssl_mode)")
        try:
            session.run(session.product.settings)
        except BaseException:
            session.close()
            raise
        return session


class Session:
    """An open session. product: the server's."""

    def __init__(self, server: Server, connection: Any) -> None:
        self.server, self.connection = server, connection
        self.product = product_of(connection.get_server_info())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the session, whatever it does: nothing is waited for."""
        self.connection._force_close()  # noqa: SLF001 - close() would wait for what a server that is gone says

    def run(self, sql: str, values: Sequence[object] | None = None) -> None:
        """Run a statement without an answer. Raises SourceAway, EnvironmentFault."""
        self.rows(sql, values)

    def rows(self, sql: str, values: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises as `run`."""
        with self.server.asked(), self.connection.cursor() as cursor:
            cursor.execute(sql, values)
            return list(cursor.fetchall())

    def is_running(self) -> bool:
        """Return whether the server still answers what this session asked; another session asks. Raises as `run`."""
        with self.server.session() as other:
            return any(row[0] == self.connection.thread_id() for row in other.rows("show processlist"))

    def try_condition(self, table: str, where: str) -> None:
        """Have the server read a condition on the rows of a table, SCHEMA.TABLE. Raises as `run`.

        Names in it may be those of that schema. One that does not exist is EnvironmentFault here: the condition has it,
        so that another try cannot help. It is read without parentheses, too, so that it is one condition.
        """
        schema, _, name = table.partition(".")
        self.run(f"use {quoted(schema)}")
        try:
            for condition in (where, f"({where})"):
                self.rows(f"select 1 from {quoted(schema)}.{quoted(name)} where {condition} limit 0")  # noqa: S608
        except MissingName as missing:
            raise EnvironmentFault(str(missing)) from None

    def send(self, command: int, payload: bytes) -> Packets:
        """Send a command whose answer the caller reads. Raises as `run`."""
        with self.server.asked():
            self.connection._execute_command(command, payload)  # noqa: SLF001 - PyMySQL has no other way
            return Packets(self.connection)

    def query(self, sql: str) -> Packets:
        """Send a query whose answer the caller reads. Raises as `run`."""
        return self.send(_QUERY, sql.encode())


def quoted(name: str) -> str:
    """Return a name as SQL has it."""
    return "`" + name.replace("`", "``") + "`"
