"""The alert rules: promtool reads them, they fire when they should, and each metric they name is there."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from integrator.errors import ConfigurationError, DataError, Defect, DeliveryError, EnvironmentFault
from tests.parts import exported

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


def test_the_end_of_a_process_is_an_alert_that_says_what_follows_from_its_exit_code():
    """An alert said "start it again", also of a channel that is wrong; one with a channel of its own had no other."""
    rules = {rule["alert"]: rule for rule in yaml.safe_load(RULES.read_text())["groups"][0]["rules"]}
    ended = [rule for name, rule in rules.items() if name.endswith(("Ended", "ProcessRestarts", "UnitFailed"))]
    assert len(ended) == 4
    kinds = [ConfigurationError, DataError, DeliveryError, EnvironmentFault, Defect]
    for rule in ended:
        for kind in kinds:
            assert re.search(rf"\b{kind.kind.exit_code}: \w+", rule["annotations"]["remedy"])


def test_each_metric_of_the_rules_is_there():
    metrics = exported.of_a_capture()
    named = exported.named_in(RULES.read_text())
    assert named >= exported.WATCHED
    assert "process_start_time_seconds " in metrics
    assert not [name for name in named if f"{name}{{" not in metrics]
