"""The endpoint of a process: what it answers, to whom, and that it shows neither secrets nor values of rows."""

import json
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from integrator import backlog, plan
from integrator.compare.kept import keep
from integrator.compare.results import TableResult
from integrator.contracts.fragments import Checkpoint
from integrator.errors import ConfigurationError, DataError, DeliveryError, EnvironmentFault, PublicDataError
from integrator.monitor import server
from integrator.monitor.monitor import Monitor
from integrator.monitor.page import page
from integrator.monitor.server import serving
from integrator.run.seen.failures import Failures
from integrator.run.state import aside
from integrator.run.state.sync import Cycle, Rejections
from integrator.sources.contract import ServerLog
from integrator.sources.files.source import Files
from tests.parts import channels
from tests.parts.waiting import PATIENCE_S, until


def made(directory, name="shop", monitor='{listen: "127.0.0.1:0"}'):
    directory.mkdir(exist_ok=True)
    path = channels.shop(directory, "localhost:9092", "t")
    path.write_text(path.read_text().replace("channel: shop", f"channel: {name}\nmonitor: {monitor}"))
    return plan.build(str(path), "UTC")


def cycle(number=0):
    return Cycle(
        cycle=number, files=1, rows=10, messages=8, bytes=900, newest=1, operations={"t.orders 1": 8}, seconds=2.0,
        not_sent={"no <row>": 2}, checkpoint=Checkpoint(1), warnings={"CoerceError of orders.qty": 1}, steps={"send": 1.5},
        rejections=(Rejections("a.jsonl", 3, (), ()),),
    )  # fmt: skip


@pytest.fixture
def shop(tmp_path):
    """The observer, and what the endpoint answers to a path."""
    with capture_logs() as logs, serving([made(tmp_path / "a")]) as observer:
        [url] = [log["url"] for log in logs if log["event"] == "monitor"]

        def get(path, **headers):
            try:
                with urllib.request.urlopen(urllib.request.Request(url + path, headers=headers)) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read().decode()

        yield observer, get, tmp_path / "a"


def test_it_is_ready_when_all_channels_integrate(shop):
    observer, get, _ = shop
    assert get("health")[0] == 200
    assert get("ready")[0] == 503
    observer.beat("shop", "integrating", "")
    assert (get("ready")[0], json.loads(get("ready")[1])) == (200, {"ok": True, "channels": ["shop"], "problems": {}})
    observer.beat("shop", "failed", "")
    assert (get("ready")[0], get("health")[0]) == (503, 200)


def test_what_comparing_tables_came_to_is_on_the_page_and_in_metrics(shop):
    _, get, directory = shop
    assert "compared" not in get("")[1]
    state = Path(plan.build(str(directory / "channel.yaml"), "UTC").state)
    state.mkdir(parents=True, exist_ok=True)
    keep(state, TableResult("a<b", "t.a", rows=7, equal=7, position="0/1"))
    keep(state, TableResult("a<b", "t.a", rows=7, equal=5, different=1, missing=1, position="0/2"))
    keep(state, TableResult("c", "t.c", why="no key"))
    found = json.loads(get("status")[1])["channels"][0]["compared"]
    assert (found["a<b"]["proved_position"], found["a<b"]["position"], found["c"]["why"]) == ("0/1", "0/2", "no key")
    metrics = get("metrics")[1]
    assert 'integrator_compared_differences{channel="shop",table="a<b"} 2.0' in metrics
    assert 'integrator_compared_differences{channel="shop",table="c"}' not in metrics
    assert 'integrator_proved_timestamp_seconds{channel="shop",table="a<b"}' in metrics
    assert 'integrator_proved_timestamp_seconds{channel="shop",table="c"}' not in metrics
    text = get("")[1]
    assert "2 tables compared with topics" in text
    assert "a&lt;b" in text
    assert "<td>never</td>" in text
    (state / "compared.json").write_text("[")
    assert "is damaged" in get("")[1]
    assert get("metrics")[0] == 200


