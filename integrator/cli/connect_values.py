"""Values of Connect JSON as people read them: what the schema's logical types mean, instead of how they are written.

The names and codings are those of org.apache.kafka.connect.data (Decimal, Date, Time, Timestamp) in the JSON converter.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

_CONNECT = "org.apache.kafka.connect.data."
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def readable(schema: Mapping[str, Any], payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a payload with each value as text or a number that people read, by the fields of its `schema`."""
    fields = {field["field"]: field for field in schema["fields"]}
    return {name: _value(fields[name], value) for name, value in payload.items()}


def _value(field: Mapping[str, Any], value: Any) -> Any:
    kind = str(field.get("name", "")).removeprefix(_CONNECT).rpartition(".")[2]
    if value is None:
        return None
    if kind == "Decimal":
        digits = int.from_bytes(base64.b64decode(value), "big", signed=True)
        return str(Decimal(digits).scaleb(-int(field["parameters"]["scale"])))
    if kind == "Date":
        return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
    if kind in {"Time", "MicroTime"}:
        return (_EPOCH + timedelta(microseconds=value * (1_000 if kind == "Time" else 1))).time().isoformat()
    if kind in {"Timestamp", "MicroTimestamp"}:
        moment = _EPOCH + timedelta(microseconds=value * (1_000 if kind == "Timestamp" else 1))
        return moment.replace(tzinfo=None).isoformat(sep=" ")
    if field["type"] == "bytes":
        return f"0x{base64.b64decode(value).hex()}"
    return value
