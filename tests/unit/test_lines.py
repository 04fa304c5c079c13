"""Blocks of lines: every line is there, with its number, whatever the size of the blocks."""

import bz2
import gzip
import signal
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import strategies as st

from integrator.decode.json.document import read_document
from integrator.decode.lines import files, reading
from integrator.decode.lines.files import container_of, first_lines, raw_lines
from integrator.decode.lines.reading import LineReading, read_lines, whole_lines
from integrator.decode.lines.repeated import RepeatedMember
from integrator.decode.table_files import batches
from integrator.errors import DataError, EnvironmentFault

pytestmark = pytest.mark.engine

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\"\\:,'{} ", max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n\n"])
@pytest.mark.parametrize("block", [1, 2, 7, 64, 1000])
def test_every_line_with_its_number(block, end, tmp_path):
    texts = ["a", "", "bb", "é" * 20, "  ", "last"]
    (tmp_path / "f").write_bytes("\n".join(texts).encode() + end.encode())
    got = [
        (int(number), text.as_py().rstrip("\n"))
        for part in read_lines(str(tmp_path / "f"), LineReading(block))
        for number, text in zip(part.numbers, part.array, strict=True)
    ]
    assert [(n, t) for n, t in got if t.strip()] == [(n, t) for n, t in enumerate(texts, 1) if t.strip()]


TEXT = b'{"a": 1}\n' * 5000
PACKED = {
    "a.gz": gzip.compress(TEXT),
    "a.bz2": bz2.compress(TEXT),
    "a.zst": pa.compress(TEXT, codec="zstd", asbytes=True),
    "a.lz4": pa.compress(TEXT, codec="lz4", asbytes=True),
    "two.gz": gzip.compress(TEXT) * 2,
}


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("left", [0, 1, 2, 9, 0.4, -9, -8, -4, -1])
def test_a_packed_file_that_is_cut_off_is_an_error_with_its_name(name, left, tmp_path):
    path, whole = tmp_path / name, PACKED[name]
    path.write_bytes(whole[: int(len(whole) * left) if isinstance(left, float) else left])
    for read in (lambda: list(read_lines(str(path))), lambda: list(whole_lines(str(path)))):
        with pytest.raises(EnvironmentFault, match=f"{path}: .*; write it anew, whole"):
            read()
    if left in (0, 1, 2, 9):
        with pytest.raises(EnvironmentFault, match=f"{path}: .*; write it anew, whole"):
            container_of(str(path))


@pytest.mark.parametrize("name", ["a.csv.gz", "a.parquet.gz"])
@pytest.mark.parametrize("left", [0, 5, -5])
def test_a_packed_table_that_is_cut_off_is_an_error_with_its_name(name, left, tmp_path):
    path = tmp_path / name
    parquet = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pa.table({"a": range(1000)}), parquet)
    whole = b"a\n1\n" if "csv" in name else parquet.getvalue().to_pybytes()
    path.write_bytes(gzip.compress(whole)[:left])
    with pytest.raises(EnvironmentFault, match=f"{path}: .*; write it anew, whole"):
        list(batches(str(path), name.split(".")[1], ""))


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a"])
def test_a_plain_file_of_no_bytes_is_empty(name, tmp_path):
    (tmp_path / name).touch()
    assert container_of(str(tmp_path / name)) == "empty"
    assert list(read_lines(str(tmp_path / name))) == []


def test_a_packed_file_of_nothing_is_empty(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b""))
    assert container_of(str(tmp_path / "a.gz")) == "empty"


def test_a_csv_header_of_many_names_costs_so_much_for_each(tmp_path):
    """Names that are there twice were counted one by one: 100,000 names took more than a minute."""
    names = [f"c{number}" for number in range(100_000)]
    path = tmp_path / "a.csv"
    path.write_text(",".join([*names, "c7", "c5"]) + "\n")
    started = time.process_time()
    with pytest.raises(DataError, match=r"a\.csv:1: the header has 'c5', 'c7' twice"):
        list(batches(str(path), "csv", ""))
    assert time.process_time() - started < 5


