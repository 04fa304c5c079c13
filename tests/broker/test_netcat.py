"""`pg_recvlogical … -f - | nc HOST PORT`: a live PostgreSQL's changes through a pipe into the socket, ALTER TABLE among them."""

import json
import shutil
import subprocess

import pytest

from tests.parts import kafka_io, postgres
from tests.parts.brokers import free_port
from tests.parts.daemon import Daemon
from tests.parts.waiting import PATIENCE_S

pytestmark = [pytest.mark.broker, pytest.mark.spark]

TABLE = "create table t(id integer primary key, v text);"
BEFORE = "insert into t select i, 'v' || i from generate_series(1, 500) i; update t set v = 'w' where id = 7;"
BEHIND = "alter table t add note text; insert into t values (501, 'x', 'new'); delete from t where id = 9;"
OPTIONS = ("format-version=2", "include-lsn=1", "include-xids=1", "include-timestamp=1")


def channel(directory, broker, topic, port):
    (directory / "tables.sql").write_text(TABLE)
    path = directory / "channel.yaml"
    path.write_text(
        f"""
channel: piped
state: {directory}/state
locations:
  src: {{class: socket, listen: "127.0.0.1:{port}", dialect: auto, poll_seconds: 0.1, unknown_columns: add}}
  kaf: {{class: kafka, Kafka_Brokers: ["{broker.servers}"], Kafka_Default_Topic: "{topic}"}}
tables: [{directory}/tables.sql]
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{{hvr_op}}"}}
"""
    )
    return path


def test_a_pipe_from_pg_recvlogical(broker, tmp_path, name):
    lacks = postgres.missing() or ("" if shutil.which("nc") else "nc (Debian: netcat-openbsd)")
    if lacks:
        pytest.skip(f"the pipe needs {lacks}")
    broker.create([name], partitions=1)
    port = free_port()
    with postgres.cluster() as server:
        server.psql(TABLE)
        server.psql("select pg_create_logical_replication_slot('piped', 'wal2json')")
        daemon = Daemon(channel(tmp_path, broker, name, port))
        daemon.wait_for("integrating")
        connection = ["-h", server.host, "-p", str(server.port), "-U", server.user, "-d", "postgres", "--slot", "piped"]
        words = [str(server.bin / "pg_recvlogical"), *connection, "--start", "-f", "-", "-F", "1"]
        receiving = subprocess.Popen([*words, *(w for o in OPTIONS for w in ("-o", o))], stdout=subprocess.PIPE)
        piping = subprocess.Popen(["nc", "127.0.0.1", str(port)], stdin=receiving.stdout, stdout=subprocess.DEVNULL)
        assert receiving.stdout is not None
        receiving.stdout.close()  # it is nc's now
        try:
            server.psql(BEFORE)
            daemon.wait_for("cycle synced")
            server.psql(BEHIND)
            daemon.wait_for("columns added")
            while sum(event["rows"] for event in daemon.events("cycle synced")) < 504:
                daemon.wait_for("cycle synced", len(daemon.events("cycle synced")) + 1)
        finally:
            for process in (receiving, piping):
                process.terminate()
                process.wait(PATIENCE_S)
        assert daemon.terminate() == 0
    rows = [json.loads(message.value) for message in kafka_io.read_all(broker.servers, [name])]
    assert [row["id"] for row in rows[:500]] == list(range(1, 501))
    assert rows[500:] == [
        {"id": 7, "v": "w", "op": 2},
        {"id": 501, "v": "x", "note": "new", "op": 1},
    ]
