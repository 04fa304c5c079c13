"""Lines through a socket, with kills on both sides: none may be lost, and each key's rows come in order.

python -m tests.faults.socket_kills --lines 1000000 --kills 10
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.parts import kafka_io
from tests.parts.brokers import broker, free_port
from tests.parts.daemon import ROOT, Daemon
from tests.parts.waiting import PATIENCE_S, until

AGENTS = ("a", "b")


def channel_file(directory: Path, servers: str, topic: str, port: int) -> Path:
    (directory / "t.sql").write_text("create table t(a varchar(10), k int, n int, primary key (a, k));")
    path = directory / "channel.yaml"
    path.write_text(
        f"""
channel: lines
state: {directory}/state
locations:
  src: {{class: socket, listen: "127.0.0.1:{port}", dialect: hvr, poll_seconds: 0.1, spool_bytes: 67108864}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{topic}", Create_Topics: {{Partitions: 4}}}}
tables: [{directory}/t.sql]
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, TimeKey: true, IntegrateExpression: "{{hvr_integ_seq}}"}}
"""
    )
    return path


def agent(port: int, name: str, lines: int, rate: float) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "tests.parts.agent", str(port), name, str(lines), str(rate)]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, text=True)


def run(servers: str, directory: Path, topic: str, lines: int, kills: int, seed: int) -> dict[str, int]:
    """Send `lines` by each of two agents while the daemon and they are killed; return what was counted."""
    choose = random.Random(seed)
    port = free_port()
    channel = channel_file(directory, servers, topic, port)
    daemon = Daemon(channel)
    daemon.wait_for("integrating")
    rate = max(5_000.0, lines / (4.0 * kills)) if kills else 0.0
    agents = {name: agent(port, name, lines, rate) for name in AGENTS}
    try:
        for kill in range(kills):
            time.sleep(choose.uniform(1.0, 4.0))
            if kill % 2:
                name = choose.choice(list(agents))
                agents[name].kill()
                agents[name].wait()
                agents[name] = agent(port, name, lines, rate)
            else:
                daemon.kill(everything=choose.random() < 0.5)
                daemon = Daemon(channel)
        for process in agents.values():
            assert process.wait(PATIENCE_S) == 0
    finally:
        for process in agents.values():
            process.kill()
            process.wait()
    total = lines * len(AGENTS)
    until(lambda: through(directory / "state" / "lines"), lambda: "\n".join(daemon.lines[-30:]))
    code = daemon.terminate()
    assert code == 0, daemon.lines[-20:]
    return {"lines": total, **check(kafka_io.read_all(servers, [topic]), lines)}


def through(state: Path) -> bool:
    """Whether all that was received is in a synced cycle."""
    marks = sorted((state / "synced").glob("*.json"), key=lambda path: int(path.stem))
    if not marks or not (state / "files.jsonl").exists() or list((state / "spool").glob("*.open")):
        return False
    taken = [json.loads(line)["path"] for line in (state / "files.jsonl").read_text().splitlines()]
    spooled = {str(path) for path in (state / "spool").glob("[0-9]*.jsonl")}
    return spooled <= set(taken) and json.loads(marks[-1].read_text())["checkpoint"]["ordinal"] == len(taken)


def check(received: list[kafka_io.Read], lines: int) -> dict[str, int]:
    """Nothing is lost (I4), each key's rows come in order (I3), and what comes again is the same (I2)."""
    values: dict[tuple[str, int], bytes] = {}
    newest: dict[tuple[str, int], int] = {}
    repeats = 0
    for message in received:
        row = json.loads(message.value or b"")
        name, key, number = row["a"], row["k"], row["n"]
        if (name, number) in values:
            repeats += 1
            assert values[name, number] == message.value, f"I2: line {number} of {name} was sent as two messages"
            continue
        values[name, number] = message.value or b""
        assert newest.get((name, key), 0) < number, f"I3: line {number} of {name} comes too late"
        newest[name, key] = number
    missing = [(name, number) for name in AGENTS for number in range(1, lines + 1) if (name, number) not in values]
    assert not missing, f"I4: {len(missing)} lines are lost, the first is {missing[0]}"
    return {"messages": len(received), "repeats": repeats}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=500_000, help="of each of two agents")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lines-") as directory, broker() as kafka:
        print(f"broker: {kafka.kind}")
        print(run(kafka.servers, Path(directory), "lines", given.lines, given.kills, given.seed))


if __name__ == "__main__":
    main()
