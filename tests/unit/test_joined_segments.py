"""Small segments of a captured database that are read as one become what they become one by one (I2)."""

# ruff: noqa: F811 - a fixture of another file

import json
import struct
from dataclasses import replace

import numpy as np
import pytest

from integrator.decode.encodings.pgoutput import Column, Relation
from integrator.errors import EnvironmentFault, SchemasFound
from integrator.sources.capture import frames, reader
from integrator.sources.capture.reader import FrameReader
from integrator.sources.slices import TaskSlice
from integrator.sources.spool import Spool, sealed_in
from tests.parts import pure
from tests.parts.spooled import write_segment
from tests.unit.test_joined import PLAIN, SEQ, TOLERANT, joins, outcome  # noqa: F401 - a fixture

DDL = "create table orders(id int primary key, v varchar(200), n smallint);"
OID = struct.pack(">I", 77)
FORMER = Relation(77, "public", "orders", "d", (Column("id", 23, -1, True), Column("v", 1043, 204, False)))
NOW = replace(FORMER, columns=(*FORMER.columns, Column("n", 21, -1, False)))
READER = FrameReader(frozenset({FORMER.digest, NOW.digest}))


def change(kind, *values):
    """A change with a new row, or with the old one."""
    made = b"".join(b"t" + struct.pack(">I", len(one)) + one for one in values)
    return kind + OID + (b"K" if kind == b"D" else b"N") + struct.pack(">H", len(values)) + made


def insert(key, text=b"a", n=b"7"):
    """A row of NOW; one of FORMER, where n is None."""
    return change(b"I", str(key).encode(), text, *filter(None, [n]))


def begin(number):
    return frames.begin(8 * number, number, number)


def commit(number):
    return frames.commit(8 * number, 8 * number + 8, 0)


def spooled(directory, *segments):
    """The paths of segments: of each a relation and messages."""
    spool, standing = Spool(directory, framing=frames.FRAMES), frames.Standing()
    for relation, messages in segments:
        standing = write_segment(spool, standing, relation, messages)
    return sealed_in(spool.path)


def made(directory, actions=SEQ, ddl=DDL):
    recipe = pure.recipe(directory, ddl, PLAIN + actions)
    return replace(recipe, read=replace(recipe.read, dialect="pgoutput"))


TOGETHER = {
    "transactions": [(NOW, [begin(1), insert(1), commit(1)]), (NOW, [begin(2), insert(2), insert(3), commit(2)])],
    "a transaction over all of them": [
        (NOW, [begin(1), insert(1)]),
        (NOW, [insert(2), change(b"D", b"1", b"a", b"7")]),
        (NOW, [commit(1)]),
    ],
    "the last one is open": [(NOW, [begin(1), insert(1), commit(1), begin(2)]), (NOW, [insert(2)])],
    "one without changes": [(NOW, [begin(1), insert(1)]), (NOW, [frames.LEFT]), (NOW, [commit(1)])],
    "one without lines": [(NOW, [begin(1), insert(1)]), (NOW, []), (NOW, [insert(2), commit(1)])],
    "a column that comes between them": [
        (FORMER, [begin(1), insert(1, b"a", None), commit(1)]),
        (NOW, [begin(2), insert(2, b"b", b"8"), commit(2)]),
    ],
}


@pytest.mark.parametrize("name", TOGETHER)
def test_segments_that_are_read_as_one(name, tmp_path, joins):
    recipe = made(tmp_path)
    files = spooled(tmp_path / "spool", *TOGETHER[name])
    alone = outcome(recipe, files, joined=False, reader=READER)
    assert outcome(recipe, files, joined=True, reader=READER) == alone
    assert joins == [True]
    assert isinstance(alone, tuple), alone


def test_a_rejected_change_has_the_beginning_of_its_transaction_above_it(tmp_path):
    """Also where that began in a segment before: the letter is replayed when segments are gone."""
    files = spooled(
        tmp_path,
        (NOW, [begin(1), insert(1), insert(2), commit(1), begin(2), insert(3)]),
        (NOW, [insert(4), commit(2), begin(3), insert(5, b'"action":"B"'), insert(6), commit(3)]),
    )
    first, second = (READER.file(TaskSlice(at, str(path), 0, 0, "", read=True)) for at, path in enumerate(files))
    found = [*first.raw_lines(np.array([3, 6])), *second.raw_lines(np.array([1, 5]))]
    lines = [[json.loads(line) for line in one.split(b"\n")] for one in found]
    assert [(above["action"], above["lsn"], above["xid"], line["new"]["id"]) for above, line in lines] == [
        ("B", 8, 1, "2"),
        ("B", 16, 2, "3"),
        ("B", 16, 2, "4"),
        ("B", 24, 3, "6"),
    ]


BAD = [
    (NOW, [begin(1), insert(1), commit(1)]),
    (NOW, [begin(2), insert(2), insert(3, b"\xff"), commit(2)]),
    (NOW, [begin(3), insert(4), commit(3)]),
]
ONE_BY_ONE = {
    "a value is not UTF-8": BAD,
    "a value does not fit": [BAD[0], (NOW, [begin(2), insert(2, b"x", b"99999")])],
}


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_an_error_names_its_segment(name, tmp_path):
    recipe = made(tmp_path)
    files = spooled(tmp_path / "spool", *ONE_BY_ONE[name])
    alone = outcome(recipe, files, joined=False, reader=READER)
    assert alone.startswith(f"{files[1]}:")
    assert outcome(recipe, files, joined=True, reader=READER) == alone


def test_a_change_that_is_rejected_names_its_segment(tmp_path):
    recipe = made(tmp_path, SEQ + TOLERANT)
    files = spooled(tmp_path / "spool", *BAD)
    alone = outcome(recipe, files, joined=False, reader=READER)
    assert outcome(recipe, files, joined=True, reader=READER) == alone
    assert str(files[1]) in repr(alone[0])


def test_what_has_many_bytes_as_lines_is_read_one_by_one(tmp_path, joins, monkeypatch):
    monkeypatch.setattr(reader, "MOST_BYTES", 200)
    recipe = made(tmp_path)
    files = spooled(tmp_path / "spool", *BAD[::2])
    alone = outcome(recipe, files, joined=False, reader=READER)
    assert outcome(recipe, files, joined=True, reader=READER) == alone
    assert not joins


@pytest.mark.parametrize("together", [True, False])
def test_a_relation_that_is_not_known_is_found(together, tmp_path):
    files = spooled(tmp_path / "spool", *TOGETHER["a column that comes between them"])
    with pytest.raises(SchemasFound) as raised:
        pure.fragments(made(tmp_path), *files, joined=together, reader=FrameReader(frozenset({FORMER.digest})))
    assert list(raised.value.ids) == [NOW.digest]


@pytest.mark.parametrize("together", [True, False])
def test_a_damaged_segment_is_named(together, tmp_path):
    files = spooled(tmp_path / "spool", *BAD[::2])
    files[1].write_bytes(files[1].read_bytes()[:-3])
    with pytest.raises(EnvironmentFault, match=r"2\.slot\.\d+\.frames: is damaged"):
        pure.fragments(made(tmp_path), *files, joined=together, reader=READER)
