"""`send`: a file that grows and is rotated arrives line by line, each once, whatever ends in between."""

import os
import random
import shutil
import signal
import subprocess
import threading
import time
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from integrator.cli import growing
from integrator.cli import send as sends
from integrator.cli.growing import Growing
from integrator.cli.send import How, Target, send
from integrator.errors import DataError, EnvironmentFault
from tests.parts import postgres
from tests.parts.receiving import Receiving, records
from tests.parts.waiting import PATIENCE_S, until

ONCE = How(follow=False)


def sending(directory, text, port, secret=None):
    path = directory / "wal.jsonl"
    path.write_text(text)
    return send(path, Target("127.0.0.1", port, "s", secret), threading.Event(), ONCE)


@contextmanager
def following(path, receiving, sender="s", *, remove=False):
    """The file is sent as long as this lasts; yields the error that ended it, in a list."""
    ended, errors = threading.Event(), []

    def run():
        try:
            send(path, Target("127.0.0.1", receiving.receiver.port, sender), ended, How(remove=remove))
        except (DataError, EnvironmentFault) as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield errors
    finally:
        ended.set()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def numbers(receiving, count):
    return [line["n"] for line in receiving.wait_for(count)]


def test_a_file_is_sent_once_and_continued_with(tmp_path):
    with Receiving(tmp_path / "spool") as receiving:
        port = receiving.receiver.port
        assert sending(tmp_path, records(1000).decode(), port) == 1000
        assert sending(tmp_path, records(1500).decode() + '{"n":1501}', port) == 1501  # without its end
        assert sending(tmp_path, records(1503).decode(), port) == 1503  # it has one now
        assert numbers(receiving, 1503) == list(range(1, 1504))


ANOTHER_FILE = {
    "other lines": (records(2000, 100).decode(), "is the one of which lines up to 1500 were received as s"),
    "fewer lines": (records(10).decode(), "is the one of which lines up to 1500 were received as s"),
    "no line": ("", "is the one of which lines up to 1500 were received as s"),
}


@pytest.mark.parametrize("what", ANOTHER_FILE)
def test_another_file_of_the_same_name_is_refused(what, tmp_path):
    text, reason = ANOTHER_FILE[what]
    with Receiving(tmp_path / "spool") as receiving:
        assert sending(tmp_path, records(1500).decode(), receiving.receiver.port) == 1500
        with pytest.raises(DataError, match=reason):
            sending(tmp_path, text, receiving.receiver.port)
        assert len(receiving.lines()) == 1500


def test_lines_of_which_nobody_knows_the_file_are_an_error(tmp_path):
    """A name of a sender that was used elsewhere; or the record is lost, and the file may have been rotated."""
    with Receiving(tmp_path / "spool") as receiving:
        assert sending(tmp_path, records(5).decode(), receiving.receiver.port) == 5
        (tmp_path / "wal.jsonl.s.sent").unlink()
        with pytest.raises(
            DataError, match="is not there, and the receiver has 5 lines of s: it is unknown in which file"
        ):
            sending(tmp_path, records(5).decode(), receiving.receiver.port)


@pytest.mark.parametrize("damage", ["", "x", "[]", "{}", '{"before": "0"}', "5"])
def test_a_damaged_record_is_an_error(damage, tmp_path):
    with Receiving(tmp_path / "spool") as receiving:
        sending(tmp_path, records(5).decode(), receiving.receiver.port)
        (tmp_path / "wal.jsonl.s.sent").write_text(damage)
        with pytest.raises(EnvironmentFault, match=r"wal\.jsonl\.s\.sent: .*it records what was sent"):
            sending(tmp_path, records(6).decode(), receiving.receiver.port)


def renamed(path):
    path.rename(f"{path}.{time.time_ns()}")


def renamed_and_created(path):
    """As logrotate's `create` does: an empty file is there before the writer opens it."""
    renamed(path)
    path.touch()


