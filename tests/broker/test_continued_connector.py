"""A Debezium connector is stopped under load and replaced by a capture that continues at its offset: no gap, no snapshot."""

import json
import threading
from collections import Counter, defaultdict

import pytest

from tests.parts import connect, imports, kafka_io, mariadb, postgres
from tests.parts.waiting import until

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

BEFORE, AT_ONCE, CHANGES = 200, 10, 5
"""Rows before the first change; transactions that are sent to the server together; changes of a transaction."""
PRODUCTS = [
    pytest.param("postgres", marks=pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason="PostgreSQL")),
    pytest.param("mariadb", marks=pytest.mark.skipif(bool(mariadb.missing()), reason="MariaDB")),
]


@pytest.fixture
def database(request, name, real_broker):
    """What runs SQL, and the configuration of a connector for the table NAME.orders."""
    if request.param == "postgres":
        with postgres.cluster() as server:
            server.psql(f"create schema {name}")
            yield server.psql, connect.postgres_connector(server, name, f"{name}\\..*")
    else:
        with mariadb.cluster("binlog_row_metadata = FULL") as server:
            server.sql(f"create database {name}")
            yield server.sql, connect.mariadb_connector(server, name, f"{name}\\..*", real_broker.servers)


class Writer(threading.Thread):
    """Commits transactions until its end. changes: those that are committed: key, version (0 of a delete).

    after: the last key that is there.
    """

    def __init__(self, run, table, after=BEFORE):
        super().__init__(daemon=True)
        self.sql, self._table, self._ending = run, table, threading.Event()
        self.changes = []
        self._last = after

    def run(self):
        while not self._ending.is_set():
            self.sql("".join(self._transaction() for _ in range(AT_ONCE)))

    def _transaction(self):
        first, self._last = self._last + 1, self._last + 3
        self.changes += [(first, 1), (first + 1, 1), (first + 2, 1), (first, 2), (first + 1, 0)]
        return (
            f"begin; insert into {self._table} values ({first}, 1), ({first + 1}, 1); "
            f"insert into {self._table} values ({first + 2}, 1); "
            f"update {self._table} set v = 2 where id = {first}; delete from {self._table} where id = {first + 1}; commit;\n"
        )

    def __exit__(self, *_):
        self._ending.set()
        self.join()

    def __enter__(self):
        self.start()
        return self


def changes_in(broker, topic):
    """The changes in a topic, key and version, in the order of each key; and how many are a connector's snapshot."""
    found, snapshot = [], 0
    for message in kafka_io.read_all(broker.servers, [topic]):
        if message.value is not None:
            event = json.loads(message.value)
            snapshot += event["op"] == "r"
            row = event["after"] or event["before"]
            found.append((row["id"], 0 if event["op"] == "d" else row["v"]))
    return found, snapshot


def imported(config, broker, directory, monkeypatch):
    """The channel that continues at the connector's offsets."""
    password = config["database.password"]
    monkeypatch.setenv("DATABASE_PASSWORD", password if len(password) > 1 else "any, for it is not asked for")
    offsets = ("--offsets", str(directory / "offsets.json"), "--brokers", broker.servers)
    text, code = imports.of_debezium(directory, config, None, *offsets, captures=True)
    assert code == 0
    (directory / "channel.yaml").write_text(f"state: {directory}/state\n{text}")
    return directory / "channel.yaml"


@pytest.mark.parametrize("database", PRODUCTS, indirect=True)
def test_every_change_is_there_and_few_are_repeated(database, real_broker, integrate_once, tmp_path, name, monkeypatch):
    run, config = database
    class_path = connect.libraries()
    if class_path is None:
        pytest.skip("Kafka Connect and Debezium need mvn and Java")
    table, topic = f"{name}.orders", f"{name}.{name}.orders"
    real_broker.create([topic], 3)
    run(f"create table {table}(id int primary key, v int not null);")
    run(f"insert into {table} values {', '.join(f'({k}, 1)' for k in range(1, BEFORE + 1))};")
    config |= connect.converters("JSON")
    (tmp_path / name).mkdir()  # whose name its topics have
    with connect.Worker(class_path, tmp_path / name, real_broker.servers) as worker:
        worker.put("source", config)
        until(lambda: changes_in(real_broker, topic)[1] == BEFORE, worker.log)
        with Writer(run, table) as writer:
            until(lambda: len(changes_in(real_broker, topic)[0]) > 10 * BEFORE, worker.log)
            (tmp_path / "offsets.json").write_text(json.dumps(worker.halt("source")))
            theirs, _ = changes_in(real_broker, topic)
            channel = imported(config, real_broker, tmp_path, monkeypatch)
            integrate_once(channel)
    integrate_once(channel)

    found, snapshot = changes_in(real_broker, topic)
    assert snapshot == BEFORE
    counts = Counter(found)
    expected = {*((k, 1) for k in range(1, BEFORE + 1)), *writer.changes}
    assert expected - counts.keys() == set()
    assert counts.keys() - expected == set()
    assert sum(counts.values()) - len(expected) <= CHANGES
    assert len(found) - len(theirs) > len(theirs) / 10, "the capture has sent the rest"
    order = defaultdict(list)
    for key, version in found:
        if version not in order[key]:
            order[key].append(version)
    assert {tuple(one) for one in order.values()} <= {(1,), (1, 2), (1, 0)}
