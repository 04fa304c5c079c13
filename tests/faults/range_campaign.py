"""First rows that are read by range, while sessions change them and the capture is killed at any step.

    python -m tests.faults.range_campaign [--rounds 200] [--seed 1] [--product mysql]

After each round the table that a consumer makes of the spool is the database's, and positions ascend: no older image of a
key comes after a newer one. What a product is: postgres, mariadb or mysql.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.broker.test_ranges import PARTS, AtBinlog, AtPostgres, killed_round


def main() -> None:
    """Run rounds; print after each ten how many there were, and how often the capture was killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--product", choices=PARTS, default="postgres")
    given = parser.parse_args()
    made, settings = (AtPostgres, "") if given.product == "postgres" else (AtBinlog, "binlog_row_metadata = FULL\n")
    killed = 0
    with PARTS[given.product].cluster(*filter(None, [settings])) as server:
        for seed in range(given.seed, given.seed + given.rounds):
            with (
                tempfile.TemporaryDirectory() as directory,
                pytest.MonkeyPatch.context() as patch,
                capture_logs(),
                contextlib.closing(made(server, f"r{seed}", Path(directory))) as database,
            ):
                killed += killed_round(database, seed, patch)
            if (seed - given.seed) % 10 == 9:
                print(
                    f"{given.product}: {seed - given.seed + 1} rounds, seed {seed}, killed {killed} times", flush=True
                )
    print(f"{given.product}: {given.rounds} rounds from seed {given.seed}, killed {killed} times: all equal")


if __name__ == "__main__":
    main()
