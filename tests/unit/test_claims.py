"""What pages say that the product cannot do: each claim has a test here, or the date on which somebody looked."""

import re
from datetime import date
from pathlib import Path

import pytest

from integrator.channel.databases import DatabaseLocation
from integrator.sources.by_class import SOURCES

COMPARISON = Path("docs/explanation/comparison.md")
_LOOKED = date(2026, 11, 28)


def _captured():
    classes = [one for one in SOURCES if issubclass(one, DatabaseLocation)]
    return {word for one in classes for word in one.model_fields["class_"].annotation.__args__}


CLAIMS = {
    "It captures from three databases": lambda: _captured() == {"postgres", "mysql", "mariadb"},
    "It needs Spark and a JVM": lambda: "pyspark" in Path("pyproject.toml").read_text(),
    "It works in cycles.": lambda: Path("integrator/run/cycle.py").is_file(),
    "One process integrates a channel.": lambda: "lock " in Path("integrator/run/state/directory.py").read_text(),
    "Its progress is in a directory": lambda: Path("integrator/run/state/directory.py").is_file(),
    "It is configured by a text file": _LOOKED,
    "Refreshing from JDBC or files makes changes wait": lambda: (
        "waiting for a refresh" in Path("integrator/run/job.py").read_text()
    ),
    "Few connectors.": _LOOKED,
    "No code of yours runs in it": _LOOKED,
    "It is not released yet.": _LOOKED,
}
"""By the words in bold of the section "What the integrator does not do"."""
UNTRUE = (
    r"captures from no database",
    r"does not read a database.s log",
    r"Changes come from files, a socket or topics\.",
    r"(no|not)[^.|]{0,40}capture[^.|]{0,20}(PostgreSQL|MySQL|MariaDB)",
)
"""What pages said before, and what none says of a class that there is."""


def test_each_claim_of_what_cannot_be_done_is_looked_at():
    section = COMPARISON.read_text().split("## What the integrator does not do")[1].split("\n## ")[0]
    assert set(re.findall(r"^\* \*\*(.+?)\*\*", section, re.MULTILINE)) == set(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_of_what_cannot_be_done_is_true(claim):
    known = CLAIMS[claim]
    assert isinstance(known, date) or known()


def test_no_page_denies_what_there_is():
    pages = [Path("README.md"), *Path("docs").rglob("*.md")]
    found = [f"{page}: {hit[0]}" for page in pages for text in UNTRUE for hit in re.finditer(text, page.read_text())]
    assert not found
