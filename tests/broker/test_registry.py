"""A real schema registry: registering, versions, refusals, and what becomes of a channel when it is down."""

import base64
import json
import ssl
import subprocess

import pytest

from integrator import plan, registration
from integrator.errors import ConfigurationError, EnvironmentFault
from tests.parts import kafka_io
from tests.parts.front import front, of_guid, with_guids

DDL = "create table t(id int primary key, v text, n decimal(6,2) not null);"
WIDER = DDL.replace("n decimal", "extra timestamp, n decimal")


def made(directory, url, topic, ddl=DDL, kafka="", actions=""):
    """The plan of a channel with one table."""
    (directory / "t.sql").write_text(ddl)
    path = directory / "channel.yaml"
    path.write_text(
        f"""
channel: reg
state: {directory}/state
locations:
  src: {{class: files, path: {directory}/in, dialect: hvr}}
  kaf: {{class: kafka, Kafka_Brokers: [localhost], Kafka_Default_Topic: "{topic}.{{hvr_tbl_name}}",
    Kafka_Schema_Registry: {url if url.startswith("[") else json.dumps(url)}{kafka}}}
tables: [{directory}/t.sql]
actions:
  - {{action: Integrate, CycleByteLimit: 0}}
{actions}
"""
    )
    (directory / "in").mkdir(exist_ok=True)
    return plan.build(str(path), "UTC")


def ids(resolved):
    [table] = resolved.recipe.tables
    return table.value_id and table.value_id.id, table.key_id and table.key_id.id


FORMATS = ["AVRO", "JSON", "PROTOBUF"]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_schema_is_registered_once_and_found_again(kind, registry_server, tmp_path, name):
    kafka = f", Kafka_Schema_Registry_Format: {kind}"
    first = ids(registration.resolve(made(tmp_path, registry_server.url, name, kafka=kafka)))
    assert first == ids(registration.resolve(made(tmp_path, registry_server.url, name, kafka=kafka)))
    client = registry_server.client
    assert client.get_versions(f"{name}.t-value") == [1]
    assert client.get_latest_version(f"{name}.t-value").schema_id == first[0]
    assert client.get_latest_version(f"{name}.t-value").schema.schema_type in (kind, None)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_nullable_new_column_is_a_compatible_new_version(kind, registry_server, tmp_path, name):
    kafka = f", Kafka_Schema_Registry_Format: {kind}"
    registration.resolve(made(tmp_path, registry_server.url, name, kafka=kafka))
    registry_server.client.set_compatibility(f"{name}.t-value", "BACKWARD")
    wider = made(tmp_path, registry_server.url, name, WIDER, kafka)
    assert f"{name}.t-value: a new version, compatible" in registration.check(wider)
    registration.resolve(wider)
    assert registry_server.client.get_versions(f"{name}.t-value") == [1, 2]
    text = registry_server.client.get_latest_version(f"{name}.t-value").schema.schema_str
    if kind == "PROTOBUF":  # the new field, in the middle, has a new number
        assert "optional google.protobuf.Timestamp extra = 4;" in text
        assert " n = 3 " in text


@pytest.mark.parametrize("kind", FORMATS)
def test_what_the_registry_refuses_is_told_with_its_reason_and_the_choices(kind, registry_server, tmp_path, name):
    kafka = f", Kafka_Schema_Registry_Format: {kind}"
    registration.resolve(made(tmp_path, registry_server.url, name, kafka=kafka))
    registry_server.client.set_compatibility(f"{name}.t-value", "FULL")
    changed = made(tmp_path, registry_server.url, name, DDL.replace("v text", "v int"), kafka)
    for ask in (registration.resolve, registration.check):
        with pytest.raises(ConfigurationError) as raised:
            ask(changed)
        text = str(raised.value)
        assert f"{name}.t-value: the registry refuses the schema of table t" in text
        assert "choices: let new columns be nullable; set the subject's compatibility to NONE" in text
        assert "--- registered\n+++ ours" in text
        assert [line for line in text.splitlines() if line.startswith("+") and "int" in line]
    assert registry_server.client.get_versions(f"{name}.t-value") == [1]


def test_check_registers_nothing(registry_server, tmp_path, name):
    said = registration.check(made(tmp_path, registry_server.url, name))
    assert said == [f"{name}.t-value: new", f"{name}.t-key: new"]
    assert not [subject for subject in registry_server.client.get_subjects() if subject.startswith(name)]


def test_auto_register_false_wants_the_schema_to_be_there(registry_server, tmp_path, name):
    kafka = ", Schema_Registry: {Auto_Register: false}"
    with pytest.raises(ConfigurationError, match="is not registered, and Auto_Register is false"):
        registration.resolve(made(tmp_path, registry_server.url, name, kafka=kafka))
    first = ids(registration.resolve(made(tmp_path, registry_server.url, name)))
    assert ids(registration.resolve(made(tmp_path, registry_server.url, name, kafka=kafka))) == first


