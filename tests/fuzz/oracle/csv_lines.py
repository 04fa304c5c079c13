"""CSV of the hvr dialect and of DMS: fields as RFC 4180 has them, each with whether it is quoted."""

from __future__ import annotations

from typing import Any

from tests.fuzz.oracle import hvr, octets
from tests.fuzz.oracle.records import DELETE, INSERT, TRUNCATE, UPDATE, Line, table_of
from tests.fuzz.oracle.values import Texts
from tests.fuzz.oracle.verdict import MISSING, Row, Skip, Wrong

Field = tuple[str, bool]


def fields(text: str) -> list[Field]:
    """Return the fields of a line, and whether each is quoted. Raises Skip where quotes take other lines in."""
    result: list[Field] = []
    at = 0
    while True:
        if text[at : at + 1] == '"':
            value = ""
            at += 1
            while True:
                end = text.find('"', at)
                if end < 0:
                    raise Skip
                value += text[at:end]
                at = end + 1
                if text[at : at + 1] != '"':
                    break
                value += '"'
                at += 1
            if at < len(text) and text[at] != ",":
                raise Skip  # text after a quoted field, which readers of CSV take in several ways
            result.append((value, True))
        else:
            end = text.find(",", at)
            end = len(text) if end < 0 else end
            if '"' in text[at:end]:
                raise Skip
            result.append((text[at:end], False))
            at = end
        if at >= len(text):
            return result
        at += 1


def record(text: str, header: list[str], nulls: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields by name; None where null."""
    if "\r" in text or "\n" in text:
        raise Skip  # ends of lines, as readers of CSV have them
    found = fields(text)
    if len(found) != len(header):
        raise Wrong("another number of fields than the header has")
    return {
        name: None if not quoted and value in nulls else value
        for name, (value, quoted) in zip(header, found, strict=True)
    }


def hvr_line(text: str, header: list[str], line: Line) -> list[Row]:
    """Return the row of a line of the hvr dialect's CSV. Raises Wrong."""
    if not text:
        raise Wrong("a blank line between others")
    members = record(text, header, ("",))
    op = hvr.check_meta(members, line)
    table = table_of(line, line.schema, members.get("hvr_tbl_name"))
    gone = {name.strip() for name in (members.get("hvr_missing") or "").split(",")} - {""}
    if gone - table.columns.keys():
        raise Wrong("hvr_missing names no column")
    texts = Texts(zone="loose", bare="refused", json_lists=False)
    values = {}
    for name, kind in table.columns.items():
        value = members.get(name)
        if name in gone and value is not None:
            line.notes.add("a column that is missing has a value")
        made = None if value is None else texts.value(value, kind, line.notes)
        values[name] = MISSING if name in gone else made
    others = [
        name for name in members if name not in table.columns and name not in hvr.META and members[name] is not None
    ]
    if others:
        raise Wrong("a value of another table's column")
    return [Row(op, table.name, None if op == TRUNCATE else values)]


def dms_line(text: str, header: list[str], line: Line) -> list[Row]:
    """Return the row of a line of DMS's CSV. Raises Wrong."""
    if not text:
        raise Wrong("a blank line between others")
    members = record(text, header, ("NULL", ""))
    words = {"I": INSERT, "U": UPDATE, "D": DELETE, "INSERT": INSERT, "UPDATE": UPDATE, "DELETE": DELETE}
    if members["Op"] not in words:
        raise Wrong("an unknown operation")
    [table] = line.tables.values()
    texts = Texts(octets.from_hex)
    values = {
        name: None if members[name] is None else texts.value(members[name], kind, line.notes)
        for name, kind in table.columns.items()
    }
    return [Row(words[members["Op"]], table.name, values)]
