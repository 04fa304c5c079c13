"""Imported channels integrate what their products did: the same topics, keys and messages, but for what reports name."""

import hashlib
import json
import re
import shutil
from collections import defaultdict

import pytest

from tests.conftest import DATA as SHOP
from tests.conftest import ROOT
from tests.parts import debezium_events as debezium
from tests.parts import imports, kafka_io, postgres, rebuild
from tests.parts.channels import SHOP_TABLES

pytestmark = [pytest.mark.broker, pytest.mark.spark]

DATA = ROOT / imports.DATA
MARIADB = ROOT / "tests" / "data" / "debezium-mariadb"
ACCESS = (
    "Kafka_Tls", "Kafka_Authentication_Method", "Sasl_Jaas_Config", "Stream_User", "Stream_Password",
    "Kafka_Schema_User", "Kafka_Schema_Registry_Password",
)  # fmt: skip
"""What the tests' broker and registry do not ask for."""


@pytest.fixture
def sent(broker, integrate_once, tmp_path):
    """Import a configuration, integrate lines by its channel, and return the messages by topic, in their order.

    changed: text of the configuration and what stands in its place, so that each test has topics of its own.
    """

    def called(name, lines, changed, topics, registry=""):
        command, given, *more = imports.CASES[name].arguments
        text = (ROOT / given).read_text()
        for old, new in changed.items():
            assert old in text
            text = text.replace(old, new)
        file, channel = tmp_path / given.rpartition("/")[2], tmp_path / "channel.yaml"
        file.write_text(text)
        assert imports.run(imports.Case((command, str(file), *more)), channel) == 0
        (tmp_path / "changes").mkdir()
        if isinstance(lines, list):
            (tmp_path / "changes" / "changes.jsonl").write_text("".join(f"{line}\n" for line in lines))
        else:
            shutil.copy(lines, tmp_path / "changes")
        kept = [line for line in channel.read_text().splitlines() if not line.strip().startswith(ACCESS)]
        brokers = next(line for line in kept if "Kafka_Brokers" in line)
        made = "\n".join(kept).replace(brokers, f'    Kafka_Brokers: ["{broker.servers}"]')
        made = made.replace("path: changes", f"path: {tmp_path}/changes").replace("http://registry:8081", registry)
        channel.write_text(
            f"state: {tmp_path}/state\n{made}\n".replace("Replication_Factor: 3", "Replication_Factor: 1")
        )
        if "Create_Topics: broker" in made:  # which creates none here
            broker.create([*topics, *re.findall(r'Transaction_Topic: "?([\w.-]+)', made)])
        integrate_once(channel)
        return kafka_io.read_all(broker.servers, topics)

    return called


def as_configured(event):
    """An event of the recorded connector, with what the imported configuration masks, cuts and leaves out."""
    table = event["source"]["table"]

    def image(row):
        if row is None:
            return None
        made = {name: value for name, value in row.items() if name not in debezium.IMPRECISE}
        if table == "documents":
            del made["raw"]
            made["title"] = made["title"] and hashlib.sha256(b"pl4nted-salt" + made["title"].encode()).hexdigest()[:40]
        if table in ("orders", "baskets"):
            made["note"] = made["note"] and made["note"][:3]
        return made

    operation = "c" if event["op"] == "r" else event["op"]
    return {"op": operation, "before": image(event["before"]), "after": image(event["after"])}


def test_debezium_into_the_events_that_it_sent(sent, name, monkeypatch):
    monkeypatch.setenv("SALT_SECRET", "pl4nted-salt")
    recorded = list(debezium.events("plain"))
    events = [e for e in recorded if e.topic.startswith("shop.public.")]
    topics = sorted({e.topic.replace("shop", name, 1) for e in events})
    changed = {'"topic.prefix": "shop"': f'"topic.prefix": "{name}"'}
    messages = sent("debezium-postgres", [e.line for e in recorded], changed, topics)
    wanted = debezium.by_key((e.topic, e.key, e.value and as_configured(e.value)) for e in events)
    found = []
    for message in messages:
        value = message.value and debezium.parsed(message.value.decode())
        for part in ("before", "after") if value else ():
            image = value[part]
            value[part] = image and {n: v for n, v in image.items() if n not in debezium.IMPRECISE}
        shown = value and {part: value[part] for part in ("op", "before", "after")}
        key = "null" if message.key is None else message.key.decode()
        found.append((message.topic.replace(name, "shop", 1), key, shown))
        if value:
            assert value["source"]["name"] == name
            assert value["source"]["db"] == "shop"
    assert debezium.by_key(found) == wanted


