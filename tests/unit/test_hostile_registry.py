"""Servers that are no honest schema registry: an error of the operator's or the author's, in bounded time and memory."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import json
import threading
import time

import pytest

from integrator import plan, registration
from integrator.errors import ConfigurationError, EnvironmentFault
from integrator.registry import bounded, explained

PASSWORD = "planted-registry-password"
SCHEMA = '{"type":"record","name":"t","fields":[]}'
LARGE = bounded.MOST_BYTES + 1


class Handler(http.server.BaseHTTPRequestHandler):
    """Gives what a case has; a client that goes away is no error."""

    def do(self):
        self.server.seen.append(dict(self.headers))
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with contextlib.suppress(OSError):
            self.server.give(self)

    do_GET = do_POST = do

    def answer(self, body, status=200, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(give):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.give, server.seen = give, []
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", server.seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def made(directory, url, words="", kafka="", seconds=60):
    (directory / "t.sql").write_text("create table t(id int primary key, v text);")
    (directory / "in").mkdir(exist_ok=True)
    (directory / "c.yaml").write_text(
        f"""
channel: reg
state: {directory}/state
locations:
  src: {{class: files, path: {directory}/in, dialect: hvr}}
  kaf: {{class: kafka, Kafka_Brokers: [localhost], Kafka_Schema_Registry: "{url}", Kafka_Schema_User: me,
    Kafka_Schema_Registry_Password: {PASSWORD}, Schema_Registry: {{Retries: 0, Timeout_Seconds: {seconds}{words}}}{kafka}}}
tables: [{directory}/t.sql]
"""
    )
    return plan.build(str(directory / "c.yaml"), "UTC")


def endless(handler, status=200):
    handler.send_response(status)
    handler.end_headers()
    while True:
        handler.wfile.write(b" " * 65536)


def dripping_body(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    while True:
        handler.wfile.write(b" ")
        time.sleep(0.1)


def dripping_head(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        handler.wfile.write(b"x")
        time.sleep(0.1)


def informing(handler):
    while True:
        handler.wfile.write(b"HTTP/1.1 102 Processing\r\n\r\n")
        time.sleep(0.1)


def packed(handler):
    handler.answer(gzip.compress(b" " * (64 * LARGE // 16)), headers=[("Content-Encoding", "gzip")])


def of_members(**members):
    return lambda handler: handler.answer(json.dumps({"subject": "s", "version": 1, **members}).encode())


def of_id(number):
    return of_members(id=number, schema=SCHEMA)


def failing(message, status=500):
    return lambda handler: handler.answer(json.dumps({"error_code": 1, "message": message}).encode(), status)


NO_END = "no whole answer within 1 s"
NO_ID = "ids are whole numbers from 1 to 2147483647"
CASES = {
    "an answer without end": (endless, "more than 16,777,216 bytes"),
    "an error without end": (lambda handler: endless(handler, 500), "more than 16,777,216 bytes"),
    "a packed answer": (packed, "more than 16,777,216 bytes"),
    "bytes that drip": (dripping_body, NO_END),
    "headers that drip": (dripping_head, NO_END),
    "news of a work that continues": (informing, NO_END),
    "a negative id": (of_id(-1), f"gave the id -1; {NO_ID}"),
    "the id 0": (of_id(0), NO_ID),
    "a boolean": (of_id(True), NO_ID),
    "a number with a point": (of_id(1.5), NO_ID),
    "a text": (of_id("7"), NO_ID),
    "a long text": (of_id("7" * 5_000_000), "(5,000,000 characters); ids are"),
    "an id beyond 32 bits": (of_id(2**31), NO_ID),
    "a list": (lambda handler: handler.answer(b"[1]"), "no schema registry answers"),
    "deep brackets": (lambda handler: handler.answer(b"[" * 500_000), "no schema registry answers"),
    "a schema that is an object": (of_members(id=1, schema={"type": "int"}), "a schema that is no text"),
    "a long message": (failing("x" * 5_000_000), "(5,000,000 characters)"),
    "control characters": (failing("\x1b[2J\x1b]0;title\x07\x9bm\nfine"), "fine"),
    "a message that is an object": (failing({"a": 1}), "{'a': 1}"),
    "HTML": (lambda handler: handler.answer(b"<h1>\x1b[31mno</h1>", 500), "fails now (500: "),
}


@pytest.mark.parametrize("run", [registration.resolve, registration.check])
@pytest.mark.parametrize(("give", "problem"), CASES.values(), ids=CASES)
def test_a_hostile_registry_is_an_error(give, problem, run, tmp_path):
    with serving(give) as (url, _):
        seconds = 1 if problem == NO_END else 60  # a busy machine may take long for an answer that has an end
        channel = made(tmp_path, url, ", Auto_Register: false", seconds=seconds)
        started = time.monotonic()
        with pytest.raises(EnvironmentFault) as raised:
            run(channel)
    assert time.monotonic() - started < 60  # some of these answers have no end
    text = str(raised.value)
    assert problem in text
    assert len(text) < 3000
    assert all(one.isprintable() or one == "\n" for one in text)
    assert PASSWORD not in text


@pytest.mark.parametrize("schema", ["[" * 5000, '{"type":' * 5000, "\x1b[2J" * 5000, "7", SCHEMA])
@pytest.mark.parametrize("format_of", ["AVRO", "JSON", "PROTOBUF"])
def test_a_schema_of_another_makes_a_readable_refusal(schema, format_of, tmp_path):
    with serving(of_members(id=1, schema=schema, schemaType=format_of)) as (url, _):
        kafka = f", Kafka_Schema_Registry_Format: {format_of}"
        channel = made(tmp_path, url, ", Use_Latest_Version: true", kafka)
        with pytest.raises(ConfigurationError) as raised:
            registration.resolve(channel)
    assert all(one.isprintable() or one == "\n" for one in str(raised.value))
    assert len(str(raised.value)) < 20_000


@pytest.mark.parametrize("status", explained.REDIRECTED)
def test_a_redirect_carries_no_credentials_away(status, tmp_path):
    with serving(of_id(1)) as (elsewhere, seen):
        away = [("Location", f"{elsewhere}/subjects")]
        with (
            serving(lambda handler: handler.answer(b"", status, away)) as (url, asked),
            pytest.raises(ConfigurationError, match=f"redirects to another address \\({status}\\)"),
        ):
            registration.resolve(made(tmp_path, url))
    assert seen == []
    assert "Authorization" in asked[0]


def test_an_honest_answer_is_taken(tmp_path):
    with serving(of_id(2**31 - 1)) as (url, _):
        [table] = registration.resolve(made(tmp_path, url, ", Auto_Register: false")).recipe.tables
    assert table.value_id.id == 2**31 - 1
