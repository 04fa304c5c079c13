"""Three brokers of Apache Kafka with TLS, SCRAM, tokens and ACLs: the whole job; and why a client is not let in."""

import base64
import contextlib
import http.server
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import psutil
import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from integrator.cli import main
from integrator.deliver.kafka import topics
from integrator.errors import EnvironmentFault
from tests.parts import brokers, channels, kafka_io
from tests.parts.certificates import Authority
from tests.parts.daemon import Daemon
from tests.parts.waiting import PATIENCE_S

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

ROOT = Path(__file__).parents[2]
PASSWORD, CLIENT_SECRET = "pl4nted-pa55word", "pl4nted-cl1ent-secret"
ROWS = 200
MOST_S = 60
"""Messages are tried for five minutes; a machine may be busy."""


@dataclass
class Cluster:
    """Three brokers, and the files of those who made their certificates."""

    kraft: brokers.KraftCluster
    authority: Path
    other: Path
    directory: Path

    def allow(self, user, prefix, *operations, kind=ResourceType.TOPIC):
        admin = AdminClient({"bootstrap.servers": self.kraft.servers})
        for operation in operations:
            binding = AclBinding(
                kind, prefix, ResourcePatternType.PREFIXED, f"User:{user}", "*", operation,
                AclPermissionType.ALLOW,
            )  # fmt: skip
            for future in admin.create_acls([binding]).values():
                future.result()


@pytest.fixture(scope="module")
def cluster():
    class_path = brokers.libraries()
    if class_path is None:
        pytest.skip("three brokers with TLS need mvn and Java 17")
    with tempfile.TemporaryDirectory(prefix="kafka-") as home:
        directory = Path(home)
        authority = Authority(directory)
        for name, given in (("good", {}), ("expired", {"expired": True}), ("elsewhere", {"address": "127.9.9.9"})):
            certificate, key = authority.sign(name, **given)
            (directory / f"{name}-store.pem").write_text(key.read_text() + certificate.read_text())
        (directory / "other").mkdir()
        other = Authority(directory / "other").certificate
        security = "org.apache.kafka.common.security"
        unsecured = f"{security}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
        properties = f"""
ssl.keystore.type=PEM
ssl.keystore.location={directory}/good-store.pem
ssl.truststore.type=PEM
ssl.truststore.location={authority.certificate}
listener.name.expired.ssl.keystore.type=PEM
listener.name.expired.ssl.keystore.location={directory}/expired-store.pem
listener.name.elsewhere.ssl.keystore.type=PEM
listener.name.elsewhere.ssl.keystore.location={directory}/elsewhere-store.pem
listener.name.mutual.ssl.client.auth=required
listener.name.secure.sasl.enabled.mechanisms=SCRAM-SHA-512,SCRAM-SHA-256
listener.name.secure.scram-sha-256.sasl.jaas.config={security}.scram.ScramLoginModule required;
listener.name.secure.scram-sha-512.sasl.jaas.config={security}.scram.ScramLoginModule required;
listener.name.tokens.sasl.enabled.mechanisms=OAUTHBEARER
listener.name.tokens.oauthbearer.sasl.jaas.config={security}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="b";
listener.name.tokens.oauthbearer.sasl.server.callback.handler.class={unsecured}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
min.insync.replicas=2
"""
        listeners = {
            "SECURE": "SASL_SSL", "TOKENS": "SASL_SSL", "EXPIRED": "SSL", "ELSEWHERE": "SSL", "MUTUAL": "SSL"
        }  # fmt: skip
        words = [
            word
            for user, size in (("cdc", 512), ("guest", 512), ("exact", 256))
            for word in ("--add-scram", f"SCRAM-SHA-{size}=[name={user},password={PASSWORD}]")
        ]
        with brokers.KraftCluster(
            class_path, directory, listeners=listeners, properties=properties, format_words=words
        ) as kraft:
            made = Cluster(kraft, authority.certificate, other, directory)
            yield made


