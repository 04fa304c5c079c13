"""Mistakes in the Kafka location: brokers, topics, other products' names."""

from tests.unit.broken_channels.contract import broken

BROKERS = "[localhost:9092]"
MAPPING = "{Partitions: 4, Replication_Factor: 3}"
CASES = [
    broken(
        "a broker is no list",
        (BROKERS, "localhost:9092"),
        "9: $.locations.kaf.Kafka_Brokers: a list is wanted here: write [localhost:9092]",
        (": localhost:9092", ": [localhost:9092]"),
    ),
    broken(
        "brokers in one text",
        (BROKERS, '["a:9092,b:9092"]'),
        '9: $.locations.kaf.Kafka_Brokers[0]: \'a:9092,b:9092\' is several brokers in one text; write ["a:9092", "b:9092"]',
        ('["a:9092,b:9092"]', '["a:9092", "b:9092"]'),
    ),
    broken(
        "a broker's port, misspelled",
        (BROKERS, "[{host: localhost, prot: 9092}]"),
        "9: $.locations.kaf.Kafka_Brokers[0]: a broker has no 'prot'; do you mean port?",
        ("prot:", "port:"),
    ),
    broken(
        "a broker without a host",
        (BROKERS, "[{port: 9093}]"),
        "9: $.locations.kaf.Kafka_Brokers[0]: a broker is {host: NAME, port: 9092}, or NAME:9092 as text",
        ("{port: 9093}", "{host: kafka1, port: 9093}"),
        own="kafka1",
    ),
    broken(
        "a broker whose port is none",
        (BROKERS, "[{host: localhost, port: 909200}]"),
        "9: $.locations.kaf.Kafka_Brokers[0]: 'localhost:909200' has no port from 1 to 65535 after its colon; write localhost:9092, or the port that it has",
        ("909200", "9092"),
    ),
    broken(
        "a broker with a scheme",
        (BROKERS, '["PLAINTEXT://localhost:9092"]'),
        "9: $.locations.kaf.Kafka_Brokers[0]: 'PLAINTEXT://localhost:9092' has a scheme; write localhost:9092",
        ("PLAINTEXT://", ""),
    ),
    broken(
        "a broker with HTTP",
        (BROKERS, '["http://localhost:9092/"]'),
        "9: $.locations.kaf.Kafka_Brokers[0]: 'http://localhost:9092/' has a scheme; write localhost:9092",
        ("http://localhost:9092/", "localhost:9092"),
    ),
    broken(
        "a port beyond 65535",
        (BROKERS, "[localhost:90921]"),
        "9: $.locations.kaf.Kafka_Brokers[0]: 'localhost:90921' has no port from 1 to 65535 after its colon; write localhost:9092, or the port that it has",
        ("90921", "9092"),
    ),
    broken(
        "a port of letters",
        (BROKERS, "[localhost:kafka]"),
        "9: $.locations.kaf.Kafka_Brokers[0]: 'localhost:kafka' has no port from 1 to 65535 after its colon; write localhost:9092, or the port that it has",
        ("localhost:kafka", "localhost:9092"),
    ),
    broken(
        "a broker with blanks",
        (BROKERS, '["kafka 1:9092", " kafka2:9092"]'),
        [
            "9: $.locations.kaf.Kafka_Brokers[0]: 'kafka 1:9092' has blanks; write kafka1:9092",
            "9: $.locations.kaf.Kafka_Brokers[1]: ' kafka2:9092' has blanks; write kafka2:9092",
        ],
        [("kafka 1", "kafka1"), (" kafka2", "kafka2")],
    ),
    broken(
        "an IPv6 broker without brackets",
        (BROKERS, '["::1:9092"]'),
        "9: $.locations.kaf.Kafka_Brokers[0]: '::1:9092' is an IPv6 address without brackets; write [::1]:9092, or [::1:9092] for the port 9092",
        ("::1:9092", "[::1]:9092"),
    ),
    broken(
        "Java's name for brokers",
        ("    Kafka_Brokers: [localhost:9092]", "    bootstrap.servers: localhost:9092"),
        "9: $.locations.kaf.bootstrap.servers: this key, of Kafka's clients, is not known here: use Kafka_Brokers of the Kafka location",
        ("bootstrap.servers: localhost:9092", "Kafka_Brokers: [localhost:9092]"),
    ),
    broken(
        "Python's name for brokers",
        ("    Kafka_Brokers: [localhost:9092]", "    bootstrap_servers: localhost:9092"),
        "9: $.locations.kaf.bootstrap_servers: this key, of Kafka's clients, is not known here: use Kafka_Brokers of the Kafka location",
        ("bootstrap_servers: localhost:9092", "Kafka_Brokers: [localhost:9092]"),
    ),
    broken(
        "one letter of a key",
        ("Kafka_Brokers", "Kafka_Broker"),
        "9: $.locations.kaf.Kafka_Broker: this key is not known here; do you mean Kafka_Brokers?",
        ("Kafka_Broker:", "Kafka_Brokers:"),
    ),
    broken(
        "a key in small letters",
        ("Kafka_Default_Topic", "kafka_default_topic"),
        "10: $.locations.kaf.kafka_default_topic: this key is not known here; do you mean Kafka_Default_Topic?",
        ("kafka_default_topic", "Kafka_Default_Topic"),
    ),
    broken(
        "Airbyte's name for the topic",
        ('Kafka_Default_Topic: "shop.{hvr_tbl_name}"', 'topic_pattern: "{namespace}.{stream}"'),
        [
            "10: $.locations.kaf.Kafka_Default_Topic: all 6 tables: {namespace}, of Airbyte: use {hvr_schema}, where the definition of each table names its schema;…for its name in the database",
            "10: $.locations.kaf.topic_pattern: this key, of Airbyte, is not known here: use Kafka_Default_Topic of the Kafka location",
        ],
        ('topic_pattern: "{namespace}.{stream}"', 'Kafka_Default_Topic: "{hvr_tbl_name}"'),
    ),
    broken(
        "Airbyte's words in the topic",
        ("shop.{hvr_tbl_name}", "shop.{stream}"),
        "10: $.locations.kaf.Kafka_Default_Topic: all 6 tables: {stream}, of Airbyte: use {hvr_tbl_name}, or {hvr_tbl_base_name} for its name in the database",
        ("{stream}", "{hvr_tbl_name}"),
    ),
    broken(
        "a misspelled substitution in the topic",
        ("{hvr_tbl_name}", "{hvr_tabel_name}"),
        "10: $.locations.kaf.Kafka_Default_Topic: all 6 tables: {hvr_tabel_name} is no substitution; do you mean {hvr_tbl_name}?",
        ("{hvr_tabel_name}", "{hvr_tbl_name}"),
    ),
    broken(
        "a topic of a row whose table has no such column",
        ("{hvr_tbl_name}", "{emial}"),
        "10: $.locations.kaf.Kafka_Default_Topic: all 6 tables: {emial} is neither a substitution nor a column; do you mean {email}?",
        ("{emial}", "{hvr_tbl_name}"),
        own="hvr_tbl_name",
    ),
    broken(
        "a topic with a blank",
        ("shop.{hvr_tbl_name}", "my shop {hvr_tbl_name}"),
        "10: $.locations.kaf.Kafka_Default_Topic: all 6 tables: Kafka accepts no such topic; it would be 'my shop customers', and accepted are 1 to 249 of a-z A-Z 0-9 . _ -, such as my-shop-customers",
        ("my shop {", "my-shop-{"),
    ),
    broken(
        "a schema that no table has",
        ("shop.{hvr_tbl_name}", "{hvr_schema}.{hvr_tbl_name}"),
        "10: $.locations.kaf.Kafka_Default_Topic: all 6 tables: {hvr_schema}: its definition names no schema; write create table SCHEMA.customers…table: customers, Schema: …}",
        ("{hvr_schema}.", ""),
    ),
    broken(
        "partitions of a topic that no table has",
        ("    Create_Topics: {", "    Create_Topics: {Topic_Partitions: {shop.order: 12}, "),
        "11: $.locations.kaf.Create_Topics.Topic_Partitions.shop.order: 'shop.order' is no topic of the channel; do you mean shop.orders?",
        ("shop.order:", "shop.orders:"),
    ),
    broken(
        "a rule for a topic that no table has",
        (MAPPING, "[{topics: shop.order, partitions: 12}, {topics: '*'}]"),
        "11: $.locations.kaf.Create_Topics[0].topics: 'shop.order' is no topic of the channel; do you mean shop.orders?",
        ("shop.order,", "shop.orders,"),
    ),
    broken(
        "keys of a mapping in a list",
        (MAPPING, "[{topics: '*', Partitions: 12, replicaton: 3}]"),
        [
            "11: $.locations.kaf.Create_Topics[0].Partitions: this key is not known here; do you mean partitions?",
            "11: $.locations.kaf.Create_Topics[0].replicaton: this key is not known here; do you mean replication?",
        ],
        ("Partitions: 12, replicaton", "partitions: 12, replication"),
    ),
    broken(
        "rules with wrong values",
        (MAPPING, "[{topics: 'shop orders', partitions: 0}, {topics: '^(', replication: '3'}, {partitions: 2}]"),
        [
            "11: $.locations.kaf.Create_Topics[0].partitions: a number of 1 at least is wanted here; found 0",
            "11: $.locations.kaf.Create_Topics[0].topics[0]: 'shop orders' matches no topic: those have 1 to 249 of a-z A-Z 0-9 . _ -; *…^",
            "11: $.locations.kaf.Create_Topics[1].replication: a whole number is wanted here, without quotes: write 3",
            "11: $.locations.kaf.Create_Topics[1].topics[0]: '^(' is no regular expression: …",
            "11: $.locations.kaf.Create_Topics[2].topics: this key is missing: Names; names with * …",
        ],
        (
            "[{topics: 'shop orders', partitions: 0}, {topics: '^(', replication: '3'}, {partitions: 2}]",
            "[{topics: shop.orders, partitions: 1}, {topics: ^shop.i.*, replication: 3}, {topics: '*', partitions: 2}]",
        ),
        own="shop orders",
    ),
    broken(
        "no rules",
        (MAPPING, "[]"),
        "11: $.locations.kaf.Create_Topics: an entry at least is wanted here; found []",
        ("Create_Topics: []", "Create_Topics: [{topics: '*'}]"),
        own="topics",
    ),
    broken(
        "the brokers, misspelled",
        (MAPPING, "brokers"),
        "11: $.locations.kaf.Create_Topics: 'brokers' is not one of 'broker'; do you mean broker?",
        ("Create_Topics: brokers", "Create_Topics: broker"),
    ),
    broken(
        "a word in small letters",
        ("    Create_Topics", "    Kafka_Message_Compress: gzip\n    Create_Topics"),
        "11: $.locations.kaf.Kafka_Message_Compress: 'gzip' is not one of 'NONE', 'LZ4', 'GZIP', 'SNAPPY' or 'ZSTD'; do you mean GZIP?",
        ("gzip", "GZIP"),
    ),
    broken(
        "keys of topics in small letters",
        ("{Partitions: 4, Replication_Factor: 3}", "{partitions: 4, replication_factor: 3}"),
        [
            "11: $.locations.kaf.Create_Topics.partitions: this key is not known here; do you mean Partitions?",
            "11: $.locations.kaf.Create_Topics.replication_factor: this key is not known here; do you mean Replication_Factor?",
        ],
        ("{partitions: 4, replication_factor: 3}", "{Partitions: 4, Replication_Factor: 3}"),
    ),
    broken(
        "topics to be created without saying how",
        ("{Partitions: 4, Replication_Factor: 3}", "true"),
        "11: $.locations.kaf.Create_Topics: a mapping is wanted here, with the keys Partitions, Replication_Factor, Topic_Config, Topic_Partitions; found True",
        ("Create_Topics: true", "Create_Topics: {Partitions: 4, Replication_Factor: 3}"),
    ),
    broken(
        "producer properties in the location",
        ("    Create_Topics", "    acks: 1\n    linger_ms: 5\n    batch.size: 65536\n    Create_Topics"),
        [
            '11: $.locations.kaf.acks: this key, of Kafka\'s clients, is not known here: use {action: Environment, Name: HVR_KAFKA_PROPERTY, Value: "acks=1"}',
            '12: $.locations.kaf.linger_ms: this key, of Kafka\'s clients, is not known here: use {action: Environment, Name: HVR_KAFKA_PROPERTY, Value: "linger.ms=5"}',
            '13: $.locations.kaf.batch.size: this key, of Kafka\'s clients, is not known here: use {action: Environment, Name: HVR_KAFKA_PROPERTY, Value: "batch.size=65536"}',
        ],
        [
            ("    acks: 1\n    linger_ms: 5\n    batch.size: 65536\n", ""),
            (
                "actions:\n",
                'actions:\n  - {action: Environment, Name: HVR_KAFKA_PROPERTY, Value: "acks=1;linger.ms=5;batch.size=65536"}\n',
            ),
        ],
    ),
    broken(
        "converters in the location",
        (
            "    Create_Topics",
            "    key.converter: org.apache.kafka.connect.storage.StringConverter\n    value.converter: org.apache.kafka.connect.json.JsonConverter\n    Create_Topics",
        ),
        [
            "11: $.locations.kaf.key.converter: this key, of Kafka Connect, is not known here: the Kafka location's format makes keys and values: leave it out (FileFormat, MessageKeySerializer)",
            "12: $.locations.kaf.value.converter: this key, of Kafka Connect, is not known here: the Kafka location's format makes keys and values: leave it out (FileFormat, MessageKeySerializer)",
        ],
        (
            "    key.converter: org.apache.kafka.connect.storage.StringConverter\n    value.converter: org.apache.kafka.connect.json.JsonConverter\n",
            "",
        ),
    ),
    broken(
        "a unit in a number",
        (
            "    Create_Topics",
            "    Kafka_Message_Bundling: THRESHOLD\n    Kafka_Message_Bundling_Threshold: 500KB\n    Create_Topics",
        ),
        "12: $.locations.kaf.Kafka_Message_Bundling_Threshold: a whole number of bytes is wanted here, without its unit: for 500KB write 500000",
        ("500KB", "500000"),
    ),
]
