"""Authentication and TLS of a Kafka location: librdkafka's properties, what is refused, and what is never shown."""

import io
import json

import pytest
from rich.console import Console

from integrator import plan
from integrator.cli import show
from integrator.deliver.kafka.refused import refused
from integrator.errors import ConfigurationError
from tests.parts.certificates import Authority
from tests.parts.channels import SHOP_SQL

pytestmark = pytest.mark.fast

LOGIN = "Stream_User: me, Stream_Password: pa55word"
TICKET = "Kafka_Kerberos_Client_Principal: me@HERE, Kafka_Kerberos_Keytab: FILE"
CLIENT = "Stream_Client_Public_Certificate: FILE, Stream_Client_Private_Key: FILE"

TOKENS = f"Kafka_Authentication_Method: OAUTHBEARER, Kafka_Oauth_Token_Url: 'https://id/token', {LOGIN}"
OIDC = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "me",
    "sasl.oauthbearer.client.secret": "pa55word",
    "sasl.oauthbearer.token.endpoint.url": "https://id/token",
}
IAM = "Kafka_Authentication_Method: AWS_MSK_IAM, Kafka_Aws_Region: eu-west-1"
CASES = [
    # the location's properties, librdkafka's
    ("", {}),
    ("Kafka_Authentication_Method: NONE, Kafka_Tls: false, Stream_User: null", {}),
    ("Kafka_Tls: true", {"security.protocol": "SSL"}),
    ("Stream_Public_Certificate: FILE", {"security.protocol": "SSL", "ssl.ca.location": "FILE"}),
    (
        f"Kafka_Authentication_Method: USER_PASS, {LOGIN}",
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "me",
            "sasl.password": "pa55word",
        },
    ),
    (
        f"Kafka_Authentication_Method: USER_PASS, {LOGIN}, Kafka_Tls: true",
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "me",
            "sasl.password": "pa55word",
        },
    ),
    (
        f"Kafka_Authentication_Method: SCRAM-SHA-256, {LOGIN}, Stream_Public_Certificate: FILE",
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.username": "me",
            "sasl.password": "pa55word",
            "ssl.ca.location": "FILE",
        },
    ),
    (
        f"Kafka_Authentication_Method: SCRAM-SHA-512, {LOGIN}",
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "me",
            "sasl.password": "pa55word",
        },
    ),
    (
        f"Kafka_Authentication_Method: KERBEROS, {TICKET}",
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.principal": "me@HERE",
            "sasl.kerberos.keytab": "FILE",
        },
    ),
    (
        f"Kafka_Authentication_Method: KERBEROS, {TICKET}, Kafka_Kerberos_Service: broker, Kafka_Tls: true",
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.service.name": "broker",
            "sasl.kerberos.principal": "me@HERE",
            "sasl.kerberos.keytab": "FILE",
        },
    ),
    (f"{TOKENS}, Kafka_Tls: true", OIDC),
    (
        f"{TOKENS}, Kafka_Tls: true, Kafka_Oauth_Scope: kafka, Kafka_Oauth_Extensions: {{logicalCluster: lkc-1, a: b}}",
        OIDC | {"sasl.oauthbearer.scope": "kafka", "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,a=b"},
    ),
    (
        f"{IAM}, Kafka_Tls: true",
        {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "aws.msk.iam.region": "eu-west-1"},
    ),
    (
        f"{IAM}, Kafka_Tls: true, Kafka_Aws_Role: 'arn:aws:iam::1:role/cdc'",
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "aws.msk.iam.region": "eu-west-1",
            "aws.msk.iam.role": "arn:aws:iam::1:role/cdc",
        },
    ),
    (
        f"Kafka_Tls: true, {CLIENT}",
        {"security.protocol": "SSL", "ssl.certificate.location": "FILE", "ssl.key.location": "FILE"},
    ),
    (
        f"Stream_Public_Certificate: FILE, {CLIENT}, Stream_Client_Private_Key_Password: k3y",
        {
            "security.protocol": "SSL",
            "ssl.ca.location": "FILE",
            "ssl.certificate.location": "FILE",
            "ssl.key.location": "FILE",
            "ssl.key.password": "k3y",
        },
    ),
]

