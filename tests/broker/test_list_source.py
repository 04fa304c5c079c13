"""What a source must have is what `sources/contract.py` asks: one that the integrator does not know runs the whole job."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.parts import kafka_io
from tests.parts.pages import ROOT

pytestmark = [pytest.mark.broker, pytest.mark.spark]

ROWS = [json.dumps({"hvr_op": 1, "hvr_tx_seq": f"{k:X}", "k": k, "v": f"row {k}"}) for k in range(1, 6)]


def command(channel, *words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "tests.parts.list_source", *words, "--channel", str(channel)],
        cwd=ROOT,
        env=os.environ | environment,
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.fixture
def channel(broker, tmp_path, name):
    broker.create([name], 1)
    (tmp_path / "t.sql").write_text("create table t(k int primary key, v text);")
    made = tmp_path / "c.yaml"
    made.write_text(
        f"channel: lists\nstate: {tmp_path}/state\nlocations:\n"
        f"  src: {{class: list, dialect: hvr, rows: {json.dumps(ROWS)}}}\n"
        f"  kaf: {{class: kafka, Kafka_Brokers: ['{broker.servers}'], Kafka_Default_Topic: {name}}}\n"
        "tables: [t.sql]\nactions: [{action: Integrate, CycleByteLimit: 1}]\nmonitor: {enabled: false}\n"
    )
    return made


def test_a_source_of_another_kind_runs_the_whole_job(channel, broker, name):
    checked, planned = command(channel, "check"), command(channel, "plan")
    assert (checked.returncode, planned.returncode) == (0, 0), checked.stderr + planned.stderr
    assert "source    a list of 5 rows" in planned.stdout
    killed = command(channel, "--once", DIE_IN_CYCLE="1")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    done = command(channel, "--once")
    assert done.returncode == 0, done.stderr
    sent = [json.loads(one.value)["payload"]["k"] for one in kafka_io.read_all(broker.servers, [name])]
    assert sent == [1, 2, 3, 4, 3, 4, 5]  # the cycle that was not marked comes again, as it was (I2)
    state = command(channel, "state")
    assert state.returncode == 0, state.stderr
    cycles = [line.split() for line in state.stdout.splitlines()]
    ends = [cycle[:4] for cycle in cycles if len(cycle) > 4 and cycle[0].isdigit()]
    assert [(cycle, last) for cycle, _, _, last in ends] == [("0", "1"), ("1", "2"), ("2", "3")]


def test_what_is_wrong_with_such_a_source_is_a_problem_at_its_key(channel):
    channel.write_text(channel.read_text().replace(json.dumps(ROWS), '["{"]'))
    found = command(channel, "check")
    assert found.returncode == 2, found.stderr
    assert "c.yaml:4" in found.stderr
    assert "rows: row 1 is no JSON" in found.stderr
