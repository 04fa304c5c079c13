"""Values that are found in frames are those that JSON of the same records has; by a seed that is printed."""

import random
import re
import struct
from pathlib import Path

import pytest

from integrator.decode.contract import File
from integrator.decode.encodings.pgoutput import Column, Relation
from integrator.sources.capture import frames
from integrator.sources.capture.reader import FrameReader, FramesFile
from tests.unit.test_joined import SEQ, TOLERANT, outcome
from tests.unit.test_joined_segments import OID, commit, made, spooled

RECORDS = 20_000
TYPES = {"id": 23, "v": 1043, "n": 1700, "at": 1114, "is": 16, "raw": 17, "list": 1009, "f": 701, 'q"uo\\te': 25}
WIDE = Relation(77, "public", "orders", "f", tuple(Column(name, oid, -1, name == "id") for name, oid in TYPES.items()))
DDL = (
    'create table orders(id int primary key, v varchar(200), n numeric(20,4), at timestamp, "is" boolean, raw bytea, '
    'list text[], f float8, "q""uo\\te" text);'
)
READER = FrameReader(frozenset({WIDE.digest}))
TEXTS = [
    "",
    "null",
    '"',
    "\\",
    "a\tb\nc",
    "\b\f\r\v\x01\x7f",
    "ü",
    "日本",
    "\U0001f600 x",
    "true",
    "{}",
    "[1]",
    "é" * 9,
    "x" * 70,
]
IN_COPY = {b"\\": b"\\\\", b"\b": b"\\b", b"\f": b"\\f", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t", b"\v": b"\\v"}


class AsJson(FrameReader):
    """Reads segments as files of JSON lines."""

    def file(self, one):
        path = Path(one.path).with_suffix(".jsonl")
        blocks = FramesFile(one.path, digests=self.digests).as_they_came()
        path.write_bytes(b"".join(block.written(at) for block in blocks for at in range(len(block))))
        return File(str(path), one.ordinal)


def text_of(draw):
    return "".join(draw.choice(TEXTS) for _ in range(draw.randrange(3)))


def values_of(draw, key, bad=b""):
    items = ",".join('"' + re.sub(r'(["\\])', r"\\\1", text_of(draw)) + '"' for _ in range(draw.randrange(3)))
    given = [
        text_of(draw),
        f"{draw.randrange(-(10**9), 10**9) / 10**4:.4f}",
        f"2026-{draw.randrange(1, 13):02d}-01 00:00:{draw.randrange(60):02d}.{draw.randrange(10**6):06d}",
        draw.choice("tf"),
        "\\x" + draw.randbytes(draw.randrange(9)).hex(),
        "{" + items + "}",
        repr(draw.uniform(-1e9, 1e9)),
        text_of(draw),
    ]
    found = [None if draw.random() < 0.2 else one.encode() for one in given]
    return [b"%d" % key, bad or found[0], *found[1:]]


def tuple_of(values, unchanged=()):
    made = struct.pack(">H", len(values))
    for at, one in enumerate(values):
        made += b"u" if at in unchanged else b"n" if one is None else b"t" + struct.pack(">I", len(one)) + one
    return made


def row_of_copy(values):
    found = [b"\\N" if one is None else re.sub(rb"[\b\f\n\r\t\v\\]", lambda at: IN_COPY[at[0]], one) for one in values]
    return b"\t".join(found) + b"\n"


def messages_of(draw, position, many, bad=b""):
    """A transaction of changes, and one of rows of COPY."""
    yield frames.begin(8 * position, position, position)
    for _ in range(many):
        key, is_bad = draw.randrange(10**6), draw.random() < 0.01
        after, before = values_of(draw, key, bad if is_bad else b""), values_of(draw, key)
        match draw.randrange(4):
            case 0:
                yield b"U" + OID + b"O" + tuple_of(before) + b"N" + tuple_of(after, {1, 6} if draw.randrange(2) else ())
            case 1:
                yield b"U" + OID + b"N" + tuple_of(after, {8})
            case 2:
                yield (
                    b"D"
                    + OID
                    + (b"K" + tuple_of([before[0]] + [None] * 8) if draw.randrange(2) else b"O" + tuple_of(before))
                )
            case _:
                yield b"I" + OID + b"N" + tuple_of(after)
    yield commit(position)
    yield frames.begin(8 * position + 1, position, 1)
    for _ in range(many // 20):
        yield frames.copied(77, b"".join(row_of_copy(values_of(draw, draw.randrange(10**6))) for _ in range(20)))
    yield frames.commit(8 * position + 1, 8 * position + 8, 0)


@pytest.mark.parametrize(("records", "bad", "actions"), [(RECORDS, b"", SEQ), (4_000, b"caf\xe9", SEQ + TOLERANT)])
def test_frames_become_what_json_of_them_becomes(records, bad, actions, tmp_path):
    seed = random.randrange(10**6)
    print("seed", seed)
    draw, each = random.Random(seed), 500
    segments = [(WIDE, list(messages_of(draw, position, each, bad))) for position in range(1, 1 + records // each // 2)]
    files = spooled(tmp_path / "spool", *segments)
    recipe = made(tmp_path, actions, DDL)
    found = outcome(recipe, files, joined=False, reader=READER)
    assert isinstance(found, tuple), found
    as_json = outcome(recipe, files, joined=False, reader=AsJson(READER.digests))
    assert list(map(in_short, found[0])) == list(map(in_short, as_json[0]))
    assert found[1] == as_json[1]
    assert bool(bad) == bool(found[1][2])


def in_short(row):
    """Return of a rejected record where it stands, and which byte is wrong: files have other names."""
    return re.findall(r"'integ_seq': '[^']*'|byte \d+ of the line", row) if "'topic': 'dead'" in row else row
