"""What commands print: whole in a pipe, with colours only where they are wanted, logs on stderr alone, bars on a terminal."""

import json
import subprocess
import sys

import pytest
import structlog

from integrator import plan as planning
from integrator.channel import load
from integrator.cli import main
from integrator.run.state.directory import State
from integrator.run.state.sync import Cycle
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import Slice
from tests.parts import states
from tests.parts.channels import SHOP_SQL
from tests.parts.terminal import COLOUR, on_terminal, plain

COLUMN = "a_rather_long_name_of_a_column_that_is_made_of_others_and_is_in_each_message_of_it"
EXPRESSION = (
    "sql: case when email like '%@example.com' then 'one of ours' else 'of [somebody] else, ' || name || '; ask' end"
)
TOPIC = "a.rather.long.name.of.a.topic.as.large.companies.have.them.by.their.rules"
REASON = "[ops] a new disk for the broker that has the first replica of most of the topics, ticket 12345"


@pytest.fixture
def channel(tmp_path):
    (tmp_path / "in").mkdir()
    path = tmp_path / "a-rather-long-name-of-a-channel-file-which-says-what-it-is-for.yaml"
    path.write_text(
        f"""
channel: shop
locations:
  src: {{class: files, path: in, dialect: hvr}}
  kaf: {{class: kafka, Kafka_Brokers: [localhost], Kafka_Default_Topic: "{TOPIC}.{{hvr_tbl_name}}"}}
tables: [{{file: {SHOP_SQL}, only: [customers]}}]
actions:
  - {{action: ColumnProperties, Name: {COLUMN}, Extra: true, Datatype: varchar, Length: 300, IntegrateExpression: "{EXPRESSION}"}}
"""
    )
    return path


def synced(directory):
    """A state with a large cycle, suspended for a long reason."""
    state = State(str(directory))
    state.make()
    Journal(state.journal).take([Slice("/in/1.jsonl", 100, 1000)])
    states.spark(state, "offsets", 0, {}, {"slices": 1})
    state.mark(Cycle(0, 1, 10**11, 10**11, 10**14, None, {}, {}, states.Checkpoint(1)))
    states.commit(state, 0)
    state.suspend(REASON)


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["integrator", *map(str, words)])
    return main.main()


@pytest.mark.parametrize("command", ["check", "plan", "compare"])
def test_a_command_that_takes_one_channel_refuses_two(command, monkeypatch, capsys):
    """Else it would be of the last one alone."""
    assert run(monkeypatch, command, "--channel", "a.yaml", "--channel=b.yaml") == 2
    assert f"{command} takes one --channel: run it for each" in capsys.readouterr().err


WHOLE = {
    # what is printed whole, in one line
    "check": lambda channel: [f"{channel}: 1 table, no problems"],
    "plan": lambda channel: [
        COLUMN,
        EXPRESSION,
        f"table customers → topic {TOPIC}.customers",
        "'queue.buffering.max.kbytes': '32768'",
        '"field": "email"',
        f'"field": "{COLUMN}"',
    ],
    "state": lambda _: ["cycle  synced", "rows that wait", "  100000000000000  ", f"suspended: {REASON}"],
}


