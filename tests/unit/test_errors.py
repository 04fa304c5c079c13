"""How messages show values, and that a defect of the integrator is told as one, with its traceback."""

from __future__ import annotations

import errno
import json
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest
from structlog.testing import capture_logs

from integrator.channel.secret import Secrets
from integrator.cli import main as cli
from integrator.decode.dialect import Dialect
from integrator.decode.dialects import DIALECTS
from integrator.errors import (
    SHOWN,
    DataError,
    Defect,
    DeliveryError,
    EnvironmentFault,
    IntegratorError,
    as_integrator_error,
    from_wire,
    shown,
    to_wire_error,
)
from integrator.run import daemon
from integrator.run.gate import CycleGate
from integrator.run.seen.failures import Failures
from integrator.run.seen.observer import Observer
from integrator.run.state import consistency
from tests.parts import pure, states

SHORT = [
    ("bolt", "'bolt'"),
    ("it's\n", '"it\'s\\n"'),
    (b"\xff", "b'\\xff'"),
    (None, "None"),
    (Decimal("1.20"), "1.20"),
    (["a", None], "['a', None]"),
]
LONG = [
    ("x" * 1_048_576, "… (1,048,576 characters)"),
    (b"\x00" * 300, "… (300 bytes)"),
    ("\x00" * SHOWN, "… (200 characters)"),
    (10**300, "… (301 characters)"),
]


