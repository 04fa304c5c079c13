"""A value is null because its own type lacks it, whatever stands beside it."""

import bisect
import json
import struct
from dataclasses import replace

import numpy as np
import pytest

from integrator import schema
from integrator.contracts.fragments import DEAD_HEADERS, WITHOUT_FORM
from integrator.contracts.outgoing import header_size
from integrator.decode.dialects.pgoutput import CODING
from integrator.decode.encodings.pgoutput import Column, Relation
from integrator.decode.rows.without_form import OrNull
from integrator.engine.values import Slices
from integrator.sources.capture import frames
from integrator.sources.capture.reader import FrameReader
from integrator.sources.spool import Spool, sealed_in
from tests.parts import pure
from tests.parts.channels import TIMEKEY
from tests.parts.spooled import write_segment


def converted(kind, *texts):
    data = "".join(f'"{one}"' for one in texts).encode() + b" " * 16
    ends = np.cumsum([len(one.encode()) + 2 for one in texts])
    starts = ends - [len(one.encode()) + 2 for one in texts]
    at = Slices(starts.astype(np.int32), ends.astype(np.int32), np.zeros(len(texts), np.bool_))
    return CODING.convert(np.frombuffer(data, np.uint8), at, OrNull(kind, in_text=False))


def test_a_value_that_the_type_has_stays_beside_one_that_it_has_not():
    for kind, has, lacks in (
        (schema.Date(), "9999-12-31", "infinity"),
        (schema.Array(schema.String()), "{Infinity War,NaN}", "{{a},{b}}"),
        (schema.Time(), "23:59:59", "24:00:00"),
    ):
        alone = converted(kind, has)
        assert alone.null_count == 0
        assert converted(kind, has, lacks).is_null().to_pylist() == [False, True]
        found = converted(kind, lacks, has, lacks)
        assert found.is_null().to_pylist() == [True, False, True]
        assert found.slice(1, 1).equals(alone)


DDL = "create table orders(id int primary key, day date, n numeric(5,2), tags text[]);"
OID = struct.pack(">I", 77)
COLUMNS = (Column("day", 1082, -1, False), Column("n", 1700, 327686, False), Column("tags", 1009, -1, False))
ORDERS = Relation(77, "public", "orders", "f", (Column("id", 23, -1, True), *COLUMNS))
READER = FrameReader(frozenset({ORDERS.digest}))
GOOD, EARLY = (b"2026-01-01", b"1.25", b"{a}"), (b"0044-03-15 BC", b"1.25", b"{a}")
ODD = (b"infinity", b"NaN", b"{{a},{b}}")
UNCHANGED = b"\0unchanged"


def row(key, values):
    texts = [str(key).encode(), *values]
    made = [b"u" if one is UNCHANGED else b"t" + struct.pack(">I", len(one)) + one for one in texts]
    return struct.pack(">H", len(texts)) + b"".join(made)


def insert(key, values):
    return b"I" + OID + b"N" + row(key, values)


def update(key, old, new):
    return b"U" + OID + b"O" + row(key, old) + b"N" + row(key, new)


def renewed(key, values):
    """An update without its old row."""
    return b"U" + OID + b"N" + row(key, values)


def delete(key, values):
    return b"D" + OID + b"O" + row(key, values)


def sent(directory, *changes, actions=(f"  - {pure.PLAIN}\n", "")):
    """The messages of one transaction: of each its value and its headers."""
    recipe = pure.recipe(directory, DDL, actions[0], kafka=actions[1])
    [table] = recipe.tables

    def nulling(given):
        return replace(given, columns=tuple(replace(one, without_form="null") for one in given.columns))

    own = table.capture.table
    capture = replace(table.capture, table=own and nulling(own))
    recipe = replace(
        recipe,
        read=replace(recipe.read, dialect="pgoutput"),
        tables=(replace(table, table=nulling(table.table), capture=capture),),
    )
    spool = Spool(directory / "spool", framing=frames.FRAMES)
    write_segment(spool, frames.Standing(), ORDERS, [frames.begin(8, 8, 1), *changes, frames.commit(8, 16, 0)])
    fragments, _ = pure.fragments(recipe, *sealed_in(spool.path), reader=READER)
    return pure.unpacked(pure.bundled(recipe, fragments.combine_chunks()))


def named(messages):
    assert {name for one in messages for name in one.headers} <= {WITHOUT_FORM}
    return [one.headers.get(WITHOUT_FORM) for one in messages]


EVERY = b"day,n,tags"


