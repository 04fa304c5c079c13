"""SQL DDL, of many databases and as they dump it -> tables. sqlglot reads tokens, columns, types and constraints.

A statement is understood, or is of a kind that says nothing of tables and is counted, or is a problem with its line.
Tables that a problem concerns are not read; the others are.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence

import sqlglot

from integrator.errors import Problem
from integrator.names import meant
from integrator.schema import Table
from integrator.tables.sql import procedures, whose
from integrator.tables.sql.alter import Altering
from integrator.tables.sql.create import Creating
from integrator.tables.sql.cursor import Cursor
from integrator.tables.sql.drafts import Drafts
from integrator.tables.sql.lexical import LIKE_POSTGRES, STANDARD, NotUnderstood
from integrator.tables.sql.named_types import NamedTypes
from integrator.tables.sql.scanner import Scanner, Statement
from integrator.tables.sql.script import folding_of, tokens_of
from integrator.tables.sql.statements import MODIFIERS, OBJECTS, TEMPORARY, harmless_of

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of what it cannot read, which is a problem here

Reading = tuple[list[Table], list[Problem], Counter[str]]

_HARMLESS_OF_TYPES = (
    "OWNER TO", "ADD VALUE", "RENAME VALUE", "ADD CONSTRAINT", "ADD CHECK", "VALIDATE", "SET DEFAULT", "DROP DEFAULT",
    "DROP CONSTRAINT", "RENAME CONSTRAINT", "SET (", "COMPILE",
)  # fmt: skip
_ALIASES = {"mssql": "tsql", "sqlserver": "tsql", "mariadb": "mysql", "plsql": "oracle", "pg": "postgres"}
"""What databases are called whose SQL has another name here."""
_TABLE = ("TABLE", "UNLOGGED TABLE", "COLUMN TABLE", "ROW TABLE", "EXTERNAL TABLE", "TRANSIENT TABLE")
"""What CREATE says of a table whose changes may be captured."""
_UNIQUE = ("UNIQUE INDEX", "UNIQUE CLUSTERED INDEX", "UNIQUE NONCLUSTERED INDEX", "UNIQUE WHERE NOT NULL INDEX")
_CURRENT_SCHEMA = {
    **dict.fromkeys(LIKE_POSTGRES, ("SET SEARCH_PATH", "SET SESSION SEARCH_PATH")),
    "db2": ("SET SCHEMA", "SET CURRENT SCHEMA", "SET CURRENT_SCHEMA"),
    "oracle": ("ALTER SESSION SET CURRENT_SCHEMA",),
}
"""Statements that say in which schema names are that have none."""
_READ_TOO = ("SET", "USE", "EXEC", "EXECUTE", "RENAME")
_FIRST = re.compile(r"[(\s]*(\w+)")
_VIEW = re.compile(
    r"create\s+(?:(?!table\b|index\b|unique\b|type\b|domain\b)\S+\s+){0,6}?((?:materialized\s+)?view)\s", re.IGNORECASE
)
_LONGEST_FIRST = sorted(OBJECTS, key=len, reverse=True)
_USE = re.compile(r"(?:^|;)[ \t]*use[ \t]+[`\"]?(\w+)", re.IGNORECASE | re.MULTILINE)
_ROUTINES = ("TRIGGER", "PROCEDURE", "PROC", "FUNCTION", "PACKAGE", "TYPE", "EVENT", "MODULE")
_SHOWN = 6
"""How many words of a statement a message has."""


def refusal_of(sql_dialect: str) -> str:
    """Return what is wrong with the name of a database's SQL; nothing where it is known."""
    if sql_dialect in STANDARD or sql_dialect in sqlglot.Dialects.__members__.values():
        return ""
    known = sorted({*STANDARD, *(str(member.value) for member in sqlglot.Dialects if member.value)})
    return f"{sql_dialect!r} is no SQL that is known; {meant(_ALIASES.get(sql_dialect.lower(), sql_dialect), known)}"


def read(path: str, text: str, sql_dialect: str, *, declared: bool = False) -> Reading:
    """Read the tables that `text` defines; what is wrong with any statement is a problem, and others are counted.

    `path` names the file in problems; `sql_dialect` is db2, or a name sqlglot knows (postgres, mysql, oracle, tsql, …).
    declared: somebody named it; else what is only another database's is a problem, although it is understood.
    """
    refusal = refusal_of(sql_dialect)
    if refusal:
        return [], [Problem(path, 0, "", refusal)], Counter()
    tables, wrong, skipped = _read(text, sql_dialect)
    problems = [Problem(path, one.line, one.where, str(one)) for one in wrong]
    if not tables and not problems:
        problems.append(Problem(path, 0, "", "holds no CREATE TABLE statement with columns"))
    if problems or not declared:
        problems = _of_another(path, text, sql_dialect, problems) or problems
    return tables, problems, skipped


