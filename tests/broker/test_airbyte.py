"""Airbyte's protocol end to end: what a source writes is in Kafka as it wrote it, and no STATE is ahead of that."""

import json
import subprocess

import pytest

from tests.faults import airbyte_kills
from tests.parts import airbyte, kafka_io
from tests.unit.test_airbyte_catalog import ID, stream
from tests.unit.test_airbyte_protocol import STATUS, record, state

pytestmark = [pytest.mark.broker, pytest.mark.spark]

CDC = '{"id":3,"note":null,"_ab_cdc_lsn":99,"_ab_cdc_updated_at":"2024-09-12T14:30:00Z","_ab_cdc_deleted_at":"2024-09-12T14:30:00Z"}'
DATA = [
    (
        "sales",
        "My Orders!",
        '{"id":1,"price":1.50,"big":123456789012345678901234567890,"nested":{"a":[1,{"b":"\\u00e4"}]}}',
    ),
    ("ops", "My Orders!", '{"id":2,"new":{"x":[]},"note":"longer than anything"}'),
    ("sales", "Bücher", '{"anything":[true,{"ä":1E+2}]}'),
    ("sales", "My Orders!", CDC),
]
GLOBAL = '{"type":"STATE","state":{"type":"GLOBAL","global":{"shared_state":{"lsn":9.0},"stream_states":[]}},"id":7}'
LEGACY = '{"type":"STATE","state":{"data":{"cursor":"x"}}}'
SCHEMA = {**ID, "note": {"type": ["null", "string"]}, "price": {"type": "number"}, "_ab_cdc_lsn": {"type": "integer"}}


@pytest.fixture(scope="module")
def programs():
    found = airbyte.installed()
    if found is None:
        pytest.skip("Airbyte's source and models need PyPI")
    return found


def streams():
    key = {"primary_key": [["id"]]}
    return [
        stream("My Orders!", SCHEMA, "sales", **key), stream("My Orders!", SCHEMA, "ops", **key),
        stream("Bücher", None, "sales"),
    ]  # fmt: skip


def lines():
    """What a source writes: records of three streams, a STATE of each kind, and messages that are no destination's."""
    of = [record(name, namespace, data, emitted_at=place) for place, (namespace, name, data) in enumerate(DATA)]
    log = '{"type":"LOG","log":{"level":"INFO","message":"x"}}'
    return [
        LEGACY,
        of[0],
        log,
        of[1],
        state("My Orders!", "sales"),
        of[2],
        of[3],
        GLOBAL,
        STATUS,
        state("Bücher", "sales"),
    ]


def without_stats(line):
    found = json.loads(line)
    return found["state"].pop("destinationStats")["recordCount"], found


def test_records_are_as_the_source_wrote_them_and_states_come_back(broker, programs, tmp_path, name):
    words = airbyte.files(tmp_path, airbyte.options(broker.servers, f"{name}.{{namespace}}.{{stream}}"), streams())
    code, out, _ = airbyte.called("write", *words, given="".join(f"{line}\n" for line in lines()).encode())
    assert code == 0, "".join(out)
    topics = [f"{name}_sales_My_Orders_", f"{name}_ops_My_Orders_", f"{name}_sales_Bucher"]
    found = {}
    for message in kafka_io.read_all(broker.servers, topics):
        head, _, data = message.value.decode().partition('"_airbyte_data":')
        value = json.loads(message.value)
        assert message.key.decode() == value["_airbyte_ab_id"]
        assert head.startswith('{"_airbyte_ab_id":')
        found[value["_airbyte_emitted_at"]] = (message.topic, value["_airbyte_stream"], data[:-1])
    of_topic = {("sales", "My Orders!"): topics[0], ("ops", "My Orders!"): topics[1], ("sales", "Bücher"): topics[2]}
    assert found == {
        place: (of_topic[namespace, stream], stream, data) for place, (namespace, stream, data) in enumerate(DATA)
    }
    assert set(airbyte.accepted(programs, out)) == {"LOG", "STATE", "TRACE"}
    given = [without_stats(line) for line in out if json.loads(line)["type"] == "STATE"]
    assert given == [
        (0.0, json.loads(LEGACY)), (1.0, json.loads(state("My Orders!", "sales"))), (4.0, json.loads(GLOBAL)),
        (1.0, json.loads(state("Bücher", "sales"))),
    ]  # fmt: skip
    assert [json.loads(line) for line in out if json.loads(line)["type"] == "TRACE"] == [json.loads(STATUS)]
    assert not list(tmp_path.glob("integrator-airbyte-*"))


def test_rows_with_schemas_have_the_columns_of_the_catalog(broker, tmp_path, name):
    more = {"message_format": "CONNECT", "message_key": "PRIMARY_KEY"}
    words = airbyte.files(tmp_path, airbyte.options(broker.servers, f"{name}_{{stream}}", **more), streams()[:1])
    new = record("My Orders!", "sales", '{"id":4,"note":"n","extra":"new"}')
    given = [record("My Orders!", "sales", CDC), new]
    code, out, _ = airbyte.called("write", *words, given="".join(f"{line}\n" for line in given).encode())
    assert code == 0, "".join(out)
    found = [
        (json.loads(m.key), json.loads(m.value)) for m in kafka_io.read_all(broker.servers, [f"{name}_My_Orders_"])
    ]
    rows = {key["payload"]["id"]: value["payload"] for key, value in found}
    assert (rows[3]["_ab_cdc_lsn"], rows[3]["note"]) == (99, None)
    assert rows[4]["extra"] == "new"


