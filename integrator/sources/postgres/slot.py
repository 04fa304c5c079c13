"""The replication slot of a capture: what must hold, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from integrator.channel.databases import PostgresLocation
from integrator.engine.pgoutput import DELETE, INSERT, TRUNCATE, UPDATE
from integrator.errors import EnvironmentFault, SourceAway
from integrator.sources.capture.record import ANEW, Record
from integrator.sources.contract import ServerLog
from integrator.sources.postgres.server import END, Session, is_standby, lsn_of, lsn_text, quoted
from integrator.tables.sql.postgres_catalogue import literal

PLUGIN = "pgoutput"
_MESSAGES_FROM, _STATUS_FROM, _LEAST, _FAILOVER_FROM, _STANDBY_FROM = 140000, 130000, 100000, 170000, 160000
"""The server's versions that send logical messages, show wal_status, have pgoutput, slots that standbys have, and slots
at standbys."""
_LOST_BY = {
    "rows_removed": "its primary has removed rows of the catalogue that the slot needs: set hot_standby_feedback at "
    "the standby, with a primary_slot_name",
    "wal_level_insufficient": "the primary had another wal_level than logical",
    "idle_timeout": "nobody has read from it for idle_replication_slot_timeout",
}
"""https://www.postgresql.org/docs/current/view-pg-replication-slots.html, invalidation_reason."""


@dataclass(frozen=True)
class Names:
    """What the publication and the slot are called. failover: whether standbys are to have the slot, too."""

    publication: str
    slot: str
    failover: bool = False


def names_of(location: PostgresLocation, channel: str) -> Names:
    """Return the names that a location gives, or those made of the channel's."""
    made = "integrator_" + "".join(one if one.isascii() and one.isalnum() else "_" for one in channel.lower())
    return Names(location.publication or made[:63], location.slot or made[:63], location.failover)


def version_of(session: Session) -> int:
    """Return the server's version, such as 150004."""
    [(version,)] = session.rows("select current_setting('server_version_num')::int")
    return int(version)


def options_of(version: int, publication: str) -> dict[str, str]:
    """Return the options of the output plugin."""
    options = {"proto_version": "1", "publication_names": quoted(publication)}
    return options | ({"messages": "true"} if version >= _MESSAGES_FROM else {})


def problems(session: Session, names: Names, *, creates: bool) -> Iterator[str]:
    """Yield what of the server keeps us from capturing, with what to do. creates: the slot is not there yet."""
    version = version_of(session)
    if version < _LEAST:
        yield f"the server is older than PostgreSQL 10 ({version}), which has no pgoutput: upgrade it"
        return
    if names.failover and version < _FAILOVER_FROM:
        yield f"failover: PostgreSQL has slots that standbys have, too, from version 17 on ({version}): leave it out"
    [(level,)] = session.rows("select current_setting('wal_level')")
    standby = is_standby(session)
    if standby:
        yield from _problems_of_standby(session, names, version)
    if level != "logical":
        yield (
            f"wal_level is {level}: as a superuser, alter system set wal_level = 'logical', and restart the server "
            "(a managed service has a setting of its own, such as rds.logical_replication)"
        )
    if creates:
        yield from _lacking_slots(session, names)


def _problems_of_standby(session: Session, names: Names, version: int) -> Iterator[str]:
    if version < _STANDBY_FROM:
        yield f"the server is a standby, which has slots of its own from PostgreSQL 16 on ({version}): give the primary"
    elif names.failover:
        yield (
            "the server is a standby, and failover is for slots of a primary: give the address of the primary, which "
            "is to lead to a standby once that is promoted; to capture from this standby, leave failover out"
        )
    elif session.rows(
        "select 1 from pg_replication_slots s where slot_name = %s and (to_jsonb(s)->>'synced')::bool", [names.slot]
    ):
        yield (
            f"the server is a standby, and its replication slot {names.slot} is a copy of the primary's, from which is "
            "read once it is promoted: give the address of the primary, or name another one (slot)"
        )