@pytest.mark.parametrize("kind", FORMATS)
def test_use_latest_version_takes_a_schema_that_reads_our_messages(kind, registry_server, tmp_path, name):
    from confluent_kafka.schema_registry import Schema

    kafka = f", Kafka_Schema_Registry_Format: {kind}"
    first = registration.resolve(made(tmp_path, registry_server.url, name, kafka=kafka))
    client = registry_server.client
    text = client.get_latest_version(f"{name}.t-value").schema.schema_str
    documented = {
        "AVRO": lambda: text.replace('"name":"t"', '"name":"t","doc":"ours"', 1),
        "JSON": lambda: text.replace('"title":"t"', '"title":"t","description":"ours"', 1),
        "PROTOBUF": lambda: text.replace(
            "optional string v = 2;", "optional string v = 2;\n  optional string more = 9;"
        ),
    }[kind]()
    latest = client.register_schema(f"{name}.t-value", Schema(documented, kind))
    assert latest != ids(first)[0]
    kafka += ", Schema_Registry: {Use_Latest_Version: true}"
    assert ids(registration.resolve(made(tmp_path, registry_server.url, name, kafka=kafka)))[0] == latest
    with pytest.raises(ConfigurationError, match="its latest version cannot read our messages"):
        registration.resolve(made(tmp_path, registry_server.url, name, DDL.replace("v text", "v int"), kafka))


STRATEGIES = [
    ("TopicNameStrategy", "{name}.t-value"),
    ("RecordNameStrategy", "t"),
    ("TopicRecordNameStrategy", "{name}.t-t"),
    ("TopicNameSuffixStrategy", "{name}.t-value"),
]


@pytest.mark.parametrize(("strategy", "subject"), STRATEGIES)
def test_subject_strategies(strategy, subject, tmp_path, name):
    actions = f"  - {{action: Integrate, ValueSubjectStrategy: {strategy}}}"
    found = made(tmp_path, "http://localhost:1", name, actions=actions).registrations
    assert [said.subject for said in found] == [subject.format(name=name), f"{name}.t-key"]


def test_hvrs_suffix_strategy_names_the_table_where_the_topic_does_not(tmp_path):
    said = made(tmp_path, "http://localhost:1", "x", ddl=DDL.replace("table t(", "table orders("))
    assert [one.subject for one in said.registrations] == ["x.orders-value", "x.orders-key"]
    path = tmp_path / "channel.yaml"
    path.write_text(path.read_text().replace(".{hvr_tbl_name}", ""))
    said = plan.build(str(path), "UTC")
    assert [one.subject for one in said.registrations] == ["x-orders-value", "x-orders-key"]


def test_two_tables_cannot_share_a_subject_with_different_schemas(tmp_path):
    ddl = DDL + "create table u(id int primary key);"
    made(tmp_path, "http://localhost:1", "x", ddl=ddl)
    path = tmp_path / "channel.yaml"
    strategy = "\n  - {action: Integrate, ValueSubjectStrategy: TopicNameStrategy}\n"
    path.write_text(path.read_text().replace(".{hvr_tbl_name}", "") + strategy)
    with pytest.raises(ConfigurationError, match="would share the subject x-value"):
        plan.build(str(path), "UTC")


def test_a_registry_that_does_not_answer_is_the_operators(tmp_path, name):
    kafka = ", Schema_Registry: {Retries: 1, Timeout_Seconds: 1}"
    with pytest.raises(EnvironmentFault, match=r"no schema registry answers at http://127\.0\.0\.1:1"):
        registration.resolve(made(tmp_path, "http://127.0.0.1:1", name, kafka=kafka))


def test_the_next_url_is_asked_when_one_is_down(registry_server, tmp_path, name):
    kafka = ", Schema_Registry: {Retries: 0}"
    urls = f'["http://127.0.0.1:1", "{registry_server.url}"]'
    assert ids(registration.resolve(made(tmp_path, urls, name, kafka=kafka)))[0]


@pytest.mark.broker
@pytest.mark.spark
def test_nothing_is_sent_while_the_registry_is_down_and_all_after(
    broker, registry_server, integrate_once, tmp_path, name
):
    broker.create([f"{name}.t"])
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"hvr_op": 1, "hvr_tx_seq": "1", "id": 7, "v": "x", "n": "1.00"}\n')
    path = tmp_path / "channel.yaml"
    made(tmp_path, "http://127.0.0.1:1", name, kafka=", Schema_Registry: {Retries: 0}")
    path.write_text(path.read_text().replace("[localhost]", f'["{broker.servers}"]'))
    with pytest.raises(EnvironmentFault, match="nothing was sent"):
        integrate_once(path)
    assert kafka_io.read_all(broker.servers, [f"{name}.t"]) == []
    path.write_text(path.read_text().replace("http://127.0.0.1:1", registry_server.url))
    integrate_once(path)
    [message] = kafka_io.read_all(broker.servers, [f"{name}.t"])
    assert message.value[:1] == b"\x00"


