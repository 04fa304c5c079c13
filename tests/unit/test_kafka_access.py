"""Authentication and TLS of a Kafka location: librdkafka's properties, what is refused, and what is never shown."""

import io

import pytest
from rich.console import Console

from integrator import plan
from integrator.cli import show
from integrator.deliver.kafka import topics
from integrator.errors import ConfigurationError

LOGIN = "Stream_User: me, Stream_Password: pa55word"
TICKET = "Kafka_Kerberos_Client_Principal: me@HERE, Kafka_Kerberos_Keytab: FILE"
CLIENT = "Stream_Client_Public_Certificate: FILE, Stream_Client_Private_Key: FILE"

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

BY_USER = "it is for USER_PASS, SCRAM-SHA-256, SCRAM-SHA-512"

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
    ("Stream_User: ''", "Stream_User: String should have at least 1 character; found ''"),
    ("Stream_Password: 5534567", "Stream_Password: Input should be a valid string; found '********'"),
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
            f"  kaf: {{{given.replace('FILE', str(file))}}}\ntables: [schemas/shop.sql]\nactions:{action}\n"
        )
        return plan.make(str(path), "UTC")

    made.file = str(file)
    return made


def access(made):
    return {
        name: value for name, value in made.recipe.send.producer.items() if name.startswith(("sasl", "ssl", "security"))
    }


@pytest.mark.parametrize(("properties", "expected"), CASES)
def test_properties_of_the_location_become_librdkafkas(properties, expected, make):
    made = make(properties)
    assert access(made) == {name: make.file if value == "FILE" else value for name, value in expected.items()}
    if "KERBEROS" not in properties and "FILE" not in properties:
        topics.check(made.recipe.send.producer)  # librdkafka knows all of them


@pytest.mark.parametrize(("properties", "told"), REFUSED)
def test_what_is_missing_or_would_do_nothing_is_reported(properties, told, make):
    with pytest.raises(ConfigurationError) as raised:
        make(properties)
    assert f"channel.yaml:4: $.locations.kaf.{told}" in str(raised.value)
    assert not [secret for secret in ("pa55word", "k3y", "5534567") if secret in str(raised.value)]  # I7


@pytest.mark.parametrize(("properties", "variable", "told"), BESIDE)
def test_the_location_beside_hvr_kafka_property(properties, variable, told, make):
    if not told:
        given = dict(entry.split("=") for entry in variable.split(";"))
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
    assert "there is no file '********'" in str(raised.value)
    assert "pa55" not in str(raised.value)
