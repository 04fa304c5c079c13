"""A real Prometheus reads the endpoint, with the rules of ops/alerts.yml: an alert fires, and is over after the cause.

Only the times for which a rule's condition must hold are shorter here.
"""

import json
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request

import pytest
from structlog.testing import capture_logs

from integrator.errors import DeliveryError
from integrator.monitor.server import serving
from integrator.run.seen.failures import Failures
from tests.conftest import ROOT
from tests.parts.brokers import free_port
from tests.parts.waiting import PATIENCE_S
from tests.unit.test_monitor import cycle, made


class Prometheus:
    """A server that reads one endpoint each half second."""

    def __init__(self, directory, target):
        rules = re.sub(r"for: \w+", "for: 1s", (ROOT / "ops" / "alerts.yml").read_text())
        (directory / "alerts.yml").write_text(rules)
        (directory / "prometheus.yml").write_text(
            f"""
global: {{scrape_interval: 500ms, evaluation_interval: 500ms}}
scrape_configs:
  - job_name: integrator
    static_configs: [{{targets: ["{target}"]}}]
rule_files: [alerts.yml]
"""
        )
        self._place = f"127.0.0.1:{free_port()}"
        self._log = directory / "log"
        words = [f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data"]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                ["prometheus", *words, f"--web.listen-address={self._place}"], stdout=log, stderr=log
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()

    def _get(self, path):
        with urllib.request.urlopen(f"http://{self._place}/api/v1/{path}") as answer:
            return json.load(answer)["data"]

    def _until(self, look):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                if found := look():
                    return found
            except OSError:
                assert self._process.poll() is None, self._log.read_text()
            time.sleep(0.2)
        pytest.fail(f"{self._get('alerts')}\n{self._log.read_text()[-2000:]}")

    def value(self, query, wanted):
        """Wait until a query has this value."""

        def look():
            found = self._get(f"query?query={urllib.parse.quote(query)}")["result"]
            return [one["value"][1] for one in found] == [wanted]

        self._until(look)

    def firing(self, *names):
        """Wait until these alerts fire, and no others; return them."""

        def look():
            alerts = [one for one in self._get("alerts")["alerts"] if one["state"] == "firing"]
            named = sorted(one["labels"]["alertname"] for one in alerts)
            return (alerts or ["none"]) if named == sorted(names) else None

        return self._until(look)


def test_alerts_fire_and_are_over(tmp_path):
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus is not installed (Debian: prometheus)")
    with capture_logs() as logs, serving([made(tmp_path / "a")]) as observer:
        [url] = [log["url"] for log in logs if log["event"] == "monitor"]
        observer.beat("shop", "integrating", "")
        with Prometheus(tmp_path, url.removeprefix("http://").rstrip("/")) as prometheus:
            prometheus.value("sum(integrator_rows_read_total)", "0")
            observer.synced("shop", cycle())
            prometheus.value("sum(integrator_rows_read_total)", "10")
            prometheus.value('integrator_state{doing="integrating"}', "1")
            [rejected] = prometheus.firing("IntegratorLinesRejected")
            assert "integrator replay --channel FILE" in rejected["annotations"]["remedy"]
            observer.beat("shop", "failed", "")
            alerts = prometheus.firing("IntegratorChannelFailed", "IntegratorLinesRejected")
            [failed] = [one for one in alerts if one["labels"]["alertname"] == "IntegratorChannelFailed"]
            assert failed["labels"]["channel"] == "shop"
            assert failed["annotations"]["summary"].startswith("Channel shop has failed")
            failures = Failures(tmp_path / "a", "shop", observer.channels["shop"].plan.secrets, observer)
            for _ in range(5):
                failures.again(DeliveryError("refused"), 1.0)
            observer.beat("shop", "integrating", "")
            prometheus.firing("IntegratorChannelRestarts", "IntegratorLinesRejected")
