"""A place among the tokens of a statement, and what is taken from there."""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import Token, TokenType

from integrator.tables.sql.lexical import NotUnderstood
from integrator.tables.sql.script import Folding, Tokens, all_words_of, word_of, words_of


class Name(NamedTuple):
    """The name of a table, an index or a type, exactly as the database has it."""

    schema: str | None
    name: str

    def __str__(self) -> str:
        """Return the name with its schema."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


class Cursor:
    """The tokens of a statement, read from left to right."""

    def __init__(self, tokens: Tokens, folding: Folding, schema: str | None = None) -> None:
        """Start at the first token. schema: what names without one are in."""
        self._tokens, self._at = list(tokens), 0
        self.folding, self._schema = folding, schema

    @property
    def done(self) -> bool:
        """Whether all tokens are taken."""
        return self._at >= len(self._tokens)

    @property
    def all(self) -> list[Token]:
        """All tokens, taken or not."""
        return self._tokens

    def skip_to(self, *words: str) -> None:
        """Take what is before one of these words."""
        while not self.done and self.word() not in words:
            self._at += 1

    @property
    def line(self) -> int:
        """The line of the next token, or of the last one."""
        return self._tokens[min(self._at, len(self._tokens) - 1)].line

    def refuse(self, expected: str) -> NotUnderstood:
        """Return the error for the next token, where something else was expected."""
        found = words_of(self._tokens[self._at :], 4) or "its end"
        return NotUnderstood(f"{words_of(self._tokens)}: found {found!r}, expected {expected}", self.line)

    def word(self, offset: int = 0) -> str:
        """Return the word `offset` tokens after the next one, or empty text."""
        at = self._at + offset
        return word_of(self._tokens[at]) if at < len(self._tokens) else ""

    def take(self, *words: str) -> bool:
        """Take these words if they are the next ones."""
        wanted, at = list(words), self._at
        while wanted and at < len(self._tokens):
            found = all_words_of(self._tokens[at])
            if not found or found != wanted[: len(found)]:
                return False
            wanted, at = wanted[len(found) :], at + 1
        if not wanted:
            self._at = at
        return not wanted

    def take_any(self, *phrases: str) -> str | None:
        """Take the first of the phrases that is next, and return it."""
        return next((phrase for phrase in phrases if self.take(*phrase.split())), None)

    def _identifier(self) -> tuple[Token, bool]:
        if self.done:
            raise self.refuse("a name")
        token = self._tokens[self._at]
        is_quoted = token.token_type == TokenType.IDENTIFIER
        if not is_quoted and not (token.text[:1].isalpha() or token.text[:1] in "_#@"):
            raise self.refuse("a name")
        self._at += 1
        if token.text in ("#", "##") and not self.done:  # SQL Server's temporary tables
            return self._named(token.text, self._tokens[self._at]), True
        return token, is_quoted

    def _named(self, sign: str, token: Token) -> Token:
        self._at += 1
        return Token(TokenType.IDENTIFIER, sign + token.text, token.line, token.col, token.start, token.end)

    def column(self) -> str:
        """Take the name of a column."""
        token, is_quoted = self._identifier()
        return token.text if is_quoted else self.folding.column(token.text)

    def name(self) -> Name:
        """Take a name, with its schema where that is given."""
        parts = []
        while True:
            token, is_quoted = self._identifier()
            parts.append(token.text if is_quoted else self.folding.table(token.text))
            if not self.take("."):
                break
        return Name(parts[-2] if len(parts) > 1 else self._schema, parts[-1])

    def group(self) -> list[Token]:
        """Take what is in brackets."""
        if self.word() != "(":
            raise self.refuse("(")
        start, depth = self._at + 1, 0
        while not self.done:
            depth += {"(": 1, ")": -1}.get(self.word(), 0)
            self._at += 1
            if not depth:
                return self._tokens[start : self._at - 1]
        text = f"bad SQL: Expecting ) for the bracket in line {self._tokens[start - 1].line}: {words_of(self._tokens)}"
        raise NotUnderstood(text, self._tokens[-1].line)

    def rest(self) -> list[Token]:
        """Take all that is left."""
        start, self._at = self._at, len(self._tokens)
        return self._tokens[start:]


def parts_of(tokens: Tokens) -> list[list[Token]]:
    """Cut tokens at the commas that are in no brackets."""
    parts: list[list[Token]] = [[]]
    depth, angles, before = 0, 0, ""
    for token in tokens:
        sign = word_of(token)
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(sign, 0)
        if sign == "<" and before in ("STRUCT", "ARRAY", "MAP", "ROW"):  # a type in brackets, not a comparison
            depth, angles = depth + 1, angles + 1
        elif angles and sign in (">", ">>"):
            depth, angles = depth - len(sign), angles - len(sign)
        before = sign
        if sign == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]