def lacking(session: Session) -> Iterator[tuple[str, str]]:
    """Yield why our user may not replicate, and the statement by which it may."""
    [(user, may)] = session.rows(
        "select current_user::text, (select rolsuper or rolreplication or exists (select "
        "from pg_roles g where g.rolname = 'rds_replication' and pg_has_role(r.oid, g.oid, 'member')) "
        "from pg_roles r where rolname = current_user)"
    )
    if not may:
        yield "it may not replicate", f"alter role {quoted(user)} replication"


def _lacking_slots(session: Session, names: Names) -> Iterator[str]:
    [(used, most)] = session.rows(
        "select count(*), current_setting('max_replication_slots')::int from pg_replication_slots"
    )
    if used >= most:
        yield (
            f"no replication slot is free for {names.slot}: {used} of max_replication_slots = {most} are used; drop "
            "one that nobody needs (pg_replication_slots lists them), or raise the setting"
        )


@dataclass(frozen=True)
class Slot:
    """A replication slot as the server has it. kept_bytes: how much of the log it keeps. failover: as in `Names`.

    lost_by: why it was invalidated, where the server says that.
    """

    plugin: str
    database: str
    active_pid: int | None
    confirmed: int
    status: str
    kept_bytes: int
    failover: bool
    lost_by: str = ""


def has_changes(session: Session, names: Names, until: int) -> bool:
    """Return whether a slot that nobody reads has changes of the publication's tables, up to a position in the log.

    They are inspected, and stay: https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-REPLICATION
    """
    kinds = ", ".join(str(one) for one in (INSERT, UPDATE, DELETE, TRUNCATE))
    rows = session.rows(
        "select 1 from pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, null, 'proto_version', '1', "  # noqa: S608
        f"'publication_names', %s) where get_byte(data, 0) in ({kinds}) limit 1",
        [names.slot, lsn_text(until), quoted(names.publication)],
    )
    return bool(rows)


def slot_of(session: Session, name: str) -> Slot | None:
    """Return a slot; None where there is none."""
    status = "coalesce(wal_status, 'lost')" if version_of(session) >= _STATUS_FROM else "'reserved'"
    found = session.rows(
        f"select plugin::text, database::text, active_pid, confirmed_flush_lsn::text, {status}, "  # noqa: S608
        f"pg_wal_lsn_diff({END}, restart_lsn)::bigint, coalesce((to_jsonb(s)->>'failover')::bool, false), "
        "coalesce(to_jsonb(s)->>'invalidation_reason', case when (to_jsonb(s)->>'conflicting')::bool "
        "then 'rows_removed' end, '') "
        "from pg_replication_slots s where slot_name = %s",
        [name],
    )
    for plugin, database, pid, confirmed, wal_status, kept, failover, lost_by in found:
        lsn = lsn_of(confirmed or "0/0")
        return Slot(plugin or "", database or "", pid, lsn, wal_status, int(kept or 0), failover, lost_by)
    return None


def log_of(session: Session, name: str) -> ServerLog | None:
    """Return the log that a slot keeps; None where there is no slot."""
    found = session.rows(
        "select coalesce(to_jsonb(s)->>'wal_status', 'reserved'), coalesce(confirmed_flush_lsn::text, '0/0'), "  # noqa: S608
        f"coalesce(pg_wal_lsn_diff({END}, restart_lsn), 0)::bigint, "
        f"coalesce(pg_wal_lsn_diff({END}, confirmed_flush_lsn), 0)::bigint, "
        "case when s.active_pid is not null then coalesce(extract(epoch from r.flush_lag), 0) end::float, "
        "(to_jsonb(s)->>'safe_wal_size')::bigint, "
        "open.count, age.age::float from pg_replication_slots s left join pg_stat_replication r "
        "on r.pid = s.active_pid cross join (select count(distinct virtualtransaction) from pg_locks "
        "where locktype = 'transactionid' and mode = 'ExclusiveLock' and granted) as open "
        "cross join (select extract(epoch from max(now() - xact_start)) as age from pg_stat_activity "
        "where backend_xid is not null) as age "
        "where slot_name = %s",
        [name],
    )
    for status, position, kept, behind, seconds, left, transactions, oldest in found:
        return ServerLog(status, position, kept, max(behind, 0), seconds, left, transactions, oldest)
    return None


