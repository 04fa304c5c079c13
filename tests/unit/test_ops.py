"""What is in ops/, and the compose file: the commands, ports, paths and metrics that they name are there."""

import json
import re
import shutil
import subprocess

import pytest
import typer
import yaml
from setuptools.config.pyprojecttoml import read_configuration

from integrator.cli import main
from tests.conftest import ROOT
from tests.parts import exported, pages

OPS = ROOT / "ops"
PAGES = [(pages.DOCS / "howto" / name).read_text(encoding="utf-8") for name in ("install.md", "production.md")]


def test_the_compose_file_captures_a_database_with_one_process():
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    service = services["integrator"]
    python, program, *words = [re.sub(r"\$\{DATABASE:-(.*)\}", r"\1", word) for word in service["command"]]
    assert (python, program, words[0]) == ("python", "run.py", "run")
    command = typer.main.get_command(main.app).commands["run"]
    given = command.make_context("run", words[1:]).params
    address = re.fullmatch(r"postgresql://postgres@(\w+)/(\w+)", given["source"])
    assert services[address[1]]["environment"]["POSTGRES_DB"] == address[2]
    assert "wal_level=logical" in services[address[1]]["command"]
    brokers = services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert f"INSIDE://{given['brokers']}," in brokers
    assert services["registry"]["ports"] == ["127.0.0.1:8081:8080"]
    assert given["registry"] == "http://registry:8080/apis/ccompat/v7"
    assert service["volumes"] == [f"state:{given['state']}"]
    assert service["deploy"]["replicas"] == 1
    assert {name: one["condition"] for name, one in service["depends_on"].items()} == dict.fromkeys(
        ("postgres", "kafka", "registry"), "service_healthy"
    )
    assert all("healthcheck" in services[name] for name in service["depends_on"])


def test_systemd_understands_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed (Debian: systemd)")
    text = (OPS / "integrator.service").read_text()
    unit = tmp_path / "integrator@.service"
    unit.write_text(text.replace("/opt/integrator/bin/integrator", shutil.which("true")))
    checked = subprocess.run(["systemd-analyze", "verify", str(unit)], check=False, capture_output=True, text=True)
    said = [line for line in (checked.stdout + checked.stderr).splitlines() if "integrator@" in line]
    assert said == []
    assert "\nExecStart=/opt/integrator/bin/integrator --channel %i.yaml\n" in text
    assert "\nWorkingDirectory=/var/lib/integrator\n" in text  # StateDirectory makes it
    assert "\nStateDirectory=integrator\n" in text
    assert re.search(r"RestartPreventExitStatus=2 3$", text, re.MULTILINE)
    assert re.search(
        r"^Restart=on-failure\nRestartSec=15$", text, re.MULTILINE
    )  # a standby ends with 5, and tries again
    assert "\nKillMode=mixed\n" in text  # Spark's Python workers end on SIGTERM at once, in the middle of a cycle
    [cache] = re.findall(r"^Environment=NUMBA_CACHE_DIR=/var/cache/(.*)$", text, re.MULTILINE)
    assert f"\nCacheDirectory={cache}\n" in text
    made = (ROOT / "Makefile").read_text().partition("\ninstall:\n")[2].partition("\n\n")[0]
    assert f"NUMBA_CACHE_DIR=/var/cache/{cache} /opt/integrator/bin/integrator prepare" in made
    assert "install -m 644 ops/integrator.service /etc/systemd/system/integrator@.service" in made
    assert "--home-dir /var/lib/integrator integrator" in made


def test_what_the_unit_and_the_pages_name_is_installed():
    files = read_configuration(ROOT / "pyproject.toml")["tool"]["setuptools"]["data-files"]
    installed = {
        f"/opt/integrator/{place}/{path.name}"
        for place, patterns in files
        for pattern in patterns
        for path in ROOT.glob(pattern.removeprefix(f"{ROOT}/"))
    }
    named = re.findall(r"^Documentation=file:(.*)$", (OPS / "integrator.service").read_text(), re.MULTILINE)
    assert len(named) == 2
    of_pages = {one for page in PAGES for one in re.findall(r"/opt/integrator/share/integrator/[\w.]+", page)}
    assert len(of_pages) == 2
    assert {*named, *of_pages} <= installed


def test_each_metric_of_the_dashboard_is_there():
    dashboard, metrics = (OPS / "grafana.json").read_text(), exported.of_a_capture()
    named = exported.named_in(dashboard)
    assert named >= exported.WATCHED
    types = set(re.findall(r"# TYPE (\S+) ", metrics))
    assert [name for name in named if not {name, name.removesuffix("_bucket")} & types] == []
    panels = json.loads(dashboard)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for one in panels:  # none is on another one
        place = one["gridPos"]
        assert [other["id"] for other in panels if _meet(place, other["gridPos"])] == [one["id"]]


def _meet(one, other):
    return all(
        one[at] < other[at] + other[size] and other[at] < one[at] + one[size] for at, size in (("x", "w"), ("y", "h"))
    )
