"""Commands of SQL*Plus in Oracle's scripts: lines of their own between statements, which are no SQL.

https://docs.oracle.com/en/database/oracle/oracle-database/19/sqpug/SQL-Plus-command-reference.html
"""

from __future__ import annotations

import re

_COMMAND = re.compile(
    r"\s*(@|(rem(ark)?|spo(ol)?|whenever|exit|quit|conn(ect)?|disc(onnect)?|def(ine)?|undef(ine)?|pro(mpt)?|acc(ept)?"
    r"|pau(se)?|ho(st)?|col(umn)?|tti(tle)?|bti(tle)?|sta(rt)?|sho(w)?|set(?![^=]*=)|var(iable)?|bre(ak)?|cle(ar)?|timi(ng)?"
    r"|exec(ute)?)(?![\w$#]))",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"--.*|/\*.*?\*/")


def without_commands(text: str) -> tuple[str, int]:
    """Return a script with empty lines in place of commands, and how many commands there were.

    A command stands where a statement may begin, for its words are names of columns elsewhere. It ends with its line,
    which a hyphen at the end continues.
    """
    lines, count = [], 0
    is_between, is_quoted, is_comment, is_continued = True, False, False, False
    for line in text.split("\n"):
        if is_continued or (is_between and not is_comment and _COMMAND.match(line)):
            count += not is_continued
            is_continued = line.rstrip().endswith("-")
            lines.append("")
            continue
        code, is_comment = _without_comments(line, is_comment=is_comment)
        is_quoted ^= code.count("'") % 2 == 1
        if code:
            is_between = not is_quoted and (code == "/" or code.endswith(";"))
        lines.append(line)
    return "\n".join(lines), count


def _without_comments(line: str, *, is_comment: bool) -> tuple[str, bool]:
    """Return what a line has beside comments, and whether it ends in one. is_comment: whether it begins in one."""
    if is_comment:
        _, end, line = line.partition("*/")
        if not end:
            return "", True
    code, begins, _ = _COMMENT.sub("", line).partition("/*")
    return code.strip(), bool(begins)
