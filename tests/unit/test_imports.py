"""Imports of other products' configurations: the channels and reports are as expected, pass check, and have no secret."""

import json
import subprocess
import sys

import pytest

from integrator.cli import main
from integrator.errors import ConfigurationError
from integrator.imports.draft import Draft, flow
from tests.conftest import ROOT
from tests.parts import imports


@pytest.mark.parametrize("name", imports.CASES)
def test_an_import_writes_what_is_expected(name, tmp_path, monkeypatch, capsys):
    channel = tmp_path / "channel.yaml"
    code = imports.run(imports.CASES[name], channel)
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    assert imports.written(channel) == imports.expected(name)
    assert printed.out.replace(f"{tmp_path}/", "") == imports.report_of(name).read_text()
    assert imports.SECRET not in printed.out + "".join(imports.written(channel).values())  # I7
    for secret in imports.CASES[name].secrets:
        monkeypatch.setenv(secret, 'a.PlainLoginModule required username="x" password="a password";')
        assert f"in the environment as {secret}" in printed.out
    monkeypatch.setenv("AIRBYTE_JAAS", 'a.ScramLoginModule required username="x" password="a password";')
    monkeypatch.setenv("KAFKA_JAAS", 'a.ScramLoginModule required username="x" password="a password";')
    command = printed.out.rpartition("Next: ")[2].partition("; integrator check ")[0]
    if command.startswith("mkdir "):  # of the directory of change files
        subprocess.run(["sh", "-c", command], check=True)
    monkeypatch.setattr(sys, "argv", ["integrator", "check", "--channel", str(channel)])
    assert main.main() == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", ["airbyte-plain", "debezium-postgres"])
def test_a_channel_that_is_there_is_kept(name, tmp_path, capsys):
    channel = tmp_path / "channel.yaml"
    channel.write_text("mine")
    assert imports.run(imports.CASES[name], channel) == 2
    assert "is there already; give another --channel, or remove it" in capsys.readouterr().err
    assert channel.read_text() == "mine"


def test_a_channel_with_problems_is_written_and_says_so(tmp_path, capsys):
    found = json.loads((imports.DATA / "airbyte-plain.json").read_text())
    file, channel = tmp_path / "airbyte.json", tmp_path / "channel.yaml"
    file.write_text(json.dumps(found | {"linger_ms": "soon"}))
    case = imports.Case(("airbyte", str(file), "--tables", "schemas/shop.sql"))
    assert imports.run(case, channel) == 2
    printed = capsys.readouterr()
    assert "max_block_ms: ignored, because" in printed.out
    assert 'Invalid value for configuration property "queue.buffering.max.ms"' in printed.err
    assert f"{channel}: the channel is written with these problems: mend them in it" in printed.err
    assert channel.exists()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": True, "b": [1, "two"], "class": "files"}, "{a: true, b: [1, two], class: files}"),
        ("no", '"no"'),
        ("{hvr_op}", '"{hvr_op}"'),
        ("it's 7 o'clock", "\"it's 7 o'clock\""),
        ("10", '"10"'),
        ("/etc/ca.pem", "/etc/ca.pem"),
        ("é\x7f", '"é\\u007f"'),
        ("retention.ms", "retention.ms"),
    ],
)
def test_values_as_yaml_has_them(value, text):
    assert flow(value) == text


def test_what_actions_of_one_scope_say_stands_together():
    draft = Draft("x", "nothing")
    draft.add_action("Integrate", MessageKeySerializer="STRING", Topic=None)
    draft.add_action("Integrate", table="orders", Topic="o")
    draft.add_action("Integrate", OnDeleteSendTombstone=True)
    draft.add_action("Integrate", MessageKeySerializer="NONE")  # disagrees: check must see it
    assert draft.actions == [
        {"action": "Integrate", "MessageKeySerializer": "STRING", "OnDeleteSendTombstone": True},
        {"action": "Integrate", "table": "orders", "Topic": "o"},
        {"action": "Integrate", "MessageKeySerializer": "NONE"},
    ]


def test_the_channel_for_a_pipeline_of_conduit_passes_check(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "migrating.md").read_text()
    (tmp_path / "channel.yaml").write_text(page.rpartition("```yaml\n")[2].partition("```")[0])
    (tmp_path / "shop.sql").write_text((ROOT / "schemas" / "shop.sql").read_text())
    (tmp_path / "changes").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KAFKA_PASSWORD", "a password")
    monkeypatch.setattr(sys, "argv", ["integrator", "check", "--channel", "channel.yaml"])
    assert main.main() == 0, capsys.readouterr().err


def test_a_secret_is_in_the_environment_during_the_check_only(tmp_path, monkeypatch):
    import os

    from integrator.imports import draft as drafts

    monkeypatch.delenv("A_SECRET", raising=False)
    draft = Draft("x", "nothing", source={"class": "files", "path": "${A_SECRET}"}, tables=[{"file": "no.sql"}])
    draft.secret("key", "A_SECRET", "value")
    text, problems = drafts.write(draft, tmp_path / "x.yaml", "UTC")
    assert isinstance(problems, ConfigurationError)
    assert "A_SECRET" not in str(problems)
    assert "A_SECRET" not in os.environ
    assert "key is not written down: give it in the environment as A_SECRET" in text
