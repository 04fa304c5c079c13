"""Channels that are wrong, as people write them: each with what `check` prints, and a remedy that mends it.

A file for each part of a channel. A new mistake is a case in one of them; tests/unit/test_broken_channels.py tries all.
"""

from tests.unit.broken_channels import (
    access,
    actions,
    brokers,
    channel_keys,
    columns,
    expressions,
    locations,
    messages,
    refresh,
    registry,
    running,
    sources,
    tables,
    yaml_syntax,
)

PARTS = (
    yaml_syntax, channel_keys, tables, locations, brokers, access, sources, refresh, actions, columns, expressions,
    messages, registry, running,
)  # fmt: skip
CASES = [case for part in PARTS for case in part.CASES]
