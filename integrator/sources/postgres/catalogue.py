"""Which tables of a database are captured, how they are defined, and which are left out."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from integrator import durable
from integrator.channel.databases import PostgresLocation
from integrator.decode.encodings.pgoutput import Column, Relation
from integrator.errors import ConfigurationError, EnvironmentFault
from integrator.schema import Table
from integrator.sources.postgres.server import Session, quoted
from integrator.tables import ddl, postgres_catalogue
from integrator.tables.partitions import group_by_table

FILE = "postgres.json"
_TABLES = """
select c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relispartition, c.relreplident::text,
  c.relpersistence::text,
  has_table_privilege(c.oid, 'SELECT'),
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
    for oid, schema, name, kind, is_partition, identity, persistence, readable, has_key, columns in session.rows(sql):
        full = f"{schema}.{name}"
        if not is_wanted(full, location) or (is_partition if location.partitions == "root" else kind == "p"):
            continue
        if persistence == "u":
            left_out[full] = "is unlogged: its changes are in no log"
        elif not readable:
            left_out[full] = f"our user may not read it: grant select on {quoted(schema)}.{quoted(name)} to its role"
        elif identity == "n" or (identity == "d" and not has_key):
            left_out[full] = (
                "has no primary key and no replica identity: its updates and deletes cannot be published, and the "
                f"database would refuse them; alter table {quoted(schema)}.{quoted(name)} replica identity full"
            )
        else:
            relation = Relation(oid, schema, name, identity, tuple(Column(*one) for one in columns or ()))
            tables.append(Captured(relation, kind == "p", kind == "p" or is_partition))
    return Found(tuple(tables), left_out)


def is_wanted(name: str, location: PostgresLocation) -> bool:
    """Return whether a location is for a table, SCHEMA.TABLE."""
    return _matches(name, location.tables) and not _matches(name, location.exclude)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    short = name.partition(".")[2]
    return any(fnmatch.fnmatchcase(name if "." in one else short, one) for one in patterns)


@dataclass(frozen=True)
class Definitions:
    """What is known of the tables. texts: their definitions, as SQL, the latest last. digests: of relations."""

    texts: tuple[str, ...] = ()
    digests: frozenset[int] = frozenset()

    def with_found(self, session: Session, tables: Sequence[Captured], location: PostgresLocation) -> Definitions:
        """Return these, and what a database's catalogue has now. Raises SourceAway, EnvironmentFault."""
        if not tables:
            return self
        names = [(one.relation.schema, one.relation.table) for one in tables]
        text = "\n".join(postgres_catalogue.definitions(session, names))
        kept = {one.relation.full_name: [column.name for column in one.relation.columns] for one in tables}
        made = json.dumps({"sql": text, "columns": kept, "partitions": location.partitions})
        texts = self.texts if made in self.texts[-1:] else (*self.texts, made)
        return Definitions(texts, self.digests | {one.relation.digest for one in tables})

    def tables(self) -> list[Table]:
        """Return the tables by their names in the channel.

        A column that was dropped, or that came later, may be null: records of another time do not have it.
        """
        made: dict[str, Table] = {}
        for text in self.texts:
            for table in _tables(text):
                before = made.get(table.full_name)
                made[table.full_name] = table if before is None else _merged(before, table)
        return _named(made)

    def write(self, state: Path) -> None:
        """Keep them in a state directory."""
        durable.make_directory(state)
        data = {"texts": self.texts, "digests": sorted(self.digests)}
        durable.replace(state / FILE, json.dumps(data).encode())


def read(state: Path) -> Definitions:
    """Return the definitions that a state directory keeps. Raises EnvironmentFault for a file that is damaged."""
    path = state / FILE
    if not path.exists():
        return Definitions()
    try:
        given = json.loads(path.read_bytes())
        return Definitions(tuple(map(str, given["texts"])), frozenset(map(int, given["digests"])))
    except (ValueError, LookupError, TypeError) as error:
        raise EnvironmentFault(
            f"{path}: is damaged ({error!r}), and it has the definitions of tables; restore it, or remove it: they are "
            "asked of the database again"
        ) from error


def _tables(text: str) -> list[Table]:
    given = json.loads(text)
    tables, problems, *_ = ddl.read("the catalogue", given["sql"], "postgres")
    if problems:
        raise ConfigurationError(problems)
    found = []
    for table in group_by_table(tables, given["partitions"]):
        columns = given["columns"].get(table.full_name)
        if columns is not None:
            own = tuple(one for one in table.columns if one.name in columns)
            found.append(replace(table, columns=own, database="postgres"))
    return found


def _merged(before: Table, after: Table) -> Table:
    known, now = {one.name for one in before.columns}, {one.name for one in after.columns}
    columns = [one if one.name in known else replace(one, nullable=True) for one in after.columns]
    columns += [replace(one, nullable=True) for one in before.columns if one.name not in now]
    return replace(after, columns=tuple(columns))


def _named(tables: dict[str, Table]) -> list[Table]:
    """Return tables by names that no two of them have: SCHEMA_TABLE, where another schema has one of that name."""
    found: dict[str, Table] = {}
    for table in tables.values():
        key = table.name if table.name not in found else f"{table.schema}_{table.name}"
        found[key] = replace(table, name=key)
    return list(found.values())
