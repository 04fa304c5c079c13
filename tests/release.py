"""What a release consists of, from the commit that is checked out, into build/release: python -m tests.release

Wheel and sdist are built twice, and must be the same bytes. The wheel is installed into an environment of its own and tried
there, first without extras. What cannot be built on this machine is named.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.parts import helm

ROOT = Path(__file__).parent.parent
OUT = ROOT / "build" / "release"
EXTRAS = ("postgres", "quickstart", "sql", "mysql", "aws")
CHANNEL = "channels/quickstart.yaml"
CAPTURE = """\
channel: x
state: state
locations:
  src: {class: postgres, address: "postgresql://u@127.0.0.1:1/x"}
  kaf: {class: kafka, Kafka_Brokers: ["127.0.0.1:1"], Kafka_Default_Topic: "{hvr_tbl_name}"}
"""


def main() -> None:
    """Build it, try it, and print what there is. Ends with an error where any of it fails."""
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    if changed := _run("git", "status", "--porcelain", "--untracked-files=no"):
        print(f"NOT IN IT: uncommitted changes of {len(changed.splitlines())} files")
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        first, second = (_distributions(Path(scratch) / name) for name in ("one", "two"))
        if first != second:
            sys.exit(f"two builds of the same commit differ: {first} {second}")
        for name in first:
            shutil.copy(Path(scratch) / "one" / "dist" / name, OUT)
        print("two builds, the same bytes:", *(f"  {sha}  {name}" for name, sha in first.items()), sep="\n")
        [wheel], version = OUT.glob("*.whl"), _version(next(OUT.glob("*.whl")))
        python = _tried(wheel, Path(scratch))
        _bill_of_materials(python, version)
    _chart(version)
    _image(version)
    (OUT / "SHA256SUMS").write_text("".join(f"{_sha256(one)}  {one.name}\n" for one in sorted(OUT.iterdir())))
    print(f"{OUT}:", *(f"  {one.stat().st_size:>12,}  {one.name}" for one in sorted(OUT.iterdir())), sep="\n")


def _run(*words: str | Path, cwd: Path = ROOT, code: int = 0, environment: Mapping[str, str] | None = None) -> str:
    """Run a command; return what it prints. Ends with an error where its exit code is another."""
    given = {**os.environ, **(environment or {})}
    done = subprocess.run(words, cwd=cwd, env=given, umask=0o022, text=True, stdout=-1, stderr=-2, check=False)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, words))}: ended with {done.returncode}, not {code}:\n{done.stdout}")
    return done.stdout


def _distributions(place: Path) -> dict[str, str]:
    """Build wheel and sdist of the commit in a clone of its own; return their names and digests."""
    place.mkdir()
    epoch = _run("git", "log", "-1", "--format=%ct").strip()
    _run("git", "clone", "--quiet", ROOT, place / "source")
    words = (sys.executable, "-m", "build", "--no-isolation", "--outdir", place / "dist", place / "source")
    _run(*words, environment={"SOURCE_DATE_EPOCH": epoch})
    packed_again(next((place / "dist").glob("*.tar.gz")), int(epoch))
    return {one.name: _sha256(one) for one in sorted((place / "dist").iterdir())}


def packed_again(sdist: Path, epoch: int) -> None:
    """Give all entries of an sdist, which setuptools dates by the clock, the time of the commit and no owner."""
    with tarfile.open(sdist) as given:
        entries = [(one, file.read() if (file := given.extractfile(one)) else b"") for one in given.getmembers()]
    with (
        sdist.open("wb") as raw,
        gzip.GzipFile("", "wb", mtime=epoch, fileobj=raw) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as made,
    ):
        for one, data in sorted(entries, key=lambda entry: entry[0].name):
            one.mtime, one.uid, one.gid, one.uname, one.gname, one.pax_headers = epoch, 0, 0, "", "", {}
            made.addfile(one, io.BytesIO(data))


def _tried(wheel: Path, scratch: Path) -> Path:
    """Install the wheel into an empty environment, and run it in an empty directory; return the environment's Python."""
    venv, empty, limits = scratch / "venv", scratch / "empty", scratch / "constraints.txt"
    empty.mkdir()
    locked = re.findall(r"^([\w.-]+==[^\\\n]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    limits.write_text("\n".join(locked))
    _run(sys.executable, "-m", "venv", venv)
    python, integrator = venv / "bin" / "python", venv / "bin" / "integrator"

    def install(extras: str) -> int:
        _run(python, "-m", "pip", "install", "--quiet", "--constraint", limits, f"{wheel}{extras}")
        return sum(one.stat().st_size for one in venv.rglob("*") if one.is_file() and not one.is_symlink()) // 2**20

    size = install("")
    print(f"installed: {size} MiB, of which the environment itself has some 15")
    environment = {"KAFKA_BROKERS": "127.0.0.1:1"}
    print(_run(integrator, "--version", cwd=empty).strip())
    _run(integrator, "--help", cwd=empty)
    _run(
        integrator,
        "check",
        "--channel",
        venv / "share/integrator" / CHANNEL,
        cwd=empty,
        environment=environment,
    )
    (empty / "x.yaml").write_text(CAPTURE)
    said = _run(integrator, "check", "--channel", "x.yaml", cwd=empty, code=5)
    if "pip install 'integrator[postgres]'" not in said:
        sys.exit(f"check does not say which extra is missing:\n{said}")
    (empty / "x.yaml").unlink()
    for extra in EXTRAS:
        before, size = size, install(f"[{extra}]")
        print(f"  with [{extra}]: {size - before} MiB more")
        if extra == "quickstart":
            _quickstart(integrator, empty)
    return python


def _quickstart(integrator: Path, empty: Path) -> None:
    if not shutil.which("java"):
        print("NOT TRIED: the quickstart, for there is no java on the PATH")
        return
    said = _run(integrator, "quickstart", cwd=empty)
    print("quickstart:", *said.splitlines()[-12:], sep="\n  ")
    if "No database" in said or list(empty.iterdir()):
        sys.exit(f"the quickstart captured no database, or left files:\n{said}")


def _bill_of_materials(python: Path, version: str) -> None:
    """Write the CycloneDX document of the environment with all extras, and check it against the schema."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    file = OUT / f"integrator-{version}.cdx.json"
    words = ("environment", python, "--pyproject", ROOT / "pyproject.toml", "--mc-type", "application")
    tool = Path(sys.executable).with_name("cyclonedx-py")
    _run(tool, *words, "--output-reproducible", "--spec-version", "1.6", "--output-file", file)
    document = json.loads(file.read_text())
    document["metadata"]["component"]["version"] = version  # which pyproject.toml does not have
    file.write_text(json.dumps(document, indent=1))
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(file.read_text()):
        sys.exit(f"{file}: {wrong}")


def _chart(version: str) -> None:
    program = helm.program()
    if program is None:
        print("NOT BUILT: the chart, for neither helm nor go is on the PATH")
        return
    semantic = re.sub(r"^(\d+\.\d+)\.?(dev.*)", r"\1.0-\2", version)  # a commit after a tag: 0.1.dev5 is 0.1.0-dev5
    chart = ROOT / "ops/helm/integrator"
    _run(program, "lint", "--strict", chart, "--values", chart / "ci/postgres-values.yaml")
    _run(program, "package", chart, "--version", semantic, "--app-version", version, "--destination", OUT)


def _image(version: str) -> None:
    base = os.environ.get("BASE_IMAGE", "")
    if not re.search(r"@sha256:[0-9a-f]{64}$", base):
        print("NOT BUILT: the image, for BASE_IMAGE names no base by its digest (python:3.12-slim-bookworm@sha256:…)")
    elif subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        print("NOT BUILT: the image, for no Docker answers")
    else:
        name = f"integrator:{version.replace('+', '-')}"
        words = ("--build-arg", f"BASE_IMAGE={base}", "--label", f"org.opencontainers.image.version={version}")
        _run("docker", "build", *words, "--tag", name, ROOT)
        _run(
            "docker",
            "run",
            "--rm",
            "--env",
            "KAFKA_BROKERS=a:1",
            name,
            "python",
            "run.py",
            "check",
            "--channel",
            CHANNEL,
        )


def _version(wheel: Path) -> str:
    return wheel.name.split("-")[1]


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