JAAS = [
    # the method, the text, librdkafka's properties beside security.protocol
    (
        "",
        """org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="pa55word";""",
        {"sasl.mechanism": "PLAIN", "sasl.username": "me", "sasl.password": "pa55word"},
    ),
    (
        "SCRAM-SHA-512",
        """org.apache.kafka.common.security.scram.ScramLoginModule required\n  username='me'\n  password = 'pa\\'55;word' ;\n""",
        {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "me", "sasl.password": "pa'55;word"},
    ),
    (
        "KERBEROS",
        'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab="FILE" principal="me@HERE"',
        {
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.principal": "me@HERE",
            "sasl.kerberos.keytab": "FILE",
        },
    ),
]
JAAS_REFUSED = [
    # the method, the text, what is reported
    ("", "hunter22", "is no JAAS text"),
    ("", 'a.PlainLoginModule required username="me" password=;', "is no JAAS text"),
    ("", 'a.PlainLoginModule required username="me"; a.PlainLoginModule required;', "is no JAAS text"),
    ("", 'a.PlainLoginModule required username="me"', "USER_PASS needs Stream_Password beside it"),
    (
        "",
        'a.PlainLoginModule required user="me" password="hunter22"',
        "the option user of PlainLoginModule is not known",
    ),
    ("", 'a.ScramLoginModule required username="me" password="hunter22"', "SCRAM-SHA-256 or SCRAM-SHA-512; found NONE"),
    ("USER_PASS", 'a.Krb5LoginModule required principal="me" keyTab="FILE"', "KERBEROS; found USER_PASS"),
    ("", "software.amazon.msk.auth.iam.IAMLoginModule required;", "AWS_MSK_IAM needs Kafka_Aws_Region beside it"),
    ("", "software.amazon.msk.auth.iam.OtherModule required;", "OtherModule is not there"),
]

BY_USER = "it is for USER_PASS, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER"

