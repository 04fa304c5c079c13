"""The archive of Spark's classes: its place, and the errors where it cannot be made.

tests/broker/test_quickstart.py makes a real one.
"""

import os
import stat

import pytest
from pyspark import SparkContext

from integrator.errors import EnvironmentFault
from integrator.run.spark import class_archive


@pytest.fixture
def place(tmp_path, monkeypatch):
    target = tmp_path / "var" / "spark.jsa"
    monkeypatch.setattr(class_archive, "path", lambda: target)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    return target


class Gateway:
    """One whose JVM ended with a code, and what it wrote before that."""

    def __init__(self, code, wrote=None):
        self.proc, self.stdin, self._code, self._wrote = self, self, code, wrote

    def close(self):
        if self._wrote:
            self._wrote.write_bytes(b"classes")

    def wait(self, _seconds):
        return self._code


def test_without_an_archive_a_jvm_gets_no_options(place):
    assert class_archive.options() == ""


def test_a_whole_archive_takes_the_place_of_the_one_before(place, monkeypatch):
    seen = []
    monkeypatch.setattr(SparkContext, "_gateway", Gateway(0, place.with_suffix(f".{os.getpid()}.new")))
    assert class_archive.make(lambda: seen.append(os.environ["PYSPARK_SUBMIT_ARGS"])) == place
    assert seen[0].startswith("--conf 'spark.driver.defaultJavaOptions=\"-XX:ArchiveClassesAtExit=")
    assert seen[0].endswith(" pyspark-shell")
    assert place.read_bytes() == b"classes"
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o755
    assert class_archive.options() == f'"-XX:SharedArchiveFile={place}" -Xlog:cds*=off'


CASES = {
    "no gateway": (None, "this process's own: run this with python, not with spark-submit"),
    "a full disk": (Gateway(1), "ended with 1 when it wrote the archive; is the disk full"),
    "another Java": (Gateway(0), "Java wrote no archive; OpenJDK 17 or newer can"),
}


@pytest.mark.parametrize("name", CASES)
def test_why_there_is_none(name, place, monkeypatch):
    gateway, reason = CASES[name]
    monkeypatch.setattr(SparkContext, "_gateway", gateway)
    umask = os.umask(0o077)
    with pytest.raises(EnvironmentFault, match=reason):
        class_archive.make(lambda: None)
    assert os.umask(umask) == 0o077
    assert not place.exists()


def test_a_part_of_an_archive_is_removed(place, monkeypatch):
    monkeypatch.setattr(SparkContext, "_gateway", Gateway(1, place.with_suffix(f".{os.getpid()}.new")))
    with pytest.raises(EnvironmentFault, match="is the disk full"):
        class_archive.make(lambda: None)
    assert list(place.parent.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "var").write_text("")
    monkeypatch.setattr(class_archive, "path", lambda: tmp_path / "var" / "spark.jsa")
    with pytest.raises(EnvironmentFault, match=r"cannot be written: .*as the user who installed"):
        class_archive.make(lambda: None)