@pytest.mark.parametrize("command", WHOLE)
def test_nothing_is_cut_or_wrapped_in_a_pipe(command, channel, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    synced(tmp_path / "state" / "shop")
    assert run(monkeypatch, command, "--channel", channel) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    for text in WHOLE[command](channel):
        assert any(text in line for line in lines), text
    assert "… │" not in out
    assert "\x1b" not in out


HASHED = [
    ("MessageKey: '{id}-{hvr_key_hash}'", True),
    ("MessageHeaders: 'hash={hvr_key_hash}', MessageKeySerializer: JSON_ROW", True),
    ("MessageKeySerializer: JSON_ROW", False),
]


@pytest.mark.parametrize(("action", "is_hashed"), HASHED)
def test_what_the_hash_is_of_is_said_where_messages_have_it(action, is_hashed, channel, monkeypatch, capsys):
    channel.write_text(f"{channel.read_text().rstrip()}\n  - {{action: Integrate, {action}}}\n")
    assert run(monkeypatch, "plan", "--channel", channel) == 0
    assert ("{hvr_key_hash} is of" in capsys.readouterr().out) == is_hashed


def test_a_cell_continues_in_further_lines_on_a_narrow_terminal(channel):
    code, written = on_terminal([sys.executable, "run.py", "plan", "--channel", str(channel)])
    cells = [line.split("│")[1].strip() for line in plain(written) if line.startswith("│")]
    assert code == 0
    assert COLUMN in "".join(cells)


READ_BY = {"check": (planning, "build"), "plan": (planning, "build")}
"""What a command reads a channel with, where that is not its progress alone."""


@pytest.mark.parametrize("command", ["check", "plan", "state", "suspend", "resume"])
def test_logs_are_on_stderr(command, channel, monkeypatch, capsys):
    module, name = READ_BY.get(command, (load, "progress_of"))
    read = getattr(module, name)

    def reading(*given, **named):
        structlog.get_logger().warning("a warning", url="http://me:hush@registry")
        return read(*given, **named)

    monkeypatch.setattr(module, name, reading)
    channel.write_text(channel.read_text().replace("[localhost]", "[localhost], Stream_Password: hush"))
    run(monkeypatch, command, "--channel", channel)
    printed = capsys.readouterr()
    assert "a warning" not in printed.out
    assert json.loads(printed.err.splitlines()[0])["event"] == "a warning"


BARS = """
import pathlib, sys, tempfile, time
import structlog
from integrator.refresh.bars import Bars
from integrator.refresh.slices import Slice
from integrator.run.seen import progress

progress.configure()
log = structlog.get_logger()
directory = pathlib.Path(tempfile.mkdtemp())
slices = [Slice("orders", number, 3, "") for number in range(3)] + [Slice("a_table_with_a_name_of_forty_characters__", 0, 1, "")]
bars = Bars(slices, directory)
bars.complete(slices[0], 200, earlier=True)
with bars.shown():
    for number, part in enumerate(slices[1:], 2):
        bars.begin(part)
        (directory / f"{number}.0").write_text("60")
        (directory / f"{number}.1").write_text("40")
        time.sleep(0.7)
        bars.complete(part, 200)
        log.info("slice sent", slice=part.name)
print("orders: 600 rows")
"""


@pytest.fixture(scope="module", params=["", "1"], ids=["colours", "NO_COLOR"])
def bars(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "stdout"
    code, written = on_terminal([sys.executable, "-c", BARS], more={"NO_COLOR": request.param}, stdout=out)
    assert code == 0, written
    return request.param, written, out.read_text()


def test_bars_say_which_slice_of_how_many_its_rows_and_the_time_left(bars):
    _, written, out = bars
    lines = plain(written)
    assert any(line.startswith("1 of 4 slices") and "300 of ~800 rows" in line and " left" in line for line in lines)
    assert any(line.startswith("orders, slice 2 of 3") and "100 rows" in line and "rows/s" in line for line in lines)
    assert lines[-1].startswith("4 of 4 slices")
    assert "800 rows" in lines[-1]
    assert all(len(line) <= 80 for line in lines if "slice sent" not in line)
    assert out == "orders: 600 rows\n"


def test_the_log_is_above_the_bars_and_whole(bars):
    sent = [line for line in plain(bars[1]) if "slice sent" in line]
    assert len(sent) == 3
    assert all(line.startswith("20") for line in sent)


def test_no_color_has_no_colours(bars):
    no_color, written, _ = bars
    assert bool(COLOUR.search(written)) == (not no_color)


def test_where_nobody_looks_there_are_json_lines_alone():
    done = subprocess.run([sys.executable, "-c", BARS], capture_output=True, text=True, check=True)
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == ["slice sent"] * 3
    assert done.stdout == "orders: 600 rows\n"


def test_the_log_of_a_command_has_no_colours_with_no_color(channel):
    program = "import structlog; from integrator.run.seen import progress; progress.configure(); structlog.get_logger().info('x', a=1)"
    for no_color in ("", "1"):
        _, written = on_terminal([sys.executable, "-c", program], more={"NO_COLOR": no_color})
        assert bool(COLOUR.search(written)) == (not no_color)
        assert "a=1" in plain(written)[0]
