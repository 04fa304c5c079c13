"""Mistakes in what messages are: bundles, keys, formats, tombstones."""

from tests.unit.broken_channels.contract import broken
from tests.unit.broken_channels.edits import kafka, more

CASES = [
    broken(
        "a threshold for single rows",
        kafka("Kafka_Message_Bundling_Threshold: 500000"),
        "11: $.locations.kaf.Kafka_Message_Bundling_Threshold: belongs to TRANSACTION and THRESHOLD, and Kafka_Message_Bundling is ROW; leave it out",
        ("    Kafka_Message_Bundling_Threshold: 500000\n", ""),
    ),
    broken(
        "a threshold above the largest message",
        kafka("Kafka_Message_Bundling: THRESHOLD", "Kafka_Message_Bundling_Threshold: 5000000"),
        "12: $.locations.kaf.Kafka_Message_Bundling_Threshold: is above HVR_KAFKA_MSG_MAX_BYTES, so nothing reaches it; write at most 1000000, or raise that",
        ("5000000", "500000"),
        own="500000",
    ),
    broken(
        "a bundling in small letters",
        kafka("Kafka_Message_Bundling: transaction"),
        "11: $.locations.kaf.Kafka_Message_Bundling: 'transaction' is not one of 'ROW', 'CHANGE', 'TRANSACTION' or 'THRESHOLD'; do you mean TRANSACTION?",
        ("transaction", "TRANSACTION"),
    ),
    broken(
        "a key for bundles",
        [kafka("Kafka_Message_Bundling: TRANSACTION"), more('{action: Integrate, MessageKey: "{hvr_tbl_name}"}')],
        "29: $.actions[2].MessageKey: a message of TRANSACTION holds rows of many keys, and has none: leave it out",
        ('  - {action: Integrate, MessageKey: "{hvr_tbl_name}"}\n', ""),
    ),
    broken(
        "a layout for single rows",
        kafka("Bundle_Layout: CONCATENATED"),
        "11: $.locations.kaf.Bundle_Layout: belongs to messages of several rows, and Kafka_Message_Bundling is ROW; leave it out",
        ("    Bundle_Layout: CONCATENATED\n", ""),
    ),
    broken(
        "bundles of Parquet",
        [kafka("Kafka_Message_Bundling: TRANSACTION"), more("{action: FileFormat, Parquet: true}")],
        "11: $.locations.kaf.Kafka_Message_Bundling: PARQUET makes a file of each row; use ROW, or another format",
        ("TRANSACTION", "ROW"),
    ),
    broken(
        "tombstones of bundles",
        [kafka("Kafka_Message_Bundling: TRANSACTION"), more("{action: Integrate, OnDeleteSendTombstone: true}")],
        "29: $.actions[2].OnDeleteSendTombstone: a tombstone is for a key, and messages have none; leave it out, or have keys",
        (", OnDeleteSendTombstone: true", ""),
    ),
    broken(
        "tables in one topic, each an object",
        [
            kafka("Kafka_Message_Bundling: TRANSACTION"),
            ("shop.{hvr_tbl_name}", "shop"),
            more("{action: FileFormat, Json: true, JsonMode: TABLE_OBJECT}"),
        ],
        "11: $.locations.kaf.Kafka_Message_Bundling: tables customers, orders, items and 3 more share the topic shop…one table; use JsonMode TABLE_ARRAY",
        ("TABLE_OBJECT", "TABLE_ARRAY"),
    ),
    broken(
        "a tombstone for a part of the key",
        more("{action: Integrate, OnDeleteSendTombstone: true}"),
        "28: $.actions[2].OnDeleteSendTombstone: table items: a tombstone would erase rows that were not deleted; the message key lacks line_no: hash all of th…it is right: write table: customers",
        ("  - action: Integrate\n", "  - {action: TableProperties, DistributionKeyLimit: 0}\n  - action: Integrate\n"),
    ),
    broken(
        "a tombstone for the table's name",
        more('{action: Integrate, OnDeleteSendTombstone: true, MessageKey: "{hvr_tbl_name}"}'),
        "28: $.actions[2].OnDeleteSendTombstone: all 6 tables: a tombstone would erase rows that were not deleted; the message key lacks id: say MessageKey: '{…or set OnDeleteSendTombstone: false",
        ('"{hvr_tbl_name}"', '"{{hvr_key_names -}}"'),
    ),
    broken(
        "tombstones of an envelope, for the table's name",
        [more("{action: FileFormat, Envelope: DEBEZIUM}"), more('{action: Integrate, MessageKey: "{hvr_tbl_name}"}')],
        "1: $: all 6 tables: a tombstone would erase rows that were not deleted; the message key lacks id: say MessageKey: '{…or set OnDeleteSendTombstone: false",
        ('"{hvr_tbl_name}"', '"{{hvr_key_names -}}"'),
    ),
    broken(
        "a serializer of Java's",
        more("{action: Integrate, MessageKeySerializer: StringSerializer}"),
        "28: $.actions[2].MessageKeySerializer: 'StringSerializer' is not one of 'NONE', 'STRING', 'CONNECT', 'KAFKA_AVRO', 'KAFKA_JSON', 'KAFKA_AVRO_SCHEMA'…and Confluent's serializers: use STRING",
        ("StringSerializer", "STRING"),
    ),
    broken(
        "two formats",
        more("{action: FileFormat, Json: true, Csv: true}"),
        "28: $.actions[2].Csv: a location has one format, and Json is another; leave one of them out",
        ("Json: true, ", ""),
    ),
    broken(
        "a mode of another format",
        more("{action: FileFormat, Csv: true, JsonMode: ROW_FRAGMENTS}"),
        "28: $.actions[2].JsonMode: JsonMode belongs to Json, and the format is Csv; leave it out",
        (", JsonMode: ROW_FRAGMENTS", ""),
    ),
    broken(
        "a mode is misspelled",
        more("{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENT}"),
        "28: $.actions[2].JsonMode: 'ROW_FRAGMENT' is not one of 'SCHEMA_PAYLOAD', 'PAYLOAD', 'ROW_FRAGMENTS', 'ROW_ARRAY', 'TABLE_OBJECT', 'TABLE_OBJECT_BSON' or 'TABLE_ARRAY'; do you mean ROW_FRAGMENTS?",
        ("ROW_FRAGMENT", "ROW_FRAGMENTS"),
    ),
    broken(
        "an encoding of what is binary",
        more("{action: FileFormat, Json: true, JsonMode: TABLE_OBJECT_BSON, Encoding: UTF-16LE}"),
        "28: $.actions[2].Encoding: Encoding is for text, and BSON is binary; leave it out",
        (", Encoding: UTF-16LE", ""),
    ),
    broken(
        "changed values without a prefix",
        more("{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS, BeforeUpdateColumnsWhenChanged: true}"),
        '28: $.actions[2].BeforeUpdateColumnsWhenChanged: needs BeforeUpdateColumns beside it, such as "old&"',
        ("BeforeUpdateColumnsWhenChanged: true", 'BeforeUpdateColumns: "old&", BeforeUpdateColumnsWhenChanged: true'),
    ),
    broken(
        "a separator of two characters",
        more("{action: FileFormat, Csv: true, FieldSeparator: '||'}"),
        "28: $.actions[2].FieldSeparator: 1 character at most; found '||'",
        ("'||'", "'|'"),
    ),
    broken(
        "large rows without a topic for them",
        kafka("Oversized_Rows: DEAD_LETTER"),
        "11: $.locations.kaf.Oversized_Rows: Dead_Letter_Topic and Oversized_Rows: DEAD_LETTER go together; write Dead_Letter_Topic: … beside it",
        ("Oversized_Rows: DEAD_LETTER", "Oversized_Rows: DEAD_LETTER\n    Dead_Letter_Topic: dead"),
        own="dead",
    ),
]
