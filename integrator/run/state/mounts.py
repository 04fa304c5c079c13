"""The file system that a state directory is on: whether its locks keep out processes of other machines."""

from __future__ import annotations

from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
"""https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html."""
_LOCAL = {"nolock", "local_lock=flock", "local_lock=all"}
"""Options of NFS by which flock() locks are this machine's alone (https://man7.org/linux/man-pages/man5/nfs.5.html)."""


def lock_problem(path: Path, mounts: Path = _MOUNTS) -> str:
    """Return why locks in `path` do not keep out other machines; empty where they do, or where it cannot be known."""
    place = path.resolve()
    try:
        lines = [line.split(" ") for line in mounts.read_text(errors="replace").splitlines()]
    except OSError:  # not Linux
        return ""
    found = [line for line in lines if "-" in line and place.is_relative_to(_unescaped(line[4]))]
    if not found:
        return ""
    mount = max(reversed(found), key=lambda line: len(line[4]))  # the last of those on one directory hides the others
    kind, _, *options = mount[mount.index("-") + 1 :]
    local = sorted(_LOCAL.intersection(",".join(options).split(",")))
    if not kind.startswith("nfs") or not local:
        return ""
    mounted = f"mounted at {_unescaped(mount[4])} with {', '.join(local)}"
    return (
        f"{path}: is on NFS, {mounted}: a process on another machine could integrate the channel, too; mount it "
        "without that option, or keep the state on a local disk"
    )


def _unescaped(text: str) -> str:
    """Return a path, of which the kernel writes blanks as octal numbers."""
    return text.encode().decode("unicode_escape").encode("latin-1").decode(errors="replace")
