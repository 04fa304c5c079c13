"""A JDBC connection in the JVM that Spark brings, without a Spark session, which would take longer than the rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext

from integrator.errors import ConfigurationError, EnvironmentFault, shortened
from integrator.run.spark import jvm_log as spark_log
from integrator.sources.jdbc_drivers import DRIVERS

_HAVE_IT = {
    "postgresql": "Debian's libpostgresql-jdbc-java has it as /usr/share/java/postgresql.jar",
    "mariadb": "Debian's libmariadb-java has it as /usr/share/java/mariadb-java-client.jar",
    "mysql": "MySQL's Connector/J has it",
}


@dataclass(frozen=True)
class Database:
    """Where a database is, and who asks. jars: of its driver, where Spark does not have it."""

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    jars: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Whose it is: the second part of its URL."""
        return [*self.url.split(":"), ""][1]

    @property
    def shown(self) -> str:
        """Its URL without what may be secret in it."""
        return self.url.partition("?")[0]


class Connection:
    """Asks a database. Raises EnvironmentFault with what it answers, where it refuses."""

    def __init__(self, java: Any, database: Database) -> None:
        """Ask by a java.sql.Connection."""
        self._java, self._database = java, database

    def run(self, sql: str) -> None:
        """Run a statement without an answer."""
        with _refused(self._database):
            statement = self._java.createStatement()
            statement.execute(sql)
            statement.close()

    def rows(self, sql: str) -> list[list[str | None]]:
        """Return the rows of a query, as text."""
        with _refused(self._database):
            statement = self._java.createStatement()
            found = statement.executeQuery(sql)
            columns = range(1, found.getMetaData().getColumnCount() + 1)
            rows = []
            while found.next():
                rows.append([found.getString(number) for number in columns])
            statement.close()
            return rows


@contextmanager
def connected(database: Database) -> Iterator[Connection]:
    """Yield a connection, which only reads. Raises ConfigurationError without a driver, EnvironmentFault as refused."""
    for jar in database.jars:
        if not Path(jar).is_file():
            raise ConfigurationError(f"--jar {jar}: there is no such file")
    spark_log.start_jvm(SparkConf(loadDefaults=False))
    SparkContext._ensure_initialized()  # noqa: SLF001 - under spark-submit, the JVM is there already
    gateway = SparkContext._gateway  # noqa: SLF001 - py4j's only door
    with _refused(database):
        java = _driver(database.kind, database.jars).connect(database.url, _properties(gateway, database))
        if java is None:
            raise ConfigurationError(f"{database.shown}: the driver takes it for no URL of its own")
        try:
            java.setReadOnly(True)
            yield Connection(java, database)
        finally:
            java.close()


def _properties(gateway: Any, database: Database) -> Any:
    properties = gateway.jvm.java.util.Properties()
    for name, value in (("user", database.user), ("password", database.password)):
        if value is not None:
            properties.setProperty(name, value)
    return properties


@lru_cache
def _driver(kind: str, jars: tuple[str, ...]) -> Any:
    """Return a driver: always the same, for py4j takes methods of two classes of one name for those of the first."""
    gateway: Any = SparkContext._gateway  # noqa: SLF001 - py4j's only door
    name = DRIVERS[kind]
    urls = gateway.new_array(gateway.jvm.java.net.URL, len(jars))
    for at, jar in enumerate(jars):
        urls[at] = gateway.jvm.java.io.File(str(Path(jar).absolute())).toURI().toURL()
    above = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        return gateway.jvm.java.net.URLClassLoader(urls, above).loadClass(name).newInstance()
    except Py4JJavaError as error:
        if "ClassNotFoundException" not in str(error.java_exception):
            raise
        searched = f"in {', '.join(jars)}, nor in" if jars else "in"
        raise ConfigurationError(
            f"there is no driver {name} {searched} Spark's directory of jars: give its jar as --jar FILE "
            f"({_HAVE_IT[kind]})"
        ) from None


@contextmanager
def _refused(database: Database) -> Iterator[None]:
    """Raise EnvironmentFault for what a driver raises."""
    try:
        yield
    except Py4JJavaError as error:
        raise EnvironmentFault(f"{database.shown}: {shortened(_reason(error.java_exception))}") from None
    except Py4JError as error:
        raise EnvironmentFault(f"{database.shown}: cannot be asked: {shortened(str(error))}") from error


def _reason(java: Any) -> str:
    reasons: list[str] = []
    while java is not None:
        text = str(java.getMessage() or java.toString()).splitlines()
        reasons += [line for line in text[:1] if line not in reasons]
        java = java.getCause()
    return "; ".join(reasons)
