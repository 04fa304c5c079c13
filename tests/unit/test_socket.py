"""Lines through sockets into the spool: what counts as received, what senders are told, and which are refused."""

import asyncio
import contextlib
import json
import socket
import ssl
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from integrator.channel import addresses
from integrator.channel.sources import SocketTls
from integrator.contracts.fragments import Checkpoint
from integrator.decode.contract import reading_of
from integrator.decode.dialects import DIALECTS
from integrator.errors import ConfigurationError
from integrator.plan import build
from integrator.sources import spool
from integrator.sources.journal import journal as journals
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import Slice
from integrator.sources.sockets import incoming
from integrator.sources.sockets.endpoint import Endpoint, Limits, context_of
from integrator.sources.sockets.incoming import READ_BYTES
from integrator.sources.sockets.line_gate import LineGate, line_gate_of
from integrator.sources.sockets.receiver import Receiver
from integrator.sources.spool import Spool, number_of
from integrator.sources.spooled import Kept, Spooled
from tests.parts import certificates, pure
from tests.parts.receiving import Receiving, records
from tests.parts.waiting import PATIENCE_S, until

OLD, NEW = b'{"hvr_op":4,"hvr_tx_seq":"1","k":1}\n', b'{"hvr_op":2,"hvr_tx_seq":"1","k":1}\n'


def answers(connected):
    return [json.loads(line) for line in connected.makefile("rb")]


def test_lines_without_a_hello_are_taken(tmp_path):
    with Receiving(tmp_path) as receiving:
        with receiving.connect() as sender:
            sender.sendall(b'{"n":1}\n\n  \n{"n":2}\r\nnull\n{"n":')
            time.sleep(0.1)
            sender.sendall(b"3}\n")
            assert receiving.wait_for(4)[:2] == [{"n": 1}, {"n": 2}]
            assert receiving.lines()[-1] == {"n": 3}
        assert {path.name.split(".")[1] for path in tmp_path.glob("[0-9]*")} == {"anonymous-1"}


@pytest.mark.parametrize(("hidden", "begins"), [(False, "{S3CR3T"), (True, "")])
def test_a_refused_line_is_written_down_unless_the_channel_masks_columns(hidden, begins, tmp_path):
    with Receiving(tmp_path, door=LineGate(hidden=hidden)) as receiving, receiving.connect() as sender:
        sender.sendall(b'{"n":1}\n{S3CR3T\n{"n":2}\n')
        [refused] = receiving.refused()
    assert (refused["line"], refused["begins"]) == (2, begins)


def test_a_sender_is_told_what_is_durable_and_continues_from_there(tmp_path):
    with Receiving(tmp_path) as receiving:
        with receiving.connect() as sender:
            sender.sendall(b'{"hello":{"sender":"a","from":1}}\n' + records(1000))
            replies = sender.makefile("rb")
            assert json.loads(next(replies)) == {"received": 0}
            assert any(json.loads(line) == {"received": 1000} for line in replies)
        with receiving.connect() as sender:  # again from line 991: ten lines are known
            sender.sendall(b'{"hello":{"sender":"a","from":991}}\n' + records(20, 991))
            sender.shutdown(socket.SHUT_WR)
            assert answers(sender)[0] == {"received": 1000}
        assert [line["n"] for line in receiving.wait_for(1010)] == list(range(1, 1011))
        with receiving.connect() as sender:
            sender.sendall(b'{"hello":{"sender":"a","from":1012}}\n')
            assert (
                "it begins with line 1012, and we have 1,010 lines: some would be lost"
                in answers(sender)[-1]["refused"]
            )


