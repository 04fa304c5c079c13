"""errors.tolerance: all: what is rejected, what it is as a dead letter, and what is sent of the other lines."""

import dataclasses
import json
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from integrator.contracts.fragments import REJECTED
from integrator.contracts.recipe import Sought
from integrator.decode.lines.files import raw_lines
from integrator.errors import DataError
from integrator.run.passes.rejects import TooMany
from tests.parts import pure

pytestmark = pytest.mark.fast

DDL = "create table orders(id int primary key, v text, n numeric(4,1));"
ALL = "errors: {tolerance: all, deadletterqueue.topic.name: dead}\n"
ENVELOPE = "  - {action: FileFormat, Json: true, JsonMode: SCHEMA_PAYLOAD}\n"


def order(**members):
    return json.dumps({"hvr_tbl_name": "orders", "hvr_op": 1, "hvr_tx_seq": "1", "v": "", "n": 1.5, **members}).encode()


def recipe(directory, more=ALL, actions="", kafka="", ddl=DDL):
    made = pure.tables(directory, ddl, [actions] if actions else [], kafka=kafka)
    text = (directory / "channel.yaml").read_text()
    (directory / "channel.yaml").write_text(text.replace("channel: pure\n", f"channel: pure\n{more}"))
    assert made
    return pure.build(str(directory / "channel.yaml"), "Europe/Berlin", None).recipe


def sent(made, path, lines):
    """The ids of rows that are sent, the dead letters, and the summary of the file."""
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    fragments, [summary] = pure.fragments(made, path)
    found = pure.unpacked(pure.bundled(made, fragments.combine_chunks()))
    rows = [json.loads(one.value)["id"] for one in found if one.topic != "dead"]
    return rows, [one for one in found if one.topic == "dead"], summary


CASES = [
    ("no JSON", b'{"hvr_op":1', "VALUE_CONVERTER", "no JSON"),
    ("not UTF-8", order(id=2, v="x").replace(b"x", b"\xff"), "VALUE_CONVERTER", "not UTF-8"),
    ("a value that does not fit", order(id="x"), "VALUE_CONVERTER", "column id: 'x' is no integer"),
    ("an unknown table", order(id=2, hvr_tbl_name="other"), "VALUE_CONVERTER", "which the channel does not have"),
    ("an unknown operation", order(id=2, hvr_op=9), "VALUE_CONVERTER", "hvr_op is 9"),
    ("an unknown column", order(id=2, other=1), "VALUE_CONVERTER", "other"),
    ("a row above the maximum size", order(id=2, v="x" * 6000), "TRANSFORMATION", "HVR_KAFKA_MSG_MAX_BYTES"),
]


