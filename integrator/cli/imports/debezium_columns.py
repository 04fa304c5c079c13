"""Columns that a Debezium connector leaves out, masks, cuts or takes for the key -> ColumnProperties.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-property-column-exclude-list.
What cannot be masked as it was is left out of the messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from integrator.cli.imports.connect_file import Config
from integrator.cli.imports.debezium_tables import Tables, expression, full_name, items, needs_tables
from integrator.cli.imports.draft import Draft
from integrator.schema import String, Table

_MASK = re.compile(r"column\.mask\.with\.(\d+)\.chars")
_HASH = re.compile(r"column\.mask\.hash\.(v2\.)?([^.]+)\.with\.salt\.(.+)")
_CUT = re.compile(r"column\.truncate\.to\.(\d+)\.chars")
_ALGORITHMS = {
    "SHA-224": "encode(sha224({}), 'hex')",
    "SHA-256": "encode(sha256({}), 'hex')",
    "SHA-384": "encode(sha384({}), 'hex')",
    "SHA-512": "encode(sha512({}), 'hex')",
    "MD5": "md5({})",
}
"""https://datafusion.apache.org/user-guide/sql/scalar_functions.html#hashing-functions, by Java's names."""
SALT = "SALT_SECRET"
"""The environment variable that has a salt; further ones are numbered."""
_V1 = (
    "the hash is of salt and text, as column.mask.hash.v2 makes it: column.mask.hash serializes the text in Java's "
    "way, and gives another"
)


def take(config: Config, tables: Tables, draft: Draft) -> None:
    """Add the actions for columns, and note what has no counterpart."""
    for key in ("column.exclude.list", "column.blacklist"):
        for table, column in _columns(config.get(key), key, tables):
            absent(draft, table, column, key)
    for key in ("column.include.list", "column.whitelist"):
        _take_included(config.get(key), key, tables, draft)
    for key in list(config.values):
        mask, hashed, cut = _MASK.fullmatch(key), _HASH.fullmatch(key), _CUT.fullmatch(key)
        if mask or hashed or cut:
            for table, column in _columns(config.get(key), key, tables):
                if hashed:
                    _take_hash(draft, table, column, key, hashed)
                elif mask:
                    replaced(draft, table, column, "*" * int(mask[1]) or "''")
                elif cut:
                    replaced(draft, table, column, f'sql: left("{column}", {cut[1]})')
    _take_keys(config.get("message.key.columns"), tables, draft)


def absent(draft: Draft, table: Table, column: str, key: str) -> None:
    """Leave a column out of the messages; the key's columns stay."""
    if column in table.key:
        draft.idle(f"{key}: {full_name(table)}.{column}", "a column of the key is in the messages too")
    else:
        draft.act("ColumnProperties", group="KAFKA", table=table.name, Name=column, Absent=True)


def replaced(draft: Draft, table: Table, column: str, expression: str) -> None:
    """Have an expression in the place of a column's value, for keys and headers too."""
    draft.act("ColumnProperties", table=table.name, Name=column, CaptureExpression=expression)


def _columns(text: str, key: str, tables: Tables) -> Iterator[tuple[Table, str]]:
    for pattern in items(text):
        yield from tables.columns(pattern, _shown(key))


def _shown(key: str) -> str:
    """Return a key without its salt: whoever has that can try values."""
    hashed = _HASH.fullmatch(key)
    return key.removesuffix(hashed[3]) + "…" if hashed else key


def _take_included(text: str, key: str, tables: Tables, draft: Draft) -> None:
    if text and not tables.known:
        raise needs_tables(key, text)
    if text:
        wanted = [expression(one, key) for one in items(text)]
        for table in tables.tables:
            for column in table.columns:
                name = f"{full_name(table)}.{column.name}"
                if column.name not in table.key and not any(matches(name) for matches in wanted):
                    absent(draft, table, column.name, key)


def _take_hash(draft: Draft, table: Table, column: str, key: str, found: re.Match[str]) -> None:
    version, algorithm, salt = found.groups()
    shown = _shown(key)
    hashed = _ALGORITHMS.get(algorithm.upper())
    if hashed is None:
        draft.idle(shown, f"{algorithm} is not there ({', '.join(_ALGORITHMS)} are): {column} is left out")
        absent(draft, table, column, shown)
        return
    if not version:
        draft.idle(shown, _V1)
    if "'" in salt:
        draft.idle(shown, f"a salt with a quotation mark cannot stand in SQL: {column} is left out")
        absent(draft, table, column, shown)
        return
    reference = _salt(draft, salt, shown)
    text = hashed.format(f"'{reference}' || \"{column}\"")
    known = table.column(column)
    length = known.type.length if known is not None and isinstance(known.type, String) else None
    replaced(draft, table, column, f"sql: left({text}, {length})" if length else f"sql: {text}")


def _salt(draft: Draft, salt: str, shown: str) -> str:
    """Return the reference to the environment variable that has a salt."""
    names = [name for name in draft.secrets if name.startswith(SALT)]
    for name in names:
        if draft.secrets[name] == salt:
            return f"${{{name}}}"
    return draft.secret(f"the salt of {shown}", f"{SALT}_{len(names) + 1}" if names else SALT, salt)


def _take_keys(text: str, tables: Tables, draft: Draft) -> None:
    """Take message.key.columns: an expression for tables, a colon, and columns; several with semicolons between."""
    for entry in items(text, re.compile(";")):
        pattern, _, names = entry.rpartition(":")
        found = list(tables.matching(pattern, "message.key.columns"))
        if not found:
            draft.idle(f"message.key.columns={entry}", "no table matches it")
        for table in found:
            for name in items(names):
                draft.act("ColumnProperties", table=table.name, Name=name, SurrogateKey=True)
