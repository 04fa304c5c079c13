"""Names and the first sentences of docstrings have the words of CONTRIBUTING's glossary, and not those it replaces."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"^\| ([^|]+) \| `([^|]+)` \|$", re.MULTILINE)
_GLOSSARY = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("**Glossary.**")[2].partition("\n**")[0]
REPLACED = {word: say for say, words in _ROW.findall(_GLOSSARY) for word in words.split("`, `")}
"""Words that are not used, with what to say."""


def _texts(tree):
    """Yield names, with blanks for underscores, and first sentences of docstrings, each with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node) or ""
            yield getattr(node, "lineno", 1), re.split(r"(?<=[.:])\s", text.strip())[0]
        for attribute in ("name", "id", "attr", "arg"):
            if isinstance(name := getattr(node, attribute, None), str):
                yield node.lineno, name.strip("_").replace("_", " ").lower()


def _wrong(path):
    for line, text in _texts(ast.parse(path.read_text(encoding="utf-8"))):
        for word, say in REPLACED.items():
            if re.search(rf"\b{word}\b", text):
                yield f"{path.relative_to(ROOT)}:{line}: {word!r} in {text!r}: say {say}"


def test_the_glossary_is_found():
    assert len(REPLACED) >= 10


@pytest.mark.parametrize("package", sorted(one.name for one in (ROOT / "integrator").iterdir() if one.is_dir()))
def test_words_are_those_of_the_glossary(package):
    assert [wrong for path in sorted((ROOT / "integrator" / package).rglob("*.py")) for wrong in _wrong(path)] == []
