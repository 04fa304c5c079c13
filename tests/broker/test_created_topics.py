"""Topics that are created: by rules of the channel, or by brokers that create topics (`Create_Topics: broker`)."""

import sys

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType

from integrator.cli import main
from integrator.errors import EnvironmentFault
from tests.broker.test_errors import GOOD, lines
from tests.parts import brokers, channels, kafka_io

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.fixture(scope="module")
def creating(tmp_path_factory):
    """A broker that creates topics which it is asked for, with three partitions."""
    class_path = brokers.libraries()
    if class_path is None:
        pytest.skip("a broker that creates topics needs mvn and Java")
    more = "auto.create.topics.enable=true\nnum.partitions=3\n"
    with brokers.KraftBroker(class_path, tmp_path_factory.mktemp("creating"), properties=more) as kraft:
        yield kraft


@pytest.fixture
def channel(tmp_path, name):
    """A channel of four topics with changes of one, for brokers and Create_Topics."""

    def made(servers, creation, more=""):
        path = channels.shop(tmp_path, servers, name, kafka=f", Create_Topics: {creation}")
        path.write_text(f"{path.read_text()}{more}")
        (tmp_path / "in" / "a.jsonl").write_text(lines(GOOD))
        return path

    return made


@pytest.fixture
def check(monkeypatch, capsys):
    def checked(path):
        monkeypatch.setattr(sys, "argv", ["run.py", "check", "--channel", str(path), "--connect"])
        code, printed = main.main(), capsys.readouterr()
        return code, printed.out + printed.err

    return checked


def shown(servers, topics):
    """The partitions of topics that are there, and whether they are deleted from or compacted."""
    admin = AdminClient({"bootstrap.servers": servers})
    there = admin.list_topics(timeout=20).topics
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics if topic in there]
    settings = (
        {one.name: future.result() for one, future in admin.describe_configs(resources).items()} if resources else {}
    )
    return {topic: (len(there[topic].partitions), one["cleanup.policy"].value) for topic, one in settings.items()}


def test_each_topic_is_created_by_the_first_rule_that_matches_it(real_broker, channel, check, name, integrate_once):
    orders, audit, customers, products = (f"{name}.{table}" for table in ("orders", "audit", "customers", "products"))
    rules = (
        f'[{{topics: {orders}, partitions: 5}}, {{topics: "{name}.c*", partitions: 2, replication: 1, '
        f'settings: {{cleanup.policy: compact}}}}, {{topics: "^{name}\\\\.(audit|orders)"}}]'
    )
    path = channel(real_broker.servers, rules)
    code, printed = check(path)
    assert code == 5
    assert f"missing at {real_broker.servers}: the topics {products}; no entry of Create_Topics matches them" in printed
    with pytest.raises(EnvironmentFault, match=rf"the topics {products}; no entry of Create_Topics matches"):
        integrate_once(path)
    assert shown(real_broker.servers, [orders]) == {}, "nothing is created before all is known"
    real_broker.create([products], 7)
    code, printed = check(path)
    assert (code, f"{products}: no entry of Create_Topics matches" in printed) == (0, True), printed
    integrate_once(path)
    assert shown(real_broker.servers, [orders, audit, customers, products]) == {
        orders: (5, "delete"),
        audit: (1, "delete"),
        customers: (2, "compact"),
        products: (7, "delete"),
    }
    assert len(kafka_io.read_all(real_broker.servers, [audit])) == 1


@pytest.mark.parametrize("delivery", ["at_least_once", "exactly_once"])
def test_brokers_create_topics_before_the_first_row(creating, channel, check, name, integrate_once, delivery):
    path = channel(creating.servers, "broker", f"delivery: {delivery}\n")
    code, printed = check(path)
    assert code == 0, printed
    assert "topics that do not exist are created by the brokers when the job starts" in printed
    topics = channels.shop_topics(name)
    assert shown(creating.servers, topics) == {}, "check creates nothing"
    integrate_once(path)
    assert shown(creating.servers, topics) == dict.fromkeys(topics, (3, "delete"))
    assert len(kafka_io.read_all(creating.servers, topics)) == 1


def test_brokers_that_create_no_topics_are_an_error_with_a_remedy(real_broker, channel, check, name, integrate_once):
    path = channel(real_broker.servers, "broker")
    code, printed = check(path)
    assert code == 5
    assert (
        "the brokers create no topics (auto.create.topics.enable=false), and Create_Topics is broker; set it" in printed
    )
    with pytest.raises(EnvironmentFault) as raised:
        integrate_once(path)
    assert str(raised.value) == (
        f"{real_broker.servers} did not create the topics {', '.join(channels.shop_topics(name))} (Create_Topics: "
        "broker): the brokers have auto.create.topics.enable=false; set it to true and start them again, create the "
        "topics, or let the channel do it with Create_Topics: {Partitions: …, Replication_Factor: …} or a list of rules"
    )
    assert shown(real_broker.servers, channels.shop_topics(name)) == {}
