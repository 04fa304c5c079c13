"""Each format's encoder alone, one core: rows/s of a table of 13 columns, and of one of decimals, timestamps and nulls.

    python -m tests.bench.encoders [--rows 200000]

Beside them, in the same run, what takes rows one by one: fastavro.schemaless_writer, json.dumps, csv.writer, and Google's
Protobuf runtime.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import random
from collections.abc import Callable
from decimal import Decimal

import fastavro
import pyarrow as pa

from integrator import schema
from integrator.contracts.message_format import Options
from integrator.formats import FORMATS
from integrator.schema import Column, arrow_type
from tests.bench.steps import median
from tests.parts import protoc

OPTIONS = {
    "SCHEMA_PAYLOAD": Options(),
    "CSV": Options(decimals="NUMERIC", binary="COPY"),
}
NUMERIC = Options(decimals="NUMERIC", json_mode="ROW_FRAGMENTS")
PLAIN = [
    Column("id", schema.Integer(64), nullable=False),
    Column("customer", schema.Integer(32), nullable=False),
    Column("sku", schema.String(20), nullable=False),
    Column("qty", schema.Integer(32), nullable=False),
    Column("amount", schema.Decimal(12, 2), nullable=False),
    Column("price", schema.Float(64)),
    Column("placed", schema.Timestamp("ms"), nullable=False),
    Column("due", schema.Date()),
    Column("note", schema.String()),
    Column("flag", schema.Boolean(), nullable=False),
    Column("status", schema.String(10), nullable=False),
    Column("city", schema.String(40)),
    Column("zip", schema.String(5)),
]
HARD = [
    *(Column(f"d{n}", schema.Decimal(18, 4)) for n in range(3)),
    *(Column(f"w{n}", schema.Decimal(38, 10)) for n in range(2)),
    *(Column(f"t{n}", schema.Timestamp("us")) for n in range(3)),
    *(Column(f"z{n}", schema.Timestamp("us", zoned=True)) for n in range(2)),
    Column("time", schema.Time("us")),
    Column("s", schema.String()),
    Column("b", schema.Bytes()),
]


def plain(rows: int) -> dict[str, pa.Array]:
    draw = random.Random(1)
    values = {
        "id": range(rows),
        "customer": [draw.randrange(100_000) for _ in range(rows)],
        "sku": [f"S{draw.randrange(1000):04d}" for _ in range(rows)],
        "qty": [draw.randrange(1, 50) for _ in range(rows)],
        "amount": [Decimal(draw.randrange(100_000)) / 100 for _ in range(rows)],
        "price": [round(draw.random() * 100, 3) for _ in range(rows)],
        "placed": [1790000000000 + row for row in range(rows)],
        "due": [20000] * rows,
        "note": [None if row % 5 == 0 else f"note {row}" for row in range(rows)],
        "flag": [row % 2 == 0 for row in range(rows)],
        "status": ["open"] * rows,
        "city": [("Zürich", "Oslo", 'say "hi"', "Köln")[row % 4] for row in range(rows)],
        "zip": [f"{draw.randrange(99999):05d}" for _ in range(rows)],
    }
    return {column.name: _array(column, values[column.name]) for column in PLAIN}


def hard(rows: int) -> dict[str, pa.Array]:
    """Every column of decimals, times, text and bytes, a third of each null."""
    draw = random.Random(2)

    def value(column: Column, row: int) -> object:
        if row % 3 == 0:
            return None
        match column.type:
            case schema.Decimal(precision, scale):
                return Decimal(draw.randrange(-(10 ** (precision - 1)), 10 ** (precision - 1))).scaleb(-scale)
            case schema.String():
                return f'text "{row}"'
            case schema.Bytes():
                return b"\x00bytes"
            case schema.Time():
                return draw.randrange(86_400_000_000)
            case _:
                return 1_790_000_000_000_000 + draw.randrange(10**12)

    return {column.name: _array(column, [value(column, row) for row in range(rows)]) for column in HARD}


def _array(column: Column, values: object) -> pa.Array:
    kind = arrow_type(column.type)
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    return pa.array(values, kind)


def row_by_row(columns: list[Column], arrays: dict[str, pa.Array], rows: int) -> dict[str, Callable[[], object]]:
    """What the formats' usual libraries do with rows that are there already."""
    listed = pa.table(arrays).slice(0, rows).to_pylist()
    avro = fastavro.parse_schema(json.loads(FORMATS["REGISTRY_AVRO"].schema_text("t", columns, NUMERIC)))
    text = FORMATS["REGISTRY_PROTOBUF"].schema_text("t", columns, NUMERIC)
    cls = protoc.message_class(text, "t")
    sayable = [
        c.name for c in columns if isinstance(c.type, schema.Integer | schema.String | schema.Float | schema.Boolean)
    ]

    def write_avro() -> None:
        for row in listed:
            fastavro.schemaless_writer(io.BytesIO(), avro, row)

    def write_protobuf() -> None:
        for row in listed:
            cls(**{name: row[name] for name in sayable}).SerializeToString()

    return {
        "fastavro.schemaless_writer": write_avro,
        "json.dumps(default=str)": lambda: [json.dumps(row, default=str) for row in listed],
        "csv.writer": lambda: csv.writer(io.StringIO()).writerows(row.values() for row in listed),
        "protobuf, plain fields only": write_protobuf,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    tables = {"13 columns": (PLAIN, plain(rows)), "decimals, times, nulls": (HARD, hard(rows))}
    print(f"{rows} rows; M rows/s, median of 5, one core")
    print(f"{'':30}" + "".join(f"{name:>24}" for name in tables))
    for name, said in FORMATS.items():
        if name in (
            "PARQUET",
            "TEXT",
            "BYTES",
        ):  # a file for each row: see below; one value, which is not written at all
            continue
        options = OPTIONS.get(name, NUMERIC)
        figures = []
        for columns, arrays in tables.values():
            encode = said.encoder(columns, options)
            figures.append(1 / median(lambda encode=encode, arrays=arrays: encode(arrays, {}), rows))
        print(f"{name:30}" + "".join(f"{figure:24.2f}" for figure in figures))
    few = max(1, rows // 20)
    for columns, arrays in list(tables.values())[:1]:
        for name, write in row_by_row(columns, arrays, few).items():
            print(f"{name:30}{1 / median(write, few):24.2f}")
    tiny = {name: values.slice(0, 2000) for name, values in tables["13 columns"][1].items()}
    encode = FORMATS["PARQUET"].encoder(PLAIN, NUMERIC)
    print(f"{'PARQUET, a file for each row':30}{1 / median(lambda: encode(tiny, {}), 2000):24.3f}")


if __name__ == "__main__":
    main()
