"""The status page as a real browser shows it: at rest, under load, after a failure, with 500 tables, in a small window.

`INTEGRATOR_TEST_PICTURES=DIRECTORY` keeps the pictures.
"""

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from integrator import plan
from integrator.contracts.fragments import Checkpoint
from integrator.monitor import monitor, server
from integrator.monitor.server import serving
from integrator.run.seen.failure import Failure
from integrator.run.state.sync import Cycle
from tests.parts import browser, channels

GOOD, BAD, PLOT = "#1a7f4b", "#b3261e", "#2f6fdb"
CYCLE = Cycle(
    cycle=0, files=1, rows=120_000, messages=118_000, bytes=140_000_000, newest=None, operations={"shop.orders 1": 9, "shop.orders 2": 5},
    seconds=1.5, not_sent={}, checkpoint=Checkpoint(1), warnings={}, steps={},
)  # fmt: skip
FAILURE = Failure(
    "2026-01-02T03:04:05+00:00",
    "delivery",
    "retryable, no action needed unless it happens again",
    "no broker of <b>localhost</b>:9092 answers",
    False,
    3,
    8.0,
)


@pytest.fixture
def seen(tmp_path, monkeypatch):
    """What shows a page of a channel, given its tables and what happened: the document and the picture's colours."""
    browser.program()

    def show(name, happened, tables="", **window):
        path = channels.shop(tmp_path, "localhost:9092", "shop")
        text = path.read_text().replace("channel: shop", 'channel: shop\nmonitor: {listen: "127.0.0.1:0"}')
        if tables:
            (tmp_path / "many.sql").write_text(tables)
            text = re.sub(r"tables: .*", f"tables: [{tmp_path}/many.sql]", text)
        path.write_text(text)
        with capture_logs() as logs, serving([plan.build(str(path), "UTC")]) as observer:
            happened(observer, monkeypatch)
            [url] = [log["url"] for log in logs if log["event"] == "monitor"]
            picture = tmp_path / f"{name}.png"
            document = browser.shown(url, picture, **window)
        if kept := os.environ.get("INTEGRATOR_TEST_PICTURES"):
            shutil.copy(picture, Path(kept))
        return document, browser.colours(picture)

    return show


def at_rest(observer, _):
    observer.beat("shop", "integrating", "2026-01-02T03:04:05+00:00")


def under_load(observer, monkeypatch):
    at_rest(observer, monkeypatch)
    now = monitor.time.time()
    for number in range(3000):
        monkeypatch.setattr(monitor.time, "time", lambda number=number: now - 3500 + number)
        rows = 60_000 + number % 60 * 1000
        observer.synced("shop", replace(CYCLE, cycle=number, rows=rows, newest=int((now - 3501 + number) * 1e6)))
    monkeypatch.undo()


def failed(observer, monkeypatch):
    under_load(observer, monkeypatch)
    observer.beat("shop", "failed", "2026-01-02T03:04:05+00:00")
    observer.failure("shop", FAILURE)


def test_at_rest(seen):
    document, colours = seen("rest", at_rest)
    assert '<p id="away" class="bad" hidden' in document
    assert "integrating" in document
    assert "no cycle yet" in document
    assert colours[GOOD] > 20
    assert (colours[BAD], colours[PLOT]) == (0, 0)


def test_under_load(seen):
    document, colours = seen("load", under_load)
    assert f"{sum(60_000 + number % 60 * 1000 for number in range(3000)):,}" in document
    assert colours[PLOT] > 500  # a line over the hour, and the dots of latencies
    assert colours[BAD] == 0


def test_after_a_failure(seen):
    document, colours = seen("failure", failed)
    assert "no broker of &lt;b&gt;localhost&lt;/b&gt;:9092 answers" in document
    assert colours[BAD] > 200  # the bar beside the error, and the word


def test_times_are_said_as_how_long_ago_and_plots_have_axes(seen):
    document, _ = seen("axes", failed)
    assert re.search(r'<time datetime="2026-01-02T03:04:05\+00:00" title="[^"]*">for \d+ days</time>', document)
    assert re.search(r"last synced: cycle 2999, <time [^>]*>8 min ago</time>", document)
    for text in ("200k", "100k", "0", "1", "60 min ago", "15 min ago", "now"):
        assert re.search(f"<text [^>]*>{re.escape(text)}</text>", document), text


def test_it_shows_itself_anew_and_what_was_opened_stays_open(seen, monkeypatch):
    pages, page = [], server.page

    def numbered(monitor):
        pages.append(1)
        return page(monitor).replace("<h1>integrator</h1>", f"<h1>page {len(pages)}</h1>")

    monkeypatch.setattr(server, "page", numbered)
    monkeypatch.setattr(browser, "MORE", ["--virtual-time-budget=25000"])
    document, _ = seen("anew", at_rest)
    assert len(pages) > 3
    assert f"<h1>page {len(pages)}</h1>" in document


def test_a_page_of_a_process_that_is_away_says_so_and_asks_again(seen, monkeypatch):
    asked, answer = [], server._Handler.do_GET

    def away_later(handler):
        if handler.headers["Sec-Fetch-Dest"] == "empty":
            asked.append(1)
            raise OSError
        answer(handler)

    monkeypatch.setattr(server._Handler, "do_GET", away_later)
    monkeypatch.setattr(browser, "MORE", ["--virtual-time-budget=25000"])
    document, colours = seen("away", at_rest)
    assert len(asked) > 3
    assert '<p id="away" class="bad">The process does not answer' in document
    assert colours[BAD] > 20


def test_500_tables_in_a_small_window(seen):
    tables = "".join(f"create table t{number}(id int primary key);\n" for number in range(500))

    def happened(observer, _):
        at_rest(observer, None)
        operations = {f"shop.t{number} 1": 1000 + number for number in range(500)}
        observer.synced("shop", replace(CYCLE, operations=operations))

    document, colours = seen("tables", happened, tables, width=600, height=1000)
    assert "500 topics: rows sent" in document
    assert document.index("shop.t499<") < document.index("shop.t0<")  # those with most rows first
    assert colours[GOOD] > 20
