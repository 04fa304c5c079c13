"""Conduit, built from the Go module proxy: a pipeline of one source and one destination, in a process of its own."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.parts.brokers import LIBRARIES

PROGRAM = LIBRARIES.parent / "conduit"
VERSION = "v0.14.0"
_PACKAGE = "github.com/conduitio/conduit"
_OF_CHECKSUMS = "/sumdb/"
"""In the address that go names when the checksum database does not answer it; a wrong checksum is told otherwise."""


@dataclass(frozen=True)
class End:
    """A connector that is built in, its settings, and processors of its records."""

    plugin: str
    settings: Mapping[str, str]
    processors: Sequence[Mapping[str, object]] = ()


@contextlib.contextmanager
def running(directory: Path, source: End, destination: End) -> Iterator[subprocess.Popen[bytes]]:
    """Run a pipeline, whose files and log are in `directory`, and kill it afterwards."""
    connectors = [
        {
            "id": kind,
            "type": kind,
            "plugin": f"builtin:{end.plugin}",
            "settings": dict(end.settings),
            "processors": [{"id": f"{kind}{number}", **one} for number, one in enumerate(end.processors)],
        }
        for kind, end in (("source", source), ("destination", destination))
    ]
    pipeline = {"id": "tests", "status": "running", "connectors": connectors}
    (directory / "pipelines").mkdir()
    (directory / "pipelines" / "tests.yaml").write_text(json.dumps({"version": "2.2", "pipelines": [pipeline]}))
    command = [str(PROGRAM), "run", "--pipelines.path", str(directory / "pipelines"), "--db.type", "inmemory"]
    command += ["--api.enabled=false", "--log.level", "error", "--preview.pipeline-arch-v2"]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=directory, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def built() -> bool:
    """Return whether the program is there, after it is built if need be, which takes minutes."""
    PROGRAM.parent.mkdir(exist_ok=True)
    with PROGRAM.with_name("conduit.lock").open("w") as lock:  # tests run in several processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        return PROGRAM.exists() or (bool(shutil.which("go")) and _build())


def _build() -> bool:
    source = PROGRAM.with_name("conduit-module")
    source.mkdir(exist_ok=True)
    (source / "go.mod").write_text(f"module tests\n\ngo 1.24\n\nrequire {_PACKAGE} {VERSION}\n")
    (source / "tests.go").write_text(f'package tests\n\nimport _ "{_PACKAGE}/pkg/conduit"\n')
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    told = _go(source, environment, "mod", "tidy")
    if _OF_CHECKSUMS in told:
        # Where nothing but a module proxy is reached, the checksum database is not, and go ends. No go.sum names these
        # modules yet, so that the database alone could say whether the proxy's are everybody's: here they are taken on
        # the proxy's word, for this build, which nothing but tests run.
        environment["GONOSUMDB"] = "*"
        told = _go(source, environment, "mod", "tidy")
    told = told or _go(source, environment, "build", "-o", f"{PROGRAM}.part", f"{_PACKAGE}/cmd/conduit")
    if told:
        print(f"Conduit is not to be had: {told[-2000:]}")
        return False
    Path(f"{PROGRAM}.part").rename(PROGRAM)
    return True


def _go(directory: Path, environment: Mapping[str, str], *words: str) -> str:
    """Run go; return what it tells of its failure, nothing where it does not fail."""
    done = subprocess.run(["go", *words], cwd=directory, env=environment, capture_output=True, text=True, check=False)
    return done.stderr or f"go {words[0]} ended with {done.returncode}" if done.returncode else ""
