"""AWS IAM as Amazon MSK has it: Apache Kafka checks the signed requests that AWS's library makes of credentials."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from integrator.deliver.kafka import topics
from integrator.deliver.kafka.producer_client import ProducerClient
from integrator.errors import EnvironmentFault
from integrator.librdkafka import aws_iam
from tests.parts import brokers, channels, kafka_io, pages
from tests.parts.certificates import Authority
from tests.parts.waiting import PATIENCE_S

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

ROOT = Path(__file__).parents[2]
HANDLER = Path(brokers.__file__).parent / "kafka" / "SignedRequests.java"
ACCESS_KEY, SECRET_KEY, REGION = "AKIAPLANTED", "pl4nted-s3cret-key", "eu-west-1"
ROWS = 50


@pytest.fixture(scope="module")
def msk():
    class_path = brokers.libraries()
    if class_path is None:
        pytest.skip("a broker with a callback handler of ours needs mvn and a JDK 17")
    with tempfile.TemporaryDirectory(prefix="kafka-") as home:
        directory = Path(home)
        authority = Authority(directory)
        certificate, key = authority.sign("good")
        (directory / "store.pem").write_text(key.read_text() + certificate.read_text())
        subprocess.run(["javac", "-cp", class_path, "-d", home, str(HANDLER)], check=True)
        module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
        properties = f"""
ssl.keystore.type=PEM
ssl.keystore.location={directory}/store.pem
listener.name.iam.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.iam.oauthbearer.sasl.jaas.config={module} required unsecuredLoginStringClaim_sub="b" accessKey="{ACCESS_KEY}" secretKey="{SECRET_KEY}" region="{REGION}";
listener.name.iam.oauthbearer.sasl.server.callback.handler.class=SignedRequests
"""
        listeners = {"IAM": "SASL_SSL"}
        with brokers.KraftBroker(f"{class_path}:{home}", directory, listeners, properties) as kraft:
            yield kraft, authority.certificate


@pytest.fixture
def credentials(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # no call leaves this machine
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))

    def given(secret):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)

    return given


@pytest.fixture
def channel(msk, tmp_path, name):
    kraft, authority = msk
    kafka = f", Kafka_Authentication_Method: AWS_MSK_IAM, Kafka_Aws_Region: {REGION}, Stream_Public_Certificate: {authority}"
    kafka += ", Create_Topics: {Partitions: 2, Replication_Factor: 1}"
    file = channels.shop(tmp_path, kraft.listeners["IAM"], name, "hvr", kafka=kafka)
    file.write_text(file.read_text().replace("dialect: hvr", "dialect: hvr, table: audit"))
    rows = (f'{{"hvr_op": 1, "hvr_tx_seq": "{row}", "id": {row}, "what": "w"}}\n' for row in range(ROWS))
    (tmp_path / "in" / "a.jsonl").write_text("".join(rows))
    return file


def properties_of(msk):
    return {
        "bootstrap.servers": msk[0].listeners["IAM"],
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "ssl.ca.location": str(msk[1]),
        aws_iam.REGION: REGION,
    }


def integrate(channel):
    """In a process of its own, whose executors have the credentials of the environment."""
    command = [sys.executable, str(ROOT / "run.py"), "--channel", str(channel), "--once"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_the_whole_job_by_aws_credentials(msk, channel, name, credentials, delivery):
    credentials(SECRET_KEY)
    channel.write_text(channel.read_text() + f"\ndelivery: {delivery}\n")
    integrate(channel)
    found = kafka_io.read_all(msk[0].servers, channels.shop_topics(name))
    assert sorted(json.loads(message.value)["payload"]["id"] for message in found) == [*range(ROWS)]


def test_the_channel_of_the_page_is_let_in(msk, channel, name, credentials):
    """As the page has it, with the brokers, the authority and the rows of this test."""
    credentials(SECRET_KEY)
    [text] = [text for text, block in pages.channels() if block.page.name == "msk.md" and "AWS_MSK_IAM" in text]
    text = re.sub(r"(Kafka_Brokers): .*", rf'\1: ["{msk[0].listeners["IAM"]}"]', text)
    text = text.replace("Kafka_Tls: true", f"Stream_Public_Certificate: {msk[1]}").replace("shop.{hvr", f"{name}.{{hvr")
    text = text.replace("Replication_Factor: 3", "Replication_Factor: 1").replace("path: changes", "path: in")
    channel.write_text(text.replace("dialect: debezium", "dialect: hvr, table: notes"))
    (channel.parent / "shop.sql").write_text("create table notes(id int primary key, what text);")
    integrate(channel)
    assert len(kafka_io.read_all(msk[0].servers, [f"{name}.notes"])) == ROWS


def test_credentials_that_msk_does_not_know_are_named(msk, channel, integrate_once, credentials, monkeypatch):
    credentials("an0ther-s3cret")
    monkeypatch.setattr(topics, "TIMEOUT_S", 3.0)
    with pytest.raises(EnvironmentFault, match="the brokers reject our credentials: correct Kafka_Aws_Region"):
        integrate_once(channel)


def test_without_credentials_it_is_said_who_gives_them(channel, integrate_once, credentials, monkeypatch):
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(EnvironmentFault, match=r"AWS gives no token .* no credentials were found; give the process"):
        integrate_once(channel)


def test_executors_without_credentials_say_so(msk, monkeypatch):
    def no_token():
        raise EnvironmentFault("AWS gives no token")

    monkeypatch.setattr(aws_iam, "signer_of", lambda _: no_token)
    noticed = []
    properties = properties_of(msk) | {"transactional.id": "x"}
    client = ProducerClient(properties, lambda *_: None, lambda text, _: noticed.append(text))
    try:
        assert client.init_transactions(1)
    finally:
        client.close()
    assert any("AWS gives no token" in text for text in noticed)


def test_a_producer_asks_for_the_next_token_in_time(msk, credentials, monkeypatch):
    credentials(SECRET_KEY)
    sign, asked = aws_iam.signer_of(properties_of(msk)), []

    def short_lived():
        token, end = sign()
        asked.append(end)
        return token, end - 895_000  # librdkafka asks again when 80 % of its life is over

    monkeypatch.setattr(aws_iam, "signer_of", lambda _: short_lived)
    client = ProducerClient(properties_of(msk), lambda *_: None, lambda *_: None)
    try:
        for _ in range(60):
            client.poll(0.2)
            if len(asked) > 1:
                break
    finally:
        client.close()
    assert len(asked) > 1
