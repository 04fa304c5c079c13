"""Which columns are a table's replication key, and which of them are hashed for Kafka."""

from __future__ import annotations

from fnmatch import fnmatchcase

from integrator import schema
from integrator.plan.parameters import ColumnParameters
from integrator.schema import Table

UNHASHED = (schema.Array, schema.Struct, schema.Interval)
"""Types that cannot be in a key."""


def explicit_key(table: Table, columns: ColumnParameters) -> tuple[str, ...]:
    """Return the replication key that is defined: surrogate columns alone, else the table's and those added."""
    surrogate = tuple(name for name, column in columns.items() if column.values.SurrogateKey)
    added = tuple(name for name, column in columns.items() if column.values.Key)
    return surrogate or (*table.key, *(name for name in added if name not in table.key))


def implicit_key(table: Table, columns: ColumnParameters) -> tuple[str, ...]:
    """Return the key of a table that has none: all columns but long and absent ones, as HVR takes it, or long ones."""
    absent = {name for name, column in columns.items() if column.values.Absent}
    own = [one for one in table.columns if one.name not in absent and not isinstance(one.type, UNHASHED)]
    short = [one for one in own if not isinstance(one.type, schema.Bytes)]
    return tuple(one.name for one in short or own)


def distribution_key(columns: ColumnParameters, key: tuple[str, ...], limit: int, avoid: str | None) -> tuple[str, ...]:
    """Return the columns hashed for Kafka: those flagged, else the first `limit` of the key (0 is all).

    Columns that match one of the patterns in `avoid`, with | between, are passed over while there are enough others.
    """
    flagged = tuple(name for name, column in columns.items() if column.values.DistributionKey)
    if flagged or not limit:
        return flagged or key
    patterns = [pattern.strip() for pattern in (avoid or "").split("|") if pattern.strip()]
    avoided = [name for name in key if any(fnmatchcase(name, pattern) for pattern in patterns)]
    chosen = [*(name for name in key if name not in avoided), *avoided][:limit]
    return tuple(name for name in key if name in chosen)
