"""The pages of the documentation as data: their links, headings, channels and commands.

Blocks of YAML are channels, or parts of one that `channels` completes; CONTRIBUTING says how they are written.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    [*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"))]
)

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_HEREDOC = re.compile(r"^cat >+ (\S+) <<'END'\n(.*?)^END$", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(r"(?:^|\s)(?:\S*run\.py|integrator|python -m integrator)(?=\s)")
_AFTER = re.compile(r" (?:2?>>? ?\S+(?: 2>&1)?|&)+|  .*$| # .*$")
"""What stands after a command: where its output goes, and what it does."""

BASE = """
channel: page
locations:
  src: {class: files, path: changes, dialect: hvr}
  kaf: {class: kafka, Kafka_Brokers: ["localhost:9092"], Kafka_Default_Topic: "shop.{hvr_tbl_name}"}
tables: [shop.sql]
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, line, language and text without the fence's own indentation."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks() -> list[Block]:
    """Every fenced block of every page."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for fence in _FENCE.finditer(text):
            indent, language, body = fence.groups()
            inside = "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
            found.append(Block(page, text[: fence.start()].count("\n") + 2, language, inside))
    return found


def prose(page: Path) -> str:
    """A page's text without its blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """Where a page's links and pictures lead, other sites left out."""
    return [link for link in _LINK.findall(_CODE.sub("", prose(page))) if "://" not in link]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them (and MkDocs, as mkdocs.yml has it)."""
    seen: dict[str, int] = {}
    for heading in _HEADING.findall(prose(page)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        seen[name] = seen.get(name, -1) + 1
    return {f"{name}-{number}" if number else name for name, count in seen.items() for number in range(count + 1)}


def channels() -> Iterator[tuple[str, Block]]:
    """Yield the text of each channel that a page shows, parts of one completed, with its block."""
    for block in blocks():
        if block.language == "yaml" and not re.match(r"# \S+\.yml\n", block.text):
            for part in re.split(r"^# or\n", block.text, flags=re.MULTILINE):
                yield completed(part), block
        for name, text in _HEREDOC.findall(block.text):
            if name.endswith(".yaml"):
                yield completed(text), block  # or is added to one


def completed(text: str) -> str:
    """A channel, of a part of one: an ellipsis and all that is not there are as in BASE.

    A part begins with a key of a channel, with locations (indented by two), or with actions (`  - {…}`).
    """
    plain = text.replace("{…, ", "{").replace("…, ", "")
    first = next(line for line in plain.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    if first.startswith("  "):
        plain = ("actions:\n" if first.lstrip().startswith("- ") else "locations:\n") + plain
    given: dict[str, Any] = yaml.safe_load(plain)
    if "channel" in given:
        return plain
    base = yaml.safe_load(BASE)
    locations = base["locations"]
    for name, location in given.pop("locations", {}).items():
        same = name in locations and location.get("class", locations[name]["class"]) == locations[name]["class"]
        locations[name] = {**locations[name], **location} if same else location
    return str(yaml.safe_dump({**base, **given}, allow_unicode=True, sort_keys=False))


def commands() -> Iterator[tuple[list[str], Block]]:
    """Yield the words of each command of the integrator in a block, after its name, with the block."""
    for block in blocks():
        if block.language in ("", "sh", "console"):
            text = _HEREDOC.sub("", block.text).replace("\\\n", " ")
            for line in text.splitlines():
                found = _PROGRAM.search(line)
                if found:
                    yield words_of(line[found.end() :]), block


def mentions() -> Iterator[tuple[list[str], str]]:
    """Yield the words of each command in a sentence, which may leave out options, with where it stands."""
    for page in PAGES:
        for code in _CODE.findall(prose(page)):
            found = _PROGRAM.match(f"{code} ")
            if found:
                yield words_of(code[found.end() :]), f"{page.relative_to(ROOT)}: {code}"


def words_of(text: str) -> list[str]:
    """The words of a command, without what a page writes after it; `…` stands for what is left out."""
    return [word for word in shlex.split(_AFTER.sub("", text.rstrip())) if word != "…"]
