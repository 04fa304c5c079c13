"""Tokens of a column -> tokens that sqlglot reads: types in words that it knows."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import Token, TokenType

from integrator.tables.sql.script import Tokens, all_words_of, word_of

_SPATIAL = {
    "GEOMETRY", "GEOGRAPHY", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON",
    "GEOMETRYCOLLECTION", "GEOMCOLLECTION", "VECTOR", "HALFVEC", "SPARSEVEC",
}  # fmt: skip
"""Types whose values are text here, whatever is in the brackets after them: a dialect's text or JSON of a shape."""
_FIELDS = {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "TO"}
_PLAIN = {
    "LONG VARBINARY": "blob", "LONG RAW": "blob", "LONG VARCHAR": "text", "LONG VARGRAPHIC": "text",
    "LONG BYTE": "blob",
    "BINARY LARGE OBJECT": "blob", "CHARACTER LARGE OBJECT": "text", "CHAR LARGE OBJECT": "text",
    "NCHAR LARGE OBJECT": "text", "NATIONAL CHARACTER LARGE OBJECT": "text", "BINARY VARYING": "varbinary",
    "BIT VARYING": "varbit", "NATIONAL CHARACTER VARYING": "varchar", "NATIONAL CHAR VARYING": "varchar",
    "NATIONAL VARCHARACTER": "varchar", "NATIONAL VARCHAR": "varchar", "NATIONAL CHARACTER": "char",
    "NATIONAL CHAR": "char", "NATIONAL TEXT": "text", "NCHAR VARYING": "varchar", "NCHAR VARCHARACTER": "varchar",
    "NCHAR VARCHAR": "varchar", "CHAR BYTE": "binary", "VARCHARACTER": "varchar", "SERIAL2": "smallserial",
    "SERIAL4": "serial", "SERIAL8": "bigserial", "OID": "bigint", "MIDDLEINT": "mediumint", "NUM": "numeric",
}  # fmt: skip
"""Types in words that sqlglot does not know, and what they are in others; the longest first."""
_OF_DATABASE = {
    "mysql": {
        "LONG": "text", "REAL": "double", "INT1": "tinyint", "INT2": "smallint", "INT3": "mediumint", "INT4": "int",
        "INT8": "bigint",
    },
    "tsql": {"REAL": "float(24)"},
    "db2": {"REAL": "float(24)"},
    "oracle": {"DECIMAL": "decimal(38)", "DEC": "decimal(38)", "NUMERIC": "decimal(38)"},
}  # fmt: skip
"""Types that mean something else to sqlglot than to a database; a size is that of a type which is given none."""
_TEXTS = {"REGCLASS", "REGTYPE", "REGPROC", "REGROLE", "REGNAMESPACE", "CUBE", "XMLTYPE"}
_UNITS = {"OCTETS", "CODEUNITS16", "CODEUNITS32", "K", "M", "G"}
_SYSTEM = {"SYS", "MDSYS", "SYSIBM", "DB2GSE", "SDE"}
_KINDS = {
    "text": TokenType.TEXT, "varchar": TokenType.VARCHAR, "char": TokenType.CHAR, "bigint": TokenType.BIGINT,
    "smallserial": TokenType.SMALLSERIAL, "serial": TokenType.SERIAL, "bigserial": TokenType.BIGSERIAL,
    "blob": TokenType.BLOB, "varbinary": TokenType.VARBINARY, "binary": TokenType.BINARY,
    "mediumint": TokenType.MEDIUMINT, "numeric": TokenType.DECIMAL, "inet": TokenType.INET, "int": TokenType.INT,
    "double": TokenType.DOUBLE, "tinyint": TokenType.TINYINT, "smallint": TokenType.SMALLINT, "float": TokenType.FLOAT,
    "decimal": TokenType.DECIMAL,
}  # fmt: skip


def spelled(part: Tokens, sql_dialect: str) -> Iterator[Token]:
    """Yield the tokens of a part, with a type that sqlglot cannot read in the words of others.

    The column's name is quoted, for sqlglot takes words for the beginning of a constraint that are none.
    """
    first = part[0]
    yield Token(TokenType.IDENTIFIER, first.text, first.line, first.col, first.start, first.end)
    made, at = _type(part, sql_dialect)
    yield from made
    yield from part[at:]


