"""Commands of the programs that run scripts: lines of their own between statements, which are no SQL.

psql, SQL*Plus (https://docs.oracle.com/en/database/oracle/oracle-database/19/sqpug/SQL-Plus-command-reference.html),
mysql, SQLCMD and Db2's CLP. A command stands where a statement may begin, for its words are names of columns elsewhere.
"""

from __future__ import annotations

import re

from integrator.tables.sql.lexical import LIKE_POSTGRES

_TO_END = r"[^\n]*"
_SQLPLUS = (
    r"(?:@|(?:rem(?:ark)?|spo(?:ol)?|whenever|exit|quit|conn(?:ect)?|disc(?:onnect)?|def(?:ine)?|undef(?:ine)?"
    r"|pro(?:mpt)?|acc(?:ept)?|pau(?:se)?|ho(?:st)?|col(?:umn)?|tti(?:tle)?|bti(?:tle)?|sta(?:rt)?|sho(?:w)?"
    r"|set(?!\s+(?:role|transaction|constraints?)\b|[^=\n]*=)|var(?:iable)?|bre(?:ak)?|cle(?:ar)?|timi(?:ng)?"
    r"|exec(?:ute)?|desc(?:ribe)?|passw(?:ord)?|print|r(?:un)?|l(?:ist)?|ed(?:it)?|get|save|store|startup|shutdown"
    r"|recover|archive|attribute|comp(?:ute)?|copy|repf(?:ooter)?|reph(?:eader)?|xquery|hist(?:ory)?|oradebug)"
    r"(?![\w$#]))(?:[^\n]*-[ \t]*\n)*[^\n]*"
)
_MYSQL = (
    r"(?:\\[a-zA-Z.!?#]|(?:source|tee|notee|pager|nopager|prompt|charset|connect|edit|ego|go|help|print|quit|exit|rehash"
    r"|status|system|warnings|nowarning|resetconnection|clear)\b(?![ \t]*=))" + _TO_END
)
_COMMANDS = {
    **dict.fromkeys(LIKE_POSTGRES, ("psql command", r"\\" + _TO_END)),
    "oracle": ("SQL*Plus command", _SQLPLUS),
    "mysql": ("mysql command", _MYSQL),
    "tsql": ("SQLCMD command", r"(?::[a-z]+|!!)" + _TO_END),
    "db2": ("CLP command", r"(?:!|echo\b)" + _TO_END),
    "sqlite": ("sqlite3 command", r"\.[a-z]+" + _TO_END),
}
_PATTERNS = {name: (kind, re.compile(pattern, re.IGNORECASE)) for name, (kind, pattern) in _COMMANDS.items()}
_DELIMITER = re.compile(r"delimiter[ \t]+(\S+)[^\n]*", re.IGNORECASE)
_TERMINATOR = re.compile(r"--#SET[ \t]+TERMINATOR[ \t]+(\S)", re.IGNORECASE)


def command(text: str, at: int, sql_dialect: str) -> tuple[str, int] | None:
    """Return the kind and the end of a command that begins at a place; None where there is none."""
    kind, pattern = _PATTERNS.get(sql_dialect, ("", None))
    found = pattern.match(text, at) if pattern else None
    return (kind, found.end()) if found else None


def delimiter(text: str, at: int, sql_dialect: str) -> tuple[str, int] | None:
    """Return what mysql's DELIMITER at a place sets, and the end of the command; None where there is none."""
    found = _DELIMITER.match(text, at) if sql_dialect == "mysql" else None
    return (found[1], found.end()) if found else None


def terminator(comment: str) -> str | None:
    """Return the sign that a comment sets for Db2's CLP."""
    found = _TERMINATOR.match(comment)
    return found[1] if found else None
