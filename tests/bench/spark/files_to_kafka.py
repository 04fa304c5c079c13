"""What a user of Spark would write for the benchmark's files: JSON lines -> Connect JSON in SQL -> Spark's Kafka sink.

    python files_to_kafka.py SERVERS TOPIC DIRECTORY JARS HEAD ordered|unordered

ordered: rows of a key keep the order of files and lines. HEAD: a file with the schema's text that begins each message.
Prints a line of JSON when it has started, and after each batch the number of its rows.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

COLUMNS = """hvr_op int, hvr_tx_seq string, id bigint, customer int, sku string, qty int, amount decimal(12,2),
    price double, placed timestamp, due date, note string, flag boolean, status string, city string, zip string"""
KEY = '{"schema":{"type":"string","optional":false},"payload":"'


def session(jars: str) -> SparkSession:
    """A session on two cores with Spark's Kafka sink."""
    own = ("spark-sql-kafka", "spark-token", "kafka-clients", "commons-pool2")
    paths = [str(path) for path in sorted(Path(jars).glob("*.jar")) if path.name.startswith(own)]
    settings = {
        "spark.driver.memory": "4g",
        "spark.jars": ",".join(paths),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.files.maxPartitionBytes": "40m",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.sql.streaming.pollingDelay": "50ms",
        "spark.log.level": "ERROR",
    }
    return SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()


def message(head: str) -> tuple[Column, Column]:
    """Key and value of a message: of the same parts and the same size as the integrator's."""
    position = (
        "concat('00000000000000000000|', lpad(hvr_tx_seq, 16, '0'), '|', lpad(cast(id % 10000000 as string), 7, '0'))"
    )
    payload = f.struct(
        "id", "customer", "sku", "qty",
        f.expr("base64(unhex(lpad(hex(cast(amount * 100 as bigint)), 6, '0')))").alias("amount"),
        "price", f.expr("unix_millis(placed)").alias("placed"), f.expr("unix_date(due)").alias("due"),
        "note", "flag", "status", "city", "zip", f.col("hvr_op").alias("op_val"), f.expr(position).alias("integ_seq"),
    )  # fmt: skip
    key = f.concat(f.lit(KEY), f.lpad(f.lower(f.hex(f.xxhash64("id"))), 16, "0"), f.lit('"}'))
    value = f.concat(f.lit(head), f.to_json(payload, {"ignoreNullFields": "false"}), f.lit("}"))
    return key.alias("key"), value.alias("value")


def main(servers: str, topic: str, directory: str, jars: str, head: str, order: str) -> None:
    """Send the files that come, until killed."""
    sink = {
        "kafka.bootstrap.servers": servers,
        "topic": topic,
        "kafka.compression.type": "lz4",
        "kafka.acks": "all",
        "kafka.linger.ms": "20",
        "kafka.batch.size": str(1024 * 1024),
        "kafka.buffer.memory": str(128 * 1024 * 1024),
    }
    spark = session(jars)
    key_and_value = message(Path(head).read_text(encoding="utf-8"))
    stream = spark.readStream.schema(COLUMNS).option("timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSS")
    rows = stream.json(directory)

    def in_order(batch: DataFrame, _: int) -> None:
        placed = batch.withColumn("_at", f.monotonically_increasing_id()).repartition(2, "id")
        placed = placed.sortWithinPartitions("_file", "_block", "_at")
        placed.select(*key_and_value).write.format("kafka").options(**sink).save()

    if order == "ordered":
        place = (f.col("_metadata.file_name").alias("_file"), f.col("_metadata.file_block_start").alias("_block"))
        writer = rows.select("*", *place).writeStream.foreachBatch(in_order)
    else:
        writer = rows.select(*key_and_value).writeStream.format("kafka").options(**sink)
    query = writer.option("checkpointLocation", tempfile.mkdtemp(prefix="spark-peer-")).start()
    print(json.dumps({"rows": 0}), flush=True)
    seen = -1
    while query.isActive:
        for progress in map(json.loads, (one.json for one in query.recentProgress)):
            if progress["batchId"] > seen and progress["numInputRows"]:
                seen = progress["batchId"]
                print(json.dumps({"rows": progress["numInputRows"]}), flush=True)
        query.awaitTermination(0.1)


if __name__ == "__main__":
    main(*sys.argv[1:])
