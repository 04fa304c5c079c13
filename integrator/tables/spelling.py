"""Tokens of a column -> tokens that sqlglot reads: types in words that it knows, without what says nothing here."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import Token, TokenType

from integrator.tables.script import Tokens, word_of

_SPATIAL = {
    "GEOMETRY", "GEOGRAPHY", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON",
    "GEOMETRYCOLLECTION", "GEOMCOLLECTION",
}  # fmt: skip
"""Types whose values are text here, whatever is in the brackets after them: a dialect's text or JSON of a shape."""
_FIELDS = {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "TO"}


def spelled(part: Tokens, sql_dialect: str) -> Iterator[Token]:
    """Yield the tokens of a part, with types that sqlglot cannot read in the words of others.

    The column's name is quoted, for sqlglot takes words for the beginning of a constraint that are none.
    """
    first, at = part[0], 1
    yield Token(TokenType.IDENTIFIER, first.text, first.line, first.col, first.start, first.end)
    while at < len(part):
        token, word = part[at], word_of(part[at])
        follows = word_of(part[at + 1]) if at + 1 < len(part) else ""
        at += 1
        if word in ("ENABLE", "DISABLE") and at > 2 and sql_dialect == "oracle":
            continue
        if (word == "BIT" and follows == "VARYING") or (word == "NATIONAL" and follows.startswith("CHARACTER")):
            text = "varbit" if word == "BIT" else "varchar"
            kind = TokenType.VAR if word == "BIT" else TokenType.VARCHAR
            at += 1
            yield Token(kind, text, token.line, token.col, token.start, token.end)
        elif at == 2 and (token.text.upper() in _SPATIAL or (token.text.upper() == "XML" and follows == "(")):
            at = _after_group(part, at) if follows == "(" else at
            yield Token(TokenType.TEXT, "text", token.line, token.col, token.start, token.end)
        elif word in ("INET4", "INET6") and at == 2:  # MariaDB's
            yield Token(TokenType.INET, "inet", token.line, token.col, token.start, token.end)
        elif word in ("NUMERIC", "DECIMAL", "NUMBER") and [word_of(one) for one in part[at + 2 : at + 4]] == [",", "-"]:
            yield from (token, part[at], _rounded(part[at + 1], part[at + 4]), part[at + 5])  # to tens, hundreds, …
            at += 6
        elif word == "INTERVAL" and at > 1:
            yield token
            while at < len(part) and word_of(part[at]) in _FIELDS:
                at += 1
            if at + 2 < len(part) and word_of(part[at]) == "(" and word_of(part[at + 2]) == ")":
                at += 3
        else:
            yield token


def _rounded(precision: Token, scale: Token) -> Token:
    """Return the digits before the point of a number that is rounded before it."""
    digits = int(precision.text) + int(scale.text)
    return Token(TokenType.NUMBER, str(digits), scale.line, scale.col, scale.start, scale.end)


_AFTER_DEFAULT = {"NOT", "NULL", "CONSTRAINT", "CHECK", "UNIQUE", "PRIMARY", "REFERENCES", "GENERATED", "COLLATE", "ON"}


_OF_SEQUENCE = {
    "MINVALUE", "MAXVALUE", "INCREMENT", "BY", "START", "WITH", "LIMIT", "VALUE", "CACHE", "NOCACHE", "ORDER",
    "NOORDER", "CYCLE", "NOCYCLE", "KEEP", "NOKEEP", "SCALE", "NOSCALE", "EXTEND", "NOEXTEND", "GLOBAL", "SESSION",
}  # fmt: skip
"""What Oracle writes after IDENTITY, without brackets."""
_FLAGS = {"ROWGUIDCOL", "SPARSE", "FILESTREAM", "HIDDEN", "VISIBLE", "INVISIBLE"}
"""Words of columns in SQL Server and Oracle that say nothing of the values."""
_OF_ENCRYPTION = {"USING": 2, "IDENTIFIED": 3, "NO": 2, "SALT": 1, "": 1}
"""How many words there are of each part of what Oracle writes after ENCRYPT; '' is a quotation."""


def bare(part: Tokens) -> Iterator[Token]:
    """Yield the tokens of a column without its default, checks and what it is generated as."""
    at = 0
    while at < len(part):
        words = [word_of(token) for token in part[at : at + 4]]
        if (after := _after_flag(part, at)) > at:
            at = after
        elif at < 2 or words[0] not in ("DEFAULT", "CHECK", "GENERATED", "STORAGE", "COMPRESSION"):
            yield part[at]
            at += 1
        elif words[0] in ("STORAGE", "COMPRESSION"):
            at += 2
        elif words[0] == "DEFAULT":
            at = _after_group(part, at + (3 if words[1:3] == ["ON", "NULL"] else 1))
            while at < len(part) and word_of(part[at]) not in _AFTER_DEFAULT:
                at = _after_group(part, at)
        elif words[0] == "CHECK":
            at = _after_group(part, at + 1)
        elif words == ["GENERATED", "ALWAYS", "AS", "("]:
            at = _after_group(part, at + 3)
            at += at < len(part) and word_of(part[at]) in ("STORED", "VIRTUAL")
        elif words[0] == "GENERATED" and "IDENTITY" in (all_words := [word_of(one) for one in part[at : at + 5]]):
            end = at + all_words.index("IDENTITY") + 1
            yield from part[at:end]
            at = _after_group(part, end) if end < len(part) and word_of(part[end]) == "(" else end
            while at < len(part) and (word_of(part[at]) in _OF_SEQUENCE or part[at].token_type == TokenType.NUMBER):
                at += 1
        else:
            yield part[at]
            at += 1


_WITH_GROUPS = (["MASKED", "WITH", "("], ["ENCRYPTED", "WITH", "("])


def _after_flag(part: Tokens, at: int) -> int:
    """Return the place after words that say nothing of the values; `at` where there are none."""
    words = [word_of(token) for token in part[at : at + 3]]
    if words[:2] == ["NO", "INHERIT"]:
        return at + 2
    if at > 1 and words[0] in _FLAGS:
        return at + 1
    if words == ["NOT", "FOR", "REPLICATION"]:
        return at + 3
    if at > 1 and words[0] == "SRID":
        return at + 2
    if at > 1 and words[0] == "ENCRYPT":
        at += 1
        while at < len(part) and (count := _OF_ENCRYPTION.get(word_of(part[at]))):
            at += count
        return at
    return _after_group(part, at + 2) if at > 1 and words in _WITH_GROUPS else at


def _after_group(part: Tokens, at: int) -> int:
    """Return the place after a token, or after what is in brackets where it opens one."""
    depth = 0
    while at < len(part):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(word_of(part[at]), 0)
        at += 1
        if depth <= 0:
            break
    return at