ACCESS = [
    (", Kafka_Schema_User: me, Kafka_Schema_Registry_Password: pa55", "Basic " + base64.b64encode(b"me:pa55").decode()),
    (", Schema_Registry: {Bearer_Token: t0ken}", "Bearer t0ken"),
]


@pytest.mark.parametrize(("kafka", "authorization"), ACCESS)
def test_who_we_are_and_cloudera_s_path(kafka, authorization, registry_server, tmp_path, name):
    with front(registry_server.url, lambda headers: headers.get("Authorization") == authorization) as (url, seen):
        resolved = registration.resolve(made(tmp_path, url + "/api/v1/confluent", name, kafka=kafka))
        assert ids(resolved)[0]
        assert all(path.startswith("/api/v1/confluent/subjects/") for path, _ in seen)
        assert not [word for word in ("pa55", "t0ken") if word in repr(resolved)]  # I7
        with pytest.raises(ConfigurationError, match=r"refuses us \(401: who are you\)"):
            registration.resolve(made(tmp_path, url, name))


def test_tls_with_our_own_authority_and_our_certificate(registry_server, tmp_path, name):
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(cert)]
    subject = ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*command, *subject], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(cert))
    context.load_cert_chain(cert, key)
    context.verify_mode = ssl.CERT_REQUIRED
    ours = f"CA_Certificate: {cert}, Retries: 0"
    mutual = f"{ours}, Client_Certificate: {cert}, Client_Private_Key: {key}"
    with front(registry_server.url, context=context) as (url, _):
        assert ids(registration.resolve(made(tmp_path, url, name, kafka=f", Schema_Registry: {{{mutual}}}")))[0]
        with pytest.raises(EnvironmentFault, match="no schema registry answers"):
            registration.resolve(made(tmp_path, url, name, kafka=f", Schema_Registry: {{{ours}}}"))
        missing = f"CA_Certificate: {tmp_path}/none.pem"
        with pytest.raises(ConfigurationError, match=r"CA_Certificate: there is no file .*none\.pem"):
            registration.resolve(made(tmp_path, url, name, kafka=f", Schema_Registry: {{{missing}}}"))


def test_a_guid_in_the_header_needs_a_registry_that_gives_one(registry_server, tmp_path, name):
    kafka = ", Schema_Registry: {Schema_Id_In: HEADER}"
    with pytest.raises(ConfigurationError, match="the registry gives no GUID"):
        registration.resolve(made(tmp_path, registry_server.url, name, kafka=kafka))


@pytest.mark.broker
@pytest.mark.spark
def test_the_guid_in_headers_is_what_confluents_deserializer_looks_for(
    broker, registry_server, integrate_once, tmp_path, name
):
    """The registry at hand gives no GUIDs; the server before it does, as Confluent's newer ones do."""
    from confluent_kafka.schema_registry import SchemaRegistryClient, dual_schema_id_deserializer
    from confluent_kafka.schema_registry.avro import AvroDeserializer
    from confluent_kafka.serialization import MessageField, SerializationContext

    broker.create([f"{name}.t"])
    with front(registry_server.url, rewrite=with_guids, route=of_guid) as (url, _):
        made(tmp_path, url, name, kafka=", Schema_Registry: {Schema_Id_In: HEADER}")
        path = tmp_path / "channel.yaml"
        path.write_text(path.read_text().replace("[localhost]", f'["{broker.servers}"]'))
        (tmp_path / "in" / "a.jsonl").write_text('{"hvr_op": 1, "hvr_tx_seq": "1", "id": 7, "v": "x", "n": "1.00"}\n')
        integrate_once(path)
        [message] = kafka_io.read_all(broker.servers, [f"{name}.t"])
        assert sorted(header for header, _ in message.headers) == ["__key_schema_id", "__value_schema_id"]
        client = SchemaRegistryClient.new_client({"url": url})
        read = AvroDeserializer(client, conf={"schema.id.deserializer": dual_schema_id_deserializer})
        context = SerializationContext(message.topic, MessageField.VALUE, list(message.headers))
        assert read(message.value, context)["v"] == "x"


PROBLEMS = [
    ("ftp://x", "", "is no URL"),
    ("http://x", ", Kafka_Schema_User: me", "Kafka_Schema_User: needs Kafka_Schema_Registry_Password beside it"),
    (
        "http://x",
        ", Kafka_Schema_User: me, Kafka_Schema_Registry_Password: x, Schema_Registry: {Bearer_Token: y}",
        "but not both",
    ),
]


@pytest.mark.parametrize(("url", "kafka", "text"), PROBLEMS)
def test_problems_of_the_registry(url, kafka, text, tmp_path):
    with pytest.raises(ConfigurationError, match=text):
        made(tmp_path, url, "x", kafka=kafka)