def copied_and_cut(path):
    shutil.copy(path, f"{path}-{time.time_ns()}")
    os.truncate(path, 0)


def renamed_and_removed(path):
    path.unlink()


ROTATIONS = [renamed, renamed_and_created, copied_and_cut, renamed_and_removed]


@pytest.mark.parametrize("first", ["{}", '{"action":"B"}'], ids=["another beginning each", "the same beginning"])
@pytest.mark.parametrize("rotate", ROTATIONS)
def test_a_file_that_is_rotated_is_followed(rotate, first, tmp_path):
    path = tmp_path / "wal.jsonl"
    path.write_bytes(records(5))
    with Receiving(tmp_path / "spool") as receiving, following(path, receiving) as errors:
        for turn in range(4):
            assert numbers(receiving, 5 * (turn + 1)) == list(range(1, 5 * (turn + 1) + 1)), errors
            rotate(path)
            with path.open("ab") as file:
                file.write(records(5, 5 * (turn + 1) + 1))
        assert numbers(receiving, 25) == list(range(1, 26))
    assert not errors


def test_what_is_written_into_the_old_file_after_it_was_renamed_comes_before_the_new_one(tmp_path):
    path = tmp_path / "wal.jsonl"
    with Receiving(tmp_path / "spool") as receiving, path.open("ab", buffering=0) as old:
        old.write(records(3))
        with following(path, receiving):
            assert numbers(receiving, 3) == [1, 2, 3]
            renamed_and_created(path)
            time.sleep(0.3)
            old.write(records(2, 4) + b'{"n":6')
            time.sleep(0.3)
            old.write(b"}\n")
            path.write_bytes(records(2, 7))
            assert numbers(receiving, 8) == list(range(1, 9))


def test_a_file_that_was_rotated_several_times_while_nobody_sent_is_continued_with(tmp_path):
    path = tmp_path / "wal.jsonl"
    path.write_bytes(records(5))
    for rotate in (renamed, copied_and_cut):
        with Receiving(tmp_path / rotate.__name__) as receiving:
            assert send(path, Target("127.0.0.1", receiving.receiver.port, rotate.__name__), threading.Event(), ONCE)
            for turn in range(1, 4):
                with path.open("ab") as file:
                    file.write(records(5, 5 * turn + 1))
                rotate(path)
            with path.open("ab") as file:
                file.write(records(5, 21))
            with following(path, receiving, rotate.__name__) as errors:
                assert numbers(receiving, 25) == list(range(1, 26)), errors
        for one in tmp_path.glob("wal*"):
            one.unlink()
        path.write_bytes(records(5))


def test_rotated_files_are_removed_once_they_are_received(tmp_path):
    path, other = tmp_path / "wal.jsonl", tmp_path / "wal.jsonl.note"
    path.write_bytes(records(5))
    other.write_text("not ours")
    os.utime(other, ns=(1, 1))
    with Receiving(tmp_path / "spool") as receiving, following(path, receiving, remove=True) as errors:
        for turn, rotate in enumerate([renamed, copied_and_cut, renamed], 1):
            assert numbers(receiving, 5 * turn) == list(range(1, 5 * turn + 1)), errors
            time.sleep(0.02)
            rotate(path)
            with path.open("ab") as file:
                file.write(records(5, 5 * turn + 1))
        until(lambda: len([*tmp_path.glob("wal*")]) <= 3)
        assert sorted(one.name for one in tmp_path.glob("wal*")) == ["wal.jsonl", "wal.jsonl.note", "wal.jsonl.s.sent"]
        assert numbers(receiving, 20) == list(range(1, 21))


def test_a_file_that_is_cut_without_a_copy_is_an_error_with_the_last_line(tmp_path):
    path = tmp_path / "wal.jsonl"
    path.write_bytes(records(5))
    with Receiving(tmp_path / "spool") as receiving, following(path, receiving) as errors:
        assert numbers(receiving, 5) == [1, 2, 3, 4, 5]
        path.write_bytes(records(50, 6))
        until(lambda: errors)
        assert "was cut or written over after line 5, and no file beside it" in str(errors[0])