def _of_another(path: str, text: str, sql_dialect: str, problems: list[Problem]) -> list[Problem]:
    """Return the problems of a script that is in another database's SQL, with what to write; none where it is not."""
    marks, known = whose.marks_of(text), whose.database_of(text)
    if sql_dialect not in whose.SQL:
        return []

    def named(other: str, reason: str, line: int = 0) -> Problem:
        entry = f"give its sql_dialect, {other}: tables: [{{file: {path}, sql_dialect: {other}}}]"
        return Problem(path, line, "", f"the file is read as {sql_dialect}, and {reason}: {entry}")

    if not problems:
        if known in (None, sql_dialect) or marks[sql_dialect]:
            return []
        sign, line = next(iter(marks[str(known)].items()))
        return [named(str(known), f"{sign} is {known}'s", line)]
    best = ""
    for other in sorted(marks, key=lambda one: -len(marks[one])):
        if other == sql_dialect or not marks[other]:
            continue
        tables, wrong, _ = _read(text, other)
        if tables and not wrong:
            return [*problems[:1], named(other, f"{other} understands all of it")]
        if other == known and len(wrong) < len(problems):
            best = other
    return [*problems, named(best, f"seems to be {best}'s")] if best else []


def _read(text: str, sql_dialect: str) -> tuple[list[Table], list[NotUnderstood], Counter[str]]:
    scanner = Scanner(text, sql_dialect)
    file = _File(text, sql_dialect)
    wrong = []
    for statement in scanner.statements():
        try:
            file.statement(statement)
        except NotUnderstood as error:
            wrong.append(error)
        except RecursionError:
            wrong.append(NotUnderstood("bad SQL: its brackets or types are nested too deeply", statement.line))
    tables = []
    for made in file.drafts.finished():
        if isinstance(made, NotUnderstood):
            wrong.append(made)
        else:
            tables.append(made)
    if not wrong and (empty := len(file.drafts.known) - len(tables)):
        file.skipped["CREATE TABLE without columns"] = empty
    return tables, sorted(wrong, key=lambda one: one.line), file.skipped + scanner.skipped