REFUSED = [
    # the location's properties, what is said of which
    ("Kafka_Authentication_Method: LDAP", "Kafka_Authentication_Method: 'LDAP' is not one of 'NONE', 'USER_PASS'"),
    (
        "Kafka_Authentication_Method: USER_PASS, Stream_User: me",
        "Kafka_Authentication_Method: USER_PASS needs Stream_Password beside it",
    ),
    (
        "Kafka_Authentication_Method: SCRAM-SHA-512, Stream_Password: pa55word",
        "Kafka_Authentication_Method: SCRAM-SHA-512 needs Stream_User beside it",
    ),
    (
        "Kafka_Authentication_Method: KERBEROS, Kafka_Kerberos_Keytab: FILE",
        "Kafka_Authentication_Method: KERBEROS needs Kafka_Kerberos_Client_Principal beside it",
    ),
    (
        "Kafka_Authentication_Method: KERBEROS, Kafka_Kerberos_Client_Principal: me",
        "Kafka_Authentication_Method: KERBEROS needs Kafka_Kerberos_Keytab beside it",
    ),
    (IAM, "Kafka_Authentication_Method: AWS_MSK_IAM needs TLS, as Amazon MSK has it: add Kafka_Tls: true"),
    (
        "Kafka_Authentication_Method: AWS_MSK_IAM, Kafka_Tls: true",
        "Kafka_Authentication_Method: AWS_MSK_IAM needs Kafka_Aws_Region beside it",
    ),
    (
        f"{IAM}, Kafka_Tls: true, {LOGIN}",
        f"Stream_User: does nothing with Kafka_Authentication_Method AWS_MSK_IAM; {BY_USER}",
    ),
    (f"{IAM}, Kafka_Tls: true, Kafka_Aws_Profile: a, Kafka_Aws_Role: b", "Kafka_Aws_Role: excludes Kafka_Aws_Profile"),
    (
        "Kafka_Aws_Region: eu-west-1",
        "Kafka_Aws_Region: does nothing with Kafka_Authentication_Method NONE; it is for AWS_MSK_IAM",
    ),
    ("Stream_User: me", f"Stream_User: does nothing with Kafka_Authentication_Method NONE; {BY_USER}"),
    ("Stream_Password: pa55word", f"Stream_Password: does nothing with Kafka_Authentication_Method NONE; {BY_USER}"),
    (
        f"Kafka_Authentication_Method: KERBEROS, {TICKET}, {LOGIN}",
        f"Stream_User: does nothing with Kafka_Authentication_Method KERBEROS; {BY_USER}",
    ),
    (
        f"Kafka_Authentication_Method: USER_PASS, {LOGIN}, Kafka_Kerberos_Service: kafka",
        "Kafka_Kerberos_Service: does nothing with Kafka_Authentication_Method USER_PASS; it is for KERBEROS",
    ),
    ("Stream_User: ''", "Stream_User: a character at least is wanted here; found ''"),
    ("Stream_Password: 5534567", "Stream_Password: text is wanted here: write …, in quotes"),
    (
        "Kafka_Tls: true, Stream_Client_Public_Certificate: FILE",
        "Stream_Client_Public_Certificate: needs its key, Stream_Client_Private_Key, beside it",
    ),
    (
        "Kafka_Tls: true, Stream_Client_Private_Key: FILE",
        "Stream_Client_Private_Key: needs its certificate, Stream_Client_Public_Certificate, beside it",
    ),
    (
        "Kafka_Tls: true, Stream_Client_Private_Key_Password: k3y",
        "Stream_Client_Private_Key_Password: needs the key, Stream_Client_Private_Key, beside it",
    ),
    (
        CLIENT,
        "Stream_Client_Public_Certificate: does nothing without TLS, which Stream_Public_Certificate or Kafka_Tls",
    ),
    (
        "Stream_Public_Certificate: /not/there.pem",
        "Stream_Public_Certificate: there is no file '/not/there.pem'; a PEM file is expected",
    ),
    (
        "Kafka_Tls: true, Stream_Client_Public_Certificate: FILE, Stream_Client_Private_Key: /not/there.key",
        "Stream_Client_Private_Key: there is no file '/not/there.key'; a PEM file is expected",
    ),
    (
        "Kafka_Authentication_Method: KERBEROS, Kafka_Kerberos_Client_Principal: me, Kafka_Kerberos_Keytab: /none",
        "Kafka_Kerberos_Keytab: there is no file '/none'; a keytab is expected",
    ),
    (
        "Stream_Public_Certificate: FILE, Kafka_Tls: true",
        "Kafka_Tls: Stream_Public_Certificate turns TLS on already; leave this out",
    ),
]

JAVA = [
    # HVR_KAFKA_PROPERTY, librdkafka's properties
    ("buffer.memory=33554432", {"queue.buffering.max.kbytes": "32768"}),
    ("buffer_memory=1000", {"queue.buffering.max.kbytes": "1"}),
    (
        "linger_ms=0;max_in_flight_requests_per_connection=5",
        {"linger.ms": "0", "max.in.flight.requests.per.connection": "5"},
    ),
    (
        "send.buffer.bytes=-1;receive_buffer_bytes=32768",
        {"socket.send.buffer.bytes": "0", "socket.receive.buffer.bytes": "32768"},
    ),
    (
        "client_dns_lookup=use_all_dns_ips;retries=2147483647",
        {"client.dns.lookup": "use_all_dns_ips", "retries": "2147483647"},
    ),
    (
        "socket_connection_setup_timeout_ms=10000;request.timeout.ms=30000",
        {"socket.connection.setup.timeout.ms": "10000"},
    ),
    ("ssl.endpoint.identification.algorithm=", {"ssl.endpoint.identification.algorithm": "none"}),
    ("compression.zstd.level=3", {"compression.level": "3"}),
]
JAVA_REFUSED = [
    # HVR_KAFKA_PROPERTY, what is reported
    ("max_request_size=1048576", "max_request_size cannot be set here: use HVR_KAFKA_MSG_MAX_BYTES"),
    ("max.block.ms=60000", "max.block.ms cannot be set here: use HVR_KAFKA_MSG_DELIVERY_TIMEOUT"),
    ("buffer.memory=32MB", "buffer.memory=32MB is no whole number"),
    ("ssl.truststore.location=/x.jks", "use Stream_Public_Certificate"),
    ("sasl.jaas.config=x required", "use Sasl_Jaas_Config of the Kafka location"),
    ("buffer.memory=1024;queue.buffering.max.kbytes=2", "queue.buffering.max.kbytes, which stands there already"),
    ("acks=none", "acks=0 acknowledges nothing"),
]
UNSAFE = [
    # the location's properties, HVR_KAFKA_PROPERTY, what check remarks
    (f"Kafka_Authentication_Method: USER_PASS, {LOGIN}", "", "the password goes over the network as it is"),
    (f"Kafka_Authentication_Method: SCRAM-SHA-512, {LOGIN}", "", "messages are not encrypted"),
    ("Kafka_Tls: true", "enable.ssl.certificate.verification=false", "certificates are not verified"),
    ("Kafka_Tls: true", "ssl.endpoint.identification.algorithm=", "any host's certificate is taken"),
    (f"Kafka_Authentication_Method: USER_PASS, Kafka_Tls: true, {LOGIN}", "", ""),
    ("", "", ""),
]

