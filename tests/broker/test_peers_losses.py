"""Ways in which other captures lost changes without a word, each tried here; the reports are named.

A real PostgreSQL; neither Kafka nor Spark. More of them: a full spool and disk, restarts, quiet tables, tables that come
later, in `test_capture_alone`; a slot that is dropped, in `test_postgres_capture`.
"""

import os
import signal
import threading

import pytest

from integrator.sources.capture import stream as shared
from integrator.sources.capture.frames import standing_in
from integrator.sources.postgres import answers, replication, snapshot
from integrator.sources.postgres import stream as streams
from integrator.sources.spool import Writer
from tests.broker.test_capture_alone import (
    Crash,
    capturing,
    database,
    each_once,
    rebuilt,
    server,
    spooled,
)
from tests.parts import postgres
from tests.parts.waiting import until

__all__ = ["database", "server", "spooled"]
pytestmark = pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False))


def crashing_at(monkeypatch, number):
    """Have the segment of this number be the last that is written."""
    real, written = Writer.write, []

    def write(self, *given):
        written.append(1)
        if len(written) == number:
            raise Crash
        return real(self, *given)

    monkeypatch.setattr(Writer, "write", write)


@pytest.mark.parametrize("number", range(1, 8))
def test_changes_after_a_logical_message_of_a_transaction(number, database, spooled, monkeypatch):
    """Debezium skipped the change after such a message when it was restarted there (dbz#2058); and others (dbz#51, #76)."""
    database("create table a(k int primary key, v text)")
    spooled.catch_up()
    monkeypatch.setattr(shared, "SEGMENT_BYTES", 1)
    monkeypatch.setattr(replication, "ROOM_BYTES", 1)
    message = "select pg_logical_emit_message(true, 'app', 'one')"
    database(
        f"begin; insert into a values (1, 'x'); {message}; insert into a values (2, 'x'); {message}; delete from a where k = 1; commit"
    )
    crashing_at(monkeypatch, number)
    with pytest.raises(Crash):
        spooled.catch_up()
    monkeypatch.undo()
    spooled.catch_up()
    assert each_once(spooled, database, "a")
    assert [line["action"] for _, line in spooled.lines()] == ["I", "M", "I", "M", "D"]


def test_all_tables_are_read_as_of_one_place(database, spooled, monkeypatch):
    """Debezium's parallel snapshot was not pinned to the exported one (dbz#2330), and JDBC copies had gaps (#1554)."""
    database("create table a(k int primary key, v int); create table b(k int primary key, v int)")
    for table in "ab":
        database(f"insert into {table} select g, 100 from generate_series(1, 200) g")
    real = snapshot.Point.copy

    def moving(self, table, part, take):
        real(self, table, part, take)
        database("begin; update a set v = v - 1; update b set v = v + 1; commit")

    monkeypatch.setattr(snapshot.Point, "copy", moving)
    spooled.catch_up()
    sums, seen = [], {"a": {}, "b": {}}
    for _, line in spooled.lines():
        seen[line["table"]][line["new"]["k"]] = int(line["new"]["v"])
        if all(len(rows) == 200 for rows in seen.values()):
            sums.append(sum(seen["a"].values()) + sum(seen["b"].values()))
    assert sums[0] == 40_000, "the rows are of two times"
    assert sums[-1] == 40_000
    assert each_once(spooled, database, "a")


def test_what_comes_between_the_snapshot_and_the_stream(database, spooled, monkeypatch):
    """A stream did not start after the snapshot (Trendyol/go-pq-cdc#54), or had a gap before it."""
    database(
        "create table a(k int primary key, v text); insert into a select g, 'there' from generate_series(1, 100) g"
    )
    real = streams.Stream._receive

    def later(self, *given):
        database("insert into a values (1000, 'between'); update a set v = 'changed' where k = 5")
        return real(self, *given)

    monkeypatch.setattr(streams.Stream, "_receive", later)
    with capturing(spooled, spooled.directory):
        until(lambda: each_once(spooled, database, "a"))
        database("delete from a where k < 3")
        until(lambda: each_once(spooled, database, "a"))


