"""Each leaf in turn removed from a copy of the tree, and what is left checked: `make leaves`.

A leaf is a module or folder that tests/size.py lists, and its entry: in a dict, or a command. With it
go the leaves that are built upon it, and the modules beside it that nothing else imports. All that is left must be
importable, and pass ruff, mypy, lint-imports and the tests (`--tests`). A test that fails concerns the leaf where its
error is that the leaf cannot be imported, where its error or its parameters name the key of the leaf's entry, or where
it runs the leaf's code in the whole tree (tests/parts/entered.py), or misses a text of a leaf that is data alone; any
other one that fails is an error.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import grimp

from tests.size import COMMANDS, LEAVES, ROOT

NAMES = [f"{package}.{name}" for package, names in LEAVES.items() for name in names]
FAST = subprocess.run(
    ["grep", "-rlw", "mark.fast", "tests/unit", "tests/wire"], cwd=ROOT, check=True, capture_output=True, text=True
).stdout.split()
IMPORT_ALL = """
import importlib, pkgutil, integrator
for one in pkgutil.walk_packages(integrator.__path__, "integrator."):
    if not one.name.endswith("__main__"):
        importlib.import_module(one.name)
"""
Span = tuple[int, int]
_LEAST_TEXT = 6
_FEW = 4
"""Test files for which a second process would take longer to start than it saves."""


class Tangled(Exception):
    """A module uses what is gone outside of the entries of dicts; the text is in which lines."""


class _Source:
    """A module's text, and where in it things are."""

    def __init__(self, text: str) -> None:
        self.data, self.tree = text.encode(), ast.parse(text)
        self._starts = [0]
        for line in self.data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """Return where something begins and ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def entries(self) -> Iterator[tuple[ast.Dict, int, Span]]:
        """Yield the entries of the dicts that have a name: the dict, which one, and where it is."""
        for one in self.tree.body:
            shelf = one.value if isinstance(one, ast.Assign | ast.AnnAssign) else None
            if isinstance(shelf, ast.Dict):
                heads = [
                    self.span(key)[0] if key else self.data.rindex(b"**", 0, self.span(value)[0])
                    for key, value in zip(shelf.keys, shelf.values, strict=True)
                ]
                heads.append(self.span(shelf)[1] - 1)
                yield from ((shelf, at, (heads[at], heads[at + 1])) for at in range(len(shelf.values)))


def _commands(tree: ast.Module, gone: Callable[[str], bool]) -> Iterator[ast.stmt]:
    """Yield the commands that import what is gone: functions with a decorator."""
    for one in tree.body:
        if isinstance(one, ast.FunctionDef) and one.decorator_list:
            inside = [part for part in ast.walk(one) if isinstance(part, ast.ImportFrom)]
            if any(gone(f"{part.module}.{name.name}") for part in inside for name in part.names):
                yield one


def without(text: str, gone: Callable[[str], bool]) -> tuple[str, set[str]]:
    """Return a module without its imports of what is gone, and without the entries and commands that use them.

    With it the keys of these entries that are texts. Raises Tangled.
    """
    source = _Source(text)
    lost, keys, edits, wrong = set[str](), set[str](), dict[Span, bytes](), set[int]()
    for command in _commands(source.tree, gone):
        assert isinstance(command, ast.FunctionDef)
        edits[source.span(command.decorator_list[0])[0] - 1, source.span(command)[1]] = b""
        source.tree.body.remove(command)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            of = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            kept = [one for one in node.names if not gone(of + one.name)]
            if len(kept) < len(node.names):
                lost |= {one.asname or one.name for one in node.names if one not in kept}
                wrong |= {node.lineno} - {one.lineno for one in source.tree.body}
                node.names = kept
                edits[source.span(node)] = ast.unparse(node).encode() if kept else b""
    used: set[ast.AST] = {one for one in ast.walk(source.tree) if isinstance(one, ast.Name) and one.id in lost}
    used |= {one for one in ast.walk(source.tree) if isinstance(one, ast.Constant) and gone(str(one.value))}
    for shelf, at, span in source.entries():
        key, value = shelf.keys[at], shelf.values[at]
        if names := used & {*ast.walk(value), *(ast.walk(key) if key else ())}:
            used -= names
            edits[span] = b""
            constants = [one.value for one in ast.walk(key or value) if isinstance(one, ast.Constant)]
            keys |= {one for one in constants if isinstance(one, str) and one}
    if wrong := wrong | {one.lineno for one in used if isinstance(one, ast.expr)}:
        raise Tangled(", ".join(map(str, sorted(wrong))))
    data = source.data
    for (first, last), new in sorted(edits.items(), reverse=True):
        data = data[:first] + new + data[last:]
    return data.decode(), keys


@dataclass
class Cut:
    """What goes with a leaf: modules (packages for all in them), the texts that shelves have then, and tangles.

    keys: of the entries that shelves no longer have.
    """

    gone: set[str]
    keys: set[str] = field(default_factory=set)
    shelves: dict[str, str] = field(default_factory=dict)
    tangles: list[str] = field(default_factory=list)

    def has(self, module: str) -> bool:
        return any(module == one or module.startswith(f"{one}.") for one in self.gone)


def path_of(module: str) -> Path:
    path = Path(*module.split("."))
    return path / "__init__.py" if (ROOT / path).is_dir() else path.with_suffix(".py")


def cut_of(leaf: str, graph: grimp.ImportGraph) -> Cut:
    """Return what is removed with a leaf."""
    cut = Cut({leaf, *COMMANDS.get(leaf, ())})
    while True:
        before = set(cut.gone)
        cut.shelves, cut.tangles, cut.keys = {}, [], set()
        for module in sorted(graph.modules):
            text = (ROOT / path_of(module)).read_text(encoding="utf-8")
            by_import = any(map(cut.has, graph.find_modules_directly_imported_by(module)))
            if cut.has(module) or not (by_import or any(f'"{one}' in text for one in cut.gone)):
                continue
            try:
                if module == "integrator":  # the face of the Python interface
                    cut.shelves[module], keys = f'"""{ast.get_docstring(ast.parse(text))}\n"""\n', set[str]()
                    continue
                cut.shelves[module], keys = without(text, cut.has)
                cut.keys |= keys
            except Tangled as lines:
                built = [name for name in NAMES if module == name or module.startswith(f"{name}.")]
                cut.gone |= {*built, *(one for name in built for one in COMMANDS.get(name, ()))}
                cut.tangles += [] if built else [f"{path_of(module)}: {lines}"]
        folders = {one.rpartition(".")[0] for one in cut.gone}
        for module in graph.modules:
            importers = graph.find_modules_that_directly_import(module)
            beside = module.rpartition(".")[0] in folders - {"integrator"} and not cut.has(module)
            if beside and importers and all(map(cut.has, importers)):
                cut.gone.add(module)
        if cut.gone == before:
            return cut


def copied(directory: Path, cut: Cut) -> Path:
    """Return a copy of the tree without a leaf."""
    made = shutil.ignore_patterns(".git", ".venv", "build", "site", "dist", "__pycache__", "*.egg-info", ".*_cache")
    shutil.copytree(ROOT, directory, ignore=made, dirs_exist_ok=True, symlinks=True)
    if (ROOT / ".mypy_cache").is_dir():
        shutil.copytree(ROOT / ".mypy_cache", directory / ".mypy_cache")
    for module in cut.gone:
        path = directory / path_of(module)
        shutil.rmtree(path.parent) if path.name == "__init__.py" else path.unlink()
    for module, text in cut.shelves.items():
        (directory / path_of(module)).write_text(text, encoding="utf-8")
    contracts = directory / "pyproject.toml"
    contracts.write_text(_without_layers(contracts.read_text(encoding="utf-8"), cut.gone), encoding="utf-8")
    return directory


def _without_layers(text: str, gone: set[str]) -> str:
    """Return pyproject.toml with contracts that do not name what is gone."""
    sections = text.split("[[tool.importlinter.contracts]]")
    for module in gone:
        package, _, name = module.rpartition(".")
        for at, section in enumerate(sections):
            new = section.replace(f'"{module}",', "")
            if f'containers = ["{package}"]' in section:
                head, layers, rest = new.partition("layers = [")
                layered, closing, rest = rest.partition("]")
                layered = re.sub(rf"(?<=[\" ]){name} \| | \| {name}(?=[\" ])|\n  \"{name}\",", "", layered)
                new = head + layers + layered + closing + rest
            sections[at] = new
    return "[[tool.importlinter.contracts]]".join(sections)


def ran(tree: Path, *words: str, **environment: str) -> str:
    """Run a program of the environment in a tree; return nothing where it passes, else its output."""
    command = [str(Path(sys.executable).parent / words[0]), *words[1:]]
    given = {**os.environ, "PYTHONPATH": str(tree), **environment}
    done = subprocess.run(command, cwd=tree, env=given, check=False, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr or f"exit code {done.returncode}"


def failing(tree: Path, tests: list[str], cut: Cut) -> tuple[int, list[str]]:
    """Return how many tests concern the leaf, and what is wrong with those that fail without it and do not."""
    noted, entered = tree / "failed.json", tree / "entered.json"
    many = ["-n", "2", "--dist", "loadfile"] if len(tests) > _FEW else []
    words = ["pytest", "-q", "-p", "tests.parts.entered", "-p", "no:cacheprovider"]
    text = ran(tree, *words, "--continue-on-collection-errors", *many, *tests, FAILED_TESTS=str(noted))
    if not text:
        return 0, []
    failed: dict[str, str] = json.loads(noted.read_text(encoding="utf-8")) if noted.exists() else {}
    if not failed:
        return 0, [text[-2000:]]
    modules = "|".join(map(re.escape, cut.gone))
    folders = "|".join(re.escape(one.rpartition(".")[0]) for one in cut.gone)
    asked_for = "".join(f"|'{re.escape(key)}'" for key in cut.keys)
    about = re.compile(rf"^E .*(named '({modules})|import name '\w+' from '({folders}){asked_for})", re.MULTILINE)
    of_key = re.compile(rf"\[.*\b({'|'.join(map(re.escape, cut.keys))})\b") if cut.keys else re.compile(r"(?!)")
    data = _texts_of_data(cut)
    concern = {test for test, text in failed.items() if any(one in text for one in data)}
    left = [
        test for test, text in failed.items() if not (about.search(text) or of_key.search(test)) and test not in concern
    ]
    if left:
        ran(ROOT, *words, *left, ENTERED_MODULES=str(entered))
        ran_code: dict[str, list[str]] = json.loads(entered.read_text(encoding="utf-8"))
        left = [test for test in left if not any(map(cut.has, ran_code.get(test, ())))]
    return len(failed) - len(left), [f"{test}\n{failed[test]}" for test in left]


def _texts_of_data(cut: Cut) -> set[str]:
    """Return the texts of modules that are data alone, and so run no code: whoever misses one misses the leaf."""
    found = set[str]()
    for module in cut.gone:
        nodes = list(ast.walk(ast.parse((ROOT / path_of(module)).read_text(encoding="utf-8"))))
        if not any(isinstance(one, ast.FunctionDef) for one in nodes):
            texts = {one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)}
            found |= {one for one in texts if len(one) >= _LEAST_TEXT}
    return found


def checked(leaf: str, graph: grimp.ImportGraph, tests: list[str]) -> Iterator[str]:
    """Yield what goes with a leaf and how many tests concern it, and then all that is wrong without it."""
    cut = cut_of(leaf, graph)
    built = sorted(cut.gone & {*NAMES, *itertools.chain(*COMMANDS.values())} - {leaf})
    parts = len(cut.gone) - len(built) - 1
    beside = [f"with {', '.join(built)}"] * bool(built) + [f"{parts} modules beside it"] * bool(parts)
    if cut.tangles:
        yield ", ".join(beside)
        yield from cut.tangles
        return
    with tempfile.TemporaryDirectory(prefix="leaf-") as directory:
        tree = copied(Path(directory), cut)
        if edited := [str(path_of(module)) for module in cut.shelves]:
            ran(tree, "ruff", "check", "--fix", "-q", "--select", "F401,I001", *edited)
            ran(tree, "ruff", "format", "-q", *edited)
        wrong = [
            ran(tree, "python", "-c", IMPORT_ALL)[-2000:],
            ran(tree, "ruff", "check", "-q", "--output-format", "concise", "integrator"),
            ran(tree, "mypy"),
            ran(tree, "lint-imports"),
        ]
        if tests:
            ran(tree, "python", "-m", "tests.generate")  # the pages; a test fails where that fails
        of_leaf, failed = failing(tree, tests, cut) if tests and not any(wrong) else (0, [])
        yield ", ".join([*beside, *([f"{of_leaf} tests"] if of_leaf else [])])
        yield from filter(None, [*wrong, *failed])


def main() -> int:
    """Check leaves; print each and its result, and last what is wrong."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("leaves", nargs="*", help=f"all without; of {', '.join(NAMES)}")
    arguments.add_argument("--random", type=int, help="this many, by the seed")
    arguments.add_argument("--seed", type=int, default=int(time.time()), help="of --random; the time without")
    arguments.add_argument(
        "--tests", nargs="*", default=FAST, help="files; those of `make fast` without; none: no tests"
    )
    given = arguments.parse_args()
    if unknown := set(given.leaves) - set(NAMES):
        arguments.error(f"{', '.join(sorted(unknown))}: no leaf; those are {', '.join(NAMES)}")
    names = given.leaves or NAMES
    if given.random:
        names = random.Random(given.seed).sample(names, given.random)
        print(f"seed {given.seed}")
    ran(ROOT, "mypy")  # fills the cache that trees are given
    graph = grimp.build_graph("integrator", cache_dir=None)
    problems = dict[str, list[str]]()
    for leaf in names:
        began = time.monotonic()
        beside, *problems[leaf] = checked(leaf, graph, given.tests)
        result = "does not fall off" if problems[leaf] else "falls off"
        print(f"{leaf:<42}{result:<19}{time.monotonic() - began:4.0f} s   {beside}", flush=True)
    for leaf, wrong in problems.items():
        print("".join(f"\n{leaf}: {one}" for one in wrong), end="")
    return int(any(problems.values()))


if __name__ == "__main__":
    raise SystemExit(main())
