"""I7: secrets are known wherever they are written, and are stars in logs, errors and tracebacks."""

import json
import logging
from urllib.parse import unquote

import pytest
import structlog

from integrator.channel.secret import HIDDEN, Secrets, mask_properties, passwords_of
from integrator.cli.main import main
from integrator.errors import shortened, shown
from integrator.run.seen import progress


def test_secrets_are_stars_in_lists_and_objects_too(capsys):
    secrets = Secrets()
    secrets.add("s3cret-word")
    before = structlog.get_config()
    try:
        progress.configure(secrets, json_lines=True)
        structlog.get_logger().info(
            "e", text="s3cret-word!", many=["a", ("s3cret-word", 1)], by={"s3cret-word": {"x": "s3cret-word"}}
        )
    finally:
        structlog.configure(**before)
    line = capsys.readouterr().err
    assert "s3cret-word" not in line
    assert json.loads(line)["many"] == ["a", [HIDDEN, 1]]


SECRETS_OF_URLS = [
    ("s3://KEY:s3cret-word@bucket/in", ["s3cret-word"]),
    ("https://me:p%40ss-word@host:8081/x", ["p%40ss-word"]),
    ("https://me:p@ss-word@host", ["p@ss-word"]),
    ("jdbc:postgresql://host/shop?user=me&password=s3cret-word", ["s3cret-word"]),
    ("jdbc:sqlserver://host;user=me;password=s3cret-word;encrypt=true", ["s3cret-word"]),
    ("jdbc:oracle:thin:scott/s3cret-word@host:1521:shop", ["s3cret-word"]),
    ("https://host/in?sv=2024&sig=s3cret-word", ["s3cret-word"]),
    ("abfss://container@account.dfs.core.windows.net/in", []),
    ("s3://bucket/in/*.jsonl?region=eu-west-1&endpoint_override=host:9000", []),
    ("https://host:8081/a:b@c", []),
    ("case when a ? b then x; key=1", []),
]


@pytest.mark.parametrize(("url", "found"), SECRETS_OF_URLS)
def test_secrets_in_urls_are_known(url, found):
    assert list(passwords_of(url)) == found
    secrets = Secrets()
    secrets.add_of_url(url)
    assert not any(one in secrets.mask(f"cannot read {url}") for one in [*found, *map(unquote, found)])


def test_the_beginning_of_a_secret_that_is_cut_is_hidden():
    secrets = Secrets()
    secrets.add("s3cret-" * 100)
    assert (
        secrets.mask(f"found {shown('s3cret-' * 100)}, and {shortened('x s3cret-' + 's3cret-' * 90)}").count("s3cret")
        == 0
    )
    assert secrets.mask("s3c… (7 characters)") == "s3c… (7 characters)"  # too little to know it by


def test_each_line_of_a_key_is_hidden():
    secrets = Secrets()
    secrets.add("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----")
    assert secrets.mask("line 2: MIIEvQIBADANBg") == f"line 2: {HIDDEN}"


# https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
SECRET_PROPERTIES = [
    "sasl.password", "sasl.oauthbearer.config", "sasl.oauthbearer.extensions", "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.private.key.pem", "ssl.key.password", "ssl.key.pem", "ssl.keystore.password",
    "sasl.jaas.config",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRET_PROPERTIES)
def test_librdkafkas_secrets_are_known_by_name(name):
    assert mask_properties({name: "s3cret-word"}) == {name: HIDDEN}


@pytest.mark.parametrize("name", ["ssl.key.location", "ssl.ca.location", "sasl.username", "acks"])
def test_what_is_no_secret_is_shown(name):
    assert mask_properties({name: "x"}) == {name: "x"}


def test_a_traceback_of_a_defect_has_no_secrets(tmp_path, monkeypatch, capsys):
    """Also one that comes before the channel is read to its end."""
    (tmp_path / "c.yaml").write_text("channel: shop\nlocations: {a: {password: s3cret-word}}\n")

    def broken(data, **_):
        raise ZeroDivisionError(f"at {data}")

    monkeypatch.setattr("integrator.channel.load.Channel.model_validate", broken)
    monkeypatch.setattr("sys.argv", ["run.py", "check", "--channel", str(tmp_path / "c.yaml")])
    assert main() == 1
    said = capsys.readouterr().err
    assert "ZeroDivisionError: at " in said
    assert "s3cret-word" not in said


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--to", "192.0.2.1:7010"], 2, "give --authority, the PEM file of the authority that signed its certificate"),
        (["--to", "agent.example:7010"], 2, "or give --without-tls, if the network itself is protected"),
        (["--to", "[2001:db8::1]:7010"], 2, "--to [2001:db8::1]:7010 is beyond loopback"),
        (["--to", "192.0.2.1:7010", "--without-tls"], 0, ""),
        (["--to", "127.0.0.1:7010"], 0, ""),
        (["--to", "[::1]:7010"], 0, ""),
        (["--to", "localhost:7010"], 0, ""),
        (["--to", "192.0.2.1:7010", "--without-tls", "--authority", "ca.pem"], 2, "exclude each other"),
    ],
)
def test_lines_go_beyond_loopback_by_tls_or_by_leave(words, code, said, tmp_path, monkeypatch, capsys):
    sent = []
    monkeypatch.setattr("integrator.cli.send.send", lambda _, target, *args, **more: sent.append(target) or 0)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    (tmp_path / "f.jsonl").write_text("")
    monkeypatch.setattr("sys.argv", ["run.py", "send", "--file", str(tmp_path / "f.jsonl"), "--sender", "s", *words])
    assert main() == code
    assert said in capsys.readouterr().err
    assert len(sent) == (code == 0)


@pytest.mark.parametrize("debug", [False, True])
def test_what_libraries_log_is_an_event_and_its_trace_is_for_debugging(debug, capsys, monkeypatch):
    monkeypatch.setenv(progress.DEBUG, "1" if debug else "")
    secrets = Secrets()
    secrets.add("s3cret-word")
    before, handlers = structlog.get_config(), logging.getLogger().handlers[:]
    try:
        progress.configure(secrets, json_lines=True)
        progress.configure(secrets, json_lines=True)
        try:
            raise ConnectionResetError(104, "reset s3cret-word")
        except OSError:
            logging.getLogger().exception("Exception while sending command.")
            logging.getLogger("py4j.clientserver").exception("There was an exception")
        logging.getLogger("urllib3").info("nothing of interest")
    finally:
        logging.getLogger().handlers = handlers
        structlog.configure(**before)
    printed = capsys.readouterr().err
    [line] = printed.splitlines()
    event = json.loads(line)
    assert (event["level"], event["library"], event["text"]) == ("warning", "root", "Exception while sending command.")
    assert event["error"] == f"ConnectionResetError: [Errno 104] reset {HIDDEN}"
    assert ("Traceback" in event.get("trace", "")) is debug
