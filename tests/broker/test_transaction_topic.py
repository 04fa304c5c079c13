"""Transaction_Topic at a real broker: over files, tasks and cycles, and when cycles are repeated (I2, I8)."""

import itertools
import json
from collections import Counter

import pytest

from tests.broker.test_exactly_once import forget_sync
from tests.parts import kafka_io, pure

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

DDL = "create table t(id int primary key, n int); create table u(id int primary key, n int);"
TRANSACTIONS = 40
ROWS = 7
"""Of each transaction; a file has 5, so that transactions go over files, and over cycles."""


@pytest.fixture(params=["at_least_once", "exactly_once"])
def delivery(request):
    return request.param


@pytest.fixture
def path(delivery, real_broker, name, tmp_path):
    (tmp_path / "in").mkdir()
    real_broker.create([name], 4)
    real_broker.create([f"{name}.transaction"], 1)
    kafka = f', Kafka_Default_Topic: "{name}", Transaction_Topic: "{name}.transaction"'
    pure.recipe(tmp_path, DDL, f"  - {pure.PLAIN}\n", kafka=kafka)
    made = tmp_path / "channel.yaml"
    text = made.read_text().replace("Kafka_Brokers: [localhost]", f'Kafka_Brokers: ["{real_broker.servers}"]')
    made.write_text(
        text.replace("channel: pure", f"channel: pure\nstate: {tmp_path}/state") + f"delivery: {delivery}\n"
    )
    return made


def written():
    """Rows, transaction after transaction, in parts of five."""
    rows = []
    for number in range(1, TRANSACTIONS + 1):
        for place in range(ROWS):
            row = {"hvr_tbl_name": "tu"[(number + place) % 2], "id": 100 * number + place, "n": number}
            moment = f"2026-11-20T12:00:{number:02}.000Z"
            left = ROWS - place
            rows.append({**row, "hvr_tx_seq": f"{number:X}", "hvr_tx_countdown": left, "hvr_cap_tstamp": moment})
    return [rows[start : start + 5] for start in range(0, len(rows), 5)]


def test_each_begin_and_end_is_sent_once_a_cycle_and_the_same(
    delivery, path, real_broker, integrate_once, name, tmp_path
):
    parts = written()
    state = tmp_path / "state" / "pure"
    cuts = [0, len(parts) // 3, 2 * len(parts) // 3, len(parts)]
    for cycle, (start, stop) in enumerate(itertools.pairwise(cuts)):
        for place in range(start, stop):
            pure.hvr(tmp_path / "in", *parts[place], name=f"{place:04}.jsonl")
        integrate_once(path)
        if cycle == 1:  # as if the process had died before the cycle was marked
            forget_sync(state, 1)
            integrate_once(path)
    messages = kafka_io.read_all(real_broker.servers, [f"{name}.transaction"])
    times = Counter((one.key, one.value) for one in messages)
    found = [json.loads(value) | {"times": count} for (_, value), count in times.items()]
    rows = kafka_io.read_all(real_broker.servers, [name])
    repeated = set(Counter(one.value for one in rows).values())
    assert repeated == ({1} if delivery == "exactly_once" else {1, 2})
    assert {one["times"] for one in found} == repeated
    begins = [one for one in found if one["status"] == "BEGIN"]
    ends = [one for one in found if one["status"] == "END"]
    assert [one["id"] for one in begins] == [one["id"] for one in ends] == sorted(one["id"] for one in ends)
    assert len(ends) == TRANSACTIONS
    for number, one in enumerate(ends, 1):
        counts = {each["data_collection"]: each["event_count"] for each in one["data_collections"]}
        expected = Counter("tu"[(number + place) % 2] for place in range(ROWS))
        assert (int(one["id"][:20], 16), one["event_count"], counts) == (number, ROWS, dict(expected))