BESIDE = [
    # the location's properties, HVR_KAFKA_PROPERTY, what is said of it; nothing where both go together
    ("", "security.protocol=SASL_SSL;sasl.mechanism=OAUTHBEARER;ssl.ca.location=/x", ""),
    ("Kafka_Tls: true", "ssl.ca.location=/x;ssl.endpoint.identification.algorithm=none", ""),
    (
        f"Kafka_Authentication_Method: USER_PASS, {LOGIN}",
        "sasl.password=other",
        "sasl.password is set by Stream_Password of the Kafka location; use one of them",
    ),
    (
        f"Kafka_Authentication_Method: USER_PASS, {LOGIN}",
        "sasl.mechanisms=SCRAM-SHA-512",
        "",  # HVR's recipe for Amazon MSK
    ),
    (f"Kafka_Authentication_Method: USER_PASS, {LOGIN}", "sasl.mechanism=SCRAM-SHA-256", ""),
    (f"Kafka_Authentication_Method: USER_PASS, {LOGIN}", "sasl.mechanism=PLAIN", ""),
    (
        f"Kafka_Authentication_Method: USER_PASS, {LOGIN}",
        "sasl.mechanism=GSSAPI",
        "sasl.mechanism of USER_PASS is PLAIN, SCRAM-SHA-256, SCRAM-SHA-512; for others set Kafka_Authentication_Method",
    ),
    (
        f"Kafka_Authentication_Method: SCRAM-SHA-512, {LOGIN}",
        "sasl.mechanisms=SCRAM-SHA-512",
        "sasl.mechanisms is set by Kafka_Authentication_Method of the Kafka location; use one of them",
    ),
    (
        "Stream_Public_Certificate: FILE",
        "security.protocol=SASL_SSL",
        "security.protocol is set by Kafka_Authentication_Method, Stream_Public_Certificate and Kafka_Tls of the Kafka",
    ),
    (
        f"Kafka_Authentication_Method: USER_PASS, {LOGIN}",
        "ssl.ca.location=/x",
        "ssl.ca.location does nothing without TLS, which Stream_Public_Certificate or Kafka_Tls turns on",
    ),
    (
        "Kafka_Tls: true",
        "aws.msk.iam.region=eu-west-1",
        "aws.msk.iam.region is set by Kafka_Aws_Region of the Kafka location; use one of them",
    ),
    (
        "Kafka_Tls: true",
        "sasl.username=me",
        "sasl.username does nothing without a Kafka_Authentication_Method",
    ),
]


