"""docs/migrating.md, "Beside a connector, with proof": both run, are compared, and the connector ends; nothing is lost."""

import json
import re

import pytest

from tests.broker.test_continued_connector import BEFORE, Writer, changes_in, database
from tests.broker.test_continued_connector import PRODUCTS as _PRODUCTS
from tests.parts import connect, imports
from tests.parts.daemon import Daemon
from tests.parts.in_process import command
from tests.parts.waiting import until

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]
__all__ = ["database"]


def beside(config, broker, directory, monkeypatch):
    """The channel that is imported without offsets, and sends to topics of its own."""
    password = config["database.password"]
    monkeypatch.setenv("DATABASE_PASSWORD", password if len(password) > 1 else "any, for it is not asked for")
    text, code = imports.of_debezium(directory, config, None, "--brokers", broker.servers, captures=True)
    assert code == 0
    text, many = re.subn(r"(Kafka_Default_Topic: [\"']?)", r"\1new.", text)
    assert many == 1, text
    (directory / "channel.yaml").write_text(f"state: {directory}/state\n{text}")
    return directory / "channel.yaml"


@pytest.mark.parametrize("database", _PRODUCTS, indirect=True)
def test_both_are_equal_and_nothing_is_lost_when_the_connector_ends(
    database, real_broker, tmp_path, name, monkeypatch, capfd
):
    run, config = database
    class_path = connect.libraries()
    if class_path is None:
        pytest.skip("Kafka Connect and Debezium need mvn and Java")
    table, old = f"{name}.orders", f"{name}.{name}.orders"
    new = f"new.{old}"
    real_broker.create([old, new], 3)
    run(f"create table {table}(id int primary key, v int not null);")
    run(f"insert into {table} values {', '.join(f'({k}, 1)' for k in range(1, BEFORE + 1))};")
    config |= connect.converters("JSON")

    def compared(*words, code=0):
        capfd.readouterr()
        assert command("compare", "--channel", channel, "--json", *words) == code, capfd.readouterr()
        [one] = json.loads(capfd.readouterr().out)["tables"]
        return one

    def of_topics(code=0):
        return compared("--from-topics", old, "--to-topics", new, code=code)

    (tmp_path / name).mkdir()
    with connect.Worker(class_path, tmp_path / name, real_broker.servers) as worker:
        worker.put("source", config)
        channel = beside(config, real_broker, tmp_path, monkeypatch)
        with Writer(run, table) as writer:
            daemon = Daemon(channel)
            until(lambda: len(changes_in(real_broker, new)[0]) > 5 * BEFORE, lambda: "\n".join(daemon.lines[-20:]))
        last, _ = max(writer.changes)

        def is_equal():
            """Whether both have the last transaction, and all others."""
            words = ("--from-topics", old, "--to-topics", new)
            has_it = any(key == last for key, _ in changes_in(real_broker, old)[0])
            return has_it and command("compare", "--channel", channel, *words) == 0

        until(is_equal, worker.log)
        found = of_topics()
        assert found["rows"] == found["equal"] > BEFORE, found
        worker.delete("source")
    with Writer(run, table, last) as writer:
        until(lambda: len(writer.changes) > 500, lambda: "\n".join(daemon.lines[-20:]))
    found = compared()
    assert found["rows"] == found["equal"] > BEFORE, found
    assert daemon.terminate() == 0, daemon.lines[-20:]
    assert {*writer.changes} <= {*changes_in(real_broker, new)[0]}
    assert of_topics(code=4)["extra"] > 0, "the connector's topic has ended"
