"""`--help`, `--version` and the shell's completion answer at once: they load nothing that a channel's work needs."""

import subprocess
import sys

import pytest

HEAVY = ("confluent_kafka", "numba", "numpy", "pandas", "pyarrow", "pyspark", "sqlglot", "yaml")
COMMANDS = ["check", "plan", "state", "suspend", "resume", "refresh", "replay", "send", "tables", "init", "quickstart"]
WORDS = [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS), ["import", "hvr", "--help"]]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_nothing_heavy_is_loaded(words):
    code = (
        f"import sys; sys.argv = ['integrator', *{words}]\n"
        "from integrator.cli.main import main\n"
        f"code = main(); print([name for name in {HEAVY} if name in sys.modules]); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout
