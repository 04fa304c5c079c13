"""CPU of the first pass for rows of many tables, beside as many rows of one, in turns: the cases of I6.

    python -m tests.bench.first_pass_tables [--rows 100000] [--tables 500] [--runs 5] [--unlike] [case …]

unlike: each table has a column of its own. The least of the runs, microseconds a row of one core, without Spark and Kafka.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from tests.parts import pure
from tests.unit.test_many_tables import CASES, made


def main() -> None:
    """Measure the cases that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="case")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--tables", type=int, default=500)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--unlike", action="store_true")
    given = parser.parse_args()
    pa.set_cpu_count(1)
    for case in given.cases:
        with tempfile.TemporaryDirectory(prefix="tables-") as name:
            both = [
                made(Path(name) / str(tables), tables, case, given.rows, unlike=given.unlike)
                for tables in (1, given.tables)
            ]
            times: list[list[float]] = [[], []]
            for _ in range(given.runs):
                for (recipe, path), of_tables in zip(both, times, strict=True):
                    began = time.process_time()
                    pure.fragments(recipe, path)
                    of_tables.append(time.process_time() - began)
        one, many = (min(of_tables) / given.rows * 1e6 for of_tables in times)
        print(f"{case:45} {one:6.2f} {many:6.2f} µs a row: {many / one:.2f}", flush=True)


if __name__ == "__main__":
    main()
