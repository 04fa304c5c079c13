"""Avro: a schema -> the program that writes its records, and the schema as Kafka Connect has it.

Types are those that Confluent's and Apicurio's AvroData make: `connect.name`, `connect.version`, `connect.parameters`
and `connect.type` of a type are Connect's own; logical types of Avro without them are named as Debezium names theirs.
https://avro.apache.org/docs/1.12.0/specification/
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from integrator.contracts.written_schema import WrittenSchema
from integrator.decode.encodings.program import Connect, Emitter, Program, SchemaRefused, logical, object_of
from integrator.decode.lines.lines import json_text
from integrator.engine import avro, transcode
from integrator.engine.programs import MAX_DEPTH, WIDTH

_PRIMITIVE = {
    "boolean": (avro.BOOLEAN, 0, "boolean"),
    "int": (avro.INT, 0, "int32"),
    "long": (avro.LONG, 0, "int64"),
    "float": (avro.FLOAT, 4, "float"),
    "double": (avro.DOUBLE, 8, "double"),
    "bytes": (avro.BYTES, 0, "bytes"),
    "string": (avro.STRING, 0, "string"),
}
_DATA, _TIME = "org.apache.kafka.connect.data.", "io.debezium.time."
_LOGICAL = {
    ("int", "date"): (f"{_DATA}Date", False),
    ("int", "time-millis"): (f"{_DATA}Time", False),
    ("long", "time-micros"): (f"{_TIME}MicroTime", False),
    ("long", "timestamp-millis"): (f"{_DATA}Timestamp", True),
    ("long", "timestamp-micros"): (f"{_TIME}MicroTimestamp", True),
    ("long", "timestamp-nanos"): (f"{_TIME}NanoTimestamp", True),
    ("long", "local-timestamp-millis"): (f"{_DATA}Timestamp", False),
    ("long", "local-timestamp-micros"): (f"{_TIME}MicroTimestamp", False),
    ("long", "local-timestamp-nanos"): (f"{_TIME}NanoTimestamp", False),
    ("string", "uuid"): ("io.debezium.data.Uuid", False),
}
_NAMED = ("record", "error", "enum", "fixed")
_READS = {
    avro.NULLABLE, avro.UNION, avro.ENUM, avro.ARRAY, avro.MAP, avro.CALL, *(op for op, _, _ in _PRIMITIVE.values())
}  # fmt: skip


def compiled(written: WrittenSchema, before: bytes, after: bytes) -> Program:
    """Return the program of a schema. before, after: what stands around each record. Raises SchemaRefused."""
    compiler = _Compiler()
    try:
        for _, text in written.references:
            compiler.declare(json.loads(text), "")
        compiler.emitter.literal(before)
        schema = compiler.compile(json.loads(written.text), "")
        compiler.emitter.literal(after)
        compiler.finish()
    except RecursionError:
        raise SchemaRefused(f"its types are nested more than {MAX_DEPTH} times") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:  # whatever a schema is not
        if isinstance(error, SchemaRefused):
            raise
        raise SchemaRefused(f"it is no schema of Avro ({error!r})") from None
    return compiler.emitter.program(transcode.AVRO, schema)


class _Compiler:
    def __init__(self) -> None:
        self.emitter = Emitter()
        self._names: dict[str, tuple[Any, str]] = {}
        self._open: list[str] = []
        self._calls: dict[str, list[int]] = {}

    def declare(self, schema: Any, namespace: str) -> None:
        """Take note of the named types in a schema, those inside of others too."""
        for one in schema if isinstance(schema, list) else [schema]:
            if not isinstance(one, dict):
                continue
            inner = namespace
            if one.get("type") in _NAMED:
                full, inner = _full_name(one, namespace)
                self._names.setdefault(full, (one, namespace))
            for part in (one.get("type"), one.get("items"), one.get("values")):
                self.declare(part, inner)
            for field in one.get("fields", ()):
                self.declare(field.get("type"), inner)

    def compile(self, schema: Any, namespace: str) -> Connect:
        """Write a value of a schema; return Connect's schema of it."""
        if isinstance(schema, list):
            return self._union(schema, namespace)
        if isinstance(schema, str):
            schema, namespace = self._resolved(schema, namespace)
        given = schema if isinstance(schema, dict) else {"type": schema}
        kind = given["type"]
        if not isinstance(kind, str) or (kind not in _PRIMITIVE and kind not in _WRITERS):
            inner = self.compile(kind, namespace)  # {"type": {"type": …}}, or the name of a type
            return _with_connect(inner, given)
        if kind in _PRIMITIVE:
            what, size, base = _PRIMITIVE[kind]
            self.emitter.emit(what, 0, size)
            return _typed({"type": base, "optional": False}, kind, given)
        return _typed(_WRITERS[kind](self, given, namespace), kind, given)

    def null(self, _schema: Any, _namespace: str) -> Connect:
        self.emitter.literal(b"null")
        return {"type": "string", "optional": True}

    def record(self, schema: Any, namespace: str) -> Connect:
        full, inner = _full_name(schema, namespace)
        self._names.setdefault(full, (schema, namespace))
        if full in self._open:  # it is in itself
            place = self.emitter.emit(avro.CALL)
            self._calls.setdefault(full, []).append(place)
            return {"type": "struct", "fields": [], "optional": False, "name": full}
        if len(self._open) == MAX_DEPTH:
            raise SchemaRefused(f"its records are nested more than {MAX_DEPTH} times")
        self._open.append(full)
        members = ((str(one["name"]), partial(self._field, one, inner)) for one in schema["fields"])
        fields = object_of(self.emitter, members)
        self._open.pop()
        return {"type": "struct", "fields": fields, "optional": False, "name": full}

    def _field(self, field: Any, namespace: str) -> Connect:
        found = _with_connect(self.compile(field["type"], namespace), field)
        return {**found, "default": field["default"]} if "default" in field else found

    def enum(self, schema: Any, namespace: str) -> Connect:
        full, _ = _full_name(schema, namespace)
        self._names.setdefault(full, (schema, namespace))
        self.emitter.emit(avro.ENUM, len(schema["symbols"]))
        for symbol in schema["symbols"]:
            self.emitter.literal(json_text(symbol))
            self.emitter.emit(avro.LITERAL)
        allowed = (("allowed", ",".join(schema["symbols"])),)
        return logical({"type": "string", "optional": False}, "io.debezium.data.Enum", allowed)

    def fixed(self, schema: Any, namespace: str) -> Connect:
        full, _ = _full_name(schema, namespace)
        self._names.setdefault(full, (schema, namespace))
        self.emitter.emit(avro.FIXED, 0, int(schema["size"]))
        return {"type": "bytes", "optional": False}

    def array(self, schema: Any, namespace: str) -> Connect:
        return {"type": "array", "items": self._repeated(avro.ARRAY, schema["items"], namespace), "optional": False}

    def map(self, schema: Any, namespace: str) -> Connect:
        keys = {"type": "string", "optional": False}
        values = self._repeated(avro.MAP, schema["values"], namespace)
        return {"type": "map", "keys": keys, "values": values, "optional": False}

    def _repeated(self, what: int, schema: Any, namespace: str) -> Connect:
        head = self.emitter.emit(what)
        items = self.compile(schema, namespace)
        reads = any(one in _READS or (one == avro.FIXED and two) for one, two in self.emitter.operations(head + WIDTH))
        self.emitter.set(head, 1, int(what == avro.ARRAY and not reads))
        self.emitter.point(self.emitter.emit(avro.NEXT), 0, head)
        self.emitter.point(head, 0, self.emitter.here(avro.LITERAL))
        return items

    def _union(self, branches: Sequence[Any], namespace: str) -> Connect:
        if len(branches) == 2 and "null" in branches:
            null = branches.index("null")
            head = self.emitter.emit(avro.NULLABLE, null)
            found = self.compile(branches[1 - null], namespace)
            self.emitter.point(head, 1, self.emitter.here(avro.LITERAL))
            return {**found, "optional": True}
        names = [_branch_name(branch, namespace) for branch in branches]
        self.emitter.emit(avro.UNION, len(branches))
        table = [self.emitter.emit(avro.JUMP) for _ in branches]
        fields, ends = [], []
        for place, branch, name in zip(table, branches, names, strict=True):
            self.emitter.point(place, 0, self.emitter.here(avro.LITERAL))
            if branch == "null":
                self.emitter.literal(b"null")
            else:
                parts = [json_text(one) + b":" + (b"\0" if one == name else b"null") for one in names if one != "null"]
                before, after = (b"{" + b",".join(parts) + b"}").split(b"\0")
                self.emitter.literal(before)
                fields.append({**self.compile(branch, namespace), "optional": True, "field": name})
                self.emitter.literal(after)
            ends.append(self.emitter.emit(avro.JUMP))
        for place in ends:
            self.emitter.point(place, 0, self.emitter.here(avro.LITERAL))
        return {"type": "struct", "fields": fields, "optional": "null" in branches, "name": _UNION}

    def _resolved(self, name: str, namespace: str) -> tuple[Any, str]:
        if name in _PRIMITIVE or name == "null":
            return name, namespace
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        for one in (full, name):
            if one in self._names:
                return self._names[one]
        raise SchemaRefused(f"{name!r} is no type of Avro, and no schema that it refers to has it")

    def finish(self) -> None:
        """End the program; after it come the bodies of records that are in themselves."""
        self.emitter.emit(avro.END)
        done: dict[str, int] = {}
        while missing := [name for name in self._calls if name not in done]:
            for name in missing:
                done[name] = self.emitter.here(avro.LITERAL)
                self._open = []
                self.compile(*self._names[name])
                self.emitter.emit(avro.RETURN)
        for name, places in self._calls.items():
            for place in places:
                self.emitter.point(place, 0, done[name])


