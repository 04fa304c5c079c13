"""A SQL file -> its statements, each the tokens that sqlglot makes of it; all lines keep their numbers.

What is no SQL is taken out first, and counted: commands and data for psql, and routines with semicolons in them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import Token, TokenType
from sqlglot.dialects.dialect import NormalizationStrategy

from integrator.tables import sqlplus

STANDARD = {"db2": ""}
"""Databases that sqlglot has no dialect for, and the one they are read in; empty is standard SQL."""
LIKE_POSTGRES = ("postgres", "redshift", "materialize", "risingwave")

_STRINGS = r"[eE]'(?:\\.|''|[^'\\])*'|'(?:''|[^'])*'|\"(?:\"\"|[^\"])*\""
_QUOTED = rf"(?P<quoted>{_STRINGS}|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|--[^\n]*|/\*.*?\*/)"
_COPY = r"""(?P<COPY>^COPY\s[^;]*?\sFROM\s+stdin[^;]*;[^\n]*\n.*?^\\\.[^\n]*$)"""
_PSQL = r"(?P<psql>^\\[a-zA-Z!?][^\n]*)"
_ROUTINE = (
    r"create\s+(?:or\s+(?:replace|alter)\s+)?(?:(?:non)?editionable\s+)?"
    r"(?:trigger|procedure|proc|function|package|type\s+body)\b"
)
_IS = re.MULTILINE | re.DOTALL | re.IGNORECASE

_FOREIGN: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(LIKE_POSTGRES, re.compile(f"{_QUOTED}|{_COPY}|{_PSQL}", _IS)),
    "mysql": re.compile(r"(?P<DELIMITER>^DELIMITER[ \t]+(?!;\s*$)\S+.*?^DELIMITER\s+;[^\n]*$)", _IS),
    "oracle": re.compile(rf"(?P<ROUTINE>^\s*{_ROUTINE}.*?^\s*/\s*$)|(?P<end>^[ \t]*/[ \t]*$)", _IS),
    "tsql": re.compile(rf"(?P<ROUTINE>^\s*{_ROUTINE}.*?(?:^\s*GO\s*$|\Z))|(?P<end>^[ \t]*GO[ \t]*\d*[ \t]*$)", _IS),
}
"""What no parser of SQL reads, by dialect. quoted: passed over, for what is in it only looks like a command."""

_COUNTED = {
    "psql": "psql command",
    "COPY": "COPY with data",
    "DELIMITER": "DELIMITER block",
    "ROUTINE": "CREATE routine",
}

_REWRITTEN: dict[str, list[tuple[re.Pattern[str], str]]] = {
    "db2": [(re.compile(r"(?i)\b(var)?char(\s*\(\s*\d+\s*\))?(\s+)for(\s+)bit(\s+)data\b"), r"\1binary\2\3\4\5")],
    "oracle": [
        (re.compile(r"(?i)\b(day|year)\s*\(\s*\d\s*\)(\s+to\b)"), r"\1\2"),
        (re.compile(r"(?i)(\bto\s+second)\s*\(\s*\d\s*\)"), r"\1"),
        (re.compile(r"(?i)\blong(\s+)raw\b"), r"blob\1"),
    ],
}
"""Spellings that sqlglot cannot read, in the words of others; line ends stay."""

Tokens = Sequence[Token]


@dataclass(frozen=True)
class Script:
    """The statements of a file, and how many parts of it were taken out, by kind."""

    text: str
    statements: list[list[Token]]
    skipped: Counter[str]


def script_of(text: str, sql_dialect: str) -> Script:
    """Return the statements of `text`. Raises sqlglot's TokenError where a quotation does not end."""
    skipped: Counter[str] = Counter()

    def blank(found: re.Match[str]) -> str:
        kind = found.lastgroup if found.lastgroup != "tag" else "quoted"
        if kind == "quoted" or kind is None:
            return found[0]
        if kind != "end":
            skipped[_COUNTED[kind]] += 1
        return ";" + "\n" * found[0].count("\n")

    foreign = _FOREIGN.get(sql_dialect)
    text = foreign.sub(blank, text) if foreign else text
    if sql_dialect == "oracle":
        text, skipped["SQL*Plus command"] = sqlplus.without_commands(text)
    for pattern, replacement in _REWRITTEN.get(sql_dialect, []):
        text = pattern.sub(replacement, text)
    tokens = list(_lined(sqlglot.Dialect.get_or_raise(STANDARD.get(sql_dialect, sql_dialect)).tokenize(text), text))
    return Script(text, _split(tokens, ends_are_optional=sql_dialect == "tsql"), skipped)


