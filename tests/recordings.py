"""`python -m tests.recordings`: records the quickstart and the one command, as pictures in which lines appear in their time.

docs/pictures/recorded-quickstart.svg and recorded-run.svg are made so, from what the commands print, and when. Pauses are
shortened to two seconds; the time that passed stands beside each line that follows one.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from html import escape
from pathlib import Path

from tests.conftest import ROOT
from tests.parts import brokers, postgres
from tests.parts.waiting import until

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
PICTURES = ROOT / "docs" / "pictures"
MOST_S, AT_END_S, WIDE, HIGH, LETTER, MARGIN = 2.0, 6.0, 132, 17, 7.23, 60
STYLE = """svg{background:#0e1114}text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#d7dde3;white-space:pre}
.t{fill:#7d8894}.c{fill:#4cc38a}@keyframes a{from{opacity:0}to{opacity:1}}.l{opacity:0;animation:a .1s forwards}
@media(prefers-reduced-motion:reduce){.l{opacity:1;animation:none}}"""


def recorded(command: list[str], directory: Path, ends: float | None = None) -> list[tuple[float, str]]:
    """What a command prints in a terminal, each line with the seconds since its start.

    ends: so many seconds after its start it is told to end.
    """
    plain = {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": str(WIDE)}
    environment = {**os.environ, **plain, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    began, lines = time.monotonic(), list[tuple[float, str]]()
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, cwd=directory, env=environment, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        if ends is not None:
            threading.Timer(ends, lambda: running.send_signal(signal.SIGTERM)).start()
        with os.fdopen(ours, encoding="utf-8", errors="replace") as output, contextlib.suppress(OSError):  # its end
            for line in output:
                text = CONTROL.sub("", line).rstrip().replace(f"{directory}/", "")
                if lines or text:
                    lines.append((time.monotonic() - began, text))
    assert running.returncode == 0, lines[-5:]
    return lines


def picture(command: str, lines: list[tuple[float, str]]) -> str:
    """An SVG in which lines appear."""
    rows: list[tuple[float, str, str, str]] = [(0.0, "", f"$ {command}", "c")]
    at = before = 0.0
    for seconds, text in lines:
        at += min(seconds - before, MOST_S)
        stamp = f"{seconds:4.0f} s" if seconds - before > MOST_S / 2 else ""
        before = seconds
        rows += [
            (at, stamp if not start else "", text[start : start + WIDE], "") for start in range(0, len(text) or 1, WIDE)
        ]
    height, width = HIGH * (len(rows) + 1), MARGIN + round(WIDE * LETTER) + 20
    drawn = "".join(
        f'<g class="l" style="animation-delay:{1 + at:.2f}s"><text class="t" x="8" y="{HIGH * number}">{stamp}</text>'
        f'<text class="{kind}" x="{MARGIN}" y="{HIGH * number}">{escape(text)}</text></g>\n'
        for number, (at, stamp, text, kind) in enumerate(rows, 1)
    )
    label = escape(f"What {command.partition(' --')[0]} prints", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{label}"><style>{STYLE}</style>\n{drawn}</svg>\n'
    )


def quickstart(directory: Path) -> None:
    command = [sys.executable, str(ROOT / "run.py"), "quickstart"]
    PICTURES.joinpath("recorded-quickstart.svg").write_text(
        picture("integrator quickstart", recorded(command, directory))
    )


def one_command(directory: Path) -> None:
    with contextlib.ExitStack() as stack:
        kafka = stack.enter_context(brokers.broker())
        server = stack.enter_context(postgres.cluster())
        server.psql("create database shop")
        server.psql(
            "create table customers(id int primary key, name text); create table orders(id int primary key, amount numeric(10,2), note text);"
            "insert into customers select g, 'customer ' || g from generate_series(1, 5000) g;"
            "insert into orders select g, g / 7.0, repeat('x', 100) from generate_series(1, 1000000) g",
            "shop",
        )
        ending = threading.Event()

        def change() -> None:
            until(lambda: server.psql("select 1 from pg_replication_slots where active"))
            number = 1_000_000
            while not ending.wait(0.02):
                server.psql(f"insert into orders select {number} + g, 1, 'new' from generate_series(1, 100) g", "shop")
                number += 100

        thread = threading.Thread(target=change, daemon=True)
        thread.start()
        address = [server.address("shop"), "--to", kafka.servers]
        lines = recorded([sys.executable, str(ROOT / "run.py"), "run", "--from", *address], directory, ends=25)
        ending.set()
        thread.join()
        asked = "integrator run --from postgresql://postgres@127.0.0.1/shop --to 127.0.0.1:9092"
        PICTURES.joinpath("recorded-run.svg").write_text(picture(asked, lines))


def main() -> None:
    for make in (quickstart, one_command):
        with tempfile.TemporaryDirectory(prefix="recording-") as directory:
            make(Path(directory))


if __name__ == "__main__":
    main()
