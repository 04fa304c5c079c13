"""What all locations that changes come from are checked for."""

from __future__ import annotations

from collections.abc import Sequence

from integrator.channel.problems import Report
from integrator.channel.sources import SourceLocation
from integrator.decode.dialects import DIALECTS
from integrator.names import meant
from integrator.schema import Table


def check_table(location: SourceLocation, tables: Sequence[Table], report: Report) -> None:
    """Report of a `table` that the channel does not have, or where records name theirs."""
    if location.table is None:
        return
    if DIALECTS[location.dialect].names_tables:
        report("table", f"records of the {location.dialect} dialect name their tables: leave it out")
    known = sorted(table.name for table in tables)
    if location.table not in known:
        report("table", f"{location.table!r} is no table; {meant(location.table, known, 'known are')}")