def _lined(tokens: Tokens, text: str) -> Iterator[Token]:
    """Yield the tokens with the lines in which they begin; sqlglot counts some lines twice."""
    line, at = 1, 0
    for token in tokens:
        line, at = line + text.count("\n", at, token.start), token.start
        yield (
            token
            if token.line == line
            else Token(token.token_type, token.text, line, token.col, token.start, token.end)
        )


def unclosed(text: str, sql_dialect: str) -> tuple[int, str]:
    """Return the line of the first quotation or comment that does not end, and its sign."""
    escaped = r"\\.|" if sql_dialect == "mysql" else ""
    closed = rf"'(?:{escaped}''|[^'])*'|\"(?:{escaped}\"\"|[^\"])*\"|`[^`]*`|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/"
    for found in re.finditer(rf"{closed}|(?P<open>['\"`]|/\*|\$\w*\$)", text, re.DOTALL):
        if found["open"]:
            return text.count("\n", 0, found.start()) + 1, found["open"]
    return text.count("\n") + 1, "text"


def _split(tokens: Tokens, *, ends_are_optional: bool) -> list[list[Token]]:
    """Cut tokens at semicolons, but those in the body of a function of standard SQL: BEGIN ATOMIC … END.

    ends_are_optional: also before CREATE and ALTER at the start of a line.
    """
    statements: list[list[Token]] = [[]]
    depth = 0
    for at, token in enumerate(tokens):
        word = word_of(token)
        if word == "BEGIN" and at + 1 < len(tokens) and word_of(tokens[at + 1]) == "ATOMIC":
            depth += 1
        elif depth:
            depth += {"CASE": 1, "END": -1}.get(word, 0)
        if token.token_type == TokenType.SEMICOLON and not depth:
            statements.append([])
        elif ends_are_optional and word in ("CREATE", "ALTER") and at and tokens[at - 1].line < token.line:
            statements.append([token])
        else:
            statements[-1].append(token)
    return [statement for statement in statements if statement]


_BODIES = {"BEGIN", "CREATE", "ALTER", "DROP", "EXEC", "EXECUTE", "PRINT", "INSERT", "UPDATE", "DELETE", "RAISERROR"}


def unconditional(tokens: Tokens) -> Tokens:
    """Return a statement of SQL Server without the IF, BEGIN and END around it, which scripts guard it with."""
    if word_of(tokens[0]) == "IF":
        depth = 0
        for at, token in enumerate(tokens):
            word = word_of(token)
            depth += {"(": 1, ")": -1}.get(word, 0)
            if word in _BODIES and not depth:
                tokens = tokens[at + (word == "BEGIN") :]
                break
        else:
            return ()
    words = all_words_of(*tokens)
    return tokens[:-1] if len(tokens) > 1 and words[-1:] == ["END"] and "CASE" not in words else tokens


def next_table(tokens: Tokens) -> Token | None:
    """Return where another CREATE TABLE or ALTER TABLE begins in a statement: before it a semicolon is missing."""
    depth = 0
    for at, token in enumerate(tokens):
        word = word_of(token)
        depth += {"(": 1, ")": -1}.get(word, 0)
        if at and not depth and word in ("CREATE", "ALTER") and "TABLE" in all_words_of(*tokens[at + 1 : at + 3]):
            return token
    return None


def word_of(token: Token) -> str:
    """Return an unquoted word in upper case, or a sign; empty for what is quoted.

    Of a token of several words, such as PRIMARY KEY, it is the first.
    """
    return "" if token.token_type in _QUOTATIONS else token.text.upper().partition(" ")[0]


_QUOTATIONS = {TokenType.IDENTIFIER, TokenType.STRING, TokenType.HEREDOC_STRING, TokenType.NATIONAL_STRING}


def all_words_of(*tokens: Token) -> list[str]:
    """Return the unquoted words and signs, in upper case."""
    return [word for token in tokens if token.token_type not in _QUOTATIONS for word in token.text.upper().split()]


def words_of(tokens: Tokens, count: int = 6) -> str:
    """Return the first words of a statement as they were written, for messages."""
    shown = " ".join(token.text for token in tokens[:count])
    return f"{shown} …" if len(tokens) > count else shown


@dataclass(frozen=True)
class Folding:
    """What a database makes of names that are not quoted."""

    table: Callable[[str], str]
    """Of schemas, tables and types."""
    column: Callable[[str], str]
    """Of columns: they stay as they are written where the database would write them in capitals."""


def folding_of(sql_dialect: str) -> Folding:
    """Return how names are folded in a dialect."""
    if sql_dialect == "db2":
        return Folding(str.upper, str)
    match sqlglot.Dialect.get_or_raise(sql_dialect).normalization_strategy:
        case NormalizationStrategy.LOWERCASE:
            return Folding(str.lower, str.lower)
        case NormalizationStrategy.UPPERCASE:
            return Folding(str.upper, str)
        case _:
            return Folding(str, str)
