"""Each change of a captured MySQL or MariaDB in each format of `run`: its log has whole rows, whatever key a table has."""

# ruff: noqa: F811 - fixtures of another file

import json

import pytest
from confluent_kafka.admin import AdminClient

from integrator.cli import direct
from tests.broker.test_binlog_capture import database, server  # noqa: F401 - fixtures
from tests.broker.test_schema_history import avro_of
from tests.parts import kafka_io

pytestmark = [pytest.mark.broker, pytest.mark.spark]
TABLES = {
    "keyed": "k int primary key",
    "composed": "k int, unique key (i, k)",
    "keyless": "k int",
}
STEPS = [
    "insert into {t} values (1, 1, 'a', repeat('long ', 2000)), (2, 2, 'b', 'short'), (3, 3, 'c', null)",
    "update {t} set v = 'long is unchanged' where k = 1",
    "update {t} set k = 20, i = 20 where k = 2",
    "delete from {t} where k = 3",
    "alter table {t} add column n int; insert into {t} values (4, 4, 'd', 'x', 44)",
    "alter table {t} drop column n; insert into {t} values (5, 5, 'e', 'y')",
    "truncate {t}",
    "insert into {t} values (6, 6, 'f', 'z')",
]


def rows_in(format_, registry, topic, messages):
    if format_ == "avro":
        rows = [avro_of(registry, topic)(one.value) for one in messages]
    else:
        rows = [json.loads(one.value) for one in messages]
    if format_ == "connect-json":
        rows = [row["payload"] for row in rows]
    return sorted(rows, key=lambda row: row["integ_seq"])


@pytest.mark.parametrize("format_", list(direct.FORMATS))
def test_each_change_in_each_format(
    format_, server, database, broker, registry_server, tmp_path, integrate_once, name, monkeypatch
):
    for table, key in TABLES.items():
        database(f"create table {table} ({key}, i int not null, v varchar(40), `long` longtext)".replace(
            "k int, unique key (i, k), i int not null", "k int not null, i int not null, unique key (i, k)"
        ))  # fmt: skip
    monkeypatch.setenv("MYSQL_PWD", server.password)
    needs = format_ in direct.OF_REGISTRY
    asked = direct.Asked(server.address(name), broker.servers, registry_server.url if needs else None, format_)
    path = tmp_path / "made.yaml"
    text = direct.channel_of(asked).text.replace(f"channel: {direct.channel_of(asked).name}", f"channel: {name}")
    path.write_text(text)
    integrate_once(path)
    for table in TABLES:
        for step in STEPS:
            database(step.format(t=table))
    integrate_once(path)
    listed = AdminClient({"bootstrap.servers": broker.servers}).list_topics(timeout=30).topics
    for table in TABLES:
        topic = f"{name}.{table}"
        assert topic in listed
        messages = kafka_io.read_all(broker.servers, [topic])
        if format_ in ("protobuf", "json-schema"):
            assert len(messages) == 12
            continue
        rows = rows_in(format_, registry_server, topic, messages)
        operations = [(row["op_val"], row["k"] if row["op_val"] != 5 else None) for row in rows]
        before = 3 if table == "keyless" else 4  # whose rows are distinguished by all of their columns
        changes = [(before, 1), (2, 1), (3, 2), (2, 20), (0, 3)]
        assert operations == [(1, 1), (1, 2), (1, 3), *changes, (1, 4), (1, 5), (5, None), (1, 6)]
        updated = next(row for row in rows if row["op_val"] == 2 and row["k"] == 1)
        assert (updated["v"], updated["long"]) == ("long is unchanged", "long " * 2000)
        assert next(row for row in rows if row["k"] == 4)["n"] == 44
        assert next(row for row in rows if row["k"] == 5).get("n") is None
