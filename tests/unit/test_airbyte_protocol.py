"""The destination by Airbyte's protocol, without Spark and Kafka: its options, lines of standard input, and STATEs."""

import io
import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from integrator.airbyte import catalog, configuration, options
from integrator.airbyte.intake import Intake, Limits
from integrator.airbyte.lines import Marked, Passed, Records, classified
from integrator.airbyte.messages import Messages, failure_type
from integrator.airbyte.spec import specification
from integrator.airbyte.states import States
from integrator.channel.created_topics import BROKER
from integrator.channel.secret import Secrets
from integrator.errors import (
    CONFIGURATION,
    DATA,
    DEFECT,
    DELIVERY,
    ENVIRONMENT,
    PROCESS,
    ConfigurationError,
    DataError,
    Defect,
    IntegratorError,
)
from integrator.tables import airbyte_catalog
from tests.conftest import ROOT
from tests.parts import imports
from tests.unit.test_airbyte_catalog import ID, stream

pytestmark = pytest.mark.engine

STREAMS = {(None, "a"), ("n", "a")}
PLAIN = {
    "bootstrap_servers": "b:1",
    "topic_pattern": "{namespace}.{stream}",
    "protocol": {"security_protocol": "PLAINTEXT"},
}


def record(stream="a", namespace=None, data='{"id":1}', **more):
    found = {"stream": stream, **({"namespace": namespace} if namespace else {}), "data": 0, "emitted_at": 1, **more}
    return json.dumps({"type": "RECORD", "record": found}).replace('"data": 0', f'"data": {data}')


def state(name="a", namespace=None, **more):
    named = {"name": name, **({"namespace": namespace} if namespace else {})}
    return json.dumps({"type": "STATE", "state": {"type": "STREAM", "stream": {"stream_descriptor": named}, **more}})


LOG = '{"type":"LOG","log":{"level":"INFO","message":"x"}}'
STATUS = '{"type":"TRACE","trace":{"type":"STREAM_STATUS","emitted_at":1.0,"stream_status":{"stream_descriptor":{"name":"a"},"status":"COMPLETE"}}}'
ESTIMATE = '{"type":"TRACE","trace":{"type":"ESTIMATE","emitted_at":1.0}}'


def block(*lines):
    return "".join(line + "\n" for line in lines).encode()


def test_lines_are_told_apart_in_their_order():
    one, two, three = record(), record(namespace="n"), record(data='{"stream":"z","type":"STATE"}')
    lines = block(one, LOG, two, "", state(), three, STATUS, ESTIMATE)
    assert list(classified(lines, 0, STREAMS)) == [
        Records(block(one, two), Counter({(None, "a"): 1, ("n", "a"): 1})),
        Marked(block(state()), is_state=True),
        Records(block(three), Counter({(None, "a"): 1})),
        Marked(block(STATUS), is_state=False),
        Passed(Counter({"LOG": 1, "TRACE": 1})),
    ]


WRONG = [
    ("{", "no JSON: character 2: here a member's name in double quotes is expected"),
    ("null", "expected a message of Airbyte's protocol"),
    ('{"type":"REC"}', "type is 'REC'; it is one of RECORD, STATE, TRACE"),
    ("{}", "type is not there"),
    (record("b"), "a record of stream b, which is not in the configured catalog; its streams are a, n.a"),
    (record("a", "m"), "a record of stream m.a, which is not in the configured catalog"),
    ('{"type":"RECORD"}', "expected a record"),
    ('{"type":"STATE"}', "expected a state"),
    (record(file_reference={"staging_file_url": "/x"}), "the record has a file_reference"),
    (record(file={"file_url": "/x"}), "the record has a file, and files are not"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "said"), WRONG)
def test_what_is_no_message_of_the_sync_is_refused_with_its_line(line, said):
    with pytest.raises(IntegratorError) as raised:
        list(classified(block(record(), line), 6, STREAMS))
    assert str(raised.value).startswith("standard input:8: ")
    assert said in str(raised.value)


def test_a_line_that_is_not_utf8():
    with pytest.raises(DataError, match="standard input:2: the line is not UTF-8"):
        list(classified(block(record()) + b'{"a":"\xff"}\n', 0, STREAMS))


def given_back(out):
    return out.getvalue().decode().splitlines()


