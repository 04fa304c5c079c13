"""`state`, `suspend` and `resume`: of a channel whose secrets are not here, that is wrong elsewhere, or is mistaken."""

import json
import os
import socket
import sys

import pytest

from integrator.cli import main
from integrator.run.state.directory import State
from tests.parts import channels, states

CHANNEL = """
channel: shop
locations:
  src: {class: files, path: in, dialect: hvr}
  kaf: {class: kafka, Kafka_Brokers: ["${NO_SUCH_BROKERS}"], Stream_Password: "${file:no/such/file}"}
tables: [no-such.sql]
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """What runs a command for a channel of this text: its exit code, stdout and stderr."""
    file = tmp_path / "c.yaml"

    def called(*words, text=CHANNEL):
        file.write_text(text)
        monkeypatch.setattr(sys, "argv", ["run.py", *map(str, words), "--channel", str(file)])
        code, printed = main.main(), capsys.readouterr()
        return code, printed.out, printed.err

    return called


def test_no_secret_is_needed_and_nothing_else_of_the_channel(run, tmp_path):
    states.of_cycles(tmp_path / "state" / "shop", 3)
    assert run("check")[0] == 2
    assert run("suspend", "--reason", "a new disk")[:2] == (0, "channel shop is suspended: a new disk\n")
    code, out, _ = run("state")
    assert (code, "suspended: a new disk" in out) == (0, True)
    found = json.loads(run("state", "--json")[1])
    assert (found["channel"], found["suspended"], len(found["cycles"])) == ("shop", "a new disk", 3)
    assert "no longer suspended (a new disk)" in run("resume")[1]
    code, _, said = run("resume", "--table", "nope")
    assert (code, "channel shop: not set aside: nope; no table is\n" in said) == (2, True)
    assert run("state", "--export", tmp_path / "backup")[0] == 0
    assert "continues after cycle 1" in run("state", "--back-to", 1)[1]
    assert run("state", "--import", tmp_path / "backup", "--replace")[0] == 0


WRONG = [
    # the text of the channel, what the error has
    (CHANNEL.replace("channel: shop", "chanel: shop"), "c.yaml:2: $.chanel: this key is not known here; do you mean channel?"),
    (CHANNEL.replace("channel: shop", "channel: My Shop"), "c.yaml:2: $.channel: "),
    (CHANNEL.replace("shop", "shop\nchannel: other"), "c.yaml:3: $.channel: the key is given twice"),
    (CHANNEL + "state: '${NO_SUCH_PLACE}'\n", "c.yaml:7: $.state: the environment has no NO_SUCH_PLACE"),
    (CHANNEL + "state: s3://bucket/state\n", "c.yaml:7: $.state: s3://bucket/state is no local path"),
    ("? [a]\n: b\n", "c.yaml:1: "),
    ("- a\n", "c.yaml:1: "),
    ("", "c.yaml:1: is empty"),
    ("a: [", "c.yaml:1: "),
    ("state: &a [*a]\nchannel: shop\n", "c.yaml:1: $.state"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "told"), WRONG)
@pytest.mark.parametrize("command", ["state", "suspend", "resume"])
def test_what_says_which_channel_it_is_must_be_right(run, text, told, command, tmp_path):
    code, _, error = run(command, text=text)
    assert code == 2
    assert told in error
    assert [path.name for path in tmp_path.iterdir()] == ["c.yaml"]


def test_the_progress_of_a_channel_whose_state_names_a_variable(run, tmp_path, monkeypatch):
    monkeypatch.setenv("A_PLACE", str(tmp_path / "elsewhere"))
    assert run("suspend", text=CHANNEL + "state: '${A_PLACE}'\n")[0] == 0
    assert (tmp_path / "elsewhere" / "shop" / "suspended").exists()


def test_a_second_process_of_a_channel_is_told_so_and_not_that_its_address_is_taken(tmp_path, monkeypatch, capsys):
    file = channels.shop(tmp_path, "127.0.0.1:1", "shop")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        file.write_text(file.read_text().replace("channel: shop", f'channel: shop\nmonitor: {{listen: "{address}"}}'))
        monkeypatch.setattr(sys, "argv", ["run.py", "--channel", str(file)])
        first = State(str(tmp_path / "state" / "shop"))
        first.lock("shop", 0)
        assert main.main() == 5
        told = f"channel shop is being integrated already, by process {os.getpid()} (lock "
        assert told in capsys.readouterr().err
        first.unlock()
        assert main.main() == 5
        assert f"monitor.listen: {address} cannot be listened on: Address already in use" in capsys.readouterr().err