def scram(user="cdc", variable="THE_PASSWORD"):
    return {
        "Kafka_Authentication_Method": "SCRAM-SHA-512",
        "Stream_User": user,
        "Stream_Password": f"${{{variable}}}",
        "Stream_Public_Certificate": "AUTHORITY",
    }


@pytest.fixture
def channel(cluster, tmp_path, name, monkeypatch):
    monkeypatch.setenv("THE_PASSWORD", PASSWORD)
    monkeypatch.setenv("OTHER_PASSWORD", "n0t-it-pl4nted")
    monkeypatch.setenv("THE_CLIENT_SECRET", CLIENT_SECRET)
    monkeypatch.setenv("JAAS", f'x.ScramLoginModule required username="cdc" password="{PASSWORD}";')

    def make(places, properties):
        files = {"AUTHORITY": str(cluster.authority), "OTHER": str(cluster.other)}
        given = {key: files.get(value, value) if isinstance(value, str) else value for key, value in properties.items()}
        given["Create_Topics"] = given.get("Create_Topics", {"Partitions": 3, "Replication_Factor": 3})
        kafka = "".join(f", {key}: {json.dumps(value)}" for key, value in given.items())
        file = channels.shop(tmp_path, places, name, "hvr", kafka=kafka)
        file.write_text(file.read_text().replace("dialect: hvr", "dialect: hvr, table: audit"))
        with (tmp_path / "in" / "a.jsonl").open("w") as rows:
            for row in range(ROWS):
                rows.write(f'{{"hvr_op": 1, "hvr_tx_seq": "{row}", "id": {row}, "what": "w"}}\n')
        return file

    return make


def received(cluster, name):
    messages = kafka_io.read_all(cluster.kraft.servers, channels.shop_topics(name))
    return sorted(json.loads(message.value)["payload"]["id"] for message in messages)


def planted(directory, *texts):
    """Return the files below a directory, and the texts, that have a password in them."""
    secrets = [secret.encode() for secret in (PASSWORD, CLIENT_SECRET, "n0t-it-pl4nted")]
    files = [path for path in directory.rglob("*") if path.is_file()]
    data = [(str(path), path.read_bytes()) for path in files] + [(text[:80], text.encode()) for text in texts]
    return [name for name, found in data if any(secret in found for secret in secrets)]


