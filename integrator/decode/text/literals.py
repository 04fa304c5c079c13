"""PostgreSQL's array literals (https://www.postgresql.org/docs/15/arrays.html#ARRAYS-IO)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.schema import Type

_LETTERS, _BOOLEANS = pa.array(["t", "f"]), pa.array(["true", "false"])


def in_words(items: pa.Array, item: Type) -> pa.Array:
    """Return the items of array literals with booleans in words, which PostgreSQL writes as t and f there."""
    if not isinstance(item, schema.Boolean):
        return items
    return pc.coalesce(_BOOLEANS.take(pc.index_in(items, _LETTERS)), items)


def parse_array(text: str) -> list[str | None]:
    """Return the items of one array literal with one dimension. Raises ValueError."""
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError("expected an array literal {…} of one dimension")
    items: list[str | None] = []
    at, end = 1, len(text) - 1
    while at < end:
        if text[at] == '"':
            item = []
            at += 1
            while at < end and text[at] != '"':
                at += text[at] == "\\"
                item.append(text[at])
                at += 1
            if at >= end:
                raise ValueError("expected a quote at the end of an item")
            items.append("".join(item))
            at += 1
        elif text[at] == "{":
            raise ValueError("an array of several dimensions; declare the column as text")
        else:
            stop = text.find(",", at, end)
            word = text[at : end if stop < 0 else stop]
            if not word.strip():
                raise ValueError('expected an item between commas; an empty text is written as ""')
            if set(word) & set('"{}\\'):
                raise ValueError("expected quotes around an item with a quote, a brace or a backslash")
            items.append(None if word.upper() == "NULL" else word)
            at += len(word)
        if at < end and text[at] != ",":
            raise ValueError("expected a comma between items")
        at += 1
    if at == end > 1:  # after a comma
        raise ValueError("expected an item after the last comma")
    return items
