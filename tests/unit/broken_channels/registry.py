"""Mistakes with a schema registry."""

from tests.unit.broken_channels.contract import broken
from tests.unit.broken_channels.edits import kafka, more

REGISTRY = "Kafka_Schema_Registry: http://localhost:8081"
CASES = [
    broken(
        "bundles with a registry",
        kafka("Kafka_Message_Bundling: TRANSACTION", REGISTRY),
        "11: $.locations.kaf.Kafka_Message_Bundling: with a schema registry only ROW is possible, and here TRANSACTION with an Avro array of the record: Schema_Registry: {Bundle_As_Array: true}",
        ("TRANSACTION", "ROW"),
    ),
    broken(
        "a serializer that needs a registry",
        more("{action: Integrate, MessageKeySerializer: KAFKA_AVRO}"),
        "28: $.actions[2].MessageKeySerializer: KAFKA_AVRO needs a schema registry; give its URL as Kafka_Schema_Registry, or use STRING",
        ("KAFKA_AVRO", "STRING"),
    ),
    broken(
        "a format with a registry",
        [kafka(REGISTRY), more("{action: FileFormat, Json: true}")],
        "29: $.actions[2].Json: with a schema registry the format is Kafka_Schema_Registry_Format: leave it out",
        ("  - {action: FileFormat, Json: true}\n", ""),
    ),
    broken(
        "a registry's format without a registry",
        kafka("Kafka_Schema_Registry_Format: JSON"),
        "11: $.locations.kaf.Kafka_Schema_Registry_Format: needs Kafka_Schema_Registry, the registry's URL, beside it",
        ("    Kafka_Schema_Registry_Format: JSON\n", ""),
    ),
    broken(
        "a registry without a scheme",
        kafka("Kafka_Schema_Registry: localhost:8081"),
        "11: $.locations.kaf.Kafka_Schema_Registry: 'localhost:8081' is no URL of a registry; write http://localhost:8081, or https://localhost:8081",
        ("localhost:8081", "http://localhost:8081"),
    ),
    broken(
        "a registry with a user in its URL",
        kafka("Kafka_Schema_Registry: http://me:pw@localhost:8081"),
        "11: $.locations.kaf.Kafka_Schema_Registry: a URL has no user; use Kafka_Schema_User and Kafka_Schema_Registry_Password",
        (
            "http://me:pw@localhost:8081",
            "http://localhost:8081\n    Kafka_Schema_User: me\n    Kafka_Schema_Registry_Password: pw",
        ),
    ),
    broken(
        "a registry's user without a password",
        kafka(REGISTRY, "Kafka_Schema_User: me"),
        "12: $.locations.kaf.Kafka_Schema_User: needs Kafka_Schema_Registry_Password beside it",
        ("    Kafka_Schema_User: me\n", ""),
    ),
    broken(
        "Confluent's name for the registry",
        kafka("schema.registry.url: http://localhost:8081"),
        "11: $.locations.kaf.schema.registry.url: this key, of Confluent's converters, is not known here: use Kafka_Schema_Registry of the Kafka location",
        ("schema.registry.url", "Kafka_Schema_Registry"),
    ),
    broken(
        "a format of the registry in small letters",
        kafka(REGISTRY, "Kafka_Schema_Registry_Format: avro"),
        "12: $.locations.kaf.Kafka_Schema_Registry_Format: 'avro' is not one of 'AVRO', 'JSON' or 'PROTOBUF'; do you mean AVRO?",
        ("avro", "AVRO"),
    ),
    broken(
        "a certificate of the registry that is not there",
        kafka("Kafka_Schema_Registry: https://localhost:8081", "Schema_Registry: {CA_Certificate: ca.pem}"),
        "12: $.locations.kaf.Schema_Registry.CA_Certificate: there is no file 'ca.pem'; a PEM file is expected",
        ("    Schema_Registry: {CA_Certificate: ca.pem}\n", ""),
    ),
    broken(
        "a strategy is misspelled",
        [kafka(REGISTRY), more("{action: Integrate, ValueSubjectStrategy: TopicNameStategy}")],
        "29: $.actions[2].ValueSubjectStrategy: 'TopicNameStategy' is not one of 'TopicNameSuffixStrategy', 'TopicNameStrategy'…do you mean TopicNameStrategy?",
        ("TopicNameStategy", "TopicNameStrategy"),
    ),
    broken(
        "tables that share a subject",
        [
            kafka(REGISTRY),
            ("shop.{hvr_tbl_name}", "shop"),
            more("{action: Integrate, ValueSubjectStrategy: TopicNameStrategy}"),
        ],
        "11: $.locations.kaf.Kafka_Schema_Registry: the value schemas of tables customers, orders, items and 3 more would share the subject shop-value; give them topics or record names…, or use TopicRecordNameStrategy",
        ("TopicNameStrategy", "TopicRecordNameStrategy"),
    ),
    broken(
        "a key of the registry is misspelled",
        kafka(REGISTRY, "Schema_Registry: {auto_register: false}"),
        "12: $.locations.kaf.Schema_Registry.auto_register: this key is not known here; do you mean Auto_Register?",
        ("auto_register", "Auto_Register"),
    ),
    broken(
        "a name that Avro cannot have",
        [("shop.sql", "what text", '"what-else" text'), kafka(REGISTRY)],
        "13: $.tables[0]: table audit: column what-else, REGISTRY_AVRO: a name has letters, digits and underscores…audit, Name: what-else, BaseName: …}",
        (
            "  - action: Integrate\n",
            "  - {action: ColumnProperties, Name: what-else, table: audit, BaseName: what_else}\n  - action: Integrate\n",
        ),
        own="what_else",
    ),
]
