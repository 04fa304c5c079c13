"""Regular expressions over text of others take steps that grow with its length, not with its square or faster.

All patterns of the package are tried as they are used: those of modules by the methods that are called on them, and
those that are written where they are used.
"""

import ast
import importlib
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import integrator
from integrator.channel.secret import Secrets

ROOT = Path(integrator.__file__).parent
METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "split")
SIGNS = ["a", "1", " ", "\t", "\n", "\\", "'", '"', "`", "[", "]", "(", ")", "{", "}", "$", "/", "*", "-", "#", "@", "!", ":", ";", ".", ",", "=", "_", "%", "<", "&", "+", "é", "a.", "a ", "a=", "a,", "${", "}{", "::", "a:", "a\n", " \n", "0,", "1.", "a@", "://a@", "\\'", "a'", "(a", "a(", "[a", "a;", "/*", "- [", ": ", ": a:", "?a=", "a/", "../", "--"]  # fmt: skip
FEW, COUNT = 2_000, 20_000
SLOW_S = 0.002
"""What a text of few signs takes ten times less than; where it takes more, it is tried by ten times as many signs, for which
it may take a thousand times as long as this."""
BEFORE = ("", "a", "- [", "'", "${", "1 ", "://")
BOUNDED = {
    r"(?::|-)\s+([{\[]).*[}\]]\s*[^\s,}\]#]": "broken_yaml looks at 1,000 characters of a line",
    r"\$\{(file:)?([^}]+)\}": "secret looks no further than to the last } of a text, where a reference ends",
}
"""Patterns whose steps grow faster, and what bounds them where they are used."""
SECONDS = 240
"""For all patterns, which take some ten; with steps by the square, one of them takes more for its texts."""


def used(path):
    """Yield the patterns of a file, each with a method that is called on it."""
    module = importlib.import_module(
        ".".join(("integrator", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    )
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS):
            continue
        owner = node.func.value
        if isinstance(owner, ast.Name) and owner.id == "re" and isinstance(node.args[0], ast.Constant):
            yield re.compile(node.args[0].value), node.func.attr
        elif isinstance(owner, ast.Name) and isinstance(getattr(module, owner.id, None), re.Pattern):
            yield getattr(module, owner.id), node.func.attr
        elif isinstance(owner, ast.Subscript):
            held = getattr(module, getattr(owner.value, "id", ""), None)
            yield from (
                (one, node.func.attr)
                for one in (held.values() if isinstance(held, dict) else ())
                if isinstance(one, re.Pattern)
            )


def run(pattern, method, text):
    if method == "sub":
        pattern.sub("", text)
    elif method == "finditer":
        for _ in pattern.finditer(text):
            pass
    else:
        getattr(pattern, method)(text)


def seconds(pattern, method, text):
    started = time.process_time()
    run(pattern, method, text)
    return time.process_time() - started


def try_all(files):
    for path in files:
        if "re." not in path.read_text():
            continue
        for pattern, method in {
            (one.pattern, one.flags, how): (one, how)
            for one, how in used(path)
            if isinstance(one.pattern, str) and one.pattern not in BOUNDED
        }.values():
            print(path, ascii(pattern.pattern), flush=True)  # the last one is named where they take too long
            for sign in SIGNS:
                for before in BEFORE:
                    if seconds(pattern, method, before + sign * FEW + "\x01") > SLOW_S:
                        taken = seconds(pattern, method, before + sign * COUNT + "\x01")
                        assert taken < 1000 * SLOW_S, (pattern, method, before, sign, taken)


def test_no_pattern_takes_more_steps_than_the_text_is_long():
    code = f"import resource; resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}))\n"
    code += "from tests.unit import test_patterns as t\nt.try_all(sorted(t.ROOT.rglob('*.py')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:]


@pytest.mark.parametrize("text", ["${" * 100_000, "${a" * 100_000, "${" * 100_000 + "}"])
def test_references_that_do_not_end_are_no_references(text):
    if text.endswith("}"):
        with pytest.raises(LookupError):
            Secrets().resolve(text)
    else:
        assert Secrets().resolve(text) == text
