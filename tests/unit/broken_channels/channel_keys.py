"""Mistakes in the keys of the channel itself."""

from tests.unit.broken_channels.contract import broken

CASES = [
    broken(
        "a key is misspelled",
        ("channel: shop", "chanel: shop"),
        "1: $.chanel: this key is not known here; do you mean channel?",
        ("chanel", "channel"),
    ),
    broken(
        "a name with a capital",
        ("channel: shop", "channel: Shop-1"),
        "1: $.channel: 'Shop-1' is no name: it has at most 12 lower-case letters, digits and underscores, a letter first; write shop_1",
        ("Shop-1", "shop_1"),
    ),
    broken(
        "a name that is too long",
        ("channel: shop", "channel: customers_and_orders"),
        "1: $.channel: 'customers_and_orders' is no name: it has at most 12 lower-case letters, digits and underscores, a letter first",
        ("customers_and_orders", "customers"),
        own="customers",
    ),
    broken(
        "a key of another level",
        ("state: state", "Kafka_Brokers: [localhost]"),
        "31: $.Kafka_Brokers: this key is not known here; Kafka_Brokers belongs to a location of class kafka",
        ("Kafka_Brokers: [localhost]\n", ""),
    ),
    broken(
        "Kafka Connect's name at the top",
        ("state: state", "errors.tolerance: all"),
        "31: $.errors.tolerance: this key, of Kafka Connect, is not known here: use errors: {tolerance: …} at the top of the channel",
        ("errors.tolerance: all", "errors: {tolerance: all}"),
    ),
    broken(
        "Debezium's name at the top",
        ("state: state", "topic.prefix: shop"),
        "31: $.topic.prefix: this key, of Debezium, is not known here: use Kafka_Default_Topic of the Kafka location, such as PREFIX.{hvr_tbl_name}",
        ("topic.prefix: shop\n", ""),
    ),
    broken(
        "Flink's name at the top",
        ("state: state", "delivery.guarantee: exactly-once"),
        "31: $.delivery.guarantee: this key, of Flink, is not known here: use delivery: at_least_once or exactly_once",
        ("delivery.guarantee: exactly-once", "delivery: exactly_once"),
    ),
    broken(
        "Kafka Connect's transforms",
        ("state: state", "transforms: [unwrap]"),
        "31: $.transforms: this key, of Kafka Connect, is not known here: ColumnProperties and Restrict change rows, and FileFormat Envelope their shape",
        ("transforms: [unwrap]\n", ""),
    ),
    broken(
        "a word with a hyphen",
        ("state: state", "delivery: exactly-once"),
        "31: $.delivery: 'exactly-once' is not one of 'at_least_once' or 'exactly_once'; do you mean exactly_once?",
        ("exactly-once", "exactly_once"),
    ),
    broken(
        "progress in a bucket",
        ("state: state", "state: s3://bucket/state"),
        "31: $.state: s3://bucket/state is no local path; the state is on a disk of the driver: write a directory",
        ("s3://bucket/state", "state"),
    ),
    broken(
        "the locations are missing",
        ("locations:", "location:"),
        "2: $.location: this key is not known here; do you mean locations?",
        ("location:", "locations:"),
    ),
]
