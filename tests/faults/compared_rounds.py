"""At the end of a campaign's round: `compare` says that topics equal tables, and finds and repairs what is planted."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from tests.parts import kafka_io
from tests.parts.daemon import ROOT

PLANTED = "planted"
"""The header of messages that a campaign plants."""
KINDS = ("nothing", "older", "changed", "extra", "deleted", "doubled", "unlogged")
"""older: an older message of a row comes last, as if the last one were lost, or two had changed places. changed: the row
has another value. extra: a row that the table has not. deleted: a delete that nobody made. doubled: a message twice.
unlogged: the table is changed without a change in the log."""
_STRANGER = 9_000_001


class Comparing:
    """Compares the tables of a campaign's channel by the command, and plants differences between them and topics."""

    def __init__(self, channel: Path, servers: str, draw: random.Random, unlogged: Callable[[str], None]) -> None:
        """unlogged: runs a statement at the database that no capture sees."""
        self._channel, self._servers, self._draw, self._unlogged = channel, servers, draw, unlogged

    def compare(self, *words: str, code: int = 0) -> dict[str, dict[str, Any]]:
        """Return what came of each table, by its name. Raises AssertionError for another exit code."""
        command = [sys.executable, "run.py", "compare", "--channel", str(self._channel), "--json", *words]
        done = subprocess.run(
            command, capture_output=True, check=False, cwd=ROOT, env={**os.environ, "TZ": "UTC"}, text=True
        )
        assert done.returncode == code, f"{words}: {done.returncode}: {done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return {one["table"]: one for one in json.loads(done.stdout)["tables"]}

    def equal(self) -> dict[str, dict[str, Any]]:
        """Return what came of each table; raises AssertionError where one is not proved to be equal."""
        found = self.compare()
        wrong = {name: one for name, one in found.items() if not one["equal_all"]}
        assert not wrong, wrong
        return found

    def round(self, tables: list[str]) -> str:
        """Compare; plant a difference, find it, and repair it; return its kind."""
        before = self.equal()
        kind, table = self._draw.choice(KINDS), self._draw.choice(tables)
        if kind == "nothing" or (planted := self._plant(kind, table)) is None:
            return "nothing"
        if kind == "doubled":
            found = self.equal()[table]
            assert found["repeated"] == before[table]["repeated"] + 1, (planted, found)
            return kind
        found = self.compare(code=4)
        differing = {name for name, one in found.items() if not one["equal_all"]}
        assert differing == {table}, (kind, table, planted, found)
        said = [(one["kind"], one["key"].get("id")) for one in found[table]["differences"]]
        assert said == [planted], (kind, table, planted, found[table])
        self.compare("--table", table, "--repair", "--yes", code=4)
        self.equal()
        return kind

    def _plant(self, kind: str, table: str) -> tuple[str, int] | None:
        """Plant a difference in a table; return what is to be found, and of which row; None where it has no such row."""
        read = [(one, json.loads(one.value or b"null")) for one in kafka_io.read_all(self._servers, [table])]
        truncated = max((row["seq"] for _, row in read if row["op"] == 5), default="")
        said = defaultdict[int, list[tuple[kafka_io.Read, dict[str, Any]]]](list)
        for message, row in read:
            if row["seq"] > truncated:
                said[row["id"]].append((message, row))
        there = [
            one for key, one in said.items() if one[-1][1]["op"] in (1, 2) and "v" in one[-1][1] and abs(key) < 1000
        ]
        if kind == "older":
            there = [one for one in there if one[0][1]["op"] == 1 and one[0][1]["n"] != one[-1][1]["n"]]
        if not there:
            return None
        chosen = self._draw.choice(there)
        message, row = chosen[-1]
        key = row["id"]
        match kind:
            case "older":
                message, row = chosen[0]
            case "changed":
                row |= {"v": f"{row['v']} planted"}
            case "extra":
                row |= {"id": _STRANGER}
            case "deleted":
                row |= {"op": 0}
            case "unlogged":
                self._unlogged(f"update {table} set v = 'unlogged' where id = {key}")
                return "different", key
        producer = Producer({"bootstrap.servers": self._servers})
        value = json.dumps(row, separators=(",", ":")) if kind not in ("older", "doubled") else message.value
        producer.produce(table, value, message.key, message.partition, headers={PLANTED: kind})
        assert producer.flush(30) == 0
        found = {"extra": "extra", "deleted": "missing"}
        return found.get(kind, "different"), row["id"]
