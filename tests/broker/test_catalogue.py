"""Definitions from a database's catalogue are those that its own dump gives: pg_dump -s, mysqldump --no-data."""

import os
import subprocess
import sys

import pytest

from integrator import plan, tables
from integrator.cli import main
from integrator.schema import String
from tests.conftest import ROOT
from tests.parts import jdbc, mariadb, postgres
from tests.unit import test_debezium_mariadb, test_pg_dump

pytestmark = pytest.mark.spark

MORE_OF_POSTGRES = """
create table public.two_unique (b text not null, a text not null, c int not null unique);
create unique index a_first on public.two_unique (a); create unique index z_last on public.two_unique (b);
create table public.two_indexes (b text not null, a text not null);
create unique index y_index on public.two_indexes (a); create unique index x_index on public.two_indexes (b);
create temporary table passing (id int primary key);
create view ops.seen as select 1 as one;
"""
NOT_IN_A_DUMP = """
create extension cube schema ext;
create table ops.of_rows (id int primary key, o public.orders, os public.orders[], m public.float_multirange);
create table ops.of_an_extension (id int primary key, space ext.cube);
create role nobody_yet login;
"""
"""What is read of a dump as a type that is not known: rows of a table, multiranges, and the types of an extension."""

OF_MARIADB = """
create table `odd; name`(`a b` int, `select` varchar(9) comment 'a ) in
a line;', `quo``ted` text default ');', primary key(`a b`)) comment 'x\\n) y';
create table numbers(id bigint unsigned auto_increment primary key, t tinyint(1), u int unsigned zerofill, y year,
  d decimal(12,3) unsigned, f float, r double(9,2), b bit(1), bs bit(9)) auto_increment 77;
create table texts(id char(36) character set ascii primary key, e enum('a','b,c','d''e'), s set('x','y'), j json,
  t tinytext, l longtext, c char(3), v varbinary(9), bl mediumblob, u uuid, i inet6);
create table times(id int primary key, d date, t time(3), ts timestamp(6) null, dt datetime, up timestamp default now() on update now());
create table keys_of_many(b varchar(9) not null, a int not null, n int, unique key z(b), unique key y(a), unique key x(n), key w(a, b));
create table prefix_key(t varchar(200) not null, u varchar(9) not null, unique key a(t(10)), unique key b(u));
create table no_key(a int, unique(a));
create table generated(id int primary key, a int, twice int as (a * 2) stored, thrice int as (a * 3) virtual, hidden int invisible default 1);
create table checked(id int primary key, a int check (a > 0), constraint `it's` check (a < 9), foreign key (a) references no_key(a));
create table parted(id int, made date not null, primary key(id, made)) partition by range (year(made))
  (partition old values less than (2020), partition new values less than maxvalue);
create table versioned(id int primary key, v int) with system versioning;
create view seen as select 1 as one;
create sequence counter;
"""


@pytest.fixture(scope="module")
def postgresql():
    lacks = postgres.missing(wal2json=False) or ("" if jdbc.driver() else "PostgreSQL's JDBC driver from Maven Central")
    if lacks:
        pytest.skip(f"PostgreSQL's catalogue needs {lacks}")
    with postgres.cluster() as server:
        test_pg_dump.load(server)
        server.psql(MORE_OF_POSTGRES, "odd")
        dumped = server.pg_dump("odd")
        server.psql(NOT_IN_A_DUMP, "odd")
        words = ["--from", f"jdbc:postgresql://{server.host}:{server.port}/odd", "--jar", str(jdbc.driver())]
        yield words, ["--user", server.user], dumped


@pytest.fixture(scope="module")
def of_mariadb(tmp_path_factory):
    lacks = mariadb.missing() or ("" if jdbc.mariadb_driver() else "MariaDB's JDBC driver from Maven Central")
    if lacks:
        pytest.skip(f"MariaDB's catalogue needs {lacks}")
    with mariadb.cluster() as server:
        for name in ("odd", "other"):
            server.sql(f"create database {name}")
        server.sql((test_debezium_mariadb.RECORDED / "tables.sql").read_text(), "odd")
        server.sql(OF_MARIADB, "odd")
        server.sql("create table no_key(z int primary key)", "other")
        secret = tmp_path_factory.mktemp("mariadb") / "password"
        secret.write_text(f"{server.password}\n")
        words = ["--from", f"jdbc:mariadb://{server.host}:{server.port}/odd", "--jar", str(jdbc.mariadb_driver())]
        yield words, ["--user", server.user, "--password-file", str(secret)], server


