"""CREATE TABLE: its columns, constraints and parents."""

from __future__ import annotations

from itertools import groupby

from integrator.tables.sql.cursor import Cursor, Name, parts_of
from integrator.tables.sql.drafts import Draft, Drafts
from integrator.tables.sql.items import KeyItem, items_of
from integrator.tables.sql.lexical import NotUnderstood
from integrator.tables.sql.script import Folding, Tokens, all_words_of, word_of

_TAIL = ("PARTITION BY", "USING", "WITH", "WITHOUT OIDS", "ON COMMIT", "TABLESPACE")
"""What PostgreSQL has after the columns, and says nothing of them."""
_CONSTRAINTS = ("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "EXCLUDE")


class Creating:
    """Reads CREATE TABLE into the tables of a file."""

    def __init__(self, drafts: Drafts, script: str, sql_dialect: str, folding: Folding) -> None:
        """Read into these tables."""
        self._drafts, self._script = drafts, script
        self._sql_dialect, self._folding = sql_dialect, folding

    def table(self, cursor: Cursor) -> None:
        """Read CREATE TABLE from the name on."""
        is_there_allowed = cursor.take("IF", "NOT", "EXISTS")
        line, name = cursor.line, cursor.name()
        if name.name.startswith("#"):
            self._drafts.passed.add(name)
            return
        try:
            draft = self._draft(cursor, name, line)
        except NotUnderstood:
            self._drafts.give_up(name)
            raise
        if name in self._drafts.known and not is_there_allowed:
            text = f"the table {name} is defined twice, in line {self._drafts.known[name].line} too"
            raise NotUnderstood(text, line, str(name))
        self._drafts.known.setdefault(name, draft)

    def _draft(self, cursor: Cursor, name: Name, line: int) -> Draft:
        draft = Draft(name, line)
        if cursor.take("PARTITION", "OF"):
            draft.whole = (cursor.name(), line)
            self._drafts.get(*draft.whole)
            if cursor.word() == "(":
                self._options(draft, cursor.group())
        elif cursor.take("OF"):
            draft.add(self._drafts.types.fields_of(cursor.name(), line))
            if cursor.word() == "(":
                self._options(draft, cursor.group())
        elif cursor.take("LIKE"):
            self._like(draft, cursor)
        elif cursor.word() == "(":
            self._body(draft, cursor.group())
            self._tail(draft, cursor)
        else:
            raise cursor.refuse(f"the columns of {name} in brackets, or PARTITION OF; write them out")
        return draft

    def _body(self, draft: Draft, tokens: Tokens) -> None:
        parts = [Cursor(part, self._folding, draft.name.schema) for part in parts_of(tokens)]
        for is_like, same in groupby(parts, lambda part: part.word() == "LIKE"):
            if is_like:
                for part in same:
                    part.take("LIKE")
                    self._like(draft, part)
            else:
                listed = [part.all for part in same]
                draft.add(items_of(listed, self._script, self._sql_dialect, self._folding))

    def _like(self, draft: Draft, cursor: Cursor) -> None:
        """Copy the columns of another table: with its keys where the statement asks for them, and always in MySQL."""
        source = self._drafts.get(cursor.name(), cursor.line)
        words = all_words_of(*cursor.rest())
        with_keys = "ALL" in words or "INDEXES" in words or self._sql_dialect == "mysql"
        draft.like(source, with_keys=with_keys)

    def _tail(self, draft: Draft, cursor: Cursor) -> None:
        if cursor.take("INHERITS"):
            for part in parts_of(cursor.group()):
                parent = Cursor(part, self._folding, draft.name.schema)
                named = (parent.name(), part[0].line)
                self._drafts.get(*named)
                draft.parents.append(named)
        if self._sql_dialect == "postgres" and not cursor.done and not cursor.take_any(*_TAIL):
            raise cursor.refuse("the end of PostgreSQL's CREATE TABLE; another database's has a sql_dialect")

    def _options(self, draft: Draft, tokens: Tokens) -> None:
        """Read the options of columns that the table has from another, or from a type."""
        for part in parts_of(tokens):
            if word_of(part[0]) in _CONSTRAINTS:
                draft.add(items_of([part], self._script, self._sql_dialect, self._folding))
                continue
            line, column = part[0].line, Cursor(part, self._folding).column()
            words = all_words_of(*part[1:])
            if any(words[at : at + 2] == ["NOT", "NULL"] for at in range(len(words))):
                draft.nullable[column] = (False, line)
            if "PRIMARY" in words or "UNIQUE" in words:
                draft.add([KeyItem((column,), line, primary="PRIMARY" in words)])
