"""What is fuzzed: for each shape of records a channel, recorded lines to begin with, and the oracle for a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.fuzz.mutate.json_lines import Names
from tests.fuzz.oracle import (
    airbyte,
    canal,
    csv_lines,
    debezium,
    delta,
    dms,
    goldengate,
    hvr,
    maxwell,
    opencdc,
    rows,
    wal2json,
)
from tests.fuzz.oracle.records import Line
from tests.fuzz.oracle.tables import Table, tables_of
from tests.fuzz.oracle.tree import has_lone_surrogate, parse
from tests.fuzz.oracle.verdict import Row, Skip, Verdict, Wrong

DATA = ROOT / "tests" / "data"
FUZZ = DATA / "fuzz"
LSN = "0/7F000000"
"""The position of wal2json's transactions in the recorded lines: a file has each in its own place in the order."""


@dataclass(frozen=True)
class Setup:
    """A channel over a shape of records. judge: a line, parsed if it is JSON, to its rows; raises Wrong."""

    name: str
    dialect: str
    judge: Callable[[Any, Line], list[Row]]
    names: Names
    ddl: Path = FUZZ / "tables.sql"
    source: str = ""
    lines: str = ""
    sql: str = "postgres"
    schema: str | None = "public"
    database: str | None = None
    frozen: str = ""

    @property
    def is_csv(self) -> bool:
        """Whether the lines are CSV with a header."""
        return self.lines.endswith(".csv")

    @cached_property
    def recorded(self) -> list[str]:
        """The recorded lines, without a header."""
        lines = (FUZZ / (self.lines or f"{self.name}.jsonl")).read_text(encoding="utf-8").split("\n")
        return [line for line in lines[self.is_csv :] if line]

    @cached_property
    def header(self) -> str:
        """The first line of CSV."""
        return (FUZZ / self.lines).read_text(encoding="utf-8").split("\n")[0] if self.is_csv else ""

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables, as the oracle reads their definitions."""
        return tables_of(self.ddl.read_text(encoding="utf-8"), 3 if self.sql == "mysql" else 6)

    def verdict(self, data: bytes) -> Verdict:
        """Return what is right for a line."""
        line = Line(self.tables, "ignore" in self.source, self.schema, database=self.database)
        try:
            text = data.decode()
            if self.is_csv:
                rows = self.judge(text, line)
            elif not text.strip(" \t\r"):
                return Verdict([])
            else:
                tree = parse(text)
                rows = self.judge(tree, line)
                if has_lone_surrogate(tree):
                    line.notes.add("half of a surrogate pair where no value of a row is read")
        except UnicodeDecodeError:
            return Verdict(reason="no UTF-8")
        except Wrong as wrong:
            return Verdict(reason=str(wrong), notes=line.notes)
        except Skip:
            return Verdict(skipped=True)
        return Verdict(rows, notes=line.notes)

    def around(self, at: int) -> tuple[list[str], list[str]]:
        """Return the recorded lines that must stand before and after the line at this place, as a part of its unit."""
        if self.name != "wal2json-v2":
            return _delta_pair(self.recorded, at)
        begin, end = self.recorded[-2:]
        if at == len(self.recorded) - 2:
            return [], [self.recorded[0], end]
        if at == len(self.recorded) - 1:
            return [begin, self.recorded[0]], []
        return [begin], [end]


def _delta_pair(recorded: list[str], at: int) -> tuple[list[str], list[str]]:
    line = recorded[at]
    if '"update_preimage"' in line:
        return [], [recorded[at + 1]]
    return ([recorded[at - 1]], []) if '"update_postimage"' in line else ([], [])


def _csv(judge: Callable[[str, list[str], Line], list[Row]], name: str) -> Callable[[str, Line], list[Row]]:
    header = (FUZZ / name).read_text(encoding="utf-8").split("\n")[0].split(",")
    return lambda text, line: judge(text, header, line)


def _postgres(schemas: dict[str, Any]) -> Callable[[Any, Line], list[Row]]:
    return partial(debezium.event, position=debezium.postgres_position, schemas=schemas, mysql=False)


def _recorded(name: str) -> list[str]:
    return (FUZZ / name).read_text(encoding="utf-8").splitlines()


_HVR = Names(("hvr_op",), ("hvr_tx_seq", "hvr_tx_countdown", "hvr_integ_seq", "hvr_cap_tstamp"), ("hvr_tbl_name",))
_SOURCE = ("lsn", "txId", "sequence", "snapshot", "ts_ms", "ts_us", "file", "pos", "gtid")
_DEBEZIUM = Names(("op",), _SOURCE, ("table", "schema"))
_FLAT = Names(
    ("__op", "__deleted"),
    ("__source_lsn", "__source_txId", "__source_sequence", "__source_ts_us"),
    ("__source_table",),
)
_WAL2JSON = Names(("action", "kind"), ("nextlsn", "xid", "timestamp", "lsn"), ("table", "schema"))
_KINDS = FUZZ / "kinds.sql"
_PG = DATA / "debezium" / "tables.sql"

SETUPS = [
    Setup("hvr", "hvr", hvr.json_line, _HVR, schema=None),
    Setup("hvr-ignore", "hvr", hvr.json_line, _HVR, schema=None, source=", unknown_columns: ignore", lines="hvr.jsonl"),
    Setup("hvr-csv", "hvr", _csv(csv_lines.hvr_line, "hvr.csv"), _HVR, schema=None, lines="hvr.csv"),
    Setup("wal2json-v1", "wal2json", wal2json.version_1, _WAL2JSON),
    Setup("wal2json-v2", "wal2json", wal2json.version_2, _WAL2JSON),
    Setup("debezium", "debezium", _postgres({}), _DEBEZIUM, ddl=_PG, database="plain"),
    Setup("debezium-schema", "debezium", _postgres(debezium.schemas_of(_recorded("debezium-schema.jsonl"))), _DEBEZIUM,
          ddl=_PG, frozen="schema", database="with_schema"),
    Setup("debezium-flat", "debezium", _postgres({}), _FLAT, ddl=_PG, schema=None),
    Setup("debezium-mysql", "debezium",
          partial(debezium.event, position=debezium.mysql_position, schemas={}, mysql=True), _DEBEZIUM,
          ddl=FUZZ / "mysql.sql", sql="mysql", schema="shop"),
    Setup("debezium-flat-mysql", "debezium",
          partial(debezium.event, position=debezium.no_position, schemas={}, mysql=True),
          Names(("__op", "__deleted"), (), ("__table",)), ddl=FUZZ / "mysql.sql", sql="mysql", schema=None),
    Setup("maxwell", "maxwell", maxwell.rows, Names(("type",), ("position", "xid", "ts", "commit"), ("table", "database"))),
    Setup("canal", "canal", canal.rows, Names(("type",), ("es", "id", "gtid"), ("table", "database"))),
    Setup("dms", "dms", dms.rows, Names(("operation",), ("transaction-id", "timestamp"), ("table-name", "schema-name"))),
    Setup("dms-csv", "dms", _csv(csv_lines.dms_line, "dms.csv"), Names(), ddl=_KINDS, lines="dms.csv"),
    Setup("goldengate", "goldengate", goldengate.rows, Names(("op_type",), ("pos", "xid", "op_ts"), ("table",)), schema="PUBLIC", database="CAT"),
    Setup("goldengate-zone", "goldengate", partial(goldengate.rows, zone="Europe/Berlin"),
          Names(("op_type",), ("pos", "xid", "op_ts"), ("table",)), schema="PUBLIC", database="CAT",
          source=", time_zone: Europe/Berlin", lines="goldengate.jsonl"),
    Setup("airbyte", "airbyte", airbyte.rows,
          Names(("type", "_ab_cdc_deleted_at"), ("emitted_at", "_ab_cdc_updated_at"), ("stream", "namespace"))),
    Setup("opencdc", "opencdc", opencdc.rows,
          Names(("operation",), ("opencdc.createdAt",), ("opencdc.collection",))),
    Setup("opencdc-ignore", "opencdc", opencdc.rows, source=", unknown_columns: ignore", lines="opencdc.jsonl",
          names=Names(("operation",), ("opencdc.createdAt",), ("opencdc.collection",))),
    Setup("rows", "rows", partial(rows.row, table="types"), Names(), ddl=_PG, source=", table: types", schema=None),
    Setup("delta-cdf", "delta-cdf", delta.rows, Names(("_change_type",), ("_commit_version", "_commit_timestamp")),
          ddl=_KINDS, schema=None),
]  # fmt: skip
BY_NAME = {setup.name: setup for setup in SETUPS}
