"""PostgreSQL's JDBC driver, from Maven Central."""

from __future__ import annotations

from pathlib import Path

from tests.parts.brokers import LIBRARIES, fetched

JARS = LIBRARIES.parent / "jdbc-libs"


def driver() -> Path | None:
    """The driver's jar, fetched if need be; None where there is no Maven."""
    if not fetched(Path(__file__).parent / "pom.xml", JARS):
        return None
    [jar] = JARS.glob("postgresql-*.jar")
    return jar