def test_states_wait_for_the_records_before_them_and_come_back_as_they_were():
    out = io.BytesIO()
    states = States(Messages(out))
    odd = '{"x":{"state":{}}, "type":"STATE","state":{ "type":"STREAM","stream":{"stream_descriptor":{"name":"a"},"stream_state":{"n":1.50,"e":1E400,"ü":"\\u00fc"}}},"other":1}\n'
    legacy, whole = (
        '{"type":"STATE","state":{"data":{"a":1}}}\n',
        '{"type":"STATE","state":{"type":"GLOBAL","global":{"stream_states":[]}}}\n',
    )
    states.add_state(legacy.encode(), 0)
    assert len(given_back(out)) == 1
    states.count(Counter({(None, "a"): 3, ("n", "a"): 2}))
    states.add_state(odd.encode(), 1)
    states.count(Counter({(None, "a"): 4}))
    states.add_state(whole.encode(), 2)
    states.add(STATUS.encode() + b"\n", 2)
    assert len(given_back(out)) == 1
    states.synced(1)
    assert len(given_back(out)) == 2
    states.close()
    states.synced(2)
    assert len(given_back(out)) == 2
    stats = '"destinationStats":{"recordCount":3.0},'
    assert given_back(out)[1] + "\n" == odd.replace('"state":{ "type"', f'"state":{{{stats} "type"')


def test_counts_of_states_are_those_of_their_streams():
    out = io.BytesIO()
    states = States(Messages(out))
    states.count(Counter({(None, "a"): 3, ("n", "a"): 2}))
    told = '{"type":"STATE","state":{"destinationStats":{"recordCount":9.0},"type":"STREAM","stream":{"stream_descriptor":{"name":"a","namespace":"n"}}}}'
    for line in (state(), state(), told, '{"type":"STATE","state":{}}', '{"type":"STATE","state":{"data":{}}}'):
        states.add_state(line.encode() + b"\n", 0)
    found = [json.loads(line)["state"]["destinationStats"]["recordCount"] for line in given_back(out)]
    assert found == [3.0, 0.0, 2.0, 5.0, 0.0]
    assert all(re.search(r'"recordCount":\d+\.0\b', line) for line in given_back(out))


@pytest.mark.parametrize("stream", [{}, {"stream": None}, {"stream": {"stream_descriptor": {}}}])
def test_a_state_of_no_stream_is_refused(stream):
    line = json.dumps({"type": "STATE", "state": {"type": "STREAM", **stream}}).encode()
    with pytest.raises(DataError, match="a STATE of type STREAM has no stream"):
        States(Messages(io.BytesIO())).add_state(line, 0)


@pytest.fixture
def intake(tmp_path):
    """What takes lines from a pipe; made(limit) returns it and what it gives back."""
    opened = []

    def made(limit):
        reading, writing = os.pipe()
        out = io.BytesIO()
        one = Intake(reading, STREAMS, States(Messages(out)), Limits(limit), threading.Event()).opened(
            tmp_path / "spool"
        )
        one.start(0)
        opened.append(one)
        return one, writing, out

    yield made
    for one in opened:
        one.close()


def until(holds, seconds=60):
    for _ in range(seconds * 20):
        if holds():
            return
        threading.Event().wait(0.05)
    raise AssertionError("it did not come")


def test_the_end_of_input_is_when_all_is_synced(intake, tmp_path):
    one, writing, out = intake(1 << 20)
    os.write(writing, block(record(), state()))
    until(lambda: list((tmp_path / "spool").glob("0*.jsonl")))
    assert given_back(out) == []
    os.write(writing, block(record()) + state().encode())  # without the end of its line
    os.close(writing)
    one.synced(1)
    until(lambda: len(given_back(out)) == 1)
    assert not one.is_done
    until((tmp_path / "spool" / "000000000002.stdin.2.jsonl").exists)
    one.synced(2)
    until(lambda: one.is_done)
    assert len(given_back(out)) == 2
    assert not (tmp_path / "spool" / "000000000001.stdin.1.jsonl").exists()


def test_a_source_waits_while_too_much_is_not_synced(intake, tmp_path):
    one, writing, _ = intake(1 << 16)
    os.set_blocking(writing, False)
    lines, written, quiet = block(record(data=json.dumps({"x": "y" * 1000}))), 0, 0  # which a pipe takes whole
    while quiet < 40:
        try:
            written, quiet = written + os.write(writing, lines), 0
        except BlockingIOError:
            threading.Event().wait(0.05)
            quiet += 1
    assert written < 20 * 1024 * 1024
    assert one.error is None