@pytest.fixture
def make(tmp_path):
    file = tmp_path / "a.pem"
    file.write_text("")

    def made(properties, variable=""):
        path = tmp_path / "channel.yaml"
        given = ", ".join(filter(None, ["class: kafka, Kafka_Brokers: [localhost]", properties]))
        action = f"\n  - {{action: Environment, Name: HVR_KAFKA_PROPERTY, Value: '{variable}'}}" if variable else " []"
        path.write_text(
            "channel: shop\nlocations:\n  src: {class: files, path: in, dialect: hvr, table: audit}\n"
            f"  kaf: {{{given.replace('FILE', str(file))}}}\ntables: [{SHOP_SQL}]\nactions:{action}\n"
        )
        return plan.build(str(path), "UTC")

    made.file = str(file)
    return made


def access(made):
    return {
        name: value
        for name, value in made.recipe.send.producer.items()
        if name.startswith(("sasl", "ssl", "security", "aws"))
    }


@pytest.mark.parametrize(("properties", "expected"), CASES)
def test_properties_of_the_location_become_librdkafkas(properties, expected, make):
    made = make(properties)
    assert access(made) == {name: make.file if value == "FILE" else value for name, value in expected.items()}
    if "KERBEROS" not in properties and "FILE" not in properties:
        assert list(refused(made.recipe.send.producer)) == []  # librdkafka knows all of them


@pytest.mark.parametrize(("properties", "told"), REFUSED)
def test_what_is_missing_or_would_do_nothing_is_reported(properties, told, make):
    with pytest.raises(ConfigurationError) as raised:
        make(properties)
    assert f"channel.yaml:4: $.locations.kaf.{told}" in str(raised.value)
    assert not [secret for secret in ("pa55word", "k3y", "5534567") if secret in str(raised.value)]  # I7


@pytest.mark.parametrize(("properties", "variable", "told"), BESIDE)
def test_the_location_beside_hvr_kafka_property(properties, variable, told, make):
    if not told:
        given = dict(entry.split("=") for entry in variable.replace("mechanisms=", "mechanism=").split(";"))
        assert given.items() <= access(make(properties, variable)).items()
        return
    with pytest.raises(ConfigurationError) as raised:
        make(properties, variable)
    assert f"channel.yaml:7: $.actions[0].Value: HVR_KAFKA_PROPERTY: {told}" in str(raised.value)


def test_what_is_wrong_comes_at_once(make):
    with pytest.raises(ConfigurationError) as raised:
        make("Kafka_Authentication_Method: USER_PASS, Stream_Client_Private_Key: /none, Kafka_Kerberos_Service: x")
    assert len(raised.value.problems) == 5


def test_i7_passwords_are_in_no_text(make, monkeypatch):
    secrets = {"THIS": "pa55;wo'rd", "THAT": 'k3y"pa55'}  # the variables' names do not say that they are secret
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    passwords = 'Stream_Password: "${THIS}", Stream_Client_Private_Key_Password: "${THAT}"'
    certificates = f"Stream_Public_Certificate: FILE, {CLIENT}"
    made = make(f"Kafka_Authentication_Method: USER_PASS, Stream_User: me, {passwords}, {certificates}")
    assert (made.recipe.send.producer["sasl.password"], made.recipe.send.producer["ssl.key.password"]) == (
        *secrets.values(),
    )
    console = Console(record=True, width=2000, file=io.StringIO())
    show.plan(made, [], console)
    shown = console.export_text()
    assert "'sasl.username': 'me', 'sasl.password': '********'" in shown
    assert "'ssl.key.password': '********'" in shown
    for secret in secrets.values():
        assert secret not in shown + repr(made)
        assert made.secrets.mask(f"it is {secret}") == "it is ********"
    with pytest.raises(ConfigurationError) as raised:  # a problem elsewhere that happens to have one of them in it
        make(
            f"Kafka_Authentication_Method: USER_PASS, Stream_User: me, {passwords}, Stream_Public_Certificate: '${{THAT}}'"
        )
    assert "/********'; a PEM file is expected" in str(raised.value)
    assert "pa55" not in str(raised.value)


def quoted(text):
    return json.dumps(text)


