"""Scripts of table definitions as people have them: mysqldump --no-data, Oracle's DBMS_METADATA, SQL Server's Management
Studio; PostgreSQL's pg_dump has tests of its own."""

import pytest

from integrator import tables
from integrator.schema import describe
from tests.conftest import ROOT

DDL = ROOT / "tests" / "data" / "ddl"
CASES = {
    "mysqldump.sql": (
        "mysql", "customers", ["id"],
        "id integer!, name varchar(255)!, email varchar(255), kind enum!, flags enum, active smallint!, amount "
        "decimal(10,2), big decimal(20,0)!, data blob, doc text, created timestamptz(3)!, day date, t time(3), y smallint, "
        "bits varchar(5), total decimal(12,2)",
    ),
    "oracle.sql": (
        "oracle", "SHOP.CUSTOMERS", ["ID"],
        "ID bigint!, NAME varchar(100)!, PRICE decimal(12,2)!, RATE double, RAWID blob, CREATED timestamptz(6), "
        "D timestamp(3), DOC text, B blob",
    ),
    "sqlserver.sql": (
        "tsql", "dbo.customers", ["id"],
        "id integer!, name varchar(100)!, price decimal(12,2), money decimal(19,4), guid uuid!, bit boolean!, created "
        "timestamp(9)!, off timestamptz(3), t time(6), doc text, bin blob, xml text, rv blob!",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_script_is_read_as_it_is(name):
    dialect, table, key, columns = CASES[name]
    made = tables.read(str(DDL / name), dialect)
    assert made.problems == []
    [found] = made.tables
    check(found, table, key, columns)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("name", CASES)
def test_as_editors_and_shells_of_windows_write_it(name, encoding, tmp_path):
    text = (DDL / name).read_text().replace("\n", "\r\n")
    (tmp_path / name).write_bytes(("\ufeff" * (encoding == "utf-16-be") + text).encode(encoding))
    made = tables.read(str(tmp_path / name), CASES[name][0])
    assert made.problems == []
    check(made.tables[0], *CASES[name][1:])


def test_another_encoding_is_named(tmp_path):
    (tmp_path / "t.sql").write_bytes("create table é (a int);".encode("latin-1"))
    [problem] = tables.read(str(tmp_path / "t.sql"), "postgres").problems
    assert "write it in UTF-8, or in UTF-16 with a byte order mark" in str(problem)


def check(found, table, key, columns):
    assert ".".join(filter(None, (found.schema, found.base_name))) == table
    assert list(found.key) == key
    assert (
        ", ".join(f"{one.name} {describe(one.type)}{'' if one.nullable else '!'}" for one in found.columns) == columns
    )
