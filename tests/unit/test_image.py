"""The image, as far as its Dockerfile and lock files show it: no root, no development packages, every file there."""

import importlib.metadata
import re
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()
STEPS = [line.split(maxsplit=1) for line in re.sub(r"\\\n", " ", DOCKERFILE).splitlines() if line and line[0] != "#"]


def pins(name):
    """The lines of a lock file that name a package and its version, with the hashes of each."""
    found = {}
    for line in (ROOT / name).read_text().splitlines():
        if line and line[0] not in " #":
            pin = line.rstrip("\\ ")
            found[pin.split(";")[0].strip()] = set()
        elif line.strip().startswith("--hash="):
            found[pin.split(";")[0].strip()].add(line.strip("\\ "))
    return found


def test_it_runs_as_another_user_than_root():
    users = [value for word, value in STEPS if word == "USER"]
    assert users
    assert users[-1] not in ("root", "0")
    written = [value for word, value in STEPS if word == "RUN" and f"-o {users[-1]}" in value]
    assert written, "nothing is there that it may write"


def test_its_user_takes_the_loops_that_were_compiled_when_it_was_made():
    """Numba does not read a directory that it may not write: they would be compiled again in each container."""
    [cache] = [
        value.partition("=")[2] for word, value in STEPS if word == "ENV" and value.startswith("NUMBA_CACHE_DIR=")
    ]
    prepared, given = (
        next(at for at, (word, value) in enumerate(STEPS) if word == "RUN" and text in value)
        for text in ("run.py prepare", f"chown -R integrator:integrator {Path(cache).name}")
    )
    assert ["ENV", f"NUMBA_CACHE_DIR={cache}"] in STEPS[:prepared]
    assert prepared < given


def test_it_installs_what_is_locked_for_runtime_alone():
    installs = [value for word, value in STEPS if word == "RUN" and "pip install" in value]
    assert installs == ["pip install --no-cache-dir --require-hashes -r requirements-runtime.lock"]


def test_what_it_copies_is_there():
    copied = [value.split()[:-1] for word, value in STEPS if word == "COPY"]
    assert [name for names in copied for name in names if not (ROOT / name).exists()] == []
    assert "." not in [name for names in copied for name in names]


def test_the_runtime_lock_is_a_part_of_the_lock():
    whole, runtime = pins("requirements.lock"), pins("requirements-runtime.lock")
    assert {pin: hashes for pin, hashes in runtime.items() if whole.get(pin) != hashes} == {}
    assert all(runtime.values())


def test_the_runtime_lock_has_what_the_project_needs_and_nothing_of_development():
    [extras] = re.findall(r"^lock: IMAGE := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    required = [Requirement(text) for text in importlib.metadata.requires("integrator") or []]
    locked = {canonicalize_name(pin.partition("==")[0]) for pin in pins("requirements-runtime.lock")}
    needed = {canonicalize_name(one.name) for one in required if _is_of(one, "", *extras.split())}
    development = {canonicalize_name(one.name) for one in required if _is_of(one, "dev")} - needed
    assert needed - locked == set()
    assert locked & development == set()
    assert len(needed) > 10 < len(development)


def _is_of(requirement, *extras):
    return requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras)


def test_the_channels_find_their_tables_in_it():
    copied = {name for word, value in STEPS if word == "COPY" for name in value.split()[:-1]}
    named = {
        found.split("/")[0]
        for path in (ROOT / "channels").glob("*.yaml")
        for found in re.findall(r"schemas/\S+", path.read_text())
    }
    assert named
    assert named <= copied
