"""Sessions at a PostgreSQL server, and what of it is shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from typing_extensions import Self

from integrator.errors import EnvironmentFault, SourceAway, shortened
from integrator.extras import Library

psycopg2: Any = Library("postgres", "a PostgreSQL", "psycopg2", "errors", "extras")

_SETTINGS = {
    "client_encoding": "UTF8",
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "extra_float_digits": "3",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "lock_timeout": "0",
    "row_security": "off",
    "standard_conforming_strings": "on",
}
"""By which values are written as text: the same in the stream and in COPY, whatever a user or database sets; by which
nothing is given up; and by which a query that policies would hide rows from is an error."""
_SINCE = {"jit": 110000, "idle_session_timeout": 140000, "transaction_timeout": 170000}
"""Settings that are 0, and the versions that have them: no query is compiled, for that takes longer than a catalogue's
query itself; and nothing is given up."""
_REPORTED = ("client_encoding", "DateStyle", "IntervalStyle", "TimeZone")
"""Those of them that a server reports to clients (https://www.postgresql.org/docs/current/libpq-status.html)."""
_UNREPORTED = ["extra_float_digits", "bytea_output", "lc_monetary"]
_VARIABLES = ("PGTZ", "PGDATESTYLE", "PGOPTIONS")
"""By which libpq has settings of its own (https://www.postgresql.org/docs/current/libpq-envars.html)."""
_NO_ENCODING = "SQL_ASCII"
"""Of a database whose text is any bytes, which no client encoding but the same one can be sent in
(https://www.postgresql.org/docs/current/multibyte.html)."""
_OF_TABLES = ("54", "58")
"""Classes of errors that psycopg2 has as those of a connection, and that are of one table: a row that is too large, its
file, a library that its types need (https://www.postgresql.org/docs/current/errcodes-appendix.html)."""
_LIMITS = ("53300", "53400")
_LIMITED = re.compile("max_wal_senders|too many (clients|connections)|remaining connection slots")
"""Errors of limits; libpq gives no code of a connection that was not made."""
_CONNECT_S = 10
_DEAD = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
"""By which the system finds that the other end of a connection is gone: within a minute, instead of two hours."""


NO_ADDRESS = (
    "the address is none that libpq takes: write postgresql://USER@HOST:PORT/DATABASE, with odd letters as %40, or "
    "host=… dbname=…, with values in '…' that have blanks"
)


_REFUSED = re.compile(
    r"no password supplied|authentication failed|no pg_hba\.conf entry|(role|database) \".*\" does not exist|"
    r"is not permitted to log in|server does not support SSL|certificate"
)
"""What libpq says of a connection that waiting does not mend: it gives no SQLSTATE of one that was not made."""
_NO_CONNECT = "User does not have CONNECT privilege"
_ACCESS = (
    "mend the user, the database or the password: as PGPASSWORD in the environment, in ~/.pgpass, in the file that the "
    "address names, or in the address with odd letters as %40"
)


class LockedFault(SourceAway):
    """A lock that others have was not had in time."""


class LimitFault(SourceAway):
    """All slots, senders or connections that the server may have are used."""


class MissingName(SourceAway):
    """A query names a table or a column that does not exist, or does not exist any more."""


class MissingFault(EnvironmentFault):
    """What is asked for by its name is not there."""


class Server:
    """A database at a server, by its address. Nothing is asked before a session is opened."""

    def __init__(self, address: str, application: str) -> None:
        """Take an address as libpq has it. application: how sessions are named in pg_stat_activity."""
        self._address, self._application = address, application

    @property
    def shown(self) -> str:
        """Host, port and database; nothing secret (I7)."""
        try:
            given = psycopg2.extensions.parse_dsn(self._address)
        except psycopg2.ProgrammingError:
            return "the database"
        if "service" in given:
            return f"service {given['service']}"
        host, port = given.get("host", given.get("hostaddr", "localhost")), given.get("port", "5432")
        return f"{host}:{port}/{given.get('dbname', given.get('user', ''))}"

    @property
    def is_address(self) -> bool:
        """Whether libpq takes the address. What it says of another one may have a part of a password in it (I7)."""
        try:
            psycopg2.extensions.parse_dsn(self._address)
        except psycopg2.ProgrammingError:
            return False
        return True

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Raise SourceAway where the server does not answer, and EnvironmentFault for what it refuses."""
        try:
            yield
        except psycopg2.errors.LockNotAvailable as error:
            raise LockedFault(f"{self.shown}: {_text(error)}") from None
        except psycopg2.errors.UndefinedObject as error:
            raise MissingFault(f"{self.shown}: {_text(error)}") from None
        except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
            code = error.pgcode or ""
            if code in _LIMITS or _LIMITED.search(str(error)):
                raise LimitFault(f"{self.shown}: {_text(error)}") from None
            kind = EnvironmentFault if code.startswith(_OF_TABLES) else SourceAway
            raise kind(f"{self.shown}: {_text(error)}") from None
        except psycopg2.Error as error:
            if type(error) is psycopg2.DatabaseError:  # none of the server's, which have kinds: the connection is cut
                raise SourceAway(f"{self.shown}: {_text(error)}") from None
            raise EnvironmentFault(f"{self.shown}: {_text(error)}") from None

    def session(self) -> Session:
        """Return a session. Raises SourceAway, EnvironmentFault."""
        with self.asked():
            connection = self._connect()
            with connection.cursor() as cursor:
                cursor.execute("select name, setting from pg_settings where name = any(%s)", [_UNREPORTED])
                lost = [name for name, value in cursor.fetchall() if value != _SETTINGS[name]]
            self._check_settings(connection, lost)
        return Session(self, connection)

    def replication(self) -> Any:
        """Return a connection of the replication protocol. Raises SourceAway, EnvironmentFault.

        Text of a database without an encoding comes as it is.
        """
        with self.asked():
            connection = self._connect(connection_factory=psycopg2.extras.LogicalReplicationConnection)
            if _has_no_encoding(connection):
                connection.set_client_encoding(_NO_ENCODING)
            return connection

    def _check_settings(self, connection: Any, lost: Sequence[str]) -> None:
        """Raise EnvironmentFault where a connection does not have our settings."""
        if lost:
            connection.close()
            of_us = [name for name in _VARIABLES if name in os.environ]
            why = f"{', '.join(of_us)} in the environment may be why: unset it, or " if of_us else ""
            raise EnvironmentFault(
                f"{self.shown}: the session does not have our settings ({', '.join(lost)}), so that values would be "
                f"written otherwise: {why}a connection pooler is in between: give the address of the server itself"
            )

    def replicate(self, command: str) -> tuple[Any, ...] | None:
        """Run a command of the replication protocol; return the row of its answer. Raises as `replication`."""
        connection = self.replication()
        try:
            with self.asked(), connection.cursor() as cursor:
                cursor.execute(command)
                row: tuple[Any, ...] | None = cursor.fetchone() if cursor.description else None
                return row
        finally:
            connection.close()

    def _connect(self, **more: Any) -> Any:
        if not self.is_address:
            raise EnvironmentFault(NO_ADDRESS)
        own = psycopg2.extensions.parse_dsn(self._address)
        options = " ".join((own.get("options", ""), *(f"-c {name}={value}" for name, value in _SETTINGS.items())))
        given = {"application_name": self._application, "connect_timeout": _CONNECT_S, **_DEAD, **own}
        try:
            connection = psycopg2.connect(**{**given, "options": options, "client_encoding": "UTF8"}, **more)
        except psycopg2.OperationalError as error:
            if _NO_CONNECT in str(error):
                raise EnvironmentFault(
                    f"{self.shown}: {_text(error)}; have a superuser run: grant connect on database "
                    f"{quoted(own.get('dbname', own.get('user', '')))} to {quoted(own.get('user', ''))}"
                ) from None
            if _REFUSED.search(str(error)):
                raise EnvironmentFault(f"{self.shown}: {_text(error)}; {_ACCESS}") from None
            raise
        there = {name: connection.info.parameter_status(name) or "" for name in _REPORTED}
        self._check_settings(connection, [name for name in there if _style(there[name]) != _SETTINGS[name.lower()]])
        if not isinstance(connection, psycopg2.extras.LogicalReplicationConnection):  # which is so by itself
            connection.autocommit = True
        with connection.cursor() as cursor:
            known = [name for name, since in _SINCE.items() if connection.server_version >= since]
            cursor.execute("; ".join(["select", *(f"set {name} = 0" for name in known)]))
        return connection


class Session:
    """An open session, each of whose statements is a transaction unless `begin` was called."""

    def __init__(self, server: Server, connection: Any) -> None:
        self.server, self._connection = server, connection

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the session."""
        self._connection.close()

    @property
    def has_no_encoding(self) -> bool:
        """Whether the database's text is any bytes."""
        return _has_no_encoding(self._connection)

    def run(self, sql: str) -> None:
        """Run a statement without an answer. Raises SourceAway, EnvironmentFault."""
        with self.server.asked(), self._connection.cursor() as cursor:
            cursor.execute(sql)

    def rows(self, sql: str, values: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises as `run`."""
        with self.server.asked(), self._connection.cursor() as cursor:
            cursor.execute(sql, values)
            found: list[tuple[Any, ...]] = cursor.fetchall()
            return found

    def try_condition(self, table: str, where: str) -> None:
        """Have the server read a condition on the rows of a table, given as SQL has it. Raises as `run`.

        It is read without parentheses, too, so that it is one condition; a semicolon would begin another statement.
        """
        if ";" in where:
            raise EnvironmentFault(f"{self.server.shown}: a condition has no semicolon; one in a text is chr(59)")
        for condition in (where, f"({where})"):
            self.run(f"explain select from {table} where {condition}")

    def copy(self, sql: str, to: Any) -> None:
        """Run a COPY TO STDOUT, whose rows are written to `to`. Raises as `run`, and what `to` raises.

        Text of a database without an encoding comes as it is.
        """
        if self.has_no_encoding:
            sql += f" with (encoding '{_NO_ENCODING}')"
        with self.server.asked(), self._connection.cursor() as cursor:
            try:
                cursor.copy_expert(sql, to)
            except (psycopg2.errors.UndefinedTable, psycopg2.errors.UndefinedColumn) as error:
                # it was dropped since it was found
                raise MissingName(f"{self.server.shown}: {_text(error)}") from None


END = "case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end"
"""Where the log of a server, or of a standby, ends."""


def is_standby(session: Session) -> bool:
    """Return whether a server is a standby, where nothing can be written."""
    [(found,)] = session.rows("select pg_is_in_recovery()")
    return bool(found)


def _has_no_encoding(connection: Any) -> bool:
    return str(connection.info.parameter_status("server_encoding")) == _NO_ENCODING


def _style(value: str) -> str:
    """Return a setting without the order of days and months, which text in ISO does not have."""
    return value.partition(", ")[0]


def quoted(name: str) -> str:
    """Return a name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def lsn_of(text: str) -> int:
    """Return a position that PostgreSQL writes as 0/3BD39C8."""
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)


def lsn_text(lsn: int) -> str:
    """Return a position as PostgreSQL writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def _text(error: Any) -> str:
    return shortened("; ".join(line.strip() for line in str(error).splitlines() if line.strip()))
