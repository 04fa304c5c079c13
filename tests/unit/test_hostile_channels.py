"""Channel files that would keep `check` from ending, take its memory, or have it run other code: errors with a line."""

from __future__ import annotations

import time

import pytest

from integrator.errors import ConfigurationError
from integrator.plan import build
from tests.parts.channels import SHOP_SQL

BASE = f"""channel: shop
locations:
  src: {{class: files, path: in, dialect: hvr}}
  kaf: {{class: kafka, Kafka_Brokers: [localhost]}}
tables: [{SHOP_SQL}]
"""
BOMB = "x0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"x{level}: &x{level} [{', '.join([f'*x{level - 1}'] * 10)}]\n" for level in range(1, 12)
)
SQL = "actions: [{{action: ColumnProperties, table: orders, Name: z, Extra: true, Datatype: integer, IntegrateExpression: 'sql:{}'}}]\n"
PROPERTY = "actions: [{{action: Environment, Name: HVR_KAFKA_PROPERTY, Value: '{}'}}]\n"
CODE = "cannot be set here: it loads native code"
COMMAND = "cannot be set here: it runs a command"
SECONDS = 30

CHANNELS = {
    "an alias bomb": (BASE + BOMB, ":10: $.x5", "more than 1000000 values"),
    "an alias in itself": (
        BASE + "actions: &a [*a]\n",
        ":6: $.actions[0]",
        "may not stand in the value that it names",
    ),
    "deep YAML": (BASE + "actions: " + "[" * 5000 + "]" * 5000, "", "nested too deeply"),
    "nested lists": (BASE + "actions: " + "[" * 60 + "]" * 60, ":6: $.actions[0]", "nested more than 50 deep"),
    "a device as a secret": (
        BASE.replace("localhost", "'${file:/dev/zero}'"),
        ":4: ",
        "it is no file, but a directory",
    ),
    "a directory as a secret": (BASE.replace("localhost", "'${file:/tmp}'"), ":4: ", "it is no file, but a directory"),
    "bytes as a secret": (BASE.replace("localhost", "'${file:BINARY}'"), ":4: ", "is no text in UTF-8"),
    "a large file as a secret": (BASE.replace("localhost", "'${file:LARGE}'"), ":4: ", "more than 1048576 bytes"),
    "a long sum": (BASE + SQL.format("+".join(["1"] * 30_000)), ":6: ", "nested more than 500 deep"),
    "deep brackets": (BASE + SQL.format("(" * 5000 + "1" + ")" * 5000), ":6: ", "nested more than 500 deep"),
    "a constant of gigabytes": (
        BASE + SQL.format("length(repeat(''x'', 2000000000))"),
        ":6: ",
        "at most 1000000 characters",
    ),
    "a constant of constants": (
        BASE + SQL.format("length(repeat(lpad(''x'', 90000), 90000))"),
        ":6: ",
        "at most 1000000",
    ),
    "a computed constant": (BASE + SQL.format("length(rpad(''x'', 1000 * 1000000))"), ":6: ", "at most 1000000"),
    "a plug-in": (BASE + PROPERTY.format("plugin.library.paths=/tmp/x.so"), ":6: ", CODE),
    "an engine of TLS": (BASE + PROPERTY.format("ssl.engine.location=/tmp/x.so"), ":6: ", CODE),
    "a provider of TLS": (BASE + PROPERTY.format("ssl.providers=default,/tmp/x.so"), ":6: ", CODE),
    "a command": (BASE + PROPERTY.format("sasl.kerberos.kinit.cmd=touch /tmp/x"), ":6: ", COMMAND),
}


@pytest.mark.parametrize(("text", "place", "problem"), CHANNELS.values(), ids=CHANNELS)
def test_a_hostile_channel_is_an_error(text, place, problem, tmp_path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "large").write_bytes(b"x" * (1024 * 1024 + 1))
    text = text.replace("BINARY", str(tmp_path / "binary")).replace("LARGE", str(tmp_path / "large"))
    (tmp_path / "c.yaml").write_text(text)
    started = time.process_time()
    with pytest.raises(ConfigurationError) as raised:
        build(str(tmp_path / "c.yaml"), "UTC")
    assert time.process_time() - started < SECONDS
    assert f"{tmp_path}/c.yaml{place}" in str(raised.value)
    assert problem in str(raised.value)
    assert len(str(raised.value)) < 100_000


@pytest.mark.parametrize(
    "column", ["x int default " + "(" * 3000 + "1" + ")" * 3000, "x " + "array<" * 2000 + "int" + ">" * 2000]
)
def test_a_hostile_definition_is_an_error(column, tmp_path):
    (tmp_path / "t.sql").write_text(f"create table a(id int primary key);\ncreate table b({column});")
    (tmp_path / "c.yaml").write_text(BASE.replace(SHOP_SQL, str(tmp_path / "t.sql")))
    with pytest.raises(ConfigurationError, match=r"t\.sql:2: .*nested too deeply"):
        build(str(tmp_path / "c.yaml"), "UTC")


def test_a_text_as_long_as_a_column_may_be_repeated(tmp_path):
    (tmp_path / "t.sql").write_text("create table orders(id int primary key, note text);")
    channel = BASE.replace(SHOP_SQL, str(tmp_path / "t.sql")) + SQL.format("length(repeat(''*'', length(note)))")
    (tmp_path / "c.yaml").write_text(channel)
    assert build(str(tmp_path / "c.yaml"), "UTC").recipe.tables[0].fields[-1].name == "z"