def test_debezium_of_mariadb_flattened_into_avro(sent, registry_server, name):
    lines = (MARIADB / "plain.jsonl").read_text().splitlines()
    topics = [f"{name}-shop-orders", f"{name}-shop-types"]
    changed = {"cdc-$2-$3": f"{name}-$2-$3"}
    messages = sent("debezium-mariadb", lines, changed, topics, registry_server.url)
    from confluent_kafka.schema_registry.avro import AvroDeserializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    read = AvroDeserializer(registry_server.client)
    wanted, found = defaultdict(list), defaultdict(list)
    for event in map(debezium.parsed, lines):
        if event and event.get("op") in ("c", "r", "u", "d") and event["source"]["table"] == "orders":
            row, deleted = (event["before"], "true") if event["op"] == "d" else (event["after"], "false")
            operation = "c" if event["op"] == "r" else event["op"]
            added = {
                "__deleted": deleted,
                "__op": operation,
                "__table": "orders",
                "__source_ts_ms": event["source"]["ts_ms"],
            }
            wanted[row["id"]] += [row | added, *([None] if deleted == "true" else [])]
    for message in messages:
        key = read(message.key, SerializationContext(message.topic, MessageField.KEY))
        value = read(message.value, SerializationContext(message.topic, MessageField.VALUE)) if message.value else None
        if message.topic.endswith("orders"):
            found[key["id"]].append(value)
            assert value is None or dict(message.headers)["__op"] == value["__op"].encode()
        else:
            assert key.keys() == {"id", "num"}, "message.key.columns"
    assert found == wanted
    assert {message.topic for message in messages} == set(topics)
    subjects = {f"{topic}-{part}" for topic in topics for part in ("key", "value")}
    assert subjects <= set(registry_server.client.get_subjects())


def test_debezium_of_sql_server_through_a_router(sent, name):
    topics = [f"{name}.Inventory.dbo.Customers", f"{name}.Inventory.dbo.orders"]
    changed = {'"topic.prefix": "inventory_system"': f'"topic.prefix": "{name}"'}
    messages = sent("debezium-sqlserver", DATA / "sqlserver.jsonl", changed, topics)
    shown = defaultdict(list)
    for message in messages:
        value = json.loads(message.value)["payload"]
        shown[message.topic, json.loads(message.key)["payload"]["Id"]].append(
            (value["op"], value["before"], value["after"])
        )
    zoe = {"Id": 1, "Name": "Zoë", "Email": "******", "Balance": "12.50", "Since": 1756684800000}
    last = zoe | {"Balance": "7.00"}
    assert dict(shown) == {
        (topics[0], 1): [("c", None, zoe), ("u", zoe, last), ("d", last, None)],  # tombstones.on.delete=false
        (topics[1], 10): [("c", None, {"Id": 10, "CustomerId": 1, "Amount": "99.9000"})],
        (topics[1], 11): [("c", None, {"Id": 11, "CustomerId": 1, "Amount": "0.0100"})],
    }


def test_hvr_into_rows_with_operation_and_sequence(sent, name):
    tables = ("audit", "customers", "order_lines", "products")
    topics = [f"{name}.{table}" for table in tables]
    changed = {'"shop.{hvr_tbl_name}"': f'"{name}.{{hvr_tbl_name}}"'}
    messages = sent("hvr-json-files", SHOP / "changes.wal2json-v2.jsonl", changed, topics)
    rows = {table: [json.loads(m.value) for m in messages if m.topic == f"{name}.{table}"] for table in tables}
    for message in messages:
        assert dict(message.headers)["op"] == str(json.loads(message.value)["op_val"]).encode()
    assert {row["op_val"] for of_table in rows.values() for row in of_table} == {0, 1, 2, 3, 4, 5}
    sequences = [row["integ_seq"] for of_table in rows.values() for row in of_table]
    assert len(set(sequences)) == len(sequences)
    final = rebuild.oracle(SHOP / "final")
    lasting = {}
    for row in sorted(rows["customers"], key=lambda one: one["integ_seq"]):
        assert not row.keys() & {"avatar", "name"}, "they are absent"
        if row["op_val"] in (1, 2):
            lasting[row["id"]] = lasting.get(row["id"], {}) | row
        elif row["op_val"] == 5:
            lasting.clear()
        else:
            lasting.pop(row["id"], None) if row["op_val"] in (0, 3) else None
    assert {key: row["email"] for key, row in lasting.items()} == {
        row["id"]: row["email"].lower() for row in final["customers"]
    }
    assert all(row["what"] is not None for row in rows["audit"] if "what" in row and row["op_val"] != 5)


@pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason="PostgreSQL")
def test_hvrs_source_is_captured_by_the_names_of_its_channel(sent, name, monkeypatch):
    monkeypatch.setenv("DATABASE_PASSWORD", "any, for it is not asked for")
    with postgres.cluster() as server:
        server.psql((ROOT / "schemas" / "shop.sql").read_text())
        server.psql("insert into customers(id, email, name) values (1, 'Zoë@Example.org', 'Zoë')")
        server.psql("insert into orders(order_id, line_no, qty, amount) values (7, 2, 3, 1.25)")
        changed = {
            '"shop.{hvr_tbl_name}"': f'"{name}.{{hvr_tbl_name}}"',
            '"Database_Host": "db.example.org"': f'"Database_Host": "{server.host}"',
            '"Database_Port": 5432': f'"Database_Port": {server.port}',
            '"Database_Name": "shop"': '"Database_Name": "postgres"',
            '"Database_User": "hvr"': f'"Database_User": "{server.user}"',
        }
        tables = ("audit", "customers", "order_lines", "products")
        messages = sent("hvr-json", [], changed, [f"{name}.{table}" for table in tables])
    rows = {message.topic: json.loads(message.value) for message in messages}
    assert rows.keys() == {f"{name}.customers", f"{name}.order_lines"}
    customer, line = rows[f"{name}.customers"], rows[f"{name}.order_lines"]
    assert (customer["id"], customer["email"], customer["op_val"]) == (1, "zoë@example.org", 1)
    assert not customer.keys() & {"avatar", "name"}, "they are absent"
    assert (line["order_id"], line["line_no"], line["qty"]) == (7, 2, 3)


def test_hvr_5_into_connect_json(sent, name):
    changed = {"</hvr>": _topic(name)}
    messages = sent("hvr-xml", DATA / "hvr-orders.jsonl", changed, [f"{name}.orders"])
    shown = [(message.key, json.loads(message.value)) for message in messages]
    assert {value["schema"]["name"] for _, value in shown} == {"orders"}
    first = {"order_id": 1, "line_no": 1, "note": "first", "op_val": 1, "is_deleted": 0}
    payloads = [{n: v for n, v in value["payload"].items() if n not in ("amount", "placed")} for _, value in shown]
    assert {key for key, _ in shown} == {b"1-1"}
    assert payloads == [first, first | {"op_val": 2}, first | {"op_val": 0, "is_deleted": 1}]


def _topic(name):
    """An action of HVR 5's that gives the test topics of its own."""
    values = {"chn_name": "orders5", "grp_name": "KAFKA", "tbl_name": "*", "act_name": "Integrate"}
    values["act_parameters"] = f"/Topic={name}.{{hvr_tbl_name}}"
    columns = "".join(f'<column name="{column}">{value}</column>' for column, value in values.items())
    return f'<table name="hvr_action"><row>{columns}</row></table></hvr>'


@pytest.mark.parametrize(
    ("case", "pattern", "topic"),
    [
        ("airbyte-plain", ('"{namespace}.{stream}.sample"', '"{stream}.NAME"'), "{}_NAME"),
        ("airbyte-secure", ('"cdc {stream}"', '"NAME {stream}"'), "NAME_{}"),
    ],
)
def test_airbyte_into_its_envelope(case, pattern, topic, sent, name, monkeypatch):
    login = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" password="pl4nted";'
    monkeypatch.setenv("AIRBYTE_JAAS", login)
    topics = {table: topic.replace("NAME", name).format(table) for table in SHOP_TABLES}
    changed = {pattern[0]: pattern[1].replace("NAME", name)}
    messages = sent(case, DATA / "airbyte.jsonl", changed, list(topics.values()))
    found = {table: [json.loads(m.value) for m in messages if m.topic == topics[table]] for table in topics}
    orders = [one["_airbyte_data"] for one in found["orders"]]
    assert sorted(one["qty"] for one in orders if one["_ab_cdc_deleted_at"] is None) == [2, 3]
    assert [one["order_id"] for one in orders if one["_ab_cdc_deleted_at"]] == [1]
    assert {one["_airbyte_stream"] for one in found["orders"]} == {"orders"}
    assert [one["_airbyte_data"]["title"] for one in found["products"]] == ["Anvil"]
    keys = [json.loads(message.key) for message in messages if message.topic == topics["orders"]]
    assert all(sorted(key) == ["line_no", "order_id"] for key in keys), keys
