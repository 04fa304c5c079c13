"""Java programs of the tests, which are readers that we did not write: one line in, one line of JSON out."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pyspark

JVM_OPTIONS: list[str] = []
"""Options of each JVM of brokers, registries and readers. `conftest` adds to them; benchmarks have none."""
PROGRAMS = Path(__file__).parent / "jvm"
SPARK_JARS = f"{Path(pyspark.__file__).parent / 'jars'}/*"
"""Where Apache Avro for Java is: Spark has it."""


def run(program: str, class_path: str, lines: Sequence[str], *arguments: str) -> list:
    done = subprocess.run(
        ["java", *JVM_OPTIONS, "-cp", class_path, str(PROGRAMS / f"{program}.java"), *arguments],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def encoded(data: bytes | str) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


def converter_reads(class_path: str, messages: Sequence[bytes], *, key: bool = False) -> list:
    """What Kafka's JsonConverter makes of Connect JSON messages."""
    return run("ReadConnectJson", class_path, [encoded(message) for message in messages], *(["key"] if key else []))


def values_read(class_path: str, converter: str, messages: Sequence[bytes | None], *, header: bool = False) -> list:
    """What a converter of Kafka Connect's makes of values, or of headers: type, schema's name, and value as text.

    converter: its class, in org.apache.kafka.connect.
    """
    lines = ["null" if message is None else encoded(message) for message in messages]
    return run("ReadConnectValues", class_path, lines, f"org.apache.kafka.connect.{converter}", *(["header"] * header))


def avro_reads(records: Sequence[tuple[str, bytes]]) -> list:
    """What Apache Avro for Java makes of data with their schemas' texts; the text `file` stands for a container file."""
    lines = [f"{schema if schema == 'file' else encoded(schema)} {encoded(data)}" for schema, data in records]
    return run("ReadAvro", SPARK_JARS, lines)
