"""Bytecode in the archives that Spark's Python processes import from."""

import os
import subprocess
import sys
import zipfile

import pytest

from integrator.run.spark import bytecode

SOURCES = {
    "made/__init__.py": "WORD = 'made'\n",
    "made/part.py": "assert 1 is 1\n",
    "made/tests/test_part.py": "x = 1\n",
}


@pytest.fixture
def archive(tmp_path, monkeypatch):
    path = tmp_path / "python" / "lib" / "pyspark.zip"
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
    assert bytecode.archives() == [archive]
    assert not bytecode.add(archive)
    assert imported(archive) == f"{archive}/made/__init__.pyc"


def test_what_was_in_an_archive_stays_where_it_is(archive):
    with zipfile.ZipFile(archive) as before:
        places = {entry.filename: entry.header_offset for entry in before.infolist()}
    bytecode.add(archive)
    with zipfile.ZipFile(archive) as after:
        found = {entry.filename: entry.header_offset for entry in after.infolist()}
        assert {name: after.read(name).decode() for name in SOURCES} == SOURCES
    assert found.items() >= places.items()
    assert set(found) - set(places) == {"made/__init__.pyc", "made/part.pyc"}  # nobody imports the tests


def test_an_archive_with_bytecode_is_left_as_it_is(archive):
    bytecode.add(archive)
    first = archive.stat()
    bytecode.add(archive)
    assert archive.stat() == first


def test_owner_and_mode_stay(archive):
    archive.chmod(0o444)
    before = archive.stat()
    umask = os.umask(0o077)
    assert not bytecode.add(archive)
    assert os.umask(umask) == 0o077
    after = archive.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_size > before.st_size


def test_a_module_that_this_python_cannot_compile_is_passed_over(archive):
    with zipfile.ZipFile(archive, "a") as made:
        made.writestr("made/old.py", "print 'of Python 2'\n")
        made.writestr("made/latin.py", b"WORD = 'caf\xe9'\n")
    assert not bytecode.add(archive)
    names = zipfile.ZipFile(archive).namelist()
    assert "made/part.pyc" in names
    assert not {"made/old.pyc", "made/latin.pyc"}.intersection(names)


def test_archives_of_others_are_left_alone(archive):
    (archive.parent / "mine.zip").write_bytes(archive.read_bytes())
    assert bytecode.archives() == [archive]


def of_another_python(archive, _monkeypatch):
    with zipfile.ZipFile(archive, "a") as made:
        made.writestr("made/part.pyc", b"\0\0\r\n")


def damaged(archive, _monkeypatch):
    archive.write_bytes(archive.read_bytes()[:100])


def full(_archive, monkeypatch):
    def fsync(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bytecode.os, "fsync", fsync)


REASONS = {
    of_another_python: "it has the bytecode of another Python; install PySpark again for this one",
    damaged: "File is not a zip file; install PySpark again",
    full: "No space left on device; run this as the user who installed PySpark",
}


@pytest.mark.parametrize("case", REASONS)
def test_why_an_archive_stays_as_it_is(case, archive, monkeypatch):
    case(archive, monkeypatch)
    before = archive.read_bytes()
    assert bytecode.add(archive) == REASONS[case]
    assert archive.read_bytes() == before
    assert list(archive.parent.iterdir()) == [archive]
