"""SQL DDL, of many databases and as they dump it -> tables. sqlglot reads tokens, columns, types and constraints.

A statement is understood, or is of a kind that says nothing of tables and is counted, or is a problem with its line.
"""

from __future__ import annotations

import logging
import re
from collections import Counter

import sqlglot
from sqlglot.errors import SqlglotError

from integrator.errors import Problem
from integrator.names import meant
from integrator.schema import Table
from integrator.tables.alter import Altering
from integrator.tables.create import Creating
from integrator.tables.cursor import Cursor, NotUnderstood
from integrator.tables.drafts import Drafts
from integrator.tables.named_types import NamedTypes
from integrator.tables.script import (
    STANDARD,
    Script,
    Tokens,
    all_words_of,
    folding_of,
    next_table,
    script_of,
    unclosed,
    unconditional,
    words_of,
)

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of what it cannot read, which is a problem here

Reading = tuple[list[Table], list[Problem], Counter[str]]

_OBJECTS = (
    "MATERIALIZED VIEW", "VIEW", "SEQUENCE", "FUNCTION", "PROCEDURE", "TRIGGER", "EXTENSION", "SCHEMA", "RULE",
    "POLICY", "PUBLICATION", "SUBSCRIPTION", "ROLE", "USER MAPPING", "USER", "GROUP", "DATABASE", "AGGREGATE",
    "OPERATOR", "CAST", "COLLATION", "CONVERSION", "TEXT SEARCH", "LANGUAGE", "STATISTICS", "SERVER",
    "FOREIGN DATA WRAPPER", "FOREIGN TABLE", "TRANSFORM", "ACCESS METHOD", "TABLESPACE", "SYNONYM", "PACKAGE",
    "EVENT", "LOGIN", "DEFAULT", "DOMAIN", "TYPE", "INDEX", "UNIQUE INDEX", "CLUSTERED INDEX",
    "NONCLUSTERED INDEX", "FULLTEXT INDEX", "SPATIAL INDEX", "BITMAP INDEX", "LARGE OBJECT", "SYSTEM",
    "SESSION", "DEFAULT PRIVILEGES", "PARTITION FUNCTION", "PARTITION SCHEME", "COLUMNSTORE INDEX",
    "CLUSTERED COLUMNSTORE INDEX", "NONCLUSTERED COLUMNSTORE INDEX", "XML INDEX", "PRIMARY XML INDEX",
    "XML SCHEMA COLLECTION", "FULLTEXT CATALOG", "FULLTEXT STOPLIST", "CLUSTER", "DIRECTORY", "CONTEXT",
    "COLUMN MASTER KEY", "COLUMN ENCRYPTION KEY", "SECURITY POLICY", "DATABASE LINK", "SHARED DATABASE LINK",
)  # fmt: skip
_MODIFIERS = (
    "OR REPLACE", "OR ALTER", "RECURSIVE", "TRUSTED", "PROCEDURAL", "EDITIONABLE", "NONEDITIONABLE", "NO FORCE",
    "FORCE", "PUBLIC", "PRIVATE", "CONSTRAINT",
)  # fmt: skip
_TEMPORARY = ("TEMPORARY", "TEMP", "GLOBAL TEMPORARY", "GLOBAL TEMP", "LOCAL TEMPORARY", "LOCAL TEMP", "FOREIGN")
_HARMLESS_OF_TYPES = (
    "OWNER TO", "ADD VALUE", "RENAME VALUE", "ADD CONSTRAINT", "ADD CHECK", "VALIDATE", "SET DEFAULT", "DROP DEFAULT",
    "DROP CONSTRAINT", "RENAME CONSTRAINT", "SET (",
)  # fmt: skip
_ALIASES = {"mssql": "tsql", "sqlserver": "tsql", "mariadb": "mysql", "plsql": "oracle", "pg": "postgres"}
"""What databases are called whose SQL has another name here."""
_ROUTINES = {"FUNCTION", "PROCEDURE", "TRIGGER", "EVENT", "GRANT", "REVOKE", "DENY"}
"""Words of statements that may have CREATE TABLE in them."""
_LIKE_TSQL = re.compile(r"(?im)^\s*go\s*$|\[[a-z]")
_TABLE = ("TABLE", "UNLOGGED TABLE", "COLUMN TABLE", "ROW TABLE", "EXTERNAL TABLE", "TRANSIENT TABLE")
"""What CREATE says of a table whose changes may be captured."""
_HARMLESS = (
    "SET", "RESET", "SELECT", "COMMENT", "GRANT", "REVOKE", "SECURITY LABEL", "BEGIN", "START TRANSACTION", "COMMIT",
    "ROLLBACK", "INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "COPY", "LOCK", "UNLOCK", "USE", "DO", "ANALYZE",
    "VACUUM",
    "REFRESH MATERIALIZED VIEW", "REINDEX", "SHOW", "PRINT", "EXEC", "EXECUTE", "CALL", "GO", "DENY", "IMPORT",
    "REASSIGN", "WITH", "DECLARE", "END", "DISABLE TRIGGER", "ENABLE TRIGGER",
)  # fmt: skip


