"""The documentation is true where that can be tried: links, channels, commands, and the texts of errors."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from integrator import plan
from integrator.channel.load import RunOptions
from integrator.cli import main
from tests.parts import pages

ACTIONS = pages.DOCS / "actions"
DDL = """
create table customers(id integer primary key, name text not null, email text, phone text, city text, amount numeric(12,2));
create table orders(id bigint primary key, customer integer not null, amount numeric(10,2), placed timestamptz);
"""
OTHER_DDL = {
    "docs/tables.md": """
create table public.orders(id int primary key); create table public.vehicle(id int primary key);
create table ops.orders(id int primary key); create table public."Vehicle"(id int primary key);
""",
    "docs/howto/outbox.md": """
create table outbox(id uuid primary key, aggregatetype varchar(255) not null, aggregateid varchar(255) not null,
  type varchar(255) not null, created timestamp(3) not null, payload jsonb);
""",
}


@pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: str(page.relative_to(pages.ROOT)))
def test_links_lead_to_what_is_there(page):
    lost = []
    for link in pages.links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in pages.anchors(target)):
            lost.append(link)
    assert lost == []


@pytest.mark.parametrize(
    ("text", "link", "anchor"),
    [("# A `b`, c\n[x](#a-b-c)\n", "#a-b-c", "a-b-c"), ("## Two\n## Two\n![p](x/y.svg)\n", "x/y.svg", "two-1")],
)
def test_links_and_anchors_are_found(text, link, anchor, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text + "```\n[no](#link)\n```\n`[no](#link)` [elsewhere](https://example.com)\n")
    assert pages.links(page) == [link]
    assert anchor in pages.anchors(page)


CHANNELS = [
    pytest.param(text, block, id=str(block)) for text, block in pages.channels() if ACTIONS not in block.page.parents
]


@pytest.mark.parametrize(("text", "block"), CHANNELS)
def test_channels_of_the_pages_pass_check(text, block, tmp_path, monkeypatch):
    for name in re.findall(r"\$\{([A-Z_]+)\}", text):
        monkeypatch.setenv(name, f"a secret of {name}")
    for name in re.findall(r"[\w./-]+\.(?:pem|key|jar)\b", text):
        (tmp_path / Path(name).name).write_text("")
        text = text.replace(name, Path(name).name)
    (tmp_path / "changes").mkdir()
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "shop.sql").write_text((pages.ROOT / "schemas" / "shop.sql").read_text())
    (tmp_path / "shop.sql").write_text(OTHER_DDL.get(str(block.page.relative_to(pages.ROOT)), DDL))
    (tmp_path / "page.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert plan.build("page.yaml", "UTC").recipe.tables
    if re.search(r"class: (jdbc|snapshot)", text):
        assert plan.build("page.yaml", "UTC", RunOptions(), refreshing=True).recipe.tables


@pytest.mark.parametrize("block", [block for block in pages.blocks() if block.language == "json"], ids=str)
def test_json_of_the_pages_is_json(block):
    json.loads(block.text)


def parse(words: list[str], command: Any, parent: Any = None) -> None:
    """Have a command's own parser read its words. Raises what it raises."""
    names = list(getattr(command, "commands", {}))
    at = next((at for at, word in enumerate(words) if word in names), len(words))
    context = command.make_context(command.name or "run.py", [*words], parent)
    if at < len(words):
        parse(words[at + 1 :], command.commands[words[at]], context)


COMMANDS = [pytest.param(words, id=f"{block}: {' '.join(words)}") for words, block in pages.commands()]


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_of_the_pages_are_accepted(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for word in words:
        if re.fullmatch(r"[\w-]+\.(jsonl|sql|json|properties|xml)", word):
            (tmp_path / word).touch()
    parse(["1" if word == "N" else word for word in words], typer.main.get_command(main.app))


@pytest.mark.parametrize("words", [["--chanel", "x.yaml"], ["check"], ["state", "--channel", "x", "--back-to", "x"]])
def test_a_command_that_is_wrong_is_found(words):
    with pytest.raises(Exception, match=r"option|int|Missing"):
        parse(words, typer.main.get_command(main.app))


@pytest.mark.parametrize(("words", "where"), [*pages.mentions()])
def test_options_of_commands_in_sentences_are_there(words, where):
    command: Any = typer.main.get_command(main.app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    known = {name for one in command.params for name in one.opts} | {"--help"}
    assert [word for word in words if word.startswith("--") and word not in known] == [], where
    assert not words or words[0].startswith("-") or not hasattr(command, "commands"), f"{where}: no such command"


def texts() -> str:
    """The literals of the code, a line each; what is put into one while it runs is a blank."""
    found = []
    for path in sorted((pages.ROOT / "integrator").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                found.append("".join(one.value if isinstance(one, ast.Constant) else "\0" for one in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


TEXTS = texts()


def is_of_the_code(text: str) -> bool:
    """Return whether the code has a text; `…` stands for what is put into it."""
    return re.search(".*".join(re.escape(part.strip()) for part in text.split("…")), TEXTS) is not None


def seen() -> Iterator[tuple[Path, str]]:
    """What pages say that a user sees: texts in the first column of their tables of what goes wrong."""
    for page in pages.PAGES:
        for table in page.read_text(encoding="utf-8").split("| what you see | why |")[1:]:
            for row in table.split("\n\n")[0].splitlines():
                for text in re.findall("`([^`]+ [^`]+)`", row.split(" | ")[0]):
                    yield page, text


SEEN = [*seen()]


@pytest.mark.parametrize("text", [pytest.param(text, id=f"{page.name}: {text}") for page, text in SEEN])
def test_what_pages_say_that_one_sees_are_texts_of_the_code(text):
    assert is_of_the_code(text)


def test_symptoms_are_many_and_stand_once():
    symptoms = [text for page, text in SEEN if page.name == "troubleshooting.md"]
    assert len(symptoms) == len(set(symptoms)) >= 30


def test_lines_of_the_readme_are_not_long():
    text = (pages.ROOT / "README.md").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if len(line) > 120] == []


def test_the_site_is_built_without_warnings_and_loads_nothing_from_elsewhere(tmp_path):
    if importlib.util.find_spec("material") is None:
        pytest.skip("MkDocs Material is not installed here (pip install --require-hashes -r requirements.lock)")
    made = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=pages.ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    loaded = re.compile(r'<(?:script|img|iframe)[^>]*\bsrc="(?:https?:)?//[^"]*|<link[^>]*\bhref="(?:https?:)?//[^"]*')
    site = [path.read_text(encoding="utf-8") for path in (tmp_path / "site").rglob("*.html")]
    assert len(site) > 30
    assert [found for page in site for found in loaded.findall(page)] == []