@pytest.mark.parametrize(("value", "text"), SHORT)
def test_a_short_value_is_shown_whole(value: object, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(("value", "end"), LONG)
def test_a_long_value_is_cut_and_its_length_given(value: object, end: str) -> None:
    text = shown(value)
    assert text.endswith(end)
    assert len(text) == SHOWN + len(end)


def broken(*_: object) -> NoReturn:
    """A defect."""
    {}["no such name"]
    raise AssertionError


def found(call: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - of any kind
        call()
    return raised.value


def check_defect(text: str) -> None:
    assert "a defect of the integrator, not of the data; report it with this traceback:" in text
    assert "in broken" in text
    assert "KeyError: 'no such name'" in text


def test_a_defect_crosses_with_its_traceback_once() -> None:
    crossed = to_wire_error(found(broken), "the first pass, a.jsonl")
    assert to_wire_error(crossed, "the second pass") is crossed
    error = from_wire(f"java.lang.Exception: RuntimeError: {crossed}\n at org.apache")
    assert isinstance(error, Defect)
    assert str(error).startswith("the first pass, a.jsonl: a defect")
    check_defect(str(error))
    assert error.kind.exit_code == 1
    assert not error.kind.retriable


def test_other_errors_cross_as_they_are() -> None:
    assert str(from_wire(str(to_wire_error(DataError("a.jsonl:1: x"), "here")))) == "a.jsonl:1: x"
    full = OSError("No space left on device")
    assert to_wire_error(full, "here") is full


def test_a_defect_with_a_long_value_is_bounded() -> None:
    assert len(str(Defect.of(ValueError("x" * 1_000_000), "here"))) < 2000


def test_a_defect_in_the_first_pass_is_not_the_datas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a DataError, exit code 3, without a traceback."""
    recipe = pure.recipe(tmp_path, "create table t(k int primary key);")
    path = pure.hvr(tmp_path, {"k": 1})
    monkeypatch.setitem(DIALECTS, "hvr", Dialect(read=broken, tail=broken))
    error = found(lambda: pure.fragments(recipe, path))
    assert isinstance(error, Defect)
    assert str(path) in str(error)
    check_defect(str(error))


def test_a_defect_in_a_cycle_keeps_its_traceback() -> None:
    class Query:
        def exception(self) -> Exception:
            return RuntimeError("the same, as Java's text")

    gate = CycleGate(lambda: False)
    found(lambda: gate.around(broken)(None, 0))  # type: ignore[arg-type]
    assert isinstance(found(lambda: gate.raise_failure(Query())), KeyError)  # type: ignore[arg-type]


class BrokenJob:
    """A job that fails by a defect."""

    plan = SimpleNamespace(channel="shop")
    heart = SimpleNamespace(beat=lambda _doing: None)
    integrate = staticmethod(lambda *_, **__: broken())

    def __init__(self) -> None:
        self.failures = Failures(Path("nowhere"), "shop", Secrets(), Observer())  # its logger is as logs are set up now


def test_the_daemon_tells_a_defect_as_one() -> None:
    with capture_logs() as logs:
        error = found(lambda: daemon._run([BrokenJob()], None, once=True))  # type: ignore[list-item, arg-type]
    assert isinstance(error, Defect)
    [event] = [log for log in logs if log["event"] == "failed"]
    assert (event["kind"], event["channel"]) == ("defect", "shop")
    check_defect(event["error"])


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (
            DataError("a.jsonl:1: hunter2"),
            3,
            "a.jsonl:1: ********\n(data: the owner of the source data must act)\n",
        ),
        (
            DeliveryError("0 of 3 messages acknowledged"),
            4,
            "(delivery: retryable, no action needed unless it happens again; then the operator of Kafka must act)\n",
        ),
        (KeyError("hunter2"), 1, "(defect: the maintainers of the integrator must act)\n"),
    ],
)
def test_the_command_tells_who_acts_and_no_secrets(
    error: Exception, code: int, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def app(*, obj: list[Secrets], **_: object) -> None:
        secrets = Secrets()
        secrets.add("hunter2")
        obj.append(secrets)
        raise error

    monkeypatch.setattr(cli, "app", app)
    assert cli.main() == code
    told = capsys.readouterr().err
    assert told.endswith(text)
    assert "hunter2" not in told
    assert ("Traceback" in told) == (not isinstance(error, IntegratorError))


@pytest.mark.parametrize(
    ("channel", "says"), [("channel: [", "c.yaml:1"), ("channel: shop\nlocations: ${hunter2}\n", "$.locations")]
)
def test_a_run_ends_with_one_event_where_no_person_reads_its_log(
    channel: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.yaml").write_text(channel)
    monkeypatch.setattr(sys, "argv", ["run.py", "--channel", str(tmp_path / "c.yaml")])
    assert cli.main() == 2
    [line] = capsys.readouterr().err.splitlines()
    event = json.loads(line)
    assert (event["event"], event["kind"], event["exit_code"]) == ("the process ends", "configuration", 2)
    assert says in event["error"]
    assert event["error"].endswith("(configuration: the author of the channel must act)")


LONG_TEXT = "é" * 1_000_000
BOUNDED = [
    # what refuses a value of a million characters: actions, the record
    ("a key above the maximum size", ["{action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: '10000'}"], LONG_TEXT),
    ("a longer text", ["{action: ColumnProperties, Name: v, Datatype: varchar, Length: 5}"], LONG_TEXT),
    ("no number", ["{action: ColumnProperties, Name: v, Datatype: integer}"], LONG_TEXT),
    ("no number, as SQL has it",
     ["{action: ColumnProperties, Name: n, Extra: true, Datatype: integer, IntegrateExpression: 'sql: cast(v as integer)'}"],
     LONG_TEXT),
    ("no XML", ["{action: FileFormat, Xml: true}"], LONG_TEXT + "\0"),
    ("a misfit of its type",
     ["{action: ColumnProperties, Name: v, Datatype: integer}",
      "{action: TableProperties, CoerceErrorPolicy: SILENT, CoerceErrorType: ROUNDING}"], LONG_TEXT),
]  # fmt: skip


@pytest.mark.parametrize(("what", "actions", "value"), BOUNDED, ids=[case[0] for case in BOUNDED])
def test_a_value_of_any_length_is_shown_in_part(what: str, actions: list[str], value: str, tmp_path: Path) -> None:
    text = "".join(f"  - {action}\n" for action in actions)
    recipe = pure.recipe(tmp_path, "create table t(k text primary key, v text);", text)
    with pytest.raises(DataError) as raised:
        pure.messages(recipe, pure.hvr(tmp_path, {"k": value if "key" in what else "k", "v": value}))
    assert f"{tmp_path}/a.jsonl:1: table t" in str(raised.value)
    assert "éééé" in str(raised.value)
    assert len(str(raised.value)) < 1500 + len(str(tmp_path))


def test_a_warning_is_written_with_a_value_of_any_length_in_part(tmp_path: Path) -> None:
    actions = (
        "  - {action: ColumnProperties, Name: v, Datatype: varchar, Length: 5}\n"
        "  - {action: TableProperties, CoerceErrorPolicy: WARNING_FILE}\n"
    )
    recipe = pure.recipe(tmp_path, "create table t(k text primary key, v text);", actions)
    path = pure.hvr(tmp_path, {"k": LONG_TEXT[:1000], "v": LONG_TEXT})
    [detail] = pure.fragments(recipe, path)[1][0].details
    assert detail["value"] == "é" * SHOWN + "… (1,000,000 characters)"
    assert str(detail["key"]).endswith("… (1,000 characters)")


@pytest.mark.parametrize("value", ["INTEGRATOR-ERROR:", 'x INTEGRATOR-ERROR:["DATA"]INTEGRATOR-ERROR: y', "\\u0049"])
def test_an_error_arrives_whatever_values_it_shows(value):
    error = DataError(f"a.jsonl:1: column v: {value!r} is no integer")
    found = from_wire(f"org.apache.spark.SparkException: {error.to_wire()} at x\nCaused by: {error.to_wire()}")
    assert (type(found), str(found)) == (DataError, str(error))


ODD_KINDS = "create table t(k int primary key, d numeric(4,1), i smallint, b boolean, at timestamp, z timestamptz);"
ODD_VALUES = [
    {"d": "1.25x"}, {"d": 123456}, {"i": 70000}, {"i": "1e"}, {"b": "maybe"}, {"at": "noon"}, {"at": [1]},
    {"z": "2026-13-01"}, {"d": {"a": 1}}, {"i": True}, {"at": "2026-02-30 00:00:00"},
]  # fmt: skip
OF_ARROW = re.compile(
    r"Failed to|scalar of type|Arrow|int\d+\b|decimal128|timestamp\[|Rescal|Unsupported|not in range: |SQLSTATE|org\.apache|pyarrow"
)


@pytest.mark.parametrize("values", ODD_VALUES, ids=str)
@pytest.mark.parametrize("dialect", ["hvr", "debezium"])
def test_data_errors_are_in_no_words_of_arrow(values, dialect, tmp_path):
    """They said "Failed to parse string: 'x' as a scalar of type int16", of types that a channel does not have."""
    recipe = pure.recipe(tmp_path, ODD_KINDS, dialect=dialect)
    row = {"k": 1, **values}
    path = pure.hvr(tmp_path, row)
    if dialect == "debezium":
        source = {"table": "t", "lsn": 1, "connector": "postgresql"}
        path.write_text(json.dumps({"op": "c", "before": None, "after": row, "source": source}) + "\n")
    with pytest.raises(DataError) as raised:
        pure.fragments(recipe, path)
    assert not OF_ARROW.search(str(raised.value)), raised.value


def test_a_broken_parquet_file_is_said_to_be_broken_and_no_more(tmp_path):
    recipe = pure.recipe(tmp_path, ODD_KINDS)
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1" + b"\0" * 40)
    with pytest.raises(DataError, match=r"a\.parquet: is no Parquet file, or is broken; write it anew$"):
        pure.fragments(recipe, path)


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("/opt/integrator/bin/integrator", "integrator"),
        ("run.py", "run.py"),
        ("/app/run.py", "run.py"),
        ("-m", "integrator"),
    ],
)
def test_a_message_names_the_program_as_it_was_called(called, name, tmp_path, monkeypatch):
    """`integrator` said what to do with run.py, which an installed package does not have."""
    monkeypatch.setattr(sys, "argv", [called])
    state = states.of_cycles(tmp_path / "state", 3)
    told = str(consistency.fault(state, "the journal is gone"))
    assert f"({name} state --channel FILE --back-to 2; " in told
    assert f"({name} state --channel FILE --import BACKUP --replace)" in told


def test_a_disk_that_is_full_is_for_its_operator():
    error = as_integrator_error(OSError(errno.ENOSPC, "No space left on device", "/state/spool/1"), "x")
    assert isinstance(error, EnvironmentFault)
    assert str(error).startswith("/state/spool/1: No space left on device: the disk of the state")
    assert isinstance(as_integrator_error(OSError(errno.ENOENT, "no such file"), "x"), Defect)


def test_a_file_that_our_user_may_not_use_is_no_defect():
    error = as_integrator_error(PermissionError(errno.EACCES, "Permission denied", "/var/lib/state"), "x")
    assert isinstance(error, EnvironmentFault)
    assert str(error).startswith("/var/lib/state: Permission denied: the user who runs this may not use it")
    assert isinstance(as_integrator_error(PermissionError(errno.EACCES, "Permission denied"), "x"), Defect)