def refusal_of(sql_dialect: str) -> str:
    """Return what is wrong with the name of a database's SQL; nothing where it is known."""
    if sql_dialect in STANDARD or sql_dialect in sqlglot.Dialects.__members__.values():
        return ""
    known = sorted({*STANDARD, *(str(member.value) for member in sqlglot.Dialects if member.value)})
    return f"{sql_dialect!r} is no SQL that is known; {meant(_ALIASES.get(sql_dialect.lower(), sql_dialect), known)}"


def read(path: str, text: str, sql_dialect: str) -> Reading:
    """Read the tables that `text` defines; what is wrong with any statement is a problem, and others are counted.

    `path` names the file in problems; `sql_dialect` is db2, or a name sqlglot knows (postgres, mysql, oracle, tsql, …).
    """
    refusal = refusal_of(sql_dialect)
    if refusal:
        return [], [Problem(path, 0, "", refusal)], Counter()
    tables, wrong, skipped = _read(text, sql_dialect)
    problems = [Problem(path, one.line, one.where, str(one)) for one in wrong]
    if problems and (other := _understood_as(text, sql_dialect)):
        remedy = f"the file is read as {sql_dialect}, and {other} understands all of it: give its sql_dialect, {other}"
        problems.append(Problem(path, 0, "", f"{remedy}: tables: [{{file: {path}, sql_dialect: {other}}}]"))
    if not tables and not problems:
        problems.append(Problem(path, 0, "", "holds no CREATE TABLE statement with columns"))
    return tables, problems, skipped


def _read(text: str, sql_dialect: str) -> tuple[list[Table], list[NotUnderstood], Counter[str]]:
    try:
        script = script_of(text, sql_dialect)
    except SqlglotError:
        line, sign = unclosed(text, sql_dialect)
        return [], [NotUnderstood(f"bad SQL: the {sign} is not closed", line)], Counter()
    file = _File(script, sql_dialect)
    wrong = []
    for tokens in script.statements:
        try:
            file.statement(tokens)
        except NotUnderstood as error:
            wrong.append(error)
        except RecursionError:
            wrong.append(NotUnderstood("bad SQL: its brackets or types are nested too deeply", tokens[0].line))
    tables = []
    for made in file.drafts.finished() if not wrong else ():
        if isinstance(made, NotUnderstood):
            wrong.append(made)
        else:
            tables.append(made)
    if not wrong and (empty := len(file.drafts.known) - len(tables)):
        file.skipped["CREATE TABLE without columns"] = empty
    return tables, wrong, file.skipped + script.skipped


def _understood_as(text: str, sql_dialect: str) -> str | None:
    """Return another dialect in which all of a text is understood."""
    others = [one for one in ("postgres", "mysql", "oracle") if one != sql_dialect]
    if sql_dialect != "tsql" and _LIKE_TSQL.search(text):
        others.append("tsql")
    return next((one for one in others if (found := _read(text, one)) and found[0] and not found[1]), None)


