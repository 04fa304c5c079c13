"""Datatypes of databases, Spark, Avro and Kafka Connect, and the word for each in a Datatype."""

from __future__ import annotations

import re
from collections.abc import Iterable

from integrator.names.contract import named
from integrator.names.near import listed, nearest, plain

_SQL = {
    "int": "integer", "int2": "smallint", "int4": "integer", "int8": "bigint", "bool": "boolean", "number": "decimal",
    "float4": "real", "float8": "double", "datetime": "timestamp", "datetime2": "timestamp", "bytea": "blob",
    "varbinary": "blob", "raw": "blob", "clob": "text", "varchar2": "varchar", "nvarchar": "varchar", "jsonb": "json",
    "money": "decimal", "timestamp with time zone": "timestamptz", "timestamp without time zone": "timestamp",
    "character varying": "varchar", "double precision": "double", "uniqueidentifier": "uuid", "xml": "text",
}  # fmt: skip
_OTHERS = {
    "string": "varchar", "long": "bigint", "short": "smallint", "byte": "tinyint", "bytes": "blob", "int16": "smallint",
    "int32": "integer", "int64": "bigint", "float32": "real", "float64": "double", "timestamp_ntz": "timestamp",
    "timestamp_ltz": "timestamptz", "timestamp-millis": "timestamp", "timestamp-micros": "timestamp",
}  # fmt: skip
_OF_LENGTH = ("char", "varchar", "enum")
_SIZED = re.compile(r"([A-Za-z]\w*)\s*\((\d+)(?:\s*,\s*(\d+))?\)")

NAMES = [
    *named("SQL", "datatype", {name: f"use {ours}" for name, ours in _SQL.items()}),
    *named("Spark, Avro and Kafka Connect", "datatype", {name: f"use {ours}" for name, ours in _OTHERS.items()}),
]
_BY_NAME = {plain(one.name): one for one in NAMES}


def datatype_meant(name: str, known: Iterable[str]) -> str:
    """Return which datatype may be meant by a name that is none of the known ones; sizes are keys of their own."""
    words = list(known)
    sized = _SIZED.fullmatch(name)
    word = nearest(sized[1], words) if sized else ""
    if sized and word in _OF_LENGTH:
        return f"write Datatype: {word}, Length: {sized[2]}"
    if sized and word:
        return f"write Datatype: {word}, Precision: {sized[2]}" + (f", Scale: {sized[3]}" if sized[3] else "")
    theirs, near = _BY_NAME.get(plain(name)), nearest(name, words)
    if theirs is not None and plain(near) != plain(name):
        return f"{name}, of {theirs.of}: {theirs.ours}"
    return f"do you mean {near}?" if near else f"{listed(words)}, and NAME[] for arrays"
