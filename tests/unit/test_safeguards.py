"""What keeps rows and secrets to whom they are for: modes of files, warnings of `check`, masks of `plan`, the log."""

import json
import os
import stat
import sys
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from integrator import plan
from integrator.cli import main
from integrator.contracts.fragments import Checkpoint
from integrator.errors import ConfigurationError, DataError
from integrator.run import daemon
from integrator.run.seen.cycle_log import CycleLog
from integrator.run.spark import session as sessions
from integrator.run.state.sync import Cycle, Rejections
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import Slice
from integrator.sources.spool import Spool

SECRET = "s3cret-word-4711"


def channel(directory, source="class: files, path: in, dialect: hvr", more="", actions=""):
    (directory / "in").mkdir(exist_ok=True)
    (directory / "t.sql").write_text("create table t(id int primary key, v text);")
    file = directory / "c.yaml"
    file.write_text(
        f"channel: c\n{more}locations:\n  src: {{{source}}}\n  kaf: {{class: kafka, Kafka_Brokers: [localhost]}}\n"
        f"tables: [t.sql]\nactions:\n  - {{action: Integrate}}\n{actions}"
    )
    return file


def test_plan_does_not_show_a_secret_in_sql(tmp_path, monkeypatch, capsys):
    (tmp_path / "salt").write_text(SECRET)
    sql = f"sql: md5({{v}} || '${{file:{tmp_path}/salt}}')"
    file = channel(tmp_path, actions=f'  - {{action: ColumnProperties, Name: v, IntegrateExpression: "{sql}"}}\n')
    for words in (["plan"], ["plan", "--json"], ["check"], ["state"]):
        monkeypatch.setattr(sys, "argv", ["run.py", *words, "--channel", str(file)])
        assert main.main() == 0
        printed = capsys.readouterr()
        assert SECRET not in printed.out + printed.err
    assert SECRET in str(plan.build(str(file), "UTC").recipe)  # where it is needed


@pytest.mark.parametrize("path", [f"s3://KEY:{SECRET}@bucket/in", f"https://host/in?sv=2024&sig={SECRET}"])
def test_a_path_of_changes_has_no_key(path, tmp_path):
    file = channel(tmp_path, source=f"class: files, path: '{path}', dialect: hvr")
    with pytest.raises(ConfigurationError, match="a path must not have a password or key") as raised:
        plan.build(str(file), "UTC")
    assert SECRET not in str(raised.value)


SOCKETS = [
    ("0.0.0.0:7010", "listen 0.0.0.0:7010 without TLS: the secret and the lines can be read on their way; set tls"),
    ("127.0.0.1:7010", None),
    ("[::1]:7010", None),
]


@pytest.mark.parametrize(("listen", "note"), SOCKETS)
def test_a_secret_that_goes_over_a_network_in_clear_is_a_warning(listen, note, tmp_path):
    made = plan.build(
        str(channel(tmp_path, f"class: socket, dialect: hvr, listen: '{listen}', secret: {SECRET}")), "UTC"
    )
    found = [one for one in made.notes if "without TLS" in one]
    assert found == ([note] if note else [])


def test_files_of_the_spool_are_for_whoever_runs_the_process_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["run.py", "check", "--channel", str(tmp_path / "none.yaml")])
    umask = os.umask(0o022)
    try:
        assert main.main() == 2  # each command sets it first
        spool = Spool(tmp_path / "spool")
        writer = spool.writer("a")
        writer.write(b'{"n":1}\n')
        spool.refuse("peer", "a", 2, "no JSON", b"x")
        found = {path.name: path for path in (tmp_path / "spool").iterdir()}
        writer.seal()
        found |= {path.name: path for path in (tmp_path / "spool").iterdir()}
        assert sorted(found) == ["000000000001.a.1.jsonl", "a.1.open", "refused.jsonl"]
        there = [path for path in found.values() if path.exists()]
        assert {stat.S_IMODE(path.stat().st_mode) for path in there} == {0o600}
        assert stat.S_IMODE((tmp_path / "spool").stat().st_mode) == 0o700
    finally:
        os.umask(umask)


@pytest.mark.parametrize(
    ("secret", "warned"),
    [(True, []), (False, ["anyone who can reach Spark's ports can run code on the driver and the executors"])],
)
def test_a_cluster_without_a_secret_is_a_warning(secret, warned, monkeypatch):
    monkeypatch.setattr(sessions, "start", lambda *_, **__: SimpleNamespace(stop=lambda: None))
    for name in ("warm_up", "on_jvm_signal", "stop"):
        monkeypatch.setattr(sessions, name, lambda *_: None)
    monkeypatch.setattr(sessions, "has_secret", lambda _: secret)
    monkeypatch.setattr(daemon, "_on_jvm_signals", lambda *_: None)
    monkeypatch.setattr(daemon, "_run", lambda *_, **__: None)
    with capture_logs() as logs:
        daemon.integrate([], once=True)
    assert [one["event"] for one in logs] == warned
    assert all("spark.authenticate=true" in one["remedy"] for one in logs)


