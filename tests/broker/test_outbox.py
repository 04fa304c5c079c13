"""Debezium's own EventRouter and transaction topic beside ours, on the same changes of a PostgreSQL.

One connector writes the plain changes, with marks of transactions; others route the events of the outbox. Our channel
reads the plain changes, from their topic or as lines in the order of the source.
"""

import datetime
import json
import re
from dataclasses import dataclass

import pytest

from tests.parts import connect, imports, kafka_io, postgres
from tests.parts.waiting import until

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.real_broker,
    pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason="PostgreSQL"),
]

EVENTS = [
    # aggregatetype, aggregateid, type, shard, payload
    ("order", "1", "created", 1, '{"id": 1, "total": 12.50, "note": "Zoë \\"1\\""}'),
    ("order", "2", "created", 2, '{"id":   2, "lines": [1, 2, {"sku": null}]}'),
    ("customer", "a-1", "renamed", 0, "[]"),
    ("order", "1", "paid", 1, '{"id": 1, "paid": true}'),
    ("order", "2", "cancelled", 3, None),
    ("customer", "a-1", None, 0, '"text"'),
]
AT = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0, tzinfo=None) - datetime.timedelta(hours=2)
"""Not long ago: a topic deletes what is older than its retention.ms."""
KINDS = sorted({event[0] for event in EVENTS})
PARTITIONS = 4
STRINGS = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
}


def ddl(schema):
    return (
        f"create schema {schema};\n"
        f"create table {schema}.outbox(id uuid primary key, aggregatetype varchar(255) not null, "
        "aggregateid varchar(255) not null, type varchar(255), at timestamp(3) not null, shard int, payload jsonb);\n"
        f"create table {schema}.orders(id int primary key, note text);\n"
        f"create table {schema}.lines(order_id int, line int, primary key(order_id, line));\n"
    )


def quoted(value):
    return "null" if value is None else "'" + str(value).replace("'", "''") + "'"


def changes(schema):
    """SQL: transactions with rows of one table or several, updates of keys, deletes; and the events."""
    statements = [
        f"begin; insert into {schema}.orders values(1, 'a'), (2, 'b'); insert into {schema}.lines values(1, 1); commit;",
        f"begin; update {schema}.orders set note = 'c' where id = 1; update {schema}.orders set id = 9 where id = 2; "
        f"delete from {schema}.lines; commit;",
    ]
    for place, event in enumerate(EVENTS):
        number = f"00000000-0000-0000-0000-{place:012}"
        moment = (AT + datetime.timedelta(milliseconds=place)).isoformat(sep=" ", timespec="milliseconds")
        values = ", ".join(map(quoted, (number, *event[:3], moment, *event[3:])))
        statements.append(f"insert into {schema}.outbox values({values});")
    statements.append(f"update {schema}.outbox set type = 'changed' where shard = 3;")
    statements.append(f"begin; delete from {schema}.outbox; insert into {schema}.lines values(7, 7); commit;")
    return "\n".join(statements)


def router(topics, **more):
    """The properties of a transform to topics TOPICS.KIND."""
    given = {
        "type": "io.debezium.transforms.outbox.EventRouter",
        "route.topic.replacement": f"{topics}.${{routedByValue}}",
        "table.fields.additional.placement": "type:header:eventType,shard:partition",
        "table.field.event.timestamp": "at",
        "route.tombstone.on.empty.payload": "true",
        **more,
    }
    return {"transforms": "outbox"} | {f"transforms.outbox.{name}": value for name, value in given.items()}


@dataclass
class Ran:
    """What Debezium wrote: the configuration of each connector, by the name of what it writes."""

    schema: str
    servers: str
    configs: dict

    def read(self, *topics):
        return kafka_io.read_all(self.servers, list(topics))

    def routed(self, name):
        """Messages of the events, without their topic's first part: by topic, partition and offset.

        Headers are without those of which connector it was, which Debezium adds to all messages.
        """
        found = []
        for one in self.read(*(f"{self.schema}.{name}.{kind}" for kind in KINDS)):
            headers = [header for header in one.headers if not header[0].startswith("__debezium.context.")]
            found.append((one.topic.rpartition(".")[2], one.partition, one.key, one.value, headers, one.timestamp))
        return found


