"""Authentication and TLS against a real Apache Kafka: the right ones are let in, the wrong ones are told so."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer

from integrator import plan
from integrator.deliver.kafka import topics
from integrator.deliver.kafka.refused import refused
from integrator.errors import EnvironmentFault
from tests.parts import brokers, channels, kafka_io
from tests.parts.certificates import Authority, encrypted

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

PASSWORD, OTHER = "pa55word", "n0t-it"
KEY_PASSWORD = "k3y-pa55word"
ROWS = 3


@dataclass
class Guarded:
    """A broker that wants to know who comes, and the files of those who may."""

    kraft: brokers.KraftBroker
    authority: Path
    certificate: Path
    key: Path

    def place(self, listener):
        return self.kraft.listeners[listener]


@pytest.fixture(scope="module")
def guarded():
    class_path = brokers.libraries()
    if class_path is None:
        pytest.skip("a broker with TLS needs mvn and Java 17")
    with tempfile.TemporaryDirectory(prefix="kafka-") as home:
        directory = Path(home)
        authority = Authority(directory)
        certificate, key = authority.sign("broker")
        (directory / "keystore.pem").write_text(key.read_text() + certificate.read_text())
        plain, scram = "security.plain.PlainLoginModule", "security.scram.ScramLoginModule"
        properties = f"""