def _type(part: Tokens, sql_dialect: str) -> tuple[list[Token], int]:
    """Return the tokens of the type, as far as they have to be other ones, and the place after them."""
    at = _after_schema(part)
    if at >= len(part):
        return [], at
    token, names = part[at], [one.text.upper() for one in part[at : at + 4]]
    words = [one for name in names for one in name.split()]
    follows = word_of(part[at + 1]) if at + 1 < len(part) else ""
    if (
        words[0] in _SPATIAL
        or words[0].startswith("ST_")
        or words[0] in _TEXTS
        or (words[0] == "XML" and follows == "(")
    ):
        return [_token("text", token)], after_group(part, at + 1) if follows == "(" else at + 1
    if words[0] in ("INET4", "INET6"):  # MariaDB's
        return [_token("inet", token)], at + 1
    if words[0] in ("NUMERIC", "DECIMAL", "NUMBER") and [word_of(one) for one in part[at + 3 : at + 5]] == [",", "-"]:
        # to tens, hundreds, …
        return [token, part[at + 1], _rounded(part[at + 2], part[at + 5]), part[at + 6]], at + 7
    if words[0] == "INTERVAL":
        return [token], _after_interval(part, at + 1)
    plain = next((one for one in _LONGEST_FIRST if words[: len(one)] == one), None)
    made, taken = token, 1
    if plain is not None:
        made, taken = _token(_PLAIN[" ".join(plain)], token), _tokens_of(names, len(plain))
    size, at = _size(part, at + taken)
    if plain is None and (meant := _OF_DATABASE.get(sql_dialect, {}).get(words[0])):
        name, _, default = meant.partition("(")
        made = _token(name, token)
        size = size or ([_sign("(", token), _number(default, token), _sign(")", token)] if default else [])
    if all_words_of(*part[at : at + 3]) == ["FOR", "BIT", "DATA"]:
        made, at = _token("blob" if made.text.lower() == "text" else "varbinary", token), at + 3
    return [made, *size], at


_LONGEST_FIRST = sorted((name.split() for name in _PLAIN), key=len, reverse=True)


def _after_schema(part: Tokens) -> int:
    """Return the place of the type, past a schema that says nothing of it."""
    if (
        len(part) > 3
        and word_of(part[2]) == "."
        and (part[1].text.upper() in _SYSTEM or part[3].text.upper() in _SPATIAL)
    ):
        return 3
    return 1


def _tokens_of(names: list[str], words: int) -> int:
    """Return how many tokens so many words are: some tokens have two."""
    count = 0
    while words > 0:
        words -= len(names[count].split())
        count += 1
    return count


def _size(part: Tokens, at: int) -> tuple[list[Token], int]:
    """Return a size in brackets without its unit, and the place after it."""
    if at >= len(part) or word_of(part[at]) != "(":
        return [], at
    end = after_group(part, at)
    inside = part[at:end]
    return [one for one in inside if word_of(one) not in _UNITS], end


def _after_interval(part: Tokens, at: int) -> int:
    while at < len(part) and word_of(part[at]) in (*_FIELDS, "("):
        at = after_group(part, at)
    return at


def _sign(text: str, at: Token) -> Token:
    kind = TokenType.L_PAREN if text == "(" else TokenType.R_PAREN
    return Token(kind, text, at.line, at.col, at.start, at.end)


def _number(text: str, at: Token) -> Token:
    return Token(TokenType.NUMBER, text.rstrip(")"), at.line, at.col, at.start, at.end)


def _token(text: str, at: Token) -> Token:
    return Token(_KINDS.get(text, TokenType.VAR), text, at.line, at.col, at.start, at.end)


def _rounded(precision: Token, scale: Token) -> Token:
    """Return the digits before the point of a number that is rounded before it."""
    digits = int(precision.text) + int(scale.text)
    return Token(TokenType.NUMBER, str(digits), scale.line, scale.col, scale.start, scale.end)


def after_group(part: Tokens, at: int) -> int:
    """Return the place after a token, or after what is in brackets where it opens one."""
    depth = 0
    while at < len(part):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(word_of(part[at]), 0)
        at += 1
        if depth <= 0:
            break
    return at