@pytest.fixture(scope="module")
def debezium(broker, tmp_path_factory):
    if not broker.real:
        pytest.skip("Kafka Connect needs a real Apache Kafka")
    class_path = connect.libraries()
    if class_path is None:
        pytest.skip("Kafka Connect and Debezium need mvn and Java")
    schema = f"o{tmp_path_factory.getbasetemp().name.replace('-', '')}{id(broker) % 10_000}"
    json_plain = connect.converters("JSON")
    with postgres.cluster() as server:
        server.psql(ddl(schema))

        def connector(name, tables):
            given = connect.postgres_connector(server, f"{schema}_{name}", tables)
            return given | {"snapshot.mode": "no_data"}

        outbox = f"{schema}\\.outbox"
        configs = {
            "plain": connector("plain", f"{schema}\\..*") | json_plain | {"provide.transaction.metadata": "true"},
            "routed": connector("routed", outbox) | STRINGS | router(f"{schema}.routed"),
            "expanded": connector("expanded", outbox)
            | json_plain
            | router(f"{schema}.expanded", **{"table.expand.json.payload": "true"}),
        }
        broker.create([f"{schema}.{name}.{kind}" for name in ("routed", "expanded") for kind in KINDS], PARTITIONS)
        plain = [f"{schema}_plain.{schema}.{table}" for table in ("orders", "lines", "outbox")]
        broker.create([*plain, f"{schema}_plain.transaction"], 1)
        directory = tmp_path_factory.mktemp("worker")
        with connect.Worker(class_path, directory, broker.servers) as worker:
            for name, config in configs.items():
                worker.put(f"{schema}-{name}", config)
            slots = f"select count(*) from pg_replication_slots where active and slot_name like '{schema}%'"
            until(lambda: server.psql(slots).strip() == str(len(configs)), worker.log)
            server.psql(changes(schema))
            ran = Ran(schema, broker.servers, configs)
            until(lambda: len(ran.read(f"{schema}_plain.transaction")) >= 2 * (len(EVENTS) + 4), worker.log)
            for name in ("routed", "expanded"):
                until(lambda name=name: len(ran.routed(name)) == len(EVENTS), worker.log)
            yield ran


def imported(ran, directory, name, ours):
    """The channel that `import debezium` makes of a connector, over the topic of plain changes."""
    given = {
        key: value.replace(f"{ran.schema}.{name}.", f"{ran.schema}.{ours}.") for key, value in ran.configs[name].items()
    }
    given |= {"producer.override.bootstrap.servers": ran.servers}
    text, code = imports.of_debezium(directory, given, ddl(ran.schema))
    assert code == 0
    topic = f"{ran.schema}_plain.{ran.schema}.outbox"
    source = f"class: kafka, Kafka_Brokers: ['{ran.servers}'], topics: [{topic}]"
    text, replaced = re.subn(r"class: files, path: \S+,", f"{source},", text)
    assert replaced == 1
    text = text.replace("Create_Topics: broker", f"Create_Topics: {{Partitions: {PARTITIONS}}}")
    path = directory / "channel.yaml"
    path.write_text(f"state: {directory}/state\n{text}")
    return path


def test_the_events_of_an_outbox_are_event_routers(debezium, integrate_once, tmp_path):
    """Topic, partition, key, value, headers and timestamp; topics are made when rows first name them."""
    theirs = debezium.routed("routed")
    assert len(theirs) == len(EVENTS)
    channel = imported(debezium, tmp_path, "routed", "ours")
    integrate_once(channel)
    assert debezium.routed("ours") == theirs


