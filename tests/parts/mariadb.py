"""A MariaDB of the tests' own: a temporary server of the programs that are installed here. `mysql` has one of MySQL."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.parts.brokers import free_port
from tests.parts.waiting import PATIENCE_S

HOST = "127.0.0.1"
USER = PASSWORD = "cdc"
PROGRAMS = ("mariadb-install-db", "mariadbd", "mariadb", "mariadb-dump")
OWNERS = ("mysql", "nobody")
SETTINGS = f"""
[mariadbd]
bind_address = {HOST}
skip_name_resolve
server_id = 1
log_bin = binlog
binlog_format = ROW
binlog_row_image = FULL
sync_binlog = 0
innodb_flush_log_at_trx_commit = 0
innodb_doublewrite = OFF
innodb_buffer_pool_size = 32M
performance_schema = OFF
default_time_zone = +00:00
character_set_server = utf8mb4
"""
ACCOUNT = f"""create user if not exists {USER}@'%' identified by '{PASSWORD}';
grant all privileges on *.* to {USER}@'%' with grant option;
"""
"""All privileges: REPLICATION SLAVE, REPLICATION CLIENT and BINLOG MONITOR are among them."""


@dataclass(frozen=True)
class MariaDb:
    """A running server: where it listens, and who may do everything there."""

    host: str
    port: int
    client: str
    dumper: str
    user: str = USER
    password: str = PASSWORD
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    begin: Callable[[], subprocess.Popen[bytes]] | None = None
    product: str = "mariadb"

    def crash(self) -> None:
        """Kill the server by signal 9."""
        process = self.processes.pop()
        process.kill()
        process.wait()

    def start(self) -> None:
        """Start it again, and wait until it answers."""
        assert self.begin is not None
        self.processes.append(self.begin())

    def address(self, database: str) -> str:
        """The address of a database, as locations have it."""
        return f"{self.product}://{self.user}:{self.password}@{self.host}:{self.port}/{database}"

    def sql(self, text: str, database: str = "mysql") -> str:
        """What the client prints for statements: a line for each row, tabs between columns, without headers.

        What is in a value is printed as it is; NULL is null. The first statement that fails is an error.
        """
        how = ["--batch", "--raw", "--skip-column-names"]
        return self._ran([self.client, *self._words, *how, database], text)

    def numbers(self, first: int, last: int) -> str:
        """What statements select from for a column `seq` with these numbers."""
        if self.product == "mariadb":
            return f"seq_{first}_to_{last}"
        each = f"with recursive n as (select {first} seq union all select seq + 1 from n where seq < {last}) select seq from n"
        return f"({each}) numbers"

    def dump(self, *databases: str) -> str:
        """What `mysqldump --no-data` writes of databases; of one alone without its name."""
        which = databases if len(databases) == 1 else ("--databases", *databases)
        return self._ran([self.dumper, *self._words, "--no-data", *which])

    @property
    def _words(self) -> list[str]:
        where = ["--no-defaults", f"--host={self.host}", f"--port={self.port}", "--protocol=tcp"]
        return [*where, f"--user={self.user}", f"--password={self.password}", "--default-character-set=utf8mb4"]

    def _ran(self, words: list[str], text: str = "") -> str:
        done = subprocess.run(
            words,
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-4000:])
        return done.stdout


def programs() -> dict[str, str]:
    """Where the programs are that are here, by name."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])
    found = {name: shutil.which(name, path=path) for name in PROGRAMS}
    return {name: place for name, place in found.items() if place}


def missing() -> str:
    """What is not installed here, for a test to be skipped with; nothing if all is there."""
    if len(programs()) < len(PROGRAMS):
        return "MariaDB's server programs (Debian: mariadb-server)"
    return "" if os.geteuid() or _unprivileged() else "a user to run MariaDB as, who is not root (mysql or nobody)"


@contextlib.contextmanager
def cluster(settings: str = "") -> Iterator[MariaDb]:
    """A new server, which listens on a free port of this host only, and writes a binlog of rows; it is gone afterwards.

    settings: more lines of its configuration.
    """
    if missing():
        raise RuntimeError(missing())
    found = programs()
    with tempfile.TemporaryDirectory(prefix="mariadb-") as name:
        directory = Path(name)
        owner = _unprivileged() if os.geteuid() == 0 else None
        data, log, port = directory / "data", directory / "log", free_port()
        (directory / "my.cnf").write_text(
            f"{SETTINGS}port = {port}\nsocket = {directory}/socket\npid_file = {directory}/pid\n"
            f"datadir = {data}\ninit_file = {directory}/account.sql\n{settings}\n"
        )
        (directory / "account.sql").write_text(ACCOUNT)
        for path in (directory, *directory.iterdir()):  # which nobody else reads, where a test has called `main`
            if owner is not None:
                os.chown(path, owner.pw_uid, owner.pw_gid)
        install = [found["mariadb-install-db"], "--no-defaults", f"--datadir={data}", "--skip-test-db"]
        process = started([*install, "--auth-root-authentication-method=normal"], directory, owner)
        if process.wait():
            raise RuntimeError(f"mariadb-install-db failed: {log.read_text(errors='replace')[-4000:]}")

        def begin() -> subprocess.Popen[bytes]:
            process = started([found["mariadbd"], f"--defaults-file={directory}/my.cnf"], directory, owner)
            until_ready(server, process, log)
            return process

        server = MariaDb(HOST, port, found["mariadb"], found["mariadb-dump"], begin=begin)
        with running(server):
            yield server


@contextlib.contextmanager
def running(server: MariaDb) -> Iterator[None]:
    """Start a server; it is killed afterwards."""
    try:
        server.start()
        yield
    finally:
        for process in server.processes:
            process.kill()
            process.wait()


def _unprivileged() -> pwd.struct_passwd | None:
    """Whom root runs the server as, which refuses to be run by root."""
    for name in OWNERS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    return None


def started(words: list[str], directory: Path, owner: pwd.struct_passwd | None) -> subprocess.Popen[bytes]:
    """A server program, as its owner; its output goes to the directory's file `log`."""
    (directory / "socket.lock").unlink(missing_ok=True)  # of one that was killed, whose number another process may have
    with (directory / "log").open("ab") as file:
        return subprocess.Popen(
            words,
            cwd=directory,
            env={**os.environ, "TMPDIR": str(directory)},  # temporary tables of two servers have the same names
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            user=owner.pw_uid if owner else None,
            group=owner.pw_gid if owner else None,
            extra_groups=[] if owner else None,
        )


def until_ready(server: MariaDb, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            server.sql("select 1")
        except RuntimeError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(
                    f"{server.product} did not start: {error}{log.read_text(errors='replace')[-4000:]}"
                ) from None
            time.sleep(0.2)
        else:
            return
