"""A standby that takes the place of the server that was captured: it continues there, or says what is missing.

Real servers; neither Kafka nor Spark.
"""

import contextlib
import threading
from collections import Counter

import pytest

from integrator.channel.databases import PostgresLocation
from integrator.errors import EnvironmentFault
from integrator.sources.capture import record
from integrator.sources.capture.frames import FRAMES
from integrator.sources.postgres import stream
from integrator.sources.postgres.server import Server
from integrator.sources.postgres.slot import names_of
from integrator.sources.spool import Spool
from tests.parts import postgres
from tests.parts.spooled import lines_in
from tests.parts.waiting import until

pytestmark = pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False))


@pytest.fixture
def servers():
    """A server of version 18, and a standby that synchronizes its slots."""
    with contextlib.ExitStack() as stack:
        found = stack.enter_context(postgres.from_pypi())
        primary = stack.enter_context(postgres.cluster(found=found))
        primary.psql("create table t(k int primary key); insert into t values (1)")
        yield primary, stack.enter_context(postgres.standby(primary, "sync_replication_slots = on\n"))


@pytest.fixture
def catch_up(tmp_path):
    def catch_up(server, **more):
        location = PostgresLocation(**{"class": "postgres", "address": server.dsn, **more})
        spool = Spool(tmp_path, framing=FRAMES)
        try:
            stream.Captures(location, Server(server.dsn, "test"), names_of(location, "shop")).capture(
                spool, "shop"
            ).catch_up()
        finally:
            spool.close()

    return catch_up


def keys(directory):
    return [int(line["new"]["k"]) for _, line in lines_in(directory) if line["action"] == "I"]


def has_all(primary, standby, catch_up):
    """Whether the standby has all that was committed, and the slot; the server's must continue before it has that."""
    primary.psql("select pg_log_standby_snapshot()")
    catch_up(primary, failover=True)
    end = primary.psql("select pg_current_wal_flush_lsn()").strip()
    slot = "select count(*) from pg_replication_slots where slot_name = 'integrator_shop' and not temporary"
    replayed = standby.psql(f"select pg_last_wal_replay_lsn() >= '{end}'").strip() == "t"
    return replayed and standby.psql(slot).strip() == "1"


def test_the_capture_continues_at_a_standby_that_is_promoted(servers, catch_up, tmp_path):
    primary, standby = servers
    catch_up(primary)  # the slot is altered, where it was not for standbys
    catch_up(primary, failover=True)
    primary.psql("insert into t select generate_series(2, 1000)")
    catch_up(primary, failover=True)
    until(lambda: has_all(primary, standby, catch_up))
    with pytest.raises(EnvironmentFault, match="the server is a standby"):
        catch_up(standby, failover=True)
    primary.crash()
    standby.psql("select pg_promote()")
    standby.psql("insert into t select generate_series(1001, 2000)")
    catch_up(standby, failover=True)
    assert keys(tmp_path) == list(range(1, 2001))
    assert record.read(tmp_path).timeline == 2
    primary.start()
    with pytest.raises(EnvironmentFault, match=r"\(timeline 1\) has what was captured \(timeline 2\) up to 0/0 only"):
        catch_up(primary, failover=True)


def test_i9_a_standby_that_lacks_what_was_captured_is_refused(servers, catch_up, tmp_path):
    """What is committed there may have positions of changes that were captured, and would be taken for these."""
    primary, standby = servers
    catch_up(primary, failover=True)
    until(lambda: has_all(primary, standby, catch_up))
    standby.control("-m", "immediate", "stop")
    primary.psql("insert into t select generate_series(2, 1000)")
    catch_up(primary, failover=True)
    primary.crash()
    standby.control("-l", "log.again", "start")
    standby.psql("select pg_promote()")
    with pytest.raises(
        EnvironmentFault, match=r"\(timeline 2\) has what was captured \(timeline 1\) up to .* lacks them"
    ):
        catch_up(standby, failover=True)
    standby.psql("insert into t select generate_series(5001, 20000)")  # and when its log is longer than ours was
    with pytest.raises(
        EnvironmentFault, match=r"\(timeline 2\) has what was captured \(timeline 1\) up to .* lacks them"
    ):
        catch_up(standby, failover=True)
    assert Counter(keys(tmp_path)) == Counter(range(1, 1001))
    primary.start()