ssl.keystore.type=PEM
ssl.keystore.location={directory}/keystore.pem
ssl.truststore.type=PEM
ssl.truststore.location={authority.certificate}
listener.name.mutual.ssl.client.auth=required
listener.name.secure.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.secure.plain.sasl.jaas.config=org.apache.kafka.common.{plain} required user_ann="{PASSWORD}";
listener.name.secure.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.{scram} required;
"""
        format_words = ["--add-scram", f"SCRAM-SHA-512=[name=bob,password={PASSWORD}]"]
        listeners = {"SECURE": "SASL_SSL", "MUTUAL": "SSL"}
        ours, our_key = authority.sign("us")
        with brokers.KraftBroker(class_path, directory, listeners, properties, format_words) as kraft:
            yield Guarded(kraft, authority.certificate, ours, encrypted(our_key, KEY_PASSWORD))


def user(method, name, variable="THE_PASSWORD"):
    return {"Kafka_Authentication_Method": method, "Stream_User": name, "Stream_Password": f"${{{variable}}}"}


CERTIFICATE = {
    "Stream_Client_Public_Certificate": "OURS",
    "Stream_Client_Private_Key": "OUR_KEY",
    "Stream_Client_Private_Key_Password": "${THE_KEY_PASSWORD}",
}
AUTHORITY = {"Stream_Public_Certificate": "AUTHORITY"}

# listener, the location's properties
RIGHT = {
    "PLAIN": ("SECURE", user("USER_PASS", "ann") | AUTHORITY),
    "SCRAM": ("SECURE", user("SCRAM-SHA-512", "bob") | AUTHORITY),
    "mutual TLS": ("MUTUAL", AUTHORITY | CERTIFICATE),
}
# and what is said
WRONG = {
    "PLAIN, wrong password": (
        "SECURE",
        user("USER_PASS", "ann", "OTHER_PASSWORD") | AUTHORITY,
        ["Authentication failed"],
    ),
    "SCRAM, wrong password": (
        "SECURE",
        user("SCRAM-SHA-512", "bob", "OTHER_PASSWORD") | AUTHORITY,
        ["SASL authentication error", "invalid credentials"],
    ),
    "a mechanism that the broker has not": (
        "SECURE",
        user("SCRAM-SHA-256", "bob") | AUTHORITY,
        ["broker's supported mechanisms: PLAIN,SCRAM-SHA-512"],
    ),
    "no certificate of ours": ("MUTUAL", AUTHORITY, ["alert", "certificate"]),
    "an authority that the system does not know": (
        "SECURE",
        user("USER_PASS", "ann") | {"Kafka_Tls": True},
        ["certificate verify failed", "ssl.ca.location"],
    ),
}


@pytest.fixture
def channel(guarded, tmp_path, name, monkeypatch):
    for variable, value in (
        ("THE_PASSWORD", PASSWORD),
        ("OTHER_PASSWORD", OTHER),
        ("THE_KEY_PASSWORD", KEY_PASSWORD),
        ("THE_WRONG_KEY_PASSWORD", OTHER),
    ):
        monkeypatch.setenv(variable, value)
    files = {"OURS": guarded.certificate, "OUR_KEY": guarded.key, "AUTHORITY": guarded.authority}

    def make(listener, properties):
        said = {
            key: str(files.get(value, value)) if isinstance(value, str) else value for key, value in properties.items()
        }
        kafka = "".join(f", {key}: {json.dumps(value)}" for key, value in said.items())
        file = channels.shop(tmp_path, guarded.place(listener), name, "hvr", kafka=kafka)
        file.write_text(file.read_text().replace("dialect: hvr", "dialect: hvr, table: audit"))
        with (tmp_path / "in" / "a.jsonl").open("w") as rows:
            for row in range(ROWS):
                rows.write(f'{{"hvr_op": 1, "hvr_tx_seq": "{row}", "id": {row}, "what": "w"}}\n')
        return file

    return make


def open_doors(guarded):
    """The broker by its listener that asks for nothing."""
    return brokers.Broker(guarded.kraft.servers, "this test's", real=True)


@pytest.mark.parametrize("case", RIGHT)
def test_who_may_is_let_in_and_the_rows_arrive(case, guarded, channel, name, integrate_once):
    file = channel(*RIGHT[case])
    file.write_text(file.read_text().replace("Kafka_Default_Topic", "Create_Topics: {}, Kafka_Default_Topic"))
    integrate_once(file)  # creates the topics: the admin client is let in too
    received = kafka_io.read_all(guarded.kraft.servers, channels.shop_topics(name))
    assert sorted(json.loads(message.value)["payload"]["id"] for message in received) == [*range(ROWS)]


def test_hvrs_recipe_for_msk_is_let_in(guarded, channel, name, integrate_once):
    """USER_PASS with the mechanism as a property, and the broker by host and port."""
    host, port = guarded.place("SECURE").split(":")
    file = channel("SECURE", user("USER_PASS", "bob") | AUTHORITY | {"Create_Topics": {}})
    text = file.read_text().replace(f'["{host}:{port}"]', f"[{{host: {host}, port: {port}}}]")
    mechanism = "  - {action: Environment, Name: HVR_KAFKA_PROPERTY, Value: sasl.mechanism=SCRAM-SHA-512}\n"
    file.write_text(text.replace("actions:\n", f"actions:\n{mechanism}"))
    integrate_once(file)
    received = kafka_io.read_all(guarded.kraft.servers, channels.shop_topics(name))
    assert sorted(json.loads(message.value)["payload"]["id"] for message in received) == [*range(ROWS)]


def test_init_is_let_in_by_a_clients_properties_and_writes_no_password(
    guarded, name, command, integrate_once, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    open_doors(guarded).create([f"{name}.notes"], 1)
    fields = [{"field": "id", "type": "int32", "optional": False}]
    producer = Producer({"bootstrap.servers": guarded.kraft.servers})
    producer.produce(
        f"{name}.notes", json.dumps({"schema": {"type": "struct", "fields": fields}, "payload": {"id": 7}})
    )
    assert producer.flush(30) == 0
    login = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="{PASSWORD}";'
    (tmp_path / "client.properties").write_text(
        f"bootstrap.servers={guarded.place('SECURE')}\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        f"sasl.jaas.config={login}\nssl.truststore.type=PEM\nssl.truststore.location={guarded.authority}\n"
        "ssl.endpoint.identification.algorithm=https\nmax.poll.records=5\n"
    )
    given = ("--from-topic", f"{name}.notes", "--command-config", "client.properties")
    done = command("init", *given, "--channel", "made.yaml")
    assert done.code == 0, done.out + done.err
    assert "give it in the environment as KAFKA_JAAS" in done.out
    assert "max.poll.records: ignored, because it does not affect how brokers are reached" in done.out
    text = (tmp_path / "made.yaml").read_text()
    assert PASSWORD not in text + done.out + done.err
    assert text.count("${KAFKA_JAAS}") == 2
    assert text.count("ssl.endpoint.identification.algorithm=https") == 2
    monkeypatch.setenv("KAFKA_JAAS", login)
    integrate_once(tmp_path / "made.yaml")
    [sent] = kafka_io.read_all(guarded.kraft.servers, ["made.notes"])
    assert json.loads(sent.value)["payload"]["id"] == 7
    (tmp_path / "client.properties").write_text((tmp_path / "client.properties").read_text().replace(PASSWORD, OTHER))
    done = command("init", *given, "--channel", "other.yaml")
    assert done.code == 5
    assert "correct Kafka_Brokers or our credentials" in done.err
    assert OTHER not in done.out + done.err
    assert not (tmp_path / "other.yaml").exists()


@pytest.mark.parametrize("case", WRONG)
def test_who_may_not_is_told_why_and_nothing_arrives(case, guarded, channel, name, integrate_once, monkeypatch):
    monkeypatch.setattr(topics, "TIMEOUT_S", 2.0)
    listener, properties, told = WRONG[case]
    open_doors(guarded).create(channels.shop_topics(name), 1)
    with pytest.raises(EnvironmentFault) as raised:
        integrate_once(channel(listener, properties))
    said = str(raised.value)
    assert [part for part in (guarded.place(listener), *told) if part not in said] == [], said
    assert not [secret for secret in (PASSWORD, OTHER, KEY_PASSWORD) if secret in said]  # I7
    assert kafka_io.read_all(guarded.kraft.servers, channels.shop_topics(name)) == []


def test_a_wrong_password_of_the_key_is_found_without_a_broker(channel):
    wrong = CERTIFICATE | {"Stream_Client_Private_Key_Password": "${THE_WRONG_KEY_PASSWORD}"}
    made = plan.build(str(channel("MUTUAL", AUTHORITY | wrong)), "UTC")
    [(_, why)] = refused(made.recipe.send.producer)
    assert "ssl.key.location failed" in why
    assert OTHER not in why  # I7
