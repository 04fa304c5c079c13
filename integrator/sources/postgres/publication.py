"""The publication of a capture: it has the channel's tables, and all of their changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from integrator.channel.databases import PostgresLocation
from integrator.errors import EnvironmentFault, IntegratorError
from integrator.sources.capture.record import ANEW
from integrator.sources.postgres.catalogue import ROOT_FROM, Captured
from integrator.sources.postgres.server import LockedFault, Session, is_standby, quoted
from integrator.sources.postgres.slot import Names, version_of

_LOCKED_MS = 1000
_REMEDY = "to have their rows read again, after a truncate: on_rewrite: read_again; or"


def publish(
    session: Session,
    names: Names,
    tables: Sequence[Captured],
    location: PostgresLocation,
    is_captured: Callable[[Captured], bool],
) -> tuple[list[Captured], dict[str, IntegratorError]]:
    """Create the publication, or add tables that it lacks; return those that it has then, and why it lacks others.

    Those are locked, or our user may not add them: the reason has the statement that others must run. is_captured:
    returns whether the changes of a table were captured before. Those since it is lacking are lost: its rows are read
    again. Raises EnvironmentFault where the location has that they are not, where our user may not create it, and where
    it can have no table at all.
    """
    are_read_again = location.on_rewrite == "read_again" and location.snapshot != "never"
    there = _published(session, names, tables, location)
    if there is None:
        if not are_read_again and (gone := [one for one in tables if is_captured(one)]):
            raise EnvironmentFault(f"the publication {names.publication} is gone: {_lost(gone)}; {_REMEDY}, {ANEW}")
        if tables:
            _run(session, _creation(session, names, tables, location), names)
        return [*tables], {}
    lacking = [one for one in tables if one.name not in there]
    if not are_read_again and (gone := [one for one in lacking if is_captured(one)]):
        raise EnvironmentFault(
            f"the publication {names.publication} lacks tables that were captured: {_lost(gone)}; "
            f"{_REMEDY}, {ANEW}; or, to continue without those changes, have the owner of the tables run: "
            f"{_addition(names, gone)}"
        )
    left = _add(session, names, lacking)
    faults = [one for one in left.values() if isinstance(one, EnvironmentFault)]
    if faults and len(faults) == len(tables):
        raise faults[0]
    return [one for one in tables if one.name not in left], left


def lacking(
    session: Session, names: Names, tables: Sequence[Captured], location: PostgresLocation
) -> Iterator[tuple[str, str]]:
    """Yield why changes cannot be published by our user, and statements: nothing is created, and no table is added.

    Raises EnvironmentFault where the publication is unfit.
    """
    there = _published(session, names, tables, location)
    if there is None and tables:
        [(creates, owns)] = session.rows(
            "select has_database_privilege(current_database(), 'CREATE'), bool_and(pg_has_role(relowner, 'USAGE')) "
            "from pg_class where oid = any(%s::oid[])",
            [[one.relation.oid for one in tables]],
        )
        if not (creates and owns):
            why = f"the publication {names.publication} is not there, and it may not create it"
            yield why, _creation(session, names, tables, location)
    lacks = [one for one in tables if there is not None and one.name not in there]
    owned = session.rows(
        "select oid::bigint from pg_class where oid = any(%s::oid[]) and pg_has_role(relowner, 'USAGE') "
        "and (select pg_has_role(pubowner, 'USAGE') from pg_publication where pubname = %s)",
        [[one.relation.oid for one in lacks], names.publication],
    )
    if others := [one for one in lacks if (one.relation.oid,) not in owned]:
        why = f"it may not publish {', '.join(one.name for one in others)}, of which nothing is sent"
        yield why, _addition(names, others)


def _published(
    session: Session, names: Names, tables: Sequence[Captured], location: PostgresLocation
) -> set[str] | None:
    """Return which tables the publication has; None where there is none. Raises EnvironmentFault where it is unfit."""
    found = session.rows(
        "select puballtables, pubinsert and pubupdate and pubdelete and coalesce((to_jsonb(p)->>'pubtruncate')::bool, "
        "true), (to_jsonb(p)->>'pubviaroot')::bool, coalesce(to_jsonb(p)->>'pubgencols', 'n') <> 'n' "
        "from pg_publication p where pubname = %s",
        [names.publication],
    )
    if not found:
        return None
    [(has_all_tables, has_all_changes, via_root, has_generated)] = found
    if has_generated:
        raise EnvironmentFault(
            f"the publication {names.publication} publishes generated columns, which the rows of tables that are read "
            f"do not have; its owner must run: alter publication {quoted(names.publication)} set "
            "(publish_generated_columns = none)"
        )
    if not has_all_changes:
        raise EnvironmentFault(
            f"the publication {names.publication} does not publish all changes; its owner must run: alter publication "
            f"{quoted(names.publication)} set (publish = 'insert, update, delete, truncate')"
        )
    has_root = version_of(session) >= ROOT_FROM
    if has_root and via_root != (location.partitions == "root") and any(one.partitioned for one in tables):
        raise EnvironmentFault(
            f"the publication {names.publication} publishes changes of partitions otherwise than the location has them "
            f"(partitions: {location.partitions}); its owner must run: alter publication {quoted(names.publication)} "
            f"set ({_via_root(location)})"
        )
    if has_all_tables:
        return {one.name for one in tables}
    _check_whole(session, names, tables)
    listed = {
        (schema, name)
        for schema, name in session.rows(
            "select schemaname::text, tablename::text from pg_publication_tables where pubname = %s "
            "union select n.nspname, c.relname from pg_publication_rel r join pg_publication p on p.oid = r.prpubid "
            "join pg_class c on c.oid = r.prrelid join pg_namespace n on n.oid = c.relnamespace where p.pubname = %s",
            [names.publication, names.publication],
        )
    }
    return {one.name for one in tables if (one.relation.schema, one.relation.table) in listed}


def _creation(session: Session, names: Names, tables: Sequence[Captured], location: PostgresLocation) -> str:
    by = f" with ({_via_root(location)})" if version_of(session) >= ROOT_FROM else ""
    return f"create publication {quoted(names.publication)} for table {_listed(tables)}{by}"


def _addition(names: Names, tables: Sequence[Captured]) -> str:
    return f"alter publication {quoted(names.publication)} add table {_listed(tables)}"


def _listed(tables: Sequence[Captured]) -> str:
    return ", ".join(one.only if one.has_heirs else one.quoted for one in tables)


def published_tables(session: Session, names: Names) -> set[str]:
    """Return the tables that the publication of a slot that is continued has, as SCHEMA.TABLE.

    Raises EnvironmentFault where it has none: the slot has no changes then.
    """
    listed = "select schemaname || '.' || tablename from pg_publication_tables where pubname = %s"
    found = {name for (name,) in session.rows(listed, [names.publication])}
    if not found:
        raise EnvironmentFault(
            f"start_position: the publication {names.publication} is not there, or has no table, so that the slot has "
            "no changes: give the name of the one by which changes were captured before (publication)"
        )
    return found


def _lost(tables: Sequence[Captured]) -> str:
    return f"changes of {', '.join(one.name for one in tables)} since then are not sent by the server"


def _add(session: Session, names: Names, tables: Sequence[Captured]) -> dict[str, IntegratorError]:
    """Add tables; return why others were not: no changes are read while a lock is waited for."""
    if not tables:
        return {}
    session.run(f"set lock_timeout = {_LOCKED_MS}")
    try:
        try:
            _run(session, _addition(names, tables), names)
        except (LockedFault, EnvironmentFault) as fault:
            if len(tables) == 1:
                return {tables[0].name: fault}
            return {name: why for one in tables for name, why in _add(session, names, [one]).items()}
    finally:
        session.run("set lock_timeout = 0")
    return {}


def _check_whole(session: Session, names: Names, tables: Sequence[Captured]) -> None:
    """Raise EnvironmentFault for tables of which rows or columns are left out (PostgreSQL 15 and newer)."""
    limited = session.rows(
        "select r.prrelid::bigint, case when to_jsonb(r)->>'prqual' is null then 'columns' else 'rows' end "
        "from pg_publication_rel r join pg_publication p on p.oid = r.prpubid where p.pubname = %s "
        "and (to_jsonb(r)->>'prqual' is not null or to_jsonb(r)->>'prattrs' is not null)",
        [names.publication],
    )
    what = dict(limited)
    for one in tables:
        if one.relation.oid in what:
            publication = quoted(names.publication)
            raise EnvironmentFault(
                f"the publication {names.publication} publishes only some {what[one.relation.oid]} of {one.name}: "
                f"others would be missing; its owner must run: alter publication {publication} drop table "
                f"{one.quoted}; alter publication {publication} add table {one.quoted}. Restrict leaves out rows, and "
                "ColumnProperties columns"
            )


def _via_root(location: PostgresLocation) -> str:
    return f"publish_via_partition_root = {'true' if location.partitions == 'root' else 'false'}"


def _run(session: Session, sql: str, names: Names) -> None:
    try:
        session.run(sql)
    except EnvironmentFault as fault:
        where = " at the primary" if is_standby(session) else ""
        raise EnvironmentFault(
            f"{fault}; the publication {names.publication} must have the channel's tables: have the owner of the "
            f"tables run{where}: {sql}"
        ) from None