def test_a_line_that_comes_in_many_pieces_is_one(intake, tmp_path):
    one, writing, _ = intake(1 << 30)
    lines = block(record(), record(data=json.dumps({"x": "y" * (24 << 20)})), record())
    left = memoryview(lines)
    while left:
        left = left[os.write(writing, left) :]
    os.close(writing)
    until(lambda: sum(path.stat().st_size for path in (tmp_path / "spool").glob("0*.jsonl")) == len(lines))
    assert b"".join(path.read_bytes() for path in sorted((tmp_path / "spool").glob("0*.jsonl"))) == lines
    assert one.error is None


def test_a_wrong_line_ends_the_intake_and_no_state_follows(intake):
    one, writing, out = intake(1 << 20)
    os.write(writing, block(record(), state(), "x", state()))
    until(lambda: one.error is not None)
    assert "standard input:3" in str(one.error)
    assert not one.is_done
    one.close()
    one.synced(1)
    assert given_back(out) == []


CATALOGS = [
    (
        {"destination_sync_mode": "overwrite"},
        "destination_sync_mode is 'overwrite', and records of a topic are neither",
    ),
    ({"destination_sync_mode": "append_dedup"}, "accepted is append: choose"),
    ({"generation_id": 3, "minimum_generation_id": 3}, "minimum_generation_id is 3, with generation_id 3: records of"),
    ({"generation_id": 3, "minimum_generation_id": 2}, "refresh the stream and retain its records"),
    ({"include_files": True}, "files are not transferred into topics"),
]


@pytest.mark.parametrize(("more", "said"), CATALOGS)
def test_what_a_destination_that_appends_cannot_do_is_refused_by_name(more, said, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps({"streams": [stream("orders", ID, "n", **more)]}))
    with pytest.raises(ConfigurationError) as raised:
        catalog.read(str(tmp_path / "c.json"))
    assert said in str(raised.value)
    assert "stream orders of namespace n: " in str(raised.value)


def test_generations_of_a_stream_that_is_appended_are_taken(tmp_path):
    more = {"generation_id": 3, "minimum_generation_id": 0, "sync_id": 7}
    (tmp_path / "c.json").write_text(json.dumps({"streams": [stream("orders", ID, **more)]}))
    assert [table.name for table in catalog.read(str(tmp_path / "c.json"))[1]] == ["orders"]


