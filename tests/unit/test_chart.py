"""The Helm chart: lint and template of its examples, whose channels are read, and the refusal of what it cannot run."""

import json
import re
import subprocess
import sys

import kubernetes_validate
import pytest
import yaml

from integrator.channel import load
from integrator.decode.dialects import CHOSEN
from tests.conftest import ROOT
from tests.parts import helm, pages

CHART = ROOT / "ops" / "helm" / "integrator"
EXAMPLES = sorted((CHART / "ci").glob("*-values.yaml"))
KUBERNETES = kubernetes_validate.latest_version()


@pytest.fixture(scope="module")
def run():
    program = helm.program()
    if program is None:
        pytest.skip(
            "Helm is not installed, and cannot be built: neither helm nor go is on the PATH, or no module proxy"
        )

    def run(*words):
        return subprocess.run([program, *words], cwd=CHART, capture_output=True, text=True, check=False)

    return run


def template(run, *words):
    done = run("template", "shop", ".", "--kube-version", KUBERNETES, *words)
    return done, {one["kind"]: one for one in yaml.safe_load_all(done.stdout) if one}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_lint_finds_nothing(run, example):
    done = run("lint", "--strict", ".", "--values", example)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_manifests_of_an_example_are_kubernetes_and_its_channel_is_one(run, example, tmp_path, monkeypatch):
    done, manifests = template(run, "--values", example)
    assert done.returncode == 0, done.stderr
    assert sorted(manifests) == ["ConfigMap", "NetworkPolicy", "Service", "StatefulSet"]
    for manifest in manifests.values():
        for version in ("1.29", KUBERNETES):
            kubernetes_validate.validate(manifest, version, strict=True)
    monkeypatch.setenv("PASSWORD", "secret")
    (tmp_path / "channel.yaml").write_text(manifests["ConfigMap"]["data"]["channel.yaml"])
    loaded = load.load(str(tmp_path / "channel.yaml"), load.RunOptions(), CHOSEN)  # a plan would ask the database
    assert loaded.problems == []
    made, source = loaded.channel, loaded.channel.locations["src"]
    assert (source.class_, source.spool_bytes) == (example.name.partition("-")[0], 2 * 1024**3)
    assert made.delivery == "exactly_once"  # the volume may move
    pod = manifests["StatefulSet"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    assert made.state.startswith(mounted["state"])
    assert made.monitor.listen.rpartition(":")[2] == str(container["ports"][0]["containerPort"])
    assert container["args"][-1] == f"{mounted['channel']}/channel.yaml"
    assert container["envFrom"] == [{"secretRef": {"name": "shop"}}]


def test_one_process_that_may_write_its_volumes_alone(run):
    _, manifests = template(run, "--values", EXAMPLES[0])
    spec = manifests["StatefulSet"]["spec"]
    pod, [claim] = spec["template"]["spec"], spec["volumeClaimTemplates"]
    [container], [initial] = pod["containers"], pod["initContainers"]
    assert (spec["replicas"], claim["spec"]["accessModes"]) == (1, ["ReadWriteOncePod"])
    [kept] = re.findall(r"^ENV NUMBA_CACHE_DIR=(.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert initial["command"] == ["cp", "-R", f"{kept}/.", container["env"][0]["value"]]
    assert f"--uid {pod['securityContext']['runAsUser']} " in (ROOT / "Dockerfile").read_text()
    for one in (container, initial):
        context = one["securityContext"]
        assert (context["readOnlyRootFilesystem"], context["allowPrivilegeEscalation"]) == (True, False)
        assert (context["capabilities"], one["image"]) == ({"drop": ["ALL"]}, container["image"])
    assert pod["securityContext"]["runAsNonRoot"]
    assert (pod["automountServiceAccountToken"], pod["enableServiceLinks"]) == (False, False)
    written = {one["name"] for one in container["volumeMounts"] if not one.get("readOnly")}
    assert written == {one["name"] for one in pod["volumes"] if "emptyDir" in one} | {"state"}
    probed = [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")]
    assert probed == ["/health", "/health", "/ready"]


def test_prometheus_alone_reaches_the_pod(run):
    _, manifests = template(run, "--values", EXAMPLES[0])
    policy, pod = manifests["NetworkPolicy"]["spec"], manifests["StatefulSet"]["spec"]["template"]
    assert policy["podSelector"]["matchLabels"] == pod["metadata"]["labels"]
    assert policy["policyTypes"] == ["Ingress"]
    [rule] = policy["ingress"]
    [source] = rule["from"]
    assert source["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "monitoring"}
    assert rule["ports"] == [{"port": "monitor"}]
    assert pod["spec"]["containers"][0]["ports"] == [
        {"name": "monitor", "containerPort": int(pod["metadata"]["annotations"]["prometheus.io/port"])}
    ]


def test_the_page_installs_the_channel_with_its_password_beside_it(run, tmp_path):
    page = (pages.DOCS / "howto" / "production.md").read_text()
    [secret] = re.findall(r"^kubectl create secret generic (\S+) --from-file=(\S+)$", page, re.MULTILINE)
    [words] = re.findall(r"^helm install shop ops/helm/integrator --wait (.*)$", page, re.MULTILINE)
    channel = tmp_path / "shop.yaml"
    words = words.replace("shop.yaml", str(channel)).split()
    asked = ["run", "--from", "postgresql://cdc:right@db/shop", "--to", "kafka:9092", "--template", "production"]
    subprocess.run(
        [sys.executable, ROOT / "run.py", *asked, "--write-channel", channel], check=True, capture_output=True
    )
    assert {one.name for one in tmp_path.iterdir()} == {"shop.yaml", secret[1]}
    _, manifests = template(run, *words)
    pod = manifests["StatefulSet"]["spec"]["template"]["spec"]
    [volume] = [one["projected"]["sources"] for one in pod["volumes"] if one["name"] == "channel"]
    assert volume == [{"configMap": {"name": "shop"}}, {"secret": {"name": secret[0]}}]
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    (mounted / "channel.yaml").write_text(manifests["ConfigMap"]["data"]["channel.yaml"])
    (tmp_path / secret[1]).rename(mounted / secret[1])
    made = load.load(str(mounted / "channel.yaml"), load.RunOptions(), CHOSEN)
    assert (made.problems, made.channel.locations["src"].address) == ([], "postgresql://cdc:right@db/shop")
    assert made.channel.monitor.listen == "0.0.0.0:8472"


def test_an_image_has_a_digest_or_the_version_of_the_release(run):
    digest = f"sha256:{'0' * 64}"
    for words, image in (
        ((), "integrator:0.0.0"),
        (("--set", "image.tag=1.2.3"), "integrator:1.2.3"),
        (("--set", f"image.digest={digest}"), f"integrator@{digest}"),
    ):
        _, manifests = template(run, "--values", EXAMPLES[0], *words)
        assert manifests["StatefulSet"]["spec"]["template"]["spec"]["containers"][0]["image"] == image


def test_another_channel_is_another_pod(run):
    texts = [template(run, "--values", one)[1]["StatefulSet"]["spec"]["template"]["metadata"] for one in EXAMPLES]
    assert len({json.dumps(one["annotations"]) for one in texts}) == len(EXAMPLES)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "at '/secretName': minLength"),
        (("--set", "secret=a,secretName=b,channel=c"), "additional properties 'secret' not allowed"),
        (("--set", "secretName=b,image.digest=latest,channel=c"), "at '/image/digest'"),
        (("--set", "secretName=b,channel=locations: ["), "channel: the file is no YAML"),
        (("--set", "secretName=b", "--set-json", r'channel="locations: {a: {class: files}}"'), "a is of class files; the"),
    ],
)  # fmt: skip
def test_what_it_cannot_run_is_refused(run, words, text):
    done, _ = template(run, *words)
    assert done.returncode == 1
    assert text in done.stderr
