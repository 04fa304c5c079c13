"""A channel whose data fail, are mended, and that is resumed: log, heartbeat, state, metrics and page agree."""

import json
import urllib.error
import urllib.request

import pytest

from integrator.run import resume
from tests.conftest import DATA
from tests.parts import channels, kafka_io
from tests.parts.daemon import Daemon
from tests.parts.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.broker, pytest.mark.spark]
CHANGES = DATA / "changes.wal2json-v2.jsonl"


def get(url):
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def put(home, text):
    """Name the file of changes of a channel when it is whole: half of it could be read otherwise."""
    path = home / "in" / ".a.jsonl"
    path.write_text(text)
    path.rename(path.with_name("a.jsonl"))


def test_all_that_is_shown_of_a_failed_channel_agrees(broker, tmp_path, name, command, monkeypatch):
    monkeypatch.setattr(resume.resume, "__defaults__", (PATIENCE_S,))
    good, failing = (
        channels.shop(tmp_path / which, broker.servers, f"{name}.{which}") for which in ("good", "failing")
    )
    for which, path in (("good", good), ("failing", failing)):
        broker.create(channels.shop_topics(f"{name}.{which}"))
        path.write_text(path.read_text().replace("channel: shop", f"channel: {which}"))
    daemon = Daemon(good, "--channel", str(failing))
    [monitor] = daemon.wait_for("monitor")
    url = monitor["url"]
    daemon.wait_for("integrating", 2)
    until(lambda: get(url + "ready")[0] == 200)

    broken = CHANGES.read_text().replace('"action":"I"', '"action":"?"', 1)
    assert broken != CHANGES.read_text()
    put(tmp_path / "failing", broken)
    put(tmp_path / "good", CHANGES.read_text())
    [failed] = daemon.wait_for("failed")
    until(lambda: any(event["rows"] for event in daemon.events("cycle synced")))
    assert (failed["channel"], failed["kind"]) == ("failing", "data")
    heartbeat = tmp_path / "failing" / "state" / "failing" / "heartbeat.json"
    until(lambda: json.loads(heartbeat.read_text())["doing"] == "failed")
    shown = command("state", "--channel", failing).out
    assert "failed since" in shown
    assert "(data), not mended, the owner of the source data must act" in shown
    status = {one["channel"]: one for one in json.loads(get(url + "status")[1])["channels"]}
    assert (status["failing"]["doing"], status["failing"]["failure"]["kind"]) == ("failed", "data")
    assert (status["good"]["doing"], status["good"]["counts"]["rows"]) == ("integrating", 2102)
    metrics = get(url + "metrics")[1]
    assert 'integrator_errors_total{channel="failing",kind="data"} 1.0' in metrics
    assert 'integrator_state{channel="failing",doing="failed"} 1.0' in metrics
    assert 'integrator_lag_files{channel="failing"} 1.0' in metrics
    assert "last failure" in get(url)[1]
    assert (get(url + "ready")[0], get(url + "health")[0]) == (503, 200)

    put(tmp_path / "failing", CHANGES.read_text())
    resumed = command("resume", "--channel", failing)
    assert resumed.code == 0, resumed.err
    assert "which had failed (data), starts again in process" in resumed.out
    daemon.wait_for("cycle synced", 2)
    until(lambda: get(url + "ready")[0] == 200)
    daemon.wait_for("failure mended")
    assert "mended at" in command("state", "--channel", failing).out
    assert "mended <time" in get(url)[1]
    until(lambda: 'integrator_lag_files{channel="failing"} 0.0' in get(url + "metrics")[1])
    assert daemon.terminate() == 0
    for which in ("good", "failing"):
        assert len(kafka_io.read_all(broker.servers, channels.shop_topics(f"{name}.{which}"))) == 2102
    again = command("resume", "--channel", failing)
    assert (again.code, "no process integrates channel failing" in again.err) == (5, True)