@pytest.mark.parametrize(("method", "text", "expected"), JAAS)
def test_the_jaas_text_of_java_clients_is_understood(method, text, expected, make):
    given = f"Sasl_Jaas_Config: {quoted(text)}, Kafka_Tls: true"
    made = make(given + (f", Kafka_Authentication_Method: {method}" if method else ""))
    expected = expected | {"security.protocol": "SASL_SSL"}
    assert access(made) == {name: make.file if value == "FILE" else value for name, value in expected.items()}
    assert "pa55" not in repr(made)  # I7


@pytest.mark.parametrize(("method", "text", "told"), JAAS_REFUSED)
def test_what_is_wrong_with_a_jaas_text_is_reported_without_its_password(method, text, told, make):
    given = f"Sasl_Jaas_Config: {quoted(text)}"
    with pytest.raises(ConfigurationError) as raised:
        make(given + (f", Kafka_Authentication_Method: {method}" if method else ""))
    assert told in str(raised.value)
    assert "hunter22" not in str(raised.value)  # I7


def test_certificates_and_keys_may_be_their_pem_text(make, tmp_path, monkeypatch):
    authority = Authority(tmp_path)
    certificate, key = authority.sign("us")
    for name, file in (("CA", authority.certificate), ("OWN", certificate), ("OWN_KEY", key)):
        monkeypatch.setenv(name, file.read_text())
    names = ("Stream_Public_Certificate", "Stream_Client_Public_Certificate", "Stream_Client_Private_Key")
    given = ", ".join(
        f'{name}: "${{{variable}}}"' for name, variable in zip(names, ("CA", "OWN", "OWN_KEY"), strict=True)
    )
    made = make(given)
    assert access(made) == {
        "security.protocol": "SSL",
        "ssl.ca.pem": authority.certificate.read_text(),
        "ssl.certificate.pem": certificate.read_text(),
        "ssl.key.pem": key.read_text(),
    }
    assert list(refused(made.recipe.send.producer)) == []  # librdkafka reads them
    assert key.read_text()[40:80] not in repr(made) + made.secrets.mask(key.read_text())  # I7


@pytest.mark.parametrize(("variable", "expected"), JAVA)
def test_names_of_java_airbyte_and_conduit_become_librdkafkas(variable, expected, make):
    producer = make("", variable).recipe.send.producer
    assert expected.items() <= producer.items()
    assert list(refused(producer)) == []  # librdkafka knows all of them


@pytest.mark.parametrize(("variable", "told"), JAVA_REFUSED)
def test_names_of_others_that_have_no_counterpart_are_answered_with_ours(variable, told, make):
    with pytest.raises(ConfigurationError) as raised:
        make("", variable)
    assert told in str(raised.value)


@pytest.mark.parametrize(("properties", "variable", "told"), UNSAFE)
def test_check_remarks_what_is_allowed_and_unsafe(properties, variable, told, make):
    notes = [note for note in make(properties, variable).notes if "deletes" not in note]
    assert [told in note for note in notes] == ([True] if told else [])


def test_hvrs_variables_in_the_environment_are_refused_and_not_ignored(make, monkeypatch):
    monkeypatch.setenv("HVR_KAFKA_BROKER_VERSION", "0.9")
    with pytest.raises(ConfigurationError, match=r"environment has HVR_KAFKA_BROKER_VERSION.* unset it") as raised:
        make("")
    assert "action: Environment, Name: HVR_KAFKA_BROKER_VERSION" in str(raised.value)


HOSTS = [
    # a broker by host and port, as HVR has it, and as librdkafka looks for it
    ("{host: b1, port: 9093}", "b1:9093"),
    ("{host: b1}", "b1:9092"),
    ("{host: b1, port: '9093'}", "b1:9093"),
    ("{host: '::1', port: 9093}", "[::1]:9093"),
    ("b1", "b1:9092"),
]


@pytest.mark.parametrize(("broker", "address"), HOSTS)
def test_a_broker_is_a_text_or_host_and_port(broker, address, make, tmp_path):
    make("")
    file = tmp_path / "channel.yaml"
    file.write_text(file.read_text().replace("[localhost]", f"[{broker}, b9]"))
    assert plan.build(str(file), "UTC").recipe.send.producer["bootstrap.servers"] == f"{address},b9:9092"