@contextlib.contextmanager
def running_transactions_logged(primary):
    """A primary where something is always written: it logs now and then which transactions are open."""
    ending = threading.Event()

    def log():
        while not ending.wait(0.5):
            primary.psql("select pg_log_standby_snapshot()")

    logging = threading.Thread(target=log)
    logging.start()
    try:
        yield
    finally:
        ending.set()
        logging.join()


def replayed(primary, standby):
    end = primary.psql("select pg_current_wal_insert_lsn()").strip()  # commits do not wait for the disk here
    until(lambda: standby.psql(f"select pg_last_wal_replay_lsn() >= '{end}'").strip() == "t")


def test_a_standby_is_captured_from_and_continues_once_it_is_promoted(servers, catch_up, tmp_path):
    primary, standby = servers
    replayed(primary, standby)
    with pytest.raises(EnvironmentFault, match="tables run at the primary: create publication") as refused:
        catch_up(standby)
    primary.psql(str(refused.value).partition("at the primary: ")[2])  # the remedy
    replayed(primary, standby)
    with running_transactions_logged(primary):
        catch_up(standby)
        primary.psql("insert into t select generate_series(2, 1000)")
        replayed(primary, standby)
        catch_up(standby)
        assert keys(tmp_path) == list(range(1, 1001))
        primary.psql("create table u(k int primary key); insert into u values (5000)")
        primary.psql("alter publication integrator_shop add table u")
        replayed(primary, standby)
        catch_up(standby)
    primary.crash()
    standby.psql("select pg_promote()")
    standby.psql("insert into t select generate_series(1001, 2000)")
    catch_up(standby)
    assert keys(tmp_path) == [*range(1, 1001), 5000, *range(1001, 2001)]
    primary.start()


def test_a_slot_of_a_standby_that_lost_rows_says_why(catch_up, tmp_path):
    with contextlib.ExitStack() as stack:
        found = stack.enter_context(postgres.from_pypi())
        primary = stack.enter_context(postgres.cluster(found=found))
        primary.psql("create table t(k int primary key); create publication integrator_shop for table t")
        standby = stack.enter_context(postgres.standby(primary, "hot_standby_feedback = off\n"))
        with running_transactions_logged(primary):
            catch_up(standby)
        primary.psql("create table gone(k int); drop table gone; vacuum full pg_class; vacuum full pg_attribute")
        replayed(primary, standby)
        until(lambda: standby.psql("select wal_status from pg_replication_slots").strip() == "lost")
        with pytest.raises(EnvironmentFault, match="was invalidated: its primary has removed rows of the catalogue"):
            catch_up(standby)


def test_a_slot_that_a_standby_copies_is_not_read_there(servers, catch_up):
    primary, standby = servers
    catch_up(primary, failover=True)
    until(lambda: has_all(primary, standby, catch_up))
    with pytest.raises(EnvironmentFault, match="its replication slot integrator_shop is a copy of the primary's"):
        catch_up(standby)


def test_a_server_without_such_slots_says_so(catch_up):
    with postgres.cluster() as server:
        if int(server.psql("show server_version_num")) >= 170000:
            pytest.skip("this machine's PostgreSQL has slots for standbys")
        server.psql("create table t(k int primary key)")
        with pytest.raises(
            EnvironmentFault, match="failover: PostgreSQL has slots that standbys have, too, from version 17"
        ):
            catch_up(server, failover=True)


def test_rows_alone_are_read_from_a_standby(servers, catch_up, tmp_path):
    primary, standby = servers
    end = primary.psql("select pg_current_wal_flush_lsn()").strip()
    until(lambda: standby.psql(f"select pg_last_wal_replay_lsn() >= '{end}'").strip() == "t")
    catch_up(standby, snapshot="only")
    assert keys(tmp_path) == [1]
