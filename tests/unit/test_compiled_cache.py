"""Compiled loops are those of the sources that are installed, whichever were installed before."""

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from integrator.engine import cache
from tests.fuzz import bounds

ROOT = Path(__file__).parent.parent.parent
ESCAPES = "/bfnrtu"
READ = """
import numpy, sys
from integrator.decode.json.document import read_document
from integrator.decode.lines.lines import Lines
from integrator.errors import DataError
line = b'{"a":"\\\\/"}\\n'
try:
    read_document(Lines("f", line, numpy.array([1]), numpy.array([0, len(line)], numpy.int32)), ())
    print("accepted")
except DataError:
    print("refused")
"""


def wheel(directory, change=("", "")):
    """A wheel of the package in which the grammar of JSON is changed."""
    source = directory / "source"
    shutil.copytree(ROOT / "integrator", source / "integrator", ignore=shutil.ignore_patterns("__pycache__"))
    for name in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "channels",
        "schemas",
        "data",
        "docs",
        "ops",
    ):
        (source / name).symlink_to(ROOT / name)
    grammar = source / "integrator" / "engine" / "grammar.py"
    text = grammar.read_text()
    assert change[0] in text
    grammar.write_text(text.replace(*change))
    words = ["wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(directory), str(source)]
    subprocess.run(
        [sys.executable, "-m", "pip", *words], check=True, env={**os.environ, "SETUPTOOLS_SCM_PRETEND_VERSION": "1.0"}
    )
    return next(directory.glob("*.whl"))


def test_an_upgrade_takes_none_of_the_loops_that_were_compiled_before(tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    accepting, refusing = wheel(before), wheel(after, (ESCAPES, ESCAPES[1:]))
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    variables = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib"), "HOME": str(tmp_path)}
    variables.pop("NUMBA_CACHE_DIR", None)

    def reads(package):
        words = ["--python", str(python), "install", "-q", "--no-deps", "--force-reinstall", str(package)]
        subprocess.run([sys.executable, "-m", "pip", *words], check=True)
        done = subprocess.run(
            [python, "-c", READ], env=variables, check=True, capture_output=True, text=True, cwd=tmp_path
        )
        return done.stdout.strip(), len(list((tmp_path / "venv").rglob("compiled-*")))

    assert [reads(one) for one in (accepting, refusing, accepting)] == [
        ("accepted", 1),
        ("refused", 1),
        ("accepted", 1),
    ]


def test_what_a_process_uses_is_kept(tmp_path):
    used, unused, kept = (tmp_path / f"compiled-{name}" for name in ("used", "unused", "kept"))
    for directory in (used, unused, kept):
        directory.mkdir()
    with (used / "in-use").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        cache.remove_others(kept)
    assert sorted(tmp_path.iterdir()) == [kept, used]


PLACE = "import integrator.engine.compiled, numba; print(numba.config.CACHE_DIR)"


def place(at, cache, **variables):
    """Where a process keeps compiled loops that takes the package from a directory."""
    named = {**os.environ, "PYTHONPATH": str(at), "NUMBA_CACHE_DIR": str(cache), **variables}
    return subprocess.run(
        [sys.executable, "-c", PLACE], env=named, check=True, capture_output=True, text=True, cwd=at
    ).stdout


@pytest.mark.parametrize("variable", ["NUMBA_BOUNDSCHECK", None])
def test_loops_with_checked_indices_are_others(variable, tmp_path):
    found = [place(ROOT, tmp_path), place(ROOT, tmp_path, **({variable: "1"} if variable else {}))]
    assert (found[0] == found[1]) is (variable is None)
    assert len(list(tmp_path.glob("*-*"))) == len({*found})  # one does not remove the other


@pytest.mark.parametrize(
    ("changed", "is_another"),
    [("engine/grammar.py", True), ("engine/arrays.py", True), ("decode/rows/coding.py", False)],
)
def test_only_a_change_of_what_loops_are_made_of_compiles_them_anew(changed, is_another, tmp_path):
    shutil.copytree(ROOT / "integrator", tmp_path / "integrator", ignore=shutil.ignore_patterns("__pycache__"))
    before = place(tmp_path, tmp_path / "cache")
    with (tmp_path / "integrator" / changed).open("a") as source:
        source.write("# changed\n")
    assert (place(tmp_path, tmp_path / "cache") != before) is is_another


@pytest.mark.engine
@pytest.mark.engine_without_compiler
def test_indices_are_checked_where_that_is_asked_for():
    bounds.check()


def test_where_nothing_is_compiled_yet_that_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(cache.numba.config, "CACHE_DIR", str(tmp_path))
    assert cache.is_empty()
    (tmp_path / "loops").mkdir()
    (tmp_path / "loops" / "one.nbi").touch()
    assert not cache.is_empty()
