"""HVR's datatypes -> those of table definitions here, as HVR's mapping for Kafka has them.

https://fivetran.com/docs/hvr6/advanced-operations/data-type-mapping/data-type-mapping-for-kafka.
"""

from __future__ import annotations

import re
from typing import Any

from integrator.imports.hvr_definition import HvrColumn

_OF_DATABASE = re.compile(r" \((?!with)[^()]*\)$")
"""Whose a datatype is, where several databases have one of its name: date (mysql)."""
_ALIKE = {
    "boolean": "bit bool boolean",
    "smallint": "byteint integer1 int1 tinyint smallint int2 integer2 year",
    "integer": "mediumint int int4 integer integer4 serial",
    "bigint": "bigint int8 integer8 bigserial",
    "real": "real float4 binary_float",
    "double": "float double float8 binary_double",
    "decimal": "decimal numeric number",
    "char": "char nchar unichar c graphic",
    "varchar": "varchar varchar2 nvarchar nvarchar2 univarchar vargraphic",
    "text": "text ntext unitext clob nclob dbclob long json jsonb xml variant citext tinytext mediumtext longtext",
    "blob": "binary varbinary byte varbyte raw blob bfile image bytea bytes rowversion tinyblob mediumblob longblob",
    "date": "ansidate",
    "time": "time time2",
    "timestamp": "datetime datetime2 smalldatetime timestamp ingresdate epoch",
    "timestamptz": "datetimeoffset timestamptz",
}
_BASES = {one: ours for ours, names in _ALIKE.items() for one in names.split()} | {
    "byte varying": "blob", "long byte": "blob", "long raw": "blob", "long varbinary": "blob", "varbinary(max)": "blob",
    "long varchar": "text", "long nvarchar": "text", "long char": "text", "varchar(max)": "text",
    "nvarchar(max)": "text", "double precision": "double", "postgres date": "date", "postgres timestamp": "timestamp",
    "character varying": "varchar", "character": "char",
}  # fmt: skip
_FIXED: dict[str, dict[str, Any]] = {
    "money": {"datatype": "decimal", "precision": 19, "scale": 4},
    "smallmoney": {"datatype": "decimal", "precision": 10, "scale": 4},
    "decfloat": {"datatype": "varchar", "length": 42},
    "uniqueidentifier": {"datatype": "char", "length": 36},
    "uuid": {"datatype": "char", "length": 36},
    "inet": {"datatype": "varchar", "length": 50},
    "cidr": {"datatype": "varchar", "length": 50},
    "rowid": {"datatype": "varchar", "length": 18},
    "urowid": {"datatype": "text"},
    "date (mysql)": {"datatype": "date"},
    "date (sybase)": {"datatype": "date"},
    "date": {"datatype": "timestamp", "precision": 0},  # Oracle's
    "smalldatetime": {"datatype": "timestamp", "precision": 0},
}
_UNSIGNED = {"smallint": "integer", "integer": "bigint"}
_MOST_INTEGER, _MOST_BIGINT, _MOST_TIME = 9, 18, 9


def definition(column: HvrColumn) -> tuple[dict[str, Any], str]:
    """Return a column as a table definition has it, and what is to be noted of it, or nothing."""
    given = column.datatype.lower().strip().removesuffix(" identity")
    kind, note = _kind(given, column)
    if kind is None:
        kind = {"datatype": "text"}
        note = f"its datatype {column.datatype} has no counterpart: it is text; mend it where records have another"
    null = {} if column.nullable else {"nullable": False}
    return {"name": column.name, **kind, **null}, note


def _kind(given: str, column: HvrColumn) -> tuple[dict[str, Any] | None, str]:
    sizes, base = column.sizes, _OF_DATABASE.sub("", given)
    if given in _FIXED or base in _FIXED:
        return _FIXED.get(given) or _FIXED[base], ""
    if given.startswith("interval"):
        return {"datatype": "interval"}, ""
    words = base.split()
    if "unsigned" in words or "signed" in words:
        return _integer(" ".join(word for word in words if "signed" not in word), signed="signed" in words), ""
    zoned = any(one in base for one in ("with time zone", "with tz", "with local"))
    ours = _BASES.get(base) or _BASES.get(base.partition(" with ")[0])
    match ours:
        case "decimal":
            return _number(base, sizes.get("prec", 0), sizes.get("scale", 0))
        case "char" | "varchar":
            length = sizes.get("charlen") or sizes.get("bytelen")
            return ({"datatype": ours, "length": length} if length else {"datatype": "text"}), ""
        case "timestamp" | "timestamptz" | "time":
            zone = "timestamptz" if zoned and ours == "timestamp" else ours
            digits = sizes.get("prec", sizes.get("scale"))
            precise = {"precision": min(digits, _MOST_TIME)} if digits is not None else {}
            return {"datatype": zone, **(precise or ({"precision": 3} if base == "datetime" else {}))}, ""
        case None:
            return None, ""
    return {"datatype": ours}, ""


def _integer(base: str, *, signed: bool) -> dict[str, Any] | None:
    ours = _BASES.get(base)
    if signed or base == "tinyint":
        return {"datatype": ours} if ours else None
    if ours == "bigint":
        return {"datatype": "decimal", "precision": 20, "scale": 0}
    return {"datatype": "integer" if base == "mediumint" else _UNSIGNED[ours]} if ours in _UNSIGNED else None


def _number(base: str, precision: int, scale: int) -> tuple[dict[str, Any], str]:
    """Return an exact number: Oracle's NUMBER without fraction is an integer, one without sizes is text."""
    if not precision:
        return {"datatype": "numeric"}, ""
    if base == "number" and scale == 0 and precision <= _MOST_BIGINT:
        return {"datatype": "integer" if precision <= _MOST_INTEGER else "bigint"}, ""
    if scale < 0:
        return {"datatype": "decimal", "precision": precision - scale, "scale": 0}, ""
    return {"datatype": "decimal", "precision": max(precision, scale), "scale": scale}, ""
