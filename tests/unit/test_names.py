"""Names of other products: each is answered with ours, wherever it is written, and what is said of it is possible."""

import pytest

from integrator import plan
from integrator.channel.actions import ACTIONS
from integrator.channel.locations import KafkaLocation
from integrator.deliver.kafka.refused import refused
from integrator.errors import ConfigurationError
from integrator.names import NAMES, foreign, meant, nearest, plain
from integrator.names.units import in_unit
from integrator.schema import DATATYPES
from tests.parts.channels import SHOP_SQL

CHANNEL = """\
channel: shop
locations:
  src: {class: files, path: in, dialect: hvr}
  kaf: {class: kafka, Kafka_Brokers: [localhost]KAFKA}
tables: [TABLES]
actions:
  - {action: ColumnProperties, table: audit, Name: x, Extra: true, Datatype: DATATYPE, IntegrateExpression: "EXPRESSION"}
  - ACTION
"""
PLAIN = {"TABLES": SHOP_SQL, "KAFKA": "", "DATATYPE": "varchar", "EXPRESSION": "a", "ACTION": "{action: Capture}"}
PLACES = {
    # what a name is: where it is written, and the line of the file
    "action": ("ACTION", "{{action: {}}}", 8),
    "parameter": ("ACTION", "{{action: Integrate, {}: x}}", 8),
    "variable": ("ACTION", "{{action: Environment, Name: {}, Value: x}}", 8),
    "key": ("KAFKA", ", {}: x", 4),
    "property": ("KAFKA", ", {}: x", 4),
    "substitution": ("EXPRESSION", "{{{}}}", 7),
    "datatype": ("DATATYPE", "'{}'", 7),
}


def said(tmp_path, **words):
    path, text = tmp_path / "channel.yaml", CHANNEL
    for place, written in {**PLAIN, **words}.items():
        text = text.replace(place, str(written))
    path.write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        plan.build(str(path), "UTC")
    return str(raised.value)


@pytest.mark.parametrize("name", [one for one in NAMES if one.kind in PLACES], ids=lambda one: f"{one.of} {one.name}")
def test_a_name_of_another_product_is_answered_with_ours(name, tmp_path):
    place, written, line = PLACES[name.kind]
    text = said(tmp_path, **{place: written.format(name.name)})
    expected = [line for line in text.splitlines() if name.ours in line or nearest(name.name, KEYS) in line]
    assert expected, text
    assert f"channel.yaml:{line}: " in expected[0]


KEYS = [*KafkaLocation.model_fields, *(key for kind in ACTIONS.values() for key in kind.model_fields)]


@pytest.mark.parametrize(
    "spelling", ["bootstrap.servers", "bootstrap_servers", "bootstrapServers", "BOOTSTRAP-SERVERS"]
)
def test_a_name_counts_however_it_is_spelled(spelling):
    assert foreign(spelling, "property").key == "Kafka_Brokers"


def test_what_the_table_says_is_possible():
    assert {one.key for one in NAMES if one.key} <= set(KafkaLocation.model_fields)
    numbers = {one.sets: "1" for one in NAMES if one.sets and one.ours.endswith("Value: ")}
    texts = {"enable.idempotence": "true", "enable.ssl.certificate.verification": "true", "compression.level": "3"}
    texts["socket.connection.setup.timeout.ms"] = "1000"
    words = {"client.dns.lookup": "use_all_dns_ips", "ssl.endpoint.identification.algorithm": "https"}
    assert [name for name, _ in refused({**numbers, **texts, **words}) if name] == []
    for one in NAMES:
        assert one.kind != "datatype" or one.ours.removeprefix("use ") in DATATYPES


def test_no_name_is_there_twice_and_none_is_ours():
    spelled = [(one.kind, plain(one.name)) for one in NAMES]
    assert sorted(spelled) == sorted(set(spelled))
    ours = set(KEYS) - {"Topic", "topic"}
    assert [one.name for one in NAMES if one.kind in ("key", "property") and one.name in ours] == []


NEAR = [
    # what is written, what is known, what is meant
    ("oders", ["customers", "orders"], "orders"),
    ("ORDERS", ["orders"], "orders"),
    ("kafka-brokers", ["Kafka_Brokers"], "Kafka_Brokers"),
    ("cvs", ["json", "csv"], "csv"),
    ("UPDATE", ["INSERT", "UPDATE_AFTER"], "UPDATE_AFTER"),
    ("loaded", ["placed"], ""),
    ("x", ["id", "name"], ""),
]


@pytest.mark.parametrize(("written", "known", "expected"), NEAR)
def test_the_known_name_that_is_meant(written, known, expected):
    assert nearest(written, known) == expected


def test_what_is_known_is_listed_where_nothing_is_meant():
    assert meant("x", ["one", "two"]) == "accepted are one, two"
    assert meant("x", [f"name_{at}" for at in range(50)]).endswith("name_39 and 10 more")
    assert meant("x", []) == "there is none"


UNITS = [
    # what is written, in which unit, the number
    ("10MB", "bytes", 10_000_000),
    ("10 MiB", "bytes", 10_485_760),
    ("1.5k", "bytes", 1500),
    ("5m", "seconds", 300),
    ("500ms", "seconds", 0.5),
    ("2 hours", "seconds", 7200),
    ("30s", "milliseconds", 30_000),
    ("5", "seconds", None),
    ("5 apples", "bytes", None),
    ("5MB", "seconds", None),
]


@pytest.mark.parametrize(("written", "unit", "number"), UNITS)
def test_numbers_with_units(written, unit, number):
    assert in_unit(written, unit) == number
