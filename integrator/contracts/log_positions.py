"""Positions of databases' logs, as databases write them."""

from __future__ import annotations

import re

_LOG = re.compile(r"(?:.*\.)?(\d+):(\d+)", re.DOTALL)
_LSN = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")


def order_of(position: str) -> tuple[int, int]:
    """Return what orders positions of a log, as the database writes them. Raises ValueError for another text."""
    if found := _LSN.fullmatch(position):
        return int(found[1], 16), int(found[2], 16)
    if found := _LOG.fullmatch(position):
        return int(found[1]), int(found[2])
    raise ValueError(
        f"{position!r} is no position: PostgreSQL's are such as 0/1A2B3C8, those of MySQL and MariaDB such as "
        "binlog.000003:1234"
    )
