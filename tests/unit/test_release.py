"""A release: the form of the changelog, a base image with a digest, and sdists whose bytes do not depend on the machine."""

import io
import re
import subprocess
import tarfile

import pytest
import yaml

from tests import release
from tests.conftest import ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
STEPS = WORKFLOW["jobs"]["build"]["steps"]
DIGEST = "sha256:" + "0" * 64


def step(run, **environment):
    return subprocess.run(["bash", "-ec", run], env=environment, cwd=ROOT, capture_output=True, check=False).returncode


@pytest.mark.parametrize(
    ("base", "code"), [("", 1), ("python:3.12", 1), ("python@sha256:12", 1), (f"python:3.12@{DIGEST}", 0)]
)
def test_no_image_is_published_without_the_digest_of_its_base(base, code):
    [run] = [one["run"] for one in STEPS if "BASE_IMAGE" in one.get("env", {}) and "make" not in one["run"]]
    assert step(run, BASE_IMAGE=base) == code
    assert "build-args: BASE_IMAGE=${{ vars.BASE_IMAGE }}" in (ROOT / ".github/workflows/release.yml").read_text()
    assert "\nFROM ${BASE_IMAGE}\n" in (ROOT / "Dockerfile").read_text()


def test_a_version_without_its_section_in_the_changelog_is_not_released():
    [run] = [one["run"] for one in STEPS if "CHANGELOG.md" in one.get("run", "")]
    assert step(run, GITHUB_REF_NAME="v0.0.0", PATH="/usr/bin:/bin") == 1
    dated = run.replace("CHANGELOG.md", "<(echo '## [1.2.0] - 2027-01-31')")
    assert (
        step(dated, GITHUB_REF_NAME="v1.2.0", PATH="/usr/bin:/bin"),
        step(dated, GITHUB_REF_NAME="v1.2", PATH="/usr/bin:/bin"),
    ) == (0, 1)


def test_the_changelog_has_the_usual_form():
    text = (ROOT / "CHANGELOG.md").read_text()
    first, *others = re.findall("^## (.*)$", text, re.MULTILINE)
    assert first == "[Unreleased]"
    assert [one for one in others if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", one)] == []
    kinds = set(re.findall("^### (.*)$", text, re.MULTILINE))
    assert kinds
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_sdists_of_two_machines_are_the_same_bytes(tmp_path):
    made = []
    for number, name in enumerate(("b", "a", "b")):
        file = tmp_path / f"{number}.tar.gz"
        with tarfile.open(file, "w:gz") as archive:
            for member in (name, "ab".replace(name, "")):
                entry = tarfile.TarInfo(member)
                entry.size, entry.mtime, entry.uid, entry.uname = 1, 1000 + number, number, f"user{number}"
                archive.addfile(entry, io.BytesIO(member.encode()))
        release.packed_again(file, 1_700_000_000)
        made.append(file.read_bytes())
    assert made[0] == made[1] == made[2]
    with tarfile.open(tmp_path / "0.tar.gz") as archive:
        assert {one.name: archive.extractfile(one).read() for one in archive} == {"a": b"a", "b": b"b"}
