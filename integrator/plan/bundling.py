"""The Kafka location -> which rows share a message, and what becomes of those that are too large for any."""

from __future__ import annotations

from collections.abc import Sequence

from integrator.channel.locations import KafkaLocation
from integrator.channel.problems import Report, named
from integrator.contracts.message_format import DEFAULT_THRESHOLD, Bundling, MessageFormat, Options, Oversized
from integrator.contracts.table_recipe import TableRecipe
from integrator.formats import FORMATS

_IS = "Kafka_Message_Bundling is"
_TOPIC_ALONE = ("Dead_Letter_Topic", "Oversized_Rows: DEAD_LETTER")


def bundling_of(location: KafkaLocation, max_bytes: int, report: Report) -> Bundling:
    """Return the bundling; what is wrong is reported, by property."""
    mode = location.Kafka_Message_Bundling
    keyless = Bundling(mode).keyless
    threshold = location.Kafka_Message_Bundling_Threshold
    if threshold is not None and not keyless:
        report(
            "Kafka_Message_Bundling_Threshold", f"belongs to TRANSACTION and THRESHOLD, and {_IS} {mode}; leave it out"
        )
    if threshold is not None and threshold > max_bytes:
        text = f"is above HVR_KAFKA_MSG_MAX_BYTES, so nothing reaches it; write at most {max_bytes}, or raise that"
        report("Kafka_Message_Bundling_Threshold", text)
    if location.Bundle_Layout is not None and mode == "ROW":
        report("Bundle_Layout", f"belongs to messages of several rows, and {_IS} ROW; leave it out")
    if location.Bundle_Partition is not None and not keyless:
        report("Bundle_Partition", f"belongs to TRANSACTION and THRESHOLD; messages of {mode} go where their keys say")
    if location.Schema_Registry.Bundle_As_Array and (mode == "ROW" or location.Bundle_Layout == "CONCATENATED"):
        report("Schema_Registry", "Bundle_As_Array belongs to bundles of several rows, laid out as documents")
    return Bundling(
        mode=mode,
        threshold=threshold or min(DEFAULT_THRESHOLD, max_bytes),
        concatenated=location.Bundle_Layout == "CONCATENATED",
        one_partition=location.Bundle_Partition != "ANY",
    )


def check_format(layout: MessageFormat, report: Report) -> None:
    """Report what the format and the bundling cannot do together."""
    mode, options = layout.bundling.mode, layout.options
    if mode == "ROW":
        return
    if mode == "CHANGE" and (layout.envelope or layout.before):
        report("Kafka_Message_Bundling", "CHANGE does nothing here: a row holds both images of an update already")
    if not FORMATS[layout.format].bundles(options):
        report("Kafka_Message_Bundling", _why(layout.format, mode, options))


def _why(name: str, mode: str, options: Options) -> str:
    if name == "REGISTRY_AVRO":
        return (
            f"with a schema registry only ROW is possible, and here {mode} with an Avro array of the record: "
            "Schema_Registry: {Bundle_As_Array: true}"
        )
    if options.array or name.startswith("REGISTRY_"):
        return f"{name} has no way to say several rows; use ROW"
    what = "a value" if name in ("TEXT", "BYTES") else "a file"
    return f"{name} makes {what} of each row; use ROW, or another format"


def check_tables(layout: MessageFormat, tables: Sequence[TableRecipe], report: Report) -> None:
    """Report topics that several tables share where a message can hold rows of one table only."""
    mode = layout.bundling.mode
    if not layout.bundling.keyless or layout.bundling.concatenated:
        return
    if FORMATS[layout.format].bundles(layout.options) != "table":
        return
    by_topic: dict[str, list[str]] = {}
    for table in tables:
        by_topic.setdefault(table.topic, []).append(table.table.name)
    for topic, names in by_topic.items():
        if len(names) > 1:
            shared = f"{named(names)} share the topic {topic}"
            other = "use JsonMode TABLE_ARRAY" if layout.options.json_mode == "TABLE_OBJECT" else "give each a topic"
            report("Kafka_Message_Bundling", f"{shared}, and a {mode} message of this format holds one table; {other}")


def oversized_of(location: KafkaLocation, layout: MessageFormat, topics: Sequence[str], report: Report) -> Oversized:
    """Return what becomes of rows above the maximum size; what is wrong is reported, by property."""
    how, topic = location.Oversized_Rows, location.Dead_Letter_Topic
    if (topic is not None) != (how == "DEAD_LETTER"):
        key, other = ("Oversized_Rows", "Dead_Letter_Topic: …") if topic is None else _TOPIC_ALONE
        report(key, f"Dead_Letter_Topic and Oversized_Rows: DEAD_LETTER go together; write {other} beside it")
    if topic is not None and topic in topics:
        report("Dead_Letter_Topic", f"{topic} is a topic of a table too; dead letters need one of their own")
    missing = FORMATS[layout.format].missing
    worded = missing == "omit" or (missing == "shape" and not layout.envelope)
    if how == "SKELETON" and not worded and location.Missing_Values != "NULL":
        report("Oversized_Rows", f"{layout.format} has a value for each column: SKELETON needs Missing_Values: NULL")
    return Oversized(dead_letters=topic or "", skeleton=how == "SKELETON")
