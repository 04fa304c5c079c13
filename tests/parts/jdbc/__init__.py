"""The JDBC drivers of PostgreSQL and MariaDB, from Maven Central."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.parts.brokers import LIBRARIES, fetched

JARS = LIBRARIES.parent / "jdbc-libs"


def driver() -> Path | None:
    """PostgreSQL's driver, fetched if need be; None where there is no Maven."""
    return _jar("postgresql")


def mariadb_driver() -> Path | None:
    """MariaDB's driver, fetched if need be; None where there is no Maven."""
    return _jar("mariadb-java-client")


def _jar(artifact: str) -> Path | None:
    """The jar of an artifact; jars that were fetched when the pom had less in it are fetched anew."""
    if JARS.exists() and not any(JARS.glob(f"{artifact}-*.jar")) and shutil.which("mvn"):
        shutil.rmtree(JARS)
    if not fetched(Path(__file__).parent / "pom.xml", JARS):
        return None
    return next(JARS.glob(f"{artifact}-*.jar"), None)
