"""Bytecode in PySpark's archives: without it, Python compiles what it imports from an archive at each start.

Spark's Python processes, some five for a channel, import PySpark from the archives in SPARK_HOME/python/lib
(PythonUtils.sparkPythonPath). Python takes bytecode from an archive (https://docs.python.org/3/library/zipimport.html);
its form is that of PEP 552.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import marshal
import os
import shutil
import tempfile
import warnings
import zipfile
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from integrator import durable

_HASHED_UNCHECKED = (0b01).to_bytes(4, "little")
"""PEP 552's flags: the bytecode has its source's hash, which need not be compared, for both are in one archive."""
_TESTS = "/tests/"


def archives() -> list[Path]:
    """Return the archives that Spark's Python processes import PySpark from."""
    libraries = Path(_find_spark_home(), "python", "lib")
    return sorted([*libraries.glob("pyspark.zip"), *libraries.glob("py4j-*-src.zip")])


def add(archive: Path) -> str:
    """Add this Python's bytecode to an archive, unless it has it; return why that was not possible, if so.

    What is in the archive stays where it is: processes that run know the places of modules that they import later.
    """
    try:
        with zipfile.ZipFile(archive) as before:
            names = before.namelist()
            there = next((name for name in names if name.endswith(".pyc")), None)
            if there is not None:
                own = before.read(there).startswith(importlib.util.MAGIC_NUMBER)
                return "" if own else "it has the bytecode of another Python; install PySpark again for this one"
        made = io.BytesIO(archive.read_bytes())
        with zipfile.ZipFile(made, "a", zipfile.ZIP_DEFLATED) as together:
            for name in names:
                if name.endswith(".py") and _TESTS not in name:
                    _compile(together, name, f"{archive}/{name}")
        _replace(archive, made.getvalue())
    except zipfile.BadZipFile as error:
        return f"{error}; install PySpark again"
    except OSError as error:
        return f"{error.strerror or error}; run this as the user who installed PySpark"
    return ""


def _compile(archive: zipfile.ZipFile, name: str, path: str) -> None:
    """Add the bytecode of a module; one that this Python cannot compile is passed over, for it cannot be imported."""
    source = archive.read(name)
    with warnings.catch_warnings(), contextlib.suppress(SyntaxError, ValueError):
        warnings.simplefilter("ignore")  # what Python has against PySpark's source
        code = compile(source, path, "exec", dont_inherit=True)
        made = [importlib.util.MAGIC_NUMBER, _HASHED_UNCHECKED, importlib.util.source_hash(source), marshal.dumps(code)]
        archive.writestr(f"{name}c", b"".join(made))


def _replace(archive: Path, data: bytes) -> None:
    """Give an archive other content, whole; its owner and mode stay."""
    with tempfile.NamedTemporaryFile(dir=archive.parent, prefix=f".{archive.name}.", delete=False) as new:
        try:
            new.write(data)
            new.flush()
            os.fsync(new.fileno())
            shutil.copymode(archive, new.name)
            with contextlib.suppress(PermissionError):  # only root gives files away
                shutil.chown(new.name, archive.stat().st_uid, archive.stat().st_gid)
            durable.rename(Path(new.name), archive)
        finally:
            Path(new.name).unlink(missing_ok=True)
