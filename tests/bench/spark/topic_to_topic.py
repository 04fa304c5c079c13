"""What a user of Spark would write from topic to topic: Debezium's events -> rows -> Avro or Connect JSON.

    python topic_to_topic.py SERVERS SOURCE TARGET JARS HEAD avro|json|json-schema [SCHEMA OF EVENTS] [SCHEMA OF ROWS]

HEAD: a file with what begins each message: Confluent's framing, or the schema's text. The schemas are Avro's, in files.
Prints a line of JSON when it has started. Each line of its input has the first offsets and the ends of a batch; it is
answered by a line when the batch is sent. Keys continue as they are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.avro.functions import from_avro, to_avro

FRAMING = 5
COLUMNS = """id: bigint, customer: int, sku: string, qty: int, amount: string, price: double, placed: bigint, due: int,
    note: string, flag: boolean, status: string, city: string, zip: string"""
EVENT = f"struct<after: struct<{COLUMNS}>, op: string>"
"""What is wanted of an event: less than an event has, as it is in a schema of Avro."""
OWN = ("spark-sql-kafka", "spark-token", "kafka-clients", "commons-pool2", "spark-avro")


def session(jars: str) -> SparkSession:
    """A session on two cores with Spark's Kafka source and sink and its Avro functions."""
    paths = [str(path) for path in sorted(Path(jars).glob("*.jar")) if path.name.startswith(OWN)]
    settings = {
        "spark.driver.memory": "4g",
        "spark.jars": ",".join(paths),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
    }
    return SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()


def of_avro(schema: str) -> Column:
    """The event of a record in Avro."""
    return from_avro(f.expr(f"substring(value, {FRAMING + 1}, length(value) - {FRAMING})"), schema)


def of_json(*, with_schema: bool) -> Column:
    """The event of a record in JSON."""
    text = f.col("value").cast("string")
    if with_schema:
        return f.from_json(text, f"struct<payload: {EVENT}>").getField("payload")
    return f.from_json(text, EVENT)


def main(servers: str, source: str, target: str, jars: str, head: str, encoding: str, *schemas: str) -> None:
    """Send the batches that are asked for, until the input ends."""
    begin, spark = Path(head).read_bytes(), session(jars)
    if encoding == "avro":
        of_events, of_rows = (Path(schema).read_text(encoding="utf-8") for schema in schemas)
        event = of_avro(of_events)
        value = f.concat(f.lit(begin), to_avro(f.struct("row.*"), of_rows))
    else:
        event = of_json(with_schema=encoding == "json-schema")
        text = f.to_json(f.struct("row.*"), {"ignoreNullFields": "false"})
        value = f.concat(f.lit(begin.decode()), text, f.lit("}"))
    access = {"kafka.bootstrap.servers": servers}
    sink = access | {
        "topic": target,
        "kafka.compression.type": "lz4",
        "kafka.acks": "all",
        "kafka.linger.ms": "20",
        "kafka.batch.size": str(1024 * 1024),
        "kafka.buffer.memory": str(128 * 1024 * 1024),
    }
    print(json.dumps({"started": True}), flush=True)
    for line in sys.stdin:
        first, ends = ({source: offsets} for offsets in json.loads(line))
        taken = {"subscribe": source, "startingOffsets": json.dumps(first), "endingOffsets": json.dumps(ends)}
        records = spark.read.format("kafka").options(**access, **taken).load()
        rows = records.select("key", event.alias("event")).where("event.op = 'c'").select("key", "event.after")
        sent = rows.withColumnRenamed("after", "row").select("key", value.alias("value"))
        sent.write.format("kafka").options(**sink).save()
        print(json.dumps({"sent": True}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
