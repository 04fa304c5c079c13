"""`pg_dump -s` of a database with thirty odd tables: columns, types and keys are those of PostgreSQL's catalogue.

tests/data/pg_dump: database.sql is the database; dump.sql and catalogue.json were recorded from PostgreSQL 15. Where
PostgreSQL is installed, it is loaded, dumped and compared anew: `python -m tests.unit.test_pg_dump` records that.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from integrator import tables
from integrator.schema import describe
from integrator.tables.sql import ddl
from tests.parts import postgres
from tests.parts.catalogue import catalogue

RECORDED = Path(__file__).parents[1] / "data" / "pg_dump"


def read(file):
    """What the reader makes of a dump, as the catalogue says it."""
    made, problems, _ = ddl.read(str(file), file.read_text(), "postgres")
    assert problems == []
    return {
        f"{table.schema}.{table.base_name}": {
            "columns": [[column.name, describe(column.type), column.nullable] for column in table.columns],
            "key": list(table.key),
        }
        for table in made
    }


def load(server):
    server.psql("create database odd template template0;")
    server.psql((RECORDED / "database.sql").read_text(), "odd")
    return server.pg_dump("odd"), catalogue(server, "odd")


EXPECTED = json.loads((RECORDED / "catalogue.json").read_text())


@pytest.fixture(scope="module")
def recorded():
    return read(RECORDED / "dump.sql")


@pytest.mark.parametrize("table", EXPECTED)
def test_a_table_of_the_recorded_dump_is_as_in_the_catalogue(table, recorded):
    assert recorded[table] == EXPECTED[table]


def test_the_recorded_dump_has_no_other_tables(recorded):
    assert recorded.keys() == EXPECTED.keys()
    assert len(recorded) > 30


def test_what_says_nothing_of_tables_is_counted():
    skipped = tables.read(str(RECORDED / "dump.sql"), "postgres").skipped
    assert {"CREATE FUNCTION": 3, "CREATE VIEW": 1, "COMMENT": 5, "psql command": 2}.items() <= skipped.items()


def test_the_database_as_it_was_written_is_read_as_its_dump(recorded):
    written = read(RECORDED / "database.sql")
    columns = written["public.arrays"]["columns"]
    assert columns[2] == ["ii", "integer[][]", True]  # PostgreSQL does not keep how deep an array is declared
    columns[2] = ["ii", "integer[]", True]
    assert written == recorded


@pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False))
def test_a_dump_of_the_installed_postgresql(tmp_path):
    with postgres.cluster() as server:
        dumped, expected = load(server)
    (tmp_path / "dump.sql").write_text(dumped)
    assert read(tmp_path / "dump.sql") == expected


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_dump_is_read_or_has_problems_with_lines(seed, tmp_path):
    chance = random.Random(seed)
    parts = re.split(r"(\W)", (RECORDED / "dump.sql").read_text())
    for _ in range(3):
        at = chance.randrange(len(parts))
        parts[at] = chance.choice(["", "(", ")", ",", ";", "'", '"', "$$", "/*", "[", "create", chance.choice(parts)])
    (tmp_path / "dump.sql").write_text("".join(parts))
    made = tables.read(str(tmp_path / "dump.sql"), "postgres")
    assert made.tables or made.problems
    assert all(0 <= problem.line <= "".join(parts).count("\n") + 1 for problem in made.problems)


if __name__ == "__main__":
    with postgres.cluster() as running:
        text, said = load(running)
    (RECORDED / "dump.sql").write_text(text)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(table, ensure_ascii=False)}" for name, table in said.items())
    (RECORDED / "catalogue.json").write_text("{\n" + lines + "\n}\n")
