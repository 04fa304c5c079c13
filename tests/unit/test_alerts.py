"""The alert rules: promtool reads them, they fire when they should, and each metric they name is there."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from integrator.monitor.metrics import Metrics

ROOT = Path(__file__).parents[2]
RULES = ROOT / "ops" / "alerts.yml"


@pytest.fixture
def promtool():
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    return found


def test_promtool_accepts_the_rules_and_they_fire(promtool, tmp_path):
    shutil.copy(RULES, tmp_path / "alerts-under-test.yml")
    shutil.copy(Path(__file__).with_name("alerts.yml"), tmp_path)
    for command in (["check", "rules", "alerts-under-test.yml"], ["test", "rules", "alerts.yml"]):
        ran = subprocess.run([promtool, *command], cwd=tmp_path, check=False, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_each_metric_of_the_rules_is_there():
    metrics = Metrics()
    metrics.begin("a", lambda: (0, 0))
    metrics.beat("a", "failed", 0)
    named = set(re.findall(r"integrator_[a-z_]+", RULES.read_text()))
    assert named
    assert not [name for name in named if f"{name}{{" not in metrics.text().decode()]