def test_the_whole_job_with_tls_and_scram_on_three_brokers(cluster, channel, name, tmp_path):
    """With a user and a password; the next test has the text of a JAAS configuration."""
    cluster.allow("cdc", name, AclOperation.ALL)
    file = channel('", "'.join(cluster.kraft.listener("SECURE")), scram())
    command = [sys.executable, str(ROOT / "run.py"), "--channel", str(file), "--once"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr[-3000:]
    assert received(cluster, name) == [*range(ROWS)]
    assert planted(tmp_path, done.stdout, done.stderr) == []  # I7: state, checkpoint, channel, log


def test_no_secret_is_in_sparks_pages_nor_in_command_lines_nor_on_sparks_disk(cluster, channel, name, tmp_path):
    cluster.allow("cdc", name, AclOperation.ALL)
    given = {"Sasl_Jaas_Config": "${JAAS}", "Stream_Public_Certificate": "AUTHORITY"}
    given["Kafka_Authentication_Method"] = "SCRAM-SHA-512"
    file = channel('", "'.join(cluster.kraft.listener("SECURE")), given)
    port = brokers.free_port()
    settings = ["spark.ui.enabled=true", f"spark.ui.port={port}", f"spark.local.dir={tmp_path}/spark"]
    daemon = Daemon(file, submit=True, spark=[*settings, "spark.ui.bindAddress=127.0.0.1"])
    daemon.wait_for("cycle synced")
    family = [psutil.Process(daemon.pid), *psutil.Process(daemon.pid).children(recursive=True)]
    lines = []
    for process in family:
        with contextlib.suppress(psutil.Error):  # it has ended since
            lines.append(" ".join(process.cmdline()))
    place = f"http://127.0.0.1:{port}"

    def got(path):
        with urllib.request.urlopen(f"{place}{path}", timeout=PATIENCE_S) as answer:
            return answer.read().decode()

    [application] = json.loads(got("/api/v1/applications"))
    rest = f"/api/v1/applications/{application['id']}"
    of_rest = ["/environment", "/jobs", "/stages?details=true", "/executors", "/sql?details=true", "/storage/rdd"]
    pages = ["/jobs/", "/stages/", "/environment/", "/executors/", "/SQL/", "/StreamingQuery/"]
    seen = [*map(got, pages), *(got(f"{rest}{path}") for path in of_rest)]
    on_disk = planted(tmp_path, *seen, *lines)
    assert daemon.terminate() == 0
    assert "MapInArrow" in "".join(seen)  # the pages have the job
    assert received(cluster, name) == [*range(ROWS)]
    assert [*on_disk, *planted(tmp_path, *daemon.lines)] == []  # I7


def test_what_goes_to_workers_is_in_no_file_however_large_it_is(spark):
    """PySpark would write functions above 1 MiB to a file; a recipe of 500 tables of 30 columns is that large."""
    recipe = PASSWORD + "x" * 3_000_000

    def passes(batches):
        assert recipe
        yield from batches

    frame = spark.range(3, numPartitions=1).mapInArrow(passes, "id long")
    assert len(frame.collect()) == 3
    context = spark.sparkContext
    assert planted(Path(context._temp_dir)) == []
    assert context._jvm.PythonUtils.getBroadcastThreshold(context._jsc) == 1 << 30


# the listener, the location's properties, what is reported
REFUSED = {
    "wrong password": ("SECURE", scram(variable="OTHER_PASSWORD"), "correct Kafka_Authentication_Method, Stream_User"),
    "expired certificate": ("EXPIRED", {"Stream_Public_Certificate": "AUTHORITY"}, "its certificate has expired"),
    "wrong host": ("ELSEWHERE", {"Stream_Public_Certificate": "AUTHORITY"}, "is not for this address"),
    "unknown authority": ("SECURE", scram() | {"Stream_Public_Certificate": "OTHER"}, "authority that is not known"),
    "no TLS of ours": ("SECURE", {}, "has TLS, and the channel has none"),
    "no user of ours": ("SECURE", {"Stream_Public_Certificate": "AUTHORITY"}, "it may want a user"),
    "no certificate of ours": (
        "MUTUAL",
        {"Stream_Public_Certificate": "AUTHORITY"},
        "Stream_Client_Public_Certificate",
    ),
    "no TLS of theirs": ("", {"Stream_Public_Certificate": "AUTHORITY"}, "has no TLS: leave out"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_who_is_not_let_in_is_told_why_in_seconds(case, cluster, channel, integrate_once, monkeypatch):
    monkeypatch.setattr(topics, "TIMEOUT_S", 3.0)
    listener, properties, told = REFUSED[case]
    node = cluster.kraft.nodes[0]
    file = channel(node.listeners[listener] if listener else node.servers, properties)
    begun = time.monotonic()
    with pytest.raises(EnvironmentFault) as raised:
        integrate_once(file)
    assert told in str(raised.value)
    assert time.monotonic() - begun < MOST_S + topics.TIMEOUT_S
    assert planted(cluster.directory / "none", str(raised.value)) == []


def test_an_acl_that_is_missing_is_named(cluster, channel, name, integrate_once):
    place = cluster.kraft.listener("SECURE")[0]
    cluster.allow("guest", name, AclOperation.DESCRIBE)
    with pytest.raises(EnvironmentFault, match=r"cannot be created.*ACL Create"):
        integrate_once(channel(place, scram("guest")))
    admin = AdminClient({"bootstrap.servers": cluster.kraft.servers})
    for future in admin.create_topics([brokers.NewTopic(topic, 1, 3) for topic in channels.shop_topics(name)]).values():
        future.result()
    with pytest.raises(EnvironmentFault, match=r"(?si)authorization failed.*ACL Write"):
        integrate_once(channel(place, scram("guest")))


def test_transactions_need_the_rights_that_the_page_names_and_no_others(cluster, channel, name, integrate_once):
    given = {**scram("exact"), "Kafka_Authentication_Method": "SCRAM-SHA-256"}
    file = channel(cluster.kraft.listener("SECURE")[0], given)
    file.write_text(file.read_text().replace("channel: shop\n", f"channel: {name}\ndelivery: exactly_once\n"))
    cluster.allow("exact", name, AclOperation.WRITE, AclOperation.CREATE, AclOperation.READ)
    with pytest.raises(
        EnvironmentFault, match=r"(?si)authorization failed.*transactional ids that begin with its name"
    ):
        integrate_once(file)
    cluster.allow("exact", f"{name}-", AclOperation.WRITE, kind=ResourceType.TRANSACTIONAL_ID)
    cluster.allow("exact", f"{name}-", AclOperation.READ, kind=ResourceType.GROUP)
    integrate_once(file)
    assert received(cluster, name) == [*range(ROWS)]


def test_check_connect_finds_what_would_keep_messages_away(cluster, channel, name, monkeypatch, capsys):
    place, topic = cluster.kraft.listener("SECURE")[0], f"{name}.audit"
    admin = AdminClient({"bootstrap.servers": cluster.kraft.servers})
    others = [other for other in channels.shop_topics(name) if other != topic]
    configs = {"max.message.bytes": "50000"}
    new = [brokers.NewTopic(topic, 1, 1, config=configs), *(brokers.NewTopic(other, 1, 3) for other in others)]
    for future in admin.create_topics(new).values():
        future.result()
    cluster.allow("guest", name, AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
    file = channel(place, scram("guest"))

    def check(*words):
        monkeypatch.setattr(sys, "argv", ["run.py", "check", "--channel", str(file), "--connect", *words])
        code, printed = main.main(), capsys.readouterr()
        assert planted(cluster.directory / "none", printed.out, printed.err) == []
        return code, printed.out + printed.err

    code, printed = check()
    assert code == 5
    assert f"{topic}: our user may not write" in printed
    assert f"{topic}: takes messages up to 50000 bytes (max.message.bytes), and HVR_KAFKA_MSG_MAX_BYTES is" in printed
    assert f"{topic}: has 1 replica, and min.insync.replicas is 2: no message is ever acknowledged" in printed
    assert printed.count("may not write") == len(others) + 1
    file.write_text(file.read_text().replace("guest", "cdc"))
    cluster.allow("cdc", name, AclOperation.ALL)
    admin.delete_topics([topic])[topic].result()
    code, printed = check("--test-topic", others[0])
    assert (code, f"to be created: {topic}" in printed) == (0, True), printed
    assert f"{others[0]}: a message was sent and read back in" in printed
    admin.create_topics([brokers.NewTopic(topic, 1, 3)])[topic].result()
    text = file.read_text().replace(', Create_Topics: {"Partitions": 3, "Replication_Factor": 3}', "")
    dead = f"errors: {{tolerance: all, deadletterqueue.topic.name: {name}.dead}}\n"
    file.write_text(text.replace("channel: shop\n", f"channel: shop\n{dead}"))
    code, printed = check()
    assert (code, f"to be created: {name}.dead" in printed) == (0, True), printed


CREATED = {
    "more replicas than brokers": ({"Replication_Factor": 4}, "the replication factor of Create_Topics is 4, and there are 3 brokers"),
    "fewer replicas than must be in sync": ({"Replication_Factor": 1}, "is 1, and min.insync.replicas of the brokers 2: no message would be acknowledged"),
    "a setting that is none": ({"Replication_Factor": 3, "Topic_Config": {"retention.mss": "5"}}, "cannot be created: Unknown topic config name: retention.mss; correct Create_Topics"),
    "a value that the setting does not have": ({"Replication_Factor": 3, "Topic_Config": {"cleanup.policy": "delet"}}, "Invalid value delet for configuration cleanup.policy"),
    "smaller messages than ours": ({"Replication_Factor": 3}, "new topics take messages up to 1048588 bytes (message.max.bytes of the brokers), and HVR_KAFKA_MSG_MAX_BYTES is 2000000"),
}  # fmt: skip


@pytest.mark.parametrize("case", CREATED)
def test_check_connect_finds_what_would_be_wrong_with_new_topics(case, cluster, channel, monkeypatch, capsys):
    creation, problem = CREATED[case]
    file = channel(cluster.kraft.servers.replace(",", '", "'), {"Create_Topics": {"Partitions": 1, **creation}})
    largest = '  - {action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: "2000000"}\n'
    if case == "smaller messages than ours":
        file.write_text(file.read_text() + largest)
    monkeypatch.setattr(sys, "argv", ["run.py", "check", "--channel", str(file), "--connect"])
    code, printed = main.main(), capsys.readouterr()
    assert (code, printed.err.count(problem)) == (5, 1), printed.err
    remedy = {**creation, "Replication_Factor": 3, "Topic_Config": {"max.message.bytes": "2000000"}}
    file.write_text(
        file.read_text().replace(json.dumps({"Partitions": 1, **creation}), json.dumps({"Partitions": 1, **remedy}))
    )
    assert main.main() == 0, capsys.readouterr().err


class Tokens(http.server.BaseHTTPRequestHandler):
    """The token endpoint of an OpenID Connect provider, whose tokens no one has signed."""

    asked: ClassVar[list[tuple[str, str]]] = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.asked.append((self.headers.get("Authorization", ""), body))
        right = base64.b64decode(self.headers.get("Authorization", "").rpartition(" ")[2]).decode()
        now = int(time.time())
        claims = {"sub": "cdc", "iat": now, "exp": now + 3600, "scope": "kafka"}
        parts = [
            base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
            for part in ({"alg": "none"}, claims)
        ]
        good = right == f"us:{CLIENT_SECRET}"
        answer = (
            {"access_token": ".".join(parts) + ".", "token_type": "bearer", "expires_in": 3600}
            if good
            else {"error": "invalid_client"}
        )
        self.send_response(200 if good else 401)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_):
        pass


def test_tokens_of_an_openid_connect_provider_are_asked_for_and_sent(
    cluster, channel, name, integrate_once, monkeypatch
):
    cluster.allow("cdc", name, AclOperation.ALL)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tokens)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    properties = {
        "Kafka_Authentication_Method": "OAUTHBEARER",
        "Stream_User": "us",
        "Stream_Password": "${THE_CLIENT_SECRET}",
        "Kafka_Oauth_Token_Url": f"http://127.0.0.1:{server.server_port}/token",
        "Kafka_Oauth_Scope": "kafka",
        "Stream_Public_Certificate": "AUTHORITY",
    }
    place = cluster.kraft.listener("TOKENS")[0]
    integrate_once(channel(place, properties))
    assert received(cluster, name) == [*range(ROWS)]
    assert "scope=kafka" in Tokens.asked[0][1]
    monkeypatch.setattr(topics, "TIMEOUT_S", 3.0)
    with pytest.raises(EnvironmentFault, match="no token was issued") as raised:
        integrate_once(channel(place, properties | {"Stream_Password": "${OTHER_PASSWORD}"}))
    assert planted(cluster.directory / "none", str(raised.value)) == []
    server.shutdown()
