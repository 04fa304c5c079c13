"""The template for production: what the channel does not know does not stop it."""

import shutil
import sys

import pytest
import yaml

from integrator import plan
from integrator.channel import load
from integrator.cli import main
from integrator.decode.dialects import CHOSEN
from integrator.errors import ColumnsFound
from tests.conftest import ROOT
from tests.parts import pure


def run(words, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["integrator", *words])
    return main.main()


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The directory in which `init` wrote a channel over change files, which `check` finds nothing wrong with."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "schemas" / "shop.sql", tmp_path)
    (tmp_path / "changes").mkdir()
    brokers = "kafka-1:9092,kafka-2:9092,kafka-3:9092"
    words = ["init", "--tables", "shop.sql", "--template", "production", "--channel", "shop.yaml", "--brokers", brokers]
    assert run(words, monkeypatch) == 0
    assert run(["check", "--channel", "shop.yaml"], monkeypatch) == 0
    return tmp_path


def test_topics_have_replicas_and_brokers_may_be_away(written):
    made = yaml.safe_load((written / "shop.yaml").read_text())
    assert made["locations"]["kaf"]["Create_Topics"]["Replication_Factor"] == 3
    assert made["errors"]["deadletterqueue.topic.name"] == "shop.dead"
    assert made["errors"]["deadletterqueue.topic.replication.factor"] == 3
    assert made["restart"] == {"timeout_seconds": -1}
    assert made["delivery"] == "exactly_once"
    assert made["monitor"] == {"listen": "127.0.0.1:8472"}


def test_the_first_template_is_as_without_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "schemas" / "shop.sql", tmp_path)
    assert run(["init", "--tables", "shop.sql"], monkeypatch) == 0
    assert run(["init", "--tables", "shop.sql", "--template", "first", "--channel", "other.yaml"], monkeypatch) == 0
    first, other = (tmp_path / "channel.yaml").read_text(), (tmp_path / "other.yaml").read_text()
    assert first == other.replace("other", "channel")


def test_an_unknown_template_is_named_with_those_there_are(tmp_path, monkeypatch, capsys):
    assert run(["init", "--tables", str(ROOT / "schemas" / "shop.sql"), "--template", "prod"], monkeypatch) == 2
    assert "production" in capsys.readouterr().err


@pytest.mark.parametrize("template", ["first", "production"])
@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_command_writes_the_channel_and_the_password_beside_it(scheme, template, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["run", "--from", f"{scheme}://cdc:a%40%2F}}b%25@db/shop", "--to", "kafka:9092", "--state", "kept"]
    for _ in range(2):  # the same command again changes nothing
        assert run([*words, "--template", template, "--write-channel", "x.yaml"], monkeypatch) == 0
        assert "x.yaml: channel shop, its password in x.password\n" in capsys.readouterr().out
    assert {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()} == {
        "x.yaml": 0o600,
        "x.password": 0o600,
    }
    assert "%40" not in (tmp_path / "x.yaml").read_text()
    loaded = load.load("x.yaml", load.RunOptions(), CHOSEN)
    assert loaded.problems == []
    made = loaded.channel
    assert made.locations["src"].address == f"{scheme}://cdc:a%40%2F%7Db%25@db/shop"
    assert (made.state, made.errors.tables) == (str(tmp_path / "kept" / "state"), "set_aside")
    is_production = template == "production"
    assert (made.delivery == "exactly_once", made.errors.tolerance == "all") == (is_production, is_production)


def first_pass(written, *records):
    """How many rows of records of the table audit are read, and how many lines are rejected into dead letters."""
    made = plan.build(str(written / "shop.yaml"), "UTC").recipe
    known = {"hvr_tbl_name": "audit", "what": "x", "big": None}
    filled = [{"hvr_tx_seq": f"{at:X}", "id": at, **known, **record} for at, record in enumerate(records, 1)]
    _, notes = pure.fragments(made, pure.hvr(written / "changes", *filled))
    return sum(note.rows for note in notes), sum(note.rejected for note in notes)


STOPS_NOTHING = {
    "a new table": {"hvr_tbl_name": "suppliers"},
    "a wrong operation": {"hvr_op": 99},
    "a wrong value": {"id": "no number"},
    "changes a second time": {"hvr_tx_seq": "1"},
}


@pytest.mark.parametrize("what", STOPS_NOTHING)
def test_what_the_channel_does_not_know_is_rejected_and_the_others_are_sent(what, written):
    expected = (3, 0) if what == "changes a second time" else (2, 1)
    assert first_pass(written, {}, STOPS_NOTHING[what], {}) == expected


def test_a_new_column_is_added(written):
    with pytest.raises(ColumnsFound) as found:
        first_pass(written, {"loyalty": "gold"})
    assert list(found.value.tables) == ["audit"]