class _File:
    """What is known of a file, statement by statement."""

    def __init__(self, text: str, sql_dialect: str) -> None:
        self._text, self._sql_dialect = text, sql_dialect
        self._harmless = harmless_of(sql_dialect)
        self._folding = folding_of(sql_dialect)
        self._schema: str | None = None
        self._has_databases = len({name.lower() for name in _USE.findall(text)}) > 1
        self._types = NamedTypes(sql_dialect, self._folding)
        self.drafts = Drafts(self._types)
        self._creating = Creating(self.drafts, text, sql_dialect, self._folding)
        self._altering = Altering(self.drafts, text, sql_dialect, self._folding)
        self.skipped: Counter[str] = Counter()

    def statement(self, statement: Statement) -> None:
        """Read a statement. Raises NotUnderstood."""
        if statement.routine:
            self.skipped[_routine(statement.text)] += 1
        elif statement.text.strip():
            try:
                self._read(statement)
            except NotUnderstood:
                if statement.fault is None:
                    raise
        if statement.fault is not None:
            raise statement.fault

    def _read(self, statement: Statement) -> None:
        verb = _verb(statement.text)
        reads = {"CREATE": self._create, "ALTER": self._alter, "DROP": self._drop}.get(verb)
        if view := _VIEW.match(statement.text):  # whose query is not read
            self.skipped[f"CREATE {' '.join(view[1].upper().split())}"] += 1
            return
        says_nothing = verb not in _READ_TOO or (
            verb.startswith("EXEC") and not procedures.CALLED.search(statement.text)
        )
        if reads is None and says_nothing:
            self._count(verb, statement)
            return
        tokens = tokens_of(statement, self._sql_dialect)
        cursor = Cursor(tokens, self._folding, _schema_of(statement.within, self._sql_dialect) or self._schema)
        if any(cursor.take(*phrase.split()) for phrase in _CURRENT_SCHEMA.get(self._sql_dialect, ())):
            self._schema = _first_schema(cursor)
            self.skipped[verb] += 1
        elif reads is not None and cursor.take(verb):
            reads(cursor)
        elif verb == "USE" and self._sql_dialect == "mysql" and self._has_databases:
            self._schema = Cursor(tokens[1:], self._folding).name().name
            self.skipped[verb] += 1
        elif verb in ("EXEC", "EXECUTE") and procedures.call(cursor, self.drafts, self._text):
            self.skipped["EXEC of a procedure for tables or types"] += 1
        elif verb == "RENAME" and cursor.word(1) != "USER":
            raise cursor.refuse(
                "a statement that makes no other name; write the table with the name that it has after it"
            )
        else:
            self._count(verb, statement)

    def _count(self, verb: str, statement: Statement) -> None:
        if verb not in self._harmless:
            raise self._unknown(statement.text.split(), statement.line)
        self.skipped[verb] += 1

    def _unknown(self, words: Sequence[str], line: int) -> NotUnderstood:
        shown = f"{' '.join(words[:_SHOWN])}{' …' if len(words) > _SHOWN else ''}"
        text = f"{shown!r} is not understood as {self._sql_dialect}"
        return NotUnderstood(f"{text}; correct it, take it out, or give the file's sql_dialect", line)

    def _create(self, cursor: Cursor) -> None:
        while cursor.take_any(*MODIFIERS):
            pass
        if self._sql_dialect == "mysql" and cursor.word() in ("DEFINER", "ALGORITHM", "SQL"):
            cursor.skip_to("VIEW", "TRIGGER", "FUNCTION", "PROCEDURE", "EVENT")
        if passed := cursor.take_any(*(f"{kind} TABLE" for kind in TEMPORARY)):
            cursor.take("IF", "NOT", "EXISTS")
            self.drafts.passed.add(cursor.name())
            self.skipped[f"CREATE {passed}"] += 1
        elif cursor.take_any(*_TABLE):
            self._creating.table(cursor)
        elif cursor.take_any(*_UNIQUE):
            if not self._altering.index(cursor):
                self.skipped["CREATE UNIQUE INDEX of a view"] += 1
        elif cursor.take("DOMAIN"):
            self._types.define_domain(cursor, self._text)
        elif cursor.take_any("TYPE", "DISTINCT TYPE"):
            self._types.define(cursor, self._text)
        else:
            self._pass_over("CREATE", cursor)

    def _alter(self, cursor: Cursor) -> None:
        if cursor.take_any("TABLE", "FOREIGN TABLE", "IGNORE TABLE", "ONLINE TABLE"):
            if not self._altering.table(cursor, self._schema):
                self.skipped["ALTER TABLE of no column or key"] += 1
        else:
            self._pass_over("ALTER", cursor)

    def _drop(self, cursor: Cursor) -> None:
        if not cursor.take_any("TABLE", *(f"{kind} TABLE" for kind in TEMPORARY)):
            self._pass_over("DROP", cursor)
            return
        cursor.take("IF", "EXISTS")
        while not cursor.done:
            self.drafts.drop(cursor.name())
            if not cursor.take(","):
                break
        self.skipped["DROP TABLE"] += 1

    def _pass_over(self, verb: str, cursor: Cursor) -> None:
        while cursor.take_any(*MODIFIERS):
            pass
        kind = cursor.take_any(*_LONGEST_FIRST)
        if kind is None:
            raise self._unknown([token.text for token in cursor.all], cursor.all[0].line)
        if verb == "ALTER" and kind in ("DOMAIN", "TYPE"):
            cursor.name()
            if not cursor.take_any(*_HARMLESS_OF_TYPES):
                raise cursor.refuse("OWNER TO, ADD VALUE or a CHECK; write the type as it is after this statement")
        if verb == "DROP" and kind == "INDEX":
            self.drafts.drop_index(cursor.name().name)
        self.skipped[f"{verb} {kind}"] += 1


def _routine(text: str) -> str:
    """Return as what a routine is counted."""
    words = text.upper().split()
    kind = next((word for word in words[1:] if word in _ROUTINES), "") if words[0] in ("CREATE", "ALTER") else ""
    return f"{words[0]} {kind}" if kind else "block of statements"


def _verb(text: str) -> str:
    """Return the first word of a statement, in capitals."""
    found = _FIRST.match(text)
    return found[1].upper() if found else ""


def _schema_of(within: str, sql_dialect: str) -> str | None:
    """Return the schema that CREATE SCHEMA makes, which tables follow without a semicolon."""
    words = tokens_of(Statement(within, 0, 1), sql_dialect)[2:] if within else []
    cursor = Cursor(words, folding_of(sql_dialect))
    cursor.take("IF", "NOT", "EXISTS")
    cursor.take("AUTHORIZATION")
    return cursor.name().name if words else None


def _first_schema(cursor: Cursor) -> str | None:
    """Return the schema in which names without one are searched for: the first that a statement names."""
    cursor.take_any("=", "TO")
    named = [
        token for token in cursor.rest() if token.text not in ("", ",", "pg_catalog", "$user", "DEFAULT", "default")
    ]
    return Cursor(named, cursor.folding).name().name if named else None