ENDS = {
    "a stream that is not in the catalog": (
        [record("other")],
        "system_error",
        "a record of stream other, which is not",
    ),
    "a mode that replaces": (None, "config_error", "destination_sync_mode is 'overwrite'"),
}


@pytest.mark.parametrize("case", ENDS)
def test_an_error_is_a_trace_and_no_state_follows_it(case, broker, programs, tmp_path, name):
    more, failure, said = ENDS[case]
    configured = stream("a", ID, **({} if more else {"destination_sync_mode": "overwrite"}))
    words = airbyte.files(tmp_path, airbyte.options(broker.servers, f"{name}_{{stream}}"), [configured])
    given = [state(), record(), *(more or []), state()]
    code, out, _ = airbyte.called("write", *words, given="".join(f"{line}\n" for line in given).encode())
    assert code == 1
    kinds = airbyte.accepted(programs, out)
    error = json.loads(out[-1])["trace"]["error"]
    assert (kinds[-1], error["failure_type"]) == ("TRACE", failure)
    assert said in error["message"] + error["internal_message"]
    assert kinds.count("STATE") <= 1


def test_the_check_connects_and_sends(broker, programs, tmp_path, name):
    given = airbyte.options(broker.servers, "{stream}", test_topic=f"{name}.test")
    words = airbyte.files(tmp_path, given, [])[:2]
    code, out, _ = airbyte.called("check", *words)
    assert airbyte.accepted(programs, out)[-1] == "CONNECTION_STATUS"
    assert (code, json.loads(out[-1])["connectionStatus"]) == (0, {"status": "SUCCEEDED"})
    [message] = kafka_io.read_all(broker.servers, [f"{name}_test"])
    assert json.loads(message.value)["_airbyte_data"] == {"test-key": "test-value"}
    login = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "sasl_jaas_config": LOGIN}
    airbyte.files(tmp_path, {**given, "protocol": login}, [])
    code, out, err = airbyte.called("check", *words)
    assert json.loads(out[-1])["connectionStatus"]["status"] == "FAILED"
    assert "pl4nted" not in "".join(out) + err  # I7


LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="pl4nted-long";'


def test_the_specification_is_accepted_by_airbytes_own_models(programs):
    code, out, _ = airbyte.called("spec")
    assert (code, airbyte.accepted(programs, out)) == (0, ["SPEC"])


def test_what_airbytes_own_source_writes_is_in_kafka(broker, programs, tmp_path, name):
    source = [str(programs / "source-faker")]
    (tmp_path / "faker.json").write_text(json.dumps({"count": 300, "seed": 7, "parallelism": 1}))
    config = ["--config", str(tmp_path / "faker.json")]
    found = subprocess.run([*source, "discover", *config], capture_output=True, text=True, check=True).stdout
    [catalog] = [json.loads(line)["catalog"] for line in found.splitlines() if '"CATALOG"' in line]
    configured = [
        {"stream": one, "sync_mode": "incremental", "destination_sync_mode": "append",
         "primary_key": one.get("source_defined_primary_key")} for one in catalog["streams"]
    ]  # fmt: skip
    words = airbyte.files(tmp_path / "to", airbyte.options(broker.servers, f"{name}.{{stream}}"), configured)
    read = [*source, "read", *config, "--catalog", words[3]]
    wrote = subprocess.run(read, capture_output=True, check=True).stdout
    code, out, _ = airbyte.called("write", *words, given=wrote)
    assert code == 0, "".join(out[-10:])
    given = [json.loads(line) for line in wrote.splitlines()]
    wanted = [one["record"] for one in given if one["type"] == "RECORD"]
    topics = sorted({f"{name}_{one['stream']}" for one in wanted})
    values = [json.loads(message.value) for message in kafka_io.read_all(broker.servers, topics)]

    def comparable(stream, emitted, data):
        return (stream, emitted, json.dumps(data, sort_keys=True))

    got = [comparable(v["_airbyte_stream"], v["_airbyte_emitted_at"], v["_airbyte_data"]) for v in values]
    assert sorted(got) == sorted(comparable(one["stream"], one["emitted_at"], one["data"]) for one in wanted)
    states = [one["state"] for one in given if one["type"] == "STATE"]
    back = [without_stats(line)[1]["state"] for line in out if json.loads(line)["type"] == "STATE"]
    assert len(wanted) > 600
    assert back == states


def test_no_state_is_ahead_of_what_a_consumer_reads_when_the_destination_is_killed(real_broker, tmp_path):
    counted = airbyte_kills.run(real_broker.servers, tmp_path, 2, 3, real_broker.create)
    print(counted)
    assert counted["with_states"]