OPTIONS = [
    ({"protocol": {}}, "protocol.security_protocol: '' is none"),
    ({"protocol": None}, "protocol: is needed"),
    ({"topic_pattern": ""}, "topic_pattern: is needed"),
    ({"acks": "2"}, "acks: '2' is none; accepted are 0, 1, all"),
    ({"batch_size": "many"}, "batch_size: 'many' is no whole number"),
    ({"create_topics": "perhaps"}, "create_topics: 'perhaps' is neither true nor false"),
    ({"message_format": "XML"}, "message_format: 'XML' is none"),
    ({"protocol": {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"}}, "sasl_jaas_config: is needed"),
]


@pytest.mark.parametrize(("more", "said"), OPTIONS)
def test_wrong_options_are_refused_by_name(more, said):
    with pytest.raises(ConfigurationError) as raised:
        options.checked({**PLAIN, **more}, "config.json")
    assert said in str(raised.value)


def test_configurations_of_destination_kafka_are_accepted():
    jsonschema = pytest.importorskip("jsonschema")
    schema = specification()["connectionSpecification"]
    jsonschema.Draft7Validator.check_schema(schema)
    for name in ("airbyte-plain.json", "airbyte-secure.json"):
        found = options.read(str(ROOT / imports.DATA / name), Secrets())
        jsonschema.Draft7Validator(schema).validate(found)


def test_secrets_of_options_are_hidden(tmp_path):
    secure = ROOT / imports.DATA / "airbyte-secure.json"
    secrets = Secrets()
    out = io.BytesIO()
    given = options.read(str(secure), secrets)
    jaas = given["protocol"]["sasl_jaas_config"]
    password = re.search('password="([^"]*)"', jaas)[1]
    messages = Messages(out, secrets)
    messages.status(f"not {jaas}")
    messages.log("info", f"{password}!")
    messages.error(Defect(f"it was {password}"))
    assert password not in out.getvalue().decode()


MADE = [
    # options; the format; message keys of a table with a key and of one without
    ({}, "JSON", ("STRING", "STRING")),
    ({"message_key": "PRIMARY_KEY"}, "JSON", ("JSON_ROW", "STRING")),
    ({"message_format": "CONNECT", "message_key": "PRIMARY_KEY"}, "SCHEMA_PAYLOAD", ("CONNECT_SCHEMA", "STRING")),
    ({"message_format": "JSON"}, "JSON", ("STRING", "STRING")),
    ({"message_format": "AVRO", "schema_registry_url": "http://r:1"}, "REGISTRY_AVRO", ("STRING", "STRING")),
    (
        {"message_format": "PROTOBUF", "schema_registry_url": "http://r:1", "message_key": "PRIMARY_KEY"},
        "REGISTRY_PROTOBUF", ("KAFKA_PROTOBUF_SCHEMA", "STRING"),
    ),
    (
        {"message_format": "JSON_SCHEMA", "schema_registry_url": "http://r:1", "schema_registry_user": "u",
         "schema_registry_password": "pl4nted"}, "REGISTRY_JSON", ("STRING", "STRING"),
    ),
    ({"delivery": "exactly_once"}, "JSON", ("STRING", "STRING")),
    ({"create_topics": False}, "JSON", ("STRING", "STRING")),
]  # fmt: skip


def made_of(more, directory):
    streams = [stream("My Orders!", ID, "büro", primary_key=[["id"]]), stream("free")]
    text = json.dumps({"streams": streams})
    if more.get("message_format", "AIRBYTE") != "AIRBYTE":
        text = json.dumps({"streams": [streams[0], stream("free", ID)]})
    tables, _ = airbyte_catalog.read("", text)
    given = options.checked({**PLAIN, **more}, "config.json")
    return configuration.configured(given, text, tables, directory, Secrets()).plan


@pytest.mark.parametrize(("more", "fmt", "keys"), MADE)
def test_options_make_a_channel(more, fmt, keys, tmp_path):
    made = made_of(more, tmp_path)
    assert made.recipe.messages.layout.format == fmt
    assert tuple(table.message_key.serializer for table in made.recipe.tables) == keys
    assert [table.topic for table in made.recipe.tables] == ["buro_My_Orders_", "_free"]
    assert made.recipe.send.exactly_once == (more.get("delivery") == "exactly_once")
    assert (made.create_topics == BROKER) == (more.get("create_topics") is False)
    assert all(0 in table.operations for table in made.recipe.tables)
    assert "pl4nted" not in (tmp_path / "channel.yaml").read_text()


@pytest.mark.parametrize(
    ("more", "said"),
    [({"message_format": "AVRO"}, "needs a schema registry"), ({"schema_registry_url": "http://r"}, "has no effect")],
)
def test_a_registry_and_its_formats_go_together(more, said, tmp_path):
    with pytest.raises(ConfigurationError, match=said):
        made_of(more, tmp_path)


def test_the_entry_point_of_the_page_writes_the_specification():
    page = (ROOT / "docs" / "howto" / "airbyte-destination.md").read_text()
    [entry] = re.findall(r"ENTRYPOINT (.+)", page)
    [named] = re.findall(r'AIRBYTE_ENTRYPOINT="(.+)"', page)
    python, program, *words = json.loads(entry)
    assert named.split() == [python, program, *words]
    command = [sys.executable, str(ROOT / Path(program).name), *words, "spec"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["spec"] == specification()


def test_the_configuration_of_the_page_is_accepted():
    page = (ROOT / "docs" / "howto" / "airbyte-destination.md").read_text()
    [text] = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert options.checked(json.loads(text), "page")["topic_pattern"] == "{namespace}.{stream}"


def test_kinds_of_errors_are_failure_types():
    assert {
        kind.name: failure_type(kind) for kind in (CONFIGURATION, ENVIRONMENT, DATA, DEFECT, DELIVERY, PROCESS)
    } == {
        "configuration": "config_error",
        "environment": "config_error",
        "data": "system_error",
        "defect": "system_error",
        "delivery": "transient_error",
        "process": "transient_error",
    }


def test_errors_name_the_options_of_the_destination():
    out = io.BytesIO()
    Messages(out).status("no broker answers: mend Kafka_Brokers, or Create_Topics.Replication_Factor")
    text = json.loads(out.getvalue())["connectionStatus"]["message"]
    assert text == "no broker answers: mend bootstrap_servers, or create_topics.topic_replication_factor"
    Messages(out).log("error", "/tmp/x/spool/000000000002.stdin.41.jsonl:3: table t, column id: 'x' is no integer")
    text = json.loads(out.getvalue().splitlines()[1])["log"]["message"]
    assert text == "record 43 of standard input: table t, column id: 'x' is no integer"


def test_values_of_rows_are_not_what_users_see_first():
    out = io.BytesIO()
    Messages(out).error(DataError("column x: 'pl4nted' is no integer"))
    error = json.loads(out.getvalue())["trace"]["error"]
    assert "pl4nted" not in error["message"]
    assert "pl4nted" in error["internal_message"]