def test_no_place_is_confirmed_that_is_not_durable(database, spooled, monkeypatch, name):
    """A wrong place was committed (airbytehq/airbyte#49803), or before its rows were there (redpanda-data/connect#4584)."""
    database(
        "create table a(k int primary key, v text); insert into a select g, 'there' from generate_series(1, 1000) g"
    )
    monkeypatch.setattr(shared, "SEGMENT_BYTES", 5_000)
    confirmed, real = [], answers.Answers._report

    def report(self, lsn, *, ask=False):
        real(self, lsn, ask=ask)
        if lsn and self._intake.is_held:  # else all that has come is durable
            durable = standing_in(spool.path)
            confirmed.append((lsn, durable.end))

    monkeypatch.setattr(answers.Answers, "_report", report)
    with capturing(spooled, spooled.directory) as (spool, _):
        for number in range(20):
            database(
                f"insert into a select {number + 2}000 + g, 'x' from generate_series(1, 300) g; update a set v = '{number}' where k % 7 = 0"
            )
        until(lambda: each_once(spooled, database, "a"))
    assert all(lsn <= end for lsn, end in confirmed)
    place = database(f"select confirmed_flush_lsn - '0/0' from pg_replication_slots where slot_name = 's_{name}'")
    assert int(place) >= standing_in(spool.path).end


def test_a_server_that_says_nothing_is_connected_to_again(database, spooled, monkeypatch, name):
    """A capture stalled for hours, and nobody knew (risingwavelabs/risingwave#25200): the other end was gone silently."""
    monkeypatch.setattr(answers, "_ALIVE_S", 0.2)
    monkeypatch.setattr(streams, "silence_of", lambda _: 1.0)
    database("create table a(k int primary key, v text)")
    spooled.catch_up()
    slot = f"select active_pid from pg_replication_slots where slot_name = 's_{name}'"
    with capturing(spooled, spooled.directory) as (_, logged):
        until(lambda: database(slot).strip())
        process = int(database(slot))
        os.kill(process, signal.SIGSTOP)
        try:
            database("insert into a values (1, 'x')")
            until(lambda: [one for one in logged if "the server says nothing for" in one.get("reason", "")])
        finally:
            os.kill(process, signal.SIGCONT)
        until(lambda: each_once(spooled, database, "a"))
    assert not [one for one in logged if one["log_level"] == "error"]


def test_parts_of_transactions_that_are_rolled_back_are_not_sent(database, spooled):
    database("create table a(k int primary key, v text)")
    spooled.catch_up()
    database(
        "begin; insert into a values (1, 'kept'); savepoint s; insert into a values (2, 'gone'); update a set v = 'gone'; "
        "rollback to s; insert into a values (3, 'kept'); savepoint s; insert into a values (4, 'kept'); release s; commit"
    )
    spooled.catch_up()
    assert [line["new"]["k"] for _, line in spooled.lines() if line["action"] == "I"] == ["1", "3", "4"]
    assert each_once(spooled, database, "a")


def test_a_truncate_that_cascades_is_one_of_each_table(database, spooled):
    database(
        "create table a(k int primary key); create table b(k int primary key, of int references a); "
        "create table c(k int primary key)"
    )
    database("insert into a values (1); insert into b values (1, 1); insert into c values (1)")
    spooled.catch_up()
    database("truncate a cascade")
    spooled.catch_up()
    assert sorted(line["table"] for _, line in spooled.lines() if line["action"] == "T") == ["a", "b"]
    assert rebuilt(spooled.lines())["c"] == {"1": {"k": "1"}}


def test_many_tables_and_transactions_at_once(database, spooled):
    """Transactions of several sessions overlap; each comes whole, in the order of the commits."""
    database("; ".join(f"create table t{number}(k int primary key, v text)" for number in range(300)))
    spooled.catch_up()

    def change(first):
        for number in range(first, 300, 3):
            database(
                f"begin; insert into t{number} select g, 'x' from generate_series(1, 20) g; insert into t{(number + 1) % 300} values ({number + 100}, 'y'); commit"
            )

    with capturing(spooled, spooled.directory):
        threads = [threading.Thread(target=change, args=(first,)) for first in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        until(lambda: len(list(spooled.lines())) >= 300 * 21)
    assert len(list(spooled.lines())) == 300 * 21
    assert all(each_once(spooled, database, f"t{number}") for number in (0, 150, 299))
