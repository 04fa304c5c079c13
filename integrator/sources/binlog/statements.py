"""Statements of the log: what they are for a capture."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, dropwhile, islice, pairwise

_NONE = r"(?P<no>/\*M?!\d*|\*/|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|--(?=[\s\x00-\x1f]|\Z)[^\n]*|\#[^\n]*)"
"""Comments, and marks around what is for some servers alone."""
_WORDS = r"(?P<word>[\w$\u0080-\uffff]+)|(?P<sign>\S)"
"""Names without quotes have any letters and signs from U+0080 to U+FFFF
(https://dev.mysql.com/doc/refman/8.4/en/identifiers.html)."""
ANSI_QUOTES, NO_BACKSLASH_ESCAPES = 1 << 2, 1 << 20
"""Of a client's sql_mode: names may be in double quotes; a backslash is a letter."""
_TEXT = "'"
CHANGES = frozenset(("insert", "update", "delete", "replace", "load", "call", "execute", "with"))
"""First words of statements that change rows."""
_BEFORE_INTO = frozenset(("low_priority", "high_priority", "delayed", "quick", "ignore"))
_AFTER_ONE_TABLE = frozenset(("where", "order", "limit", ";"))
DEFINES = frozenset(("create", "alter", "drop", "rename", "truncate"))
_OF_TABLES = frozenset(("table", "tables", "database", "schema", "index"))
_OF_EXISTENCE = frozenset(("if", "exists", "not"))
_BEFORE_TABLE = frozenset(("online", "ignore"))
_OF_PARTITIONS = frozenset(("truncate", "drop", "exchange", "convert"))
_ADDED_BESIDE_COLUMNS = frozenset(
    ("index", "key", "constraint", "primary", "unique", "fulltext", "spatial", "foreign", "check", "partition")
)
_ADDED_BY: Mapping[str, tuple[list[str], ...]] = defaultdict(
    tuple, {"period": (["for"],), "system": (["versioning"],), "vector": (["index"], ["key"], ["("])}
)
"""Words that may be names of columns, and what follows them where they are none."""
_DROPPED_BESIDE_COLUMNS = frozenset(
    ("index", "key", "constraint", "primary", "foreign", "check", "partition", "period", "system")
)
_NAMES_TOO = frozenset(("period", "system"))
"""Of these words, those that may be names of columns."""
_MADE = frozenset(("as", "auto_increment", "serial"))
"""A column whose values are made by the server: by an expression, or as numbers."""
_NOT_OF_THE_TABLE = frozenset(("column", "key", "index"))


@dataclass(frozen=True)
class Meaning:
    """What a statement is for a capture.

    defines: it may change what tables there are, or how they are defined. truncated: the tables that it empties,
    DATABASE.TABLE. gone: those that are dropped, and renamed: names that stand for other tables from here on. dropped:
    databases. rewritten: tables whose rows become others without events: a column gets a default, another type or
    name, or a partition's rows come or go. altered: the table of these columns. columns_dropped: its columns that go.
    columns_added: those that come, in rows that are there without a value. Their names are in lower case.
    """

    defines: bool = False
    truncated: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    altered: str = ""
    columns_dropped: tuple[str, ...] = ()
    columns_added: tuple[str, ...] = ()


@lru_cache
def _token(modes: int) -> re.Pattern[str]:
    """Return what matches a token of a client's statements. It takes as many steps as a text has letters."""
    texts, names = ["'"], ["`"]
    (names if modes & ANSI_QUOTES else texts).append('"')
    inner = "[^{0}]" if modes & NO_BACKSLASH_ESCAPES else r"[^{0}\\]|\\.?"
    text = "|".join(f"{one}(?:{inner.format(one)})*(?:{one}|\\Z)" for one in texts)
    name = "|".join(f"{one}(?:[^{one}]|{one}{one})*(?:{one}|\\Z)" for one in names)
    return re.compile(f"{_NONE}|(?P<text>{text})|(?P<name>{name})|{_WORDS}", re.DOTALL)


def first_word(text: str) -> str:
    """Return the first word of a statement, in lower case; nothing where it has none."""
    return next(_tokens(text), "").lower()


def ends_transaction(text: str) -> bool:
    """Return whether a statement ends a transaction: ROLLBACK TO a savepoint does not."""
    first, *more = (*(one.lower() for one in islice(_tokens(text), 3)), "")
    return first == "commit" or (first == "rollback" and "to" not in more)


def is_of_system(text: str, database: str, modes: int = 0) -> bool:
    """Return whether a statement changes rows of the server's own database alone, as hosted servers do for themselves.

    It has one table: an INSERT, a REPLACE, or a DELETE FROM it.
    """
    words = _Words(list(_tokens(text, modes)), database)
    is_delete = words.take("delete")
    if not (is_delete or words.take("insert") or words.take("replace")):
        return False
    while words.left and words.left[0].lower() in _BEFORE_INTO:
        del words.left[0]
    if not words.take("from" if is_delete else "into") or not words.table().startswith("mysql."):
        return False
    return not is_delete or not words.left or words.left[0].lower() in _AFTER_ONE_TABLE


def emptied_by(text: str, database: str, *, lower: bool = False, modes: int = 0) -> str:
    """Return the table of a lone DELETE FROM it; nothing of another statement. lower, modes: as of `meaning_of`.

    A server writes one at the first use of a MEMORY table after its start, whatever binlog_format is
    (https://dev.mysql.com/doc/refman/8.0/en/replication-features-memory.html).
    """
    words = _Words([one.lower() if lower else one for one in _tokens(text, modes)], database)
    table = words.table() if words.take("delete") and words.take("from") else ""
    return "" if [one for one in words.left if one != ";"] else table


def is_elsewhere(text: str, database: str, is_ours: Callable[[str], bool], modes: int = 0) -> bool:
    """Return whether a statement that changes rows has tables of other databases alone.

    database: the one that names without one are of. is_ours: whether tables of a database are captured. What triggers
    and functions of other databases change of ours is not seen.
    """
    words = list(_tokens(text, modes))
    return not any(map(is_ours, {database, *(_unquoted(name) for name, sign in pairwise(words) if sign == ".")}))


def begins_transaction(text: str) -> bool:
    """Return whether a statement begins a transaction, whose changes follow it."""
    first, second, *_ = (*(one.lower() for one in islice(_tokens(text), 2)), "", "")
    return first == "begin" or (first == "xa" and second in ("start", "begin"))


def _tokens(text: str, modes: int = 0) -> Iterator[str]:
    """Yield words and signs; names in quotes keep these, and texts are one quote. modes: of the client.

    The settings of MariaDB's SET STATEMENT … FOR are left out (https://mariadb.com/kb/en/set-statement/).
    """
    tokens = _all_tokens(text, modes)
    begin = [*islice(tokens, 2)]
    if [one.lower() for one in begin] != ["set", "statement"]:
        tokens = chain(begin, tokens)
    else:
        depth = 0
        for one in tokens:
            depth += (one == "(") - (one == ")")
            if not depth and one.lower() == "for":
                break
    return tokens


def _all_tokens(text: str, modes: int) -> Iterator[str]:
    for found in _token(modes).finditer(text):
        if found.lastgroup == "text":
            yield _TEXT
        elif found.lastgroup != "no":
            yield found[0]


def meaning_of(text: str, database: str, *, lower: bool = False, modes: int = 0) -> Meaning:
    """Return what a statement that defines tables does. database: the one that names without one are of.

    lower: whether names are in lower case, however they are written. modes: the client's sql_mode.
    """
    if first_word(text) not in DEFINES:
        return Meaning()
    words = _Words([one.lower() if lower else one for one in _tokens(text, modes)], database)
    if words.take("truncate"):
        words.take("table")
        return Meaning(truncated=(words.table(),))
    if not _OF_TABLES & {word.lower() for word in words.left}:
        return Meaning()
    if words.take("rename"):
        return Meaning(True, renamed=tuple(words.tables("to")))
    if words.take("drop"):
        return _dropped(words)
    if words.take("alter"):
        return _altered(words)
    words.take("create")
    is_anew = words.take("or") and words.take("replace")
    if is_anew and (words.take("database") or words.take("schema")):
        return Meaning(True, dropped=(words.name(),))
    return Meaning(True, gone=(words.table(),)) if words.take("table") and is_anew else Meaning(True)


def _dropped(words: _Words) -> Meaning:
    if words.take("temporary"):
        return Meaning()
    if words.take("database") or words.take("schema"):
        return Meaning(True, dropped=(words.name(),))
    return (
        Meaning(True, gone=tuple(words.tables(","))) if words.take("table") or words.take("tables") else Meaning(True)
    )


def _altered(words: _Words) -> Meaning:
    is_ignoring = "ignore" in [word.lower() for word in words.left[:2]]
    if not words.take("table"):
        return Meaning(True)
    own, renamed = words.table(), list[str]()
    words.skip_waiting()
    parts = _parts(words.left)
    is_rewritten = is_ignoring or any(map(_gives_values, parts))  # IGNORE: those that do not fit a new key
    rewritten = [own] if is_rewritten else []
    dropped, added = (tuple(name for part in parts for name in names(part)) for names in (_dropped_by, _added_by))
    while words.left:
        word = words.left.pop(0).lower()
        if (word in _OF_PARTITIONS and words.take("partition")) or (
            word == "import" and (words.take("tablespace") or words.take("partition"))
        ):
            rewritten.append(own)
        elif word == "convert" and words.take("table"):
            rewritten += [own, words.table()]
        elif rewritten and word == "with" and words.take("table"):
            rewritten.append(words.table())
        elif word == "rename" and words.left[:1] and words.left[0].lower() not in _NOT_OF_THE_TABLE:
            if not words.take("to"):
                words.take("as")
            renamed = [own, words.table()]
    return Meaning(
        True,
        renamed=tuple(renamed),
        rewritten=tuple(dict.fromkeys(rewritten)),
        altered=own if dropped or added else "",
        columns_dropped=dropped,
        columns_added=added,
    )


def _parts(words: Sequence[str]) -> list[list[str]]:
    """Return what is between the commas of a list, in lower case."""
    parts, depth = [list[str]()], 0
    for word in map(str.lower, words):
        depth += (word == "(") - (word == ")")
        if word == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _column(words: Sequence[str], beside: frozenset[str]) -> str:
    """Return the column's name with which a part continues; nothing where it is of something else."""
    is_column = list(words[:1]) == ["column"]
    left = [*dropwhile(_OF_EXISTENCE.__contains__, words[is_column:])]
    return _unquoted(left[0]) if left and (is_column or left[0] not in beside) else ""


def _dropped_by(part: list[str]) -> list[str]:
    if part[:1] != ["drop"]:
        return []
    if part[1:2] and part[1] in _NAMES_TOO and part[2:3] not in _ADDED_BY[part[1]]:
        return [part[1]]
    return [*filter(None, [_column(part[1:], _DROPPED_BESIDE_COLUMNS)])]


def _added_by(part: list[str]) -> list[str]:
    if part[:1] != ["add"]:
        return []
    inner = part[1 + (part[1:2] == ["column"]) :]
    lists = _parts(inner[1:-1]) if inner[:1] == ["("] else [part[1:]]
    return [*filter(None, (_column(one, _ADDED_BESIDE_COLUMNS) for one in lists))]


def _gives_values(part: list[str]) -> bool:
    """Return whether a part of an ALTER TABLE gives columns of rows that are there another value or name.

    MODIFY and CHANGE count whatever they change: which types convert without a change of values is not examined. A
    primary key has zeros, where a client is not strict, for nulls.
    """
    match part:
        case ["modify" | "change", *_] | ["rename", "column", *_] | ["convert", "to", *_] | ["add", "primary", *_]:
            return True
        case ["add" | "drop", "system", "versioning", *_]:  # rows of before come and go
            return True
        case ["add", "constraint", *more] if "primary" in more[:2]:
            return True
        case ["add", second, *more] if second not in _ADDED_BESIDE_COLUMNS and more[:1] not in _ADDED_BY[second]:
            return _has_own_values(part)
    return False


def _has_own_values(part: list[str]) -> bool:
    """Return whether a column that is added has other values than null in rows that are there.

    A TIMESTAMP has the time, or zeros, where explicit_defaults_for_timestamp is off, unless it is NULL.
    """
    pairs = list(pairwise(["", *part, ""]))
    if "timestamp" in part[2:] and not any(
        word == "null" and before not in ("not", "default") for before, word in pairs
    ):
        return True
    return any(
        (word == "default" and after != "null")
        or (word == "not" and after == "null")
        or word in _MADE
        or word == "primary"
        or (after == "key" and word != "unique")  # the primary key, which is not null
        for word, after in pairs
    )


def _unquoted(name: str) -> str:
    quote = name[:1]
    return name[1:].removesuffix(quote).replace(2 * quote, quote) if quote in ("`", '"') else name


class _Words:
    """The words of a statement that are left."""

    def __init__(self, words: list[str], database: str) -> None:
        self.left, self._database = words, database

    def take(self, word: str) -> bool:
        """Take a word, where it is the next one beside what says nothing of tables."""
        at, passed = 0, _OF_EXISTENCE | (_BEFORE_TABLE if word == "table" else set())
        while self.left[at : at + 1] and self.left[at].lower() in passed:
            at += 1
        if [one.lower() for one in self.left[at : at + 1]] != [word]:
            return False
        del self.left[: at + 1]
        return True

    def skip_waiting(self) -> None:
        """Leave out for how long MariaDB waits for a lock."""
        if self.take("wait"):
            del self.left[:1]
        self.take("nowait")

    def name(self) -> str:
        """Take a name."""
        while self.left and self.left[0].lower() in _OF_EXISTENCE:
            del self.left[0]
        return _unquoted(self.left.pop(0) if self.left else "")

    def table(self) -> str:
        """Take a table's name: DATABASE.TABLE; one after a dot is of the database that is current."""
        if self.left[:1] == ["."]:
            del self.left[0]
        name = self.name()
        if self.left[:1] == ["."]:
            del self.left[0]
            return f"{name}.{self.name()}"
        return f"{self._database}.{name}"

    def tables(self, between: str) -> Iterator[str]:
        """Take tables, with a word or commas between."""
        self.take("table") or self.take("tables")
        while self.left and self.left[0] not in (";", "restrict", "cascade"):
            yield self.table()
            while (self.left and self.left[0].lower() in (between, ",", "wait", "nowait")) or (
                self.left[:1] and self.left[0].isdigit()
            ):
                del self.left[0]
