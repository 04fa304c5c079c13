"""The select moment: where in the source's order of changes the rows of a refresh stand.

Changes that committed before it are in the rows; whoever integrates can pass over them, and must apply those after it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from pyspark.sql import SparkSession

from integrator.decode.dialects import postgres
from integrator.errors import ConfigurationError, EnvironmentFault, Problem
from integrator.refresh.tables import POSTGRES, answered, query
from integrator.sources.tables import Database, TableSource

_LSN = re.compile(r"[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}")
_HEX = re.compile(r"[0-9A-Fa-f]{1,20}")
_WAIT_S = 300.0
_POLL_S = 0.5


def given(text: str) -> str:
    """Return the commit that `--select-moment` names, in 20 hex digits. Raises ConfigurationError.

    lsn=0/16B3748 is PostgreSQL's, scn=123 Oracle's, hvr_tx_seq=1A2B any dialect's first segment of hvr_integ_seq.
    """
    name, _, value = text.partition("=")
    if name == "lsn" and _LSN.fullmatch(value):
        return postgres.commit_of(value)
    if name == "scn" and value.isdigit():
        return f"{int(value):020X}"
    if name == "hvr_tx_seq" and _HEX.fullmatch(value):
        return value.upper().rjust(20, "0")
    accepted = "lsn=0/16B3748 (PostgreSQL), scn=NUMBER (Oracle), hvr_tx_seq=HEX"
    raise ConfigurationError([Problem("refresh", 0, "--select-moment", f"{text!r} is none of {accepted}")])


def of_database(spark: SparkSession, source: TableSource, wait_s: float = _WAIT_S) -> str | None:
    """Return the commit up to which changes are seen by queries that begin now; None where the source cannot say.

    PostgreSQL: a transaction may have its commit in the log and not be seen yet, so those that were running are waited
    for. Raises EnvironmentFault if they do not end.
    """
    if not isinstance(source, Database) or source.database != POSTGRES:
        return None

    def ask(text: str) -> str:
        with answered(source.describe()):
            return str(query(spark, source, text).collect()[0][0])

    return _of_postgres(ask, wait_s)


def _of_postgres(ask: Callable[[str], str], wait_s: float) -> str:
    lsn = ask("select pg_current_wal_lsn()::text as lsn")
    running = int(ask("select pg_snapshot_xmax(pg_current_snapshot())::text as xmax"))
    deadline = time.monotonic() + wait_s
    while int(ask("select pg_snapshot_xmin(pg_current_snapshot())::text as xmin")) < running:
        if time.monotonic() > deadline:
            raise EnvironmentFault(
                f"transactions that were running {wait_s:.0f} s ago still run, and their changes could be lost; "
                "end them (pg_stat_activity, backend_xid), or refresh without --online"
            )
        time.sleep(_POLL_S)
    return postgres.commit_of(lsn)
