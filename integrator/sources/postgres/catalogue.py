"""Which tables of a database are captured, how they are defined, and which are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from integrator.channel.databases import PostgresLocation
from integrator.decode.encodings.pgoutput import Column, Relation
from integrator.schema import Column as DefinedColumn
from integrator.schema import Table
from integrator.sources.capture.definitions import Definition, Definitions, is_wanted
from integrator.sources.capture.ranges import Part
from integrator.sources.postgres.server import Session, quoted
from integrator.sources.postgres.slot import version_of
from integrator.tables.sql import postgres_catalogue
from integrator.tables.sql.postgres_catalogue import literal

_SAME_NAME = "has the same name, with its schema, as another one, for a dot is in one of both: rename it"
_TABLES = """
with recursive member(root, oid) as (
  select c.oid, c.oid from pg_class c where c.relkind in ('r', 'p')
  union all
  select m.root, h.inhrelid from member m join pg_inherits h on h.inhparent = m.oid
  join pg_class c on c.oid = h.inhrelid where c.relispartition),
listed(root, members) as (
  select m.root, json_agg(json_build_array(m.oid::bigint, quote_ident(o.nspname) || '.' || quote_ident(p.relname),
      p.relkind, p.relpersistence, case p.relreplident when 'f' then {full_identity} when 'n' then false else exists (
        select from pg_index i where i.indrelid = p.oid and i.indisvalid and i.indimmediate
        and case p.relreplident when 'd' then i.indisprimary else i.indisreplident end
        and not exists (select from pg_attribute a
          where a.attrelid = p.oid and a.attnum = any(i.indkey) {generated})) end,
      case p.relreplident when 'f' then '*' else (select string_agg(a.attname, ',' order by a.attname)
        from pg_index i join pg_attribute a on a.attrelid = p.oid and a.attnum = any(i.indkey)
        where i.indrelid = p.oid
        and case p.relreplident when 'd' then i.indisprimary when 'i' then i.indisreplident else false end) end))
  from member m join pg_class p on p.oid = m.oid join pg_namespace o on o.oid = p.relnamespace
  where m.oid = m.root or p.relkind <> 'p' group by m.root)
select c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relispartition, c.relreplident::text,
  has_schema_privilege(n.oid, 'USAGE'), has_table_privilege(c.oid, 'SELECT'), row_security_active(c.oid),
  current_user::text,
  (select json_agg(json_build_array(a.attname, a.atttypid::bigint, a.atttypmod, c.relreplident = 'f' or exists (
      select from pg_index i where i.indrelid = c.oid and a.attnum = any(i.indkey)
      and case c.relreplident when 'd' then i.indisprimary when 'i' then i.indisreplident else false end))
      order by a.attnum)
    from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped {stored}),
  l.members, c.relhassubclass
