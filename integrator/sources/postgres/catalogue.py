"""Which tables of a database are captured, how they are defined, and which are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from integrator.channel.databases import PostgresLocation
from integrator.decode.encodings.pgoutput import Column, Relation
from integrator.sources.capture.definitions import Definition, Definitions, is_wanted
from integrator.sources.postgres.server import Session, quoted
from integrator.tables import postgres_catalogue

_TABLES = """
select c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relispartition, c.relreplident::text,
  c.relpersistence::text,
  has_table_privilege(c.oid, 'SELECT'), row_security_active(c.oid), current_user::text,
  exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary and i.indisvalid),
  (select json_agg(json_build_array(a.attname, a.atttypid::bigint, a.atttypmod, c.relreplident = 'f' or exists (
      select from pg_index i where i.indrelid = c.oid and a.attnum = any(i.indkey)
      and case c.relreplident when 'd' then i.indisprimary when 'i' then i.indisreplident else false end))
      order by a.attnum)
    from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped {stored})
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and c.relpersistence <> 't'
  and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
  and not exists (select from pg_depend d
    where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
order by n.nspname collate "C", c.relname collate "C"
"""
"""Generated columns are in neither the stream nor a COPY of a table."""
GENERATED_FROM = 120000
"""The server's version that has generated columns."""


@dataclass(frozen=True)
class Captured:
    """A table that is captured.

    whole: whether its rows are in partitions, which a query of it reads, too. partitioned: whether it has partitions,
    or is one.
    """

    relation: Relation
    whole: bool
    partitioned: bool

    @property
    def name(self) -> str:
        """Its schema and name."""
        return self.relation.full_name

    @property
    def quoted(self) -> str:
        """Its name as SQL has it."""
        return f"{quoted(self.relation.schema)}.{quoted(self.relation.table)}"

    @property
    def copy(self) -> str:
        """The statement that reads its rows."""
        columns = ", ".join(quoted(one.name) for one in self.relation.columns)
        return f"copy (select {columns} from {'' if self.whole else 'only '}{self.quoted}) to stdout"  # noqa: S608


@dataclass(frozen=True)
class Found:
    """The tables of a database that a location is for. left_out: why others are not captured, by their names."""

    tables: tuple[Captured, ...]
    left_out: dict[str, str] = field(default_factory=dict)


def found(session: Session, location: PostgresLocation) -> Found:
    """Return which tables are captured. Raises SourceAway, EnvironmentFault."""
    [(version,)] = session.rows("select current_setting('server_version_num')::int")
    sql = _TABLES.replace("{stored}", "and a.attgenerated = ''" if version >= GENERATED_FROM else "")
    tables, left_out = list[Captured](), dict[str, str]()
    for oid, schema, name, kind, is_partition, identity, persistence, *rights, has_key, columns in session.rows(sql):
        readable, filtered, user = rights
        full = f"{schema}.{name}"
        if not is_wanted(full, location) or (is_partition if location.partitions == "root" else kind == "p"):
            continue
        if persistence == "u" and location.captures_changes:
            left_out[full] = "is unlogged: its changes are in no log"
        elif not readable:
            left_out[full] = f"our user may not read it: grant select on {quoted(schema)}.{quoted(name)} to its role"
        elif filtered:
            left_out[full] = (
                "has policies of row-level security, which hide rows from our user: as a superuser, "
                f"alter role {quoted(user)} bypassrls"
            )
        elif location.captures_changes and (identity == "n" or (identity == "d" and not has_key)):
            left_out[full] = (
                "has no primary key and no replica identity: its updates and deletes cannot be published, and the "
                f"database would refuse them; alter table {quoted(schema)}.{quoted(name)} replica identity full"
            )
        else:
            relation = Relation(oid, schema, name, identity, tuple(Column(*one) for one in columns or ()))
            tables.append(Captured(relation, kind == "p", kind == "p" or is_partition))
    return Found(tuple(tables), left_out)


def defined(
    known: Definitions, session: Session, tables: Sequence[Captured], location: PostgresLocation
) -> Definitions:
    """Return definitions with what a database's catalogue has now. Raises SourceAway, EnvironmentFault."""
    if not tables:
        return known
    names = [(one.relation.schema, one.relation.table) for one in tables]
    sql = "\n".join(postgres_catalogue.definitions(session, names))
    columns = {one.relation.full_name: [column.name for column in one.relation.columns] for one in tables}
    found = known.with_text(Definition(sql, "postgres", columns, location.partitions))
    return found.with_digests(one.relation.digest for one in tables)