def test_a_rotated_file_that_is_packed_is_waited_for(tmp_path):
    """Its lines would be lost without a word."""
    path = tmp_path / "wal.jsonl"
    path.write_bytes(records(3))
    with Receiving(tmp_path / "spool") as receiving, capture_logs() as logs:
        assert send(path, Target("127.0.0.1", receiving.receiver.port, "s"), threading.Event(), ONCE) == 3
        path.rename(f"{path}.2")
        time.sleep(0.02)
        packed = tmp_path / "wal.jsonl.1.gz"
        packed.write_bytes(b"packed")
        path.write_bytes(records(2, 6))
        with following(path, receiving):
            until(lambda: any(one["event"] == "waits" and "wal.jsonl.1.gz: is packed" in one["reason"] for one in logs))
            assert len(receiving.lines()) == 3
            (tmp_path / "wal.jsonl.1").write_bytes(records(2, 4))
            packed.unlink()
            os.utime(path)
            assert numbers(receiving, 7) == list(range(1, 8))


def test_a_file_that_is_refused_is_an_error_and_no_endless_try(tmp_path):
    bad = records(3).decode() + "no record\n" + records(200_000, 4).decode()
    with (
        Receiving(tmp_path / "spool") as receiving,
        pytest.raises(EnvironmentFault, match="no JSON record in one line"),
    ):
        sending(tmp_path, bad, receiving.receiver.port)
    with (
        Receiving(tmp_path / "other", secret="x") as receiving,
        pytest.raises(EnvironmentFault, match="the secret does not match"),
    ):
        sending(tmp_path, "{}\n", receiving.receiver.port, secret="y")


TRANSIENT = {
    "silence": ({"idle_seconds": 0.3}, "the receiver refuses for now: no line for"),
    "too many senders": ({"connections": 1}, "the receiver refuses for now: 1 sender is connected"),
}


@pytest.mark.parametrize("what", TRANSIENT)
def test_a_refusal_that_passes_is_tried_again(what, tmp_path):
    limits, reason = TRANSIENT[what]
    path = tmp_path / "wal.jsonl"
    path.write_bytes(records(3))
    with Receiving(tmp_path / "spool", **limits) as receiving, capture_logs() as logs:
        other = receiving.connect()
        if what == "too many senders":
            other.sendall(b'{"n":0}\n')
            receiving.wait_for(1)
        with following(path, receiving) as errors:
            until(lambda: any(reason in str(one.get("error")) for one in logs), lambda: str((errors, logs)))
            other.close()
            with path.open("ab") as file:
                file.write(records(3, 4))
            receiving.wait_for(6 + (what == "too many senders"))
            assert [line["n"] for line in receiving.lines("s")] == [1, 2, 3, 4, 5, 6], errors


def test_it_ends_when_it_is_asked_to_though_the_receiver_has_no_room(tmp_path, monkeypatch):
    monkeypatch.setattr(sends, "_ENDING_S", 0.2)
    path = tmp_path / "wal.jsonl"
    path.write_bytes(records(1_500_000))
    with Receiving(tmp_path / "spool", spool_bytes=1_000_000, segment_bytes=200_000) as receiving:
        with following(path, receiving) as errors:
            until(lambda: receiving.spool.waiting_bytes > 1_000_000)
            time.sleep(1)
        assert not errors