def test_json_that_is_expanded_is_the_same_json(debezium, integrate_once, tmp_path):
    """Docs list the difference: Debezium writes the JSON anew, and what it cannot expand as text in quotes."""
    channel = imported(debezium, tmp_path, "expanded", "same")
    integrate_once(channel)
    theirs, ours = (debezium.routed(name) for name in ("expanded", "same"))
    assert [(*one[:3], *one[4:]) for one in ours] == [(*one[:3], *one[4:]) for one in theirs]
    for our, their in zip(ours, theirs, strict=True):
        expected = None if their[3] is None else json.loads(their[3])
        if isinstance(expected, str):  # EventRouter could not expand it
            expected = json.loads(expected)
        assert (None if our[3] is None else json.loads(our[3])) == expected


def number_of(transaction):
    """The number of a transaction: Debezium's id has a position after it, another one in the begin and in the end."""
    return transaction.partition(":")[0]


def in_source_order(ran):
    """The lines of the plain changes and of marks, transaction after transaction; and the ends, by their numbers."""
    tables = [f"{ran.schema}_plain.{ran.schema}.{table}" for table in ("orders", "lines", "outbox")]
    events = [json.loads(one.value) for one in ran.read(*tables) if one.value is not None]
    marks = [json.loads(one.value) for one in ran.read(f"{ran.schema}_plain.transaction")]
    lines, ends = [], {}
    for mark in marks:
        number = number_of(mark["id"])
        if mark["status"] == "BEGIN":
            of = [one for one in events if number_of(one["transaction"]["id"]) == number]
            lines += [mark, *sorted(of, key=lambda one: one["transaction"]["total_order"])]
        else:
            lines.append(mark)
            ends |= {number: mark} if mark["event_count"] else {}
    return lines, ends


def by_name(end):
    return {one["data_collection"]: one["event_count"] for one in end["data_collections"]}


def test_transactions_begin_and_end_as_debezium_says(debezium, integrate_once, tmp_path):
    lines, theirs = in_source_order(debezium)
    config = debezium.configs["plain"] | {"topic.prefix": f"{debezium.schema}_mine"}
    text, code = imports.of_debezium(
        tmp_path, config | {"producer.override.bootstrap.servers": debezium.servers}, ddl(debezium.schema)
    )
    assert code == 0
    text = text.replace("path: changes", f"path: {tmp_path}/changes")
    text = text.replace("Create_Topics: broker", "Create_Topics: {Partitions: 2}")
    (tmp_path / "channel.yaml").write_text(f"state: {tmp_path}/state\n{text}")
    (tmp_path / "changes").mkdir()
    for place in range(0, len(lines), 5):  # transactions go over files
        part = "".join(json.dumps(line) + "\n" for line in lines[place : place + 5])
        (tmp_path / "changes" / f"{place:04}.jsonl").write_text(part)
    integrate_once(tmp_path / "channel.yaml")

    received = debezium.read(f"{debezium.schema}_mine.transaction")
    marks = [json.loads(one.value) for one in received]
    assert [json.loads(one.key) for one in received] == [{"id": mark["id"]} for mark in marks]
    ours = {mark["id"]: mark for mark in marks if mark["status"] == "END"}
    assert sorted(ours) == sorted(mark["id"] for mark in marks if mark["status"] == "BEGIN")
    tables = [f"{debezium.schema}_mine.{debezium.schema}.{table}" for table in ("orders", "lines", "outbox")]
    events = [json.loads(one.value) for one in debezium.read(*tables) if one.value is not None]
    numbers, orders = {}, {}
    for line in lines:
        if "transaction" not in line:
            continue
        parts = ("before", "after", "op")
        [same] = [
            one
            for one in events
            if one["source"]["table"] == line["source"]["table"] and all(one[part] == line[part] for part in parts)
        ]
        given = same["transaction"]
        assert numbers.setdefault(given["id"], number_of(line["transaction"]["id"])) == number_of(
            line["transaction"]["id"]
        )
        orders.setdefault(given["id"], []).append(given["total_order"])
    assert all(one == sorted(set(one)) for one in orders.values())
    assert sorted(numbers) == sorted(ours)
    assert sorted(numbers.values()) == sorted(theirs)
    for name, mark in ours.items():
        their = theirs[numbers[name]]
        assert (mark["event_count"], by_name(mark)) == (their["event_count"], by_name(their))
        assert mark.keys() == their.keys()
        assert mark["ts_ms"] == their["ts_ms"]
