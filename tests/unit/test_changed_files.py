"""A change file that is not as it was taken is an error, whatever changed, and whenever: none is read without a remark."""

import os
from dataclasses import replace

import pyarrow as pa
import pytest

from integrator.contracts.fragments import Checkpoint
from integrator.decode.contract import File
from integrator.errors import EnvironmentFault, from_wire
from integrator.run.passes.first_pass import first_pass
from integrator.sources.files.reader import FileReader, slice_of
from integrator.sources.slices import rows_of
from tests.parts import pure

DDL = "create table t(k int primary key);"


def written_anew(path):
    """Other contents of the same size; the time of change is a tick later, as on a file system."""
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b'"k": 1', b'"k": 7'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 4_000_000))


def replaced(path):
    other = path.with_suffix(".tmp")
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(1, 1))
    other.replace(path)


CHANGES = {
    "written anew with the same size": (written_anew, "bytes as when it was taken, but was written again since"),
    "replaced by one of the same size": (replaced, "bytes as when it was taken, but was written again since"),
    "written on": (lambda path: path.write_bytes(path.read_bytes() * 2), "it has changed"),
    "cut": (lambda path: os.truncate(path, 0), "it has changed"),
    "removed": (lambda path: path.unlink(), "the change file is gone; put it back"),
    "a link to itself now": (
        lambda path: (path.unlink(), path.symlink_to(path)),
        "the change file is gone; put it back",
    ),
    "a directory now": (lambda path: (path.unlink(), path.mkdir()), "the change file is gone; put it back"),
}


def taken(directory, *, group=None):
    made = pure.recipe(directory, DDL)
    paths = [pure.hvr(directory, {"hvr_tx_seq": name, "k": 1}, name=f"{name}.jsonl") for name in "12"]
    return made, paths, [slice_of(path, at, group=group) for at, path in enumerate(paths, 1)]


def read(made, slices):
    try:
        return list(first_pass(made, Checkpoint(), pure.NOW, FileReader())(iter([rows_of(slices)])))
    except RuntimeError as error:
        raise from_wire(str(error)) or error from None


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("as_", ["one of two files", "one of joined files", "the file before a task's first"])
def test_a_file_that_changed_since_it_was_taken_is_an_error(how, as_, tmp_path):
    change, text = CHANGES[how]
    made, paths, slices = taken(tmp_path, group=1 if as_ == "one of joined files" else None)
    assert read(made, slices)
    if as_ == "the file before a task's first":
        slices[0] = replace(slices[0], read=False)
        paths[1].write_bytes(paths[1].read_bytes().replace(b'"hvr_tx_seq": "2"', b'"hvr_tx_seq": "1"'))
        slices[1] = slice_of(paths[1], 2)
    change(paths[0])
    with pytest.raises(EnvironmentFault, match=text) as raised:
        read(made, slices)
    assert str(raised.value).startswith(f"{paths[0]}: ")


@pytest.mark.parametrize("how", ["written anew with the same size", "written on", "removed"])
def test_a_file_that_changes_while_it_is_read_is_an_error(how, tmp_path, monkeypatch):
    change, text = CHANGES[how]
    made, paths, slices = taken(tmp_path)
    lines = File.lines

    def then_changed(file, *given):
        yield from lines(file, *given)
        if file.path == str(paths[0]):
            change(paths[0])

    monkeypatch.setattr(File, "lines", then_changed)
    with pytest.raises(EnvironmentFault, match=text):
        read(made, slices)


def test_a_file_in_a_store_that_has_no_times_is_compared_by_its_size(tmp_path, monkeypatch):
    made, _, slices = taken(tmp_path)

    class Timeless(pa.fs.LocalFileSystem):
        def get_file_info(self, path):
            info = super().get_file_info(path)
            return type("Info", (), {"size": info.size, "mtime_ns": None, "type": info.type})

    monkeypatch.setattr("pyarrow.fs.LocalFileSystem", Timeless)
    assert read(made, [replace(one, mtime=0) for one in slices])
