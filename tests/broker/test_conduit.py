"""Conduit on either side of us: it writes a topic that we read, and reads topics that we write, each record as it was."""

import contextlib
import json
from dataclasses import dataclass

import pytest

from tests.parts import conduit, kafka_io
from tests.parts.waiting import until

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

TABLE = "create table people(id integer primary key, name varchar(40), height double precision, active boolean);"
MOMENT = "1700000000123456789"
ANN = {"id": 1, "name": 'Änn "A" O\'Neil\n2', "height": 1.5, "active": True}
BOB = {"id": 2, "name": None, "height": -0.25, "active": False}
CAT = {"id": -2147483648, "name": "", "height": None, "active": None}
TALL = ANN | {"height": 1.75}


@dataclass(frozen=True)
class Change:
    """An operation, and the images of its row."""

    operation: str
    before: dict | None
    after: dict | None

    @property
    def key(self):
        return {"id": (self.after or self.before)["id"]}

    def record(self):
        """The OpenCDC record, without its position, which is the connector's own."""
        return {
            "operation": self.operation,
            "metadata": {"opencdc.collection": "people", "opencdc.createdAt": MOMENT},
            "key": self.key,
            "payload": {"before": self.before, "after": self.after},
        }


CHANGES = [
    Change("snapshot", None, ANN),
    Change("create", None, BOB),
    Change("create", None, CAT),
    Change("update", ANN, TALL),
    Change("delete", BOB, None),
    Change("create", None, BOB | {"name": "Bob"}),
]
UNWRAP = {"plugin": "unwrap.opencdc"}
OPS = {"snapshot": 1, "create": 1, "update": 2, "delete": 0}
ROWS = """{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS},
  {action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{hvr_op}"},
  {action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, Length: 45, TimeKey: true,
   IntegrateExpression: "{hvr_integ_seq}"}"""


def rows(changes):
    """Each change as a row, updates as two; without their positions."""
    for change in changes:
        if change.operation == "update":
            yield change.before | {"op": 4}
        yield (change.after or change.before) | {"op": OPS[change.operation]}


def without_positions(sent):
    return [{name: value for name, value in row.items() if name != "seq"} for row in sent]


@pytest.fixture(scope="module")
def _program():
    if not conduit.built():
        pytest.skip("Conduit is built with go from a module proxy, and one of them is not here")


@pytest.fixture
def channel(real_broker, tmp_path):
    """A function that writes a channel from a source to the topic that it is given."""

    def write(source, topic, action):
        (tmp_path / "people.sql").write_text(TABLE)
        path = tmp_path / "channel.yaml"
        path.write_text(
            f"channel: people\nstate: {tmp_path}/state\nlocations:\n  src: {{{source}, dialect: opencdc}}\n"
            f'  kaf: {{class: kafka, Kafka_Brokers: ["{real_broker.servers}"], Kafka_Default_Topic: {topic}}}\n'
            f"tables: [people.sql]\nactions: [{action}]\nmonitor: {{enabled: false}}\n"
        )
        return path

    return write


@contextlib.contextmanager
def to_topic(directory, servers, topic):
    """Conduit sends OpenCDC records, which it has from lines of a file, to a topic."""
    lines = directory / "records.jsonl"
    lines.write_text("".join(json.dumps(change.record()) + "\n" for change in CHANGES))
    source = conduit.End("file", {"path": str(lines)}, [UNWRAP])
    with conduit.running(directory, source, conduit.End("kafka", {"servers": servers, "topic": topic})):
        yield


def from_topic(directory, servers, topic, processor, count):
    """What Conduit reads from a topic: records, as lines of a file."""
    lines = directory / "read.jsonl"
    kafka = {"servers": servers, "topics": topic, "readFromBeginning": "true"}
    destination = conduit.End("file", {"path": str(lines)})

    def read():
        return lines.exists() and lines.read_bytes().count(b"\n") == count

    with conduit.running(directory, conduit.End("kafka", kafka, [processor]), destination):
        until(read, lambda: (directory / "log").read_text()[-4000:])
    return [json.loads(line) for line in lines.read_text().splitlines()]


@pytest.mark.usefixtures("_program")
def test_we_read_what_conduit_writes(real_broker, integrate_once, channel, tmp_path, name):
    real_broker.create([name, f"{name}-out"], 1)
    with to_topic(tmp_path, real_broker.servers, name):
        until(lambda: len(kafka_io.read_all(real_broker.servers, [name])) == len(CHANGES))
    written = [json.loads(one.value) for one in kafka_io.read_all(real_broker.servers, [name])]
    assert [one["operation"] for one in written] == [change.operation for change in CHANGES]
    source = f"class: kafka, Kafka_Brokers: ['{real_broker.servers}'], topics: {name}"
    entry = "{action: Integrate, MessageHeaders: 'nanos={hvr_cap_header opencdc.createdAt}'}"
    integrate_once(channel(source, f"{name}-out", f"{ROWS}, {entry}"))
    messages = kafka_io.read_all(real_broker.servers, [f"{name}-out"])
    assert without_positions(json.loads(one.value) for one in messages) == [*rows(CHANGES)]
    assert {one.headers for one in messages} == {(("nanos", MOMENT.encode()),)}


@pytest.mark.usefixtures("_program")
def test_conduit_reads_our_records(real_broker, integrate_once, channel, tmp_path, name):
    real_broker.create([name], 1)
    records = [*(change.record() for change in CHANGES), CHANGES[0].record()]
    del records[-1]["metadata"]["opencdc.createdAt"]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    source = f"class: files, path: {tmp_path}/in.jsonl"
    integrate_once(channel(source, name, "{action: FileFormat, Envelope: OPENCDC}"))
    *read, without_time = from_topic(tmp_path, real_broker.servers, name, UNWRAP, len(records))
    as_written = {"snapshot": "create"}
    for record, change in zip(read, CHANGES, strict=True):
        assert record["operation"] == as_written.get(change.operation, change.operation)
        assert (record["key"], record["payload"]) == (change.key, change.record()["payload"])
        assert record["metadata"]["opencdc.collection"] == "people"
        assert record["metadata"]["opencdc.createdAt"][:-3] == MOMENT[:-3]  # in microseconds
    assert "opencdc.createdAt" not in without_time["metadata"]  # of null, it makes <nil>


@pytest.mark.usefixtures("_program")
def test_conduit_reads_our_rows(real_broker, integrate_once, channel, tmp_path, name):
    real_broker.create([name], 1)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(change.record()) + "\n" for change in CHANGES))
    source = f"class: files, path: {tmp_path}/in.jsonl"
    integrate_once(channel(source, name, ROWS))
    decode = {"plugin": "json.decode", "settings": {"field": ".Payload.After"}}
    expected = [*rows(CHANGES)]
    read = from_topic(tmp_path, real_broker.servers, name, decode, len(expected))
    assert without_positions(record["payload"]["after"] for record in read) == expected
