"""Configurations of other products, the commands that import them, and the channels that these must write.

`python -m tests.parts.imports` writes the expected channels and reports anew: look at each line that changes.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from integrator.cli import main

DATA = Path("tests/data/imports")
SECRET = "pl4nted"
"""What every secret in the configurations begins with."""


@dataclass(frozen=True)
class Case:
    """A command's arguments beside --channel; the secrets that the channel asks the environment for."""

    arguments: tuple[str, ...]
    secrets: tuple[str, ...] = ()


CASES = {
    "airbyte-plain": Case(("airbyte", f"{DATA}/airbyte-plain.json", "--tables", "schemas/shop.sql")),
    "airbyte-secure": Case(
        ("airbyte", f"{DATA}/airbyte-secure.json", "--tables", "schemas/shop.sql"), ("AIRBYTE_JAAS",)
    ),
    "debezium-postgres": Case(
        ("debezium", f"{DATA}/debezium-postgres.json", "--tables", "tests/data/debezium/tables.sql", "--files"),
        ("SALT_SECRET",),
    ),
    "debezium-mariadb": Case(
        (
            "debezium",
            f"{DATA}/debezium-mariadb.properties",
            "--tables",
            "tests/data/debezium-mariadb/tables.sql",
            "--files",
        ),
        ("SCHEMA_REGISTRY_PASSWORD",),
    ),
    "debezium-sqlserver": Case(
        ("debezium", f"{DATA}/debezium-sqlserver.json", "--tables", f"{DATA}/sqlserver.sql"), ("KAFKA_JAAS",)
    ),
    "hvr-json": Case(("hvr", f"{DATA}/hvr-shop.json"), ("STREAM_PASSWORD", "DATABASE_PASSWORD")),
    "hvr-json-files": Case(("hvr", f"{DATA}/hvr-shop.json", "--files"), ("STREAM_PASSWORD",)),
    "hvr-xml": Case(("hvr", f"{DATA}/hvr-catalog.xml", "--brokers", "b1:9092,b2")),
}


def run(case: Case, channel: Path) -> int:
    """Run a command; return its exit code."""
    with mock.patch.object(sys, "argv", ["integrator", "import", *case.arguments, "--channel", str(channel)]):
        return main.main()


def of_debezium(
    directory: Path, config: dict[str, object], tables: str | None, *more: str, captures: bool = False
) -> tuple[str, int]:
    """Import a connector's configuration with definitions in SQL; return the channel, empty for none, and the code.

    captures: the channel captures the database, where it can; else it reads files.
    """
    channel = directory / "channel.yaml"
    (directory / "connector.json").write_text(json.dumps({"name": "c", "config": config}))
    given: tuple[str, ...] = ()
    if tables is not None:
        (directory / "tables.sql").write_text(tables)
        given = ("--tables", str(directory / "tables.sql"))
    if not captures and "--keep-connector" not in more:
        given += ("--files",)
    code = run(Case(("debezium", str(directory / "connector.json"), *given, *more)), channel)
    return (channel.read_text() if channel.exists() else ""), code


def written(channel: Path) -> dict[str, str]:
    """The files that a command wrote, by their ends, without the directory's name."""
    stem = channel.name.removesuffix(".yaml")
    return {
        file.name.removeprefix(stem): file.read_text().replace(f"{channel.parent}/", "").replace(_to_root(channel), "")
        for file in sorted(channel.parent.glob(f"{stem}*"))
    }


def _to_root(channel: Path) -> str:
    """The way from a channel to the directory that the commands are started in."""
    return f"{os.path.relpath(Path.cwd(), channel.parent.resolve())}/"


def expected(name: str) -> dict[str, str]:
    """The files that must be written."""
    return {file.name.removeprefix(f"{name}.channel"): file.read_text() for file in DATA.glob(f"{name}.channel*.yaml")}


def report_of(name: str) -> Path:
    return DATA / f"{name}.report.txt"


if __name__ == "__main__":
    import contextlib
    import io

    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as directory, contextlib.redirect_stdout(io.StringIO()) as printed:
            channel = Path(directory) / "channel.yaml"
            code = run(case, channel)
            for end, text in written(channel).items():
                (DATA / f"{name}.channel{end}").write_text(text)
        report_of(name).write_text(printed.getvalue().replace(f"{directory}/", ""))
        print(f"{name}: exit code {code}")
