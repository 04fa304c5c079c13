"""The units that capture from PostgreSQL and send: systemd, the command line and the shell understand them."""

import re
import shlex
import shutil
import subprocess

import pytest
import typer

from integrator.cli import main
from tests.conftest import ROOT
from tests.parts import pages

OPS = ROOT / "ops"
UNITS = ("capture-postgresql@.service", "integrator-send@.service")
PAGE = (pages.DOCS / "howto" / "capture-postgresql.md").read_text(encoding="utf-8")


def setting(unit, name):
    return re.findall(rf"^{name}=(.*)$", (OPS / unit).read_text(), re.MULTILINE)


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_understands_the_units(unit, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed (Debian: systemd)")
    text = (OPS / unit).read_text().replace("/opt/integrator/bin/integrator", shutil.which("true"))
    (tmp_path / unit).write_text(text)
    words = ["systemd-analyze", "verify", str(tmp_path / unit)]
    checked = subprocess.run(words, check=False, capture_output=True, text=True)
    said = (checked.stdout + checked.stderr).splitlines()
    assert [
        line for line in said if unit.partition("@")[0] in line and "pg_recvlogical is not executable" not in line
    ] == []


def test_the_sender_sends_what_the_capture_writes_and_both_start_again():
    [sends], [captures] = setting(UNITS[1], "ExecStart"), setting(UNITS[0], "ExecStart")
    _, *words = shlex.split(sends)
    command = typer.main.get_command(main.app).commands[words[0]]
    there = {"/var/lib/integrator/capture/%i.jsonl": __file__, "${TO}": "127.0.0.1:7010", "%i": "shop"}
    given = command.make_context("send", [there.get(word, word) for word in words[1:]]).params
    assert (given["sender"], given["remove"], given["once"]) == ("shop", True, False)
    file = words[words.index("--file") + 1]
    assert f"--file={file} " in captures
    assert setting(UNITS[0], "Restart") == ["always"]
    assert setting(UNITS[1], "Restart") == ["on-failure"]
    assert setting(UNITS[1], "RestartPreventExitStatus") == []
    rotated = (OPS / "capture.logrotate").read_text()
    assert f"{file.replace('%i', '*')} {{" in rotated
    assert "nocompress" in rotated
    assert setting(UNITS[0], "ExecReload") == ["/bin/kill -HUP $MAINPID"]


def test_each_variable_of_the_units_is_on_the_page():
    for unit in UNITS:
        for name in re.findall(r"\$\{(\w+)\}", (OPS / unit).read_text()):
            assert f"\n{name}=" in PAGE


TORN = {
    "nothing": (b"", b""),
    "whole lines": (b'{"a":1}\n{"a":2}\n', b'{"a":1}\n{"a":2}\n'),
    "a line without its end": (b'{"a":1}\n{"a":2', b'{"a":1}\n'),
    "one line without its end": (b'{"a":"\xc3\xa9"', b""),
    "blank lines": (b'{"a":1}\n\n', b'{"a":1}\n\n'),
    "zeros after a power cut": (b'{"a":1}\n\0\0\0', b'{"a":1}\n'),
    "a line of a blank": (b'{"a":1}\n ', b'{"a":1}\n'),
}


@pytest.mark.parametrize("what", TORN)
def test_a_line_without_its_end_is_cut_off_before_the_capture_continues(what, tmp_path):
    before, after = TORN[what]
    (tmp_path / "shop.jsonl").write_bytes(before)
    [command] = setting(UNITS[0], "ExecStartPre")
    program, option, script = shlex.split(command.replace("\\\\", "\\"))  # systemd's own quotation
    script = script.replace("$$", "$").replace("/var/lib/integrator/capture/%i.jsonl", str(tmp_path / "shop.jsonl"))
    subprocess.run([program, option, script], check=True)
    assert (tmp_path / "shop.jsonl").read_bytes() == after
