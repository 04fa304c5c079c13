"""The benchmark's table: 13 columns, about 200 bytes a row, as change files of the hvr dialect."""

from __future__ import annotations

import json
import random
from pathlib import Path

DDL = """create table orders(
  id bigint primary key, customer int not null, sku varchar(20) not null, qty int not null,
  amount decimal(12,2) not null,
  price double precision, placed timestamp(3) not null, due date, note text, flag boolean not null,
  status varchar(10) not null, city varchar(40), zip char(5));
"""


def write(directory: Path, rows: int, files: int, start: int = 0, prefix: str = "c") -> None:
    """Write `rows` inserts into `files` JSON-lines files, under temporary names."""
    draw = random.Random(start)
    each = -(-rows // files)
    for number in range(files):
        first = start + number * each
        with (directory / f".{prefix}{number:04d}.jsonl").open("w", encoding="utf-8") as file:
            for row in range(first, min(first + each, start + rows)):
                record = {
                    "hvr_op": 1,
                    "hvr_tx_seq": f"{row // 10:x}",
                    "id": row,
                    "customer": draw.randrange(100_000),
                    "sku": f"S{draw.randrange(1000):04d}",
                    "qty": draw.randrange(1, 50),
                    "amount": draw.randrange(100_000) / 100,
                    "price": round(draw.random() * 100, 3),
                    "placed": f"2026-10-06T{row % 24:02d}:00:00.{row % 1000:03d}",
                    "due": "2026-10-07",
                    "note": None if row % 5 == 0 else f"note {row}",
                    "flag": row % 2 == 0,
                    "status": "open",
                    "city": ("Zürich", "Oslo", 'say "hi"', "Köln")[row % 4],
                    "zip": f"{draw.randrange(99999):05d}",
                }
                file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def publish(directory: Path, prefix: str = "c") -> int:
    """Give the files their names; return their bytes."""
    total = 0
    for path in sorted(directory.glob(f".{prefix}*")):
        total += path.stat().st_size
        path.rename(path.with_name(path.name[1:]))
    return total
