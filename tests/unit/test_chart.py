"""The Helm chart: lint and template of its examples, whose channels are read, and the refusal of what it cannot run."""

import json
import re
import subprocess

import kubernetes_validate
import pytest
import yaml

from integrator.channel import load
from integrator.decode.dialects import CHOSEN
from tests.conftest import ROOT
from tests.parts import helm

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
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
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
        assert one["securityContext"]["readOnlyRootFilesystem"]
    probed = [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")]
    assert probed == ["/health", "/health", "/ready"]


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