def test_what_check_remarks_is_on_the_page(tmp_path):
    """Such as tables that are not captured, and why."""
    left_out = "table shop.<a> is not captured: it is unlogged"
    shop = replace(made(tmp_path / "a"), notes=(left_out,))
    observer = Monitor([shop])
    assert observer.status()["channels"][0]["notes"] == [left_out]
    assert "<summary>1 note on the channel</summary>" in page(observer)
    assert "table shop.&lt;a&gt; is not captured: it is unlogged" in page(observer)


def test_a_table_that_is_set_aside_is_on_the_page_and_in_the_metrics(shop):
    observer, get, _ = shop
    state = Path(observer.channels["shop"].plan.state)
    state.mkdir(parents=True)
    assert 'integrator_tables_set_aside{channel="shop"} 0.0' in get("metrics")[1]
    aside.keep(state, {"t": "<no> schema"}, {"t": ("public.t",)}, after=0)
    assert "table t is set aside since" in page(observer)
    assert "&lt;no&gt; schema" in page(observer)
    assert 'integrator_tables_set_aside{channel="shop"} 1.0' in get("metrics")[1]
    since = aside.read(state)["t"].since
    assert aside.keep(state, {"t": "another reason"}, {"t": ("public.t",)}, after=7) == []
    kept = aside.read(state)["t"]
    assert (kept.reason, kept.since, kept.after) == ("another reason", since, 0)


LOG = ServerLog("extended", "0/16B3748", 5_000_000_000, 3_000, 1.25, 2_000_000, 2, 90.0)


def test_the_log_that_a_database_keeps_is_shown_while_the_database_answers(tmp_path, monkeypatch):
    """Its disk fills where nobody sees that: what is kept, how far we are, and how much may come until changes are gone."""
    now = [LOG]

    def server_log(_source):
        if now[0] is None:
            raise EnvironmentFault("db.example.com: is away")
        return now[0]

    monkeypatch.setattr(Files, "server_log", server_log)
    monkeypatch.setattr(backlog, "_EVERY_S", 0)
    monkeypatch.setattr(backlog, "_REST", 0)
    observer = Monitor([made(tmp_path / "a")])
    metrics = observer.metrics.text().decode()
    assert 'integrator_server_log_kept_bytes{channel="shop"} 5e+09' in metrics
    assert 'integrator_server_log_left_bytes{channel="shop"} 2e+06' in metrics
    assert 'integrator_server_oldest_transaction_seconds{channel="shop"} 90.0' in metrics
    now[0] = replace(LOG, left_bytes=None)
    shown = page(observer)
    assert '<b>5.0 GB</b><span class="soft">log kept by the database (extended)</span>' in shown
    assert '<b>3.0 kB, 1.2 s</b><span class="soft">not captured, after 0/16B3748</span>' in shown
    assert "gives up" not in shown
    assert "snapshot of" not in shown
    now[0] = replace(
        LOG, snapshot_table="shop.<a>", snapshot_rows=1_000_000, snapshot_about_rows=5_000_000,
        snapshot_seconds_left=61.4, snapshot_tables_left=2,
    )  # fmt: skip
    rows = "1,000,000 of about 5,000,000, 61 s left, and 2 tables after it"
    assert f'<b>{rows}</b><span class="soft">snapshot of shop.&lt;a&gt;: rows</span>' in page(observer)
    metrics = observer.metrics.text().decode()
    assert 'integrator_snapshot_rows{channel="shop"} 1e+06' in metrics
    assert 'integrator_snapshot_tables_left{channel="shop"} 2.0' in metrics
    now[0] = None
    assert observer.status()["channels"][0]["server_log"] is None
    assert "integrator_server_log_kept_bytes{" not in observer.metrics.text().decode()


