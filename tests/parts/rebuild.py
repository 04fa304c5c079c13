"""Tables rebuilt from what a consumer read: the changes applied in order to empty tables.

The readers here take a message apart by the schema that it carries, and know nothing of the integrator's code.
"""

from __future__ import annotations

import base64
import datetime
import json
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

Row = dict[str, Any]
KEYS = {"customers": ["id"], "products": ["sku"], "orders": ["order_id", "line_no"], "audit": ["id"]}
EPOCH = datetime.date(1970, 1, 1)


def payload(value: bytes) -> Row:
    """A Connect JSON message as plain values: exact decimals, dates and times as integers since their epochs."""
    message = json.loads(value, parse_float=Decimal)
    assert list(message) == ["schema", "payload"]
    fields = {field["field"]: field for field in message["schema"]["fields"]}
    assert list(fields) == list(message["payload"])
    return {name: _plain(fields[name], item) for name, item in message["payload"].items()}


def _plain(schema: dict[str, Any], value: Any) -> Any:
    if value is None:
        assert schema["optional"], schema
        return None
    if schema.get("name", "").endswith(".Decimal") and isinstance(value, str):
        unscaled = int.from_bytes(base64.b64decode(value, validate=True), "big", signed=True)
        return Decimal(unscaled).scaleb(-int(schema["parameters"]["scale"]))
    if schema["type"] == "bytes" and not schema.get("name"):
        return base64.b64decode(value, validate=True)
    if schema["type"] in ("float", "double"):
        return float(value)
    return value


def converted(fields: dict[str, list[Any]]) -> Row:
    """The same, of what JsonConverter saw."""
    plain = {}
    for name, (kind, logical, value) in fields.items():
        if value is None or kind in ("ARRAY", "array"):
            plain[name] = value
        elif logical and logical.endswith(".Decimal"):
            plain[name] = Decimal(value)
        elif logical and logical.endswith("data.Date"):
            plain[name] = int(value) // 86_400_000
        elif kind.lower() == "bytes":
            plain[name] = bytes.fromhex(value)
        elif kind.lower().startswith("int"):
            plain[name] = int(value)
        elif kind.lower().startswith("float"):
            plain[name] = float(value)
        elif kind.lower() == "boolean":
            plain[name] = value == "true"
        else:
            plain[name] = value
    return plain


def apply(table: str, changes: list[Row], rows: dict[tuple[Any, ...], Row]) -> None:
    """Apply changes to `rows`, by key. A column that a change has not stays as it was."""
    for change in sorted(changes, key=lambda change: change["integ_seq"]):
        image = {name: value for name, value in change.items() if name not in ("op_val", "integ_seq")}
        if change["op_val"] == 5:
            rows.clear()
            continue
        key = tuple(image[name] for name in KEYS[table])
        match change["op_val"]:
            case 0:
                rows.pop(key)
            case 3:  # the key goes away; its columns are the new key's until they are told anew
                rows["moved"] = rows.pop(key)
            case 4:
                assert key in rows
            case 1 | 2:
                before = rows.pop("moved", rows.get(key, {}))
                rows[key] = {**before, **image}


def rebuild(reads: dict[str, list[Row]]) -> dict[str, list[Row]]:
    result = {}
    for table, changes in reads.items():
        rows: dict[tuple[Any, ...], Row] = {}
        apply(table, changes, rows)
        result[table] = [rows[key] for key in sorted(rows)]
    return result


def oracle(directory: Path) -> dict[str, list[Row]]:
    """The final tables, as row_to_json printed them, in the same plain values."""
    result = {}
    for table in KEYS:
        rows = [
            _final(json.loads(line, parse_float=Decimal))
            for line in (directory / f"{table}.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        result[table] = sorted(rows, key=lambda row: tuple(row[name] for name in KEYS[table]))
    return result


def _final(row: Row) -> Row:
    decimals = {"credit": 2, "price": 2, "amount": 4}
    plain = {}
    for name, value in row.items():
        if value is None:
            plain[name] = None
        elif name in decimals:
            plain[name] = Decimal(value).quantize(Decimal(1).scaleb(-decimals[name]))
        elif name in ("created", "placed", "added"):
            text = value.removesuffix("+00:00")
            pattern = "%Y-%m-%dT%H:%M:%S.%f" if "." in text else "%Y-%m-%dT%H:%M:%S"
            since = datetime.datetime.strptime(text, pattern) - datetime.datetime(1970, 1, 1)
            plain[name] = since // datetime.timedelta(microseconds=1)
        elif name == "birth":
            plain[name] = (datetime.date.fromisoformat(value) - EPOCH).days
        elif name == "due":
            time = datetime.time.fromisoformat(value.ljust(15, "0") if "." in value else value)
            plain[name] = ((time.hour * 60 + time.minute) * 60 + time.second) * 1_000_000 + time.microsecond
        elif name == "avatar":
            plain[name] = bytes.fromhex(value.removeprefix("\\x"))
        elif name == "prefs":
            plain[name] = value
        elif name == "weight":
            plain[name] = float32(value)
        else:
            plain[name] = value
    return plain


def float32(value: Any) -> float:
    return float(struct.unpack("f", struct.pack("f", float(value)))[0])


def comparable(rows: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """jsonb is compared as JSON, and real as the number of 32 bits that its text stands for."""
    for row in rows["customers"]:
        if isinstance(row["prefs"], str):
            row["prefs"] = json.loads(row["prefs"], parse_float=Decimal)
    for row in rows["products"]:
        if row["weight"] is not None:
            row["weight"] = float32(row["weight"])
    return rows
