"""What is in ops/: the commands, ports, paths and metrics that it names are there."""

import json
import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml
from setuptools.config.pyprojecttoml import read_configuration

from integrator import plan
from integrator.channel.monitor import DEFAULT_LISTEN
from integrator.monitor.backlog import Lag
from integrator.monitor.metrics import Metrics
from tests.conftest import ROOT

OPS = ROOT / "ops"


@pytest.fixture
def kubernetes():
    return {one["kind"]: one for one in yaml.safe_load_all((OPS / "kubernetes.yaml").read_text())}


def test_the_channel_of_the_manifests_passes_check(kubernetes, tmp_path, monkeypatch):
    for name, value in kubernetes["Secret"]["stringData"].items():
        monkeypatch.setenv(name, value)
    for name in ("tls.crt", "tls.key"):  # of a secret of that type
        (tmp_path / name).touch()
    for name, text in kubernetes["ConfigMap"]["data"].items():
        (tmp_path / name).write_text(re.sub("/etc/integrator(-tls)?", str(tmp_path), text))
    made = plan.build(str(tmp_path / "shop.yaml"), "UTC")
    assert [table.topic for table in made.recipe.tables] == ["shop.customers"]
    [container] = kubernetes["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert made.state.startswith(mounted["state"])
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert made.monitor.listen == f"0.0.0.0:{ports['monitor']}"
    assert made.source.location.listen == f"0.0.0.0:{ports['changes']}"
    assert made.recipe.send.exactly_once  # the volume moves
    assert made.source.location.repeated_positions == "send"
    tls = mounted["tls"]
    assert (
        f"tls: {{certificate: {tls}/tls.crt, private_key: {tls}/tls.key}}"
        in kubernetes["ConfigMap"]["data"]["shop.yaml"]
    )
    assert not [note for note in made.notes if "TLS" in note]


def test_the_pod_may_do_nothing_but_what_it_needs(kubernetes):
    pod = kubernetes["StatefulSet"]["spec"]["template"]["spec"]
    [container], [initial] = pod["containers"], pod["initContainers"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert (pod["automountServiceAccountToken"], pod["enableServiceLinks"]) == (False, False)
    for one in (container, initial):
        context = one["securityContext"]
        assert (context["readOnlyRootFilesystem"], context["allowPrivilegeEscalation"]) == (True, False)
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert one["image"] == container["image"]
    mounted = {one["mountPath"]: one["name"] for one in container["volumeMounts"] if not one.get("readOnly")}
    written = {one["name"] for one in pod["volumes"] if "emptyDir" in one} | {"state"}
    assert set(mounted.values()) == written
    assert mounted["/tmp"] == "temporary"
    [cache] = [one["value"] for one in container["env"] if one["name"] == "NUMBA_CACHE_DIR"]
    [kept] = re.findall(r"^ENV NUMBA_CACHE_DIR=(.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert initial["command"] == ["cp", "-R", f"{kept}/.", cache]
    assert mounted[cache] == initial["volumeMounts"][0]["name"]


def test_only_senders_and_prometheus_reach_the_pod(kubernetes):
    policy, pod = kubernetes["NetworkPolicy"]["spec"], kubernetes["StatefulSet"]["spec"]["template"]
    assert policy["podSelector"]["matchLabels"] == pod["metadata"]["labels"]
    assert policy["policyTypes"] == ["Ingress"]
    named = {one["name"] for one in pod["spec"]["containers"][0]["ports"]}
    assert [rule["ports"][0]["port"] for rule in policy["ingress"]] == ["changes", "monitor"]
    assert named == {"changes", "monitor"}
    assert all(rule["from"] for rule in policy["ingress"])


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
    assert re.search(
        r"^Restart=on-failure\nRestartSec=15$", text, re.MULTILINE
    )  # a standby ends with 5, and tries again
    assert "\nKillMode=mixed\n" in text  # Spark's Python workers end on SIGTERM at once, in the middle of a cycle
    [cache] = re.findall(r"^Environment=NUMBA_CACHE_DIR=/var/cache/(.*)$", text, re.MULTILINE)
    assert f"\nCacheDirectory={cache}\n" in text
    assert f"#   NUMBA_CACHE_DIR=/var/cache/{cache} /opt/integrator/bin/integrator prepare " in text
    assert f"#   chown -R integrator:integrator /var/cache/{cache} " in text


def test_what_the_unit_names_as_its_documentation_is_installed():
    files = read_configuration(ROOT / "pyproject.toml")["tool"]["setuptools"]["data-files"]
    installed = {
        f"/opt/integrator/{place}/{path.name}"
        for place, patterns in files
        for pattern in patterns
        for path in ROOT.glob(pattern.removeprefix(f"{ROOT}/"))
    }
    named = re.findall(r"^Documentation=file:(.*)$", (OPS / "integrator.service").read_text(), re.MULTILINE)
    assert len(named) == 2
    assert set(named) <= installed


def test_each_metric_of_the_dashboard_is_there():
    metrics = Metrics()
    metrics.begin("a", Lag, int)
    metrics.beat("a", "failed", 0)
    dashboard = (OPS / "grafana.json").read_text()
    named = set(re.findall(r"integrator_[a-z_]+", dashboard))
    types = set(re.findall(r"# TYPE (\S+) ", metrics.text().decode()))
    assert len(named) > 10
    assert [name for name in named if not {name, name.removesuffix("_bucket")} & types] == []
    panels = json.loads(dashboard)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
