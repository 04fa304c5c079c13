"""Progress that is where relative paths were looked for before: its channel goes on with it, wherever it is then."""

import subprocess

import pytest

from integrator import plan
from integrator.errors import ConfigurationError
from tests.broker.test_actions import channel, rows
from tests.parts import pure

pytestmark = [pytest.mark.broker, pytest.mark.spark]
WORDS = {"it is moved": ("or move it: ", ". To"), "it is named": ("continue it, write ", ", or move")}


def change(directory, number):
    pure.hvr(directory / "in", {"k": number, "name": "", "region": "", "n": 0}, name=f"{number}.jsonl")


@pytest.mark.parametrize("remedy", WORDS)
def test_a_channel_goes_on_with_it(remedy, broker, tmp_path, name, integrate_once, monkeypatch):
    broker.create([name], 1)
    path = channel(tmp_path, broker, name)
    with_state = path.read_text()
    assert f"state: {tmp_path}/state\n" in with_state
    path.write_text(with_state.replace(f"{tmp_path}/state", f"{tmp_path}/before/state"))
    change(tmp_path, 1)
    integrate_once(path)
    path.write_text(with_state.replace(f"state: {tmp_path}/state\n", ""))
    monkeypatch.chdir(tmp_path / "before")
    with pytest.raises(ConfigurationError) as raised:
        plan.build(str(path), "UTC")
    first, last = WORDS[remedy]
    words = str(raised.value).rpartition(first)[2].partition(last)[0]
    if remedy == "it is moved":
        subprocess.run(["sh", "-c", words], check=True)
    else:
        path.write_text(f"{words}\n{path.read_text()}")
    change(tmp_path, 2)
    integrate_once(path)
    assert [row["k"] for row in rows(broker, name)] == [1, 2]
