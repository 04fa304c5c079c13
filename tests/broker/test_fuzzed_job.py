"""Wrong lines of all dialects through the whole job, in short: `make fuzz` has 100,000."""

import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.fuzz.rejected import OF_LINES
from tests.parts.waiting import PATIENCE_S

pytestmark = [pytest.mark.broker, pytest.mark.spark]

LINES = 30 * len(OF_LINES)


def test_each_line_is_sent_or_a_dead_letter_or_counted_and_again_the_same(broker):
    if not broker.real:
        pytest.skip("its topics are made by the channel, which needs a real Apache Kafka")
    command = [sys.executable, "-m", "tests.fuzz.whole_job", "--lines", str(LINES), "--seed", "3"]
    environment = {**os.environ, "INTEGRATOR_TEST_BROKERS": broker.servers, "PYTHONPATH": str(ROOT)}
    # a process of its own: it starts and stops a Spark session
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    total = re.search(r"^all .*'dead letters': (\d+)", done.stdout, re.MULTILINE)
    assert int(total[1]) > LINES // 10
