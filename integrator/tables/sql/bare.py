"""A column without what says nothing of its name, type, nulls and keys: its default, checks, storage and the like."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import Token, TokenType

from integrator.tables.sql.script import Tokens, all_words_of, word_of
from integrator.tables.sql.spelling import after_group

_OF_KEYS = ("PRIMARY", "UNIQUE")
_SKIPPED = {
    # words -> how many tokens to pass over after them; a group in brackets is one
    "NO INHERIT": 0, "NOT FOR REPLICATION": 0, "FOR REPLICATION": 0, "MASKED WITH": 1, "ENCRYPTED WITH": 1,
    "WITH VALUES": 0,
    "WITH (": -1, "WITH COMMENT": 1, "COMMENT": 1, "STORAGE": 1, "COMPRESSION": 1, "SRID": 1, "CCSID": 1,
    "COLUMN_FORMAT": 1, "COLLATE": 1, "INLINE LENGTH": 1, "COMPRESS SYSTEM DEFAULT": 0, "COMPRESSED": 0,
    "IMPLICITLY HIDDEN": 0, "NOT LOGGED": 0, "LOGGED": 0, "NOT COMPACT": 0, "COMPACT": 0, "FOR SBCS DATA": 0,
    "FOR MIXED DATA": 0, "NOT ENFORCED": 0, "ENFORCED": 0, "ENABLE QUERY OPTIMIZATION": 0,
    "DISABLE QUERY OPTIMIZATION": 0, "ENABLE": 0, "DISABLE": 0, "VALIDATE": 0, "NOVALIDATE": 0, "RELY": 0,
    "NORELY": 0,
    "NOT DEFERRABLE": 0, "INITIALLY": 1, "USING INDEX (": -1,
    "USING INDEX TABLESPACE": 1, "USING INDEX": 0, "TABLESPACE": 1, "PCTFREE": 1,
    "ROWGUIDCOL": 0, "SPARSE": 0, "FILESTREAM": 0, "HIDDEN": 0, "VISIBLE": 0, "INVISIBLE": 0, "PERSISTED": 0,
    "CLUSTERED": 0, "NONCLUSTERED": 0, "HASH": 0, "ENCODE": 1, "DISTKEY": 0, "SORTKEY": 0, "SECURED WITH": 1,
    "AS SECURITY LABEL": 0, "NULLS NOT DISTINCT": 0, "NULLS DISTINCT": 0, "ON CONFLICT": 1, "AUTO_RANDOM": 0,
    "NOT SECONDARY": 0,
    "ANNOTATIONS": 1, "UNSIGNED": 0, "ZEROFILL": 0,
}  # fmt: skip
_LONGEST_FIRST = sorted(((words.split(), more) for words, more in _SKIPPED.items()), key=lambda one: -len(one[0]))
_AFTER_DEFAULT = {
    "NOT", "NULL", "CONSTRAINT", "CHECK", "UNIQUE", "PRIMARY", "REFERENCES", "GENERATED", "COLLATE", "ON", "COMMENT",
    "ENABLE", "DISABLE", "ROWGUIDCOL", "WITH", "AUTO_INCREMENT", "INLINE", "MASKED", "IMPLICITLY", "INVISIBLE",
    "VISIBLE",
    "ENCODE", "IDENTITY", "STORAGE", "COLUMN_FORMAT", "INDEX", "SPARSE",
}  # fmt: skip
_OF_SEQUENCE = {
    "MINVALUE", "MAXVALUE", "INCREMENT", "BY", "START", "WITH", "LIMIT", "VALUE", "CACHE", "NOCACHE", "ORDER",
    "NOORDER", "CYCLE", "NOCYCLE", "KEEP", "NOKEEP", "SCALE", "NOSCALE", "EXTEND", "NOEXTEND", "GLOBAL", "SESSION",
}  # fmt: skip
"""What Oracle writes after IDENTITY, without brackets."""
_OF_ENCRYPTION = {"USING": 2, "IDENTIFIED": 3, "NO": 2, "SALT": 1, "": 1}
"""How many words there are of each part of what Oracle writes after ENCRYPT; '' is a quotation."""
_OF_REFERENCE = (
    "ON DELETE SET NULL", "ON DELETE SET DEFAULT", "ON DELETE NO ACTION", "ON DELETE CASCADE", "ON DELETE RESTRICT",
    "ON UPDATE SET NULL", "ON UPDATE SET DEFAULT", "ON UPDATE NO ACTION", "ON UPDATE CASCADE", "ON UPDATE RESTRICT",
    "MATCH FULL", "MATCH PARTIAL", "MATCH SIMPLE", "ENFORCED", "NOT ENFORCED",
)  # fmt: skip
_REFERENCE = [one.split() for one in _OF_REFERENCE]


def bare(part: Tokens) -> Iterator[Token]:
    """Yield the tokens of a column that are left."""
    at = 0
    while at < len(part):
        after = _after(part, at) if at > 1 else at
        if after > at:
            at = after
        elif at > 1 and _words(part, at, 1) == ["GENERATED"] and "IDENTITY" in (words := _words(part, at, 5)):
            end = at + words.index("IDENTITY") + 1
            yield from part[at:end]
            at = _after_sequence(part, end)
        else:
            yield part[at]
            at += 1


def _words(part: Tokens, at: int, count: int) -> list[str]:
    return [word_of(token) for token in part[at : at + count]]


def _begins(part: Tokens, at: int, words: list[str]) -> int:
    """Return the place after these words, or `at` where others are next."""
    end, found = at, list[str]()
    while end < len(part) and len(found) < len(words):
        found += all_words_of(part[end]) or [""]
        end += 1
    return end if found == words else at


def _after(part: Tokens, at: int) -> int:
    """Return the place after what says nothing here; `at` where there is none."""
    word = word_of(part[at])
    match word:
        case "CONSTRAINT":
            return at if at + 2 < len(part) and word_of(part[at + 2]) in _OF_KEYS else at + 2
        case "DEFAULT":
            return _after_default(part, at + 1)
        case "WITH" if _words(part, at + 1, 1) == ["DEFAULT"]:
            return _after_default(part, at + 2)
        case "CHECK":
            at += 1
            return _after_state(part, after_group(part, _begins(part, at, ["NOT", "FOR", "REPLICATION"])))
        case "REFERENCES":
            return _after_reference(part, at + 1)
        case "INDEX":
            return at + 2
        case "ON":
            return _after_on(part, at)
        case "ENCRYPT":
            return _after_encryption(part, at + 1)
        case "GENERATED" | "AS":
            return _after_generated(part, at)
    return _after_phrase(part, at)


def _after_phrase(part: Tokens, at: int) -> int:
    for words, more in _LONGEST_FIRST:
        if (end := _begins(part, at, words)) > at:
            end = after_group(part, end - 1) if more < 0 else end
            for _ in range(max(more, 0)):
                end = after_group(part, end)
            return end
    return at


def _after_encryption(part: Tokens, at: int) -> int:
    while at < len(part) and (count := _OF_ENCRYPTION.get(word_of(part[at]))):
        at += count
    return at


def _after_default(part: Tokens, at: int) -> int:
    at = _begins(part, at, ["ON", "NULL"])
    at = after_group(part, at)
    while at < len(part) and word_of(part[at]) not in _AFTER_DEFAULT:
        at = after_group(part, at)
    return at


def _after_reference(part: Tokens, at: int) -> int:
    at += 1
    while at < len(part) and word_of(part[at]) == ".":
        at += 2
    if at < len(part) and word_of(part[at]) == "(":
        at = after_group(part, at)
    while (end := max(_begins(part, at, words) for words in _REFERENCE)) > at:
        at = end
    return _after_state(part, at)


def _after_state(part: Tokens, at: int) -> int:
    """Return the place after DEFERRABLE of a constraint that is no key."""
    return at + (_words(part, at, 1) == ["DEFERRABLE"])


def _after_on(part: Tokens, at: int) -> int:
    """Return the place after ON UPDATE, or after the filegroup of an index in SQL Server."""
    if _words(part, at + 1, 1) == ["UPDATE"]:
        end = at + 3
        return after_group(part, end) if end < len(part) and word_of(part[end]) == "(" else end
    if at + 1 < len(part) and part[at + 1].token_type == TokenType.IDENTIFIER:
        return at + 2
    return at


def _after_generated(part: Tokens, at: int) -> int:
    """Return the place after what a column is computed of; `at` for an identity."""
    words = _words(part, at, 5)
    if words[0] == "GENERATED" and ("IDENTITY" in words or "AS" not in all_words_of(*part[at:])):
        return at
    while at < len(part) and word_of(part[at]) not in ("AS", "UPDATE"):
        at += 1
    if _words(part, at, 3) == ["UPDATE", "AS", "ROW"]:  # FOR EACH ROW ON UPDATE AS ROW CHANGE TIMESTAMP
        return at + 5
    at += 1
    if at < len(part) and word_of(part[at]) == "(":
        at = after_group(part, at)
        return at + (_words(part, at, 1)[:1] in (["STORED"], ["VIRTUAL"], ["PERSISTED"], ["PERSISTENT"]))
    while at < len(part) and word_of(part[at]) in {
        "ROW",
        "START",
        "END",
        "BEGIN",
        "TRANSACTION",
        "ID",
        "TRANSACTION_ID",
        "SEQUENCE_NUMBER",
        "IDENTITY",
    }:
        at += 1
    return at


def _after_sequence(part: Tokens, at: int) -> int:
    """Return the place after the options of an identity's sequence."""
    at = after_group(part, at) if at < len(part) and word_of(part[at]) == "(" else at
    while at < len(part) and (word_of(part[at]) in _OF_SEQUENCE or part[at].token_type == TokenType.NUMBER):
        at += 1
    return at
