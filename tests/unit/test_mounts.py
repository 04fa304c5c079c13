"""A state directory on NFS is taken where its locks reach other machines, and refused by name where they do not."""

import pytest

from integrator.errors import EnvironmentFault
from integrator.run.state import mounts
from integrator.run.state.directory import State

LOCAL = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"
CASES = {
    # mounts after that of /, and the options that are named
    "a local disk": ([], None),
    "NFS 4": (["40 21 0:50 / {place} rw shared:2 - nfs4 host:/x rw,vers=4.2,local_lock=none,addr=10.0.0.1"], None),
    "NFS without locks": (["40 21 0:50 / {place} rw - nfs host:/x rw,vers=3,nolock,addr=10.0.0.1"], "nolock"),
    "NFS with local locks": (["40 21 0:50 / {place} rw - nfs host:/x rw,vers=3,local_lock=all"], "local_lock=all"),
    "NFS elsewhere": (["40 21 0:50 / {place}/other rw - nfs host:/x rw,nolock"], None),
    "a disk on NFS": (["40 21 0:50 / {above} rw - nfs host:/x rw,nolock", "41 40 8:2 / {place} rw - xfs /dev/sdb rw"], None),
    "NFS over a disk": (["40 21 8:2 / {place} rw - xfs /dev/sdb rw", "41 40 0:50 / {place} rw - nfs host:/x rw,nolock"], "nolock"),
}  # fmt: skip


@pytest.fixture
def mounted(tmp_path):
    place = tmp_path / "a place"
    place.mkdir()

    def write(lines):
        path = tmp_path / "mountinfo"
        named = {"place": str(place).replace(" ", r"\040"), "above": str(tmp_path)}
        path.write_text("".join(line.format(**named) + "\n" for line in [LOCAL, *lines]))
        return place, path

    return write


@pytest.mark.parametrize("case", CASES)
def test_whether_locks_keep_out_other_machines(case, mounted):
    lines, option = CASES[case]
    place, path = mounted(lines)
    found = mounts.lock_problem(place / "state", path)
    assert bool(found) == (option is not None)
    assert option is None or f"mounted at {place} with {option}: a process on another machine could" in found


def test_a_channel_is_not_started_there(mounted, monkeypatch):
    place, path = mounted(CASES["NFS without locks"][0])
    real = mounts.lock_problem
    monkeypatch.setattr(mounts, "lock_problem", lambda directory: real(directory, path))
    with pytest.raises(EnvironmentFault, match=r"is on NFS, mounted at .* with nolock"):
        State(str(place / "state")).lock("shop", 0.0)


def test_where_nothing_is_known_of_mounts(tmp_path):
    assert mounts.lock_problem(tmp_path, tmp_path / "none") == ""