def test_several_senders_at_once_keep_their_lines_apart(tmp_path):
    def send(name):
        with receiving.connect() as sender:
            sender.sendall(b'{"hello":{"sender":"%s"}}\n' % name.encode())
            for at in range(20):
                sender.sendall(records(50, 1 + 50 * at))
            sender.shutdown(socket.SHUT_WR)
            assert answers(sender)[-1] == {
                "received": 1000
            }  # who closes without reading, resets: TCP drops what is unread

    with Receiving(tmp_path, segment_seconds=0.01) as receiving:
        threads = [threading.Thread(target=send, args=(name,)) for name in ("a", "b", "c")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        receiving.wait_for(3000)
        for name in ("a", "b", "c"):
            assert [line["n"] for line in receiving.lines(name)] == list(range(1, 1001))


def test_whoever_connects_last_is_the_sender(tmp_path):
    with Receiving(tmp_path) as receiving, receiving.connect() as first:
        first.sendall(b'{"hello":{"sender":"a"}}\n{"n":1}\n')
        receiving.wait_for(1)
        with receiving.connect() as second:
            second.sendall(b'{"hello":{"sender":"a"}}\n{"n":2}\n')
            assert json.loads(next(second.makefile("rb"))) == {"received": 1}
            assert answers(first)[-1] == {"received": 1}  # and it is closed
        assert receiving.wait_for(2) == [{"n": 1}, {"n": 2}]


NOBODY = SimpleNamespace(start=lambda: None, close=lambda: None)
"""Fills no spool."""
HVR = LineGate(waits=DIALECTS["hvr"].waits)
REFUSED = [
    ("a long line", {"line_bytes": 2000}, b'{"n":1}\n{"x":"' + b"y" * 5000, "a line of more than 2000 bytes", 2),
    ("a long line with its end", {"line_bytes": 2000}, b'{"n":1}\n{"x":"' + b"y" * 5000 + b'"}\n', "a line of more than 2000 bytes", None),
    ("garbage", {}, b'{"n":1}\nGET / HTTP/1.1\n', "no JSON record in one line", 2),
    ("bytes", {}, b'{"n":1}\n{"x":"\xff"}\n', "not UTF-8", 2),
    ("a line that has no end", {"line_seconds": 0.3}, b'{"n":1}\n{"x":', "a line has no end after", 2),
    ("no JSON inside", {}, b'{"n":1}\n{"n":2, oops}\n{"n":3}\n', "no JSON record in one line", 2),
    ("two objects in a line", {}, b'{"n":1}\n{"n":2}{"n":3}\n', "no JSON record in one line", 2),
    ("another protocol, and then bytes", {}, b'{"n":1}\nGET / HTTP/1.0\n\xff\xfe\n', "no JSON record in one line", 2),
    ("lines that are counted from 0", {}, b'{"hello":{"sender":"a","from":0}}\n{"n":1}\n', "it begins with line 0", 1),
    ("a secret that is no text", {}, b'{"hello":{"sender":"\\ud800","secret":"\\ud800"}}\n', "a sender's name has 1", 1),
    ("silence", {"idle_seconds": 0.3}, b'{"n":1}\n', "no line for", 2),
    ("an odd hello", {}, b'{"hello":5}\n', "a hello that cannot be read", 1),
    ("a hello of many brackets", {}, b'{"hello":' + b"[" * 60_000 + b"\n", "a hello that cannot be read: ", 1),
    ("a line of many brackets", {}, b'{"n":1}\n{"x":' + b"[" * 200_000 + b"\n", "no JSON record in one line: no JSON: character 133", 2),
    ("a hello from infinity", {}, b'{"hello":{"sender":"a","from":1e999}}\n', "a hello has sender and secret", 1),
    ("a hello from a fraction", {}, b'{"hello":{"sender":"a","from":1.9}}\n', "a hello has sender and secret", 1),
    ("a hello from true", {}, b'{"hello":{"sender":"a","from":true}}\n', "a hello has sender and secret", 1),
    ("a secret of null", {}, b'{"hello":{"sender":"a","secret":null}}\n', "a hello has sender and secret", 1),
    ("a sender that is a number", {}, b'{"hello":{"sender":5}}\n', "a hello has sender and secret", 1),
    ("a before image alone", {"line_seconds": 0.3, "door": HVR}, b'{"n":1}\n{"hvr_op":3}\n', "the last line is the before image of an update, and its after image does not follow", 2),
    ("an odd name", {}, b'{"hello":{"sender":"../a"}}\n', "a sender's name has 1 to 64 letters", 1),
]  # fmt: skip


@pytest.mark.parametrize(("what", "limits", "sent", "reason", "line"), REFUSED)
def test_misbehaving_senders_are_refused_and_written_down(what, limits, sent, reason, line, tmp_path):
    with Receiving(tmp_path, **limits) as receiving, receiving.connect() as sender, capture_logs():
        sender.sendall(sent)
        sender.makefile("rb").read()  # until it is closed
        [said] = receiving.refused()
    assert said["reason"].startswith(reason)
    assert line is None or said["line"] == line
    assert set(said) == {"time", "peer", "sender", "line", "reason", "begins"}
    if line == 2:  # what came before is received
        assert receiving.lines() == [{"n": 1}]


def test_a_line_whose_bytes_come_one_by_one_takes_too_long(tmp_path):
    with Receiving(tmp_path, line_seconds=0.5) as receiving, receiving.connect() as sender, suppress(OSError):
        for _ in range(50):
            sender.sendall(b"{")
            time.sleep(0.05)
        pytest.fail("it may continue for ever")
    assert receiving.refused()[0]["reason"].startswith("a line has no end after")


def test_a_line_may_begin_long_after_the_last_one(tmp_path):
    with Receiving(tmp_path, line_seconds=0.5) as receiving, receiving.connect() as sender:
        sender.sendall(b'{"n":1}\n')
        time.sleep(1.2)
        sender.sendall(b'{"n"')
        time.sleep(0.2)
        sender.sendall(b":2}\n")
        assert receiving.wait_for(2) == [{"n": 1}, {"n": 2}]


def tls_of(directory):
    """The contexts of the receiver and of its senders."""
    authority = certificates.Authority(directory)
    own = dict(zip(["certificate", "private_key"], map(str, authority.sign("we")), strict=True))
    return context_of(SocketTls(**own), listen=True), ssl.create_default_context(cafile=str(authority.certificate))


def shaken(connected, context):
    return context.wrap_socket(connected, server_hostname="127.0.0.1")


GAVE_WAY = "nothing came yet, and 16 newer connections have not sent their hello either"
TOLD = {"refused": GAVE_WAY, "retry": True}
SILENT = {
    # whether with TLS, what is done, and what who is silent is told
    "nothing": (False, lambda connected, _: connected, TOLD),
    "a hello that has no end": (False, lambda connected, _: connected.sendall(b'{"hello":') or connected, TOLD),
    "no TLS handshake": (True, lambda connected, _: connected, None),
    "half of one": (True, lambda connected, _: connected.sendall(b"\x16\x03\x01\x02\x00\x01") or connected, None),
    "a TLS handshake": (True, shaken, TOLD),
}


@pytest.mark.parametrize("what", SILENT)
def test_silent_connections_keep_no_sender_out(what, tmp_path):
    """However many come, the oldest goes, and is told; who says hello is heard at once, not after `line_seconds`."""
    tls, begin, told = SILENT[what]
    ours, theirs = tls_of(tmp_path) if tls else (None, None)
    with Receiving(tmp_path / "spool", secret="s3cret", tls=ours) as receiving, contextlib.ExitStack() as held:
        before = len([*Path("/proc/self/fd").iterdir()])
        silent = [held.enter_context(begin(receiving.connect(), theirs)) for _ in range(60)]
        for one in silent[:44]:  # 16 may wait
            with suppress(ConnectionResetError) if told is None else contextlib.nullcontext():
                assert one.recv(1000) == (b"" if told is None else json.dumps(told).encode() + b"\n")
        until(
            lambda: len([*Path("/proc/self/fd").iterdir()]) - before <= 60 + 16,
            "connections that are refused are still open",
        )
        with shaken(receiving.connect(), theirs) if tls else receiving.connect() as sender:
            sender.sendall(b'{"hello":{"sender":"a","secret":"s3cret"}}\n{"n":1}\n')
            assert json.loads(sender.makefile("rb").readline()) == {"received": 0}
            assert receiving.wait_for(1) == [{"n": 1}]
        assert {one["reason"] for one in receiving.refused()} == {GAVE_WAY}


def test_who_is_refused_is_told_though_it_has_sent_no_hello(tmp_path):
    with Receiving(tmp_path, line_seconds=0.5) as receiving:
        for sent, reply in (
            (b"", {"refused": "no first line after", "retry": True}),
            (b"GET /\n", {"refused": "no JSON"}),
        ):
            with receiving.connect() as sender:
                sender.sendall(sent)
                [told] = answers(sender)
            assert told["refused"].startswith(reply["refused"])
            assert told.get("retry") == reply.get("retry")


def test_a_host_is_listened_on_at_the_addresses_that_the_machine_has(monkeypatch):
    def found(*_, **__):
        return [(family, socket.SOCK_STREAM, 6, "", (place, 0)) for family, place in places]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    places = [(socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "127.0.0.1")]  # the first is of nobody
    [server] = addresses.listening("localhost", 0)
    assert server.getsockname()[0] == "127.0.0.1"
    server.close()
    places = places[:1]
    with pytest.raises(OSError, match="assign"):
        addresses.listening("localhost", 0)


def test_connections_are_accepted_again_when_no_file_descriptor_was_left(tmp_path, monkeypatch):
    monkeypatch.setattr(incoming, "_NONE_LEFT_S", 0.1)
    accept, left = asyncio.SelectorEventLoop.sock_accept, [0, 0, 1]

    async def sometimes(loop, server):
        if left and not left.pop(0):
            raise OSError(24, "Too many open files")
        return await accept(loop, server)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_accept", sometimes)
    with capture_logs() as logs, Receiving(tmp_path) as receiving, receiving.connect() as sender:
        sender.sendall(b'{"n":1}\n')
        assert receiving.wait_for(1) == [{"n": 1}]
    assert [one["error"] for one in logs if one["event"] == "cannot accept, tries again"] == [
        "[Errno 24] Too many open files"
    ] * 2


def test_who_is_refused_is_told_what_is_received_first(tmp_path):
    with Receiving(tmp_path, sync_seconds=60, segment_seconds=60) as receiving, receiving.connect() as sender:
        sender.sendall(b'{"hello":{"sender":"a"}}\n{"n":1}\n{"n":2}\nno record\n')
        told = answers(sender)
        assert told[:2] == [{"received": 0}, {"received": 2}]
        assert told[2]["refused"].startswith("no JSON record in one line")
        assert len(told) == 3


def test_first_lines_are_bounded(tmp_path):
    with Receiving(tmp_path, secret="s3cret") as receiving, receiving.connect() as sender, suppress(OSError):
        sender.sendall(100_000 * b"x")
        sender.makefile("rb").read()
    assert receiving.refused()[-1]["reason"].startswith("a first line of more than 65536 bytes")


def test_who_says_nothing_is_closed_without_a_secret_too(tmp_path):
    with Receiving(tmp_path, line_seconds=1.0) as receiving, receiving.connect() as silent:
        assert b"no first line after" in silent.makefile("rb").read()
        assert receiving.refused()[0]["reason"].startswith("no first line after")


def test_a_hello_that_has_no_end_is_not_written_down(tmp_path):
    with Receiving(tmp_path, secret="s3cret", line_seconds=0.5) as receiving:
        for data in (b'{"hello":{"sender":"a","secret":"s3cret"', b'{"hello":{"secret":"s3cret"' + b" " * 100_000):
            with receiving.connect() as sender, suppress(OSError):
                sender.sendall(data)
                sender.makefile("rb").read()
        assert len(receiving.refused()) == 2
        assert "s3cret" not in (tmp_path / "refused.jsonl").read_text()


def test_names_of_senders_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(spool, "MOST_SENDERS", 1)
    with Receiving(tmp_path) as receiving:
        for name in ("a", "b", "a"):
            with receiving.connect() as sender:
                sender.sendall(b'{"hello":{"sender":"%s"}}\n{"n":1}\n' % name.encode())
                sender.shutdown(socket.SHUT_WR)
                sender.makefile("rb").read()
        assert receiving.wait_for(2) == [{"n": 1}] * 2
        assert "senders have sent lines before" in receiving.refused()[0]["reason"]


def test_no_more_senders_than_allowed(tmp_path):
    with Receiving(tmp_path, connections=1) as receiving, receiving.connect() as first, receiving.connect() as second:
        first.sendall(b'{"n":1}\n')
        receiving.wait_for(1)
        second.sendall(b'{"hello":{"sender":"b"}}\n')
        second.makefile("rb").read()
        assert receiving.refused()[0]["reason"].startswith("1 sender is connected")


@pytest.mark.parametrize("hello", [b'{"n":1}\n', b'{"hello":{"sender":"a","secret":"guess"}}\n{"n":1}\n'])
def test_without_the_secret_nothing_is_taken(hello, tmp_path):
    with Receiving(tmp_path, secret="s3cret") as receiving:
        with receiving.connect() as sender:
            sender.sendall(hello)
            sender.makefile("rb").read()
        assert not receiving.lines()
        with receiving.connect() as sender:
            sender.sendall(b'{"hello":{"sender":"a","secret":"s3cret"}}\n{"n":1}\n')
            assert receiving.wait_for(1) == [{"n": 1}]
        assert "s3cret" not in (tmp_path / "refused.jsonl").read_text()


def test_senders_wait_while_too_much_waits_to_be_sent(tmp_path):
    """The spool is full: no more is read, so that TCP holds the sender back; and it continues when cycles have taken it."""
    with Receiving(tmp_path, spool_bytes=200_000, segment_bytes=50_000) as receiving, receiving.connect() as sender:
        done = threading.Event()

        def send():
            for at in range(250):
                sender.sendall(records(5000, 1 + 5000 * at))
            done.set()

        thread = threading.Thread(target=send)
        thread.start()
        assert not done.wait(1.0)
        spooled = sum(path.stat().st_size for path in tmp_path.glob("*"))
        assert spooled < 200_000 + 2 * 256 * 1024 + 50_000

        def taken():
            receiving.spool.synced([path.name for path in tmp_path.glob("[0-9]*")])
            return receiving.spool.received("anonymous-1") == 1_250_000

        until(taken)
        thread.join(PATIENCE_S)
    assert [line["n"] for line in receiving.lines()] == list(range(1, 1_250_001))


def test_tls_and_a_certificate_on_both_sides(tmp_path):
    authority = certificates.Authority(tmp_path)
    ours = SocketTls(
        **dict(zip(["certificate", "private_key"], map(str, authority.sign("we")), strict=True)),
        authority=str(authority.certificate),
    )
    theirs = SocketTls(
        **dict(zip(["certificate", "private_key"], map(str, authority.sign("agent")), strict=True)),
        authority=str(authority.certificate),
    )
    with Receiving(tmp_path / "spool", tls=context_of(ours, listen=True)) as receiving:
        unknown = ssl.create_default_context(cafile=str(authority.certificate))
        with suppress(OSError), unknown.wrap_socket(receiving.connect(), server_hostname="127.0.0.1") as sender:
            sender.sendall(b'{"n":0}\n')
            sender.recv(1)
        with context_of(theirs, listen=False).wrap_socket(receiving.connect(), server_hostname="127.0.0.1") as sender:
            sender.sendall(b'{"n":1}\n')
            assert receiving.wait_for(1) == [{"n": 1}]


def test_a_crash_loses_nothing_that_was_durable(tmp_path):
    spool = Spool(tmp_path)
    writer = spool.writer("a")
    writer.write(records(10))
    assert writer.sync() == 10
    writer.write(b'{"n":11}\n{"n"')  # on its way when the process dies
    writer._file.flush()
    again = Spool(tmp_path)
    spool.close()
    assert again.received("a") == 11
    assert [path.name for path in tmp_path.iterdir()] == ["000000000001.a.1.jsonl"]
    assert (tmp_path / "000000000001.a.1.jsonl").read_bytes() == records(11)


def test_a_crash_does_not_divide_an_update(tmp_path):
    """Two lines of the hvr dialect are one update, and were to be received together: the first alone was not."""
    spool = Spool(tmp_path, HVR.waits)
    spool.writer("a").write(NEW + OLD)
    again = Spool(tmp_path, HVR.waits)
    spool.close()
    assert (tmp_path / "000000000001.a.1.jsonl").read_bytes() == NEW
    assert again.received("a") == 1


@pytest.mark.parametrize(("line", "waits"), [
    (b'{"hvr_op":3}', True), (b'{"k":1, "hvr_op" : "4"}', True), (rb'{"hvr\u005fop":4}', True), (b'{"hvr_op":2}', False),
    (b'{"j":{"hvr_op":3},"hvr_op":1}', False), (b'{"after":{"hvr_op":3}}', False), (b"{", False), (b"null", False),
    (b'{"hvr_op":[3]}', False), (b"[" * 10_000, False),
])  # fmt: skip
def test_which_lines_wait_for_the_next_one(line, waits):
    assert HVR.waits(line + b"\n") is waits


def test_rows_of_other_dialects_wait_for_nothing(tmp_path):
    made = pure.recipe(tmp_path, "create table t(k int primary key, hvr_op int);", dialect="debezium")
    door = line_gate_of(DIALECTS["debezium"], reading_of(made))
    assert not door.waits(b'{"op":"c","after":{"k":1,"hvr_op":3}}\n')


def test_the_spool_is_bounded_whatever_comes_and_how_often(tmp_path):
    """Half of the lines are before images, and each connection ends with one; nothing is synced meanwhile."""
    limits = {"spool_bytes": 300_000, "segment_bytes": 100_000, "door": HVR}
    with Receiving(tmp_path, **limits) as receiving, capture_logs():
        for turn in range(40):
            with receiving.connect() as sender, suppress(OSError):
                sender.settimeout(0.2)
                sender.sendall(b'{"hello":{"sender":"s%d"}}\n' % (turn % 4) + (NEW + OLD) * 3000)
        until(lambda: receiving.spool.waiting_bytes > limits["spool_bytes"])
        answer = b""
        while not answer:  # who says hello is answered, though there is no room for lines
            with receiving.connect() as last, suppress(ConnectionError):  # refused while others are being accepted
                last.sendall(b'{"hello":{"sender":"last"}}\n')
                answer = last.makefile("rb").readline()
        assert json.loads(answer) == {"received": 0}
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 300_000 + 4 * 2 * READ_BYTES


def test_removed_segments_are_still_counted(tmp_path):
    spool = Spool(tmp_path)
    for part in (records(3), records(4, 4), records(5, 8)):
        writer = spool.writer("a")
        writer.write(part)
        writer.seal()
    spool.remove([path.name for path in tmp_path.glob("[0-9]*")])
    assert [path.name for path in tmp_path.glob("[0-9]*")] == ["000000000003.a.8.jsonl"]  # says what the next number is
    again = Spool(tmp_path)
    assert again.received("a") == 12


def test_each_senders_transactions_continue_in_its_own_segments(tmp_path):
    """Segments of two senders in turn: a transaction is counted on in the next segment of the same sender."""
    ddl = "create table t(k int primary key);"
    seq = '  - {action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, TimeKey: true, IntegrateExpression: "{hvr_integ_seq}"}\n'
    recipe = pure.recipe(tmp_path, ddl, seq, "hvr")

    def segment(number, sender, tx, *keys):
        path = tmp_path / f"{number:012d}.{sender}.1.jsonl"
        path.write_text("".join(json.dumps({"hvr_op": 1, "hvr_tx_seq": tx, "k": k}) + "\n" for k in keys))
        return path

    parts = [segment(1, "a", "5", 1, 2), segment(2, "b", "9", 1), segment(3, "a", "5", 3), segment(4, "b", "9", 2)]
    rows = [(row["k"], row["seq"]) for row in pure.payloads(recipe, *parts)]
    assert [(k, int(seq.split("|")[0], 16), int(seq.split("|")[2], 16)) for k, seq in rows] == [
        (1, 5, 0), (2, 5, 1), (1, 9, 0), (3, 5, 2), (2, 9, 1),
    ]  # fmt: skip
    _, notes = pure.fragments(recipe, *parts[:2])
    checkpoint = Checkpoint(2, streams={name: one.open for note in notes for name, one in note.streams.items()})
    sent, _ = pure.fragments(recipe, *parts[2:], checkpoint=checkpoint)
    assert [seq[-1] for seq in sent["integ_seq"].to_pylist()] == ["2", "1"]


CHANNELS = [
    ("{class: socket, dialect: hvr}", "either listen or connect is needed"),
    ("{class: socket, dialect: hvr, listen: '0.0.0.0:7010'}", "anyone who can reach 0.0.0.0 could send changes"),
    ("{class: socket, dialect: hvr, listen: 'localhost:99999'}", "a port is 0 to 65535"),
    ("{class: socket, dialect: hvr, listen: '127.0.0.1:1', tls: {}}", "to listen with TLS, a certificate is needed"),
    ("{class: socket, dialect: hvr, connect: 'h:1', secret: x}", "with `connect` no hello is received"),
    ("{class: socket, dialect: hvr, listen: '127.0.0.1:1', tls: {certificate: none.pem}}", "/none.pem"),
]


@pytest.mark.parametrize(("location", "reason"), CHANNELS)
def test_a_socket_that_cannot_be(location, reason, tmp_path):
    (tmp_path / "t.sql").write_text("create table t(k int primary key);")
    channel = tmp_path / "c.yaml"
    channel.write_text(
        f"channel: c\nlocations:\n  src: {location}\n  kaf: {{class: kafka, Kafka_Brokers: [localhost]}}\ntables: [{tmp_path}/t.sql]\n"
    )
    with pytest.raises(ConfigurationError) as raised:
        build(str(channel), "UTC")
    assert reason in str(raised.value)


def test_a_before_image_is_received_with_its_after_image(tmp_path):
    """Whoever connects again after a before image hears that it is not received, and sends it again."""
    with Receiving(tmp_path, door=HVR) as receiving:
        with receiving.connect() as sender, capture_logs() as logs:
            sender.sendall(b'{"hello":{"sender":"a"}}\n' + NEW + OLD)
            sender.shutdown(socket.SHUT_WR)
            assert answers(sender)[-1] == {"received": 1}
        assert any(entry["event"].endswith("its after image does not follow, and is not received") for entry in logs)
        with receiving.connect() as sender:
            sender.sendall(b'{"hello":{"sender":"a","from":2}}\n' + OLD)
            time.sleep(0.3)  # a segment is sealed meanwhile
            sender.sendall(NEW)
            sender.shutdown(socket.SHUT_WR)
            assert answers(sender) == [{"received": 1}, {"received": 3}]
        assert [line["hvr_op"] for line in receiving.lines()] == [2, 4, 2]
        assert [path.read_bytes() for path in sorted(tmp_path.glob("[0-9]*"))] == [NEW, OLD + NEW]


def test_a_disk_that_is_full_leaves_whole_lines_that_were_durable(tmp_path):
    spool = Spool(tmp_path)
    writer = spool.writer("a")
    writer.write(records(10))
    assert writer.sync() == 10

    class Full:
        """A file that takes a part of what is written, and no more."""

        def __init__(self, file):
            self._file = file

        def __getattr__(self, name):
            return getattr(self._file, name)

        def write(self, data):
            if len(data) > 20:
                return self._file.write(data[:20])
            raise OSError(28, "No space left on device")

    writer._file = Full(writer._file)
    with pytest.raises(OSError, match="No space"):
        writer.write(records(10, 11))
    writer._file = writer._file._file
    writer.write(records(5, 11))
    writer.seal()
    spool.close()
    assert (tmp_path / "000000000001.a.1.jsonl").read_bytes() == records(15)
    assert spool.received("a") == 15


@pytest.mark.parametrize("turn", range(5))
def test_closing_while_a_sender_streams(turn, tmp_path):
    receiving = Receiving(tmp_path)
    receiving.__enter__()
    ended = threading.Event()

    def send():
        with suppress(OSError), receiving.connect() as sender:
            while not ended.is_set():
                sender.sendall(records(500))

    thread = threading.Thread(target=send)
    thread.start()
    time.sleep(0.05 + 0.02 * turn)
    closing = threading.Thread(target=receiving.__exit__)
    closing.start()
    closing.join(PATIENCE_S)
    ended.set()
    thread.join(PATIENCE_S)
    assert not closing.is_alive()


def test_we_connect_again_and_again_and_end_when_we_are_stopped(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        spool = Spool(tmp_path)
        endpoint = Endpoint("127.0.0.1", server.getsockname()[1], listen=False)
        receiver = Receiver(endpoint, spool, Limits(segment_seconds=0.02), "t")
        receiver.start()
        for number in (1, 2):
            connected, _ = server.accept()
            connected.sendall(records(1, number))
            until(lambda number=number: spool.received("anonymous-1") >= number)
            if number == 1:
                connected.close()
        closing = threading.Thread(target=receiver.close)
        closing.start()
        closing.join(PATIENCE_S)
        connected.close()
        spool.close()
        assert not closing.is_alive()
    assert spool.received("anonymous-1") == 2


def test_who_we_connect_to_may_say_hello_and_is_told_what_is_received(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = Endpoint("127.0.0.1", server.getsockname()[1], listen=False)
        spool = Spool(tmp_path)
        receiver = Receiver(endpoint, spool, Limits(segment_seconds=0.02), "t")
        receiver.start()
        connected, _ = server.accept()
        with connected:
            connected.sendall(b'{"hello":{"sender":"shop"}}\n{"n":1}\n')
            told = connected.makefile("rb")
            assert [json.loads(told.readline()) for _ in range(2)] == [{"received": 0}, {"received": 1}]
        receiver.close()
        spool.close()


def test_no_segment_is_taken_before_those_below_it(tmp_path):
    """A directory that is listed while segments get their names may show the third and not the second."""
    journal = Journal(tmp_path / "files.jsonl")
    entries = {number: Slice(f"/spool/{number:012d}.a.1.jsonl", 1) for number in range(1, 5)}
    journal.take([entries[1], entries[3]], number_of)
    assert len(journal) == 1
    journal.take([entries[1], entries[2], entries[3], entries[4]], number_of)
    assert [entry.path for _, entry in journal.between(0, 4)] == [entries[number].path for number in (1, 2, 3, 4)]


def test_a_spool_that_was_emptied_continues_with_the_next_number(tmp_path):
    """Else its segments would have numbers that were taken, and none of them would be taken again."""
    journal = Journal(tmp_path / "files.jsonl")
    journal.take([Slice(f"{tmp_path}/spool/{7:012d}.a.1.jsonl", 1)])
    spooled = Spooled(Spool(tmp_path / "spool"), NOBODY, tmp_path / "files.jsonl", Kept(100, 1 << 30))
    writer = spooled.spool.writer("a")
    writer.write(records(1))
    writer.seal()
    spooled.close()
    assert [path.name for path in (tmp_path / "spool").glob("[0-9]*")] == ["000000000008.a.1.jsonl"]


def test_segments_of_cycles_that_are_kept_are_kept(tmp_path):
    journal = Journal(tmp_path / "files.jsonl")
    spooled = Spooled(Spool(tmp_path / "spool"), NOBODY, tmp_path / "files.jsonl", Kept(2, 1 << 30))
    for number in range(1, 6):
        writer = spooled.spool.writer("a")
        writer.write(records(1, number))
        writer.seal()
        journal.take([Slice(str(path), 1) for path in sorted((tmp_path / "spool").glob("[0-9]*"))], number_of)
        assert spooled.spool.waiting_bytes > 0
        spooled.synced(number)
        assert spooled.spool.waiting_bytes == 0
    spooled.close()
    assert sorted(int(path.name[:12]) for path in (tmp_path / "spool").glob("[0-9]*")) == [4, 5]


def test_segments_are_kept_as_far_as_the_bytes_of_the_spool_allow(tmp_path):
    """Those of the last cycle stay, for Spark may ask for them again; and a start removes what the one before kept."""
    place = tmp_path / "files.jsonl"
    journal = Journal(place)
    numbers = lambda: sorted(int(path.name[:12]) for path in (tmp_path / "spool").glob("[0-9]*"))  # noqa: E731
    spooled = Spooled(Spool(tmp_path / "spool"), NOBODY, place, Kept(100, 1 << 30))
    for number in range(1, 6):
        writer = spooled.spool.writer("a")
        writer.write(records(1, number))
        writer.seal()
        journal.take([Slice(str(path), 1) for path in sorted((tmp_path / "spool").glob("[0-9]*"))], number_of)
        spooled.synced(number)
    spooled.close()
    assert numbers() == [1, 2, 3, 4, 5]
    size = len(records(1, 1))
    again = Spooled(Spool(tmp_path / "spool"), NOBODY, place, Kept(100, 3 * size, [1, 2, 3, 4, 5]))
    again.start(5)
    assert (numbers(), again.spool.sealed_bytes) == ([3, 4, 5], 3 * size)
    again.close()
    last = Spooled(Spool(tmp_path / "spool"), NOBODY, place, Kept(100, 1, [3, 4, 5]))
    last.start(5)
    last.close()
    assert numbers() == [5]


def test_the_journal_of_a_spool_is_compacted_when_its_segments_are_removed(tmp_path, monkeypatch):
    """While the spool is open, and again by the next one that opens it; numbers continue, and lines stay counted."""
    monkeypatch.setattr(journals, "LEAST_COMPACTED", 1)
    place, names = (
        tmp_path / "files.jsonl",
        lambda: sorted(int(path.name[:12]) for path in (tmp_path / "spool").glob("[0-9]*")),
    )

    def receive(spooled, first, last):
        for number in range(first, last + 1):
            writer = spooled.spool.writer("a")
            writer.write(records(1, number))
            writer.seal()
            files = [Slice(str(path), 1) for path in sorted((tmp_path / "spool").glob("[0-9]*"))]
            Journal(place).take(files, number_of)
            spooled.synced(number)

    spooled = Spooled(Spool(tmp_path / "spool"), NOBODY, place, Kept(100, 1 << 30))
    receive(spooled, 1, 5)
    spooled.compact(Journal(place), 3)
    assert (names(), Journal(place).compacted, len(Journal(place))) == ([4, 5], 3, 5)
    receive(spooled, 6, 7)
    spooled.close()
    again = Spooled(Spool(tmp_path / "spool"), NOBODY, place, Kept(2, 1 << 30))
    again.start(7)
    assert (again.spool.received("a"), again.spool.waiting_bytes) == (7, 0)
    receive(again, 8, 9)
    again.compact(Journal(place), 6)
    receive(again, 10, 10)
    again.close()
    assert (names(), Journal(place).compacted, len(Journal(place))) == ([9, 10], 6, 10)


def test_a_sender_whose_lines_could_not_be_written_may_come_again(tmp_path, monkeypatch):
    """The disk is full when the connection ends, too: it is forgotten all the same, and the next one is served."""
    full = [True]

    def sync(_file):
        if full[0]:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("integrator.sources.spool.os.fsync", sync)
    monkeypatch.setattr("integrator.durable.sync_directory", lambda _path: None)
    with Receiving(tmp_path) as receiving:
        with receiving.connect() as sender:
            sender.sendall(b'{"hello":{"sender":"a"}}\n' + records(5))
            assert answers(sender) == [{"received": 0}]  # and it is closed
        full[0] = False
        with receiving.connect() as sender:
            sender.sendall(b'{"hello":{"sender":"a","from":1}}\n' + records(5))
            sender.shutdown(socket.SHUT_WR)
            assert answers(sender) == [{"received": 0}, {"received": 5}]
        assert [line["n"] for line in receiving.lines()] == [1, 2, 3, 4, 5]