_UNION = "io.confluent.connect.avro.Union"
_WRITERS: dict[str, Callable[[_Compiler, Any, str], Connect]] = {
    "null": _Compiler.null,
    "record": _Compiler.record,
    "error": _Compiler.record,
    "enum": _Compiler.enum,
    "fixed": _Compiler.fixed,
    "array": _Compiler.array,
    "map": _Compiler.map,
}


def _typed(found: Connect, kind: str, given: Any) -> Connect:
    """Return Connect's schema of a type with its properties: Connect's own, else those of a logical type."""
    if given.get("connect.type") in ("int8", "int16"):
        found = {**found, "type": given["connect.type"]}
    if given.get("connect.name"):
        return _with_connect(found, given)
    of = given.get("logicalType")
    if of == "decimal" and kind in ("bytes", "fixed"):
        parameters = [("scale", str(given.get("scale", 0))), ("connect.decimal.precision", str(given["precision"]))]
        return logical(found, f"{_DATA}Decimal", parameters)
    if (kind, of) in _LOGICAL:
        name, zoned = _LOGICAL[kind, of]
        return logical(found, name, zoned=zoned)
    return _with_connect(found, given)


def _with_connect(found: Connect, given: Any) -> Connect:
    """Return a schema with what AvroData kept of Connect's own."""
    names = {"connect.name": "name", "connect.version": "version", "connect.parameters": "parameters"}
    return {**found, **{ours: given[theirs] for theirs, ours in names.items() if theirs in given}}


def _full_name(schema: Any, namespace: str) -> tuple[str, str]:
    """Return a type's full name, and the namespace of what is in it."""
    name = str(schema["name"])
    if "." in name:
        return name, name.rpartition(".")[0]
    inner = schema.get("namespace", namespace)
    return (f"{inner}.{name}" if inner else name), inner


def _branch_name(branch: Any, namespace: str) -> str:
    """Return what AvroData calls a branch of a union: its type, or the last part of its name."""
    if isinstance(branch, str):
        return branch.rpartition(".")[2]
    kind = branch["type"]
    if kind in _NAMED:
        return _full_name(branch, namespace)[0].rpartition(".")[2]
    return kind if isinstance(kind, str) else _branch_name(kind, namespace)