class _File:
    """What is known of a file, statement by statement."""

    def __init__(self, script: Script, sql_dialect: str) -> None:
        self._script, self._sql_dialect = script, sql_dialect
        self._folding = folding_of(sql_dialect)
        self._schema: str | None = None
        self._types = NamedTypes(sql_dialect, self._folding)
        self.drafts = Drafts(self._types)
        self._creating = Creating(self.drafts, script, sql_dialect, self._folding)
        self._altering = Altering(self.drafts, script, sql_dialect, self._folding)
        self.skipped: Counter[str] = Counter()

    def statement(self, tokens: Tokens) -> None:
        """Read a statement. Raises NotUnderstood."""
        if self._sql_dialect == "tsql":
            tokens = unconditional(tokens)
            if not tokens:
                self.skipped["IF"] += 1
                return
        cursor = Cursor(tokens, self._folding, self._schema)
        second = None if _ROUTINES & set(all_words_of(*tokens[:6])) else next_table(tokens)
        if second is not None:
            text = f"{words_of(tokens)!r}: expected ; before {second.text} in line {second.line}"
            raise NotUnderstood(text, tokens[0].line)
        verb, words = cursor.word(), all_words_of(*tokens[:3])
        if cursor.take("SET", "SEARCH_PATH"):
            self._schema = _first_schema(cursor)
            self.skipped["SET"] += 1
        elif verb in ("CREATE", "ALTER", "DROP") and cursor.take(verb):
            {"CREATE": self._create, "ALTER": self._alter, "DROP": self._drop}[verb](cursor)
        elif kind := next((one for one in _HARMLESS if words[: len(one.split())] == one.split()), None):
            self.skipped[kind] += 1
        else:
            raise self._unknown(tokens)

    def _unknown(self, tokens: Tokens) -> NotUnderstood:
        text = f"{words_of(tokens)!r} is not understood as {self._sql_dialect}"
        return NotUnderstood(f"{text}; correct it, take it out, or give the file's sql_dialect", tokens[0].line)

    def _create(self, cursor: Cursor) -> None:
        while cursor.take_any(*_MODIFIERS):
            pass
        if self._sql_dialect == "mysql" and cursor.word() in ("DEFINER", "ALGORITHM", "SQL"):
            cursor.skip_to("VIEW", "TRIGGER", "FUNCTION", "PROCEDURE", "EVENT")
        if passed := cursor.take_any(*(f"{kind} TABLE" for kind in _TEMPORARY)):
            cursor.take("IF", "NOT", "EXISTS")
            self.drafts.passed.add(cursor.name())
            self.skipped[f"CREATE {passed}"] += 1
        elif cursor.take_any(*_TABLE):
            self._creating.table(cursor)
        elif cursor.take_any("UNIQUE INDEX", "UNIQUE CLUSTERED INDEX", "UNIQUE NONCLUSTERED INDEX"):
            if not self._altering.index(cursor):
                self.skipped["CREATE UNIQUE INDEX of a view"] += 1
        elif cursor.take("DOMAIN"):
            self._types.define_domain(cursor, self._script)
        elif cursor.take("TYPE"):
            self._types.define(cursor, self._script)
        else:
            self._pass_over("CREATE", cursor)

    def _alter(self, cursor: Cursor) -> None:
        if cursor.take_any("TABLE", "FOREIGN TABLE"):
            if not self._altering.table(cursor, self._schema):
                self.skipped["ALTER TABLE of no column or key"] += 1
        else:
            self._pass_over("ALTER", cursor)

    def _drop(self, cursor: Cursor) -> None:
        if not cursor.take("TABLE"):
            self._pass_over("DROP", cursor)
            return
        cursor.take("IF", "EXISTS")
        while not cursor.done:
            self.drafts.drop(cursor.name())
            if not cursor.take(","):
                break
        self.skipped["DROP TABLE"] += 1

    def _pass_over(self, verb: str, cursor: Cursor) -> None:
        kind = cursor.take_any(*sorted(_OBJECTS, key=len, reverse=True))
        if kind is None:
            raise self._unknown(cursor.all)
        if verb == "ALTER" and kind in ("DOMAIN", "TYPE"):
            cursor.name()
            if not cursor.take_any(*_HARMLESS_OF_TYPES):
                raise cursor.refuse("OWNER TO, ADD VALUE or a CHECK; write the type as it is after this statement")
        if verb == "DROP" and kind == "INDEX":
            self.drafts.drop_index(cursor.name().name)
        self.skipped[f"{verb} {kind}"] += 1


def _first_schema(cursor: Cursor) -> str | None:
    """Return the schema in which names without one are looked for: the first of SET search_path."""
    cursor.take_any("=", "TO")
    words = [token.text for token in cursor.rest()]
    named = [word for word in words if word not in ("", ",", "pg_catalog", "$user", "DEFAULT", "default")]
    return named[0] if named else None
