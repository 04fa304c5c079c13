"""Whether a server is the one that was captured: its system, its database, and the timeline of its log."""

from __future__ import annotations

from integrator.errors import EnvironmentFault
from integrator.sources.capture.record import ANEW, Record
from integrator.sources.postgres.server import Server, Session, lsn_of, lsn_text


def identity(session: Session, record: Record | None) -> tuple[str, str]:
    """Return the system and the database. Raises EnvironmentFault where others were captured before."""
    try:
        [(system, database)] = session.rows(
            "select system_identifier::text, current_database()::text from pg_control_system()"
        )
    except EnvironmentFault as fault:
        raise EnvironmentFault(f"{fault}: grant execute on function pg_control_system() to our user") from None
    if record is not None and (record.system, record.database) != (system, database):
        raise EnvironmentFault(
            f"{session.server.shown}: is another database than the one that was captured: the system {system}, "
            f"database {database}, and not {record.system}, {record.database}; mend the address, or give the "
            "channel another name"
        )
    return system, database


def timeline(server: Server, captured: int, durable_lsn: int) -> int:
    """Return the timeline of a server's log, which a standby that is promoted begins.

    captured: the timeline before; 0 where none is known. Raises EnvironmentFault where the log lacks changes that are
    durable here, up to `durable_lsn`: others may follow at their positions.
    """
    _, now, end, _ = server.replicate("IDENTIFY_SYSTEM") or ("", 0, "0/0", "")
    ended = lsn_of(end)
    if captured not in (0, now):
        ended = min(ended, _end_of(captured, server, now)) if captured < now else 0
    if ended < durable_lsn:
        raise EnvironmentFault(
            f"{server.shown}: the server (timeline {now}) has what was captured (timeline {captured}) up to "
            f"{lsn_text(ended)} only, and here changes are durable up to {lsn_text(durable_lsn)}: it was a standby, or "
            f"a backup, that lacks them, or its standby has taken its place; {ANEW}"
        )
    return int(now)


def _end_of(timeline: int, server: Server, now: int) -> int:
    """Return where a timeline ends that a server has left for the timeline `now`; 0 where it was none of its own.

    Its history has a line for each: its number, where it ends, and why, with tabs between
    (https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES).
    """
    _, history = server.replicate(f"TIMELINE_HISTORY {now}") or ("", "")
    text = history if isinstance(history, str) else bytes(history).decode()  # before version 14 it is a bytea
    for line in text.splitlines():
        number, _, rest = line.partition("\t")
        if number.strip() == str(timeline):
            return lsn_of(rest.split()[0])
    return 0
