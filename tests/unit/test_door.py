"""What a socket's door refuses of lines before they are received: what the decoder would refuse, whatever is around it."""

from __future__ import annotations

import dataclasses
import json
import time

import pytest

from integrator.decode.contract import reading_of
from integrator.decode.dialects import DIALECTS
from integrator.errors import DataError
from integrator.sources.sockets.line_gate import first_wrong, line_gate_of
from tests.fuzz.decode import reading_for
from tests.fuzz.setups import SETUPS
from tests.parts import pure

DDL = "create table t(id int primary key); create table u(id int primary key);"
OF_LINES = [setup for setup in SETUPS if not setup.is_csv]


RECOGNIZED = [setup for setup in OF_LINES if setup.dialect != "rows"]  # plain rows look like anything


@pytest.mark.parametrize(
    ("setup", "dialect"),
    [*((one, "") for one in OF_LINES), *((one, "auto") for one in RECOGNIZED)],
    ids=lambda one: getattr(one, "name", one or "own"),
)
def test_recorded_lines_are_taken_however_they_are_cut(setup, dialect, tmp_path):
    check = line_gate_of(DIALECTS[dialect or setup.dialect], reading_for(setup, tmp_path)).first_refused
    lines = [f"{line}\n".encode() for line in setup.recorded]
    assert [line for line in lines if check(line)] == []
    assert [at for at in range(len(lines)) if check(b"".join(lines[at:]))] == []


def hvr(**members):
    return json.dumps({"hvr_tbl_name": "t", "hvr_op": 1, "hvr_tx_seq": "1", "id": 1, **members})


MAXWELL = {"database": "d", "table": "t", "type": "insert", "ts": 1, "xid": 1, "data": {"id": 1}}
WAL2JSON = {"action": "I", "schema": "public", "table": "t", "columns": [{"name": "id", "value": 1}]}
DEBEZIUM = {"op": "c", "source": {"table": "t"}, "after": {"id": 1}}
CASES = [
    ("hvr", hvr(), "null", "expected a record with hvr_op"),
    ("hvr", hvr(), hvr(hvr_tbl_name="x"), "a change of table 'x', which the channel does not have; its tables are t, u"),
    ("hvr", hvr(), hvr(hvr_tbl_name=None), "the record has no hvr_tbl_name"),
    ("hvr", hvr(id="x"), hvr(hvr_op="x"), "hvr_op: 'x' is no int32"),
    ("hvr", hvr(), hvr(hvr_op=9), "hvr_op is 9; expected 0 delete, 1 insert"),
    ("hvr", hvr(), hvr(hvr_tx_seq="z"), "hvr_tx_seq is 'z'; expected 1 to 20 hex digits"),
    ("hvr", hvr(), hvr(hvr_tx_countdown=-1), "hvr_tx_countdown is -1; expected the rows left in the transaction"),
    ("maxwell", json.dumps(MAXWELL), "null", "it is no object; expected a record of Maxwell"),
    ("maxwell", json.dumps(MAXWELL), json.dumps({**MAXWELL, "table": "x"}), "a change of table 'd.x'"),
    ("wal2json", json.dumps(WAL2JSON), json.dumps({**WAL2JSON, "table": "x"}), "a change of table 'public.x'"),
    ("wal2json", json.dumps(WAL2JSON), "null", "wal2json"),
    ("debezium", "null", json.dumps({**DEBEZIUM, "source": {"table": "x"}}), "a change of table 'x'"),
    ("debezium", json.dumps(DEBEZIUM), json.dumps({**DEBEZIUM, "op": "x"}), "op"),
    ("delta-cdf", '{"id":1,"_change_type":"insert"}', "null", "it is no object"),
    ("dms", '{"data":{},"metadata":{"operation":"load","table-name":"t"}}', "null", "it is no object"),
    ("auto", hvr(), "null", "expected a record with hvr_op"),
    ("auto", hvr(), hvr(hvr_tbl_name="x"), "a change of table 'x'"),
]  # fmt: skip


def check(directory, dialect, tolerance="none"):
    pure.recipe(directory, DDL, dialect=dialect, source=", table: t" if dialect in ("delta-cdf", "dms") else "")
    path = directory / "channel.yaml"
    path.write_text(f"{path.read_text()}errors: {{tolerance: {tolerance}}}\n")
    made = pure.build(str(path), "UTC").recipe
    return line_gate_of(DIALECTS[dialect], reading_of(made)).first_refused


@pytest.mark.parametrize(("dialect", "right", "wrong", "reason"), CASES)
def test_the_first_line_that_is_refused(dialect, right, wrong, reason, tmp_path):
    of_source = check(tmp_path, dialect)
    lines = [f"{right}\n".encode(), b" \r\n", f"{right}\n".encode()]
    assert of_source(b"".join(lines)) is None
    found = of_source(b"".join([*lines, f"{wrong}\n".encode(), *lines, b"{\n"]))
    assert found is not None
    assert found[0] == sum(map(len, lines))
    assert reason in found[1]
    assert "line:" not in found[1]


@pytest.mark.parametrize(("dialect", "right", "wrong", "reason"), CASES)
def test_where_wrong_lines_are_rejected_they_are_taken_if_their_dialect_is_known(
    dialect, right, wrong, reason, tmp_path
):
    found = check(tmp_path, dialect, "all")(f"{right}\n{wrong}\n{right}\n".encode())
    assert found is None, reason


@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_lines_of_no_dialect_are_refused(tolerance, tmp_path):
    of_source = check(tmp_path, "auto", tolerance)
    assert of_source(b'null\n{"some":"thing"}\n') == (
        0,
        "the names in its first record (some) match no dialect; set `dialect`",
    )


def test_a_line_that_is_no_json_is_refused_where_it_is(tmp_path):
    lines = f"{hvr()}\n{{\n{hvr(hvr_tbl_name='x')}\n".encode()
    assert check(tmp_path, "hvr")(lines) == first_wrong(lines)


def test_it_costs_little(tmp_path):
    of_source = check(tmp_path, "hvr")
    lines = "".join(hvr(id=number) + "\n" for number in range(100_000)).encode()
    of_source(lines[: lines.index(b"\n") + 1])
    started = time.process_time()
    assert of_source(lines) is None
    assert time.process_time() - started < 2


def test_all_dialects_have_a_check():
    assert [name for name, dialect in DIALECTS.items() if dialect.check is None] == []


def test_an_error_of_no_record_refuses_the_first_line(tmp_path):
    """It is never passed over: what is taken counts as received."""

    def check(_lines, _reading):
        raise DataError("odd")

    gate = line_gate_of(dataclasses.replace(DIALECTS["hvr"], check=check), reading_of(pure.recipe(tmp_path, DDL)))
    assert gate.first_refused(b'{"id": 1}\n{"id": 2}\n') == (0, "odd")