def test_after_a_restart_the_last_synced_cycle_is_known_and_why_a_channel_is_suspended(shop):
    """The page said "no cycle yet", the metric 0, and nothing gave the reason."""
    observer, get, _ = shop
    assert json.loads(get("status")[1])["channels"][0]["last_synced_cycle"] is None
    observer.continues_after("shop", 41, datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc))
    observer.beat("shop", "suspended", "2026-01-02T03:04:06+00:00", "a new <disk>")
    [status] = json.loads(get("status")[1])["channels"]
    assert (status["last_synced_cycle"], status["last_synced"]) == (41, "2026-01-02T03:04:05+00:00")
    assert (status["doing"], status["why"]) == ("suspended", "a new <disk>")
    assert 'integrator_last_synced_timestamp_seconds{channel="shop"} 1.767323045e+09' in get("metrics")[1]
    assert "a new &lt;disk&gt;" in get("")[1]


METRICS = (
    'rows_read_total{channel="shop"} 10.0',
    'rows_sent_total{channel="shop",operation="1",topic="t.orders"} 8.0',
    'messages_total{channel="shop"} 8.0',
    'message_bytes_total{channel="shop"} 900.0',
    'files_total{channel="shop"} 1.0',
    'cycles_total{channel="shop"} 1.0',
    'rows_skipped_total{channel="shop",reason="no <row>"} 2.0',
    'values_coerced_total{channel="shop",reason="CoerceError of orders.qty"} 1.0',
    'lines_rejected_total{channel="shop"} 3.0',
    'restarts_total{channel="shop"} 0.0',
    'step_seconds_total{channel="shop",step="send"} 1.5',
    'cycle_seconds_bucket{channel="shop",le="1.0"} 0.0',
    'cycle_seconds_bucket{channel="shop",le="2.5"} 1.0',
    'cycle_seconds_sum{channel="shop"} 2.0',
    'latency_seconds_count{channel="shop"} 1.0',
    'lag_files{channel="shop"} 1.0',
    'lag_bytes{channel="shop"} 70.0',
)


def test_a_cycle_is_in_the_metrics_the_status_and_the_page(shop):
    observer, get, directory = shop
    (directory / "in" / "b.jsonl").write_text("x" * 70)
    observer.synced("shop", cycle())
    metrics = get("metrics")[1]
    for line in METRICS:
        assert f"integrator_{line}\n" in metrics
    [synced] = re.findall(r'integrator_last_synced_timestamp_seconds\{channel="shop"\} (\S+)', metrics)
    assert abs(float(synced) - time.time()) < 60
    [status] = json.loads(get("status")[1])["channels"]
    assert (status["counts"]["rows"], status["topics"]["t.orders"]["operations"]) == (10, {"1": 8})
    page = get("")[1]
    assert "no &lt;row&gt;" in page
    assert page.count("<script") == 1  # the page's own


def test_a_failure_is_shown_without_secrets_and_values(shop):
    observer, get, directory = shop
    secrets = observer.channels["shop"].plan.secrets
    secrets.add("hunter2")
    failures = Failures(directory, "shop", secrets, observer)
    failures.again(DeliveryError("refused with hunter2; start the broker"), 1.0)
    assert "refused with ********; start the broker" in get("")[1]
    failures.final(DataError("a.jsonl:3: qty: 'private' is no integer"))
    assert "a.jsonl:3: what is wrong may show values of rows, and is with its remedy in the log" in get("")[1]
    for text in ("table t, column at: '12:30: x' is no time", "'a:5: private' is no line", "a: private:3: x"):
        failures.final(DataError(text))
        assert "its text may show values of rows" in get("")[1]
        assert not {"12:30", "private"} & set(re.findall(r"12:30|private", get("")[1] + get("status")[1]))
    failures.final(PublicDataError("a.jsonl:3: table t: column 'note' is not in its definition"))
    assert "a.jsonl:3: table t: column &#x27;note&#x27; is not in its definition" in get("")[1]
    failures.again(DeliveryError("refused"), 1.0)
    assert 'integrator_restarts_total{channel="shop"} 2.0' in get("metrics")[1]
    failures.final(DataError("a.jsonl:3: qty: 'private' is no integer"))
    everything = "".join(get(path)[1] for path in ("", "status", "metrics"))
    assert "private" not in everything
    assert "hunter2" not in everything
    assert 'integrator_errors_total{channel="shop",kind="data"} 6.0' in everything
    failures.synced(4)
    assert "mended <time" in get("")[1]
    assert 'integrator_errors_total{channel="shop",kind="data"} 6.0' in get("metrics")[1]


