"""`check` looks at this machine; with --connect it tries what is beyond it, and reports all that is wrong at once."""

import http.server
import json
import os
import socket
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from integrator import plan
from integrator.cli import check as connecting
from integrator.cli import inspection, main
from integrator.deliver.kafka import probe, topics
from integrator.errors import EnvironmentFault
from integrator.run.state.directory import State
from tests.unit.broken_channels.contract import apply, write
from tests.unit.broken_channels.edits import kafka, source


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(topics, "TIMEOUT_S", 1.0)
    write(tmp_path)
    apply(tmp_path, ("localhost:9092", "127.0.0.1:1"))

    def checked(*edits, words=()):
        for edit in edits:
            apply(tmp_path, edit)
        monkeypatch.setattr(sys, "argv", ["run.py", "check", "--channel", "channel.yaml", *words])
        code, printed = main.main(), capsys.readouterr()
        return code, printed.out + printed.err

    return checked


@pytest.fixture
def taken():
    """An address on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_port_that_somebody_has_is_found(check, taken):
    code, printed = check(source("class: socket", f"listen: {taken}"))
    assert (code, printed.splitlines()[0]) == (
        2,
        f"channel.yaml:5: $.locations.src.listen: {taken} cannot be listened on: Address already in use; choose another "
        "port, or end the process that has this one",
    )


def test_a_port_of_the_monitor_that_somebody_has_is_remarked(tmp_path, taken):
    write(tmp_path)
    apply(tmp_path, ("state: state", f"state: state\nmonitor: {{listen: {taken}}}"))
    [remark] = connecting._monitor(plan.build(str(tmp_path / "channel.yaml"), "UTC"))
    assert remark.startswith(f"monitor.listen: {taken} cannot be listened on: Address already in use")


def test_a_state_that_cannot_be_is_found(check, tmp_path):
    (tmp_path / "file").touch()
    code, printed = check(("state: state", f"state: {tmp_path}/file/state"))
    assert code == 2
    assert f"$.state: {tmp_path}/file: is no directory" in printed


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user for a while")
def test_a_state_that_our_user_may_not_write_is_found():
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        os.seteuid(65534)
        try:
            found = list(inspection.of_state(Path(made, "a", "state")))
        finally:
            os.seteuid(0)
    assert found == [
        f"{made}: our user may not write here, and the channel keeps its state in {made}/a/state: name another "
        "directory, or have it made for this user"
    ]


def test_a_port_that_the_channel_itself_has_is_its_own(check, taken, tmp_path):
    state = State(str(tmp_path / "state" / "shop"))
    state.make()
    state.lock("shop", 0)
    try:
        assert check(source("class: socket", f"listen: {taken}"))[0] == 0
    finally:
        state.unlock()


def test_a_port_that_nobody_has_is_left_free(check):
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = f"127.0.0.1:{server.getsockname()[1]}"
    assert check(source("class: socket", f"listen: {free}"))[0] == 0
    host, _, port = free.rpartition(":")
    socket.create_server((host, int(port))).close()  # check keeps nothing


REMARKS = [
    # what is edited, what is remarked of deletes
    (
        (("    TimeKey: true\n", ""),),
        "all 6 tables: deletes and truncates are not sent (style Standard); a column with",
    ),
    (
        (("    TimeKey: true\n", "    table: orders\n    TimeKey: true\n"),),
        "tables customers, items, products and 2 more: de",
    ),
    ((), ""),
]


@pytest.mark.parametrize(("edits", "remark"), REMARKS)
def test_deletes_that_the_style_does_not_send_are_remarked(edits, remark, check):
    code, printed = check(*edits)
    assert code == 0
    assert (remark in printed) if remark else ("deletes" not in printed)


def server(give):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, body = give(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads = True
    threading.Thread(target=made.serve_forever, args=(0.05,), daemon=True).start()
    return made


NO_REGISTRY = {
    # what a server gives for a path, what is said of it
    "a web server without such a page": (
        lambda _: (404, b"<h1>Not Found</h1>"),
        "is no schema registry: it has nothing",
    ),
    "an API without such a path": (lambda _: (404, b'{"error_code": 404, "message": "x"}'), "is no schema registry"),
    "a web server with a page for all": (lambda _: (200, b"<h1>Welcome</h1>"), "no schema registry answers at http://"),
}


@pytest.mark.parametrize(("give", "told"), NO_REGISTRY.values(), ids=NO_REGISTRY)
def test_a_url_that_is_not_a_registrys_is_found_beside_brokers_that_do_not_answer(give, told, check):
    made = server(give)
    try:
        url = f"http://127.0.0.1:{made.server_port}"
        registry = (f"Kafka_Schema_Registry: {url}", "Schema_Registry: {Retries: 0}")
        code, printed = check(kafka(*registry), words=["--connect"])
    finally:
        made.shutdown()
        made.server_close()
    assert told in printed
    assert url in printed
    assert "no broker of 127.0.0.1:1 answers" in printed
    assert code == (2 if "is no schema registry" in told else 5)


def refusing(path):
    subject = path.split("/")[2] if path.startswith("/subjects/") else "x"
    if path.startswith("/compatibility"):
        return 200, b'{"is_compatible": false}'
    if path.endswith("/latest"):
        schema = '{"type": "record", "name": "other", "fields": []}'
        return 200, json.dumps({"subject": subject, "id": 1, "version": 1, "schema": schema}).encode()
    return 404, b'{"error_code": 40403, "message": "no such schema"}'


def test_all_schemas_that_a_registry_refuses_are_told_at_once(check):
    made = server(refusing)
    try:
        registry = (f"Kafka_Schema_Registry: http://127.0.0.1:{made.server_port}", "Schema_Registry: {Retries: 0}")
        code, printed = check(kafka(*registry), words=["--connect"])
    finally:
        made.shutdown()
        made.server_close()
    assert code == 2
    assert printed.count("the registry refuses the schema of table") == 12  # a key and a value of six tables


def test_a_socket_that_nobody_answers_at_is_found_with_the_brokers(check):
    code, printed = check(source("class: socket", "connect: 127.0.0.1:1"), words=["--connect"])
    assert (code, printed.splitlines()[0]) == (
        5,
        "channel.yaml:5: $.locations.src.connect: 127.0.0.1:1 does not answer: Connection refused; start what sends the "
        "lines, or mend `connect`",
    )
    assert "no broker of 127.0.0.1:1 answers" in printed


def test_what_this_machine_lacks_is_told_with_what_does_not_answer(check):
    code, printed = check(("path: in", "path: inn"), words=["--connect", "--test-topic", "try"])
    assert code == 2
    assert "$.locations.src.path: " in printed
    assert printed.count("no broker of 127.0.0.1:1 answers") == 1


def test_a_broker_that_does_not_answer_twice_is_reported_once(check, monkeypatch):
    def fail(text):
        raise EnvironmentFault(text)

    fault = "no broker answers: Connection refused (after {}ms in state CONNECT)"
    monkeypatch.setattr(topics, "missing", lambda *_: fail(fault.format(0)))
    monkeypatch.setattr(probe, "through_topic", lambda *_: fail(fault.format(12)))
    code, printed = check(words=["--connect", "--test-topic", "try"])
    assert (code, printed.count("no broker answers")) == (5, 1)
