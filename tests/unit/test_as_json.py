"""--json of check, plan and state: one object on stdout, the same as is shown to people, without secrets."""

import json
import sys
from types import SimpleNamespace

import pytest

from integrator.cli import main
from integrator.plan import Plan
from integrator.schema import Table
from tests.parts import channels

PASSWORD = "pl4nted"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("THE_PASSWORD", PASSWORD)
    kafka = ", Kafka_Authentication_Method: USER_PASS, Stream_User: me, Stream_Password: '${THE_PASSWORD}'"
    file = channels.shop(tmp_path, "127.0.0.1:1", "shop", kafka=kafka)

    def called(command, *words, change=lambda text: text):
        file.write_text(change(file.read_text()))
        monkeypatch.setattr(sys, "argv", ["run.py", command, "--channel", str(file), "--json", *words])
        code, printed = main.main(), capsys.readouterr().out
        assert PASSWORD not in printed  # I7
        return code, json.loads(printed)

    return called


def test_a_channel_without_problems(run):
    code, found = run("check")
    assert (code, found["tables"], found["problems"]) == (0, 4, [])
    assert any("password" in note.lower() for note in found["notes"])


def test_all_problems_with_file_and_line(run):
    code, found = run("check", change=lambda text: text.replace("poll_seconds: 0.1", "poll_second: 0.1, path: 7"))
    assert (code, found["exit_code"], found["kind"]) == (2, 2, "configuration")
    assert len(found["problems"]) >= 2
    assert all(one["file"].endswith("channel.yaml") and one["line"] == 5 for one in found["problems"])


def test_what_would_be_sent(run):
    code, found = run("plan", "--table", "orders")
    [orders] = found["tables"]
    assert (code, found["delivery"], orders["topic"]) == (0, "at_least_once", "shop.orders")
    column = {"name": "integ_seq", "type": "varchar(45)", "nullable": False, "value": "{hvr_integ_seq}"}
    assert column in orders["columns"]
    assert json.loads(orders["schemas"][0]["schema"])["type"] == "struct"


def test_a_table_that_is_not_sent_has_no_plan(run):
    code, found = run("plan", "--table", "oders")
    assert (code, [one["text"] for one in found["problems"]]) == (
        2,
        ["--table 'oders' is no table that is sent; do you mean orders?"],
    )


def test_tables_are_named_as_in_the_channel_or_as_in_the_database():
    tables = [Table("sales_orders", "Orders", "Sales", (), ()), Table("t", "t", None, (), ())]
    made = SimpleNamespace(recipe=SimpleNamespace(tables=[SimpleNamespace(table=one) for one in tables]))
    assert Plan.named(made, ["t", "Sales.Orders", "sales_orders"]) == (["t", "sales_orders", "sales_orders"], [])
    assert Plan.named(made, ["Orders"]) == (["sales_orders"], [])
    assert Plan.named(made, ["x"]) == ([], ["--table 'x' is no table that is sent; those are sales_orders, t"])


def test_a_channel_that_never_ran(run):
    code, found = run("state")
    assert (code, found["process"], found["failure"], found["cycles"]) == (0, None, None, [])


def test_json_shows_and_does_nothing(run, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["run.py", "state", "--channel", "x.yaml", "--json", "--back-to", "3"])
    assert main.main() == 2
    assert "--json goes with none of" in capsys.readouterr().err
