"""File systems of a few megabytes, which are soon full."""

import contextlib
import os
import subprocess

import pytest


@contextlib.contextmanager
def small_disk(path, megabytes):
    """A file system of so many megabytes at `path`."""
    path.mkdir()
    made = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(made, check=False, capture_output=True).returncode:
        pytest.skip("a small file system needs the right to mount one")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def enlarge(path, megabytes):
    """Make room on one of these file systems."""
    subprocess.run(["mount", "-o", f"remount,size={megabytes}m", str(path)], check=True)
