"""`--help`, `--version` and the shell's completion answer at once: they load nothing that a channel's work needs."""

import subprocess
import sys

import pytest

from integrator.cli.main import app

HEAVY = ("confluent_kafka", "numba", "numpy", "pandas", "pyarrow", "pyspark", "sqlglot", "yaml")
COMMANDS = [command.callback.__name__ for command in app.registered_commands]
WORDS = [
    ["--help"],
    ["--version"],
    *([name, "--help"] for name in COMMANDS),
    ["import", "hvr", "--help"],
    ["airbyte", "write", "--help"],
]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_nothing_heavy_is_loaded(words):
    code = (
        f"import sys; sys.argv = ['integrator', *{words}]\n"
        "from integrator.cli.main import main\n"
        f"code = main(); print([name for name in {HEAVY} if name in sys.modules]); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout


def test_completion_loads_nothing_heavy_either():
    environment = {"_INTEGRATOR_COMPLETE": "complete_bash", "COMP_WORDS": "integrator pre", "COMP_CWORD": "1"}
    code = (
        "import sys, os; sys.argv = ['integrator']\n"
        f"os.environ.update({environment})\n"
        "from integrator.cli.main import app\n"
        "try: app(prog_name='integrator')\n"
        f"finally: print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["prepare", "[]"], done.stdout + done.stderr


@pytest.mark.parametrize("words", [[], ["import"], ["airbyte"]])
def test_a_command_of_which_nothing_is_given_shows_its_help(words):
    """It ended with 2, and "; see --help" on stderr."""
    done = subprocess.run([sys.executable, "-m", "integrator", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: " in done.stdout
    assert "--help" in done.stdout
