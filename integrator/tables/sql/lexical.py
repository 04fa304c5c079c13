"""What stands out in a script, by database: quotations, comments, brackets, ends of statements, words.

A pattern takes at most as many steps as the text has characters: no two of its alternatives begin alike, and a
quotation mark that is written twice is the end of one quotation and the beginning of the next.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import sqlglot

STANDARD = {"db2": ""}
"""Databases that sqlglot has no dialect for, and the one they are read in; empty is standard SQL."""
LIKE_POSTGRES = ("postgres", "redshift", "materialize", "risingwave")

_ESCAPED = r"{0}[^{0}\\]*(?:\\.[^{0}\\]*)*{0}"
_QUOTED = {"'": "'[^']*'", '"': '"[^"]*"', "`": "`[^`]*`", "[": r"\[[^\]]*\](?:\][^\]]*\])*"}
_LINE_COMMENTS = {"--": "--[^\n]*", "#": "#[^\n]*", "//": "//[^\n]*"}
_OF_MYSQL = r"--(?=\s|\Z)[^\n]*"
"""Two hyphens without a blank after them are two signs in MySQL."""

_MODIFIERS = (
    r"(?:or\s+replace|global|local|temp|temporary|unlogged|column|row|external|transient|foreign|private|sharded"
    r"|immutable|blockchain|duplicated|hybrid)"
)
TABLE = rf"(?:create(?:\s+{_MODIFIERS})*|alter(?:\s+foreign)?|drop(?:\s+{_MODIFIERS})?)\s+table"
_ENDS = {
    "oracle": (r"^[ \t]*/[ \t]*$",),
    "tsql": (r"^[ \t]*go(?:[ \t]+\d+)?[ \t]*;?[ \t]*$",),
    "db2": (r"@[ \t]*$",),
    "mysql": (r"\\g",),
    **dict.fromkeys(LIKE_POSTGRES, (r"\\(?:g|crosstabview|watch)[^\n]*",)),
}
"""What ends a statement beside a semicolon, in the client of a database."""
_OBJECTS = (
    r"(?:or\s+alter\s+)?(?:unique|clustered|nonclustered|index|view|proc|procedure|function|trigger|type|schema|database"
    r"|sequence|user|role|login|synonym|fulltext|statistics|partition|xml|spatial|columnstore|rule|default|security"
    r"|authorization|certificate|symmetric|asymmetric|master|column\s+(?:master|encryption)|assembly|queue|service"
    r"|contract|message|server|availability|resource|workload|external|credential|broker|endpoint|event|application"
    r"|primary|selective|search|aggregate|remote|route)"
)
_VERBS = {
    "tsql": rf"^[ \t]*(?:(?:create|alter|drop)\s+{_OBJECTS}|insert|update|delete|exec|execute|print|select|declare|if"
    r"|else|use|grant|deny|revoke|raiserror|while|return|waitfor|throw|dbcc|checkpoint|truncate|merge|commit|rollback"
    r"|backup|restore|goto|bulk|kill|reconfigure|begin|set(?!\s*\(|\s+null\b|\s+default\b))\b|\bend\b"
    r"|^[ \t]*(?::[a-z]+|!!)[^\n]*"
}
"""Where a statement begins though the one before has no semicolon."""
_WORDS = r"\b(?:begin|case|end)\b(?:[ \t]+(?:if|loop|while|repeat|for|case|tran|transaction)\b)?"
_FLAGS = re.MULTILINE | re.DOTALL | re.IGNORECASE


class NotUnderstood(ValueError):
    """A statement, or a part of it, that is not understood; `line` is where it begins, `where` the table or column."""

    def __init__(self, text: str, line: int, where: str = "") -> None:
        super().__init__(text)
        self.line = line
        self.where = where


class Mark(NamedTuple):
    """What was found at a place of a script: one of the groups of `marks_of`."""

    kind: str
    start: int
    end: int


@lru_cache(maxsize=256)
def marks_of(sql_dialect: str, terminator: str = ";", *, part: str = "") -> re.Pattern[str]:
    """Return what finds the places of a script at which a statement may begin, end, or hide something.

    The groups: comment, block (a comment's beginning), quoted, tag (a dollar quotation's beginning), q (one of Oracle),
    open (a quotation that does not end), left, right, end, table (CREATE, ALTER or DROP of one), verb; word (BEGIN,
    CASE or END) in a routine. part: "routine", or "data" for statements whose brackets do not matter.
    """
    reads = sqlglot.Dialect.get_or_raise(STANDARD.get(sql_dialect, sql_dialect)).tokenizer_class
    signs = {one[0] for one in (*reads.QUOTES, *reads.IDENTIFIERS)} & _QUOTED.keys()
    escaped = "\\" in reads.STRING_ESCAPES
    quoted = [_ESCAPED.format(one) if escaped and one in "'\"" else _QUOTED[one] for one in sorted(signs)]
    lines = [pattern for sign, pattern in _LINE_COMMENTS.items() if sign in reads.COMMENTS]
    if sql_dialect == "mysql":
        lines[0] = _OF_MYSQL
    ends = [re.escape(terminator), *_ENDS.get(sql_dialect, ())]
    parts = [rf"(?P<comment>{'|'.join(lines)})|(?P<block>/\*)"]
    if "$" in reads.HEREDOC_STRINGS:
        parts.append(r"(?P<tag>(?<![\w$])\$(?:[^\W\d]\w*)?\$)")
        quoted.insert(0, r"\be" + _ESCAPED.format("'"))
    if sql_dialect == "oracle":
        parts.append(r"(?P<q>\bn?q'\S)")
    parts.append(rf"(?P<quoted>{'|'.join(quoted)})|(?P<open>[{re.escape(''.join(sorted(signs)))}])")
    parts += [r"(?P<left>\()|(?P<right>\))"] if part != "data" else []
    parts.append(rf"(?P<end>{'|'.join(ends)})|(?P<table>\b{TABLE}\b)")
    parts += [f"(?P<word>{_WORDS})"] if part == "routine" else []
    parts += [f"(?P<verb>{_VERBS[sql_dialect]})"] if sql_dialect in _VERBS else []
    if terminator != ";":  # before all others: it may be what another sign begins with
        parts.insert(0, rf"(?P<chosen>{re.escape(terminator)})")
    return re.compile("|".join(parts), _FLAGS)


BLOCKS = re.compile(r"/\*|\*/")
TABLE_LINE = re.compile(rf"^[ \t]*{TABLE}\b", _FLAGS)
"""A line that begins a statement of a table: nothing else has it, unless it is text."""


def is_first(text: str, at: int) -> bool:
    """Return whether a place is the first of its line that is not blank."""
    while at and text[at - 1] in " \t":
        at -= 1
    return not at or text[at - 1] == "\n"


def is_nested(sql_dialect: str) -> bool:
    """Return whether a comment may be in a comment."""
    return sqlglot.Dialect.get_or_raise(STANDARD.get(sql_dialect, sql_dialect)).tokenizer_class.NESTED_COMMENTS
