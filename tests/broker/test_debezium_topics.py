"""The how-to from Debezium's topics to Avro topics, taken from the page as it stands, over what a connector writes."""

from __future__ import annotations

import decimal
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.broker.test_topic_schemas import Connector, row
from tests.conftest import ROOT
from tests.parts.waiting import PATIENCE_S

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

PAGE = ROOT / "docs" / "howto" / "debezium-topics.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind):
    return [text for found, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")) if found == kind]


def test_the_commands_of_the_page_show_what_it_says(real_broker, registry_server, name, tmp_path):
    connector = Connector(real_broker, registry_server, name)
    connector.create("orders")
    inserted, updated = row(1), row(1, "2.25")
    assert inserted["price"] == decimal.Decimal("1.50")
    connector.send("orders", "c", None, inserted)
    connector.send("orders", "u", inserted, updated)
    connector.send("orders", "d", updated, None)

    def here(text):
        """The page's text, with the names that this test has."""
        servers = text.replace("localhost:9092", real_broker.servers).replace(
            "http://localhost:8081", registry_server.url
        )
        return servers.replace("shop", name)

    given = {key: value for key, value in os.environ.items() if not key.startswith(("KAFKA_", "HVR_"))}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", here("set -eu\n" + "".join(blocks("sh")))],
        cwd=tmp_path,
        env=given | {"PATH": path, "PYTHONPATH": str(ROOT), "SPARK_MASTER": "local[2]"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout
    expected = [here(line) for block in blocks("text") for line in block.splitlines()]
    assert [line for line in expected if line not in done.stdout] == [], done.stdout
    assert len(expected) == 6