@pytest.mark.parametrize("text", ["garbage here", '\ufeff{"a": 1}', "1", "}", '"'])
def test_garbage_is_a_data_error(text, tmp_path):
    (tmp_path / "f").write_text(f'{{"a": 1}}\n{text}\n')
    [lines] = read_lines(str(tmp_path / "f"))
    with pytest.raises(DataError, match="f:2: "):
        read_document(lines, "numbers")


@pytest.mark.parametrize("first", [1, 7, 64, 1 << 20])
def test_however_blocks_grow_the_lines_are_the_same(first, tmp_path, monkeypatch):
    text = "".join(f'{{"a":"{"x" * (number % 50)}"}}\n' for number in range(300)) + '{"last":1}'
    (tmp_path / "a.jsonl").write_text(text)
    monkeypatch.setattr(reading, "FIRST_BYTES", first)
    parts = list(read_lines(str(tmp_path / "a.jsonl"), LineReading(500)))
    assert b"".join(part.data for part in parts) == text.encode() + b"\n"
    assert np.concatenate([part.numbers for part in parts]).tolist() == list(range(1, 302))


def test_a_file_that_is_read_as_a_whole_is_one_block_however_long(tmp_path):
    """{hvr_tx_countdown} needs to know where each transaction ends."""
    (tmp_path / "a.jsonl").write_text('{"a":"' + "x" * 100 + '"}\n' + ('{"a":1}\n' * 800_000))
    [whole] = whole_lines(str(tmp_path / "a.jsonl"))
    assert len(whole) == 800_001
    assert len(list(read_lines(str(tmp_path / "a.jsonl")))) > 1


@pytest.fixture
def limited():
    """Ends a test after half a minute: a line of many blocks takes a second, and hours if it is copied with each one."""

    def late(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


LONG = 64_000_000
READERS = {
    "blocks of lines": lambda path: [len(part) for part in read_lines(str(path), LineReading(1000))],
    "blocks of lines with values left out": lambda path: [
        len(part) for part in read_lines(str(path), LineReading(1000, shortening=RepeatedMember("schema", "payload")))
    ],
    "lines as they came": lambda path: [len(line) for line in raw_lines(str(path), np.array([1, 2, 3]))],
    "the first line": lambda path: len(first_lines(str(path), 1000)) > LONG,
}


@pytest.mark.parametrize("where", ["first", "last", "alone"])
@pytest.mark.parametrize("how", READERS)
def test_a_line_of_many_blocks_is_not_copied_with_each_of_them(how, where, tmp_path, monkeypatch, limited):
    monkeypatch.setattr(files, "BLOCK_BYTES", 1000)
    for name in ("FIRST_BYTES", "_PIECE_BYTES"):
        monkeypatch.setattr(reading, name, 1000)
    long, short = b'{"a":"' + b"x" * LONG + b'"}\n', b'{"a":1}\n'
    (tmp_path / "f").write_bytes({"first": long + short * 2, "last": short * 2 + long, "alone": long[:-1]}[where])
    found = READERS[how](tmp_path / "f")
    lines = 1 if where == "alone" else 3
    if how == "the first line":
        assert found is (where != "last")
    else:
        assert (len(found) if how == "lines as they came" else sum(found)) == lines


@pytest.mark.parametrize("read", [lambda path: list(read_lines(path)), lambda path: first_lines(path, 1000)])
def test_a_line_that_is_too_long_is_an_error_before_all_of_it_is_read(read, tmp_path, monkeypatch):
    for module in (reading, files):
        monkeypatch.setattr(module, "MOST_BYTES", 10_000_000)
    with (tmp_path / "f").open("wb") as file:
        file.truncate(1 << 40)  # a terabyte that takes no room
    with pytest.raises(EnvironmentFault, match="/f:1: a line, or a file read at once, of over 2 GiB; divide the file"):
        read(str(tmp_path / "f"))
