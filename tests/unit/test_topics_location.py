"""A location of class kafka with topics: what is refused of it, with a remedy, and that passwords are hidden."""

import pytest

from integrator import plan
from integrator.channel.load import RunOptions
from integrator.channel.topics import TopicsLocation
from integrator.deliver.kafka.refused import refused
from integrator.errors import ConfigurationError
from integrator.plan.source import change_sources

SOURCE = "Kafka_Brokers: [k1], topics: [orders]"


def made(tmp_path, source=SOURCE, actions="", kafka=""):
    (tmp_path / "t.sql").write_text("create table t(k int primary key, v text);")
    file = tmp_path / "c.yaml"
    file.write_text(
        f"channel: c\nlocations:\n  src: {{class: kafka, {source}}}\n"
        f"  kaf: {{class: kafka, Kafka_Brokers: [k2]{kafka}}}\ntables: [t.sql]\nactions: [{actions}]\n"
    )
    run = RunOptions()
    return run, lambda **more: plan.build(str(file), "UTC", run, **more)


WRONG = {
    "a name that is none": ("Kafka_Brokers: [k1], topics: ['a b']", "'a b' is no topic"),
    "a broken pattern": ("Kafka_Brokers: [k1], topics: ['^(a']", "is no regular expression"),
    "no topics": ("Kafka_Brokers: [k1], topics: []", "$.locations.src.topics"),
    "a word that is none": (f"{SOURCE}, start: oldest", "'oldest'"),
    "a timestamp without a zone": (f"{SOURCE}, start: 2026-01-31T12:00:00", "$.locations.src.start"),
    "a group that is needed": (f"{SOURCE}, start: group", "$.locations.src.start: needs a group: add consumer_group"),
    "a group for lag": (f"{SOURCE}, commit_offsets: true", "commit_offsets: needs a group: add consumer_group"),
    "a group without use": (f"{SOURCE}, consumer_group: g", "consumer_group: does nothing without start: group"),
    "a broker with a scheme": ("Kafka_Brokers: ['ssl://k1:9'], topics: [a]", "has a scheme; write k1:9"),
    "half an access": (f"{SOURCE}, Stream_User: u", "Stream_User: does nothing with Kafka_Authentication_Method NONE"),
    "a key of the target": (
        f"{SOURCE}, Kafka_Default_Topic: t",
        "Kafka_Default_Topic belongs to a location of class kafka",
    ),
    "a table that is not there": (f"{SOURCE}, table: x", "'x' is no table"),
    "several in one text": (
        "Kafka_Brokers: [k1], topics: 'a, b'",
        "'a, b' is several topics in one text; write [a, b]",
    ),
    "Conduit's servers": (f"{SOURCE}, servers: k1", "use Kafka_Brokers of the Kafka location"),
    "Conduit's topic": (f"{SOURCE}, topic: a", "use topics: names, and regular expressions"),
    "Conduit's group": (f"{SOURCE}, groupID: g", "use consumer_group, with start: group to begin where it is"),
    "Conduit's beginning": (f"{SOURCE}, readFromBeginning: true", "use start: earliest for true, latest for false"),
    "Conduit's certificate": (f"{SOURCE}, clientCert: x", "use Stream_Client_Public_Certificate"),
    "Conduit's key": (f"{SOURCE}, clientKey: x", "use Stream_Client_Private_Key"),
    "Conduit's authority": (f"{SOURCE}, caCert: x", "use Stream_Public_Certificate"),
    "Conduit's trust": (
        f"{SOURCE}, insecureSkipVerify: true",
        "use Stream_Public_Certificate; or enable.ssl.certificate.verification=false",
    ),
    "Conduit's TLS": (f"{SOURCE}, tls.enabled: true", "use Kafka_Tls: true, or Stream_Public_Certificate"),
    "Conduit's mechanism": (f"{SOURCE}, saslMechanism: PLAIN", "use Kafka_Authentication_Method"),
    "Conduit's user": (f"{SOURCE}, saslUsername: u", "use Stream_User"),
    "Conduit's client": (
        f"{SOURCE}, clientID: x",
        '{action: Environment, group: src, Name: HVR_KAFKA_PROPERTY, Value: "client.id=x"}',
    ),
    "Conduit's delay": (f"{SOURCE}, commitOffsetsDelay: 5s", "use commit_offsets: true"),
    "Conduit's retries": (f"{SOURCE}, retryGroupJoinErrors: true", "no group is joined: leave it out"),
    "Conduit's schemas": (f"{SOURCE}, sdk.schema.extract.type: avro", "records are read as they are"),
    "a consumer's group": (f"{SOURCE}, group.id: g", "use consumer_group, with start: group"),
    "a consumer's beginning": (f"{SOURCE}, auto.offset.reset: earliest", "use start: earliest or latest"),
    "a client's property": (
        f"{SOURCE}, metadata.max.age.ms: 5",
        '{action: Environment, group: src, Name: HVR_KAFKA_PROPERTY, Value: "metadata.max.age.ms=5"}',
    ),
    "a producer's property": (
        f"{SOURCE}, linger.ms: 5",
        "it is a producer's, and does nothing at a source: leave it out",
    ),
    "a producer's acknowledgements": (f"{SOURCE}, acks: all", "it is a producer's, and does nothing at a source"),
    "Spark's topics": (f"{SOURCE}, subscribePattern: 'a.*'", "use topics: names, and regular expressions"),
    "Spark's losses": (f"{SOURCE}, failOnDataLoss: false", "use lost_records: error or earliest"),
    "Flink's beginning": (f"{SOURCE}, scan.startup.mode: earliest-offset", "use start: earliest, latest, group"),
    "a sink's converter": (f"{SOURCE}, value.converter: x", "use encoding: it is recognized"),
}


