"""Connect JSON's values as people read them; the codings are those of Kafka Connect's JSON converter."""

from typing import Any

import pytest

from integrator.cli.connect_values import readable

CONNECT = "org.apache.kafka.connect.data."


@pytest.mark.parametrize(
    ("field", "value", "read"),
    [
        ({"type": "int64"}, 7, 7),
        ({"type": "string"}, None, None),
        ({"type": "bytes"}, "AP8Qqw==", "0x00ff10ab"),
        ({"type": "bytes", "name": CONNECT + "Decimal", "parameters": {"scale": "2"}}, "DweZ", "9849.85"),
        ({"type": "bytes", "name": CONNECT + "Decimal", "parameters": {"scale": "4"}}, "/w==", "-0.0001"),
        ({"type": "int32", "name": CONNECT + "Date"}, -9453, "1944-02-14"),
        ({"type": "int32", "name": CONNECT + "Time"}, 30_600_125, "08:30:00.125000"),
        ({"type": "int64", "name": CONNECT + "Timestamp"}, 1_791_194_400_000, "2026-10-05 10:00:00"),
        (
            {"type": "int64", "name": "io.debezium.time.MicroTimestamp"},
            1_791_194_400_000_001,
            "2026-10-05 10:00:00.000001",
        ),
    ],
)
def test_readable(field: dict[str, Any], value: Any, read: Any) -> None:
    assert readable({"fields": [{"field": "c", **field}]}, {"c": value}) == {"c": read}
