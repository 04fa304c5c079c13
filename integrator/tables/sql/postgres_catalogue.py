"""PostgreSQL's catalogue -> the definitions that `pg_dump -s` gives, without what says nothing of columns and keys.

https://www.postgresql.org/docs/current/catalogs.html. Types are written by format_type, as pg_dump writes them; keys
are in pg_dump's order, for of several unique ones the first counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

from integrator.tables.sql.ddl import read
from integrator.tables.sql.sql_types import NAMED


class Asked(Protocol):
    """A session at a database."""

    def run(self, sql: str) -> None:
        """Run a statement without an answer."""

    def rows(self, sql: str) -> Sequence[Sequence[Any]]:
        """Return the rows of a query."""


NAMES = """
select n.nspname, c.relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and c.relpersistence <> 't'
  and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
  and exists (select from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
  and not exists (select from pg_catalog.pg_depend d
    where d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid and d.deptype = 'e')
order by n.nspname collate "C", c.relname collate "C"
"""
"""Tables, also those that are partitions or partitioned; without temporary ones and those of extensions."""
_TABLES = """
select json_build_object(
  'schema', n.nspname, 'name', c.relname, 'shown', quote_ident(n.nspname) || '.' || quote_ident(c.relname),
  'columns', (select json_agg(json_build_object(
      'name', quote_ident(a.attname), 'oid', a.atttypid::bigint, 'type', format_type(a.atttypid, a.atttypmod),
      'not_null', a.attnotnull) order by a.attnum)
    from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
  'keys', (select json_agg(json_build_object(
      'name', quote_ident(x.relname), 'primary', i.indisprimary, 'columns', (
        select json_agg(quote_ident(a.attname) order by k.place)
        from unnest(i.indkey::int2[]) with ordinality k(number, place)
        join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number where k.place <= i.indnkeyatts))
      order by not i.indisprimary, k.oid is null, x.relname collate "C")
    from pg_index i join pg_class x on x.oid = i.indexrelid
    left join pg_constraint k on k.conindid = i.indexrelid and k.contype in ('p', 'u')
    where i.indrelid = c.oid and i.indisunique and i.indimmediate and i.indpred is null and i.indexprs is null),
  'by', case when c.relkind = 'p' then pg_get_partkeydef(c.oid) end,
  'parents', (select json_agg(quote_ident(pn.nspname) || '.' || quote_ident(p.relname) order by h.inhseqno)
    from pg_inherits h join pg_class p on p.oid = h.inhparent join pg_namespace pn on pn.oid = p.relnamespace
    where h.inhrelid = c.oid),
  'bound', case when c.relispartition then pg_get_expr(c.relpartbound, c.oid) end,
  'identity', (select quote_ident(x.relname) from pg_index i join pg_class x on x.oid = i.indexrelid
    where i.indrelid = c.oid and i.indisreplident and c.relreplident = 'i'))::text
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where (n.nspname, c.relname) in ({names})
order by n.nspname collate "C", c.relname collate "C"
"""
_TYPES = """
select json_object_agg(t.oid, json_build_object(
  'kind', t.typtype, 'shown', quote_ident(n.nspname) || '.' || quote_ident(t.typname),
  'name', t.typname, 'item', case when t.typcategory = 'A' then t.typelem::bigint else 0 end,
  'own', coalesce(r.relkind, 'c') = 'c',
  'base', t.typbasetype::bigint, 'base_type', format_type(nullif(t.typbasetype, 0), t.typtypmod),
  'not_null', t.typnotnull,
  'labels', (select json_agg(quote_literal(e.enumlabel) order by e.enumsortorder)
    from pg_enum e where e.enumtypid = t.oid),
  'range_of', (select format_type(g.rngsubtype, null) from pg_range g where g.rngtypid = t.oid),
  'fields', (select json_agg(json_build_object('name', quote_ident(a.attname), 'oid', a.atttypid::bigint,
      'type', format_type(a.atttypid, a.atttypmod)) order by a.attnum)
    from pg_attribute a where a.attrelid = r.oid and r.relkind = 'c' and a.attnum > 0 and not a.attisdropped)))::text
from pg_type t join pg_namespace n on n.oid = t.typnamespace left join pg_class r on r.oid = t.typrelid
where n.nspname <> 'pg_catalog' and n.nspname not like 'pg\\_toast%'
"""
"""Types that are not PostgreSQL's own, those of information_schema among them. own: not the rows of a table."""

Types = dict[int, dict[str, Any]]


_WITH_PARTITIONS = """
with recursive chosen(oid) as (
  select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where (n.nspname, c.relname) in (values {names})
  union
  select h.inhrelid from chosen join pg_inherits h on h.inhparent = chosen.oid join pg_class c on c.oid = h.inhrelid
  where c.relispartition)
select n.nspname, c.relname from chosen join pg_class c on c.oid = chosen.oid
join pg_namespace n on n.oid = c.relnamespace
"""
"""Tables, and their partitions, whether these were asked for or not: rows are in them."""


def definitions(connection: Asked, tables: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the statements that define tables, by schema and name, after those of the types that their columns have.

    Partitions of a table come with it.
    """
    connection.run("set search_path = ''")  # names are written with their schemas, as in a dump
    connection.run("set standard_conforming_strings = on")
    listed = ", ".join(f"({literal(schema)}, {literal(name)})" for schema, name in tables)
    # format_type and others are pg_catalog's, which is searched first, whatever the search path is
    names = _WITH_PARTITIONS.replace("{names}", listed)
    found = [json.loads(str(row)) for [row] in connection.rows(_TABLES.replace("{names}", names))]
    [[text]] = connection.rows(_TYPES)
    types: Types = {int(oid): kind for oid, kind in json.loads(text or "{}").items()}
    written: set[int] = set()
    for table in found:
        for column in table["columns"]:
            yield from _type(column["oid"], types, written)
    for table in found:
        yield _table(table, types)
        if table["identity"]:
            yield f"ALTER TABLE ONLY {table['shown']} REPLICA IDENTITY USING INDEX {table['identity']};\n"
    there = {table["shown"] for table in found}
    for table in found:
        for parent in table["parents"] or ():
            if parent in there and table["bound"]:
                yield f"ALTER TABLE ONLY {parent} ATTACH PARTITION {table['shown']} {table['bound']};\n"
            elif parent in there:
                yield f"ALTER TABLE {table['shown']} INHERIT {parent};\n"


class Announced(Protocol):
    """A table as the log says that it was. identity: see pg_class.relreplident."""

    @property
    def schema(self) -> str:
        """Its schema."""

    @property
    def table(self) -> str:
        """Its name."""

    @property
    def identity(self) -> str:
        """What distinguishes its rows."""

    @property
    def columns(self) -> Sequence[Any]:
        """Its columns, each with name, type, modifier and in_key."""


_ANNOUNCED = """
select json_agg(json_build_object('name', quote_ident(c.name), 'oid', c.type, 'not_null', c.in_key and {identity},
  'type', case when t.oid is null then 'text' else format_type(t.oid, c.modifier) end) order by c.place)::text,
  quote_ident({schema}) || '.' || quote_ident({table})
from (values {columns}) as c(place, name, type, modifier, in_key) left join pg_type t on t.oid = c.type
"""
"""A column whose type is gone is text: that is what its values are in the log."""


def as_announced(
    connection: Asked, one: Announced, not_null: Sequence[str] = (), key: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the statements that define a table as the log says that it was, after those of its types.

    not_null: columns that are known to be so. key: the one that it has where its replica identity does not say it.
    """
    values = ", ".join(
        f"({place}, {literal(each.name)}, {each.type}::bigint, {each.modifier}, {str(each.in_key).lower()})"
        for place, each in enumerate(one.columns)
    )
    names = {"schema": literal(one.schema), "table": literal(one.table), "columns": values}
    is_key = one.identity in ("d", "i")
    connection.run("set search_path = ''")
    sql = _ANNOUNCED.format(identity=str(is_key).lower(), **names)
    [[listed, shown]] = connection.rows(sql)
    [[text]] = connection.rows(_TYPES)
    types: Types = {int(oid): kind for oid, kind in json.loads(text or "{}").items()}
    columns, written = json.loads(str(listed)), set[int]()
    for column, each in zip(columns, one.columns, strict=True):
        column["not_null"] = column["not_null"] or each.name in not_null
        yield from _type(column["oid"], types, written)
    of_key = [column["name"] for column, each in zip(columns, one.columns, strict=True)
              if (each.in_key if is_key else each.name in key)]  # fmt: skip
    keys = [{"name": "announced_key", "primary": True, "columns": of_key}] if of_key else []
    yield _table({"shown": shown, "columns": columns, "keys": keys, "by": None}, types)


def literal(text: str) -> str:
    """Return a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def _type(oid: int, types: Types, written: set[int]) -> Iterator[str]:
    """Yield the definition of a type that is not written yet, after those of the types that it is made of."""
    kind = types.get(oid)
    if kind is None or oid in written:
        return
    written.add(oid)
    for other in (kind["item"], kind["base"], *(field["oid"] for field in kind["fields"] or ())):
        yield from _type(other, types, written)
    if kind["kind"] == "e":
        yield f"CREATE TYPE {kind['shown']} AS ENUM ({', '.join(kind['labels'] or ())});\n"
    elif kind["kind"] == "d":
        not_null = " NOT NULL" if kind["not_null"] else ""
        base = _shown({"oid": kind["base"], "type": kind["base_type"]}, types)
        yield f"CREATE DOMAIN {kind['shown']} AS {base}{not_null};\n"
    elif kind["kind"] == "b" and not kind["item"] and kind["name"] not in NAMED:
        yield f"CREATE DOMAIN {kind['shown']} AS text;\n"  # of an extension: what it prints
    elif kind["kind"] == "r":
        yield f"CREATE TYPE {kind['shown']} AS RANGE (subtype = {kind['range_of']});\n"
    elif kind["kind"] == "c" and kind["own"]:
        fields = ", ".join(f"{field['name']} {_shown(field, types)}" for field in kind["fields"] or ())
        yield f"CREATE TYPE {kind['shown']} AS ({fields});\n"


def _shown(column: dict[str, Any], types: Types) -> str:
    """Return a column's type. Rows of tables and multiranges are text, for no statement defines them by themselves."""
    kind = types.get(column["oid"], {})
    item = types.get(kind["item"], {}) if kind.get("item") else kind
    shown = str(column["type"])
    if item.get("kind") == "m" or (item.get("kind") == "c" and not item["own"]):
        return "text[]" if item is not kind else "text"
    if not kind and not _is_known(shown):
        return "text[]" if shown.endswith("[]") else "text"
    return shown


@lru_cache(maxsize=1024)
def _is_known(shown: str) -> bool:
    """Return whether one of PostgreSQL's own types is read; others, as those of its catalogue, are what it prints."""
    _, problems, _ = read("", f"CREATE TABLE t (v {shown});", "postgres", declared=True)
    return not problems


def _table(table: dict[str, Any], types: Types) -> str:
    return create_table(
        table["shown"],
        [
            f"{column['name']} {_shown(column, types)}{' NOT NULL' if column['not_null'] else ''}"
            for column in table["columns"]
        ]
        + [
            f"CONSTRAINT {key['name']} {'PRIMARY KEY' if key['primary'] else 'UNIQUE'} ({', '.join(key['columns'])})"
            for key in table["keys"] or ()
        ],
        f" PARTITION BY {table['by']}" if table["by"] else "",
    )


def create_table(name: str, parts: Iterable[str], tail: str = "") -> str:
    """Return a table's definition. tail: what is after its columns and keys."""
    body = ",\n    ".join(parts)
    return f"CREATE TABLE {name} (\n    {body}\n){tail};\n"
