"""What is in ops/: the commands, ports, paths and metrics that it names are there."""

import json
import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml

from integrator import plan
from integrator.channel.monitor import DEFAULT_LISTEN
from integrator.monitor.metrics import Metrics
from tests.conftest import ROOT

OPS = ROOT / "ops"


@pytest.fixture
def kubernetes():
    return {one["kind"]: one for one in yaml.safe_load_all((OPS / "kubernetes.yaml").read_text())}


def test_the_channel_of_the_manifests_passes_check(kubernetes, tmp_path, monkeypatch):
    for name, value in kubernetes["Secret"]["stringData"].items():
        monkeypatch.setenv(name, value)
    for name, text in kubernetes["ConfigMap"]["data"].items():
        (tmp_path / name).write_text(text.replace("/etc/integrator", str(tmp_path)))
    made = plan.make(str(tmp_path / "shop.yaml"), "UTC")
    assert [table.topic for table in made.recipe.tables] == ["shop.customers"]
    [container] = kubernetes["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert made.state.startswith(mounted["state"])
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert made.monitor.listen == f"0.0.0.0:{ports['monitor']}"
    assert made.source.listen == f"0.0.0.0:{ports['changes']}"


def test_the_manifests_run_one_process_that_is_not_root_and_is_probed(kubernetes):
    spec = kubernetes["StatefulSet"]["spec"]
    pod = spec["template"]["spec"]
    [container] = pod["containers"]
    image = (ROOT / "Dockerfile").read_text()
    assert spec["replicas"] == 1
    assert pod["securityContext"]["runAsNonRoot"]
    assert f"--uid {pod['securityContext']['runAsUser']} " in image
    assert container["args"][:2] == ["python", "run.py"]
    assert [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("liveness", "readiness")] == ["/health", "/ready"]
    assert spec["selector"]["matchLabels"] == kubernetes["Service"]["spec"]["selector"]
    assert spec["template"]["metadata"]["annotations"]["prometheus.io/port"] == DEFAULT_LISTEN.rpartition(":")[2]


@pytest.mark.parametrize("version", ["1.29", kubernetes_validate.latest_version()])
def test_kubernetes_own_schemas_accept_the_manifests(kubernetes, version):
    for manifest in kubernetes.values():
        kubernetes_validate.validate(manifest, version, strict=True)
    kubernetes["StatefulSet"]["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError, match="'replica' was unexpected"):
        kubernetes_validate.validate(kubernetes["StatefulSet"], version, strict=True)


def test_systemd_understands_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed (Debian: systemd)")
    text = (OPS / "integrator.service").read_text()
    unit = tmp_path / "integrator@.service"
    unit.write_text(text.replace("/opt/integrator/bin/integrator", shutil.which("true")))
    checked = subprocess.run(["systemd-analyze", "verify", str(unit)], check=False, capture_output=True, text=True)
    said = [line for line in (checked.stdout + checked.stderr).splitlines() if "integrator@" in line]
    assert said == []
    assert "ExecStart=/opt/integrator/bin/integrator --channel " in text
    assert re.search(r"RestartPreventExitStatus=2 3$", text, re.MULTILINE)
    assert "\nKillMode=mixed\n" in text  # Spark's Python workers end on SIGTERM at once, in the middle of a cycle
    [cache] = re.findall(r"^Environment=NUMBA_CACHE_DIR=/var/cache/(.*)$", text, re.MULTILINE)
    assert f"\nCacheDirectory={cache}\n" in text


def test_each_metric_of_the_dashboard_is_there():
    metrics = Metrics()
    metrics.begin("a", lambda: (0, 0))
    metrics.beat("a", "failed", 0)
    dashboard = (OPS / "grafana.json").read_text()
    named = set(re.findall(r"integrator_[a-z_]+", dashboard))
    types = set(re.findall(r"# TYPE (\S+) ", metrics.text().decode()))
    assert len(named) > 10
    assert [name for name in named if not {name, name.removesuffix("_bucket")} & types] == []
    panels = json.loads(dashboard)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
