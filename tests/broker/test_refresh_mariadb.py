"""Bulk refresh of a live MariaDB into a real broker."""

import pytest

from tests.broker.test_refresh import COLUMNS, rows
from tests.parts import jdbc, mariadb
from tests.unit import test_debezium_mariadb

pytestmark = [pytest.mark.broker, pytest.mark.spark]

RECORDED, DDL = test_debezium_mariadb.RECORDED, test_debezium_mariadb.DDL
WORDS = "create table words(k varchar(9) primary key, v text);"


@pytest.fixture(scope="module")
def server():
    lacks = mariadb.missing() or ("" if jdbc.mariadb_driver() else "MariaDB's JDBC driver from Maven Central")
    if lacks:
        pytest.skip(f"a live MariaDB needs {lacks}")
    with mariadb.cluster() as running:
        running.sql("create database shop")
        running.sql("".join((RECORDED / f"{name}.sql").read_text() for name in ("tables", "before", "during")), "shop")
        running.sql(WORDS, "shop")
        running.sql("insert into words values ('one', '1'), ('two', null)", "shop")
        yield running


def channel(directory, server, servers, topic, ddl, options=""):
    (directory / "tables.sql").write_text(ddl)
    url = f"jdbc:mariadb://{server.host}:{server.port}/shop"
    who = f"user: {server.user}, password: {server.password}"
    path = directory / "channel.yaml"
    path.write_text(
        f"""
channel: re
state: {directory}/state
locations:
  tab: {{class: jdbc, url: '{url}', {who}, jars: ['{jdbc.mariadb_driver()}'], fetch_rows: 100{options}}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{topic}.{{hvr_tbl_name}}", Create_Topics: {{Partitions: 2}}}}
tables: [{{file: {directory}/tables.sql, sql_dialect: mysql}}]
actions:
{COLUMNS}
"""
    )
    return path


def by_id(broker, topic):
    return {row["id"]: {c: v for c, v in row.items() if c not in {"op", "seq"}} for row in rows(broker, topic)}


def test_every_type_of_a_live_mariadb(refresh, server, broker, tmp_path, name):
    final = test_debezium_mariadb.oracle(tmp_path)
    refresh(channel(tmp_path, server, broker.servers, name, DDL))
    assert {table: by_id(broker, f"{name}.{table}") for table in final} == final


def test_a_table_of_text_alone(refresh, server, broker, tmp_path, name):
    refresh(channel(tmp_path, server, broker.servers, name, WORDS))
    assert {row["k"]: row["v"] for row in rows(broker, f"{name}.words")} == {"one": "1", "two": None}