@pytest.mark.parametrize(("what", "line", "stage", "reason"), CASES, ids=[case[0] for case in CASES])
def test_a_wrong_line_is_a_dead_letter_as_it_came(what, line, stage, reason, tmp_path):
    made = recipe(tmp_path, kafka=", Oversized_Rows: FAIL", actions=LIMIT)
    lines = [order(id=1), line, order(id=3), line, order(id=5)]
    rows, dead, summary = sent(made, tmp_path / "a.jsonl", lines)
    assert rows == [1, 3, 5]
    assert summary.rejected == sum(one.headers["__connect.errors.part"] == b"1" for one in dead) == 2
    assert b"".join(one.value for one in dead) == line * 2
    headers = {name.removeprefix("__connect.errors."): text.decode() for name, text in dead[0].headers.items()}
    assert reason in headers.pop("exception.message")
    assert headers == {
        "connector.name": "pure",
        "stage": stage,
        "exception.class.name": "DataError",
        "file": str(tmp_path / "a.jsonl"),
        "line": "2",
        "part": "1",
        "parts": str(len(dead) // 2),
    }
    assert dead[0].key is None
    assert what


LIMIT = '{action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: "5000"}'


def test_a_line_above_the_maximum_size_comes_in_parts(tmp_path):
    made = recipe(tmp_path, actions=LIMIT)
    line = order(id=2, v="x" * 20000)
    rows, dead, summary = sent(made, tmp_path / "a.jsonl", [order(id=1), line])
    assert (rows, summary.rejected) == ([1], 1)
    assert len(dead) > 1
    assert b"".join(one.value for one in dead) == line
    assert [one.headers["__connect.errors.part"] for one in dead] == [b"%d" % n for n in range(1, len(dead) + 1)]


def test_without_headers_and_without_a_topic(tmp_path):
    bare = ALL.replace("dead}", "dead, deadletterqueue.context.headers.enable: false}")
    _, [dead], _ = sent(recipe(tmp_path, bare), tmp_path / "a.jsonl", [b"{", order(id=1)])
    assert (dead.value, dead.headers) == (b"{", {})
    rows, none, summary = sent(
        recipe(tmp_path, "errors: {tolerance: all}\n"), tmp_path / "a.jsonl", [b"{", order(id=1)]
    )
    assert (rows, none, summary.rejected) == ([1], [], 1)


@pytest.mark.parametrize("line", [b"{", b"garbage", b"[]", b'"quoted"', b"a,b", b"\xff\xfe"])
def test_all_lines_may_be_wrong(line, tmp_path):
    rows, dead, _ = sent(recipe(tmp_path), tmp_path / "a.jsonl", [line] * 3)
    assert (rows, [one.value for one in dead]) == ([], [line] * 3)


CSV = b"hvr_tbl_name,hvr_op,hvr_tx_seq,id,v,n"


def test_files_of_rows_are_read_beside_those_of_lines(tmp_path):
    made, rows = recipe(tmp_path), [order(id=4), b"{", order(id=5)]
    assert sent(made, tmp_path / "a.csv", [CSV, b"orders,1,1,1,x,1.5", b"orders,1,1,2,y,2.5"])[0] == [1, 2]
    table = pa.table({"hvr_tbl_name": ["orders"], "hvr_op": [1], "hvr_tx_seq": ["1"], "id": [3]})
    pq.write_table(table, tmp_path / "b.parquet")
    assert [row["id"] for row in pure.read(made, tmp_path / "b.parquet")] == [3]
    assert sent(made, tmp_path / "c.jsonl", rows)[0] == [4, 5]


def test_a_wrong_row_of_csv_is_an_error_with_its_line(tmp_path):
    with pytest.raises(DataError, match=r"a\.csv:3: table orders, column id: 'x' is no integer"):
        sent(recipe(tmp_path), tmp_path / "a.csv", [CSV, b"orders,1,1,1,x,1.5", b"orders,1,1,x,y,2.5"])


def foreign(directory, dialect):
    recipe(directory)
    text = (directory / "channel.yaml").read_text()
    (directory / "channel.yaml").write_text(text.replace("dialect: hvr", f"dialect: {dialect}, table: orders"))
    return pure.build(str(directory / "channel.yaml"), "Europe/Berlin", None).recipe


def test_csv_of_dms_is_read_where_wrong_lines_are_rejected(tmp_path):
    assert sent(foreign(tmp_path, "dms"), tmp_path / "a.csv", [b"Op,id,v,n", b"I,1,x,1.5"])[0] == [1]


def test_parquet_of_delta_is_read_where_wrong_lines_are_rejected(tmp_path):
    row = {"id": 1, "v": "x", "n": 1.5, "_change_type": "insert", "_commit_version": 1}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")
    assert [row["id"] for row in pure.read(foreign(tmp_path, "delta-cdf"), tmp_path / "a.parquet")] == [1]


@pytest.mark.parametrize("paired", ["", "{action: FileFormat, Json: true, Envelope: DEBEZIUM}"])
def test_an_update_is_rejected_with_both_of_its_rows(paired, tmp_path):
    made = recipe(tmp_path, actions=paired)
    lines = [order(id=1), order(id=2, hvr_op=3), b'{"hvr_op":2,', order(id=3), order(id=4, hvr_op=4)]
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    fragments, [summary] = pure.fragments(made, path)
    dead = fragments.filter(pure.pa.compute.equal(fragments["shape"], REJECTED))
    assert dead["payload"].to_pylist() == [lines[1], lines[2], lines[4]]
    assert summary.rejected == 3
    assert fragments.num_rows == 5


def test_positions_count_what_is_sent_in_each_task(tmp_path):
    made = recipe(tmp_path)
    files = []
    for name in range(3):
        files.append(tmp_path / f"{name}.jsonl")
        lines = [order(id=name * 10), b"{", order(id="x"), order(id=name * 10 + 1)]
        files[-1].write_bytes(b"".join(line + b"\n" for line in lines))
    expected = pure.fragments(made, *files)[0]["integ_seq"].to_pylist()
    for before in range(3):
        found = pure.fragments(made, *files, of_others=before)[0]["integ_seq"].to_pylist()
        assert sorted(found) == sorted(expected[-len(found) :] if before else expected)


def test_many_kinds_of_wrong_lines(tmp_path):
    made = recipe(tmp_path)
    kinds = [case[1] for case in CASES[:-1]]
    lines = [kinds[n // 3 % len(kinds)] if n % 3 == 0 else order(id=n) for n in range(3000)]
    rows, dead, _ = sent(made, tmp_path / "a.jsonl", lines)
    assert rows == [n for n in range(3000) if n % 3]
    assert [one.value for one in dead] == [line for n, line in enumerate(lines) if n % 3 == 0]


@pytest.mark.parametrize("ending", [b"\n", b"", b"\r\n"])
def test_raw_lines(ending, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfone\ntwo\n\nfour" + ending)
    assert list(raw_lines(str(path), np.array([1, 2, 4]))) == [b"one", b"two", b"four" + ending.removesuffix(b"\n")]


def test_too_many_rejected_lines_of_so_many_stop_the_channel(tmp_path):
    counter = TooMany((2, 10))
    counter.add("a", [1, 9])
    counter.end(10)
    counter.add("b", [5])  # 9, 15: two of ten; 1 is too long ago
    with pytest.raises(DataError, match="b:6: more than 2 of 10 lines rejected"):
        counter.add("b", [6, 7])
    more = ALL.replace("dead}", "dead, threshold: {failed: 2, of: 10}}")
    lines = [b"{"] * 3 + [order(id=1)]
    with pytest.raises(DataError, match=r"a\.jsonl:3: more than 2 of 10"):
        sent(recipe(tmp_path, more), tmp_path / "a.jsonl", lines)


@pytest.mark.parametrize(
    ("errors", "text"),
    [
        ("{deadletterqueue.topic.name: dead}", "nothing is rejected without tolerance: all"),
        ("{tolerance: all, deadletterqueue.topic.name: orders}", "orders is a topic of rows too"),
        ("{tolerance: all, log.include.messages: true}", "has no use without log.enable: true"),
        ("{retry.timeout: 5000}\nrestart: {timeout_seconds: 3}", "errors.retry sets this too"),
        ("{tolerance: some}", "none"),
    ],
)
def test_what_cannot_be(errors, text, tmp_path):
    with pytest.raises(pure.ConfigurationError, match=text):
        recipe(tmp_path, f"errors: {errors}\n")


@pytest.mark.parametrize(
    ("positions", "rejected"),
    [("129AB", ""), ("12F9AB", "F"), ("1F9ABF", "F"), ("5123467", "5"), ("1233", "3"), ("98", "9")],
)
def test_of_records_out_of_order_the_fewest_are_rejected(positions, rejected, tmp_path):
    lines = [order(id=1, hvr_tx_seq=position, hvr_tx_countdown=1) for position in positions]
    _, dead, _ = sent(recipe(tmp_path), tmp_path / "a.jsonl", lines)
    assert [json.loads(one.value)["hvr_tx_seq"] for one in dead] == list(rejected)


@pytest.mark.parametrize("mode", ["CHANGE", "TRANSACTION", "THRESHOLD"])
def test_a_dead_letter_is_a_message_alone_in_all_bundlings(mode, tmp_path):
    made = recipe(tmp_path, kafka=f", Kafka_Message_Bundling: {mode}")
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join([order(id=1), b"{", order(id=2), b"{{", order(id=3)]) + b"\n")
    found = pure.unpacked(pure.bundled(made, pure.fragments(made, path)[0].combine_chunks()))
    assert [one.value for one in found if one.topic == "dead"] == [b"{", b"{{"]
    assert b"".join(one.value for one in found if one.topic != "dead").count(b'"id"') == 3


def test_a_record_of_another_sources_table_is_rejected_in_a_later_file_too(tmp_path):
    made = recipe(tmp_path)
    files = [tmp_path / f"{name}.jsonl" for name in "ab"]
    files[0].write_bytes(order(id=1) + b"\n")
    other = order(id=2, hvr_tbl_name="Orders", hvr_tx_seq="2")
    files[1].write_bytes(other + b"\n" + order(id=3, hvr_tx_seq="3") + b"\n")
    fragments, summaries = pure.fragments(made, *files)
    dead = fragments.filter(pure.pa.compute.equal(fragments["shape"], REJECTED))
    assert dead["payload"].to_pylist() == [other]
    assert [one.rejected for one in summaries] == [0, 1]
    assert [one.rows for one in summaries] == [1, 1]


def test_the_row_of_a_message_that_a_broker_refused_is_found_among_tolerated_ones(tmp_path):
    """It is sought after the cycle has failed: it ends the channel, and is rejected in none."""
    lines = [b"{", order(id=1), order(id=2, v="x" * 500), order(id=3)]
    made = recipe(tmp_path)
    path = tmp_path / "a.jsonl"
    sent(made, path, lines)
    message = next(one for one in pure.messages(made, path) if one.topic != "dead" and b"xxx" in one.value)
    size = len(message.value) + len(message.key or b"")
    sought = Sought("orders", size, zlib.crc32(message.value), "the message is refused", size=True)
    seeking = dataclasses.replace(made, messages=dataclasses.replace(made.messages, sought=sought))
    with pytest.raises(
        DataError, match=r"a.jsonl:3: table orders, key id=2: the message is refused; the largest columns"
    ):
        sent(seeking, path, lines)


def test_a_row_above_its_topics_own_limit_is_rejected_as_one_above_ours_is(tmp_path):
    lines = [order(id=1), order(id=2, v="x" * 5000), order(id=3)]
    made = recipe(tmp_path, kafka=", Kafka_Message_Compress: NONE")
    made = dataclasses.replace(made, messages=dataclasses.replace(made.messages, limits=(("orders", 2000),)))
    rows, [letter], summary = sent(made, tmp_path / "a.jsonl", lines)
    assert (rows, summary.rejected) == ([1, 3], 1)
    assert b"the topic orders takes up to 2000" in letter.headers["__connect.errors.exception.message"]
