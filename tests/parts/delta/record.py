"""Records the change data feed of a Delta table of its own, in three containers, as data for tests.

    python -m tests.parts.delta.record

The table is the one of tests/data/delta/tables.sql; STATEMENTS are what happens to it, a commit each. The feed from the
first version on is there as Spark writes it without options: feed.jsonl, feed.parquet, and feed.csv, without the columns of
bytes and of arrays. final.json has the table's rows afterwards by id, a line each, and each column as the text that
Spark makes of it; bytes are hex digits, and arrays are JSON.

It needs `pip install delta-spark`, which brings the PySpark it is made for, in an environment of its own, and Java 17.
Delta's jars come from Maven Central, which may not have the newest version yet: 4.4.0 made what is here.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from delta import configure_spark_with_delta_pip
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

DATA = Path(__file__).parent.parent.parent / "data" / "delta"
TABLE = "items"
IN_CSV_NOT = ("raw", "tags")

STATEMENTS = (
    """create table items(id int, name string, qty bigint, price decimal(12,2), day date, at timestamp, flag boolean,
      ratio double, raw binary, tags array<string>) using delta tblproperties (delta.enableChangeDataFeed = true)""",
    r"""insert into items values
      (1, 'plain', 10, 1.50, date'2024-02-29', timestamp'2024-02-29 12:34:56.789', true, 0.1, X'00FF10', array('a', 'b')),
      (2, null, null, null, null, null, null, null, null, null),
      (3, '', 0, 0.00, date'1970-01-01', timestamp'1970-01-01 00:00:00', false, -0.0D, X'', array()),
      (4, 'Zoë 水 🚲 e\u0301', -7, -0.01, date'1969-12-31', timestamp'1969-12-31 23:59:59.999', true, -1.5e-9D,
        X'000000', array('ü,', null, 'null', '')),
      (5, ' "quoted", \\back\\\\ and \\"\ttab\nline ', 5, 5.00, date'2024-12-31', timestamp'2024-12-31 23:59:59', false,
        3.0D, X'DEADBEEF', array('"', '\\', '{}', '[1]', '\n')),
      (2147483647, 'greatest', 9223372036854775807, 9999999999.99, date'9999-12-31',
        timestamp'9999-12-31 23:59:59.999999', true, 1.7976931348623157E308D, X'7F', array('9')),
      (-2147483648, 'least', -9223372036854775807 - 1, -9999999999.99, date'0001-01-01',
        timestamp'0001-01-01 00:00:00', false, 4.9E-324D, X'80', array('-')),
      (8, 'null', 8, 8.80, date'2024-01-08', timestamp'2024-01-08 08:08:08.123456', true, double('NaN'), X'08', array(null)),
      (9, 'NULL', 9, 9.90, date'2024-01-09', timestamp'2024-01-09 09:09:09.000001', false, double('Infinity'), X'0909',
        array('x')),
      (10, '\\', 10, 0.10, date'1582-10-15', timestamp'1582-10-15 00:00:00', null, double('-Infinity'), X'AB', array(' '))""",
    "insert into items(id, name, qty) select id, concat('row ', id), id * 1000000007 from range(20, 30)",
    "update items set qty = qty + 1, name = concat(name, '!'), price = 2.50 where id in (1, 3, 4)",
    "update items set name = 'no longer null', flag = true, tags = array('now') where id = 2",
    "update items set name = null, qty = null, raw = null, tags = null where id = 5",
    "update items set id = 50 where id = 5",
    "update items set id = id + 1 where id between 25 and 29",
    "update items set id = case id when 3 then 4 else 3 end where id in (3, 4)",
    "delete from items where id in (8, 26)",
    """merge into items t using (
        select * from values (1, 'merged'), (2, 'gone'), (60, 'merged in'), (61, 'merged in too') s(id, name)
      ) s on t.id = s.id
      when matched and s.name = 'gone' then delete
      when matched then update set name = s.name, at = timestamp'2024-06-01 00:00:00.25'
      when not matched then insert (id, name) values (s.id, s.name)""",
    "update items set day = date'2024-07-01', ratio = 2.5D where id between 20 and 30",
    "delete from items where id = 1",
    "insert into items(id, name, raw) values (1, 'again', X'01')",
    "update items set name = name where id = 60",
    """insert into items replace where id between 27 and 28
      values (27, 'in place', 1, 1.00, null, null, null, null, null, array()),
        (28, 'in place', 2, 2.00, null, null, null, null, null, null)""",
    "delete from items where id = 61",
    "insert into items(id, name) values (61, 'back')",
)


def session(warehouse: str) -> SparkSession:
    """A session in UTC with Delta, whose tables are in `warehouse`."""
    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", warehouse)
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.databricks.delta.snapshotPartitions", "1")
        .config("spark.ui.enabled", "false")
    )
    spark: SparkSession = configure_spark_with_delta_pip(builder).getOrCreate()
    return spark


def feed_of(spark: SparkSession) -> DataFrame:
    """The changes of all versions of the table."""
    return spark.read.option("readChangeFeed", "true").option("startingVersion", 0).table(TABLE).coalesce(1)


def write(feed: DataFrame, folder: Path) -> None:
    """Write the feed to the data folder in each container; Spark's own files go to `folder` first."""
    feed.write.json(str(folder / "jsonl"))
    feed.write.parquet(str(folder / "parquet"))
    feed.drop(*IN_CSV_NOT).write.csv(str(folder / "csv"), header=True)
    for container in ("jsonl", "parquet", "csv"):
        [part] = (folder / container).glob("part-*")
        (DATA / f"feed.{container}").write_bytes(part.read_bytes())


def final(spark: SparkSession) -> list[dict[str, str | None]]:
    """The table's rows by id, each column as text."""
    special = {"raw": f.hex("raw"), "tags": f.to_json("tags")}
    rows = spark.table(TABLE).orderBy("id")
    texts = [special.get(name, f.col(name).cast("string")).alias(name) for name in rows.columns]
    return [row.asDict() for row in rows.select(*texts).collect()]


def main() -> None:
    """Make the table, and write what the tests read."""
    with tempfile.TemporaryDirectory() as folder:
        spark = session(f"{folder}/warehouse")
        try:
            for statement in STATEMENTS:
                spark.sql(statement)
            write(feed_of(spark), Path(folder))
            rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in final(spark))
        finally:
            spark.stop()
    (DATA / "final.json").write_text(f"[\n{rows}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
