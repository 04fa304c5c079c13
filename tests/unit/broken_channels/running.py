"""Mistakes in how a channel runs: errors, times."""

from tests.unit.broken_channels.contract import broken
from tests.unit.broken_channels.edits import errors, more

CASES = [
    broken(
        "a tolerance that cannot be read, with a topic",
        errors("{tolerance: [all], deadletterqueue.topic.name: dead}"),
        "32: $.errors.tolerance: ['all'] is not one of 'none' or 'all'",
        ("[all]", "all"),
    ),
    broken(
        "a tolerance in capitals",
        errors("{tolerance: ALL}"),
        "32: $.errors.tolerance: 'ALL' is not one of 'none' or 'all'; do you mean all?",
        ("ALL", "all"),
    ),
    broken(
        "a tolerance without its key",
        errors("all"),
        "32: $.errors: a mapping is wanted here: write {tolerance: all}",
        ("errors: all", "errors: {tolerance: all}"),
    ),
    broken(
        "a dead letter topic without tolerance",
        errors("{deadletterqueue.topic.name: dead}"),
        "32: $.errors.deadletterqueue.topic.name: nothing is rejected without tolerance: all; add that, or leave this out",
        ("{deadletter", "{tolerance: all, deadletter"),
    ),
    broken(
        "keys of errors below each other",
        errors("{tolerance: all, deadletterqueue: {topic: {name: dead}}}"),
        "32: $.errors.deadletterqueue: this key, of Kafka Connect, is not known here: write the whole name as one key: deadletterqueue.topic.name: …",
        ("deadletterqueue: {topic: {name: dead}}", "deadletterqueue.topic.name: dead"),
    ),
    broken(
        "a dead letter topic that is a table's",
        errors("{tolerance: all, deadletterqueue.topic.name: shop.orders}"),
        "32: $.errors.deadletterqueue.topic.name: shop.orders is a topic of rows too; rejected lines need one of their own: write another name",
        ("name: shop.orders", "name: shop.dead"),
        own="dead",
    ),
    broken(
        "errors with errors before it",
        errors("{errors.tolerance: all}"),
        "32: $.errors.errors.tolerance: this key is not known here; do you mean tolerance?",
        ("errors.tolerance", "tolerance"),
    ),
    broken(
        "a minute beyond 59",
        more("{action: Scheduling, IntegrateStartTimes: '61 * * * *'}"),
        "28: $.actions[2].IntegrateStartTimes: '61 * * * *' is no time: Bad minute; write minute hour day month weekday, as in cron",
        ("61 *", "1 *"),
    ),
    broken(
        "times with a semicolon",
        more("{action: Scheduling, IntegrateStartTimes: '0 9 * * *;0 17 * * *'}"),
        "28: $.actions[2].IntegrateStartTimes: '0 9 * * *;0 17 * * *' is no time: Wrong number of fields; several times have | between: 0 9 * * *|0 17 * * *",
        (";0 17", "|0 17"),
    ),
    broken(
        "a latency with a unit",
        more("{action: Scheduling, LatencySLA: 60s}"),
        "28: $.actions[2].LatencySLA: a whole number of seconds is wanted here, without its unit: for 60s write 60",
        ("60s", "60"),
    ),
]
