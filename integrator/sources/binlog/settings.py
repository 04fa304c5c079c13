"""What must hold at a server before its changes can be captured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from integrator.channel.databases import BinlogLocation
from integrator.errors import EnvironmentFault
from integrator.names.near import meant
from integrator.sources.binlog.product import NAMES
from integrator.sources.binlog.server import Session

OPEN_TRANSACTIONS = "select trx_mysql_thread_id, trx_started from information_schema.innodb_trx"
_DATABASES = (
    "select 1 from information_schema.schemata where schema_name = %s "
    "or (@@lower_case_table_names = 1 and lower(schema_name) = lower(%s))"
)
METADATA = "set global binlog_row_metadata = 'FULL'"
_SETTING = ("ALL PRIVILEGES ON *.*", "SUPER", "BINLOG ADMIN", "SYSTEM_VARIABLES_ADMIN")
"""Rights of which each allows to set it."""
_LASTING = "and put it into the server's configuration"
_OPEN = "connections that are open keep theirs"


def _setting(session: Session, name: str) -> str:
    rows = session.rows("show global variables like %s", [name])
    return str(rows[0][1]) if rows else ""


def problems(session: Session, location: BinlogLocation, *, is_check: bool = False) -> Iterator[str]:
    """Yield what of the server keeps us from capturing, with what to do. is_check: but for what a capture sets."""
    product = session.product
    database = session.server.database
    is_closed = database is not None and not session.rows(_DATABASES, [database, database])
    if is_closed:
        yield f"there is no database {database}, or our user may not see it: mend the address, or {grants(session)}"
    if (own := product.name.lower()) != location.class_:
        yield f"the server is a {product.name}: write `class: {own}`"
    elif location.captures_changes:
        yield from _problems_of_log(session, is_check=is_check, is_reported=is_closed)


def _problems_of_log(session: Session, *, is_check: bool, is_reported: bool) -> Iterator[str]:
    """Yield what of the log prevents a capture. is_reported: the rights that our user lacks are reported already."""
    product, given = session.product, _grants(session)
    if product.version < product.least:
        least = ".".join(map(str, product.least))
        yield f"the server is older than {product.name} {least}: its log has no names of columns; upgrade it"
        return
    if _setting(session, "log_bin") != "ON":
        yield "the server has no binary log: put log_bin into its configuration, and restart it"
        return
    if (form := _setting(session, "binlog_format")) != "ROW":
        yield f"binlog_format is {form}: set global binlog_format = 'ROW', {_LASTING}; {_OPEN}"
    if (image := _setting(session, "binlog_row_image")) not in product.images:
        yield f"binlog_row_image is {image}: set global binlog_row_image = 'FULL', {_LASTING}; {_OPEN}"
    if _setting(session, "binlog_row_value_options"):
        yield f"binlog_row_value_options is not empty: set global binlog_row_value_options = '', {_LASTING}; {_OPEN}"
    may_set = any(right in one for one in given for right in _SETTING) and _sees_transactions(session)
    if not has_names(session) and not (is_check and may_set):
        yield f"binlog_row_metadata is not FULL, so that the log has no names of columns: {METADATA}, {_LASTING}"
    try:
        end_of_log(session)
    except EnvironmentFault as error:
        if not is_reported:
            yield str(error)
        return
    if not is_reported and not any("REPLICATION SLAVE" in grant or "ALL PRIVILEGES ON *.*" in grant for grant in given):
        yield f"our user may not read the log: {grants(session)}"


def grants(session: Session) -> str:
    """Return the remedy for rights that our user lacks: a script that gives it all that a capture needs."""
    product, [(account,)] = session.product, session.rows("select current_user()")
    name, _, host = str(account).rpartition("@")
    user = f"'{name}'@'{host}'"
    database = f"`{session.server.database}`" if session.server.database else "*"
    rights = "select" if product.knows_snapshots else "select, lock tables"
    return (
        "have an administrator run this, which gives our user all rights that a capture needs:\n"
        f"  grant replication slave, {product.monitor} on *.* to {user};\n  grant {rights} on {database}.* to {user};"
    )


def why_none(session: Session) -> str:
    """Return why our user sees no table: there is no such database, or it may not see its tables; with the remedy."""
    database = session.server.database
    if not database or session.rows(_DATABASES, [database, database]):
        return f"our user sees none: {grants(session)}"
    known = [str(name) for (name,) in session.rows("show databases")]
    return (
        f"our user sees no database {database}; {meant(database, known, 'it sees')}. If the name is right, "
        f"{grants(session)}"
    )


def _grants(session: Session) -> list[str]:
    return [str(grant).upper() for (grant,) in session.rows("show grants")]


def has_names(session: Session) -> bool:
    """Return whether the log has the names of columns."""
    return _setting(session, "binlog_row_metadata") == "FULL"


def _sees_transactions(session: Session) -> bool:
    """Return whether our user sees which transactions are open, whose end is waited for (the right PROCESS)."""
    try:
        session.rows(OPEN_TRANSACTIONS)
    except EnvironmentFault:
        return False
    return True


def with_names(session: Session) -> bool:
    """Have the log get the names of columns; return whether that was to be done, and was allowed."""
    if has_names(session):
        return False
    if not _sees_transactions(session):
        return False
    try:
        session.run(METADATA)
    except EnvironmentFault:
        return False
    return True


def status(session: Session) -> list[Any]:
    """Return what the server says of its log, a row or none. Raises SourceAway, EnvironmentFault."""
    try:
        return list(session.rows(session.product.status))
    except EnvironmentFault as fault:
        raise EnvironmentFault(f"{fault}: {grants(session)}") from None


def end_of_log(session: Session) -> tuple[str, int]:
    """Return the file and the offset that the log ends at. Raises SourceAway, EnvironmentFault."""
    rows = status(session)
    if not rows:
        raise EnvironmentFault(f"{session.server.shown}: the server has no binary log")
    return str(rows[0][0]), int(rows[0][1])


def has_gtids(session: Session) -> bool:
    """Return whether each transaction has a GTID."""
    return session.product.name == NAMES["mariadb"] or _setting(session, "gtid_mode") == "ON"


def identity(session: Session) -> str:
    """Return the server's identity: its UUID where it has one, else its number among replicas."""
    name = "server_uuid" if session.product.name == "MySQL" else "server_id"
    return f"{name} {_setting(session, name)}"
