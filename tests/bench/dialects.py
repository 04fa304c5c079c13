"""The benchmark's table as several dialects write it: decoded alone on one core, and from files to acknowledged.

    python -m tests.bench.dialects [--rows 100000] [--runs 5] [--kafka] [hvr wal2json debezium debezium-schema maxwell]

Decoded alone: microseconds of CPU a row, the least of the runs. With --kafka: rows a second of a warm daemon, the median.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from integrator.decode.contract import File, nothing_before, reading_of
from integrator.decode.dialects import DIALECTS
from integrator.run.spark import session
from tests.bench import rows as table
from tests.bench.files_to_kafka import CHANNEL, Daemon
from tests.parts import pure
from tests.parts.brokers import broker

Row = dict[str, Any]
WORKER = {
    name.removeprefix("spark.executorEnv."): value
    for name, value in session.DEFAULTS.items()
    if name.startswith("spark.executorEnv.")
}
"""The environment of a Python worker of Spark's: decoding is measured as it is done there."""
EACH = 10
"""Rows of a transaction."""
CONNECT: dict[str, tuple[str, Row]] = {
    "id": ("int64", {}),
    "customer": ("int32", {}),
    "sku": ("string", {}),
    "qty": ("int32", {}),
    "amount": ("bytes", {"name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}),
    "price": ("double", {}),
    "placed": ("int64", {"name": "io.debezium.time.Timestamp"}),
    "due": ("int32", {"name": "io.debezium.time.Date"}),
    "note": ("string", {}),
    "flag": ("boolean", {}),
    "status": ("string", {}),
    "city": ("string", {}),
    "zip": ("string", {}),
}
REQUIRED = ("id", "customer", "sku", "qty", "amount", "placed", "flag", "status")
"""The columns that are not null."""
SOURCE = {"version": "string", "connector": "string", "name": "string", "ts_ms": "int64", "snapshot": "string"}
SOURCE |= {"db": "string", "sequence": "string", "ts_us": "int64", "ts_ns": "int64", "schema": "string"}
SOURCE |= {"table": "string", "txId": "int64", "lsn": "int64", "xmin": "int64"}


def text(record: object) -> str:
    """A record as a line."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def hvr(rows: Iterator[Row]) -> Iterator[str]:
    """The rows in the hvr dialect."""
    for at, row in enumerate(rows):
        yield text({"hvr_op": 1, "hvr_tx_seq": f"{at // EACH:x}", **row})


def wal2json(rows: Iterator[Row]) -> Iterator[str]:
    """The rows as wal2json writes them, version 2."""
    for at, row in enumerate(rows):
        mark = {"xid": 5000 + at // EACH, "timestamp": "2026-11-20 15:34:58.19201+00"}
        mark["nextlsn"] = f"0/{0x3000000 + (at // EACH + 1) * 0xA00:X}"
        if at % EACH == 0:
            yield text({"action": "B", **mark})
        columns = [{"name": name, "type": "character varying(20)", "value": value} for name, value in row.items()]
        yield text({"action": "I", "schema": "public", "table": "orders", "columns": columns})
        if at % EACH == EACH - 1:
            yield text({"action": "C", **mark})


def events(rows: Iterator[Row]) -> Iterator[Row]:
    """The rows as events of Debezium."""
    for at, row in enumerate(rows):
        lsn, cents = 26_464_024 + at * 256, round(row["amount"] * 100)
        placed = datetime.fromisoformat(row["placed"]).replace(tzinfo=timezone.utc)
        number = cents.to_bytes(cents.bit_length() // 8 + 1, "big", signed=True)
        after = row | {"amount": base64.b64encode(number).decode(), "placed": round(placed.timestamp() * 1000)}
        source = {"version": "3.6.1.Final", "connector": "postgresql", "name": "shop", "ts_ms": 1795288000659}
        source |= {"snapshot": "false", "db": "plain", "sequence": f'["{26_464_000 + at // EACH * 2560}","{lsn}"]'}
        source |= {"ts_us": 1795288000659800, "ts_ns": 1795288000659800000, "schema": "public", "table": "orders"}
        source |= {"txId": 744 + at // EACH, "lsn": lsn, "xmin": None}
        event = {"before": None, "after": after | {"due": 20733}, "source": source, "transaction": None, "op": "c"}
        yield event | {"ts_ms": 1795288001096, "ts_us": 1795288001096997, "ts_ns": 1795288001096997156}


def debezium(rows: Iterator[Row]) -> Iterator[str]:
    """Events without their schema."""
    yield from map(text, events(rows))


def head() -> str:
    """Return what an event with its schema begins with."""

    def struct(fields: list[Row], name: str, **more: object) -> Row:
        return {"type": "struct", "fields": fields, "optional": True, "name": name, **more}

    columns = [
        {"type": kind, "optional": name not in REQUIRED, **more, "field": name}
        for name, (kind, more) in CONNECT.items()
    ]
    source = [{"type": kind, "optional": True, "field": name} for name, kind in SOURCE.items()]
    fields = [struct(columns, "shop.public.orders.Value", field=name) for name in ("before", "after")]
    fields += [struct(source, "io.debezium.connector.postgresql.Source", field="source")]
    fields += [{"type": "string", "optional": False, "field": "op"}]
    fields += [{"type": "int64", "optional": True, "field": name} for name in ("ts_ms", "ts_us", "ts_ns")]
    return '{"schema":' + text(struct(fields, "shop.public.orders.Envelope", version=2)).rstrip() + ',"payload":'


def with_schema(rows: Iterator[Row]) -> Iterator[str]:
    """Events with their schema, as Kafka Connect's JsonConverter writes them by default."""
    begin = head()
    for event in events(rows):
        yield begin + text(event).rstrip() + "}\n"


def maxwell(rows: Iterator[Row]) -> Iterator[str]:
    """The rows as Maxwell's daemon writes them."""
    for at, row in enumerate(rows):
        record = {"database": "shop", "table": "orders", "type": "insert", "ts": 1795288000, "xid": 9000 + at // EACH}
        record |= {"commit": True} if at % EACH == EACH - 1 else {"xoffset": at % EACH}
        data = row | {"placed": row["placed"].replace("T", " ")}
        yield text(record | {"position": f"master.000006:{800 + at * 256}", "data": data})


WRITERS: dict[str, Callable[[Iterator[Row]], Iterator[str]]] = {
    "hvr": hvr,
    "wal2json": wal2json,
    "debezium": debezium,
    "debezium-schema": with_schema,
    "maxwell": maxwell,
}


def write(directory: Path, name: str, rows: int) -> Path:
    """Write a file, under a hidden name."""
    table.write(directory, rows, 1, 0, "rows")
    plain = directory / ".rows0000.jsonl"
    path = directory / f".{name}.jsonl"
    with plain.open(encoding="utf-8") as source, path.open("w", encoding="utf-8") as file:
        records = (json.loads(line) for line in source)
        file.writelines(WRITERS[name]({key: row[key] for key in CONNECT} for row in records))
    plain.unlink()
    return path


def decoded(home: Path, name: str, rows: int, runs: int) -> float:
    """The least microseconds of CPU a row of one core, decoding alone."""
    dialect = DIALECTS[name.split("-", maxsplit=1)[0]]
    reading = reading_of(pure.recipe(home, table.DDL, "", name.split("-", maxsplit=1)[0]))
    file, times = File(str(write(home, name, rows)), 1), []
    for _ in range(runs):
        began = time.process_time()
        found = sum(len(batch.changes) for batch in dialect.read(file, nothing_before, reading))
        times.append(time.process_time() - began)
        assert found == rows, (found, rows)
    return min(times) / rows * 1e6


def acknowledged(home: Path, name: str, rows: int, runs: int, servers: str) -> float:
    """The median of rows a second, from files to acknowledged; the daemon is warm."""
    (home / "in").mkdir(parents=True)
    (home / "orders.sql").write_text(table.DDL)
    source = f"dialect: {name.split('-', maxsplit=1)[0]}, repeated_positions: send"
    channel = CHANNEL.format(directory=home, servers=servers, topic=name, kafka="", json="SCHEMA_PAYLOAD")
    (home / "c.yaml").write_text(channel.replace("dialect: hvr", source))
    path, daemon, rates = write(home, name, rows), Daemon(home / "c.yaml"), []
    for run in range(runs + 1):
        began = time.monotonic()
        (home / "in" / f"r{run:02}.jsonl").hardlink_to(path)
        daemon.wait_for(rows)
        rates.append(rows / (time.monotonic() - began))
    daemon.stop()
    return statistics.median(rates[1:])


def main() -> None:
    """Measure the dialects that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(WRITERS), metavar="dialect")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--kafka", action="store_true")
    given = parser.parse_args()
    if not given.kafka and not WORKER.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **WORKER})  # noqa: S606
    pa.set_cpu_count(1)
    with tempfile.TemporaryDirectory(prefix="dialects-") as temporary:
        if not given.kafka:
            for name in given.names:
                home = Path(temporary) / name
                home.mkdir()
                print(f"{name:16} {decoded(home, name, given.rows, given.runs):6.2f} µs a row", flush=True)
            return
        with broker() as kafka:
            kafka.create(given.names)
            for name in given.names:
                rate = acknowledged(Path(temporary) / name, name, given.rows, given.runs, kafka.servers)
                print(f"{name:16} {rate:10,.0f} rows/s", flush=True)


if __name__ == "__main__":
    main()