def test_it_answers_to_names_of_loopback_and_to_known_paths_only(shop):
    _, get, _ = shop
    assert get("status", Host="evil.example:80")[0] == 421
    assert get("status", Host="localhost:80")[0] == 200
    assert get("other")[0] == 404


@pytest.mark.parametrize("listen", [":8472", "8472", "http://127.0.0.1:8472"])
def test_an_address_is_written_out(listen, tmp_path):
    with pytest.raises(ConfigurationError, match="listen"):
        made(tmp_path / "a", monitor=f'{{listen: "{listen}"}}')


def test_channels_of_a_process_share_an_address(tmp_path):
    plans = [made(tmp_path / str(port), f"c{port}", f'{{listen: "127.0.0.1:{port}"}}') for port in (1, 2)]
    with pytest.raises(ConfigurationError, match="share one endpoint"), serving(plans):
        pass


def test_an_address_that_is_taken_is_the_operators(shop, tmp_path):
    with capture_logs() as logs, serving([made(tmp_path / "b")]):
        port = next(log["url"] for log in logs).rstrip("/").rpartition(":")[2]
        taken = made(tmp_path / "c", monitor=f'{{listen: "127.0.0.1:{port}"}}')
        with pytest.raises(EnvironmentFault, match="cannot be listened on"), serving([taken]):
            pass


@pytest.fixture
def address(tmp_path):
    """The address of an endpoint."""
    with capture_logs() as logs, serving([made(tmp_path / "a")]):
        [url] = [log["url"] for log in logs if log["event"] == "monitor"]
        host, _, port = url.removeprefix("http://").rstrip("/").rpartition(":")
        yield host, int(port)


def test_a_client_that_asks_byte_by_byte_does_not_keep_its_thread(address, monkeypatch):
    """Each byte had ten seconds of its own."""
    monkeypatch.setattr(server, "_PATIENCE_S", 1.0)
    with socket.create_connection(address) as slow:
        slow.settimeout(PATIENCE_S)

        def is_closed():
            try:
                slow.sendall(b"G")
            except OSError:
                return True
            time.sleep(0.2)
            return False

        until(is_closed)


def test_silent_connections_keep_nobody_out_and_are_bounded(address):
    silent = [socket.create_connection(address) for _ in range(3 * server._MOST)]
    try:
        with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/health") as answer:
            assert answer.status == 200
        # a thread whose connection has given way ends by itself
        until(
            lambda: sum(one.name.endswith("(process_request_thread)") for one in threading.enumerate()) <= server._MOST
        )
        silent[0].settimeout(PATIENCE_S)
        assert silent[0].recv(1) == b""  # it has given way
    finally:
        for one in silent:
            one.close()


def test_an_answer_that_fails_is_logged_and_a_client_that_goes_is_not(address, monkeypatch):
    def broken(_monitor):
        raise ZeroDivisionError

    monkeypatch.setattr(server, "page", broken)
    with capture_logs() as logs:
        with socket.create_connection(address) as gone:
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
        with (
            pytest.raises(OSError, match=r"closed|reset"),
            urllib.request.urlopen(f"http://{address[0]}:{address[1]}/"),
        ):
            pass
        time.sleep(0.3)
    [logged] = logs
    assert "ZeroDivisionError" in logged["error"]
