"""ALTER TABLE and CREATE UNIQUE INDEX: what they say of columns and keys; what else they say is passed over."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import Token

from integrator.tables.sql import constants
from integrator.tables.sql.cursor import Cursor, Name, parts_of
from integrator.tables.sql.drafts import Draft, Drafts
from integrator.tables.sql.items import ColumnItem, Item, KeyItem, column_of, is_other, items_of, key_columns
from integrator.tables.sql.lexical import NotUnderstood
from integrator.tables.sql.script import Folding, Tokens, all_words_of, word_of

_HARMLESS = (
    "OWNER TO", "CLUSTER ON", "SET WITHOUT", "SET (", "RESET (", "SET TABLESPACE", "SET LOGGED", "SET UNLOGGED",
    "SET ACCESS METHOD", "ENABLE", "DISABLE", "FORCE", "NO FORCE", "NO INHERIT", "VALIDATE CONSTRAINT",
    "CHECK CONSTRAINT", "NOCHECK CONSTRAINT", "ALTER CONSTRAINT", "ENGINE", "AUTO_INCREMENT", "COMMENT", "COLLATE",
    "DEFAULT CHARSET", "DEFAULT CHARACTER", "CHARACTER SET", "CONVERT TO", "ORDER BY", "DISABLE KEYS", "ENABLE KEYS",
    "DROP FOREIGN KEY", "DROP CHECK", "RENAME CONSTRAINT", "RENAME INDEX", "RENAME KEY", "SET STATISTICS",
    "CHANGE_TRACKING",
)  # fmt: skip
"""Actions that change neither columns nor keys."""
_OF_PARTITIONS = (
    "ADD PARTITION", "DROP PARTITION", "TRUNCATE PARTITION", "COALESCE PARTITION", "REORGANIZE PARTITION",
    "EXCHANGE PARTITION", "ANALYZE PARTITION", "CHECK PARTITION", "OPTIMIZE PARTITION", "REBUILD PARTITION",
    "REPAIR PARTITION", "REMOVE PARTITIONING", "PARTITION BY", "DISCARD", "IMPORT",
)  # fmt: skip
_HARMLESS_OF = {
    "mysql": (
        *_OF_PARTITIONS, "ROW_FORMAT", "KEY_BLOCK_SIZE", "MAX_ROWS", "MIN_ROWS", "AVG_ROW_LENGTH", "CHECKSUM",
        "COMPRESSION", "CONNECTION", "DATA DIRECTORY", "INDEX DIRECTORY", "DELAY_KEY_WRITE", "ENCRYPTION",
        "ALGORITHM",
        "INSERT_METHOD", "PACK_KEYS", "PASSWORD", "STATS_AUTO_RECALC", "STATS_PERSISTENT", "STATS_SAMPLE_PAGES",
        "LOCK",
        "UNION", "STORAGE", "TABLESPACE", "ALTER INDEX", "ALTER CHECK", "WITH VALIDATION", "WITHOUT VALIDATION",
        "WAIT",
        "NOWAIT", "ADD SYSTEM VERSIONING", "DROP SYSTEM VERSIONING", "SECONDARY_ENGINE", "SECONDARY_LOAD", "CHARSET",
    ),
    "oracle": (
        *_OF_PARTITIONS, "ADD SUBPARTITION", "ADD SUPPLEMENTAL LOG", "DROP SUPPLEMENTAL LOG", "DROP UNUSED", "MOVE",
        "SHRINK", "LOGGING", "NOLOGGING", "CACHE", "NOCACHE", "PARALLEL", "NOPARALLEL", "COMPRESS", "NOCOMPRESS",
        "PCTFREE", "PCTUSED", "INITRANS", "STORAGE", "ROW STORE", "ROW ARCHIVAL", "NO ROW", "READ",
        "MODIFY PARTITION",
        "MODIFY CONSTRAINT", "MODIFY LOB", "MODIFY PRIMARY KEY", "RENAME PARTITION", "SPLIT", "MERGE", "INMEMORY",
        "NO INMEMORY", "FLASHBACK", "NO FLASHBACK", "MONITORING", "NOMONITORING", "MODIFY DEFAULT", "ALLOCATE",
        "UPGRADE",
        "DEALLOCATE", "MINIMIZE", "NOMINIMIZE", "RESULT_CACHE", "ADD PERIOD", "DROP PERIOD", "ILM", "ANNOTATIONS",
    ),
    "tsql": ("REBUILD", "SWITCH", "ADD PERIOD", "DROP PERIOD", "DROP SYSTEM_TIME", "FILESTREAM_ON", "ALTER INDEX"),
    "db2": (
        *_OF_PARTITIONS, "VOLATILE", "NOT VOLATILE", "DATA CAPTURE", "PCTFREE", "APPEND", "LOCKSIZE", "ACTIVATE",
        "DEACTIVATE", "ADD RESTRICT", "DROP RESTRICT", "COMPRESS", "LOG INDEX", "ALTER FOREIGN KEY", "ALTER CHECK",
        "ADD PERIOD", "DROP PERIOD", "ADD VERSIONING", "DROP VERSIONING", "ATTACH PARTITION", "DETACH PARTITION",
        "ORGANIZE", "ADD MATERIALIZED", "DROP MATERIALIZED", "VALUE COMPRESSION", "AUDIT", "CCSID", "ADD SECURITY",
        "DROP DISTRIBUTION", "ADD DISTRIBUTE", "ALTER ORGANIZATION",
    ),
}  # fmt: skip
"""Those of a database alone, where the words cannot be names."""
_HARMLESS_OF_COLUMN = (
    "SET STATISTICS", "SET (", "RESET (", "SET STORAGE", "SET COMPRESSION",
    "SET GENERATED", "DROP IDENTITY", "DROP EXPRESSION", "SET EXPRESSION", "RESTART", "SET START", "SET INCREMENT",
    "SET CACHE", "SET MINVALUE", "SET MAXVALUE", "SET NO", "SET CYCLE", "SET VISIBLE", "SET INVISIBLE",
)  # fmt: skip
_GOES_WITH_ITS_TABLE = ("CONSTRAINT", "FOREIGN", "INDEX", "KEY", "CHECK")
"""Scripts drop these of tables that they then drop and create."""
_ACTIONS = (
    "ADD", "DROP", "ALTER", "MODIFY", "CHANGE", "ATTACH PARTITION", "DETACH PARTITION", "REPLICA IDENTITY", "INHERIT",
)  # fmt: skip
EXPECTED = (
    "ADD, DROP, ALTER, MODIFY or CHANGE of a column, ADD of a key, ATTACH PARTITION or REPLICA IDENTITY; "
    "write the table as it is after this statement (pg_dump -s prints it so)"
)


class Altering:
    """Applies ALTER TABLE and CREATE INDEX to the tables that are defined."""

    def __init__(self, drafts: Drafts, script: str, sql_dialect: str, folding: Folding) -> None:
        """Apply to these tables."""
        self._drafts, self._script = drafts, script
        self._sql_dialect, self._folding = sql_dialect, folding

    def table(self, cursor: Cursor, schema: str | None) -> bool:
        """Read ALTER TABLE from the name on; return whether it says anything of columns or keys."""
        cursor.take("IF", "EXISTS")
        cursor.take("ONLY")
        line, name = cursor.line, cursor.name()
        cursor.take("*")
        try:
            return self._actions(cursor, name, line, schema)
        except NotUnderstood:
            self._drafts.give_up(name)
            raise

    def _actions(self, cursor: Cursor, name: Name, line: int, schema: str | None) -> bool:
        concerned, last = False, ""
        for part in parts_of(cursor.rest()):
            action = Cursor(part, self._folding, schema)
            action.take_any("WITH CHECK", "WITH NOCHECK")
            if self._drafts.is_passed(name):
                continue
            continues = self._sql_dialect == "tsql" and last == "ADD" and action.word() not in ("ADD", "DROP", "ALTER")
            if not continues and action.take_any(*_HARMLESS, *_HARMLESS_OF.get(self._sql_dialect, ())):
                continue
            if _is_of_no_key(action, self._sql_dialect, continues=continues):
                last = "ADD"
                continue
            if name not in self._drafts.known and action.word() == "DROP" and action.word(1) in _GOES_WITH_ITS_TABLE:
                continue
            concerned = True
            draft = self._drafts.get(name, line)
            if continues:
                self._add(draft, action)
            else:
                last = action.word()
                self._action(draft, action)
        return concerned

    def _action(self, draft: Draft, action: Cursor) -> None:
        match action.take_any(*_ACTIONS):
            case "ADD":
                self._add(draft, action)
            case "DROP":
                _drop(draft, action)
            case "ALTER":
                self._alter_column(draft, action)
            case "MODIFY" | "CHANGE" as verb:
                action.take("COLUMN")
                old = action.column() if verb == "CHANGE" else None
                tokens = action.group() if action.word() == "(" else action.rest()
                self._redefine(draft, tokens, old)
            case "ATTACH PARTITION":
                line = action.line
                self._drafts.get(action.name(), line).whole = (draft.name, line)
            case "DETACH PARTITION":
                line = action.line
                self._drafts.get(action.name(), line).whole = None
            case "INHERIT":  # the columns are there already, or it would be refused
                self._drafts.inherited.add(action.name())
            case "REPLICA IDENTITY":
                _identify(draft, action)
            case _:
                raise action.refuse(EXPECTED)

    def _add(self, draft: Draft, action: Cursor) -> None:
        action.take("COLUMN")
        action.take("IF", "NOT", "EXISTS")
        if action.word() == "(":
            draft.add(self._items(action.group()))
            return
        tokens = action.rest()
        words = [word_of(token) for token in tokens]
        using = next((at for at in range(len(words)) if words[at : at + 2] == ["USING", "INDEX"]), None)
        if using is not None and self._sql_dialect != "oracle":
            self._use_index(draft, tokens, using)
        else:
            draft.add(self._items(tokens if using is None else tokens[:using]))

    def _use_index(self, draft: Draft, tokens: list[Token], using: int) -> None:
        """Make a unique index a constraint, whose name it gets."""
        before = Cursor(tokens[:using], self._folding)
        name = before.name().name if before.take("CONSTRAINT") else None
        primary = before.take("PRIMARY", "KEY")
        index = Cursor(tokens[using + 2 :], self._folding).name().name
        found = next((key for key in draft.keys if key.name == index), None)
        if found is None or not found.usable:
            raise Cursor(tokens, self._folding).refuse(f"{index} to be a unique index that is defined above")
        draft.keys[draft.keys.index(found)] = replace(found, primary=primary, name=name or index)

    def _alter_column(self, draft: Draft, action: Cursor) -> None:
        action.take("COLUMN")
        line, name = action.line, action.column()
        if action.take_any(*_HARMLESS_OF_COLUMN):
            return
        if action.take_any("SET DEFAULT", "DROP DEFAULT"):
            tokens = action.rest()
            text = self._script[tokens[0].start : tokens[-1].end + 1] if tokens else ""
            draft.set_default(name, constants.text_in(text, self._sql_dialect))
        elif action.take_any("SET NOT NULL", "ADD GENERATED"):
            draft.nullable[draft.own(name)] = (False, line)
        elif action.take("DROP", "NOT", "NULL"):
            draft.nullable[draft.own(name)] = (True, line)
        elif action.take_any("SET DATA TYPE", "TYPE"):
            item = column_of(action, self._script, self._sql_dialect, self._folding)
            kept = draft.columns.get(draft.own(name))
            same = {"nullable": kept.nullable, "default": kept.default} if kept else {"nullable": None}
            draft.redefine(name, replace(item, name=name, **same))
        else:
            item = column_of(action, self._script, self._sql_dialect, self._folding)
            draft.redefine(name, replace(item, name=name))

    def _redefine(self, draft: Draft, tokens: Tokens, old: str | None) -> None:
        for part in parts_of(tokens):
            cursor = Cursor(part, self._folding)
            line, name = cursor.line, cursor.column()
            if null := cursor.take_any("NOT NULL", "NULL"):  # Oracle's, without a type
                draft.nullable[draft.own(name)] = (null == "NULL", line)
                continue
            [item] = self._items(part)
            if not isinstance(item, ColumnItem):
                raise Cursor(part, self._folding).refuse("a column")
            draft.redefine(old or item.name, item)

    def _items(self, tokens: Tokens) -> list[Item]:
        return list(items_of(parts_of(tokens), self._script, self._sql_dialect, self._folding))

    def index(self, cursor: Cursor) -> bool:
        """Read CREATE UNIQUE INDEX, after these words; return whether it is of a table that the file defines."""
        line = cursor.line
        cursor.take("CONCURRENTLY")
        cursor.take("IF", "NOT", "EXISTS")
        index = None if cursor.word() == "ON" else cursor.name().name
        while not cursor.done and not cursor.take("ON"):
            cursor.name()  # MySQL's index type
        cursor.take("ONLY")
        draft = self._drafts.find(cursor.name())
        if draft is None:  # of a materialized view
            return False
        if cursor.take("USING"):
            cursor.name()
        columns, plain = key_columns(cursor)
        usable = plain and "WHERE" not in all_words_of(*cursor.rest())
        name = index or "_".join([draft.name.name, *columns, "idx"])
        draft.keys.append(KeyItem(columns if usable else (), line, primary=False, name=name, usable=usable))
        return True


def _is_of_no_key(action: Cursor, sql_dialect: str, *, continues: bool) -> bool:
    """Return whether ADD, if it is next or continues, adds a constraint or an index that is no key."""
    lookahead = Cursor(action.all, action.folding)
    lookahead.take_any("WITH CHECK", "WITH NOCHECK")
    if not continues and not lookahead.take("ADD"):
        return False
    if lookahead.take("CONSTRAINT"):
        lookahead.column()
    return is_other(lookahead, sql_dialect)


def _drop(draft: Draft, action: Cursor) -> None:
    if action.take("PRIMARY", "KEY"):
        draft.keys = [key for key in draft.keys if not key.primary]
        return
    kind = action.take_any("CONSTRAINT", "INDEX", "KEY")
    if kind is None:
        action.take("COLUMN")
    action.take("IF", "EXISTS")
    if kind is not None:
        name = action.name().name
        draft.keys = [key for key in draft.keys if key.name != name]
        return
    for part in parts_of(action.group()) if action.word() == "(" else [action.rest()]:
        draft.drop_column(Cursor(part, action.folding).column(), part[0].line)


def _identify(draft: Draft, action: Cursor) -> None:
    line = action.line
    if action.take("USING", "INDEX"):
        draft.identity = (action.name().name, line)
    elif action.take_any("FULL", "DEFAULT", "NOTHING"):
        draft.identity = None
    else:
        raise action.refuse("USING INDEX, FULL, DEFAULT or NOTHING")
