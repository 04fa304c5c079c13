"""What PostgreSQL's catalogue says of tables: their columns with types, and their keys; not what its DDL says."""

from __future__ import annotations

import json
from typing import Any

from tests.parts.postgres import Postgres

_QUERY = """
select json_build_object(
  'types', (select json_object_agg(t.oid, json_build_object(
      'name', t.typname, 'kind', t.typtype, 'array', t.typcategory = 'A', 'item', t.typelem::int, 'base', t.typbasetype::int,
      'mod', t.typtypmod, 'not_null', t.typnotnull)) from pg_type t),
  'tables', (select json_agg(json_build_object(
      'schema', n.nspname, 'name', c.relname, 'identity', c.relreplident,
      'columns', (select json_agg(json_build_array(a.attname, a.atttypid::int, a.atttypmod, a.attnotnull) order by a.attnum)
                  from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
      'indexes', (select json_agg(json_build_object(
          'primary', i.indisprimary, 'identity', i.indisreplident,
          'whole', i.indpred is null and i.indexprs is null and i.indimmediate,
          'columns', (select json_agg(a.attname order by k.place)
                      from unnest(i.indkey::int2[]) with ordinality k(number, place)
                      join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
                      where k.place <= i.indnkeyatts)) order by i.indexrelid)
          from pg_index i where i.indrelid = c.oid and i.indisunique)) order by n.nspname, c.relname)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema', 'ext')
      and exists (select from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)))
"""

_SAME = {
    "int2": "smallint", "int4": "integer", "int8": "bigint", "float4": "real", "float8": "double", "bool": "boolean",
    "text": "text", "uuid": "uuid", "json": "json", "jsonb": "json", "bytea": "blob", "date": "date", "oid": "bigint",
    "interval": "interval", "inet": "inet", "cidr": "inet", "money": "decimal(19,2)", "name": "varchar(63)",
    "char": "varchar(1)", "timetz": "varchar(50)", "macaddr": "varchar(50)", "macaddr8": "varchar(50)",
}  # fmt: skip
_DIGITS = {-1: 6, 0: 3, 1: 3, 2: 3, 3: 3, 4: 6, 5: 6, 6: 6}


def catalogue(server: Postgres, database: str) -> dict[str, Any]:
    """By table its columns (name, type, whether it may be null), and its key: none, or all keys that it may have."""
    found = json.loads(server.psql(_QUERY.replace("\n", " ") + ";", database))
    types = {int(oid): kind for oid, kind in found["types"].items()}
    return {
        f"{table['schema']}.{table['name']}": {
            "columns": [
                [name, _type(types, oid, mod), not (not_null or _not_null(types, oid))]
                for name, oid, mod, not_null in table["columns"]
            ],
            "key": _key(table, types),
        }
        for table in found["tables"]
    }


def _key(table: dict[str, Any], types: dict[int, Any]) -> list[str]:
    never_null = {name for name, oid, _, not_null in table["columns"] if not_null or _not_null(types, oid)}
    indexes = [one for one in table["indexes"] or [] if one["whole"] and set(one["columns"]) <= never_null]
    wanted = [one for one in indexes if one["identity"]] if table["identity"] == "i" else indexes
    wanted.sort(key=lambda one: not one["primary"])
    return list(wanted[0]["columns"]) if wanted else []


def _not_null(types: dict[int, Any], oid: int) -> bool:
    kind = types[oid]
    return kind["kind"] == "d" and (kind["not_null"] or _not_null(types, kind["base"]))


def _type(types: dict[int, Any], oid: int, mod: int) -> str:
    kind = types[oid]
    name = kind["name"]
    if kind["kind"] == "d":
        return _type(types, kind["base"], kind["mod"])
    if kind["kind"] == "e":
        return "enum"
    if kind["array"] and kind["item"]:
        return f"{_type(types, kind['item'], mod)}[]"
    if name in _SAME:
        return _SAME[name]
    if name in ("varchar", "bpchar"):
        return "text" if mod < 0 else f"varchar({mod - 4})"
    if name in ("bit", "varbit"):
        return "text" if mod < 0 else "boolean" if mod == 1 else f"varchar({mod})"
    if name == "numeric":
        return _numeric(mod)
    if name in ("time", "timestamp", "timestamptz"):
        return f"{name}({_DIGITS[mod]})"
    return "text"  # rows, ranges, shapes, what extensions define


def _numeric(mod: int) -> str:
    if mod < 0:
        return "varchar(50)"
    precision, scale = ((mod - 4) >> 16) & 0xFFFF, (((mod - 4) & 0x7FF) ^ 1024) - 1024
    if precision > 76:
        return f"varchar({precision + 2})"
    return f"decimal({precision - scale},0)" if scale < 0 else f"decimal({precision},{scale})"