def test_a_message_names_its_columns_whose_values_have_no_form_and_no_other_has_the_header(tmp_path):
    changes = [insert(1, GOOD), insert(2, ODD), insert(3, EARLY), update(3, EARLY, GOOD), delete(2, ODD)]
    found = sent(tmp_path, *changes, actions=(f"  - {pure.PLAIN}\n{TIMEKEY}", ""))
    assert named(found) == [None, EVERY, b"day", b"day", None, EVERY]
    values = [[json.loads(one.value)[name] for name in ("id", "day", "n", "tags")] for one in found]
    good, early = ["2026-01-01", 1.25, ["a"]], [None, 1.25, ["a"]]
    assert values == [[1, *good], [2, None, None, None], [3, *early], [3, *early], [3, *good], [2, None, None, None]]


def test_names_are_those_of_the_message_beside_its_own_headers(tmp_path):
    actions = (
        f"  - {pure.PLAIN}\n"
        '  - {action: Integrate, MessageHeaders: "op={hvr_op};id={id}"}\n'
        "  - {action: ColumnProperties, Name: day, BaseName: when}\n"
        "  - {action: ColumnProperties, Name: n, IntegrateExpression: '{n}'}\n"
        "  - {action: ColumnProperties, Name: tags, Absent: true}\n"
    )
    first, second, third = sent(tmp_path, insert(1, ODD), insert(2, GOOD), insert(3, EARLY), actions=(actions, ""))
    assert first.headers == {"op": b"1", "id": b"1", WITHOUT_FORM: b"when"}
    assert second.headers == {"op": b"1", "id": b"2"}
    assert third.headers == {"op": b"1", "id": b"3", WITHOUT_FORM: b"when"}


BOTH_IMAGES = {
    "an envelope": ("  - {action: FileFormat, Json: true, Envelope: DEBEZIUM}\n", ""),
    "old columns": (f"  - {pure.PLAIN[:-1]}, BeforeUpdateColumns: old_}}\n", ""),
    "both rows": (f"  - {pure.PLAIN}\n{TIMEKEY}", ", Kafka_Message_Bundling: CHANGE"),
}


@pytest.mark.parametrize("name", BOTH_IMAGES)
def test_a_message_with_both_images_names_the_columns_of_either(name, tmp_path):
    found = sent(tmp_path, update(3, EARLY, (b"2026-01-01", b"NaN", b"{a}")), actions=BOTH_IMAGES[name])
    assert named(found) == [b"day,n"]


def test_a_value_that_is_filled_from_another_image_is_as_there(tmp_path):
    assert named(sent(tmp_path, update(3, ODD, (b"2026-01-01", b"NaN", UNCHANGED)))) == [b"n,tags"]


def test_rows_that_are_coalesced_name_the_columns_of_what_is_left(tmp_path):
    actions = f"  - {pure.PLAIN}\n  - {{action: Capture, Coalesce: true}}\n"
    changes = [insert(1, ODD), renewed(1, (b"2026-01-01", b"NaN", UNCHANGED)), insert(2, ODD), renewed(2, GOOD)]
    assert named(sent(tmp_path, *changes, actions=(actions, ""))) == [b"n,tags", None]


def test_what_the_channel_captures_instead_is_not_named(tmp_path):
    actions = (
        f"  - {pure.PLAIN}\n"
        "  - {action: ColumnProperties, Name: day, BaseName: when}\n"
        "  - {action: ColumnProperties, Name: n, CaptureExpression: '1.5'}\n"
    )
    assert named(sent(tmp_path, insert(1, ODD), actions=(actions, ""))) == [b"when,tags"]


def test_i5_the_header_is_counted_and_dead_letters_have_their_own(tmp_path):
    actions = (
        f"  - {pure.PLAIN}\n  - {{action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: '4096'}}\n",
        ", Oversized_Rows: DEAD_LETTER, Dead_Letter_Topic: dead",
    )

    def told(day, size):
        directory = tmp_path / str(len(list(tmp_path.iterdir())))
        directory.mkdir()
        values = (day.encode(), b"1.25", b"{" + b"x" * size + b"}")
        return {(one.topic, *one.headers) for one in sent(directory, insert(1, values), actions=actions)}

    dead, longer = {("dead", *DEAD_HEADERS)}, len("2026-01-01") + 2 - len("null")
    most = bisect.bisect_left(range(4096), 1, key=lambda size: told("2026-01-01", size) == dead) - 1
    fits = most + longer - header_size([(WITHOUT_FORM, b"day")])
    assert told("2026-01-01", most) == {("orders",)}
    assert told("infinity", fits) == {("orders", WITHOUT_FORM)}
    assert told("infinity", fits + 1) == dead
