"""Bytecode in the archives that Spark's Python processes import from."""

import subprocess
import sys
import zipfile

import pytest

from integrator.errors import EnvironmentFault
from integrator.run import pyspark_bytecode

SOURCES = {
    "made/__init__.py": "WORD = 'made'\n",
    "made/part.py": "assert 1 is 1\n",
    "made/tests/test_part.py": "x = 1\n",
}


@pytest.fixture
def archive(tmp_path, monkeypatch):
    path = tmp_path / "python" / "lib" / "made.zip"
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, source in SOURCES.items():
            made.writestr(name, source)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    return path


def imported(archive):
    """From which file Python imports the module of an archive."""
    code = f"import sys; sys.path.insert(0, {str(archive)!r}); import made, made.part; print(made.__file__)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_python_imports_bytecode_that_was_added(archive):
    assert imported(archive) == f"{archive}/made/__init__.py"
    assert pyspark_bytecode.add() == [archive]
    assert imported(archive) == f"{archive}/made/__init__.pyc"


def test_what_was_in_an_archive_stays_where_it_is(archive):
    with zipfile.ZipFile(archive) as before:
        places = {entry.filename: entry.header_offset for entry in before.infolist()}
    pyspark_bytecode.add()
    with zipfile.ZipFile(archive) as after:
        found = {entry.filename: entry.header_offset for entry in after.infolist()}
        assert {name: after.read(name).decode() for name in SOURCES} == SOURCES
    assert found.items() >= places.items()
    assert set(found) - set(places) == {"made/__init__.pyc", "made/part.pyc"}  # nobody imports the tests


def test_an_archive_with_bytecode_is_left_as_it_is(archive):
    pyspark_bytecode.add()
    first = archive.stat()
    pyspark_bytecode.add()
    assert archive.stat() == first


def test_an_archive_that_cannot_be_written_is_named(archive, monkeypatch):
    def full(*_paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pyspark_bytecode.shutil, "copy2", full)
    before = archive.read_bytes()
    with pytest.raises(EnvironmentFault, match=r"made.zip: cannot be written: No space left on device; run this as"):
        pyspark_bytecode.add()
    assert archive.read_bytes() == before
    assert list(archive.parent.iterdir()) == [archive]
