"""What our user lacks to capture, and the script by which a superuser gives it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from integrator.channel.databases import PostgresLocation
from integrator.sources.postgres import publication, slot
from integrator.sources.postgres.catalogue import Captured
from integrator.sources.postgres.server import Session, quoted

_OF_TABLES = """
select n.nspname, c.relname, current_user::text, has_schema_privilege(n.oid, 'USAGE'),
  has_table_privilege(c.oid, 'SELECT'), row_security_active(c.oid)
from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = any(%s::oid[])
order by n.nspname collate "C", c.relname collate "C"
"""


def lacking(session: Session, names: slot.Names, tables: Sequence[Captured], location: PostgresLocation) -> str:
    """Return what our user lacks to capture tables, with one script for all of it; nothing where it lacks nothing.

    Raises SourceAway, and EnvironmentFault where the publication is unfit.
    """
    found = list(_reading(session, tables))
    if location.captures_changes:
        found += [*slot.lacking(session), *publication.lacking(session, names, tables, location)]
    if not found:
        return ""
    [(database,)] = session.rows("select current_database()::text")
    script = "".join(f"\n  {statement};" for _, statement in found)
    return (
        f"our user lacks rights: {'; '.join(why for why, _ in found)}. Have a superuser run this in the database "
        f"{database}, or exclude tables that are not to be sent:{script}"
    )


def _reading(session: Session, tables: Sequence[Captured]) -> Iterator[tuple[str, str]]:
    """Yield why our user may not read all rows of tables, and statements."""
    rows = session.rows(_OF_TABLES, [[one.relation.oid for one in tables]])
    for schema in dict.fromkeys(schema for schema, _, _, usable, *_ in rows if not usable):
        yield f"it may not use the schema {schema}", f"grant usage on schema {quoted(schema)} to {quoted(rows[0][2])}"
    if closed := [(schema, name) for schema, name, *_, readable, _ in rows if not readable]:
        listed = ", ".join(f"{quoted(schema)}.{quoted(name)}" for schema, name in closed)
        shown = ", ".join(".".join(one) for one in closed)
        yield f"it may not read {shown}", f"grant select on {listed} to {quoted(rows[0][2])}"
    if filtered := [f"{schema}.{name}" for schema, name, *_, is_filtered in rows if is_filtered]:
        yield f"policies hide rows of {', '.join(filtered)} from it", f"alter role {quoted(rows[0][2])} bypassrls"
