"""Bytecode in PySpark's archives: without it, Python compiles what it imports from an archive at each start.

Spark's Python processes, some five for a channel, import PySpark from the archives in SPARK_HOME/python/lib
(PythonUtils.sparkPythonPath). Python takes bytecode from an archive (https://docs.python.org/3/library/zipimport.html);
its form is that of PEP 552.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import shutil
import warnings
import zipfile
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from integrator.errors import EnvironmentFault

_HASHED_UNCHECKED = (0b01).to_bytes(4, "little")
"""PEP 552's flags: the bytecode has its source's hash, which need not be compared, for both are in one archive."""
_TESTS = "/tests/"


def archives() -> list[Path]:
    """Return the archives that Spark's Python processes import from."""
    home = _find_spark_home()
    return sorted(Path(home, "python", "lib").glob("*.zip"))


def add() -> list[Path]:
    """Add this Python's bytecode to the archives that have none; return all of them. Raises EnvironmentFault."""
    found = archives()
    for archive in found:
        try:
            _add(archive)
        except OSError as error:
            raise EnvironmentFault(
                f"{archive}: cannot be written: {error.strerror}; run this as the user who installed PySpark"
            ) from error
    return found


def _add(archive: Path) -> None:
    """Put an archive with bytecode in the place of one without.

    What is in it stays where it is: processes that run know the places of modules that they import later.
    """
    new = archive.with_suffix(f".{os.getpid()}.new")
    with zipfile.ZipFile(archive) as before:
        names = before.namelist()
    if any(name.endswith(".pyc") for name in names):
        return
    try:
        shutil.copy2(archive, new)
        with zipfile.ZipFile(new, "a", zipfile.ZIP_DEFLATED) as made:
            for name in names:
                if name.endswith(".py") and _TESTS not in name:
                    made.writestr(f"{name}c", bytecode(made.read(name), f"{archive}/{name}"))
        new.replace(archive)
    finally:
        new.unlink(missing_ok=True)


def bytecode(source: bytes, path: str) -> bytes:
    """Return what a .pyc file has of a module's source."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Python has against PySpark's source
        code = compile(source, path, "exec", dont_inherit=True)
    return b"".join(
        [importlib.util.MAGIC_NUMBER, _HASHED_UNCHECKED, importlib.util.source_hash(source), marshal.dumps(code)]
    )
