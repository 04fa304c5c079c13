"""Topics read back, by a plain consumer and by Kafka's own converter."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

from integrator.produce.read_back import Received as Read
from integrator.produce.read_back import read_back as read_all

__all__ = ["Read", "converter_reads", "read_all"]


def converter_reads(class_path: str, messages: list[bytes], role: str = "value") -> list[dict | list]:
    """What Kafka's own JsonConverter makes of each message."""
    program = Path(__file__).parent / "jvm" / "ReadConnectJson.java"
    done = subprocess.run(
        ["java", "-cp", class_path, str(program), role],
        input="\n".join(base64.b64encode(message).decode() for message in messages),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
