"""A socket under kills on both sides; `python -m tests.faults.socket_kills` does it with a million lines."""

import json
import socket

import pytest

from tests.faults import socket_kills
from tests.parts import kafka_io
from tests.parts.brokers import free_port
from tests.parts.daemon import Daemon
from tests.parts.waiting import PATIENCE_S

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def test_no_line_is_lost_when_the_daemon_and_agents_are_killed(real_broker, tmp_path, name):
    counted = socket_kills.run(real_broker.servers, tmp_path, name, 20_000, 2, 5)
    assert counted["lines"] == 40_000
    assert counted["messages"] - counted["repeats"] == 40_000


def row(agent, k, **members):
    record = {"hvr_op": 1, "hvr_tx_seq": f"{k + 1:X}", "a": agent, "k": k, "n": 0, **members}
    return json.dumps(record).encode() + b"\n"


def answers(port, sender, lines):
    """What a sender of lines is answered; its acknowledged lines are those of the last number."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connected:
        connected.sendall(b'{"hello":{"sender":"%s"}}\n' % sender.encode() + b"".join(lines))
        connected.shutdown(socket.SHUT_WR)
        return [json.loads(line) for line in connected.makefile("rb")]


WRONG = {"null": b"null\n", "an unknown table": row("b", 2, hvr_tbl_name="other")}


@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_a_wrong_line_of_one_sender_stops_neither_the_daemon_nor_other_senders(
    tolerance, broker, tmp_path, name, integrate_once
):
    port = free_port()
    path = socket_kills.channel_file(tmp_path, broker.servers, name, port)
    dead = f", deadletterqueue.topic.name: {name}.dead, deadletterqueue.topic.replication.factor: 1"
    path.write_text(f"{path.read_text()}errors: {{tolerance: {tolerance}{dead if tolerance == 'all' else ''}}}\n")
    daemon = Daemon(path)
    try:
        daemon.wait_for("listening")
        for sender, wrong in enumerate(WRONG.values()):
            found = answers(port, f"b{sender}", [row(f"b{sender}", 1), wrong, row(f"b{sender}", 3)])
            if tolerance == "all":
                assert found[-1] == {"received": 3}
            else:
                assert ["refused" in one for one in found].count(True) == 1
                assert found[-2] == {"received": 1}
        assert answers(port, "a", [row("a", k) for k in range(100)])[-1] == {"received": 100}
        daemon.wait_for("cycle synced")
        kept = [json.loads(line) for line in refused(tmp_path)]
        assert [(one["line"], one["begins"].encode()) for one in kept] == (
            [] if tolerance == "all" else [(2, wrong.rstrip()) for wrong in WRONG.values()]
        )
    finally:
        code = daemon.terminate()
    assert code == 0, daemon.lines[-20:]
    integrate_once(path)  # and what was received stops no later start
    after = [1, 3] if tolerance == "all" else [1]
    expected = {("a", k) for k in range(100)} | {(f"b{sender}", k) for sender in range(2) for k in after}
    rows = [json.loads(one.value) for one in kafka_io.read_all(broker.servers, [name])]
    assert {(one["a"], one["k"]) for one in rows} == expected
    if tolerance == "all":
        letters = kafka_io.read_all(broker.servers, [f"{name}.dead"])
        assert sorted(one.value + b"\n" for one in letters) == sorted(WRONG.values())


def refused(directory):
    path = directory / "state" / "lines" / "spool" / "refused.jsonl"
    return path.read_text().splitlines() if path.exists() else []
