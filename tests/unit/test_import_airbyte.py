"""`import airbyte`: configurations of destination-kafka become channels that pass check."""

import json
import sys

import pytest

from integrator import plan
from integrator.cli import main
from integrator.imports.airbyte import topic_of
from tests.conftest import ROOT
from tests.parts import imports

COMMON = json.loads((ROOT / imports.DATA / "airbyte-plain.json").read_text())
SECURE = json.loads((ROOT / imports.DATA / "airbyte-secure.json").read_text())["connectionConfiguration"]
LOGIN = SECURE["protocol"]["sasl_jaas_config"]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    def called(configuration, *more, tables=ROOT / "schemas" / "shop.sql"):
        (tmp_path / "airbyte.json").write_text(json.dumps(configuration))
        file = tmp_path / "channel.yaml"
        words = ["--tables", str(tables), "--channel", str(file), *more]
        monkeypatch.setattr(sys, "argv", ["integrator", "import", "airbyte", str(tmp_path / "airbyte.json"), *words])
        code, printed = main.main(), capsys.readouterr()
        return code, printed.out + printed.err, file

    return called


def test_a_plain_configuration(run):
    code, printed, file = run(COMMON)
    assert code == 0, printed
    made = plan.build(str(file), "UTC")
    assert made.brokers == "b1:9092,b2:9092"
    assert made.recipe.messages.layout.envelope == "AIRBYTE"
    assert {table.topic for table in made.recipe.tables} >= {"_orders_sample"}
    wanted = {"client.id": "airbyte-producer", "batch.size": "16384", "linger.ms": "0", "compression.type": "none",
              "queue.buffering.max.kbytes": "32768", "message.max.bytes": "1048576", "message.timeout.ms": "120000",
              "socket.receive.buffer.bytes": "32768", "acks": "1", "retries": "2147483647"}  # fmt: skip
    assert wanted.items() <= made.recipe.send.producer.items()
    for key in ("sync_producer", "max_block_ms", "socket_connection_setup_timeout_max_ms"):
        assert f"\n    {key}: ignored, because " in printed
    assert "acks" not in printed


def test_one_with_tls_and_a_password(run, monkeypatch):
    code, printed, file = run({"name": "x", "connectionConfiguration": SECURE})
    assert code == 0, printed
    assert "pl4nted" not in printed + file.read_text()  # I7
    assert "sasl_jaas_config is not written down: give it in the environment as AIRBYTE_JAAS" in printed
    monkeypatch.setenv("AIRBYTE_JAAS", LOGIN)
    made = plan.build(str(file), "UTC")
    wanted = {"security.protocol": "sasl_ssl", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "me"}
    found = {
        name: value.lower() if name == "security.protocol" else value
        for name, value in made.recipe.send.producer.items()
    }
    assert wanted.items() <= found.items()
    assert {table.topic for table in made.recipe.tables} >= {"cdc_orders"}
    assert "check --connect --test-topic probe" in printed


@pytest.mark.parametrize(
    ("pattern", "topic"),
    [
        ("sample.topic", "sample.topic"),
        ("{namespace}-{stream}", "{hvr_schema}-{hvr_tbl_base_name}"),
        ("a{b}<hvr_op>'{stream}'", "a_b__hvr_op__{hvr_tbl_base_name}_"),
    ],
)
def test_topic_patterns_are_templates_whose_names_are_transformed(pattern, topic):
    assert topic_of(pattern) == topic


def test_topics_are_called_as_airbyte_calls_them(run, tmp_path):
    (tmp_path / "t.sql").write_text(
        'create table sales."My Orders!"(id int primary key); create table "Bücher"(id int);'
    )
    code, printed, file = run({**COMMON, "topic_pattern": "{namespace}.{stream}"}, tables=tmp_path / "t.sql")
    assert code == 0, printed
    assert {table.topic for table in plan.build(str(file), "UTC").recipe.tables} == {"sales_My_Orders_", "_Bucher"}
    assert "{namespace} is empty in topics of tables whose definitions name no schema" in printed


def test_a_catalog_defines_the_streams(run, tmp_path):
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    configured = {"stream": {"name": "My Orders!", "namespace": "s", "json_schema": schema}, "primary_key": [["id"]]}
    (tmp_path / "catalog.json").write_text(json.dumps({"streams": [configured]}))
    code, printed, file = run({**COMMON, "topic_pattern": "{namespace}_{stream}"}, tables=tmp_path / "catalog.json")
    assert code == 0, printed
    [table] = plan.build(str(file), "UTC").recipe.tables
    assert (table.topic, table.table.name, table.whole_events) == ("s_My_Orders_", "my_orders", True)


@pytest.mark.parametrize(
    ("text", "said"), [("{", "is no JSON"), ("{}", "no bootstrap_servers"), ("[]", "no bootstrap_servers")]
)
def test_what_is_no_configuration(text, said, run, tmp_path):
    (tmp_path / "other.json").write_text(text)
    code, printed, file = run(json.loads(text) if text != "{" else {})
    assert code == 2
    assert said in printed or text == "{"
    assert not file.exists()


POSTGRES = {
    "host": "db", "port": 5432, "database": "shop", "schemas": ["sales"], "username": "airbyte", "password": "pl4nted",
    "ssl_mode": {"mode": "require"}, "tunnel_method": {"tunnel_method": "NO_TUNNEL"},
    "replication_method": {"method": "CDC", "publication": "airbyte_pub", "replication_slot": "airbyte_slot"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "mode", "wanted"),
    [
        ("postgres", {}, 'src: {class: postgres, address: "postgresql://airbyte:${DATABASE_PASSWORD}@db:5432/shop?sslmode=require", '
         "publication: airbyte_pub, tables: [sales.t]}"),
        ("mysql", {"ssl_mode": {"mode": "required"}}, 'src: {class: mysql, address: "mysql://airbyte:${DATABASE_PASSWORD}@db:5432/shop?ssl_mode=required", tables: [shop.t]}'),
    ],
)  # fmt: skip
def test_the_database_of_a_source_is_captured(dialect, mode, wanted, run, tmp_path):
    (tmp_path / "t.sql").write_text("create table t(id int primary key);")
    (tmp_path / "source.json").write_text(json.dumps({"connectionConfiguration": POSTGRES | mode}))
    more = ("--source", str(tmp_path / "source.json"), "--sql-dialect", dialect)
    code, printed, file = run(COMMON, *more, tables=tmp_path / "t.sql")
    assert code == 0, printed
    assert wanted in file.read_text()
    assert "pl4nted" not in printed + file.read_text()
    for text in (
        "the rows that tables have are sent again, for it is not given where Airbyte stopped",
        "the source's slot airbyte_slot keeps the server's log: drop it when the source is gone",
        "tunnel_method of the source: ignored, because the capture has no such setting",
        "in the environment as DATABASE_PASSWORD",
    ):
        assert text in printed


def test_a_source_that_is_not_captured_is_refused(run, tmp_path):
    (tmp_path / "source.json").write_text(json.dumps(POSTGRES))
    code, printed, _ = run(COMMON, "--source", str(tmp_path / "source.json"), "--sql-dialect", "oracle")
    assert code == 2
    assert "--source: a database of oracle is not captured" in printed