@pytest.mark.parametrize(("source", "text"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_has_its_place_and_a_remedy(source, text, tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        made(tmp_path, source)[1]()
    assert text in str(raised.value)


@pytest.mark.parametrize(
    ("acks", "text"),
    [
        ("one", '{action: Environment, Name: HVR_KAFKA_PROPERTY, Value: "acks=1"}'),
        ("all", '{action: Environment, Name: HVR_KAFKA_PROPERTY, Value: "acks=all"}'),
        ("none", "with acks=0 nothing is acknowledged, and nothing could be synced: leave it out"),
    ],
)
def test_conduits_acks_at_the_target_are_answered_with_what_can_be_written(acks, text, tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        made(tmp_path, kafka=f", acks: {acks}")[1]()
    assert text in str(raised.value)


def test_transactions_that_topics_divide_are_refused(tmp_path):
    count = "{action: ColumnProperties, Name: left, Datatype: integer, Extra: true, IntegrateExpression: '{hvr_tx_countdown}'}"
    with pytest.raises(
        ConfigurationError,
        match=r"hvr_tx_countdown. cannot be counted: transactions come side by side, from partitions",
    ):
        made(tmp_path, actions=count)[1]()
    with pytest.raises(
        ConfigurationError, match="TRANSACTION is not possible: transactions come side by side, from partitions"
    ):
        made(tmp_path, kafka=", Kafka_Message_Bundling: TRANSACTION")[1]()


def test_acks_one_of_conduit_is_answered(tmp_path):
    action = "{action: Environment, Name: HVR_KAFKA_PROPERTY, Value: acks=one}"
    with pytest.raises(ConfigurationError, match=r"acks=one, of Conduit, is acks=1 here"):
        made(tmp_path, actions=action)[1]()


def properties(value, group="src"):
    return f"{{action: Environment, group: {group}, Name: HVR_KAFKA_PROPERTY, Value: '{value}'}}"


def test_properties_of_librdkafka_are_those_of_the_location_that_is_named(tmp_path):
    actions = f"{properties('socket.timeout.ms=7000;receive.buffer.bytes=-1')}, {properties('linger.ms=5', 'kaf')}"
    found = made(tmp_path, actions=actions)[1]()
    read, sent = found.changes.reader.properties, found.recipe.send.producer
    assert (read["socket.timeout.ms"], read["socket.receive.buffer.bytes"]) == ("7000", "0")
    assert (sent["linger.ms"], sent.get("socket.timeout.ms")) == ("5", None)
    assert dict(found.changes.listing("").properties) == dict(read)
    everywhere = made(tmp_path, actions=properties("linger.ms=5", "'*'"))[1]()  # as before there were such sources
    assert "linger.ms" not in everywhere.changes.reader.properties


WRONG_PROPERTIES = {
    "isolation.level=read_uncommitted": "isolation.level is set by the source itself; leave it out",
    "fetch.message.max.bytes=5": "fetch.message.max.bytes is set by the source itself",
    "bootstrap.servers=k": "bootstrap.servers cannot be set here: use Kafka_Brokers",
    "linger.ms=5": "linger.ms is a producer's, and does nothing at 'src'",
    "ssl.key.password=x": "ssl.key.password does nothing without TLS",
    "socket.timeout": "holds an entry that is no property",
    "socket.timeout.ms=70 s": "socket.timeout.ms=70 s is no number; write socket.timeout.ms=70000",
    "sockt.timeout.ms=7": "sockt.timeout.ms is no property of librdkafka",
}


@pytest.mark.parametrize("value", WRONG_PROPERTIES)
def test_properties_that_a_source_does_not_take(value, tmp_path):
    access = "Kafka_Authentication_Method: USER_PASS, Stream_User: u, Stream_Password: s3cr3t-word"
    with pytest.raises(ConfigurationError) as raised:
        made(tmp_path, f"{SOURCE}, {access}", properties(value))[1](client=refused)
    assert f"$.actions[0].Value: HVR_KAFKA_PROPERTY: {WRONG_PROPERTIES[value]}" in str(raised.value)


def test_other_variables_do_nothing_at_a_source(tmp_path):
    action = "{action: Environment, group: src, Name: HVR_KAFKA_RATE_LIMIT, Value: '5'}"
    with pytest.raises(ConfigurationError, match="Value does nothing at 'src'"):
        made(tmp_path, actions=action)[1]()


def test_a_channel_from_topic_to_topic(tmp_path):
    _, build = made(tmp_path, f"{SOURCE}, start: 2026-01-31T12:00:00Z, dialect: debezium")
    found = build()
    [source] = change_sources(found.origin.channel).values()
    assert isinstance(source.location, TopicsLocation)
    assert source.location.start_ms == 1_769_860_800_000
    assert source.describe() == "orders at k1 (debezium)"
    assert (found.recipe.messages.cap_loc, found.brokers) == ("src", "k2:9092")


def test_passwords_of_the_source_are_hidden(tmp_path):
    access = "Kafka_Authentication_Method: USER_PASS, Stream_User: u, Stream_Password: s3cr3t-word, Kafka_Tls: true"
    run, build = made(tmp_path, f"{SOURCE}, {access}")
    found = build()
    assert run.secrets.mask("the s3cr3t-word") != "the s3cr3t-word"
    for shown in (found.changes, found.changes.reader, found.changes.listing("")):
        assert "s3cr3t-word" not in repr(shown)


def test_a_password_without_tls_is_noted(tmp_path):
    access = "Kafka_Authentication_Method: USER_PASS, Stream_User: u, Stream_Password: s3cr3t-word"
    assert any("Kafka without TLS" in note for note in made(tmp_path, f"{SOURCE}, {access}")[1]().notes)


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ("errors: {tolerance: all, deadletterqueue.topic.name: c.dead}\n", "c.dead"),
        ("resolved: {topic: c.resolved}\n", ""),
        ("", "c.t"),
    ],
)
def test_what_the_channel_sends_is_not_read_again(more, named, tmp_path):
    """A pattern with which a channel reads its own topics is refused, on the same brokers."""
    to = ", Kafka_Default_Topic: 'c.{hvr_tbl_name}'" if named == "c.t" else ", Kafka_Default_Topic: to"
    _, build = made(tmp_path, "Kafka_Brokers: [k1], topics: ['^c[.].*']", kafka=to)
    file = tmp_path / "c.yaml"
    file.write_text(file.read_text() + more)
    if not more.startswith("resolved"):
        build()
    file.write_text(file.read_text().replace("[k2]", "['k3:9092', 'k1:9092']"))
    with pytest.raises(ConfigurationError) as raised:
        build()
    said = f"$.locations.src.topics: the topics {named or 'c.resolved'} are read and sent to"
    assert said in str(raised.value)
    file.write_text(file.read_text().replace("^c[.].*", "^c[.](?!dead$|t$).*"))
    if not more.startswith("resolved"):
        build()