def check_continued(slot: Slot | None, names: Names, start: int) -> None:
    """Raise EnvironmentFault where a slot by which another program captured does not have the changes from `start`."""
    if slot is None:
        raise EnvironmentFault(
            f"start_position: the replication slot {names.slot} is not there: name the one by which the changes before "
            "were captured (slot), or leave start_position out, and the rows that tables have are read"
        )
    if slot.confirmed > start:
        raise EnvironmentFault(
            f"start_position: the replication slot {names.slot} was confirmed up to {lsn_text(slot.confirmed)}, and "
            f"does not have the changes from {lsn_text(start)} on: give the position that the program which captured "
            "by it noted last, once that has ended"
        )


def check_slot(slot: Slot | None, record: Record | None, names: Names, durable_lsn: int) -> None:
    """Raise EnvironmentFault where the slot is not the one that was captured from, or changes are gone.

    durable_lsn: up to where changes are durable here. Raises SourceAway while another process has it.
    """
    if slot is None:
        if record is not None and not record.creating:
            raise EnvironmentFault(
                f"the replication slot {names.slot} is not there any more: changes after {lsn_text(durable_lsn)} are "
                f"gone; {ANEW}"
            )
        return
    if record is None:
        raise EnvironmentFault(
            f"the replication slot {names.slot} is there, and the channel's state knows nothing of it: it is another "
            "channel's, or the state was removed; name another one in the location (slot), or restore the state; to "
            "continue what another program has captured by it, give start_position; only where nobody else captures by "
            "it, drop it: integrator forget --channel FILE"
        )
    if slot.plugin != PLUGIN or slot.database != record.database:
        raise EnvironmentFault(
            f"the replication slot {names.slot} is one of the plugin {slot.plugin} in the database {slot.database}, "
            f"and not of {PLUGIN} in {record.database}: name another one in the location (slot)"
        )
    if slot.active_pid is not None:  # ours of before, whose end the server may not have noticed yet
        raise SourceAway(
            f"the replication slot {names.slot} is used by another process (pid {slot.active_pid}): it is tried again; "
            "end that process, or wait until the server has noticed that it is gone (wal_sender_timeout)"
        )
    if slot.status == "lost":
        why = _LOST_BY.get(slot.lost_by, "the server has removed log that it kept (max_slot_wal_keep_size)")
        raise EnvironmentFault(
            f"the replication slot {names.slot} was invalidated: {why}; changes after {lsn_text(durable_lsn)} are "
            f"gone; {ANEW}"
        )
    if slot.confirmed > durable_lsn and not record.creating:
        raise EnvironmentFault(
            f"the replication slot {names.slot} was confirmed up to {lsn_text(slot.confirmed)} by somebody else, and "
            f"here changes are durable up to {lsn_text(durable_lsn)}: those between are gone; {ANEW}"
        )


def forget(session: Session, names: Names) -> list[str]:
    """Drop the slot and the publication; return what was dropped, and what is left. Raises EnvironmentFault."""
    dropped = []
    slot = slot_of(session, names.slot)
    if slot is not None:
        if slot.active_pid is not None:
            raise EnvironmentFault(
                f"the replication slot {names.slot} is in use (pid {slot.active_pid}): end that first"
            )
        session.run(f"select pg_drop_replication_slot({literal(names.slot)})")
        dropped.append(f"dropped: replication slot {names.slot}")
    asked = "select pg_has_role(pubowner, 'USAGE'), pg_get_userbyid(pubowner) from pg_publication where pubname = %s"
    for is_ours, owner in session.rows(asked, [names.publication]):
        if is_ours:
            session.run(f"drop publication {quoted(names.publication)}")
        kept = f"left: publication {names.publication}, which is one of {owner}"
        dropped.append(f"dropped: publication {names.publication}" if is_ours else kept)
    return dropped
