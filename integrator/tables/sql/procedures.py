"""SQL Server's system procedures that change tables and types, as scripts call them."""

from __future__ import annotations

import re
from itertools import pairwise

from sqlglot import Token

from integrator.tables.sql.cursor import Cursor, Name
from integrator.tables.sql.drafts import Drafts

CALLED = re.compile(r"\bsp_(?:addtype|rename)\b", re.IGNORECASE)


def call(cursor: Cursor, drafts: Drafts, text: str) -> bool:
    """Read EXEC of a procedure; return whether it says anything of types. Raises NotUnderstood."""
    cursor.take_any("EXEC", "EXECUTE")
    if cursor.done or not (cursor.word()[:1].isalpha() or not cursor.word()):
        return False
    procedure = cursor.name().name.lower()
    given = [token for token in cursor.rest() if token.text != ","]
    if procedure == "sp_addtype" and len(given) > 1:
        drafts.types.add(Name(None, given[0].text), " ".join(one.text for one in given[1:]), given[0].line, text)
        return True
    if procedure == "sp_rename" and given and any(drafts.find(name) for name in _tables(given[0])):
        raise cursor.refuse("a statement that makes no other name; write the table as it is after it")
    return False


def _tables(token: Token) -> list[Name]:
    """Return the tables that the name of one, or of a column, may mean."""
    parts = [None, *token.text.replace("[", "").replace("]", "").split(".")]
    return [Name(above, name) for above, name in pairwise(parts) if name]
