"""Several source locations in a channel: their streams side by side, each in its own order."""

import json
from collections import defaultdict

import pytest

from integrator import plan
from integrator.errors import DataError
from integrator.sources.journal.journal import Journal
from tests.parts import kafka_io, pure

pytestmark = [pytest.mark.broker, pytest.mark.spark]

COLUMNS = """\
  - {action: ColumnProperties, Name: loc, Extra: true, Datatype: varchar, Length: 12, IntegrateExpression: "{hvr_cap_loc}"}
  - {action: ColumnProperties, Name: seq, Extra: true, TimeKey: true, Datatype: varchar, Length: 45, IntegrateExpression: "{hvr_integ_seq}"}
  - {action: ColumnProperties, Name: id, Extra: true, Datatype: varchar, Length: 36, IntegrateExpression: "{hvr_row_uuid}"}
  - {action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_op}"}
"""


@pytest.fixture
def channel(broker, tmp_path, name):
    broker.create([name], 2)
    (tmp_path / "t.sql").write_text("create table t(k int primary key, v text);")
    for location in ("east", "west"):
        (tmp_path / location).mkdir()
    path = tmp_path / "channel.yaml"
    path.write_text(
        f"""
channel: both
state: {tmp_path}/state
locations:
  east: {{class: files, path: {tmp_path}/east, dialect: hvr}}
  west: {{class: files, path: {tmp_path}/west, dialect: hvr}}
  kaf: {{class: kafka, Kafka_Brokers: ["{broker.servers}"], Kafka_Default_Topic: "{name}"}}
tables: [{tmp_path}/t.sql]
actions:
  - {pure.PLAIN}
{COLUMNS}"""
    )
    return path


def write(directory, location, file, *rows):
    pure.hvr(directory / location, *({"hvr_tbl_name": "t", **row} for row in rows), name=file)


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_each_location_is_a_stream_of_its_own(channel, broker, tmp_path, name, integrate_once, delivery):
    channel.write_text(f"{channel.read_text()}delivery: {delivery}\n")
    for location in ("east", "west"):  # the same positions in both
        write(tmp_path, location, "1.jsonl", *({"hvr_tx_seq": f"{tx}", "k": tx, "v": location} for tx in (1, 2, 3)))
    integrate_once(channel)
    write(tmp_path, "west", "2.jsonl", {"hvr_tx_seq": "4", "hvr_op": 2, "k": 1, "v": "later"})
    integrate_once(channel)
    write(tmp_path, "east", "2.jsonl", {"hvr_tx_seq": "4", "hvr_op": 0, "k": 1, "v": "east"})
    integrate_once(channel)
    sent = defaultdict(list)
    for message in kafka_io.read_all(broker.servers, [name]):
        row = json.loads(message.value)
        sent[row["loc"]].append(row)
    shown = {loc: sorted((row["seq"], row["k"], row["v"], row["op"]) for row in rows) for loc, rows in sent.items()}
    assert {loc: [row[1:] for row in rows] for loc, rows in shown.items()} == {
        "east": [(1, "east", 1), (2, "east", 1), (3, "east", 1), (1, "east", 0)],
        "west": [(1, "west", 1), (2, "west", 1), (3, "west", 1), (1, "later", 2)],
    }
    assert shown["east"][0][0] == shown["west"][0][0], "positions are those of each location"
    assert len({row["id"] for rows in sent.values() for row in rows}) == 8, "a UUID is of the location, too"
    journal = Journal(tmp_path / "state" / "both" / "files.jsonl")
    assert [one.path for _, one in journal.between(0, len(journal))] == [
        f"{location}|{tmp_path}/{location}/{file}.jsonl"
        for location, file in (("east", 1), ("west", 1), ("west", 2), ("east", 2))
    ]


def test_an_error_names_the_file_and_a_stream_that_goes_back_its_location(channel, tmp_path, integrate_once):
    write(tmp_path, "east", "1.jsonl", {"hvr_tx_seq": "9", "k": 1})
    write(tmp_path, "west", "1.jsonl", {"hvr_tx_seq": "5", "k": 1})
    integrate_once(channel)
    write(tmp_path, "west", "2.jsonl", {"hvr_tx_seq": "7", "k": 2})  # after 5, and not after 9
    integrate_once(channel)
    write(tmp_path, "east", "2.jsonl", {"hvr_tx_seq": "8", "k": 2})
    with pytest.raises(DataError, match=rf"{tmp_path}/east/2.jsonl: its first change is at .* not after"):
        integrate_once(channel)


def test_what_is_described_and_remarked(channel, tmp_path):
    made = plan.build(str(channel), "UTC")
    assert made.changes.describe() == (f"east: {tmp_path}/east (hvr, by name); west: {tmp_path}/west (hvr, by name)")
    assert any("changes of the locations east, west come side by side" in note for note in made.notes)
