"""HVR's operation codes, and which of them replication styles send."""

from __future__ import annotations

DELETE, INSERT, UPDATE, BEFORE_KEY_UPDATE, BEFORE_UPDATE, TRUNCATE = range(6)
"""HVR's operation codes (https://www.hvr-software.com/docs/6/hvr-internal-objects/extra-columns-for-capture-fail-and-history-tables)."""

DELETED = (DELETE, BEFORE_KEY_UPDATE, TRUNCATE)
"""The operations after which the row, or its key, is gone: SoftDelete is 1."""

TOMBSTONED = (DELETE, BEFORE_KEY_UPDATE)
"""The operations after which a key is gone: a tombstone follows, where the channel wants any."""

STYLES: dict[str, tuple[int, ...]] = {
    "Standard": (INSERT, UPDATE),
    "SoftDelete": (INSERT, UPDATE, BEFORE_KEY_UPDATE, DELETE, TRUNCATE),
    "TimeKey": (INSERT, BEFORE_UPDATE, UPDATE, BEFORE_KEY_UPDATE, DELETE, TRUNCATE),
}
"""Which operations a replication style sends."""