@pytest.mark.parametrize("seed", range(12))
def test_each_line_comes_once_whatever_is_done_with_the_file(seed, tmp_path):
    """Writes, half lines, rotations of both kinds, and a sender that is killed, with and without a record of the last."""
    choose, path, written = random.Random(seed), tmp_path / "wal.jsonl", 0
    path.touch()
    received, made = bytearray(), Growing(path, "s", follow=True)
    made.begin(0)
    kinds = choose.sample([renamed, renamed_and_created, copied_and_cut], 1 + seed % 2)

    def look(times):
        for _ in range(times):
            received.extend(made.lines() or b"")
            if choose.random() < 0.5:
                made.acknowledged(received.count(b"\n"), now=choose.random() < 0.5)

    for _ in range(300):
        step = choose.random()
        if step < 0.5:
            lines = b"".join(
                b'{"n":%d,"x":"%s"}\n' % (written + at, b"y" * choose.choice([0, 3, 9000])) for at in range(1, 4)
            )
            written += 3
            cut = choose.randrange(len(lines))
            for part in (lines[:cut], lines[cut:]):
                with path.open("ab") as file:
                    file.write(part)
                look(choose.randrange(2))
        elif step < 0.65:
            time.sleep(0.02)  # a file system's times are ticks
            choose.choice(kinds)(path)
            path.touch()
        elif step < 0.75:
            made.close()
            made = Growing(path, "s", follow=True)
            made.begin(received.count(b"\n"))
        elif step < 0.8:
            made.begin(received.count(b"\n"))  # the connection broke
        else:
            look(2)
    look(100)
    made.close()
    assert [int(line[5:].partition(b",")[0]) for line in received.splitlines()] == list(range(1, written + 1))


def test_a_long_line_is_looked_through_once(tmp_path, monkeypatch):
    monkeypatch.setattr(growing, "CHUNK", 1000)
    path, size = tmp_path / "wal.jsonl", 100_000_000
    path.write_bytes(b'{"n":1}\n{"x":"' + b"y" * size)
    signal.alarm(60)
    made = Growing(path, "s", follow=True)
    made.begin(0)
    assert made.lines() == b'{"n":1}\n'
    for _ in range(3):
        assert made.lines() == b""
        with path.open("ab") as file:
            file.write(b"y" * 1000)
    with path.open("ab") as file:
        file.write(b'"}\n')
    assert len(made.lines()) == size + 3000 + len('{"x":""}\n')
    monkeypatch.setattr(growing, "LONGEST", 10_000)
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # a terabyte that takes no room
    with pytest.raises(DataError, match="line 3 has more than 10000 bytes, which no socket takes"):
        made.lines()
    made.close()
    signal.alarm(0)


@pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing() or "PostgreSQL is there")
def test_what_pg_recvlogical_writes_is_followed_through_rotations_and_kills(tmp_path):
    """The file is renamed and pg_recvlogical told to open it anew, as the units have it; in between it is killed."""
    path = tmp_path / "wal.jsonl"
    options = ("format-version=2", "include-lsn=1", "include-xids=1")

    def captured(server):
        words = [
            str(server.bin / "pg_recvlogical"),
            "-d",
            server.dsn,
            "--slot=s",
            "--start",
            "-f",
            str(path),
            "-s",
            "1",
            "-F",
            "1",
        ]
        made = subprocess.Popen([*words, *(word for option in options for word in ("-o", option))])
        until(path.exists)
        return made

    def keys(receiving):
        found = [line["columns"][0]["value"] for line in receiving.lines() if line["action"] == "I"]
        return [*dict.fromkeys(found)]  # a killed capture writes changes a second time

    with postgres.cluster() as server, Receiving(tmp_path / "spool") as receiving:
        server.psql("create table t(k int primary key); select pg_create_logical_replication_slot('s', 'wal2json')")
        capture = captured(server)
        with following(path, receiving, remove=True) as errors:
            for turn in range(6):
                server.psql(f"insert into t select generate_series({10 * turn}, {10 * turn + 9})")
                until(lambda count=10 * turn + 10: len(keys(receiving)) >= count)
                assert keys(receiving) == [*range(10 * turn + 10)], errors
                if turn % 3 == 2:
                    capture.kill()
                    capture.wait()
                renamed(path)
                if turn % 3 == 2:
                    capture = captured(server)
                else:
                    capture.send_signal(signal.SIGHUP)
            assert not errors
        capture.terminate()
        capture.wait()
