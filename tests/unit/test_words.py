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
            if re.search(rf"\b{word}\b(?! up)", text, re.IGNORECASE):
                yield f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{line}: {word!r} in {text!r}: say {say}"


def test_the_glossary_is_found():
    assert len(REPLACED) >= 10


@pytest.mark.parametrize("of", sorted(one.name for one in (ROOT / "integrator").iterdir() if one.suffix in ("", ".py")))
def test_words_are_those_of_the_glossary(of):
    """of: a package, or a module beside them."""
    path = ROOT / "integrator" / of
    assert [wrong for one in sorted(path.rglob("*.py") if path.is_dir() else [path]) for wrong in _wrong(one)] == []


def test_a_word_that_is_replaced_is_found(tmp_path):
    path = tmp_path / "one.py"
    path.write_text('"""What is told. It goes on."""\ndef goes_on(shelf): pass\n', encoding="utf-8")
    assert [one.partition(" in ")[0] for one in _wrong(path)] == [
        f"{path}:1: 'told'",
        f"{path}:2: 'goes on'",
        f"{path}:2: 'shelf'",
    ]
