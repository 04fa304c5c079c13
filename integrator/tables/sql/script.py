"""The tokens that sqlglot makes of a statement, with the lines of the file; words, and how names are folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import Token, TokenType
from sqlglot.dialects.dialect import NormalizationStrategy
from sqlglot.errors import SqlglotError

from integrator.tables.sql.lexical import STANDARD, NotUnderstood
from integrator.tables.sql.scanner import Statement

Tokens = Sequence[Token]


def tokens_of(statement: Statement, sql_dialect: str) -> list[Token]:
    """Return the tokens of a statement, at their lines and places in the file. Raises NotUnderstood."""
    try:
        found = sqlglot.Dialect.get_or_raise(STANDARD.get(sql_dialect, sql_dialect)).tokenize(statement.text)
    except SqlglotError as error:
        raise NotUnderstood(f"bad SQL: {error}", statement.line) from None
    return list(_placed(found, statement))


def _placed(tokens: Tokens, statement: Statement) -> Iterator[Token]:
    """Yield the tokens where they begin in the file; sqlglot counts some lines twice."""
    line, at, start = statement.line, 0, statement.start
    for token in tokens:
        line, at = line + statement.text.count("\n", at, token.start), token.start
        yield Token(token.token_type, token.text, line, token.col, start + token.start, start + token.end)


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
    any_case: bool = False
    """Whether it would."""


def folding_of(sql_dialect: str) -> Folding:
    """Return how names are folded in a dialect."""
    if sql_dialect == "db2":
        return Folding(str.upper, str, any_case=True)
    match sqlglot.Dialect.get_or_raise(sql_dialect).normalization_strategy:
        case NormalizationStrategy.LOWERCASE:
            return Folding(str.lower, str.lower)
        case NormalizationStrategy.UPPERCASE:
            return Folding(str.upper, str, any_case=True)
        case _:
            return Folding(str, str)