@pytest.fixture
def run(spark, monkeypatch, capsys):
    """A command in this process, whose JVM has been started."""

    def called(*words, command="tables"):
        monkeypatch.setattr(sys, "argv", ["integrator", command, *map(str, words)])
        code, printed = main.main(), capsys.readouterr()
        return code, printed.out, printed.err

    before = os.umask(0o077)  # as `main` sets it; what other tests write is for others too
    yield called
    os.umask(before)


def read(file, dialect, text=None):
    if text is not None:
        file.write_text(text)
    found = [tables.read(str(file), dialect, partitions) for partitions in ("leaf", "root")]
    assert found[0].problems == []
    return {(table.schema, table.base_name): table for one in found for table in one.tables}


def test_postgresqls_catalogue_gives_what_pg_dump_gives(postgresql, tmp_path):
    words, user, dumped = postgresql
    chosen = [part for schema in ("public", "Weird Schema") for part in ("--schema", schema)]
    done = subprocess.run(
        [sys.executable, "run.py", "tables", *words, *user, *chosen, "--to", tmp_path / "c.sql"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr == f"{tmp_path}/c.sql: 45 tables. In a channel beside it: tables: [c.sql]\n"
    expected = read(tmp_path / "dump.sql", "postgres", dumped)
    assert read(tmp_path / "c.sql", "postgres") == {name: one for name, one in expected.items() if name[0] != "ops"}
    keys = {name: expected["public", name].key for name in ("two_unique", "two_indexes")}
    assert keys == {"two_unique": ("c",), "two_indexes": ("b",)}


def test_mariadbs_catalogue_gives_what_mysqldump_gives(of_mariadb, run, tmp_path):
    words, user, server = of_mariadb
    code, _, said = run(*words, *user, "--to", tmp_path / "c.sql")
    assert code == 0, said
    assert "In a channel beside it: tables: [{file: c.sql, sql_dialect: mysql}]" in said
    expected = read(tmp_path / "dump.sql", "mysql", server.dump("odd"))
    assert read(tmp_path / "c.sql", "mysql") == expected
    assert len(expected) > 12
    assert [one.key for one in expected.values() if one.base_name in ("keys_of_many", "prefix_key")] == [("b",), ("u",)]
    assert "AUTO_INCREMENT=77" not in (tmp_path / "c.sql").read_text()


def test_types_that_no_statement_defines_are_text(postgresql, run, tmp_path):
    words, user, _ = postgresql
    code, out, said = run(*words, *user, "--table", "of_rows")
    assert code == 0, said
    [table] = read(tmp_path / "c.sql", "postgres", out).values()
    assert [
        str(column.type.role if hasattr(column.type, "role") else column.type.item.role) for column in table.columns[1:]
    ] == [""] * 3
    assert "CREATE TYPE" not in out


def test_a_type_of_an_extension_that_is_not_known_is_text(postgresql, run, tmp_path):
    words, user, _ = postgresql
    code, out, said = run(*words, *user, "--table", "of_an_extension")
    assert code == 0, said
    assert "CREATE DOMAIN ext.cube AS text;" in out
    [table] = read(tmp_path / "c.sql", "postgres", out).values()
    assert isinstance(next(one for one in table.columns if one.name == "space").type, String)


def test_tables_of_several_databases_have_their_names(of_mariadb, run, tmp_path):
    words, user, _ = of_mariadb
    code, out, said = run(*words, *user, "--table", "other.no_key", "--table", "odd.no_key")
    assert code == 0, said
    found = tables.read(str((tmp_path / "c.sql", (tmp_path / "c.sql").write_text(out))[0]), "mysql")
    assert {(one.schema, one.base_name) for one in found.tables} == {("odd", "no_key"), ("other", "no_key")}
    code, out, _ = run(*words, *user, "--schema", "other")
    assert (code, "CREATE TABLE `no_key` (" in out, out.count("CREATE")) == (0, True, 1)


def test_only_the_types_of_the_tables_that_are_wanted_are_written(postgresql, run, tmp_path):
    words, user, _ = postgresql
    code, out, said = run(*words, *user, "--table", "public.order_lines", "--table", "networks")
    assert code == 0, said
    assert set(read(tmp_path / "c.sql", "postgres", out)) == {("public", "networks"), ("public", "order_lines")}
    assert out.count("CREATE TYPE") == 0
    assert out.count("CREATE DOMAIN public.quantity AS numeric(12,3) NOT NULL;") == out.count("CREATE DOMAIN") == 1


REFUSED = [
    # options, the exit code, and what is said
    (["--table", "order_line"], 2, "there is no table 'order_line' that this user may see; do you mean order_lines or"),
    (
        ["--schema", "opz"],
        2,
        "no tables in the schema 'opz' that this user may see; there are some in Weird Schema, ops",
    ),
    (["--user", "unknown"], 5, 'role "unknown" does not exist'),
    (
        ["--password-file", "/not/there"],
        2,
        "--password-file: the file of ${file:/not/there} cannot be read: No such file",
    ),
    (["--jar", "/not/there.jar"], 2, "--jar /not/there.jar: there is no such file"),
    (
        ["--from", "jdbc:oracle:thin:me/hush@h"],
        2,
        "catalogues are read of jdbc:postgresql://…, jdbc:mariadb://…, jdbc:my",
    ),
    (["--from", "jdbc:postgresql://127.0.0.1:1/x?password=hush"], 5, "Connection to 127.0.0.1:1 refused"),
    (["--from", "jdbc:mysql://h/x"], 2, "there is no driver com.mysql.cj.jdbc.Driver in "),
    (["--to", "x.txt"], 2, "x.txt: definitions are written as SQL; name a file that ends in .sql"),
    (["--to", "schemas/shop.sql"], 2, "schemas/shop.sql: is there already; give another file, or remove it"),
]


@pytest.mark.parametrize(("options", "code", "reason"), REFUSED)
def test_what_cannot_be_read_is_named(options, code, reason, postgresql, run):
    words, user, _ = postgresql
    found, out, said = run(*words, *user, *options)
    assert (found, out) == (code, "")
    assert reason in said
    assert "hush" not in said


def test_a_wrong_password_is_not_shown(of_mariadb, run, tmp_path):
    words, user, _ = of_mariadb
    (tmp_path / "password").write_text("hush hush\n")
    code, _, said = run(*words, *user[:2], "--password-file", tmp_path / "password")
    assert code == 5
    assert "Access denied for user" in said
    assert "hush" not in said


def test_a_url_without_a_database_needs_a_schema(of_mariadb, run):
    words, user, _ = of_mariadb
    url = words[1].removesuffix("/odd")
    code, _, said = run("--from", url + "/", *words[2:], *user)
    assert (code, "names no database: add /NAME to it, or give --schema NAME" in said) == (2, True)
    code, out, said = run("--from", url + "/", *words[2:], *user, "--schema", "other")
    assert (code, out.count("CREATE TABLE")) == (0, 1), said


def test_init_takes_a_database(of_mariadb, run, tmp_path, monkeypatch):
    words, user, _ = of_mariadb
    monkeypatch.chdir(tmp_path)
    given = ["--tables", *words[1:], *user, "--schema", "other", "--channel", "shop.yaml"]
    code, out, said = run(*given, command="init")
    assert code == 0, said
    assert "shop.yaml: channel shop, 1 table of shop.sql (mysql)" in out
    assert [table.topic for table in plan.build("shop.yaml", "UTC").recipe.tables] == ["shop.no_key"]
    assert set(read(tmp_path / "shop.sql", "mysql")) == {(None, "no_key")}
    code, _, said = run("--tables", "shop.sql", "--user", "me", "--channel", "other.yaml", command="init")
    assert (code, "go with --tables jdbc:…" in said) == (2, True)
