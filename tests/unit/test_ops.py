"""What is in ops/, and the compose file: the commands, ports, paths and metrics that they name are there."""

import json
import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import typer
import yaml
from setuptools.config.pyprojecttoml import read_configuration

from integrator.channel.monitor import DEFAULT_LISTEN
from integrator.cli import main
from tests.conftest import ROOT
from tests.parts import exported, pages

OPS = ROOT / "ops"
PAGE = (pages.DOCS / "howto" / "production.md").read_text(encoding="utf-8")
PORT = DEFAULT_LISTEN.rpartition(":")[2]


@pytest.fixture
def kubernetes():
    return {one["kind"]: one for one in yaml.safe_load_all((OPS / "kubernetes.yaml").read_text())}


@pytest.fixture
def pod(kubernetes):
    return kubernetes["StatefulSet"]["spec"]["template"]["spec"]


def test_the_pod_takes_the_channel_and_the_password_that_the_page_makes(kubernetes, pod, tmp_path):
    made = re.findall(r"^kubectl create .*$", PAGE, re.MULTILINE)
    assert made == re.findall(r"^#   (kubectl create .*)$", (OPS / "kubernetes.yaml").read_text(), re.MULTILINE)
    [container] = pod["containers"]
    assert f"{' '.join(made[0].split()[2:4])} {' '.join(made[1].split()[2:5])}" == (
        f"configmap {pod['volumes'][0]['configMap']['name']} secret generic {container['envFrom'][0]['secretRef']['name']}"
    )
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed, which makes the objects of the files")
    (tmp_path / "shop.yaml").write_text("channel: shop\n")
    (tmp_path / "shop.env").write_text("PGPASSWORD=right\n")
    for command, data in zip(made, ({"shop.yaml": "channel: shop\n"}, {"PGPASSWORD": "cmlnaHQ="}), strict=True):
        words = [*command.split(), "--dry-run=client", "--output=yaml"]
        said = subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        assert yaml.safe_load(said)["data"] == data
        kubernetes_validate.validate(yaml.safe_load(said), kubernetes_validate.latest_version(), strict=True)


def test_state_and_spool_are_on_the_volume_of_one_pod(kubernetes, pod):
    [container] = pod["containers"]
    mounted = {one["name"]: one for one in container["volumeMounts"]}
    place = mounted["state"]["mountPath"]
    # relative paths of a channel, such as its state, are relative to its file
    assert container["args"] == ["python", "run.py", "--channel", f"{place}/shop.yaml"]
    assert mounted["channel"] == {
        "name": "channel", "mountPath": f"{place}/shop.yaml", "subPath": "shop.yaml", "readOnly": True,
    }  # fmt: skip
    [claim] = kubernetes["StatefulSet"]["spec"]["volumeClaimTemplates"]
    assert (claim["metadata"]["name"], claim["spec"]["accessModes"]) == ("state", ["ReadWriteOncePod"])
    assert kubernetes["StatefulSet"]["spec"]["replicas"] == 1


def test_the_pod_may_do_nothing_but_what_it_needs(pod):
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


def test_prometheus_alone_reaches_the_pod(kubernetes, pod):
    policy, template = kubernetes["NetworkPolicy"]["spec"], kubernetes["StatefulSet"]["spec"]["template"]
    assert policy["podSelector"]["matchLabels"] == template["metadata"]["labels"]
    assert policy["policyTypes"] == ["Ingress"]
    [rule] = policy["ingress"]
    [source] = rule["from"]
    assert source["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "monitoring"}
    assert rule["ports"] == [{"port": "monitor"}]
    assert pod["containers"][0]["ports"] == [{"name": "monitor", "containerPort": int(PORT)}]
    assert f"`0.0.0.0:{PORT}`" in PAGE


def test_the_manifests_run_one_process_that_is_not_root_and_is_probed(kubernetes, pod):
    spec = kubernetes["StatefulSet"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert f"--uid {pod['securityContext']['runAsUser']} " in (ROOT / "Dockerfile").read_text()
    assert [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")] == [
        "/health", "/health", "/ready",
    ]  # fmt: skip
    assert spec["selector"]["matchLabels"] == kubernetes["Service"]["spec"]["selector"]
    assert spec["template"]["metadata"]["annotations"]["prometheus.io/port"] == PORT


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