@pytest.mark.parametrize("each", [False, True])
def test_rejected_lines_are_in_the_log(each):
    lines = [{"line": 2, "stage": "VALUE_CONVERTER"}, {"line": 5, "stage": "TRANSFORMATION"}]
    cycle = Cycle(
        cycle=3, files=1, rows=10, messages=8, bytes=900, newest=None, operations={}, seconds=2.0, not_sent={},
        checkpoint=Checkpoint(1), rejections=[Rejections("a.jsonl", 7, lines, [])],
    )  # fmt: skip
    with capture_logs() as logs:
        CycleLog("shop", each_rejected=each).synced(cycle)
    [counted] = [one for one in logs if one["event"] == "lines rejected"]
    assert (counted["file"], counted["count"], counted["first_line"], counted["log_level"]) == (
        "a.jsonl",
        7,
        2,
        "warning",
    )
    assert [(one["line"], one["stage"]) for one in logs if one["event"] == "line rejected"] == (
        [(2, "VALUE_CONVERTER"), (5, "TRANSFORMATION")] if each else []
    )


RETRIES = [
    # errors, timeout, the longest pause, and the first one
    ("{retry.timeout: 60000, retry.delay.max.ms: 5000}", 60.0, 5.0, 1.0),
    ("{retry.timeout: -1}", -1.0, 60.0, 1.0),
    ("{retry.delay.max.ms: 500}", None, 0.5, 0.5),
]


@pytest.mark.parametrize(("errors", "timeout", "most", "first"), RETRIES)
def test_names_of_kafka_connect_say_how_failures_are_retried(errors, timeout, most, first, tmp_path):
    made = plan.build(str(channel(tmp_path, more=f"errors: {errors}\n")), "UTC").restart
    assert (made.most_seconds, made.first_seconds) == (most, first)
    assert made.timeout_seconds == (timeout if timeout is not None else type(made)().timeout_seconds)


CHANGED = {
    "written on": (100, 2, "has 100 bytes and had 30 when it was taken"),
    "touched": (30, 3, "still has 30 bytes, and was written again or touched since it was taken"),
}


@pytest.mark.parametrize("how", CHANGED)
def test_a_file_that_is_not_as_it_was_is_named_with_what_helps(how, tmp_path):
    size, mtime, text = CHANGED[how]
    journal = Journal(tmp_path / "files.jsonl")
    journal.take([Slice("in/a.jsonl", 30, 2)])
    with pytest.raises(Exception, match=text) as raised:
        journal.take([Slice("in/a.jsonl", size, mtime)])
    assert "move a synced one away" in str(raised.value)
    assert not isinstance(raised.value, DataError)
    assert json.loads((tmp_path / "files.jsonl").read_text())["size"] == 30


SHORT = "a secret of one character cannot be hidden, because nearly every text has it; use a longer one"
ONE_CHARACTER = [
    # the line of the channel in which it stands, more of the Kafka location, actions, and the problem
    (4, ", Kafka_Authentication_Method: USER_PASS, Stream_User: me, Stream_Password: e", "", "$.locations.kaf.Stream_Password: "),
    (4, ", Kafka_Authentication_Method: USER_PASS, Stream_User: me, Stream_Password: '${A_SECRET}'", "", "Stream_Password: ${A_SECRET}: "),
    (4, ", Stream_Public_Certificate: '${file:one}'", "", "Stream_Public_Certificate: ${file:one}: "),
    (4, ", Kafka_Schema_Registry: 'https://me:e@host'", "", "Kafka_Schema_Registry: "),
    (8, "", '  - {action: Environment, Name: HVR_KAFKA_PROPERTY, Value: "ssl.key.password=e"}\n', "Value: ssl.key.password: "),
    (4, ", Kafka_Authentication_Method: USER_PASS, Sasl_Jaas_Config: '${A_JAAS}'", "", "Sasl_Jaas_Config: password: "),
]  # fmt: skip


@pytest.mark.parametrize(("line", "kafka", "actions", "problem"), ONE_CHARACTER)
def test_a_secret_of_one_character_is_refused_and_no_text_is_full_of_stars(
    line, kafka, actions, problem, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("A_SECRET", "e")
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    monkeypatch.setenv("A_JAAS", f'{module} required username="me" password="e";')
    (tmp_path / "one").write_text("e\n")
    file = channel(tmp_path, actions=actions)
    file.write_text(file.read_text().replace("[localhost]", f"[localhost]{kafka}"))
    monkeypatch.setattr(sys, "argv", ["run.py", "check", "--channel", str(file)])
    assert main.main() == 2
    printed = capsys.readouterr().err
    assert f"c.yaml:{line}: " in printed
    assert f"{problem}{SHORT}" in printed
    assert "*" not in printed.replace("********", "", 1)
