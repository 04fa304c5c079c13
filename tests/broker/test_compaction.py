"""A channel that runs for long renews its journal: the stream ends between two cycles, and another one continues."""

import json
import threading

import pytest

from integrator import plan
from integrator.run.job import Job
from integrator.run.state import compaction
from integrator.sources.journal import journal as journals
from integrator.sources.journal.journal import Journal
from tests.parts import channels, kafka_io
from tests.parts.waiting import until

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def test_the_journal_is_renewed_while_the_channel_runs(broker, spark, tmp_path, name, monkeypatch):
    for place, constant, value in (
        (compaction, "MOST_ENTRIES", 3),
        (compaction, "_INSPECT_S", 0.0),
        (journals, "LEAST_COMPACTED", 1),
    ):
        monkeypatch.setattr(place, constant, value)
    file = channels.shop(tmp_path, broker.servers, name, "hvr")
    file.write_text(file.read_text().replace("dialect: hvr", "dialect: hvr, table: audit"))
    broker.create(channels.shop_topics(name))
    rows = 0

    def write(count):
        nonlocal rows
        for _ in range(count):
            rows += 1
            line = {"hvr_op": 1, "hvr_tx_seq": f"{rows:X}", "id": rows, "what": "w"}
            new = tmp_path / "in" / f"{rows:03}.jsonl"
            new.with_suffix(".tmp").write_text(json.dumps(line) + "\n")
            new.with_suffix(".tmp").rename(new)

    stopping = threading.Event()
    job = Job(plan.build(str(file), "UTC"), stopping)
    write(5)
    job.prepare()
    thread = threading.Thread(target=lambda: job.integrate(spark, once=False))
    thread.start()
    try:
        until(lambda: job.state.last_slice() == 5)
        write(1)
        until(lambda: Journal(job.state.journal).compacted == 5)
        write(2)
        until(lambda: job.state.last_slice() == 8)
    finally:
        stopping.set()
        thread.join()
        job.close()
    assert len(Journal(job.state.journal)) == 8
    found = kafka_io.read_all(broker.servers, channels.shop_topics(name))
    assert sorted(json.loads(one.value)["payload"]["id"] for one in found) == [*range(1, 9)]
