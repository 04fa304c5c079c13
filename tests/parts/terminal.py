"""A command on a terminal: a pseudo-terminal of so many columns, and what the command writes to it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.parts.daemon import ROOT

LINES = 24
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""ECMA-48, section 5.4: control sequences; those that end in m are colours and weights."""
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


def on_terminal(
    words: Sequence[str], columns: int = 80, more: Mapping[str, str] | None = None, stdout: Path | None = None
) -> tuple[int, str]:
    """The exit code of a command, and what it writes to its terminal: stderr, and stdout where no file is to have it."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
    gone = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"}
    environment = {name: value for name, value in os.environ.items() if name not in gone}
    with (stdout or Path(os.devnull)).open("wb") as file:
        process = subprocess.Popen(
            words,
            cwd=ROOT,
            stdin=its,
            stdout=file if stdout else its,
            stderr=its,
            env={**environment, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT), **(more or {})},
        )
    os.close(its)
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # all that wrote to it have ended
            break
        if not part:
            break
        written += part
    os.close(ours)
    return process.wait(), written.decode()


def plain(written: str) -> list[str]:
    """The lines of it, as they came, without control sequences."""
    return [line.rstrip() for line in re.split(r"[\r\n]+", CONTROL.sub("", written)) if line.strip()]
