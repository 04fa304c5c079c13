"""`init` writes a first channel from definitions in any SQL, which passes check; it writes over nothing."""

import sys

import pytest

from integrator import plan
from integrator.cli import main
from tests.conftest import ROOT

DDL = ROOT / "tests" / "data" / "ddl"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    def called(*words, channel="my-shop 2.yaml"):
        file = tmp_path / channel
        monkeypatch.setattr(sys, "argv", ["integrator", "init", "--channel", str(file), *map(str, words)])
        code, printed = main.main(), capsys.readouterr()
        return code, printed.out + printed.err, file

    return called


@pytest.mark.parametrize(
    ("name", "dialect"), [("mysqldump.sql", "mysql"), ("oracle.sql", "oracle"), ("sqlserver.sql", "tsql")]
)
def test_whose_sql_it_is_is_found_out(name, dialect, run):
    code, printed, file = run("--tables", DDL / name)
    assert code == 0, printed
    assert f"channel my_shop_2, 1 table of {DDL / name} ({dialect})" in printed
    [table] = plan.make(str(file), "UTC").recipe.tables
    assert table.topic == "my_shop_2.customers"


def test_what_is_given_is_in_it(run):
    brokers = "a:1, b:2"
    code, printed, file = run("--tables", ROOT / "schemas" / "shop.sql", "--changes", "in box", "--brokers", brokers)
    assert code == 0, printed
    made = plan.make(str(file), "UTC")
    assert (made.brokers, made.source.path, len(made.recipe.tables)) == ("a:1,b:2", str(ROOT / "in box"), 4)
    assert f"integrator check --channel {file} --connect" in printed
    assert "mkdir -p 'in box'" in printed


def test_nothing_is_written_over(run):
    _, _, file = run("--tables", DDL / "oracle.sql")
    before = file.read_text()
    code, printed, _ = run("--tables", DDL / "mysqldump.sql")
    assert (code, file.read_text()) == (2, before)
    assert "is there already" in printed


@pytest.mark.parametrize(("name", "line", "problem"), [
    ("mysqldump.sql", "  `odd` duck,", "Expecting ) near 'duck'"),
    ("oracle.sql", '\t"ODD" DUCK,', "the type DUCK is not known"),
    ("sqlserver.sql", "\t[odd] [duck] NULL,", "the type duck is not known"),
])  # fmt: skip
def test_of_a_script_with_a_mistake_only_that_is_named(name, line, problem, run, tmp_path):
    lines = (DDL / name).read_text().splitlines()
    place = next(at for at, text in enumerate(lines) if "CREATE TABLE" in text) + (3 if name == "oracle.sql" else 1)
    (tmp_path / name).write_text("\n".join([*lines[:place], line, *lines[place:]]))
    code, printed, _ = run("--tables", tmp_path / name)
    assert code == 2
    assert [text for text in printed.splitlines() if f"{name}:" in text] != []
    assert all(problem in text for text in printed.splitlines() if f"{name}:" in text), printed


def test_definitions_that_are_wrong_are_named_and_leave_no_channel(run, tmp_path):
    (tmp_path / "bad.sql").write_text("create tabel t (a int);")
    code, printed, file = run("--tables", tmp_path / "bad.sql")
    assert code == 2
    assert "bad.sql:1: 'create tabel" in printed
    assert not file.exists()
