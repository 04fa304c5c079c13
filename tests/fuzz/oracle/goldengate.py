"""GoldenGate's JSON: https://docs.oracle.com/en/middleware/goldengate/big-data/."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from tests.fuzz.oracle import envelope, moments, octets
from tests.fuzz.oracle.records import Line, Record, parts_of, rows_of
from tests.fuzz.oracle.tables import Kind
from tests.fuzz.oracle.tree import Number, an_object
from tests.fuzz.oracle.values import Texts, text_of
from tests.fuzz.oracle.verdict import Row, Wrong

Notes = set[str]


def rows(tree: Any, line: Line, *, zone: str = "utc") -> list[Row]:
    """Return the rows of a record, whose moments are of a zone. Raises Wrong."""
    members = an_object(tree, "the record")
    actions = {"I": "I", "U": "U", "D": "D", "T": "T", "INSERT": "I", "UPDATE": "U", "DELETE": "D", "TRUNCATE": "T"}
    action = actions[envelope.word(members, "op_type", actions)]
    stamp = members.get("op_ts")
    if stamp is not None:
        if not isinstance(stamp, str) or isinstance(stamp, Number):
            raise Wrong("a moment of the envelope is no text")
        cut = re.sub(r"(\.\d{6})\d{1,3}", r"\1", re.sub(r"^(\d{4}-\d\d-\d\d):", r"\1 ", text_of(stamp)))
        moments.timestamptz(cut, 6, line.notes, bare=zone)
    place = members.get("pos")
    if place is not None and not (isinstance(place, str) and re.fullmatch(r"\d{20}", place, re.ASCII)):
        raise Wrong("no position in the trail")
    if (place, members.get("xid")) != ("00000000050000001234", "7"):
        line.notes.add("another position, or none, which may not ascend")
    for name in ("xid", "csn"):
        if members.get(name) != "7" or isinstance(members.get(name), Number):
            envelope.transaction(members, name, line.notes)
    full = members.get("table")
    catalog, schema, table = parts_of(full)
    if isinstance(full, str) and not isinstance(full, Number):
        line.written = {one.upper(): one for one in line.tables}  # Oracle's names are in capitals
    row_mode = "after" not in members and "before" not in members and action != "T"
    new, old = (members, members) if row_mode else (members.get("after"), members.get("before"))
    if action == "U" and row_mode:
        old = None
    meta = [
        "table",
        "op_type",
        "op_ts",
        "current_ts",
        "pos",
        "primary_keys",
        "tokens",
        "xid",
        "csn",
        "txind",
        "before",
        "after",
    ]
    apart = meta.__contains__ if row_mode else lambda name: name.endswith("_isMissing")
    if action == "T" and (new or old):
        line.notes.add("a truncate with images, which are not read")
    elif action != "T":
        new, old = (_folded(image, line) for image in (new, old))
    if row_mode:
        line.notes.add("row mode in a block with others")
    texts = Texts(octets.from_base64, bare=zone)
    convert = partial(_oracle, texts)
    return rows_of(line, Record(action, schema, table, new, old, apart=apart, database=catalog), convert)


def _folded(image: Any, line: Line) -> Any:
    """Return an image with its names in the case of the columns."""
    if not isinstance(image, dict):
        return image
    known = {name for table in line.tables.values() for name in table.columns}
    folded: dict[str, Any] = {}
    for name, value in image.items():
        one = name if name in known or name.lower() not in known else name.lower()
        if one in folded:
            raise Wrong("a column twice, in two spellings")
        folded[one] = value
    return folded


def _oracle(texts: Texts, tree: Any, _name: str, kind: Kind, notes: Notes) -> Any:
    """Return a value as Oracle prints it: dates have a time, moments may have a colon after the day."""
    if isinstance(tree, str) and not isinstance(tree, Number):
        if kind.name == "date":
            tree = re.sub(r"[ :T]00:00:00(\.0+)?$", "", tree)
        elif kind.name in ("timestamp", "timestamptz"):
            tree = re.sub(r"^(\d{4}-\d\d-\d\d):", r"\1 ", tree)
    return texts.of_json(tree, kind, notes)