from pg_class c join pg_namespace n on n.oid = c.relnamespace join listed l on l.root = c.oid
where c.relkind in ('r', 'p') and c.relpersistence <> 't'
  and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
  and not exists (select from pg_depend d
    where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
order by n.nspname collate "C", c.relname collate "C"
"""
"""Tables, their columns, and what has their rows: they or their partitions, and whether updates can be published.

Generated columns are in neither the stream nor a COPY of a table.
"""
_GENERATED = {
    "stored": "and a.attgenerated = ''",
    "generated": "and a.attgenerated <> ''",
    "full_identity": "true",
}
"""What the query has from the version on that has generated columns."""
_NOT_GENERATED = {"stored": "", "generated": "and false", "full_identity": "true"}
_GENERATED_FROM = 120000
"""The server's version that has generated columns."""
ROOT_FROM = 130000
"""The server's version from which a publication has tables with partitions."""
_NO_ROOT = "has partitions, of which this version of the server publishes each alone: write `partitions: leaf`"
_NOT_IN_IDENTITY_FROM = 180000
"""The server's version that refuses updates whose replica identity has columns that are not published: `full`, too."""


class Member(NamedTuple):
    """A table, or a partition of it. identity: whether what is published of an old row distinguishes it from others.

    old: the names of the columns of which that is published, with commas between; a star where all are.
    """

    oid: int
    quoted: str
    kind: str
    persistence: str
    identity: bool
    old: str | None


@dataclass(frozen=True)
class Captured:
    """A table that is captured.

    whole: whether its rows are in partitions, which a query of it reads, too. partitioned: whether it has partitions,
    or is one. shape: see `rewrites`. has_heirs: whether other tables may inherit from it.
    """

    relation: Relation
    whole: bool
    partitioned: bool
    shape: Mapping[str, Any] = field(default_factory=dict, compare=False)
    has_heirs: bool = field(default=False, compare=False)

    @property
    def name(self) -> str:
        """Its schema and name."""
        return self.relation.full_name

    @property
    def quoted(self) -> str:
        """Its name as SQL has it."""
        return f"{quoted(self.relation.schema)}.{quoted(self.relation.table)}"

    @property
    def only(self) -> str:
        """It with its partitions, and without tables that inherit from it, whose rows are none of its."""
        return f"{'' if self.whole else 'only '}{self.quoted}"

    def copy(self, part: Part) -> str:
        """Return the statement that reads a part of its rows."""
        columns, key = ", ".join(quoted(one.name) for one in self.relation.columns), ", ".join(map(quoted, part.key))
        after = "" if part.last is None else f"({key}) > ({', '.join(map(literal, part.last))})"
        conditions = " and ".join(filter(None, (after, f"({part.where})" if part.where else "")))
        rows = f"{self.only}{' where ' if conditions else ''}{conditions}"
        order = f" order by {key}" if key else ""
        return f"copy (select {columns} from {rows}{order}) to stdout"  # noqa: S608

    def condition(self, key: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """Return the condition that a row is one of those whose values of the key are given as text."""
        values = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
        return f"({', '.join(map(quoted, key))}) in ({values})"


def _literal(text: str) -> str:
    """Return a text as a condition has it: without a semicolon, which would begin another statement."""
    if ";" not in text:
        return literal(text)
    return "E'" + text.replace("\\", "\\\\").replace("'", "''").replace(";", r"\x3b") + "'"


_TRIES = 5
_DROPPED = " ???"
"""How format_type writes a type that was dropped since the transaction began: types are those of now."""


@dataclass(frozen=True)
class Found:
    """The tables of a database that a location is for.

    left_out: why others are not captured, by their names. closed: those for which our user lacks rights alone.
    unlogged: which tables are unlogged. partitions: the oids of partitions whose rows are those of captured tables.
    others: tables that the location is not for.
    """

    tables: tuple[Captured, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    closed: tuple[Captured, ...] = ()
    unlogged: frozenset[str] = frozenset()
    partitions: frozenset[int] = frozenset()
    others: tuple[str, ...] = ()


def found(session: Session, location: PostgresLocation) -> Found:
    """Return which tables are captured. Raises SourceAway, EnvironmentFault."""
    tables, left_out, unlogged, partitions = list[Captured](), dict[str, str](), set[str](), set[int]()
    others, closed, seen = list[str](), list[Captured](), Counter[str]()
    for oid, schema, name, kind, is_partition, identity, *rights, columns, listed, heirs in session.rows(
        _asked(session)
    ):
        full = f"{schema}.{name}"
        if is_partition if location.partitions == "root" else kind == "p":
            continue
        if not is_wanted(full, location):
            others.append(full)
            continue
        seen[full] += 1
        members = [Member(*one) for one in listed]
        unread = _why_not_read(quoted(schema), f"{quoted(schema)}.{quoted(name)}", *rights)
        why = "" if columns else "has no columns"
        if not why and location.captures_changes:
            why = "" if kind != "p" or version_of(session) >= ROOT_FROM else _NO_ROOT
            why = why or _why_not_captured(members, is_whole=kind == "p")
            unlogged |= {full} if any(one.persistence == "u" for one in members) and not unread else set()
        if unread or why:
            left_out[full] = unread or why
        if not why:
            relation = Relation(oid, schema, name, identity, tuple(Column(*one) for one in columns))
            (closed if unread else tables).append(
                Captured(relation, kind == "p", kind == "p" or is_partition, has_heirs=heirs)
            )
        if not (unread or why):
            partitions |= {one.oid for one in members} - {oid}
    same = {name for name, count in seen.items() if count > 1}
    left_out |= dict.fromkeys(same, _SAME_NAME)
    both = (tuple(one for one in some if one.name not in same) for some in (tables, closed))
    return Found(next(both), left_out, next(both), frozenset(unlogged), frozenset(partitions), tuple(others))


def _asked(session: Session) -> str:
    """Return the query of tables, as the server knows it."""
    version = version_of(session)
    parts = _GENERATED if version >= _GENERATED_FROM else _NOT_GENERATED
    if version >= _NOT_IN_IDENTITY_FROM:
        of_table = "select from pg_attribute a where a.attrelid = p.oid and a.attnum > 0 and not a.attisdropped"
        parts = {**parts, "full_identity": f"not exists ({of_table} {parts['generated']})"}
    sql = _TABLES
    for name, text in parts.items():
        sql = sql.replace(f"{{{name}}}", text)
    return sql


def _why_not_read(schema: str, name: str, usable: bool, readable: bool, filtered: bool, user: str) -> str:
    """Return why the rows of a table cannot be read, all of them; nothing where they can."""
    if not usable:
        return f"is in a schema that our user may not use: grant usage on schema {schema} to {quoted(user)}"
    if not readable:
        return f"is one that our user may not read: grant select on {name} to {quoted(user)}"
    if filtered:
        return (
            "has policies of row-level security, which hide rows from our user: as a superuser, "
            f"alter role {quoted(user)} bypassrls"
        )
    return ""


def _of_members(what: str, names: Sequence[str], *, is_whole: bool) -> str:
    if is_whole:
        return f"has partitions that are {what}, whose changes are in no log: {', '.join(names)}"
    return f"is {what}: its changes are in no log"


def _why_not_captured(members: Sequence[Member], *, is_whole: bool) -> str:
    """Return why changes of a table are not in the log, or would be refused; nothing where they can be captured.

    is_whole: it has partitions, whose changes are its.
    """
    if unlogged := [one.quoted for one in members if one.persistence == "u"]:
        return _of_members("unlogged", unlogged, is_whole=is_whole)
    if foreign := [one.quoted for one in members if one.kind == "f"]:
        return _of_members("foreign", foreign, is_whole=is_whole)
    if lacking := [one for one in members if not one.identity]:
        remedy = "; ".join(f"alter table {one.quoted} replica identity full" for one in lacking)
        which = "or one of its partitions, has no primary key" if is_whole else "has no primary key"
        return (
            f"{which} and no replica identity, or one with a generated or a deferrable column: its updates and deletes "
            f"cannot be published, and the database would refuse them; {remedy}"
        )
    of_whole = next((one.old for one in members if one.kind == "p"), "")
    if others := [one.quoted for one in members if is_whole and one.old != of_whole]:
        identity = "full" if of_whole == "*" else "default, or using index of the same columns"
        remedy = "; ".join(f"alter table {one} replica identity {identity}" for one in others)
        return (
            "has partitions whose replica identity is another than its own, so that their old rows are published by "
            f"columns that are not those that it announces; {remedy}"
        )
    return ""


def defined(known: Definitions, session: Session, location: PostgresLocation) -> tuple[Found, Definitions]:
    """Return what is captured, and definitions with what a database's catalogue has now, both as of one time.

    Raises SourceAway, EnvironmentFault.
    """
    for _ in range(_TRIES):
        session.run("begin isolation level repeatable read, read only")
        there = found(session, location)
        names = [(one.relation.schema, one.relation.table) for one in there.tables]
        sql = "\n".join(postgres_catalogue.definitions(session, names)) if names else ""
        session.run("commit")
        if _DROPPED not in sql:
            break
    if not names:
        return there, known
    columns = {one.relation.full_name: [column.name for column in one.relation.columns] for one in there.tables}
    definition = Definition(sql, "postgres", columns, location.partitions)
    return there, known.with_versions(definition, [one.relation for one in there.tables])


def as_announced(known: Definitions, session: Session, relations: Sequence[Relation]) -> Definitions:
    """Return definitions with those of relations that are no table's any more: what the log says of them.

    It has no NOT NULL, which is taken from other definitions of the table where a column is the same, and the key only
    where that is the replica identity. Raises SourceAway, EnvironmentFault.
    """
    for one in relations:
        sql = "\n".join(postgres_catalogue.as_announced(session, one))
        names = {one.full_name: [column.name for column in one.columns]}
        [made] = Definitions().with_text(Definition(sql, "postgres", names)).known_of(one.full_name)
        others = known.known_of(one.full_name)
        not_null = [column.name for column in made.columns if others and all(_is_same(column, each) for each in others)]
        key = next((each.key for each in reversed(others) if set(each.key) <= set(names[one.full_name])), ())
        sql = "\n".join(postgres_catalogue.as_announced(session, one, not_null, key))
        known = known.with_versions(Definition(sql, "postgres", names), [one])
    return known


def _is_same(column: DefinedColumn, table: Table) -> bool:
    """Return whether a table has the column, of the same type, and it is NOT NULL there."""
    other = table.column(column.name)
    return other is not None and not other.nullable and other.type == column.type
