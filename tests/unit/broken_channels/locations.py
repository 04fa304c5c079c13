"""Mistakes in locations: names, kinds, dialects."""

from tests.unit.broken_channels.contract import broken

KAFKA = """\
    Kafka_Brokers: [localhost:9092]
    Kafka_Default_Topic: "shop.{hvr_tbl_name}"
    Create_Topics: {Partitions: 4, Replication_Factor: 3}
"""
CASES = [
    broken(
        "a kind is misspelled",
        ("class: files", "class: file"),
        "4: $.locations.src.class: 'file' is no class of location; do you mean files?",
        ("class: file", "class: files"),
    ),
    broken(
        "a kind is missing",
        ("    class: files\n", ""),
        "3: $.locations.src.class: the key class is missing; do you mean class: files?",
        ("    path: in\n", "    class: files\n    path: in\n"),
    ),
    broken(
        "a key of a location is misspelled",
        ("path: in", "paht: in"),
        "5: $.locations.src.paht: this key is not known here; do you mean path?",
        ("paht", "path"),
    ),
    broken(
        "a dialect is misspelled",
        ("dialect: wal2json", "dialect: wal2jsn"),
        "6: $.locations.src.dialect: 'wal2jsn' is no dialect; do you mean wal2json?",
        ("wal2jsn", "wal2json"),
    ),
    broken(
        "a dialect with a capital",
        ("dialect: wal2json", "dialect: Debezium"),
        "6: $.locations.src.dialect: 'Debezium' is no dialect; do you mean debezium?",
        ("Debezium", "debezium"),
    ),
    broken(
        "a location with capitals",
        ("  src:", "  SRC:"),
        "3: $.locations.SRC: 'SRC' is no name: it has at most 12 lower-case letters, digits and underscores, a letter first; write src",
        ("SRC:", "src:"),
    ),
    broken(
        "a group in small letters",
        ("path: in", "path: in\n    group: source"),
        "6: $.locations.src.group: 'source' is no group: it has capitals, digits and underscores, a letter first; write SOURCE",
        ("group: source", "group: SOURCE"),
    ),
    broken(
        "a location that is no mapping, whose group an action names",
        ("  kaf:\n    class: kafka\n" + KAFKA, "  kaf: localhost\n"),
        "7: $.locations.kaf: a location is a mapping; is it a key of the one above? indent it as those are",
        ("  kaf: localhost\n", "  kaf:\n    class: kafka\n" + KAFKA),
        own="class kafka Kafka_Brokers localhost 9092 Kafka_Default_Topic shop hvr_tbl_name Create_Topics Partitions Replication_Factor",
    ),
    broken(
        "a misspelled key beside the one that is meant, which is wrong too",
        ("    path: in\n", "    paht: in\n    path: 5\n"),
        [
            "5: $.locations.src.paht: this key is not known here; do you mean path?",
            '6: $.locations.src.path: text is wanted here: write "5", in quotes',
        ],
        ("    paht: in\n    path: 5\n", "    path: in\n"),
    ),
    broken(
        "two sources",
        ("  kaf:", "  more: {class: socket, listen: '127.0.0.1:0'}\n  kaf:"),
        "2: $.locations: a channel has one location of class files or socket or kafka with topics or postgres or mysql or mariadb; found src, more: leave one of them out, or give each a channel of its own…",
        ("  more: {class: socket, listen: '127.0.0.1:0'}\n", ""),
    ),
    broken(
        "two sources of several dialects",
        ("  kaf:", "  more: {class: files, path: more, dialect: maxwell}\n  kaf:"),
        "7: $.locations.more.dialect: is 'maxwell' here and 'wal2json' at src: several source locations differ in their files alone",
        [("maxwell", "wal2json"), ("more/1.jsonl", "", " ")],
    ),
    broken(
        "no source",
        (
            "    class: files\n    path: in\n    dialect: wal2json\n",
            "    class: kafka\n    Kafka_Brokers: [localhost]\n",
        ),
        [
            "2: $.locations: a channel has one location of class files or socket or kafka with topics or postgres or mysql or mariadb; found none: add one, such as {class: files, path: DIRECTORY}",
            "2: $.locations: a channel has one location of class kafka; found src, kaf: leave one of them out",
        ],
        ("    class: kafka\n    Kafka_Brokers: [localhost]\n", "    class: files\n    path: in\n"),
    ),
]
